package ground

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// torus returns a spin glass on a torus, or on an open lattice, with the weights that w draws.
func torus(rows, columns int, open bool, w func() float64) *model.Ising {
	var edges []model.Edge
	for i := range rows * columns {
		row, column := i/columns, i%columns
		for _, next := range [][2]int{{row, (column + 1) % columns}, {(row + 1) % rows, column}} {
			if !open || next[0] > row || next[1] > column {
				edges = append(edges, model.Edge{I: i, J: next[0]*columns + next[1], W: w()})
			}
		}
	}
	return exact.Must(model.NewIsing(exact.Must(model.NewGraph(rows*columns, edges)), 1, 0))
}

// of returns the energy of a state.
func of(m *model.Ising, x []int32) float64 {
	e := make([]float64, 1)
	m.Energy(e, x)
	return e[0]
}

// A window takes the lowest energy that its sites can have.
func TestWindow(t *testing.T) {
	exact.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(44, 1))
	weights := []func() float64{
		func() float64 { return float64(1 - 2*r.IntN(2)) },
		func() float64 { return float64(r.IntN(5) - 2) },
		r.NormFloat64,
	}
	better := 0
	for try := range 300 {
		rows, columns := 3+r.IntN(3), 3+r.IntN(4)
		m := torus(rows, columns, try%2 == 0, weights[try%3])
		l := exact.Must(quantise(m)).lattice()
		if l == nil { // weights 0 have left something else
			continue
		}
		require.Contains(t, []int{rows, columns}, l.columns)
		h, w := 2+r.IntN(min(2, l.rows-2)), 2+r.IntN(min(2, l.columns-2))
		x := make([]int32, rows*columns)
		for i := range x {
			x[i] = int32(r.IntN(2))
		}
		row, column := r.IntN(l.rows), r.IntN(l.columns)
		y := slices.Clone(x)
		require.NoError(t, l.minimise(y, row, column, h, w, sampler.NewStream(1, uint64(try))))
		got, least := of(m, y), of(m, x)
		if got < least-1e-6 {
			better++
		}
		z := slices.Clone(x)
		for s := range 1 << (h * w) {
			for k := range h * w {
				z[l.at(row+k/w, column+k%w)] = int32(s >> k & 1)
			}
			least = min(least, of(m, z))
		}
		require.InDelta(t, least, got, 1e-6)
		for k := range h * w {
			at := l.at(row+k/w, column+k%w)
			z[at], y[at] = 0, 0
			x[at] = 0
		}
		require.Equal(t, x, y)
	}
	require.Greater(t, better, 100)
}

// Windows find ground states of lattices, which annealing of the same length does not.
func TestLattices(t *testing.T) {
	for _, open := range []bool{false, true} {
		r := rand.New(rand.NewPCG(44, 5))
		m := torus(16, 20, open, func() float64 { return float64(1 - 2*r.IntN(2)) })
		c := exact.Must(Bound(t.Context(), m))
		require.NotNil(t, c.State)
		s := exact.Must(New(m, Config{Seed: 1, Chains: 2, Stop: func(e float64) bool { return e <= c.Energy }}))
		require.NoError(t, s.Run(t.Context(), 100))
		x, e := s.Best()
		require.Equal(t, c.Energy, e)
		require.True(t, c.Proves(x))
	}
	field := exact.Must(model.NewIsing(model.Lattice{6, 6}, 1, 0.5))
	require.Nil(t, exact.Must(quantise(field)).lattice())
}
