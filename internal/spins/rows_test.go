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
			if first.Eight == 0 {
				continue
			}
			require.EqualValues(t, 1, first.Eight)
			for n := range int32(eight) {
				v, i := g.visits[at+int(n)], sites[at+int(n)]
				require.Equal(t, simd.RowVisit{Row: first.Row + n, Plus: first.Plus, Minus: first.Minus, Bias: v.Bias, Odds: first.Odds, Eight: n + 1}, v)
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
