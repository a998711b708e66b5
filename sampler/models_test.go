package sampler

import (
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// rugged is a model with an arbitrary energy for every state. Its tables are
// wrong on purpose, by an amount that depends on the state: a kernel must be
// exact whatever the table says.
type rugged struct {
	sites, levels int
	e             []float64 // by exact.Index
	noise         float64   // size of the table's errors
	salt          uint64
}

func newRugged(sites, levels int, scale, noise float64, seed uint64) *rugged {
	r := rand.New(rand.NewPCG(seed, 1))
	m := &rugged{sites: sites, levels: levels, noise: noise, salt: seed, e: make([]float64, exact.Size(sites, levels))}
	for i := range m.e {
		m.e[i] = scale * r.NormFloat64()
	}
	return m
}

// holed takes the probability from about a quarter of the states.
func (m *rugged) holed() *rugged {
	for k := range m.e {
		if m.hash(k, 0, 0) > 0.5 {
			m.e[k] = math.Inf(1)
		}
	}
	return m
}

func (m *rugged) Shape() (int, int) { return m.sites, m.levels }

func (m *rugged) Energy(e []float64, x []int32) {
	for s := range e {
		e[s] = m.e[exact.Index(x[s*m.sites:(s+1)*m.sites], m.levels)]
	}
}

func (m *rugged) Conditional(d []float64, site int, x []int32) {
	k := exact.Index(x, m.levels)
	for l := range d {
		d[l] = m.e[m.neighbour(k, site, int(x[site]), l)] - m.e[k]
	}
}

// neighbour returns the index of state k with the level of a site changed.
func (m *rugged) neighbour(k, site, from, to int) int {
	step := 1
	for range site {
		step *= m.levels
	}
	return k + (to-from)*step
}

func (m *rugged) Gradient(e []float64, g []float32, x []int32) {
	m.Energy(e, x)
	d := make([]float64, m.levels)
	for s := range e {
		row := x[s*m.sites : (s+1)*m.sites]
		for i, at := range row {
			m.Conditional(d, i, row)
			for l := range d {
				v := float32(d[l] + m.noise*m.hash(exact.Index(row, m.levels), i, l))
				if l == int(at) {
					v = 0
				}
				g[(s*m.sites+i)*m.levels+l] = v
			}
		}
	}
}

// hash returns a number in [−1, 1] that is a function of its arguments.
func (m *rugged) hash(k, i, l int) float64 {
	r := rand.NewPCG(m.salt, uint64(k*1000+i*30+l))
	return 2*float64(r.Uint64()>>11)*0x1p-53 - 1
}

// ordinal gives rugged numeric levels, unevenly spaced.
type ordinal struct{ *rugged }

func (m ordinal) Values() []float32 {
	v := make([]float32, m.levels)
	for l := range v {
		v[l] = float32(l) + 0.1*float32(l*l)
	}
	return v
}

func (m ordinal) Window(e []float64, g []float32, x []int32, w int) {
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

// quadratic is E = −½ sᵀAs − bᵀs over spins: the target on which DULA's
// stationary law has a closed form. Its field is exact.
type quadratic struct {
	a [][]float64 // symmetric, zero diagonal
	b []float64
}

func newQuadratic(sites int, seed uint64) *quadratic {
	r := rand.New(rand.NewPCG(seed, 2))
	q := &quadratic{a: make([][]float64, sites), b: make([]float64, sites)}
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

func (q *quadratic) Shape() (int, int) { return len(q.b), 2 }

// force returns Σ_j A_ij s_j + b_i.
func (q *quadratic) force(i int, x []int32) float64 {
	f := q.b[i]
	for j, l := range x {
		f += q.a[i][j] * float64(2*l-1)
	}
	return f
}

func (q *quadratic) Energy(e []float64, x []int32) {
	n := len(q.b)
	for s := range e {
		row := x[s*n : (s+1)*n]
		e[s] = 0
		for i, l := range row {
			e[s] -= 0.5 * (q.force(i, row) + q.b[i]) * float64(2*l-1)
		}
	}
}

func (q *quadratic) Field(e []float64, h []float32, x []int32) {
	q.Energy(e, x)
	n := len(q.b)
	for k := range x {
		h[k] = float32(-2 * q.force(k%n, x[k/n*n:k/n*n+n]))
	}
}
