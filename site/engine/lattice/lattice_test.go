package lattice

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type begin = struct {
	Lattice
	Anew bool
}

type going = struct {
	Steps int
	MS    float64
}

// Means of small lattices are those of the sum over all states, whatever the method.
func TestLattice(t *testing.T) {
	for method := range methods() {
		var tab tab
		for _, change := range []begin{{Lattice{Temperature: 3}, true}, {Lattice{Temperature: 2.5}, false}} {
			change.Levels, change.Side, change.Method, change.Seed = 2, 4, method, 3
			start, err := tab.start(t.Context(), change)
			require.NoError(t, err, method)
			require.NotNil(t, start.Order)
			f, err := tab.run(t.Context(), going{3000, 1e9})
			require.NoError(t, err)
			require.NotNil(t, f.MCSE, method)
			assert.InDelta(t, start.Order.Value, *f.Mean, 5*(*f.MCSE), method)          // twice 16 figures: a
			assert.InDelta(t, start.Energy.Value, *f.Energy, 5*(*f.EnergyMCSE), method) // false alarm in 10⁵
			assert.Less(t, *f.RHat, 1.05, method)
			assert.Len(t, tab.lattice.pixels, 4*16)
			if change.Anew {
				assert.Equal(t, 3000, f.DigestOf)
				assert.Len(t, f.Digest, 16)
			} else {
				assert.Empty(t, f.Digest, "sliders moved")
			}
		}
	}
	var tab tab
	start, err := tab.start(t.Context(), begin{Lattice: Lattice{Levels: 2, Side: 64, Method: "sw", Seed: 3, Temperature: 2.5}})
	require.NoError(t, err)
	assert.Contains(t, start.Energy.Source, "Kaufman")
	start, err = tab.start(t.Context(), begin{Lattice: Lattice{Levels: 3, Side: 64, Method: "sw", Seed: 3, Temperature: 1}})
	require.NoError(t, err)
	assert.Nil(t, start.Energy)
	assert.InDelta(t, 0.99497, start.Critical, 1e-5)
}
