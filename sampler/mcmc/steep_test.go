package mcmc

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// TestSteepEnergies runs every method on differences up to 10⁶ and beyond: no
// NaN, no chain that cannot leave the worst state, no uphill move of thousands
// of nats, and still the right transition matrix.
func TestSteepEnergies(t *testing.T) {
	exact.SkipRepeated(t)
	for space, m := range map[string]energy.Model{
		"binary":   exact.NewRugged(6, 2, 5e5, 0, 1),
		"3-levels": exact.NewRugged(4, 3, 5e5, 0, 2),
		"ordinal":  exact.Ordinal{Rugged: exact.NewRugged(3, 5, 5e5, 0, 3)},
	} {
		sites, levels := m.Shape()
		energies := exact.Energies(m)
		worst := 0
		for k, e := range energies {
			if e > energies[worst] {
				worst = k
			}
		}
		start := make([]int32, sites)
		exact.State(start, worst, levels)
		pi, _ := exact.Law(m)
		for name, method := range metropolised() {
			if !fits(name, space) {
				continue
			}
			if name == "GWG-2" && levels > 2 {
				continue // every list repeats the best site and is rejected, as its documentation says
			}
			t.Run(name+"/"+space, func(t *testing.T) {
				assert.LessOrEqual(t, transition(t, exact.Must(method.Kernel(context.Background(), m, 1)), sites, levels).MaxDiff(pi), 1e-12)
				k := exact.Must(method.Kernel(context.Background(), m, 4))
				x := make([]int32, 0, 4*sites)
				streams, info := make([]sampler.Stream, 4), make([]sampler.Info, 4)
				for s := range streams {
					x = append(x, start...)
					streams[s] = *sampler.NewStream(1, uint64(s))
				}
				require.NoError(t, k.Reset(sampler.Control{}, x))
				last := []float64{energies[worst], energies[worst], energies[worst], energies[worst]}
				for range 100 {
					k.Step(sampler.Control{}, info, x, streams)
					for s := range info {
						require.NoError(t, info[s].Err)
						require.Zero(t, info[s].Invalid)
						require.False(t, math.IsNaN(info[s].Energy) || math.IsNaN(info[s].Accept))
						e := energies[exact.Index(x[s*sites:(s+1)*sites], levels)]
						require.InDelta(t, e, info[s].Energy, 1e-9*math.Abs(e))
						require.LessOrEqual(t, e, last[s]+100)
						last[s] = e
					}
				}
				for s := range last {
					assert.Less(t, last[s], energies[worst], "chain %d is frozen", s)
				}
			})
		}
	}
}
