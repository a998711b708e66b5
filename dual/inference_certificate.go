package dual

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Average returns λ̄, the mean of the multipliers over the trajectory with weights ∝ t², or
// with equal weights if Config.Uniform. The convergence theory holds for λ̄, not for the
// last iterate. Before the first step, Average returns the initial multipliers.
func (i *Inference[S]) Average() []float64 {
	if i.steps == 0 {
		return i.Lambda()
	}
	return slices.Clone(i.way.average)
}

// Certificate returns the certificate of the trajectory: λ̄ and the mean violations of all
// samples drawn on the way, without the first quarter unless Config.Uniform. It describes
// programs that use the samples of the loop itself. It returns nil before the first step.
func (i *Inference[S]) Certificate() *Certificate {
	if i.steps == 0 {
		return nil
	}
	c := newCertificate(i.Average(), i.rows, i.batch.States)
	c.Max = i.cfg.most
	for j := range c.Lambda {
		var v, se float64
		v, se, c.Steps = i.way.violation(j)
		skip := 1
		if i.cfg.Uniform {
			skip = 0
		}
		c.agree(j, v, se, i.chains.agreement(j, skip))
	}
	return c
}

// Certify fixes the multipliers at lambda (nil means [Inference.Average]), runs the primal
// for discard draws per chain that are not counted and then for draws draws per chain, and
// returns the certificate of the latter. The certificate has the dual value if the target
// has at most 2²² states and can be enumerated. The next dual step continues from the
// loop's own multipliers.
//
// It returns the errors of Run and SetLambda, and an error if draws is less than 1.
func (i *Inference[S]) Certify(ctx context.Context, lambda []float64, discard, draws int) (*Certificate, error) {
	if err := i.life.Begin(ctx, "Certify", 0); err != nil {
		return nil, err
	}
	defer i.life.End()
	if err := cmp.Or(
		check.If(draws < 1 || discard < 0, "dual: Certify: discard = %d and draws = %d, want ≥ 0 and ≥ 1", discard, draws),
		check.If(i.open, "dual: Certify: step %d was interrupted, finish it first", i.steps),
	); err != nil {
		return nil, err
	}
	if lambda == nil {
		lambda = i.Average()
	}
	lambda = slices.Clone(lambda)
	way := newChains(i.batch.States, len(lambda))
	means, err := drawMeans(ctx, "Certify", i.target, i.primal, lambda, discard, draws, &way)
	if err != nil {
		return nil, err
	}
	c := newCertificate(lambda, i.rows, i.batch.States)
	c.Steps, c.Frozen, c.Max = draws, true, i.cfg.most
	for j := range lambda {
		v, se := batchMeans(draws, func(t int) float64 { return means[t*len(lambda)+j] })
		c.agree(j, v, se, way.agreement(j, 0))
	}
	return c, i.dualValue(ctx, c)
}

// drawMeans sets the multipliers of a target, runs the primal for the discarded draws per
// chain and then for the counted ones, and returns the mean violations of the latter, draws
// × n. way, if not nil, receives the violations of every chain.
func drawMeans[S energy.Site](ctx context.Context, who string, t Target[S], p Primal[S], lambda []float64, discard, draws int, way *chains) (means []float64, err error) {
	if err := t.SetLambda(lambda); err != nil {
		return nil, err
	}
	if err = p.Reset(); err == nil {
		err = p.Run(ctx, discard)
	}
	n := len(lambda)
	g := make([]float64, len(p.States())/t.Sites()*n)
	for range draws { // means grow as they come: draws may be more than ever do
		if err == nil {
			err = p.Run(ctx, 1)
		}
		if err != nil {
			return nil, fmt.Errorf("dual: %s: %w", who, err)
		}
		t.Violation(g, p.States())
		means = append(means, make([]float64, n)...)
		meanOf(means[len(means)-n:], g)
		if way != nil {
			way.add(g, nil)
		}
	}
	return means, nil
}

// dualValue adds the dual value to c if the target knows it.
func (i *Inference[S]) dualValue(ctx context.Context, c *Certificate) error {
	t, ok := i.target.(Enumerable)
	if !ok {
		return nil
	}
	if sites, levels := t.Shape(); countStates(sites, levels) < 0 {
		return nil
	}
	var err error
	c.Dual, err = t.Dual(ctx, c.Lambda)
	c.HasDual = err == nil
	return err
}

// NotConverged reports that the conditions did not hold within the steps allowed. The
// loop's state is kept, and Certificate is the certificate of the trajectory so far.
type NotConverged struct {
	Steps       int     // total number of steps made
	Tolerance   float64 // requested tolerance; 0 if returned by Run, for multipliers at their bound
	Certificate *Certificate
}

func (e *NotConverged) Error() string {
	if e.Tolerance == 0 {
		return fmt.Sprintf("dual: after %d steps %s", e.Steps, e.Certificate.held())
	}
	return fmt.Sprintf("dual: after %d steps %s", e.Steps, e.Certificate.failures(e.Tolerance))
}

// firstCheck is the first step at which Solve checks the conditions, when there
// are a dozen batch means from which to estimate errors; each next check comes an
// eighth later, since a check costs a pass over the trajectory.
const firstCheck = 256

// Solve makes dual steps until the certificate of the trajectory holds within tol, an
// absolute tolerance on violations and slacks. This certificate describes the samples drawn
// on the way; for the distribution at λ̄ use [Inference.Certify]. If the certificate does
// not hold within the given number of further steps, the error is a [*NotConverged]; other
// errors are those of Run.
func (i *Inference[S]) Solve(ctx context.Context, steps int, tol float64) error {
	if err := cmp.Or(check.If(!(tol > 0), "dual: Solve: tol = %v, want > 0", tol), check.If(steps < 0, "dual: Solve: steps = %d, want ≥ 1", steps)); err != nil {
		return err
	}
	end := i.steps + min(steps, math.MaxInt-i.steps)
	for i.steps < end {
		next := min(max(firstCheck, i.steps+i.steps/8), end)
		if err := i.run(ctx, next-i.steps); err != nil {
			return err
		}
		if i.Certificate().Holds(tol) {
			return nil
		}
	}
	if i.steps == 0 {
		return fmt.Errorf("dual: Solve: steps = %d, want ≥ 1", steps)
	}
	return &NotConverged{i.steps, tol, i.Certificate()}
}
