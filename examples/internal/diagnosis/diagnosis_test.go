package diagnosis

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Every bin of a quantity on a lattice has as many of its values, in the middle.
func TestBinsOfALattice(t *testing.T) {
	var mean []float64
	for k := range 26 { // of 25 spins: spaced 0.08
		mean = append(mean, float64(2*k-25)/25)
	}
	low, wide, n := binning([]Run{{Name: "a", Draws: [][]float64{mean}}})
	assert.InDelta(t, 0.08, wide, 1e-12)
	assert.InDelta(t, -1.04, low, 1e-12)
	assert.Equal(t, 26, n)

	mean = nil
	for k := range 101 {
		mean = append(mean, float64(2*k-100)/100)
	}
	_, wide, n = binning([]Run{{Name: "a", Draws: [][]float64{mean}}})
	assert.InDelta(t, 4*0.02, wide, 1e-12, "four values a bin")
	assert.Equal(t, 26, n)

	var real []float64
	r := rand.New(rand.NewPCG(1, 1))
	for range 5000 {
		real = append(real, r.NormFloat64())
	}
	low, wide, n = binning([]Run{{Name: "a", Draws: [][]float64{real}}})
	least, most := extremes([]Run{{Name: "a", Draws: [][]float64{real}}})
	assert.Equal(t, bins, n)
	assert.Equal(t, least, low)
	assert.InDelta(t, most, low+wide*float64(n), 1e-12)

	low, wide, n = binning([]Run{{Name: "a", Draws: [][]float64{{3, 3}}}})
	assert.True(t, low < 3 && 3 < low+wide*float64(n) && !math.IsNaN(wide))
}

// A quantity that is nearly on a lattice has no empty bins, and one with two modes keeps its gap.
func TestBinsHaveNoFalseGaps(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var near, modes []float64
	for range 10_000 {
		near = append(near, float64(r.IntN(20))+0.02*r.Float64())
		modes = append(modes, float64(r.IntN(2))+0.1*r.Float64())
	}
	count := func(draws []float64) (full, n int) {
		low, wide, n := binning([]Run{{Name: "a", Draws: [][]float64{draws}}})
		seen := map[int]bool{}
		for _, v := range draws {
			seen[min(int((v-low)/wide), n-1)] = true
		}
		return len(seen), n
	}
	full, n := count(near)
	assert.Equal(t, n, full)
	assert.GreaterOrEqual(t, n, 15)
	full, n = count(modes)
	assert.Equal(t, bins, n)
	assert.Less(t, full, 8)
}
