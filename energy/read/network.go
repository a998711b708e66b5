package read

import (
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// network is a graphical model: a product of tables over variables that may have different numbers
// of values.
type network struct {
	levels  int
	cards   []int32 // number of values of each site
	factors []factor

	around     []int32 // indices of the factors of site i: around[from[i]:from[i+1]], ascending
	from       []int32
	start, adj []int32 // neighbours of each site in compressed rows, as in energy.Graphical
}

// factor is a table of energies over some sites. The entry of a state x has the index Σ_k
// strides[k]·x[sites[k]].
type factor struct {
	sites   []int32
	strides []int
	values  int
	energy  []float64
}

// index returns the index of the entry of the state x.
func (f *factor) index(x []int32) int {
	at := 0
	for k, i := range f.sites {
		at += f.strides[k] * int(x[i])
	}
	return at
}

// link computes the factors and the neighbours of each site.
func (m *network) link() {
	n := len(m.cards)
	around, near := make([][]int32, n), make([][]int32, n)
	for k := range m.factors {
		for _, i := range m.factors[k].sites {
			around[i] = append(around[i], int32(k))
		}
	}
	m.from, m.start = make([]int32, n+1), make([]int32, n+1)
	for i := range n {
		for _, k := range around[i] {
			near[i] = append(near[i], m.factors[k].sites...)
			slices.Sort(near[i])
			near[i] = slices.Compact(near[i])
		}
		near[i] = slices.DeleteFunc(near[i], func(j int32) bool { return int(j) == i })
		m.around, m.adj = append(m.around, around[i]...), append(m.adj, near[i]...)
		m.from[i+1], m.start[i+1] = int32(len(m.around)), int32(len(m.adj))
	}
}

// Shape returns the number of variables as sites, and the largest number of values of a variable as
// levels.
func (m *network) Shape() (sites, levels int) { return len(m.cards), m.levels }

// Energy stores in e the energies of the states x; it implements [energy.Model].
func (m *network) Energy(e []float64, x []int32) {
	n := len(m.cards)
	check.Len("read", "e", len(e), check.Rows("read", "x", len(x), n))
	for s := range e {
		e[s] = m.one(x[s*n : (s+1)*n])
	}
}

func (m *network) one(x []int32) float64 {
	for i, l := range x {
		if l >= m.cards[i] {
			return math.Inf(1)
		}
	}
	sum := 0.0
	for k := range m.factors {
		f := &m.factors[k]
		sum += f.energy[f.index(x)]
	}
	return sum
}

// Conditional stores in d, for each level, the energy of the state x with this level at the given
// site, relative to the energy of x. It implements [energy.Conditional].
func (m *network) Conditional(d []float64, site int, x []int32) {
	check.Len("read", "d", len(d), m.levels)
	check.Len("read", "x", len(x), len(m.cards))
	card := int(m.cards[site])
	for l := range d {
		d[l] = 0
		if l >= card {
			d[l] = math.Inf(1)
		}
	}
	for _, k := range m.around[m.from[site]:m.from[site+1]] {
		f := &m.factors[k]
		at, stride := 0, 0
		for j, i := range f.sites {
			switch {
			case int(i) == site:
				stride = f.strides[j]
			// The level of another site is outside the table, so every level of this site has
			// energy +Inf.
			case x[i] >= m.cards[i]:
				at = -1
			default:
				at += f.strides[j] * int(x[i])
			}
			if at < 0 {
				break
			}
		}
		if at < 0 {
			continue
		}
		for l := range card {
			d[l] += f.energy[at+l*stride]
		}
	}
	here := d[x[site]]
	for l := range d {
		d[l] -= here
	}
	d[x[site]] = 0 // even if the difference was Inf − Inf = NaN
}

// Graph returns, for each site, the other sites that share a table with it; it implements
// [energy.Graphical].
func (m *network) Graph() (start, adj []int32) { return m.start, m.adj }

// Factors returns the energy as a sum of tables. Each is a table of the file with its entries
// replaced by their negative logarithms. Factors implements [energy.Factored].
func (m *network) Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool) {
	for k := range m.factors {
		scopes, tables = append(scopes, m.factors[k].sites), append(tables, m.factors[k].energy)
	}
	return m.cards, scopes, tables, true
}

// Repair replaces each level that is too large for its variable by the variable's largest level. It
// implements [energy.Supported].
func (m *network) Repair(x []int32) {
	n := len(m.cards)
	check.Rows("read", "x", len(x), n)
	for s := 0; s < len(x); s += n {
		for i := range n {
			x[s+i] = min(x[s+i], m.cards[i]-1)
		}
	}
}
