package spins

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// near returns the number of neighbours of site i in state 1.
func near(x []int32, i, rows, cols int) int32 {
	r, c := i/cols, i%cols
	return x[(r+1)%rows*cols+c] + x[(r+rows-1)%rows*cols+c] + x[r*cols+(c+1)%cols] + x[r*cols+(c+cols-1)%cols]
}

// tally counts the sites of x by state and neighbours, and those that y has flipped.
func tally(x, y []int32, rows, cols int) (t simd.FlipTally) {
	for i, v := range x {
		k := near(x, i, rows, cols)
		t.Sites[v][k]++
		if y[i] != v {
			t.Flips[v][k]++
		}
	}
	return t
}

// TestGridProposals holds proposals to draws site by site, and counts of both directions
// to counts of sites, on lattices of all shapes and of several strips.
func TestGridProposals(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 3))
	p := [2][5]uint64{{1 << 61, 3 << 61, 1 << 63, 5 << 61, 1<<64 - 1<<59}, {0, 1 << 60, 1 << 62, 7 << 61, 1 << 59}}
	var o simd.FlipOdds
	o.Set(&p)
	for _, shape := range append(slices.Clone(shapes), [2]int{3, 3}, [2]int{3, 21}, [2]int{5, 63}, [2]int{50, 50}, [2]int{7, 1001}) {
		rows, cols := shape[0], shape[1]
		grid := NewGrid(rows, cols)
		x := lattice(r, rows*cols)
		y, z := slices.Clone(x), make([]int32, len(x))
		from := Source{rows%4 == 2, 1, 2, 77}
		for i, v := range x {
			if len(x) < 40000 && number(from, i/32, i%32) < p[v][near(x, i, rows, cols)] {
				y[i] = 1 - v
			}
		}
		s, next := grid.NewState(), grid.NewState()
		s.Pack(x)
		var none, still, sites, forth, back simd.FlipTally
		for j := range grid.Jobs() {
			s.Count(&none, &sites, &still, s, j)
		}
		require.Equal(t, tally(x, x, rows, cols), sites, "%v", shape)
		require.Zero(t, none)
		require.Zero(t, still)
		for j := range grid.Jobs() {
			s.Propose(next, j, &o, from)
		}
		next.Close()
		for j := range grid.Jobs() {
			next.Spread(z, j)
			next.Count(&forth, &back, &still, s, j)
		}
		if len(x) < 40000 {
			require.Equal(t, y, z, "%v", shape)
		}
		require.Equal(t, tally(x, z, rows, cols).Flips, forth.Flips, "%v", shape)
		require.Zero(t, forth.Sites)
		require.Equal(t, tally(z, x, rows, cols), back, "%v", shape)
		for j := range grid.Jobs() {
			s.Spread(z, j)
		}
		require.Equal(t, x, z)
	}
	require.EqualValues(t, 5*simd.BitGroups, NewGrid(50, 50).Groups())
}

func TestNewGridRefuses(t *testing.T) {
	for _, shape := range [][2]int{{2, 4}, {4, 2}, {-3, -3}} {
		assert.PanicsWithValue(t, fmt.Sprintf("spins: NewGrid: %d rows and %d columns, want ≥ 3", shape[0], shape[1]),
			func() { NewGrid(shape[0], shape[1]) })
	}
}
