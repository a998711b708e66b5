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

// Uniform is uniform discrete diffusion of tokens (UDLM; Schiff et al. 2025). At time t a token is
// intact with probability α_t and otherwise uniform over the V levels. With α_{t|s} = α_t/α_s, the
// reverse step from time t to time s, given x_0, is
//
//	q(x_s | x_t, x_0) ∝ (α_s·1[x_s=x_0] + (1−α_s)/V)·(α_{t|s}·1[x_s=x_t] + (1−α_{t|s})/V).
//
// Reverse draws x_0,i at each site from the full posterior p(x_0,i | x_t) and then x_s,i from this
// formula. Runners convert leave-one-out predictions to full posteriors with Condition. (The usual
// form of the reverse step puts the prediction in place of x_0 and needs leave-one-out
// predictions.)
//
// The [Steps] of Uniform also implement [Joint] and [Factorised].
type Uniform struct {
	// Schedule gives the probability α that a token is intact; nil means noise.LogLinear{}.
	Schedule noise.Schedule
}

// Bind returns the steps of the process, or an error if the schedule is invalid. It implements
// [Process].
func (p Uniform) Bind(_ context.Context, sites, levels int) (Steps[int32], error) {
	c, err := noise.Resolve("diffusion: Uniform", p.Schedule)
	if err = cmp.Or(checkShape("Uniform", sites, levels), err); err != nil {
		return nil, err
	}
	return &uniform{schedule: c, levels: levels}, nil
}

// uniform holds the steps of a [Uniform] process. It keeps no state of a sample.
type uniform struct {
	schedule noise.Schedule
	levels   int // number V of levels
}

// Alpha returns the signal level at time t, the probability that a token is intact. It implements
// [Steps].
func (p *uniform) Alpha(t float64) float64 { return p.schedule.Alpha(t) }

// Prior fills x with tokens drawn uniformly from all levels. It implements [Steps].
func (p *uniform) Prior(x []int32, r *sampler.Stream) {
	for i := range x {
		x[i] = int32(r.IntN(p.levels))
	}
}

// Next returns the diffusion time at which the next step ends. All steps have the same length. It
// implements [Steps].
func (p *uniform) Next(_ []int32, _ float64, step, steps int, _ *sampler.Stream) float64 {
	return gridTime(step, steps)
}

// Reverse draws, at every site, a clean token from the prediction v and then the token at time s
// given this clean token. It implements [Steps].
func (p *uniform) Reverse(x []int32, _, v []float32, t, s float64, r *sampler.Stream) error {
	check.Len("diffusion", "v", len(v), len(x)*p.levels)
	b := p.bridge(t, s)
	for i, l := range x {
		x0, err := drawRow(v, i, p.levels, r)
		if err != nil {
			return err
		}
		x[i] = b.draw(l, x0, r)
	}
	return nil
}

// raise adds by·log(1 + αV/(1−α)), where V is the number of levels, to the entry of each token x_i
// in row i of v. For by = 1, this adds log q(x_t,i | l) up to a constant, because q is larger at l
// = x_i than at all other levels, by the factor 1 + αV/(1−α).
func (p *uniform) raise(v []float32, x []int32, alpha float64, by float32) {
	seen := float32(by * float32(simd.Log1p(float64(alpha*float64(p.levels))/(1-alpha))))
	for i, l := range x {
		v[i*p.levels+int(l)] += seen
	}
}

// settle makes the rows of v one-hot at the tokens x.
func (p *uniform) settle(v []float32, x []int32) {
	for i, l := range x {
		slots.OneHot(v[i*p.levels:(i+1)*p.levels], l)
	}
}

// Condition turns leave-one-out predictions, which are made from the other sites only, into full
// posteriors. It multiplies them by q(x_t,i | x_0,i). Full posteriors are left unchanged. It
// implements [Renoiser].
func (p *uniform) Condition(v []float32, x []int32, t float64, leaveOneOut bool) {
	check.Len("diffusion", "v", len(v), len(x)*p.levels)
	switch a := p.Alpha(t); {
	case !leaveOneOut:
	case a >= 1:
		p.settle(v, x)
	default:
		p.raise(v, x, a, 1)
	}
}

// Renoise draws, at every site, the token at time s given the token that the clean sample x0 has
// there. It implements [Renoiser].
func (p *uniform) Renoise(x, x0 []int32, v []float32, t, s float64, r *sampler.Stream) {
	b := p.bridge(t, s)
	for i, l := range x {
		x[i] = b.draw(l, x0[i], r)
	}
}

// Reweight adds log q(x_s | x_t, l) to v for each site and clean token l, up to a constant per
// site. By Bayes' rule this is log q(x_s | l) − log q(x_t | l) up to a constant. It is therefore
// larger at l = x_s, and smaller at l = x_t. Reweight implements [Joint].
func (p *uniform) Reweight(v []float32, xt, xs []int32, t, s float64) {
	check.Len("diffusion", "v", len(v), len(xs)*p.levels)
	as := p.Alpha(s)
	if as >= 1 {
		p.settle(v, xs)
		return
	}
	p.raise(v, xs, as, 1)
	p.raise(v, xt, p.Alpha(t), -1)
}

// Posterior stores in dst, for every site and token l, the logarithm of Σ_k p(k)·q(x_s = l | x_t,
// k). Here p(k) is the predicted probability of the clean token k. It implements [Factorised]. With
// n(k) = q(x_t | k), and V and α_{t|s} as in [Uniform], the sum equals
//
//	(α_{t|s}·1[l=x_t] + (1−α_{t|s})/V)·(α_s·p(l)/n(l) + (1−α_s)/V·Σ_k p(k)/n(k)).
func (p *uniform) Posterior(dst, v []float32, x []int32, t, s float64) {
	check.Len("diffusion", "v", len(v), len(x)*p.levels)
	levels := p.levels
	b := p.bridge(t, s)
	at, as := p.Alpha(t), p.Alpha(s)
	miss := (1 - at) / float64(levels)
	hit := at + miss
	simd.Softmax(dst, v, levels)
	for i, l := range x {
		row := dst[i*levels : (i+1)*levels]
		same := float64(row[l])
		mean := same/hit + (1-same)/miss
		base := float64(b.base * mean)
		for z, w := range row {
			n, from := miss, b.jump
			if z == int(l) {
				n, from = hit, b.stay
			}
			row[z] = float32(simd.Log(float64(from * (float64(as*float64(w))/n + base))))
		}
	}
}

// bridge is the distribution q(x_s | x_t, x_0) for one pair of times t and s.
type bridge struct {
	levels      int
	clean, base float64 // weights of the level x_0 and of every other level
	stay, jump  float64 // weights of the level x_t and of every other level
}

func (p *uniform) bridge(t, s float64) bridge {
	as, ts := p.Alpha(s), 1.0
	if as > 0 {
		ts = p.Alpha(t) / as
	}
	b := bridge{levels: p.levels, base: (1 - as) / float64(p.levels), jump: (1 - ts) / float64(p.levels)}
	b.clean, b.stay = as+b.base, ts+b.jump
	return b
}

// draw returns a draw of x_s given x_t and x_0.
func (b *bridge) draw(xt, x0 int32, r *sampler.Stream) int32 {
	if b.base <= 0 {
		return x0
	}
	other := float64(b.base * b.jump)
	if xt == x0 {
		same := float64(b.clean * b.stay)
		rest := float64(float64(b.levels-1) * other)
		if float64(r.Float64()*(same+rest)) < same {
			return x0
		}
		return skip(int32(r.IntN(b.levels-1)), x0)
	}
	goal0, goalT := float64(b.clean*b.jump), float64(b.base*b.stay)
	rest := float64(float64(b.levels-2) * other)
	u := float64(r.Float64() * (goal0 + goalT + rest))
	switch {
	case u < goal0:
		return x0
	case u < goal0+goalT || b.levels == 2:
		return xt
	}
	lo, hi := min(xt, x0), max(xt, x0)
	return skip(skip(int32(r.IntN(b.levels-2)), lo), hi)
}

// skip maps 0, 1, … to the numbers other than hole, in order.
func skip(l, hole int32) int32 {
	if l >= hole {
		l++
	}
	return l
}
