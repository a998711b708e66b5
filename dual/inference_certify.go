package dual

import (
	"context"
	"fmt"
	"slices"
)

// Average returns λ̄, the mean of the multipliers over the trajectory with weights
// ∝ t², or equal ones if Config.Uniform. Theory is about λ̄, not about the last
// iterate. Before the first step it is the start.
func (i *Inference[S]) Average() []float64 {
	if i.steps == 0 {
		return i.Lambda()
	}
	return slices.Clone(i.way.average)
}

// Certificate returns the certificate of the trajectory: λ̄ and the violations
// of all samples drawn on the way, without the first quarter unless
// Config.Uniform. These are the means that a program which uses the samples of
// the loop gets. It returns nil before the first step.
func (i *Inference[S]) Certificate() *Certificate {
	if i.steps == 0 {
		return nil
	}
	c := newCertificate(i.Average(), i.batch.States)
	c.Equal = i.batch.Equal
	for j := range c.Lambda {
		var v, se float64
		v, se, c.Steps = i.way.violation(j)
		c.set(j, v, se)
	}
	return c
}

// Certify fixes the multipliers at lambda (nil means [Inference.Average]), lets
// the primal make discard draws per chain that do not count and then draws that
// do, and returns their certificate, with the dual value if the target can be
// enumerated to 2²² states. The next dual step goes on from the loop's own
// multipliers.
//
// Errors are those of Run, of SetLambda, and fewer than one draw.
func (i *Inference[S]) Certify(ctx context.Context, lambda []float64, discard, draws int) (*Certificate, error) {
	if err := i.life.Begin(ctx, "Certify", 0); err != nil {
		return nil, err
	}
	defer i.life.End()
	if draws < 1 || discard < 0 {
		return nil, fmt.Errorf("dual: Certify: discard = %d and draws = %d, want ≥ 0 and ≥ 1", discard, draws)
	}
	if i.open {
		return nil, fmt.Errorf("dual: Certify: step %d was interrupted, finish it first", i.steps)
	}
	if lambda == nil {
		lambda = i.Average()
	}
	lambda = slices.Clone(lambda)
	if err := i.target.SetLambda(lambda); err != nil {
		return nil, err
	}
	if err := i.primal.Reset(); err != nil {
		return nil, fmt.Errorf("dual: Certify: %w", err)
	}
	if err := i.primal.Run(ctx, discard); err != nil {
		return nil, fmt.Errorf("dual: Certify: %w", err)
	}
	n := len(lambda)
	var means []float64 // grows as it fills: draws may be more than ever come
	for range draws {
		if err := i.primal.Run(ctx, 1); err != nil {
			return nil, fmt.Errorf("dual: Certify: %w", err)
		}
		i.target.Violation(i.g, i.primal.States())
		means = append(means, make([]float64, n)...)
		meanOf(means[len(means)-n:], i.g)
	}
	c := newCertificate(lambda, i.batch.States)
	c.Steps, c.Frozen, c.Equal = draws, true, i.batch.Equal
	for j := range lambda {
		v, se := batchMeans(draws, func(t int) float64 { return means[t*n+j] })
		c.set(j, v, se)
	}
	return c, i.dualValue(ctx, c)
}

// dualValue adds the dual value to c if the target knows it.
func (i *Inference[S]) dualValue(ctx context.Context, c *Certificate) error {
	t, ok := i.target.(Enumerable)
	if !ok {
		return nil
	}
	if sites, levels := t.Shape(); countStates(sites, levels, maxStates) < 0 {
		return nil
	}
	var err error
	c.Dual, err = t.Dual(ctx, c.Lambda)
	c.HasDual = err == nil
	return err
}
