package ground_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/read"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/ground"
	"github.com/stretchr/testify/require"
)

// minima returns the lowest energy of a small model and the levels that each site has in
// states of this energy.
func minima(m energy.Model) (least float64, levels [][2]bool) {
	n, _ := m.Shape()
	x, e := make([]int32, n), make([]float64, 1)
	least = math.Inf(1)
	for k := range 1 << n {
		for i := range x {
			x[i] = int32(k >> i & 1)
		}
		m.Energy(e, x)
		if e[0] < least {
			least, levels = e[0], make([][2]bool, n)
		}
		if e[0] == least {
			for i, l := range x {
				levels[i][l] = true
			}
		}
	}
	return least, levels
}

func energyOf(m energy.Model, x []int32) float64 {
	e := make([]float64, 1)
	m.Energy(e, x)
	return e[0]
}

// Bounds of enumerated tori and planar graphs with random integer weights are not above the
// lowest energy, are it on planar graphs, and come with a state that has it.
func TestBoundsOfPlanarGraphsAndTori(t *testing.T) {
	exact.SkipUnderRace(t)
	ctx := context.Background()
	built, tight := 0, 0
	for seed := range uint64(240) {
		r := rand.New(rand.NewPCG(seed, 7))
		var edges []model.Edge
		var n int
		most := []int{1, 3, 20}[r.IntN(3)]
		weight := func() float64 {
			if most == 1 {
				return float64(2*r.IntN(2) - 1)
			}
			return float64(r.IntN(2*most+1) - most)
		}
		toroidal := seed%2 == 0
		field := 0.0
		if toroidal {
			rows, columns := 3, 3+r.IntN(3)
			n = rows * columns
			for i := range n {
				edges = append(edges, model.Edge{I: i, J: i/columns*columns + (i+1)%columns, W: weight()}, model.Edge{I: i, J: (i + columns) % n, W: weight()})
			}
		} else {
			rows, columns := 2+r.IntN(2), 2+r.IntN(4)
			n = rows * columns
			for i := range n {
				if i%columns+1 < columns {
					edges = append(edges, model.Edge{I: i, J: i + 1, W: weight()})
				}
				if i+columns < n {
					edges = append(edges, model.Edge{I: i, J: i + columns, W: weight()})
				}
			}
			if rows == 2 { // outerplanar: fields stay planar
				field = float64(r.IntN(5) - 2)
			}
		}
		g, err := model.NewGraph(n, edges)
		require.NoError(t, err)
		m, err := model.NewIsing(g, 0.25, field)
		require.NoError(t, err)
		c, err := ground.Bound(ctx, m)
		require.NoError(t, err, "seed %d", seed)
		least, levels := minima(m)
		require.LessOrEqual(t, c.Energy, least, "seed %d", seed)
		for i, l := range c.Fixed {
			if l >= 0 {
				require.False(t, levels[i][1-l], "seed %d, site %d", seed, i)
			}
		}
		if !toroidal {
			require.Equal(t, least, c.Energy, "seed %d", seed)
			require.NotNil(t, c.State)
		}
		if c.Energy == least {
			tight++
		}
		if c.State != nil {
			require.Equal(t, least, energyOf(m, c.State), "seed %d", seed)
			require.True(t, c.Proves(c.State))
			built++
			worse := append([]int32{}, c.State...)
			worse[0] = 1 - worse[0]
			require.Equal(t, energyOf(m, worse) == least, c.Proves(worse))
		}
	}
	require.Greater(t, built, 150)
	require.Greater(t, tight, 150)
}

// Roof duality: no bound is above the lowest energy, and no site is fixed at a level that a
// ground state does not have.
func TestRoofDuality(t *testing.T) {
	exact.SkipUnderRace(t)
	instances := uint64(10000)
	if testing.Short() {
		instances = 2000
	}
	fixed := 0
	for seed := range instances {
		r := rand.New(rand.NewPCG(seed, 8))
		n := 3 + r.IntN(5)
		p := model.Polynomial{Linear: make([]float64, n), Constant: float64(r.IntN(5))}
		var q []model.Edge
		for i := range n {
			p.Linear[i] = float64(r.IntN(13) - 6)
			for j := range i {
				if r.IntN(3) > 0 {
					q = append(q, model.Edge{I: i, J: j, W: float64(r.IntN(9) - 4)})
				}
			}
		}
		if seed%10 == 0 { // no common unit
			for k := range q {
				q[k].W *= math.Pi
			}
		}
		m, err := model.NewQuadratic(n, q, p)
		require.NoError(t, err)
		c, err := ground.Bound(context.Background(), m)
		require.NoError(t, err, "seed %d", seed)
		least, levels := minima(m)
		require.LessOrEqual(t, c.Energy, least+1e-12, "seed %d", seed)
		for i, l := range c.Fixed {
			if l >= 0 {
				require.False(t, levels[i][1-l], "seed %d, site %d", seed, i)
				fixed++
			}
		}
	}
	require.Greater(t, fixed, int(instances))
}

// The tori of the Gset have the bounds that Thomas and Middleton's method gives; the best
// cuts known of three are equal to theirs.
func TestBoundsOfTheGset(t *testing.T) {
	exact.SkipUnderRace(t)
	const data = "../../../shared/data/"
	for name, want := range map[string]struct {
		bound float64
		built bool
	}{"G11": {564, true}, "G32": {1414, false}, "G57": {3494, true}, "G62": {4872, true}} {
		if testing.Short() && name != "G11" {
			continue
		}
		f, err := os.Open(data + name + ".txt")
		if err != nil {
			t.Skip(err)
		}
		g, err := read.Rudy(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		m, err := model.MaxCut(g)
		require.NoError(t, err)
		total := 0.0
		for e := range g.Edges() {
			total += e.W
		}
		c, err := ground.Bound(context.Background(), m)
		require.NoError(t, err)
		require.Equal(t, "toroidal matching", c.Method)
		require.Equal(t, want.bound, total/2-c.Energy, name)
		require.Equal(t, want.built, c.State != nil, name)
		if want.built {
			require.Equal(t, want.bound, g.Cut(c.State))
		}
	}
}

func TestBoundRefuses(t *testing.T) {
	ctx := context.Background()
	potts, err := model.NewPotts(model.Lattice{3, 3}, 3, 1, nil)
	require.NoError(t, err)
	_, err = ground.Bound(ctx, potts)
	require.ErrorContains(t, err, "want one of pairs (ground.Pairwise)")
	m, err := model.NewIsing(model.Lattice{40, 40}, -1, 0)
	require.NoError(t, err)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = ground.Bound(ended, m)
	require.ErrorIs(t, err, context.Canceled)
	c, err := ground.Bound(ctx, m) // not frustrated
	require.NoError(t, err)
	require.Equal(t, -3200.0, c.Energy)
	require.Panics(t, func() { c.Proves(make([]int32, 3)) })
	free, err := model.NewQuadratic(2, nil, model.Polynomial{})
	require.NoError(t, err)
	c, err = ground.Bound(ctx, free)
	require.NoError(t, err)
	require.Equal(t, 0.0, c.Energy)
}

func ExampleCertificate_Proves() {
	g, err := model.NewGraph(4, []model.Edge{{I: 0, J: 1, W: 1}, {I: 1, J: 2, W: 1}, {I: 2, J: 0, W: 1}, {I: 2, J: 3, W: 2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := model.MaxCut(g)
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := ground.Bound(context.Background(), m)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Method, "no cut above", 5.0/2-c.Energy)
	fmt.Println(g.Cut(c.State), c.Proves(c.State))
	// Output:
	// planar matching no cut above 4
	// 4 true
}

// Bounds of graphs that are neither planar nor tori, enumerated, with and without fields, are
// not above the lowest energy, and the packing of odd cycles beats the roof dual.
func TestBoundsByOddCycles(t *testing.T) {
	exact.SkipUnderRace(t)
	ctx := context.Background()
	cycles, tight, proven := 0, 0, 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 9))
		n := 6 + r.IntN(6)
		var edges []model.Edge
		for i := range n {
			for j := range i {
				if r.IntN(5) > 0 {
					edges = append(edges, model.Edge{I: i, J: j, W: float64(2*r.IntN(2)-1) * float64(1+r.IntN(1+int(seed%4)))})
				}
			}
		}
		p := model.Polynomial{Values: []float32{-1, 1}, Linear: make([]float64, n)}
		if seed%2 == 1 {
			for i := range p.Linear {
				p.Linear[i] = float64(r.IntN(7) - 3)
			}
		}
		m, err := model.NewQuadratic(n, edges, p)
		require.NoError(t, err)
		least, _ := minima(m)
		c, err := ground.Bound(ctx, m)
		require.NoError(t, err)
		require.LessOrEqual(t, c.Energy, least, "seed %d", seed)
		if c.Method != "odd cycles" {
			continue
		}
		cycles++
		if c.Energy == least {
			tight++
			x := make([]int32, n)
			for k := range 1 << n {
				for i := range x {
					x[i] = int32(k >> i & 1)
				}
				if energyOf(m, x) == least {
					require.True(t, c.Proves(x))
					proven++
					break
				}
			}
		}
	}
	require.Greater(t, cycles, 100)
	require.Greater(t, tight, 20)
	require.Equal(t, tight, proven)
}
