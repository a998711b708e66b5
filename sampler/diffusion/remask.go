package diffusion

import (
	"cmp"
	"context"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/slots"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// RemaskRule selects the probability σ with which the unmasked tokens are masked again in a step of
// [Remask]. In the rules, η is Remask.Eta, and σ_max is the largest possible probability.
type RemaskRule uint8

const (
	// RemaskCap masks each unmasked token with probability σ = min(η, σ_max), where η is Remask.Eta
	// and σ_max is the largest possible probability.
	RemaskCap RemaskRule = iota

	// RemaskRescale masks each unmasked token with probability σ = η·σ_max, where η is Remask.Eta
	// and σ_max is the largest possible probability.
	RemaskRescale

	// RemaskConfidence prefers to mask tokens that were unlikely when they were drawn. A token that
	// was drawn with probability ψ is masked with a probability proportional to e^{−ψ}, but capped
	// at σ_max (the largest possible probability). On average, n·min(η, σ_max) of n unmasked tokens
	// are masked, where η is Remask.Eta. Samples do not follow the denoiser's distribution in any
	// limit, because the masks depend on the draws.
	RemaskConfidence

	// RemaskLoop is masked diffusion with a pause. For a share of the steps (Remask.Between), the
	// time stays at Remask.Hold. Each of these steps masks tokens and reveals masks again. The
	// probability of masking is min(η, σ_max), where η is Remask.Eta and σ_max is the largest
	// possible probability.
	RemaskLoop
)

// String returns "cap", "rescale", "confidence" or "loop".
func (r RemaskRule) String() string {
	return check.Name("RemaskRule", r, "cap", "rescale", "confidence", "loop")
}

// MarshalText returns the name that String returns.
func (r RemaskRule) MarshalText() ([]byte, error) {
	return check.MarshalName("rule", r, RemaskLoop)
}

// UnmarshalText sets r to the rule of the given name. It lets flags and files hold a RemaskRule.
func (r *RemaskRule) UnmarshalText(name []byte) error {
	return check.UnmarshalName("rule", r, RemaskLoop, name)
}

// Remask is masked diffusion that can correct a token by masking it again (ReMDM; Wang et al.
// 2025). Let α_t be the probability that a token is unmasked at time t, and let m be the mask.
// Given x_0, the reverse step from x_t to x_s chooses each token of x_s as follows:
//
//	x_t ≠ m:  m with probability σ, otherwise x_t;
//	x_t = m:  x_0 with probability (α_s − (1−σ)α_t)/(1−α_t), otherwise m.
//
// The probability σ ≤ σ_max = min(1, (1−α_s)/α_t) follows from Rule. With many steps, the
// distribution of the samples tends to that of the denoiser, except with RemaskConfidence.
//
// The [Steps] of Remask also implement [Renoiser], [Factorised] and [Absorbing]. They are not
// [Joint], so [Particles] cannot use them.
type Remask struct {
	Mask     int32
	Schedule noise.Schedule // schedule of α, the probability that a token is unmasked; nil means noise.LogLinear{}
	Rule     RemaskRule

	// Eta is η in (0, 1], which determines how often tokens are masked again (see [RemaskRule]). 0
	// means 0.02.
	Eta float64

	// Hold is the time at which RemaskLoop pauses; 0 means 0.1. Between is the share of all steps
	// that it makes at this time; 0 means one half. Of the other steps, one half comes before the
	// pause and one half after it.
	Hold, Between float64
}

// Defaults of Remask, chosen for this library. The paper tunes them per task.
const (
	defaultEta     = 0.02 // default of Remask.Eta
	defaultHold    = 0.1  // default of Remask.Hold; it leaves nine tenths of the tokens unmasked
	defaultBetween = 0.5  // default of Remask.Between
)

// Bind returns the steps of the process, or an error if a field of the Remask is out of range. It
// implements [Process].
func (p Remask) Bind(_ context.Context, sites, levels int) (Steps[int32], error) {
	m, err := slots.NewAbsorbing("diffusion: Remask", p.Mask, p.Schedule, sites, levels)
	p.Eta, p.Hold, p.Between = cmp.Or(p.Eta, defaultEta), cmp.Or(p.Hold, defaultHold), cmp.Or(p.Between, defaultBetween)
	share := func(name string, v float64) error {
		return check.If(!(v > 0 && v <= 1), "diffusion: Remask: %s = %v, want in (0, 1]", name, v)
	}
	if err = cmp.Or(err,
		share("Eta", p.Eta), share("Hold", p.Hold), share("Between", p.Between),
		check.If(p.Rule > RemaskLoop, "diffusion: Remask: Rule = %d, want RemaskCap … RemaskLoop", p.Rule),
	); err != nil {
		return nil, err
	}
	b := &remask{absorbing: absorbing{m}, recipe: p}
	if p.Rule == RemaskConfidence {
		b.doubt = make([]float64, sites)
	}
	return b, nil
}

// remask holds the steps of a [Remask] process. With RemaskConfidence it belongs to one sample.
type remask struct {
	absorbing
	recipe Remask    // settings with defaults filled in
	doubt  []float64 // e^{−ψ} of each site, for RemaskConfidence; nil for other rules
}

// Prior masks every site of x. For RemaskConfidence it also clears the doubts of the tokens. The
// doubt of a token is e^{−ψ}, where ψ is the probability that it had when it was drawn. The doubt
// of a clamped site stays 0, because its token is never drawn. It implements [Steps].
func (p *remask) Prior(x []int32, r *sampler.Stream) {
	p.absorbing.Prior(x, r)
	clear(p.doubt)
}

// Next returns the diffusion time at which the next step ends. All steps have the same length,
// except that RemaskLoop pauses at Hold. It implements [Steps].
func (p *remask) Next(_ []int32, t float64, step, steps int, _ *sampler.Stream) float64 {
	u := gridTime(step, steps)
	if p.recipe.Rule != RemaskLoop || u == 0 {
		return u
	}
	// u falls evenly from 1 to 0. Values of u above begin map to times before the pause, and
	// values below end map to times after it.
	end := float64((1 - p.recipe.Between) / 2)
	begin := float64((1 + p.recipe.Between) / 2)
	switch {
	case u > begin:
		return p.recipe.Hold + float64(float64((1-p.recipe.Hold)*(u-begin))/(1-begin))
	case u >= end:
		return min(t, p.recipe.Hold)
	}
	return min(t, float64(p.recipe.Hold*u)/end)
}

// rates holds the probabilities of one step.
type rates struct {
	sigma  float64 // mean probability that an unmasked token is masked
	top    float64 // largest probability σ_max
	scale  float64 // masking probability per unit of doubt, for RemaskConfidence
	reveal float64 // probability that a mask is revealed
}

func (p *remask) rates(x []int32, t, s float64) rates {
	at, as := p.Alpha(t), p.Alpha(s)
	k := rates{top: fraction(1-as, at)}
	switch {
	case p.recipe.Rule == RemaskRescale:
		k.sigma = float64(p.recipe.Eta * k.top)
	case p.recipe.Rule == RemaskLoop && t > s:
		k.sigma = 0
	default:
		k.sigma = min(p.recipe.Eta, k.top)
	}
	k.reveal = fraction(as-float64((1-k.sigma)*at), 1-at)
	if s <= 0 {
		k.reveal = 1
	}
	if p.doubt != nil {
		shown, total := 0, 0.0
		for i, l := range x {
			if l != p.Mask {
				shown++
				total += p.doubt[i]
			}
		}
		if total > 0 {
			k.scale = float64(float64(shown)*k.sigma) / total
		}
	}
	return k
}

// sigma returns the probability that the token of an unmasked site is masked again.
func (p *remask) sigma(k *rates, site int) float64 {
	if p.doubt != nil {
		return min(k.top, float64(k.scale*p.doubt[site]))
	}
	return k.sigma
}

// Reverse masks some unmasked tokens, and replaces some masks by tokens drawn from the prediction
// v. It chooses both at random, with the probabilities stated at [Remask]. It implements [Steps].
func (p *remask) Reverse(x []int32, _, v []float32, t, s float64, r *sampler.Stream) error {
	check.Len("diffusion", "v", len(v), len(x)*p.Levels)
	return p.step(x, nil, v, t, s, r)
}

// Renoise chooses sites in the same way as Reverse, but replaces each mask that it reveals by the
// token of x0, the clean sample, at the same site. It implements [Renoiser].
func (p *remask) Renoise(x, x0 []int32, v []float32, t, s float64, r *sampler.Stream) {
	_ = p.step(x, x0, v, t, s, r)
}

// step masks random tokens and reveals random masks, with tokens of x0 or, if x0 is nil, drawn
// from v.
func (p *remask) step(x, x0 []int32, v []float32, t, s float64, r *sampler.Stream) error {
	k := p.rates(x, t, s)
	for i, l := range x {
		switch {
		case l != p.Mask:
			if r.Float64() < p.sigma(&k, i) {
				x[i] = p.Mask
			}
		case r.Float64() < k.reveal:
			l, err := p.token(x0, v, i, r)
			if err != nil {
				return err
			}
			p.show(x, v, i, l)
		}
	}
	return nil
}

// show sets site i to the token l and records its doubt, computed from the row of v.
func (p *remask) show(x []int32, v []float32, i int, l int32) {
	x[i] = l
	if p.doubt == nil {
		return
	}
	var z [1]float64
	row := p.Row(v, i)
	simd.LogSumExp(z[:], row, p.Levels)
	p.doubt[i] = simd.Exp(-simd.Exp(float64(row[l]) - z[0]))
}

// Posterior stores in dst, for every site, the log-probabilities of its levels after a step,
// which masks tokens and replaces masks by tokens with the probabilities stated at [Remask]. It implements
// [Factorised].
func (p *remask) Posterior(dst, v []float32, x []int32, t, s float64) {
	k := p.rates(x, t, s)
	p.posterior(dst, v, x, func(i int) float64 { return p.sigma(&k, i) }, k.reveal)
}
