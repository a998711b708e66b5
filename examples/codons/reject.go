package main

import (
	"context"

	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// free is what became of designs drawn without constraints.
type free struct {
	trials, accepted int
	passed           []int     // by demand
	gc, cai          []float64 // of all
}

// chunk is how many designs are drawn at a time.
const chunk = 256

// reject draws designs from codon usage given the protein alone and judges them.
func reject(ctx context.Context, t *task) (*free, error) {
	alone, err := t.compile(ctx, "the protein")
	if err != nil {
		return nil, err
	}
	n := len(t.letters)
	f := &free{passed: make([]int, len(demands(t)))}
	stream := sampler.NewStream(t.seed, 1)
	bar := progress.New("unconstrained designs")
	defer bar.Done()
	x := make([]int32, chunk*n)
	for f.trials < t.trials {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		some := x[:min(chunk, t.trials-f.trials)*n]
		if _, err := alone.Sample(ctx, some, t.table, stream); err != nil {
			return nil, err
		}
		for ; len(some) > 0; some = some[n:] {
			f.judge(t, bases(some[:n]))
		}
		bar.Set(f.trials, t.trials)
	}
	return f, nil
}

func (f *free) judge(t *task, dna string) {
	all := true
	for i, ok := range judge(t, dna) {
		if ok {
			f.passed[i]++
		}
		all = all && ok
	}
	if all {
		f.accepted++
	}
	f.trials++
	f.gc = append(f.gc, gcContent(dna))
	f.cai = append(f.cai, adaptation(t.host, t.options.code.table, dna))
}
