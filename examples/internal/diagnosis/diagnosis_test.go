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
	for range 100 {
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
