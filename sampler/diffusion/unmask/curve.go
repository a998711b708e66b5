package unmask

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Curve is the information curve of a distribution. It tells how uncertain the token of a masked
// site is once n other sites are unmasked. Curve[n] is the mean entropy in nats,
//
//	Curve[n] = E_{S, i∉S} H(x_i | x_S),  |S| = n = 0 … sites−1,
//
// over random sets S of sites, random sites i and random tokens. The curve determines how many
// sites each step should unmask to keep the divergence small; see [Curve.Plan].
type Curve []float64

// Information estimates the [Curve] of a denoiser. The argument x holds samples × sites tokens that
// follow the denoiser's distribution: data, or samples drawn with the denoiser. Every sample is
// masked and then unmasked site by site, in a random order from stream (seed, sample). This takes
// one prediction per site. The standard error is inversely proportional to the square root of
// samples × sites.
func Information(ctx context.Context, model energy.Denoiser[int32], mask int32, x []int32, seed uint64) (Curve, error) {
	if err := check.Given("unmask: Information", "model", model); err != nil {
		return nil, err
	}
	sites, levels := model.Shape()
	m, err := bind("Information", mask, nil, sites, levels)
	switch {
	case err != nil:
		return nil, err
	case len(x) == 0 || len(x)%sites != 0:
		return nil, fmt.Errorf("unmask: Information: len(x) = %d, want a positive multiple of %d", len(x), sites)
	}
	for i, l := range x {
		if l < 0 || int(l) >= levels || l == mask {
			return nil, fmt.Errorf("unmask: Information: x[%d] = %d, want a token 0 … %d and no mask", i, l, levels-1)
		}
	}
	c := make(Curve, sites)
	v, state, h := make([]float32, sites*levels), make([]int32, sites), make([]float64, sites)
	samples := len(x) / sites
	for s := range samples {
		r := sampler.NewStream(seed, uint64(s))
		m.Prior(state, r)
		for n := range sites {
			t := m.after(sites - n)
			q := energy.Noised[int32]{
				X: state, Time: []float64{t}, Alpha: []float64{m.Alpha(t)}, Sample: []int{s}, Src: []rand.Source{r},
			}
			if err := model.Denoise(ctx, v, q); err != nil {
				return nil, fmt.Errorf("unmask: Information: sample %d, %d sites shown: %w", s, n, err)
			}
			sum, hidden := 0.0, 0
			for i, l := range state {
				if l == mask {
					m.Row(v, i)[mask] = never
					hidden++
				}
			}
			simd.Entropy(h, v, levels)
			for i, l := range state {
				if l == mask {
					sum += h[i]
				}
			}
			c[n] += sum / float64(hidden) / float64(samples)
			i := m.shuffle(make([]int, 0, sites), state, 0, sites, 1, r)[0]
			state[i] = x[s*sites+i]
		}
	}
	for n, h := range c {
		if math.IsNaN(h) {
			return nil, fmt.Errorf("unmask: Information: the entropy with %d sites shown is NaN: a sample has no probability under the model", n)
		}
	}
	return c, nil
}

// Divergence returns E KL(p‖q) in nats, where p is the denoiser's distribution and q is the
// distribution of the samples of [Scheduled]. Step k reveals counts[k] masks. Divergence assumes
// that predictions are exact and that the random order of the sites is known. The result is
//
//	Σ_steps Σ_{n=a}^{b−1} (c[a] − c[n]),
//
// where a and b are the numbers of unmasked sites before and after a step (the inference schedules
// of Chen et al. 2025). Divergence panics unless the counts are ≥ 1 and their sum is the number of
// sites, len(c).
func (c Curve) Divergence(counts []int) float64 {
	sum, from := 0.0, 0
	for k, n := range counts {
		if n < 1 || from+n > len(c) {
			panic(fmt.Sprintf("unmask: Curve: counts[%d] = %d, want 1 … %d", k, n, len(c)-from))
		}
		sum += c.cost(from, from+n)
		from += n
	}
	if from != len(c) {
		panic(fmt.Sprintf("unmask: Curve: counts sum to %d, want %d", from, len(c)))
	}
	return sum
}

// cost returns the information, in nats, lost by one step. The arguments from and to are the
// numbers of unmasked sites before and after the step.
func (c Curve) cost(from, to int) (sum float64) {
	for n := from + 1; n < to; n++ {
		sum += c[from] - c[n]
	}
	return sum
}

// Plan returns the counts for [Scheduled] that minimise [Curve.Divergence] for the given number of
// steps, 1 … len(c). It also returns this smallest divergence. It takes len(c)²·steps additions.
func (c Curve) Plan(steps int) (counts []int, divergence float64, err error) {
	n := len(c)
	if steps < 1 || steps > n {
		return nil, 0, fmt.Errorf("unmask: Curve: steps = %d, want 1 … %d", steps, n)
	}
	// best[k·(n+1)+to] is the smallest divergence of k steps that unmask to sites.
	best, from := make([]float64, (steps+1)*(n+1)), make([]int, (steps+1)*(n+1))
	for i := range best {
		best[i] = math.Inf(1)
	}
	best[0] = 0
	for k := 1; k <= steps; k++ {
		for at := range n {
			now := best[(k-1)*(n+1)+at]
			if math.IsInf(now, 1) {
				continue
			}
			lost := 0.0
			for to := at + 1; to <= n; to++ {
				lost += c[at] - c[to-1]
				if i := k*(n+1) + to; now+lost < best[i] {
					best[i], from[i] = now+lost, at
				}
			}
		}
	}
	counts = make([]int, steps)
	to := n
	for k := steps; k > 0; k-- {
		at := from[k*(n+1)+to]
		counts[k-1], to = to-at, at
	}
	return counts, best[steps*(n+1)+n], nil
}
