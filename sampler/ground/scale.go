package ground

import (
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// scale holds the inverse temperatures between which annealing is useful.
type scale struct{ hot, cold float64 }

const (
	// hotField is the inverse temperature hot times the root mean square of the local fields.
	// coldGap is the inverse temperature cold times an energy difference: the quantile
	// coldQuantile of the differences of single flips at coldStates random states or, if this is
	// less than coldRatio times as large, that of the smallest differences of the sites at local
	// minima. This happens with penalties: a random set of nodes has many conflicts per node, an
	// independent set none. The values were chosen on tori, random graphs and planar graphs, where
	// the ratio is 1/6 at least.
	hotField     = 0.3
	coldGap      = 8.0
	coldQuantile = 0.05
	coldStates   = 16
	coldPasses   = 16 // passes over all sites in a descent; a difference near the minimum serves as well
	coldRatio    = 0.125

	// maxStretch is the largest ratio of the last to the first inverse temperature of a linear
	// annealing run.
	maxStretch = 256
)

// newScale computes the scale of a model from the mean square of its local fields and from the
// energy differences at a few random states and local minima. It returns gain = true if flipping
// the pairs of p costs much less at local minima than single flips.
func newScale[T number](g *system[T], p *pairs[T]) (c scale, gain bool) {
	square, reach := 0.0, float64(g.reach) // squares relative to reach, which may be large
	if reach == 0 {
		return scale{1, 1}, false
	}
	for i, f := range g.field {
		mean := float64(f) / reach
		for _, a := range g.row(i) {
			half := float64(a.w) / 2 / reach
			mean += half
			square += float64(half * half)
		}
		square += float64(mean * mean)
	}
	hot := hotField / reach / math.Sqrt(square/float64(g.sites()))
	r := sampler.NewStream(0, math.MaxUint64) // a stream that no search uses
	x := newSpins(g)
	var gaps []float64
	// smallest differences of each site over the local minima, alone and with a partner
	single, double := infinities(g.sites()), infinities(g.sites())
	for range coldStates {
		x.random(g, r)
		for _, l := range x.loss {
			if l = max(l, -l); l > g.nought {
				gaps = append(gaps, float64(l))
			}
		}
		for pass := 0; pass < coldPasses && x.descend(g, 0, g.sites()); pass++ {
		}
		for i, l := range x.loss {
			if l > g.nought {
				single[i] = min(single[i], float64(l))
			}
			for _, a := range p.row(i) {
				if l := x.both(i, a); l > g.nought {
					double[i] = min(double[i], float64(l))
				}
			}
		}
		if len(gaps) > 1<<20 {
			break
		}
	}
	if len(gaps) == 0 {
		return scale{hot, hot}, false
	}
	least := quantile(single)
	gap := quantile(gaps)
	if least < float64(coldRatio*gap) {
		gap = least
	}
	if both := quantile(double); least >= float64(pairGain*both) && !math.IsInf(least, 1) {
		gap, gain = min(gap, both), true
	}
	return scale{hot, max(hot, coldGap/gap)}, gain
}

// infinities returns n infinities.
func infinities(n int) []float64 { return slices.Repeat([]float64{math.Inf(1)}, n) }

// quantile sorts v and returns its quantile coldQuantile.
func quantile(v []float64) float64 {
	slices.Sort(v)
	return v[int(coldQuantile*float64(len(v)))]
}

// at returns the inverse temperature of an annealing run at progress t in [0, 1]. The run starts at
// the position from in [0, 1] of the scale. The inverse temperature is linear in t. If cold exceeds
// the start by more than a factor of maxStretch, the curve is instead bent so that all magnitudes
// get their share.
func (c scale) at(from, t float64) float64 {
	first := float64(c.hot * simd.Exp(float64(from*simd.Log(c.cold/c.hot))))
	if bend := simd.Log(c.cold / first / maxStretch); bend > 0 {
		t = simd.Expm1(float64(bend*t)) / simd.Expm1(bend)
	}
	return first + float64((c.cold-first)*t)
}
