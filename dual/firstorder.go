package dual

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// Ascent is projected dual ascent, the [Rule] of Hadou, Uslu and Ribeiro (2026):
//
//	λ_j ← min(max(λ_j + η_t ḡ_j, 0), Config.Max)
//
// Here ḡ_j is the mean violation in the batch of step t. Multipliers of equalities may be negative,
// down to −Config.Max. The step size η_t = Step(t), in units of λ per unit of g, must be tuned to
// the problem.
//
// If Step is nil, multiplier j has the step size β/(v_j·√(1+t)). Here β is the temperature, and v_j
// is the variance of the violation g_j within a batch, averaged over earlier batches. The step then
// does not depend on the units of g_j.
type Ascent struct {
	// step size η_t at dual step t; nil means the default, a Newton step (see [Ascent])
	Step Schedule
}

// Bind returns a new updater for n multipliers; it implements [Rule].
func (a Ascent) Bind(_ context.Context, n int) (Updater, error) {
	return firstOrder("Ascent", a.Step, n, func(g gains) stepper { return &ascent{g} })
}

type ascent struct{ gains }

func (a *ascent) Update(lambda []float64, b *Batch) error {
	eta, err := a.next(b, b.Step)
	if err != nil {
		return err
	}
	for j, g := range b.Mean {
		lambda[j] = b.clip(j, lambda[j]+float64(eta[j]*g))
	}
	return nil
}

// Extragradient is dual ascent along the gradient at a look-ahead point λ' (Korpelevich 1976):
//
//	λ' = clip(λ + η_t ḡ(λ)),  λ ← clip(λ + η_t ḡ(λ'))
//
// Here ḡ(λ) is the mean violation at λ, η_t the step size, and clip limits λ to its bounds as in
// [Ascent]. An update takes two steps of the inference, one for each ḡ. The rule is slower than
// Ascent if Ascent converges, but remains stable at step sizes at which Ascent oscillates.
type Extragradient struct {
	Step Schedule // step size η_t at dual step t; nil means the default of [Ascent]
}

// Bind returns a new updater for n multipliers; it implements [Rule].
func (e Extragradient) Bind(_ context.Context, n int) (Updater, error) {
	return firstOrder("Extragradient", e.Step, n, func(g gains) stepper { return &extragradient{g, make([]float64, n+1)} })
}

type extragradient struct {
	gains
	// n multipliers before the look-ahead step, followed by a flag: 1 if the present λ is the
	// look-ahead point, else 0
	from []float64
}

func (e *extragradient) Update(lambda []float64, b *Batch) error {
	eta, err := e.next(b, b.Step/2)
	if err != nil {
		return err
	}
	n := len(lambda)
	ahead := &e.from[n]
	if *ahead == 0 {
		copy(e.from, lambda)
	}
	*ahead = 1 - *ahead
	for j, g := range b.Mean {
		lambda[j] = b.clip(j, e.from[j]+float64(eta[j]*g))
	}
	return nil
}

func (e *extragradient) fields(f *wire.Fields) {
	f.Float64s(e.from)
	e.gains.fields(f)
}

// PI is a proportional–integral controller with smoothed errors (νPI: Sohrabi, Ramirez, Zhang,
// Lacoste-Julien and Gallego-Posada 2024):
//
//	ξ_t = ν ξ_{t−1} + (1−ν) ḡ,  λ ← clip(λ + η_t(ḡ + κ(ξ_t − ξ_{t−1})))
//
// Here ḡ is the mean violation, η_t the step size, ν the smoothing weight and κ a factor. The
// function clip limits λ to its bounds as in [Ascent]. Nothing accumulates while a multiplier stays
// at a bound (no windup).
type PI struct {
	Integral Schedule // step size η_t at dual step t; nil means the default of [Ascent]
	// factor κ ≥ 0 of the term that damps oscillations (see [PI]); 0 means 1, −1 means none
	Proportional float64
	// weight ν in [0, 1) of the previous value in the running mean ξ of the violations (see
	// [PI])
	Smooth float64
}

// Bind returns a new updater for n multipliers; it implements [Rule]. It returns an error if a
// field is out of range.
func (p PI) Bind(_ context.Context, n int) (Updater, error) {
	switch p.Proportional {
	case 0:
		p.Proportional = 1
	case -1:
		p.Proportional = 0
	}
	if err := cmp.Or(
		check.If(!(p.Proportional >= 0) || !check.Finite(p.Proportional), "dual: PI: Proportional = %v, want −1 or a finite number ≥ 0", p.Proportional),
		check.If(!(p.Smooth >= 0 && p.Smooth < 1), "dual: PI: Smooth = %v, want 0 ≤ Smooth < 1", p.Smooth),
	); err != nil {
		return nil, err
	}
	return firstOrder("PI", p.Integral, n, func(g gains) stepper { return &controller{g, p, make([]float64, n)} })
}

type controller struct {
	gains
	p      PI
	smooth []float64 // smoothed violation ξ of each row
}

func (c *controller) Update(lambda []float64, b *Batch) error {
	eta, err := c.next(b, b.Step)
	if err != nil {
		return err
	}
	for j, g := range b.Mean {
		if b.Step == 0 {
			c.smooth[j] = g
		}
		change := float64((1 - c.p.Smooth) * (g - c.smooth[j]))
		c.smooth[j] += change
		lambda[j] = b.clip(j, lambda[j]+float64(eta[j]*(g+float64(c.p.Proportional*change))))
	}
	return nil
}

func (c *controller) fields(f *wire.Fields) {
	f.Float64s(c.smooth)
	c.gains.fields(f)
}

// AdaGrad is dual ascent whose steps shrink as the squared gradients add up (Duchi, Hazan and
// Singer 2011):
//
//	λ_j ← clip(λ_j + Rate·(β/sd_j)·ḡ_j/√Σ ḡ_j²)
//
// Here β is the temperature, ḡ_j is the mean violation of constraint j in a batch, and the sum is
// over all steps so far. The square sd_j² is the variance of g_j within a batch, averaged over
// earlier batches. The function clip limits λ to its bounds as in [Ascent].
//
// The rule does not depend on the units of g. It takes O(n) time and memory for n multipliers. It
// is the default for more than 2000 multipliers.
type AdaGrad struct {
	Rate float64 // factor of every step size; 0 means 1
}

// Bind returns a new updater for n multipliers; it implements [Rule]. It returns an error if the
// rate is out of range.
func (a AdaGrad) Bind(_ context.Context, n int) (Updater, error) {
	a.Rate = cmp.Or(a.Rate, 1)
	if !(a.Rate > 0) || !check.Finite(a.Rate) {
		return nil, fmt.Errorf("dual: AdaGrad: Rate = %v, want a finite number > 0, or 0 for 1", a.Rate)
	}
	return firstOrder("AdaGrad", nil, n, func(g gains) stepper { return &adagrad{g, a.Rate, make([]float64, n)} })
}

type adagrad struct {
	gains
	rate    float64
	squares []float64 // Σ ḡ_j² over the steps so far
}

func (a *adagrad) Update(lambda []float64, b *Batch) error {
	v, err := a.variances(b)
	if err != nil {
		return err
	}
	for j, g := range b.Mean {
		a.squares[j] += float64(g * g)
		if a.squares[j] > 0 && v[j] > 0 {
			eta := a.rate * b.Beta / math.Sqrt(v[j]) / math.Sqrt(a.squares[j])
			lambda[j] = b.clip(j, lambda[j]+float64(eta*g))
		}
	}
	return nil
}

func (a *adagrad) fields(f *wire.Fields) {
	f.Float64s(a.squares)
	a.gains.fields(f)
}

// gains computes the step size of every multiplier for a first-order rule. The step size is that
// of a schedule, or β/(v_j·√(1+t)) with v_j the mean variance of g_j.
type gains struct {
	rule string
	step Schedule

	batches         int
	variance        []float64 // variance of each row, averaged over all batches
	now, scale, eta []float64 // scratch: variances of this batch, v_j, and the step sizes
}

// firstOrder returns the updater of a first-order rule. The function build makes the rule from its
// gains.
func firstOrder(rule string, step Schedule, n int, build func(gains) stepper) (Updater, error) {
	if err := checkCount(rule, n); err != nil {
		return nil, err
	}
	return updater{build(gains{rule: rule, step: step, variance: make([]float64, n), now: make([]float64, n), scale: make([]float64, n), eta: make([]float64, n)})}, nil
}

// next returns the step sizes for a batch at step t of the schedule.
func (g *gains) next(b *Batch, t int) ([]float64, error) {
	if g.step != nil {
		eta, err := stepSize(g.rule, g.step, t)
		for j := range g.eta {
			g.eta[j] = eta
		}
		return g.eta, err
	}
	v, err := g.variances(b)
	if err != nil {
		return nil, err
	}
	for j := range g.eta {
		g.eta[j] = 0
		if v[j] > 0 {
			g.eta[j] = b.Beta / float64(v[j]*math.Sqrt(float64(t+1)))
		}
	}
	return g.eta, nil
}

// variances returns the mean variances over the batches before b, because the batch of a step must
// not influence the direction of that step. For the first batch it returns the variances of b. If a
// variance is still 0, the square of the mean replaces it.
func (g *gains) variances(b *Batch) ([]float64, error) {
	if err := b.spread(g.rule); err != nil {
		return nil, err
	}
	b.Variance(g.now)
	for j, v := range g.now {
		if !check.Finite(v) {
			return nil, fmt.Errorf("dual: %s: variance of violation %d = %v, want a finite number", g.rule, j, v)
		}
	}
	copy(g.scale, g.variance)
	w := 1 / float64(g.batches+1)
	for j, v := range g.now {
		if g.scale[j] == 0 {
			g.scale[j] = v
		}
		if g.scale[j] == 0 {
			g.scale[j] = float64(b.Mean[j] * b.Mean[j])
		}
		g.variance[j] += float64(w * (v - g.variance[j]))
	}
	g.batches++
	return g.scale, nil
}

// fields reads or writes the number of batches and their variances for a checkpoint.
func (g *gains) fields(f *wire.Fields) {
	f.Counts("batches", &g.batches)
	f.Float64s(g.variance)
}

// Schedule returns the step size at dual step t = 0, 1, 2, …. The result must depend on t alone and
// be finite and ≥ 0. Samples depend on the schedule, so it should return the same bits on every
// processor, as [Constant] and [Power] do.
type Schedule func(t int) float64

// Constant returns the schedule whose step size is always η (eta). With η ∝ 1/√T over T steps, the
// mean of the multipliers is within O(1/√T) of the optimum (Hadou et al. 2026, theorem 1).
func Constant(eta float64) Schedule { return func(int) float64 { return eta } }

// Power returns the schedule with the step size κ/(1+t)^p at step t, for loops whose number of
// steps is not known in advance. The classical range for stochastic approximation is ½ < p ≤ 1.
func Power(kappa, p float64) Schedule {
	return func(t int) float64 {
		return float64(kappa * simd.Exp(0-float64(p*simd.Log(float64(1+t)))))
	}
}

// stepSize returns the step size of a schedule at step t. It returns an error if the step size is
// negative or not finite.
func stepSize(rule string, s Schedule, t int) (float64, error) {
	eta := s(t)
	if !(eta >= 0) || !check.Finite(eta) {
		return 0, fmt.Errorf("dual: %s: step size at step %d = %v, want a finite number ≥ 0", rule, t, eta)
	}
	return eta, nil
}
