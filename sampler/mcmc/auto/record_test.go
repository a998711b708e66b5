package auto

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gibbsite-go/gibbsite/sampler"
)

// Of ρ_t = a^t the steps per effective draw are (1+a)/(1−a).
func TestIntegrate(t *testing.T) {
	for _, a := range []float64{0, .2, .5, .8, .9, .97, .99} {
		rho, many := make([]float64, len(lags)), slices.Repeat([]float64{1e6}, len(lags))
		for k, lag := range lags {
			rho[k] = math.Pow(a, float64(lag))
		}
		assert.InEpsilon(t, (1+a)/(1-a), integrate(rho, many), .12, "%v", a)
	}
	for _, a := range []float64{.999, .9995} { // lags reach the first hundredth of it
		rho, many := make([]float64, 10), slices.Repeat([]float64{1e6}, 10)
		for k := range rho {
			rho[k] = math.Pow(a, float64(lags[k]))
		}
		assert.InEpsilon(t, (1+a)/(1-a), integrate(rho, many), .05, "%v", a)
	}
	assert.Greater(t, integrate([]float64{1, 1, 1}, []float64{99, 99, 99}), 1000.)
	assert.False(t, math.IsInf(integrate([]float64{1}, []float64{1}), 0), "pairs that are too few end the sum")
	assert.Less(t, integrate([]float64{-.3}, []float64{9}), 1.)
	assert.Equal(t, leastTime, integrate([]float64{-.9}, []float64{9}))
	assert.Equal(t, 1+2.*farthest, integrate(nil, nil))
}

// Chains that do not move are seen by the variance between them, and those that jump
// at random between the same states are not held to be slow.
func TestStuckChainsAreSlow(t *testing.T) {
	const sites, chains, steps = 12, 8, 200
	r := newRecord(sites, 2, chains)
	stuck, free := newTrial(r), newTrial(r)
	x, s := make([]int32, sites*chains), sampler.NewStream(1, 1)
	for i := range x {
		x[i] = int32(s.IntN(2))
	}
	energies := func(c int) float64 { return float64(x[c*sites]) }
	r.begin(steps)
	for range steps {
		r.add(stuck, energies, x)
	}
	r.begin(steps)
	for range steps {
		for i := range x {
			x[i] = int32(s.IntN(2))
		}
		r.add(free, energies, x)
	}
	r.weigh([]*trial{stuck, free})
	assert.Greater(t, r.time(stuck), 100.)
	assert.Less(t, r.time(free), 4.)
	// An energy that is not known has no say, and constant features have none.
	r = newRecord(1, 1, 1)
	still := newTrial(r)
	r.begin(4)
	for range 4 {
		r.add(still, func(int) float64 { return math.NaN() }, []int32{0})
	}
	r.weigh([]*trial{still})
	assert.True(t, r.noEnergies)
	assert.Equal(t, 1., r.time(still))
}

// V_t ≤ 4σ²: where a candidate jumps to a mode and back that chains were seldom in
// altogether, the variance is not less than its jumps say.
func TestVarianceIsThatOfJumps(t *testing.T) {
	const sites, chains, level = 10, 4, 1 // feature 1 is the number of sites at level 1
	r := newRecord(sites, 2, chains)
	jumps, rest := newTrial(r), newTrial(r)
	x, s := make([]int32, sites*chains), sampler.NewStream(1, 2)
	energies := func(int) float64 { return 0 }
	r.begin(20)
	for range 20 {
		for c := range chains {
			mode := int32(s.IntN(2))
			for i := range sites {
				x[c*sites+i] = mode
			}
		}
		r.add(jumps, energies, x)
	}
	clear(x)
	r.begin(400)
	for range 400 {
		r.add(rest, energies, x)
	}
	r.weigh([]*trial{jumps, rest})
	assert.Less(t, r.sq[level]/r.n, 3.) // of 25 in the modes
	assert.InDelta(t, 25./2, r.variance[level], 4)
}

func newTrial(r *record) *trial {
	return &trial{pairs: make([]float64, len(lags)), jumps: make([]float64, len(lags)*r.len())}
}

// Features are sums over sites, of many sites too.
func TestFeatures(t *testing.T) {
	for _, levels := range []int{1, 2, 3, 5, 9} {
		const sites = 700
		f := newFeatures(sites, levels)
		x, s := make([]int32, sites), sampler.NewStream(2, uint64(levels))
		want := make([]float64, f.len())
		want[0] = 7
		for i := range x {
			x[i] = int32(s.IntN(levels))
			if levels > 5 {
				want[1] += float64(x[i])
			} else if l := levels - 1 - int(x[i]); l < f.counts {
				want[1+l]++
			}
			for p := range projections {
				want[1+f.counts+p] += float64(signs(uint64(i*levels+int(x[i]))) >> p & 1)
			}
		}
		got := make([]float64, f.len())
		f.store(got, 7, x)
		assert.Equal(t, want, got)
	}
}
