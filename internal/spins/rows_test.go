package spins

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// randomRows returns a graph of sites of up to so many neighbours, some against, in an
// order of their own, of three kinds.
func randomRows(r *rand.Rand, sites, most int) RowLayout {
	near := make([][]int32, sites)
	for range most * sites {
		i, j := r.IntN(sites), r.IntN(sites)
		if i != j && len(near[i]) < most && len(near[j]) < most {
			near[i], near[j] = append(near[i], int32(j)), append(near[j], int32(i))
		}
	}
	g := RowLayout{Start: []int32{0}, Bias: make([]int32, sites), Kind: make([]int32, sites)}
	for i, row := range near {
		g.Adj = append(g.Adj, row...)
		g.Start = append(g.Start, int32(len(g.Adj)))
		for range row {
			against := r.IntN(3) == 0
			g.Against = append(g.Against, against)
			if against {
				g.Bias[i]++
			}
		}
		g.Kind[i] = int32(r.IntN(3))
		g.Order = append(g.Order, int32(i))
	}
	r.Shuffle(sites, func(i, j int) { g.Order[i], g.Order[j] = g.Order[j], g.Order[i] })
	for range 3 {
		p := make([]uint64, simd.RowCounts)
		for n := range p {
			p[n] = r.Uint64()
		}
		g.Odds = append(g.Odds, simd.NewRowOdds(p))
	}
	return g
}

// Redraws visit all sites in the order of the layout, with the sums of a plain loop, and
// tell what they changed; chains beyond those that there are change nothing that is asked
// for.
func TestRowGraphRedraws(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 2))
	for _, sites := range []int{1, 2, 40, 700} {
		for _, chains := range []int{1, 5, 32} {
			from := randomRows(r, sites, 60)
			g := NewRowGraph(from)
			c := g.NewChains(chains)
			x := lattice(r, chains*sites)
			c.Pack(x)
			got := make([]int32, len(x))
			c.Spread(got)
			require.Equal(t, x, got)

			order := []int32{}
			g.Visit(x[:sites], func(i, sum int, odds uint64) {
				want := int(from.Bias[i])
				for n := from.Start[i]; n < from.Start[i+1]; n++ {
					if v := int(x[from.Adj[n]]); from.Against[n] {
						want -= v
					} else {
						want += v
					}
				}
				require.Equal(t, want, sum)
				require.Equal(t, from.Odds[from.Kind[i]].At(sum), odds)
				order = append(order, int32(i))
			})
			require.Equal(t, from.Order, order)

			var tally simd.RowTally
			visited, near := 0, 0
			for part := range g.Parts() {
				visits, rows := g.PartSites(part)
				require.Equal(t, simd.RowGroups(visits), g.Groups(part))
				before := slices.Clone(got)
				c.Redraw(part, &tally, Source{ARS: part%2 == 1, Seed: 3, Chain: 4, Group: uint64(1000 * part)}, new(simd.RowScratch))
				c.Spread(got)
				for at, v := range got {
					if !slices.Contains(from.Order[visited:visited+visits], int32(at%sites)) {
						require.Equal(t, before[at], v, "part %d changes another site", part)
					}
				}
				visited, near = visited+visits, near+rows
			}
			assert.Equal(t, sites, visited)
			assert.Equal(t, g.Near(), near)
			var ones [simd.ChainBits]int32
			var moved, up [simd.ChainBits]int32
			for at, v := range got {
				moved[at/sites] += v ^ x[at]
				up[at/sites] += v
			}
			assert.Equal(t, moved[:chains], tally.Moved[:chains])
			for kind := range from.Odds {
				c.Ones(&ones, kind)
				for s := range chains {
					for i, k := range from.Kind {
						if int(k) == kind {
							ones[s] -= got[s*sites+i]
						}
					}
					require.Zero(t, ones[s])
				}
			}
			states := slices.Clone(c.rows)
			c.Pack(got)
			for i := range states {
				assert.Equal(t, states[i][:chains], c.rows[i][:chains])
			}
		}
	}
}

// Parts end where a call of simd.HeatRows does.
func TestRowGraphParts(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	few := NewRowGraph(randomRows(r, 300, 3))
	assert.Equal(t, 3, few.Parts())
	many := NewRowGraph(randomRows(r, 300, 120))
	assert.Greater(t, many.Parts(), 3)
	for _, g := range []*RowGraph{few, many} {
		for part := range g.Parts() {
			visits, rows := g.PartSites(part)
			assert.LessOrEqual(t, visits, simd.RowVisits)
			assert.LessOrEqual(t, rows, simd.RowNear)
		}
	}
	none := NewRowGraph(RowLayout{Start: make([]int32, 4), Order: []int32{2, 1, 0}, Bias: make([]int32, 3), Kind: []int32{1, 1, 1}, Odds: make([]simd.RowOdds, 3)})
	c, ones := none.NewChains(2), new([simd.ChainBits]int32)
	c.Pack([]int32{1, 0, 1, 0, 0, 1})
	for kind, want := range []int32{0, 2, 0} {
		c.Ones(ones, kind)
		assert.Equal(t, want, ones[0])
	}
}
