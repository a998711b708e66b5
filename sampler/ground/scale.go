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
	// coldQuantile of the differences of single flips at coldStates random states or, if it is
	// smaller, that of the smallest differences of the sites at local minima. Under a penalty the
	// two differ: in a random set of nodes a node has many conflicts, in an independent set few.
	// The values were chosen on tori, random graphs and planar graphs.
	hotField     = 0.3
	coldGap      = 8.0
	coldQuantile = 0.05
	coldStates   = 16

	// maxStretch is the largest ratio of the last to the first inverse temperature of a linear
	// annealing run.
	maxStretch = 256
)

// newScale computes the scale of a model from the mean square of its local fields and from the
// energy differences at a few random states and local minima.
func newScale[T number](g *system[T]) scale {
	square, reach := 0.0, float64(g.reach) // squares relative to reach, which may be large
	if reach == 0 {
		return scale{1, 1}
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
	least := make([]float64, g.sites()) // smallest difference of each site over the local minima
	for i := range least {
		least[i] = math.Inf(1)
	}
	for range coldStates {
		x.random(g, r)
		for _, l := range x.loss {
			if l = max(l, -l); l > g.nought {
				gaps = append(gaps, float64(l))
			}
		}
		for x.descend(g, 0, g.sites()) {
		}
		for i, l := range x.loss {
			if l > g.nought {
				least[i] = min(least[i], float64(l))
			}
		}
		if len(gaps) > 1<<20 {
			break
		}
	}
	if len(gaps) == 0 {
		return scale{hot, hot}
	}
	return scale{hot, max(hot, coldGap/min(quantile(gaps), quantile(least)))}
}

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
