package spins

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Blocks side by side get the states that each gets alone, and give back all that they took.
func TestRowPair(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 4))
	for _, sites := range []int{1, 2, 40, 701} {
		for _, chains := range [][2]int{{32, 32}, {32, 5}, {1, 32}} {
			from := randomRows(r, sites, 60)
			from.Order = nil
			g := NewRowGraph(from)
			var one, two [2]*RowChains
			for b, n := range chains {
				x := lattice(r, n*sites)
				one[b], two[b] = g.NewChains(n), g.NewChains(n)
				one[b].Pack(x)
				two[b].Pack(x)
			}
			p := g.NewPair()
			p.Take(two[0], two[1])
			var want, got [2]simd.RowTally
			for sweep := range uint64(3) {
				ars := sweep == 1
				var sources [2]Source
				for b := range sources {
					sources[b] = Source{ARS: ars, Seed: 7, Chain: uint64(b), Group: sweep*g.SweepGroups() + uint64(5*b)}
					at := sources[b]
					for part := range g.Parts() {
						one[b].Redraw(part, &want[b], at, new(simd.RowScratch))
						at.Group += g.Groups(part)
					}
				}
				p.Sweep(&got, sources)
			}
			p.Give(two[0], two[1])
			require.Equal(t, want, got)
			for b, n := range chains {
				x, y := make([]int32, n*sites), make([]int32, n*sites)
				one[b].Spread(x)
				two[b].Spread(y)
				require.Equal(t, x, y)
				require.Equal(t, one[b].rows, two[b].rows)
				require.False(t, two[b].Kept())
			}
		}
	}
}
