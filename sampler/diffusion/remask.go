package diffusion

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// RemaskRule says how many of the tokens that show are masked again.
type RemaskRule uint8

const (
	// RemaskCap masks a token that shows with probability σ = min(η, σ_max).
	RemaskCap RemaskRule = iota

	// RemaskRescale masks with σ = η·σ_max.
	RemaskRescale

	// RemaskConfidence shares n·min(η, σ_max) expected remaskings among the n
	// tokens that show in proportion to e^{−ψ}, ψ the probability that the
	// token had when it was drawn, each at most σ_max. What is masked then
	// depends on what was drawn: the result does not follow the denoiser's law,
	// in no limit.
	RemaskConfidence

	// RemaskLoop is masked diffusion with a pause: at time Hold, where α stays
	// the same, tokens are masked with σ = min(η, σ_max) and drawn again for a
	// while.
	RemaskLoop
)

// Remask is masked diffusion whose tokens can be masked again and so corrected
// (ReMDM; Wang et al. 2025). With σ ≤ σ_max = min(1, (1−α_s)/α_t) the reverse
// step given x_0 is
//
//	x_t ≠ m: m with probability σ;
//	x_t = m: x_0 with probability (α_s − (1−σ)α_t)/(1−α_t),
//
// which keeps the marginals of masked diffusion whatever σ is. The rules other
// than RemaskConfidence converge to the law of the denoiser with many steps.
// In the last step σ_max = 0 and no mask survives.
//
// A Remask is a [Renoiser] but no [Joint]: a state from which a constraint
// cannot be met can recover, so it must not be weighed by it.
type Remask struct {
	Mask     int32
	Schedule noise.Schedule // LogLinear{} if nil
	Rule     RemaskRule

	// Eta is η in (0, 1]; 0 means 0.02.
	Eta float64

	// Hold, Between: RemaskLoop spends the share Between of the steps at time
	// Hold, and divides the others among the times before and after it. 0 means
	// a Hold of 0.1 and half of the steps.
	Hold, Between float64
}

// Defaults of Remask: choices of this library, not of the paper, which tunes
// them per task. 0.1 leaves nine tenths of the tokens on show in the loop.
const (
	defaultEta     = 0.02
	defaultHold    = 0.1
	defaultBetween = 0.5
)

// Bind checks the fields against the shape.
func (p Remask) Bind(sites, levels int) (Process[int32], error) {
	if err := checkMask("Remask", p.Mask, levels); err != nil {
		return nil, err
	}
	var err error
	if p.Schedule, err = noise.Resolve("diffusion: Remask", p.Schedule); err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name     string
		v        *float64
		def, top float64
	}{{"Eta", &p.Eta, defaultEta, 1}, {"Hold", &p.Hold, defaultHold, 1}, {"Between", &p.Between, defaultBetween, 1}} {
		if *f.v == 0 {
			*f.v = f.def
		}
		if !(*f.v > 0 && *f.v <= f.top) {
			return nil, fmt.Errorf("diffusion: Remask: %s = %v, want in (0, %v]", f.name, *f.v, f.top)
		}
	}
	if p.Rule > RemaskLoop {
		return nil, fmt.Errorf("diffusion: Remask: Rule = %d, want RemaskCap … RemaskLoop", p.Rule)
	}
	b := &remask{Remask: p, masked: Masked{Mask: p.Mask, Schedule: p.Schedule}}
	if p.Rule == RemaskConfidence {
		b.doubt = make([]float64, sites)
	}
	return b, nil
}

// Alpha implements [Process].
func (p Remask) Alpha(t float64) float64 { return Masked{Schedule: p.Schedule}.Alpha(t) }

// Prior masks every token.
func (p Remask) Prior(x []int32, r *sampler.Stream) { Masked{Mask: p.Mask}.Prior(x, r) }

// Masks reports whether l is the mask, which cannot be clamped.
func (p Remask) Masks(l int32) bool { return l == p.Mask }

// Next implements [Process]: an even grid, with a pause at Hold for RemaskLoop.
func (p Remask) Next(_ []int32, t float64, step, steps int, _ *sampler.Stream) float64 {
	u := gridTime(step, steps)
	if p.Rule != RemaskLoop || u == 0 {
		return u
	}
	// u falls evenly from 1 to 0: above begin come the times before the pause,
	// below end those after it.
	end := float64((1 - p.Between) / 2)
	begin := float64((1 + p.Between) / 2)
	switch {
	case u > begin:
		return p.Hold + float64(float64((1-p.Hold)*(u-begin))/(1-begin))
	case u >= end:
		return min(t, p.Hold)
	}
	return min(t, float64(p.Hold*u)/end)
}

// Reverse implements [Process]. It panics on a Remask that has not been bound.
func (p Remask) Reverse([]int32, []float32, []float32, float64, float64, *sampler.Stream) error {
	panic("diffusion: Remask: Reverse before Bind")
}

// remask is a Remask of one sample.
type remask struct {
	Remask
	masked Masked
	doubt  []float64 // e^{−ψ} by site, for RemaskConfidence
}

// Prior masks every token and forgets the sample before. A token that nobody
// draws, a clamped one, stays without doubt.
func (p *remask) Prior(x []int32, r *sampler.Stream) {
	p.Remask.Prior(x, r)
	clear(p.doubt)
}

// rates are the probabilities of one step.
type rates struct {
	sigma  float64 // that a token that shows is masked, on average
	top    float64 // σ_max
	scale  float64 // σ per doubt, for RemaskConfidence
	reveal float64 // that a mask gives way
}

func (p *remask) rates(x []int32, t, s float64) rates {
	at, as := p.Schedule.Alpha(t), p.Schedule.Alpha(s)
	k := rates{top: min(1, (1-as)/at)}
	switch {
	case p.Rule == RemaskRescale:
		k.sigma = float64(p.Eta * k.top)
	case p.Rule == RemaskLoop && t > s:
		k.sigma = 0
	default:
		k.sigma = min(p.Eta, k.top)
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

// sigma returns the probability that the token of a site that shows is masked
// again.
func (p *remask) sigma(k *rates, site int) float64 {
	if p.doubt != nil {
		return min(k.top, float64(k.scale*p.doubt[site]))
	}
	return k.sigma
}

// hides draws whether it is.
func (p *remask) hides(k *rates, site int, r *sampler.Stream) bool {
	return r.Float64() < p.sigma(k, site)
}

// Reverse implements [Process].
func (p *remask) Reverse(x []int32, _, v []float32, t, s float64, r *sampler.Stream) error {
	levels := rowLen(v, len(x))
	k := p.rates(x, t, s)
	for i, l := range x {
		switch {
		case l != p.Mask:
			if p.hides(&k, i, r) {
				x[i] = p.Mask
			}
		case r.Float64() < k.reveal:
			v[i*levels+int(p.Mask)] = float32(math.Inf(-1))
			l, err := drawRow(v, i, levels, r)
			if err != nil {
				return err
			}
			p.show(x, v, i, l, levels)
		}
	}
	return nil
}

// show sets site i to a token drawn from its row.
func (p *remask) show(x []int32, v []float32, i int, l int32, levels int) {
	x[i] = l
	if p.doubt == nil {
		return
	}
	var z [1]float64
	row := v[i*levels : (i+1)*levels]
	simd.LogSumExp(z[:], row, levels)
	p.doubt[i] = simd.Exp(-simd.Exp(float64(row[l]) - z[0]))
}

// Condition implements [Renoiser].
func (p *remask) Condition(v []float32, x []int32, t float64, leaveOneOut bool) {
	p.masked.Condition(v, x, t, leaveOneOut)
}

// Renoise implements [Renoiser].
func (p *remask) Renoise(x, x0 []int32, v []float32, t, s float64, r *sampler.Stream) {
	levels := rowLen(v, len(x))
	k := p.rates(x, t, s)
	for i, l := range x {
		switch {
		case l != p.Mask:
			if p.hides(&k, i, r) {
				x[i] = p.Mask
			}
		case r.Float64() < k.reveal:
			p.show(x, v, i, x0[i], levels)
		}
	}
}
