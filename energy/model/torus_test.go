package model_test

import (
	"fmt"
	"log"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
)

// The formula is the sum over all states: at, below and above the critical point.
func TestTorusIsing(t *testing.T) {
	for _, sides := range [][]int{{3, 3}, {3, 4}, {4, 3}, {4, 4}} {
		for _, k := range []float64{0.1, 0.3, 0.44068679350977147, 0.7, 1.5} {
			m, err := model.NewIsing(model.Lattice(sides), k, 0)
			require.NoError(t, err)
			all, err := energy.Enumerate(t.Context(), m, func(x []int32) float64 {
				var e [1]float64
				m.Energy(e[:], x)
				return e[0]
			})
			require.NoError(t, err)
			logZ, perSite, err := model.TorusIsing(sides[0], sides[1], k)
			require.NoError(t, err)
			assert.InDelta(t, all.LogZ, logZ, 1e-9, "%v %v", sides, k)
			assert.InDelta(t, all.Means[0]/float64(sides[0]*sides[1]), perSite, 1e-9, "%v %v", sides, k)
		}
	}
	const critical = 0.44068679350977147 // ½ ln(1 + √2): Onsager's energy −√2·k per site
	_, perSite, err := model.TorusIsing(4096, 4096, critical)
	require.NoError(t, err)
	assert.InDelta(t, -1.41421356*critical, perSite, 1e-3)
	logZ, perSite, err := model.TorusIsing(100, 100, 100) // two states of energy −2k per site
	require.NoError(t, err)
	assert.InDelta(t, 2e6+0.6931, logZ, 1e-3)
	assert.InDelta(t, -200, perSite, 1e-9)
	for _, bad := range []struct {
		m, n int
		k    float64
	}{{2, 3, 1}, {3, 2, 1}, {3, 3, 0}, {3, 3, 101}} {
		_, _, err := model.TorusIsing(bad.m, bad.n, bad.k)
		assert.ErrorContains(t, err, "model: TorusIsing: ")
	}
}

func ExampleTorusIsing() {
	logZ, perSite, err := model.TorusIsing(64, 64, 0.44)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("log Z = %.3f, %.5f nats per site\n", logZ, perSite)
	// Output: log Z = 3804.678, -0.62309 nats per site
}
