package engine

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
)

// The formula is the sum over all states, at, below and above the critical temperature.
func TestTorusEnergy(t *testing.T) {
	for _, side := range []int{3, 4} {
		for _, temperature := range []float64{0.7, 1.5, critical(2), 2.6, 5} {
			l := Lattice{Levels: 2, Side: side, Temperature: temperature}
			m, _, err := l.model()
			require.NoError(t, err)
			all, err := energy.Enumerate(t.Context(), m, l.perSite(m))
			require.NoError(t, err)
			assert.InDelta(t, all.Means[0], torusEnergy(side, side, 1/temperature), 1e-9, fmt.Sprint(side, temperature))
		}
	}
	assert.InDelta(t, -2, torusEnergy(512, 512, 1/0.3), 1e-4)
	assert.InDelta(t, -1.41421356, torusEnergy(4096, 4096, 1/critical(2)), 1e-3) // Onsager: −√2
}
