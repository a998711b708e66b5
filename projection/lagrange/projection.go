package lagrange

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/projection"
)

// Projection is a [Projector] compiled for a shape. Log-weights v and errors about them
// are those of [projection.PathProjection]. It is safe for concurrent use, each sample by
// one goroutine at a time, if the functions of the constraint are. Projections allocate
// nothing after warm-up unless those functions do.
type Projection struct {
	target

	lambda []float64 // by slot, what the last projection of the sample ended with

	idle scratch.Stock[search]
}

// Shape returns the number of sites and of levels.
func (a *Projection) Shape() (sites, levels int) { return a.sites, a.levels }

// Project replaces v by the nearest distribution found whose likeliest sequence satisfies
// the constraint, and returns the largest violation of that sequence, at most the
// tolerance. A v whose likeliest sequence already satisfies it does not change. src gives
// the noise. The multipliers start from those of the last projection of the sample (see
// [Projection.Reset]).
//
// The error is a *[projection.NotConverged] if no sequence was found, with v and the
// violation of the best attempt, or an *[projection.InfeasibleError] if the language
// alone excludes everything. Otherwise it wraps the error of ctx, or names a value of the
// constraint that is NaN. In all cases but the first v is unchanged.
func (a *Projection) Project(ctx context.Context, sample int, v []float32, from, to float64, src rand.Source) (violation float64, err error) {
	m := a.smooth.Len()
	if sample < 0 || (sample+1)*m > len(a.lambda) {
		panic(fmt.Sprintf("lagrange: sample = %d, want one of %d", sample, len(a.lambda)/m))
	}
	s := a.take()
	defer a.give(s)
	_, violation, err = s.project(ctx, s.best, v, a.lambda[sample*m:(sample+1)*m], src)
	return violation, err
}

// Nearest does what Project does, from multipliers of zero,
// stores the sequence in x, and returns KL(x‖y) in nats and the largest
// violation of the sequence.
func (a *Projection) Nearest(ctx context.Context, x []int32, v []float32, src rand.Source) (divergence, violation float64, err error) {
	check.Len("lagrange", "x", len(x), a.sites)
	s := a.take()
	defer a.give(s)
	clear(s.start)
	return s.project(ctx, x, v, s.start, src)
}

// Reset forgets the multipliers of a sample, which must not be projected at the same
// time. It panics unless 0 ≤ sample < samples of Bind.
func (a *Projection) Reset(sample int) {
	m := a.smooth.Len()
	clear(a.lambda[sample*m : (sample+1)*m])
}

// Copy gives sample dst the multipliers of sample src, for particles that are
// resampled. Neither must be projected at the same time.
func (a *Projection) Copy(dst, src int) {
	m := a.smooth.Len()
	copy(a.lambda[dst*m:(dst+1)*m], a.lambda[src*m:(src+1)*m])
}

// take returns a search that nobody uses.
func (a *Projection) take() *search {
	return a.idle.Take(func() *search { return newSearch(&a.target) })
}

// give puts a search back.
func (a *Projection) give(s *search) { a.idle.Give(s) }

// project moves v, stores the sequence in x and leaves the multipliers in lambda.
func (s *search) project(ctx context.Context, x []int32, v []float32, lambda []float64, src rand.Source) (divergence, violation float64, err error) {
	a := s.of
	check.Len("lagrange", "v", len(v), a.sites*a.levels)
	if err := s.load(v); err != nil {
		return 0, 0, err
	}
	copy(s.loss.lambda, lambda)
	loops, err := s.run(ctx, src)
	if err != nil {
		return 0, 0, err
	}
	copy(lambda, s.loss.lambda)
	violation = violationOf(s.least)
	converged := violation <= a.recipe.Tolerance
	if converged {
		s.simplify()
		s.exchange()
		violation = violationOf(s.least)
	}
	divergence = s.lead(v)
	copy(x, s.best)
	if !converged {
		return divergence, violation, &projection.NotConverged{Method: "lagrange: " + a.name, Residual: violation, Want: a.recipe.Tolerance, Iterations: loops}
	}
	return divergence, violation, nil
}

// Bind compiles the recipe for samples of the given shape. The result is a *[Projection].
// The error names a field that is out of range, states what is wrong with the constraint,
// or is that of [projection.Path.Compile] for the language.
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

// Compile is Bind for direct use, with one sample, number 0. Errors are those of Bind.
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
