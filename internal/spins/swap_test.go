package spins

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// swapped exchanges the rows of some chains, and returns at how many sites they differ.
func swapped(x, y []int32, sites, all int, chains []int) (differ []int) {
	differ = make([]int, all)
	for _, s := range chains {
		for i := s * sites; i < (s+1)*sites; i++ {
			if x[i] != y[i] {
				differ[s]++
			}
			x[i], y[i] = y[i], x[i]
		}
	}
	return differ
}

// Chains that are swapped change places in every form, and the sites are counted at which
// they differ; the others stay.
func TestSwaps(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	const all = 21
	chains := []int{0, 3, 4, 20}
	for _, sites := range []int{1, 6, 41, 300} {
		words, rows := NewGraph(random(r, sites)), NewRowGraph(randomRows(r, sites, 9))
		for range 3 {
			x, y := lattice(r, all*sites), lattice(r, all*sites)
			a, b := words.NewChains(), words.NewChains()
			c, d := rows.NewChains(all), rows.NewChains(all)
			for _, p := range []interface{ Pack(x []int32) }{a, c} {
				p.Pack(x)
			}
			for _, p := range []interface{ Pack(x []int32) }{b, d} {
				p.Pack(y)
			}
			c.Keep(true)
			moved, also := make([]int, all), make([]int, all)
			a.Swap(b, chains, moved)
			c.Swap(d, chains, also)
			require.False(t, c.Kept())
			want := swapped(x, y, sites, all, chains)
			require.Equal(t, want, moved)
			require.Equal(t, want, also)
			b.Swap(a, nil, nil)
			got := make([]int32, all*sites)
			for _, p := range []interface{ Spread(x []int32) }{a, c} {
				p.Spread(got)
				require.Equal(t, x, got)
			}
			for _, p := range []interface{ Spread(x []int32) }{b, d} {
				p.Spread(got)
				require.Equal(t, y, got)
			}
			fresh := rows.NewChains(all) // bytes are those of bits
			fresh.Pack(x)
			require.Equal(t, fresh.rows, c.rows)
		}
	}
}

// Sums are those of a plain loop.
func TestRowSums(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 10))
	const sites, chains = 50, 7
	from := randomRows(r, sites, 12)
	for i := range from.Against { // by the neighbour, whatever the site
		from.Against[i] = from.Adj[i]%2 == 0
	}
	c := NewRowGraph(from).NewChains(chains)
	x := lattice(r, chains*sites)
	c.Pack(x)
	var sums [32]int
	c.Sums(&sums)
	for s := range chains {
		state, twice := x[s*sites:(s+1)*sites], 0
		for i, v := range state {
			twice += 2 * int(v*from.Bias[i])
			for n := from.Start[i]; n < from.Start[i+1]; n++ {
				if pair := int(v * state[from.Adj[n]]); from.Against[n] {
					twice -= pair
				} else {
					twice += pair
				}
			}
		}
		require.Equal(t, twice/2, sums[s])
	}
}

// Graphs of the same sites and neighbours share what they hold, whatever their odds are;
// others do not.
func TestShares(t *testing.T) {
	layout := func(seed uint64) (Layout, RowLayout) {
		r := rand.New(rand.NewPCG(8, seed))
		return random(r, 60), randomRows(r, 60, 9)
	}
	words, rows := layout(11)
	again, anew := layout(11)
	again.Odds, anew.Odds = slices.Clone(again.Odds), slices.Clone(anew.Odds)
	slices.Reverse(anew.Odds)
	other, another := layout(12)
	g, h := NewGraph(words), NewGraph(again)
	assert.True(t, h.Share(g))
	assert.Same(t, &g.parts[0], &h.parts[0])
	assert.False(t, h.Share(NewGraph(other)))
	k, l := NewRowGraph(rows), NewRowGraph(anew)
	assert.True(t, l.Share(k))
	assert.Same(t, &k.visits[0], &l.visits[0])
	assert.False(t, l.Share(NewRowGraph(another)))
}

// States of tori differ at as many sites as their levels do.
func TestDiffer(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 13))
	for _, shape := range [][2]int{{4, 4}, {6, 10}, {40, 66}} {
		torus, grid := NewTorus(shape[0], shape[1]), NewGrid(shape[0], shape[1])
		x, y := lattice(r, shape[0]*shape[1]), lattice(r, shape[0]*shape[1])
		want := 0
		for i := range x {
			if x[i] != y[i] {
				want++
			}
		}
		a, b := torus.NewState(), torus.NewState()
		a.Pack(x)
		b.Pack(y)
		assert.Equal(t, want, a.Differ(b))
		assert.Zero(t, a.Differ(a))
		c, d := grid.NewState(), grid.NewState()
		c.Pack(x)
		d.Pack(y)
		assert.Equal(t, want, c.Differ(d))
	}
}
