package mcmc

import (
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// noise is the proposal n that draws every site independently from n(l|k) ∝ exp(−δ²(l, k)/(2α)),
// where k is the current level. Between two levels and between categories it is symmetric, so
// only the number of changes matters. For ordinal levels the normaliser depends on k.
type noise struct {
	levels int
	cost   [1]float32 // two levels: the cost 1/(2α) of a flip
	still  [1]float32
	zero   [1]int32
	flip   [1]int32
	t      []int32 // two levels: threshold of a flip, one per site
	bits   []uint32
	far    float64   // categories: weight of each other level
	change float64   // two levels and categories: log-odds of one particular change
	values []float32 // values of ordinal levels, otherwise nil
	kappa  float64
	w      []float32
	sum    [1]float64
}

func newNoise(m energy.Model, alpha float64) *noise {
	sites, levels := m.Shape()
	n := padded.New(noise{levels: levels})
	if o, ok := energy.As[energy.Ordinal](m); ok && levels != 2 {
		n.values, n.w = o.Values(), padded.Make[float32](levels)
	}
	if levels == 2 {
		n.t, n.bits = padded.Make[int32](sites), padded.Make[uint32](sites)
	}
	n.setStep(alpha)
	return n
}

func (n *noise) setStep(alpha float64) {
	n.kappa = 1 / (2 * alpha)
	switch {
	case n.levels == 2:
		n.cost[0] = float32(n.kappa)
		simd.FlipThresholds(n.flip[:], n.still[:], n.zero[:], 1, n.cost[:])
		for i := range n.t {
			n.t[i] = n.flip[0]
		}
		n.change = simd.Log(float64(n.flip[0])) - simd.Log(1<<31-float64(n.flip[0]))
	case n.values == nil:
		n.far = max(simd.Exp(-2*n.kappa), leastWeight)
		n.change = simd.Log(n.far)
	}
}

// draw sets y to x plus noise and returns the number of sites that differ.
func (n *noise) draw(y, x []int32, r *sampler.Stream) (moved int) {
	if n.levels == 2 {
		r.Uint32s(n.bits)
		moved, _ = simd.Flip(y, x, n.t, n.bits)
		return moved
	}
	for i, at := range x {
		if n.values == nil {
			y[i] = n.category(at, r.Float64())
		} else {
			sum := n.weigh(at)
			y[i] = int32(simd.Pick(n.w, sum, r.Float64()))
		}
		if y[i] != at {
			moved++
		}
	}
	return moved
}

// category returns the level that the uniform number u selects for a site. The argument level is
// the current level of the site.
func (n *noise) category(level int32, u float64) int32 {
	others := float64(n.levels - 1)
	u = float64(u*(1+float64(others*n.far))) - 1
	if u < 0 || n.levels == 1 {
		return level
	}
	l := int32(min(u/n.far, others-1))
	if l >= level {
		l++
	}
	return l
}

// weigh stores in n.w the weights of all levels of an ordinal site, given its current level, and
// returns the sum of the weights.
func (n *noise) weigh(at int32) float64 {
	own := float64(n.values[at])
	for l, v := range n.values {
		d := float64(v) - own
		n.w[l] = -float32(n.kappa * float64(d*d))
	}
	simd.Weights(n.w, n.sum[:], n.w, n.levels, leastWeight)
	return n.sum[0]
}

// ratio returns log n(y|z) − log n(y|x). y differs from z at fromZ sites and from x at fromX
// sites.
func (n *noise) ratio(y, z, x []int32, fromZ, fromX int) float64 {
	if n.values == nil {
		return float64(fromZ-fromX) * n.change
	}
	p, q := newProduct(), newProduct()
	for i, l := range y {
		if z[i] == x[i] {
			continue
		}
		sum := n.weigh(z[i])
		p.mul(float64(n.w[l]) / sum)
		sum = n.weigh(x[i])
		q.mul(float64(n.w[l]) / sum)
	}
	return p.log() - q.log()
}

// usable reports whether the energy differences at a noisy state can be used. The argument f is the
// energy of the state, and logq is the log-probability of a draw that uses the differences.
func usable(f, logq float64) bool { return !math.IsInf(f, 0) && !math.IsNaN(f) && !math.IsNaN(logq) }
