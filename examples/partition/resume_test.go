package main

import (
	"context"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint/checkpointtest"
)

// A run that is interrupted again and again ends with the figures of one that is
// not, those that its observers count included.
func TestResume(t *testing.T) {
	args := []string{"-chains", "4", "-steps", "100", "-warmup", "20", "-method", "dmala,swap", "-graph", write(t, cliques), "-size", "3"}
	whole := do(t, args...)
	r := checkpointtest.Interrupted(t, parse, run, args, "-beta", "2")
	for i, f := range r.Methods {
		w := whole.Methods[i]
		if *f.Mean != *w.Mean || *f.Accept != *w.Accept || f.Best != w.Best || f.Unbalanced != w.Unbalanced {
			t.Errorf("%+v, in one piece %+v", f, w)
		}
	}
	if r.Modularity != whole.Modularity || !slices.Equal(r.Partition, whole.Partition) {
		t.Errorf("%+v, in one piece %+v", r, whole)
	}

	swaps := func(ctx context.Context, o options) (*outcome, error) {
		c, err := load(o.graph)
		if err != nil {
			return nil, err
		}
		return sample(ctx, o, c, "swap")
	}
	o, err := parse(args)
	if err != nil {
		t.Fatal(err)
	}
	one, err := swaps(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if with := checkpointtest.Interrupted(t, parse, swaps, args, "-beta", "2").with(); !slices.Equal(with, one.with()) {
		t.Errorf("together %v, in one piece %v", with, one.with())
	}
}
