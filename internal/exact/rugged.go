package exact

import (
	"math"
	"math/rand/v2"
)

// Rugged is a model with an arbitrary energy for every state. Its tables are
// wrong on purpose, by an amount that depends on the state: a kernel must be
// exact whatever the table says.
type Rugged struct {
	sites, levels int
	E             []float64 // by [Index]
	noise         float64   // size of the table's errors
	salt          uint64
}

// NewRugged returns a model whose energies have standard deviation scale, with
// errors of the tables up to noise.
func NewRugged(sites, levels int, scale, noise float64, seed uint64) *Rugged {
	r := rand.New(rand.NewPCG(seed, 1))
	m := &Rugged{sites: sites, levels: levels, noise: noise, salt: seed, E: make([]float64, Size(sites, levels))}
	for i := range m.E {
		m.E[i] = scale * r.NormFloat64()
	}
	return m
}

// Holed takes the probability from about a quarter of the states.
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

// Neighbour returns the index of state k with the level of a site changed.
func (m *Rugged) Neighbour(k, site, from, to int) int {
	step := 1
	for range site {
		step *= m.levels
	}
	return k + (to-from)*step
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

// hash returns a number in [−1, 1] that is a function of its arguments.
func (m *Rugged) hash(k, i, l int) float64 {
	r := rand.NewPCG(m.salt, uint64(k*1000+i*30+l))
	return 2*float64(r.Uint64()>>11)*0x1p-53 - 1
}
