package exact

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/stretchr/testify/require"
)

// Rugged is a model with an arbitrary energy for every state. Its tables of energy differences are
// deliberately wrong, by an amount that depends on the state. A kernel that uses these tables only
// to propose moves must nevertheless be exact.
type Rugged struct {
	sites, levels int
	E             []float64 // energy of each state, by its [Index]
	noise         float64   // maximum error of a table entry
	salt          uint64
}

// NewRugged returns a model with random energies, whose standard deviation is the argument scale.
// The entries of its tables have errors, each at most the argument noise.
func NewRugged(sites, levels int, scale, noise float64, seed uint64) *Rugged {
	r := rand.New(rand.NewPCG(seed, 1))
	m := &Rugged{sites: sites, levels: levels, noise: noise, salt: seed, E: make([]float64, Size(sites, levels))}
	for i := range m.E {
		m.E[i] = scale * r.NormFloat64()
	}
	return m
}

// Holed gives probability zero to about a quarter of the states, and returns m.
func (m *Rugged) Holed() *Rugged {
	for k := range m.E {
		if m.hash(k, 0, 0) > 0.5 {
			m.E[k] = math.Inf(1)
		}
	}
	return m
}

func (m *Rugged) Shape() (int, int) { return m.sites, m.levels }

func (m *Rugged) Energy(e []float64, x []int32) {
	for s := range e {
		e[s] = m.E[Index(x[s*m.sites:(s+1)*m.sites], m.levels)]
	}
}

func (m *Rugged) Conditional(d []float64, site int, x []int32) {
	k := Index(x, m.levels)
	for l := range d {
		d[l] = m.E[m.Neighbour(k, site, int(x[site]), l)] - m.E[k]
	}
}

// Neighbour returns the index of the state that differs from state k at one site. That site has
// oldLevel in state k, and newLevel in the result.
func (m *Rugged) Neighbour(k, site, oldLevel, newLevel int) int {
	step := 1
	for range site {
		step *= m.levels
	}
	return k + (newLevel-oldLevel)*step
}

func (m *Rugged) Gradient(e []float64, g []float32, x []int32) {
	m.Energy(e, x)
	d := make([]float64, m.levels)
	for s := range e {
		row := x[s*m.sites : (s+1)*m.sites]
		for i, at := range row {
			m.Conditional(d, i, row)
			for l := range d {
				v := float32(d[l] + m.noise*m.hash(Index(row, m.levels), i, l))
				if l == int(at) {
					v = 0
				}
				g[(s*m.sites+i)*m.levels+l] = v
			}
		}
	}
}

// hash returns a pseudorandom number in [−1, 1] that depends only on the model's seed and the
// arguments.
func (m *Rugged) hash(k, i, l int) float64 {
	r := rand.NewPCG(m.salt, uint64(k*1000+i*30+l))
	return 2*float64(r.Uint64()>>11)*0x1p-53 - 1
}

// Ordinal is a [Rugged] model whose levels have unevenly spaced numeric values.
type Ordinal struct{ *Rugged }

func (m Ordinal) Values() []float32 {
	v := make([]float32, m.levels)
	for l := range v {
		v[l] = float32(l) + 0.1*float32(l*l)
	}
	return v
}

func (m Ordinal) Window(e []float64, g []float32, x []int32, w int) {
	whole := make([]float32, len(x)*m.levels)
	m.Gradient(e, whole, x)
	for i, at := range x {
		for c := range 2*w + 1 {
			l := int(at) + c - w
			g[i*(2*w+1)+c] = float32(math.Inf(1))
			if l >= 0 && l < m.levels {
				g[i*(2*w+1)+c] = whole[i*m.levels+l]
			}
		}
	}
}

// Quadratic is a model of spins s with the energy E = −½ sᵀAs − bᵀs. For this energy, the
// stationary distribution of the discrete unadjusted Langevin algorithm (DULA) has a closed form.
// The table that the method Field returns is exact.
type Quadratic struct {
	a [][]float64 // couplings A: symmetric, zero diagonal
	b []float64
}

// NewQuadratic returns a model with random couplings.
func NewQuadratic(sites int, seed uint64) *Quadratic {
	r := rand.New(rand.NewPCG(seed, 2))
	q := &Quadratic{a: make([][]float64, sites), b: make([]float64, sites)}
	for i := range q.a {
		q.a[i] = make([]float64, sites)
		q.b[i] = 0.3 * r.NormFloat64()
	}
	for i := range q.a {
		for j := range i {
			q.a[i][j] = 0.4 * r.NormFloat64()
			q.a[j][i] = q.a[i][j]
		}
	}
	return q
}

func (q *Quadratic) Shape() (int, int) { return len(q.b), 2 }

// Force returns Σ_j A_ij s_j + b_i for site i of the state x: the negative derivative of the
// energy.
func (q *Quadratic) Force(i int, x []int32) float64 {
	f := q.b[i]
	for j, l := range x {
		f += q.a[i][j] * float64(2*l-1)
	}
	return f
}

func (q *Quadratic) Energy(e []float64, x []int32) {
	n := len(q.b)
	for s := range e {
		row := x[s*n : (s+1)*n]
		e[s] = 0
		for i, l := range row {
			e[s] -= 0.5 * (q.Force(i, row) + q.b[i]) * float64(2*l-1)
		}
	}
}

func (q *Quadratic) Field(e []float64, h []float32, x []int32) {
	q.Energy(e, x)
	n := len(q.b)
	for k := range x {
		h[k] = float32(-2 * q.Force(k%n, x[k/n*n:k/n*n+n]))
	}
}

// RBM returns a small random restricted Boltzmann machine.
func RBM(t testing.TB) *model.RBM {
	r := rand.New(rand.NewPCG(4, 4))
	draw := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		return v
	}
	m, err := model.NewRBM(draw(3*6), draw(3), draw(6))
	require.NoError(t, err)
	return m
}

// Library returns models of package model, by name. They have the caches, graphs and hidden units
// that [Rugged] models lack.
func Library(t testing.TB) map[string]energy.Model {
	ising, err := model.NewIsing(model.Lattice{3, 3}, 0.3, 0.1)
	require.NoError(t, err)
	g, err := model.NewGraph(6, []model.Edge{{I: 0, J: 1, W: 1}, {I: 1, J: 2, W: -2}, {I: 2, J: 3, W: 0.5}, {I: 0, J: 4, W: 1.5}, {I: 1, J: 4, W: 1}})
	require.NoError(t, err)
	glass, err := model.NewIsing(g, 0.4, 0.2)
	require.NoError(t, err)
	potts, err := model.NewPotts(model.FreeLattice{2, 3}, 3, 0.6, []float64{0.1, 0, -0.2})
	require.NoError(t, err)
	return map[string]energy.Model{"ising": ising, "glass": glass, "potts": potts, "rbm": RBM(t)}
}

// Pocked returns a model in which states with exactly three ones have the energy v. The energy of
// any other state is a tenth of its number of ones. With v = NaN the evaluation of states with
// three ones fails. With v = +Inf these states are forbidden.
func Pocked(v float64) energy.Func {
	return energy.Func{Sites: 5, Levels: 2, E: func(x []int32) float64 {
		sum := 0
		for _, l := range x {
			sum += int(l)
		}
		if sum == 3 {
			return v
		}
		return 0.1 * float64(sum)
	}}
}
