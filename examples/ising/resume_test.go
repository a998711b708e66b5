package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint/checkpointtest"
)

// A run that is interrupted again and again ends with the figures of one that is
// not.
func TestResume(t *testing.T) {
	for _, args := range [][]string{
		{"-lattice", "3,3", "-chains", "4", "-steps", "400", "-warmup", "20", "-method", "dmala,gibbs"},
		{"-lattice", "4,4", "-chains", "2", "-steps", "300", "-anneal"},
	} {
		whole := do(t, args...)
		args = append(args, "-checkpoint", filepath.Join(t.TempDir(), "run"))
		var r *report
		times := checkpointtest.Interrupted(t, func(ctx context.Context, resume bool) error {
			all := args
			if resume {
				all = append(all[:len(all):len(all)], "-resume")
			}
			o, err := parse(all)
			if err != nil {
				t.Fatal(err)
			}
			r, err = run(ctx, o)
			return err
		})
		if times < 2 {
			t.Errorf("%q was interrupted %d times: the test shows nothing", args, times)
		}
		for i, f := range r.Methods {
			if w := whole.Methods[i]; *f.Mean != *w.Mean || *f.MCSE != *w.MCSE || *f.Accept != *w.Accept {
				t.Errorf("%q: %+v, in one piece %+v", args, f, w)
			}
		}
		if whole.BestEnergy != nil && *r.BestEnergy != *whole.BestEnergy {
			t.Errorf("%q: %v, in one piece %v", args, *r.BestEnergy, *whole.BestEnergy)
		}
		for want, more := range map[string][]string{
			"is there already": nil,
			"other":            {"-resume", "-seed", "2", "-b", "0.7"},
		} {
			o, err := parse(append(args[:len(args):len(args)], more...))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := run(context.Background(), o); err == nil || want != "other" && !strings.Contains(err.Error(), want) {
				t.Errorf("%q %q: %v", args, more, err)
			}
		}
	}
	if _, err := parse([]string{"-resume"}); err == nil || !strings.Contains(err.Error(), "-checkpoint") {
		t.Error(err)
	}
}
