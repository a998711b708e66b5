package spins

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Groups of eight are as simd.RowVisit defines them. Redraws that use them give the same states
// as redraws of one site after the other in the same order, sums kept or not.
func TestRowEights(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 3))
	for _, c := range []struct{ sites, most, least int }{{1, 0, 0}, {8, 0, 0}, {40, 60, 0}, {700, 0, 600}, {700, 20, 600}, {700, 60, 500}, {9000, 3, 8900}} {
		from := randomRows(r, c.sites, c.most)
		from.Order = nil
		for i := range int32(c.sites) { // as sums that are kept need it
			from.Bias[i] = 0
			for n := from.Start[i]; n < from.Start[i+1]; n++ {
				if from.Against[n] = (i+from.Adj[n])%3 == 0; from.Against[n] {
					from.Bias[i]++
				}
			}
		}
		g := NewRowGraph(from)
		sites, together := make([]int32, 0, c.sites), 0
		g.Visit(make([]int32, c.sites), func(i, _ int, _ uint64) { sites = append(sites, int32(i)) })
		sorted := slices.Clone(sites)
		slices.Sort(sorted)
		for i, at := range sorted {
			require.EqualValues(t, i, at)
		}
		for at := 0; at < len(g.visits); at++ {
			first := g.visits[at]
			if first.Octet == 0 {
				continue
			}
			require.EqualValues(t, 1, first.Octet)
			for n := range int32(eight) {
				v, i := g.visits[at+int(n)], sites[at+int(n)]
				require.Equal(t, simd.RowVisit{Row: first.Row + n, Plus: first.Plus, Minus: first.Minus, Bias: v.Bias, Odds: first.Odds, Octet: n + 1}, v)
				for _, j := range from.Adj[from.Start[i]:from.Start[i+1]] {
					require.NotContains(t, sites[at:at+eight], j)
				}
			}
			at, together = at+eight-1, together+eight
		}
		assert.GreaterOrEqual(t, together, c.least, "%d sites of up to %d neighbours", c.sites, c.most)
		from.Order = sites
		one := NewRowGraph(from)
		x := lattice(r, 32*c.sites)
		for _, keep := range []bool{false, true} {
			a, b := g.NewChains(32), one.NewChains(32)
			a.Pack(x)
			b.Pack(x)
			a.Keep(keep)
			var observed, tally simd.RowTally
			for sweep := range uint64(3) {
				sweepRows(a, &tally, sweep)
				// Parts end at other visits and have random numbers of their own, but for
				// graphs of one.
				if g.Parts() == 1 && one.Parts() == 1 {
					sweepRows(b, &observed, sweep)
				}
			}
			if g.Parts() == 1 && one.Parts() == 1 {
				got, want := make([]int32, len(x)), make([]int32, len(x))
				a.Spread(got)
				b.Spread(want)
				assert.Equal(t, want, got)
				assert.Equal(t, observed, tally)
			}
			if keep {
				sums := slices.Clone(a.kept)
				a.Keep(true)
				assert.Equal(t, sums[:c.sites], a.kept[:c.sites])
			}
		}
	}
}

func sweepRows(c *RowChains, t *simd.RowTally, sweep uint64) {
	for part := range c.Parts() {
		c.Redraw(part, t, Source{Seed: 3, Chain: 4, Group: 100000*sweep + uint64(1000*part)}, new(simd.RowScratch))
	}
}

// Sites that are near each other stay so in large graphs. Where all sites are neighbours
// there are no groups of eight.
func TestRowEightsAreNear(t *testing.T) {
	const sites = 100000
	ring := RowLayout{Start: make([]int32, sites+1), Kind: make([]int32, sites), Bias: make([]int32, sites), Odds: make([]simd.RowOdds, 1)}
	for i := range int32(sites) {
		ring.Adj = append(ring.Adj, (i+1)%sites, (i+sites-1)%sites)
		ring.Start[i+1] = int32(len(ring.Adj))
	}
	g := NewRowGraph(ring)
	for i := range sites - 1 {
		require.LessOrEqual(t, max(g.place[i]-g.place[i+1], g.place[i+1]-g.place[i]), int32(2*eight))
	}
	const full = 100
	all := RowLayout{Start: make([]int32, full+1), Kind: make([]int32, full), Bias: make([]int32, full), Odds: make([]simd.RowOdds, 1)}
	for i := range int32(full) {
		for j := range int32(full) {
			if i != j {
				all.Adj = append(all.Adj, j)
			}
		}
		all.Start[i+1] = int32(len(all.Adj))
	}
	order, together := all.eights()
	assert.Len(t, order, full)
	assert.Zero(t, together)
}
