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

// Masked is masked diffusion of tokens (MDLM; Sahoo et al. 2024). At time t every token has
// independently become the mask with probability 1 − α(t), where α is the schedule. In a reverse
// step from time t to time s, an unmasked token stays. A mask is revealed (that is, replaced by a
// draw from the prediction) with probability
//
//	(α(s) − α(t)) / (1 − α(t)).
//
// Sites revealed in the same step are drawn independently. The samples therefore follow the
// denoiser's distribution exactly only in the limit of many steps, or with FirstHitting.
//
// The [Steps] of Masked also implement [Joint] and [Absorbing]. With FirstHitting they implement
// [Clocked], and otherwise [Factorised].
type Masked struct {
	// Mask is the level that stands for a masked token. It never appears in a sample, whatever the
	// denoiser predicts.
	Mask int32

	// Schedule gives the probability α that a token is unmasked; nil means noise.LogLinear{}.
	Schedule noise.Schedule

	// FirstHitting reveals one token per step, at the random time at which the continuous-time
	// process reveals it (Zheng et al. 2024). The samples follow the denoiser's distribution
	// without discretisation error. A sample takes as many steps as it has masks; the requested
	// number is ignored.
	//
	// With n masks left at time t, and α as in [Masked], the next time s satisfies
	//
	//	1 − α(s) = u^{1/n}·(1 − α(t)),  u uniform in [0,1],
	//
	// and then a random mask is revealed. (If there is no such s > 0, s is the smallest positive
	// number.)
	//
	// With AtPosterior and guidance of weight γ, a step draws the next site i and its token l with
	// these probabilities (Nisonoff et al. 2024):
	//
	//	ClassifierFree    ∝ p(x_0,i = l | x_t, y)^γ · p(x_0,i = l | x_t)^{1−γ}
	//	ClassifierGuided  ∝ p(x_0,i = l | x_t) · (p(y | x_t with x_i = l)/p(y | x_t))^γ
	FirstHitting bool
}

// Bind returns the steps of the process, or an error if Mask is not a level of the model or if the
// schedule is invalid. It implements [Process].
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

// absorbing holds the methods that the steps of [Masked], [Ordered] and [Remask] share.
type absorbing struct{ slots.Absorbing }

// Intact copies the state x to x0, with −1 in place of each mask. The unmasked tokens are
// exactly those that are known to be uncorrupted. It implements [IntactSteps].
func (p *absorbing) Intact(x0, x []int32) {
	for i, l := range x {
		if x0[i] = l; l == p.Mask {
			x0[i] = -1
		}
	}
}

// token returns the token for the masked site i. If x0 is nil, it draws the token from the row of
// v; otherwise it takes the token from x0.
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

// posterior implements Posterior for steps that mask the token of site i with probability
// hide(i), and reveal a mask with probability reveal.
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

// masked holds the steps of a [Masked] process on a grid. It keeps no state of a sample.
type masked struct{ absorbing }

// Reveals returns [energy.RevealsEach], which tells denoisers that a step reveals each mask
// independently.
func (p *masked) Reveals() energy.Reveals { return energy.RevealsEach }

// Next returns the diffusion time at which the next step ends. All steps have the same length. It
// implements [Steps].
func (p *masked) Next(_ []int32, _ float64, step, steps int, _ *sampler.Stream) float64 {
	return gridTime(step, steps)
}

// reveal returns the probability that a mask is revealed in the step from t to s.
func (p *masked) reveal(t, s float64) float64 {
	if s <= 0 {
		return 1
	}
	at := p.Alpha(t)
	return fraction(p.Alpha(s)-at, 1-at)
}

// Reverse chooses each mask of x independently, with the probability stated at [Masked], and
// replaces the chosen masks by tokens drawn from the prediction v. It implements [Steps].
func (p *masked) Reverse(x []int32, _, v []float32, t, s float64, r *sampler.Stream) error {
	check.Len("diffusion", "v", len(v), len(x)*p.Levels)
	return p.step(x, nil, v, t, s, r)
}

// Renoise chooses masks of x in the same way as Reverse. It replaces each chosen mask by the token
// of the clean sample x0 at this site. It implements [Renoiser].
func (p *masked) Renoise(x, x0 []int32, v []float32, t, s float64, r *sampler.Stream) {
	_ = p.step(x, x0, v, t, s, r)
}

// step reveals random masks, with tokens of x0 or, if x0 is nil, drawn from v.
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

// Reweight updates the log-weights v of the clean tokens after a step: at each site that the step
// revealed, all weight goes to the revealed token. It implements [Joint].
func (p *masked) Reweight(v []float32, xt, xs []int32, _, _ float64) { p.Reveal(v, xt, xs) }

// Posterior stores in dst, for every site, the log-probabilities of its levels after a step. A mask
// is revealed with the probability stated at [Masked], and unmasked tokens do not change. It
// implements [Factorised].
func (p *masked) Posterior(dst, v []float32, x []int32, t, s float64) {
	p.posterior(dst, v, x, func(int) float64 { return 0 }, p.reveal(t, s))
}

// firstHitting holds the steps of a [Masked] process with FirstHitting. It keeps no state of a
// sample.
type firstHitting struct{ absorbing }

// Reveals returns [energy.RevealsOne], which tells denoisers that a step reveals a single mask.
func (p *firstHitting) Reveals() energy.Reveals { return energy.RevealsOne }

// MaxSteps returns the number of sites; it implements [Clocked].
func (p *firstHitting) MaxSteps(int) int { return p.Sites }

// Next draws the random time at which the next mask is revealed; it implements [Steps].
func (p *firstHitting) Next(x []int32, t float64, _, _ int, r *sampler.Stream) float64 {
	n := p.Left(x)
	if n <= 1 {
		return 0
	}
	c := p.Schedule
	hidden := float64(simd.Exp(simd.Log(r.Float64())/float64(n)) * (1 - c.Alpha(t)))
	return min(t, max(c.Time(1-hidden), math.SmallestNonzeroFloat64))
}

// Reverse chooses one mask of x at random and replaces it by a token drawn from the prediction v.
// It implements [Steps].
func (p *firstHitting) Reverse(x []int32, _, v []float32, _, s float64, r *sampler.Stream) error {
	check.Len("diffusion", "v", len(v), len(x)*p.Levels)
	return p.step(x, nil, v, s, r)
}

// Renoise chooses one mask of x at random and replaces it by the token of the clean sample x0 at
// this site. It implements [Renoiser].
func (p *firstHitting) Renoise(x, x0 []int32, v []float32, _, s float64, r *sampler.Stream) {
	_ = p.step(x, x0, v, s, r)
}

// step reveals one random mask, with a token of x0 or, if x0 is nil, drawn from v. The last mask
// is revealed at s = 0.
func (p *firstHitting) step(x, x0 []int32, v []float32, s float64, r *sampler.Stream) (err error) {
	skipped := 0 // number of masks before the one to reveal
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

// Reweight updates the log-weights v of the clean tokens after a step: at the site that the step
// revealed, all weight goes to the revealed token. It implements [Joint].
func (p *firstHitting) Reweight(v []float32, xt, xs []int32, _, _ float64) { p.Reveal(v, xt, xs) }

// rates implements jumping: a mask becomes level l at a rate ∝ p(x_0,i = l | x_t).
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

// fraction returns the probability part/whole, clipped to [0, 1]. If part is 0, it returns 0. If
// only whole is 0, because of rounding, it returns 1.
func fraction(part, whole float64) float64 {
	switch {
	case !(part > 0):
		return 0
	case part >= whole:
		return 1
	}
	return part / whole
}
