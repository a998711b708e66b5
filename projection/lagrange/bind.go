package lagrange

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/projection"
)

// Bind compiles the recipe for samples of the given shape. The result is a
// *[Projection]. The error names a field that is out of range or says what is
// wrong with the constraint, or is that of [projection.Path.Compile] for the
// language.
func (k Projector) Bind(ctx context.Context, sites, levels, samples int) (projection.Projection, error) {
	if samples < 1 {
		return nil, fmt.Errorf("lagrange: samples = %d, want ≥ 1", samples)
	}
	a, err := k.compile(ctx, sites, levels, samples)
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Compile is Bind for use by hand: for one sample, number 0. Errors are those of
// Bind.
func (k Projector) Compile(ctx context.Context, sites, levels int) (*Projection, error) {
	return k.compile(ctx, sites, levels, 1)
}

func (k Projector) compile(ctx context.Context, sites, levels, samples int) (*Projection, error) {
	if err := k.fill(); err != nil {
		return nil, err
	}
	free := k.Path.Language == nil
	if free {
		k.Path.Language = constraint.Any{}
	}
	within, err := k.Path.Compile(ctx, sites, levels)
	if err != nil {
		return nil, err
	}
	a := &Projection{
		target: target{
			recipe: k, smooth: k.Constraint, judge: k.Judge, within: within, free: free,
			sites: sites, levels: levels, name: k.Path.Name,
		},
		lambda: make([]float64, samples*k.Constraint.Len()),
	}
	if a.name == "" {
		a.name = automata.Name(k.Constraint)
	}
	if a.judge == nil {
		a.judge = asSet(k.Constraint, sites, levels)
	}
	if n := a.judge.Len(); n < 1 {
		return nil, fmt.Errorf("lagrange: Judge.Len() = %d, want ≥ 1", n)
	}
	for i := range samples {
		a.Reset(i)
	}
	return a, nil
}
