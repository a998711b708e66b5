package diffusion

import (
	"context"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/slots"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// Masked is masked diffusion (MDLM; Sahoo et al. 2024): at time t every token has become the mask
// with probability 1 − α(t). In reverse, an unmasked token stays, and a mask is replaced by a draw
// from the prediction with probability
//
//	(α(s) − α(t)) / (1 − α(t)).
//
// Whether to reveal a mask is decided first, so the prediction's rows for masks that remain are not
// read. Sites revealed in the same step are drawn independently. The distribution is exactly that
// of the denoiser if dependent sites are never revealed together (see FirstHitting), and in the
// limit of many steps.
//
// Its [Steps] also implement [Joint] and [Absorbing], and either [Clocked], with FirstHitting, or
// [Factorised]. They store nothing for a sample.
type Masked struct {
	// Mask is the level that represents a masked token. Predictions never give it weight, whatever
	// the denoiser returns.
	Mask int32

	// Schedule is LogLinear{} if nil.
	Schedule noise.Schedule

	// FirstHitting reveals one token per step, at the time at which the continuous-time process
	// does (Zheng et al. 2024): with n masks left,
	//
	//	1 − α(s) = u^{1/n}·(1 − α(t)),  u uniform,
	//
	// after which a random mask is revealed. A sample takes as many steps as it has masks; the
	// requested number of steps is ignored. The distribution is exactly that of the denoiser,
	// without discretisation error. If the time is before the start of the schedule, the denoiser
	// is given the smallest positive number instead.
	//
	// Guidance at the posterior multiplies the rate at which a mask of the continuous-time process
	// becomes a token, as a grid with many steps does (Nisonoff et al. 2024). So the mask to reveal
	// and its token have probability ∝ p(x_0,i = l | x_t, y)^γ·p(x_0,i = l | x_t)^{1−γ} with
	// [ClassifierFree] and p(x_0,i = l | x_t)·(p(y | x_t with x_i = l)/p(y | x_t))^γ with
	// [ClassifierGuided]; the times remain those without guidance.
	FirstHitting bool
}

// Bind checks that Mask is a level and that the schedule is valid.
func (p Masked) Bind(_ context.Context, sites, levels int) (Steps[int32], error) {
	m, err := slots.NewAbsorbing("diffusion: Masked", p.Mask, p.Schedule, sites, levels)
	if err != nil {
		return nil, err
	}
	if p.FirstHitting {
		return &firstHitting{absorbing{m}}, nil
	}
	return &masked{absorbing{m}}, nil
}

// absorbing holds what the steps of this file, of [Ordered] and of [Remask] share.
type absorbing struct{ slots.Absorbing }

// Intact stores the unmasked tokens in x0: see [IntactSteps].
func (p *absorbing) Intact(x0, x []int32) {
	for i, l := range x {
		if x0[i] = l; l == p.Mask {
			x0[i] = -1
		}
	}
}

// token returns the token for the masked site i: that of x0, or a draw if x0 is nil.
func (p *absorbing) token(x0 []int32, v []float32, i int, r *sampler.Stream) (int32, error) {
	if x0 != nil {
		return x0[i], nil
	}
	l := p.Draw(v, i, r)
	if l < 0 {
		return 0, badRow(v, i, p.Levels)
	}
	return l, nil
}

// posterior is Posterior if an unmasked token is masked with probability hide(i) and a mask is
// revealed with probability reveal.
func (p *absorbing) posterior(dst, v []float32, x []int32, hide func(i int) float64, reveal float64) {
	check.Len("diffusion", "v", len(v), len(x)*p.Levels)
	for i, l := range x {
		row := p.Row(dst, i)
		if l != p.Mask {
			slots.OneHot(row, l)
			sigma := hide(i)
			row[l] = float32(simd.Log1p(-sigma))
			row[p.Mask] = float32(simd.Log(sigma))
			continue
		}
		copy(row, p.Row(v, i))
		row[p.Mask] = float32(math.Inf(-1))
		simd.LogSoftmax(row, row, p.Levels)
		shift := float32(simd.Log(reveal))
		for l := range row {
			row[l] += shift
		}
		row[p.Mask] = float32(simd.Log(1 - reveal))
	}
}

// masked is a bound [Masked] on a grid. It keeps no state of a sample.
type masked struct{ absorbing }

// Reveals implements the interface revealing.
func (p *masked) Reveals() energy.Reveals { return energy.RevealsEach }

// Next implements [Steps] with an even grid.
func (p *masked) Next(_ []int32, _ float64, step, steps int, _ *sampler.Stream) float64 {
	return gridTime(step, steps)
}

// reveal returns the probability that a mask is revealed.
func (p *masked) reveal(t, s float64) float64 {
	if s <= 0 {
		return 1
	}
	at := p.Alpha(t)
	return fraction(p.Alpha(s)-at, 1-at)
}

// Reverse implements [Steps].
func (p *masked) Reverse(x []int32, _, v []float32, t, s float64, r *sampler.Stream) error {
	check.Len("diffusion", "v", len(v), len(x)*p.Levels)
	return p.step(x, nil, v, t, s, r)
}

// Renoise implements [Renoiser].
func (p *masked) Renoise(x, x0 []int32, v []float32, t, s float64, r *sampler.Stream) {
	_ = p.step(x, x0, v, t, s, r)
}

// step reveals tokens of x0, or draws them if x0 is nil.
func (p *masked) step(x, x0 []int32, v []float32, t, s float64, r *sampler.Stream) (err error) {
	reveal := p.reveal(t, s)
	for i, l := range x {
		if l != p.Mask || reveal < 1 && r.Float64() >= reveal {
			continue
		}
		if x[i], err = p.token(x0, v, i, r); err != nil {
			return err
		}
	}
	return nil
}

// Reweight implements [Joint].
func (p *masked) Reweight(v []float32, xt, xs []int32, _, _ float64) { p.Reveal(v, xt, xs) }

// Posterior implements [Factorised].
func (p *masked) Posterior(dst, v []float32, x []int32, t, s float64) {
	p.posterior(dst, v, x, func(int) float64 { return 0 }, p.reveal(t, s))
}

// firstHitting is a bound [Masked] with the clock of FirstHitting. It keeps no state of a sample.
type firstHitting struct{ absorbing }

// Reveals implements the interface revealing.
func (p *firstHitting) Reveals() energy.Reveals { return energy.RevealsOne }

// MaxSteps implements [Clocked].
func (p *firstHitting) MaxSteps(int) int { return p.Sites }

// Next implements [Steps].
func (p *firstHitting) Next(x []int32, t float64, _, _ int, r *sampler.Stream) float64 {
	n := p.Left(x)
	if n <= 1 {
		return 0
	}
	c := p.Schedule
	hidden := float64(simd.Exp(simd.Log(r.Float64())/float64(n)) * (1 - c.Alpha(t)))
	return min(t, max(c.Time(1-hidden), math.SmallestNonzeroFloat64))
}

// Reverse implements [Steps].
func (p *firstHitting) Reverse(x []int32, _, v []float32, _, s float64, r *sampler.Stream) error {
	check.Len("diffusion", "v", len(v), len(x)*p.Levels)
	return p.step(x, nil, v, s, r)
}

// Renoise implements [Renoiser].
func (p *firstHitting) Renoise(x, x0 []int32, v []float32, _, s float64, r *sampler.Stream) {
	_ = p.step(x, x0, v, s, r)
}

// step reveals a token of x0, or draws it if x0 is nil.
func (p *firstHitting) step(x, x0 []int32, v []float32, s float64, r *sampler.Stream) (err error) {
	skipped := 0 // masks before the one that gives way
	if s > 0 {
		skipped = r.IntN(max(1, p.Left(x)))
	}
	for i, l := range x {
		if l != p.Mask {
			continue
		}
		if skipped == 0 {
			x[i], err = p.token(x0, v, i, r)
			return err
		}
		skipped--
	}
	return nil
}

// Reweight implements [Joint].
func (p *firstHitting) Reweight(v []float32, xt, xs []int32, _, _ float64) { p.Reveal(v, xt, xs) }

// rates implements jumping: a mask becomes l at a rate ∝ p(x_0,i = l | x_t).
func (p *firstHitting) rates(dst, v []float32, x []int32) {
	for i, l := range x {
		row := p.Row(dst, i)
		copy(row, p.Row(v, i))
		row[p.Mask] = float32(math.Inf(-1))
		simd.LogSoftmax(row, row, p.Levels)
		if l != p.Mask {
			slots.OneHot(row, p.Mask)
			row[p.Mask] = float32(math.Inf(-1))
		}
	}
}

// fraction returns the probability part/whole: 0 if part is 0, 1 if rounding leaves whole 0.
func fraction(part, whole float64) float64 {
	switch {
	case !(part > 0):
		return 0
	case part >= whole:
		return 1
	}
	return part / whole
}
