package samplertest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/laws"
)

// Models returns the models on which [TestMethod] checks a method by default:
//
//   - independent sites;
//   - an Ising ring;
//   - a Potts path of three levels;
//   - ordinal levels;
//   - two levels with some states of probability zero;
//   - an energy.Func with a random energy for every state, in which all sites interact;
//   - the ring and the path with a site clamped;
//   - sites of one level.
//
// In the model with ordinal levels and the model with states of probability zero, the table of
// energy differences is wrong on purpose, by up to half a nat.
func Models() []energy.Model {
	ring := newPairs("Ising ring", 5, 2, 0.7, true)
	path := newPairs("Potts path", 3, 3, -0.6, false)
	return []energy.Model{
		ring,
		path,
		newTable("forbidden states", 5, 2, 0.25, 4),
		random(3, 3, 5),
		newPairs("independent sites", 3, 3, 0, false),
		newTable("ordinal levels", 2, mostLevels, 0, 3),
		clamped(ring, 0, 1),
		clamped(path, 1, 2),
		newPairs("one level", 2, 1, 0, false),
	}
}

// mostLevels is the maximum number of levels in Models. Their tables then need no scratch memory.
const mostLevels = 5

// clamped returns model m with one site fixed at a level.
func clamped(m energy.Model, site int, level int32) energy.Model {
	c, err := energy.Clamp(m, map[int]int32{site: level})
	if err != nil {
		panic(err) // cannot happen: Models passes valid sites and levels
	}
	return c
}

// random returns a model with a random energy for every state.
func random(sites, levels int, seed uint64) energy.Func {
	e := newTable("", sites, levels, 0, seed).e
	return energy.Func{Sites: sites, Levels: levels, E: func(x []int32) float64 { return e[laws.Index(x, levels)] }}
}

// pairs is a model of sites on a path or a ring, E(x) = −J Σ_{neighbours ij} [x_i = x_j] − Σ_i
// h[x_i].
type pairs struct {
	name          string
	sites, levels int
	coupling      float64
	field         []float64
	start, adj    []int32
}

func newPairs(name string, sites, levels int, coupling float64, ring bool) *pairs {
	p := &pairs{name: name, sites: sites, levels: levels, coupling: coupling, start: []int32{0}}
	for l := range levels {
		// no fused multiply-add, so that bits are the same everywhere
		p.field = append(p.field, float64(0.4*float64(l))-0.1)
	}
	for i := range sites {
		var next []int32
		for j := range sites {
			apart := max(i-j, j-i)
			if coupling != 0 && (apart == 1 || ring && apart == sites-1) {
				next = append(next, int32(j))
			}
		}
		p.adj = append(p.adj, next...)
		p.start = append(p.start, int32(len(p.adj)))
	}
	return p
}

// Name returns the name of the model in error messages; it implements [sampler.Named].
func (p *pairs) Name() string { return p.name }

// Shape returns the numbers of sites and levels of a state.
func (p *pairs) Shape() (sites, levels int) { return p.sites, p.levels }

// Energy stores in e the energy of each state in x.
func (p *pairs) Energy(e []float64, x []int32) {
	lengths(len(e), len(x), p.sites)
	for s := range e {
		row := x[s*p.sites : (s+1)*p.sites]
		e[s] = 0
		for i, l := range row {
			e[s] -= p.field[l]
			for _, j := range p.adj[p.start[i]:p.start[i+1]] {
				if int(j) > i && row[j] == l {
					e[s] -= p.coupling
				}
			}
		}
	}
}

// Conditional stores in d[l] the change of energy if the site is set to level l. It implements
// [energy.Conditional].
func (p *pairs) Conditional(d []float64, site int, x []int32) {
	for l := range d {
		d[l] = -p.field[l]
	}
	for _, j := range p.adj[p.start[site]:p.start[site+1]] {
		d[x[j]] -= p.coupling
	}
	at := d[x[site]]
	for l := range d {
		d[l] -= at
	}
}

// Gradient stores the energies in e. The slice g receives the exact energy differences of all
// single-site changes. It implements [energy.Differentiable].
func (p *pairs) Gradient(e []float64, g []float32, x []int32) {
	p.Energy(e, x)
	lengths(len(g), len(x)*p.levels, 1)
	var few [mostLevels]float64
	d := few[:p.levels]
	for at := 0; at < len(x); at += p.sites {
		for i := range p.sites {
			p.Conditional(d, i, x[at:at+p.sites])
			for l, v := range d {
				g[(at+i)*p.levels+l] = float32(v)
			}
		}
	}
}

// Graph returns the neighbours of every site; it implements [energy.Graphical].
func (p *pairs) Graph() (start, adj []int32) { return p.start, p.adj }

// Matching returns the coupling of equal neighbours and the field of each level. It implements
// [energy.Matching].
func (p *pairs) Matching() (coupling float64, field []float64, ok bool) {
	return p.coupling, p.field, true
}

// table is a model with a random energy for every state. Its levels have values, and its tables
// of differences are wrong by up to half a nat.
type table struct {
	name          string
	sites, levels int
	e             []float64 // energy of each state, indexed by laws.Index
	// error of each table entry, indexed by laws.Index of the state, site and level
	noise []float64
}

// newTable returns a random table. The fraction forbidden of the states has probability zero, but
// never the all-zero state.
func newTable(name string, sites, levels int, forbidden float64, seed uint64) *table {
	r := rand.New(rand.NewPCG(seed, 1))
	t := &table{name: name, sites: sites, levels: levels, e: make([]float64, laws.Size(sites, levels))}
	for k := range t.e {
		t.e[k] = float64(4*r.Float64()) - 2
		if r.Float64() < forbidden && k > 0 {
			t.e[k] = math.Inf(1)
		}
	}
	t.noise = make([]float64, len(t.e)*sites*levels)
	for k := range t.noise {
		t.noise[k] = float64(r.Float64()) - 0.5
	}
	return t
}

// Name returns the name of the model in error messages; it implements [sampler.Named].
func (t *table) Name() string { return t.name }

// Shape returns the numbers of sites and levels of a state.
func (t *table) Shape() (sites, levels int) { return t.sites, t.levels }

// Energy looks up the energy of each state in x and stores it in e.
func (t *table) Energy(e []float64, x []int32) {
	lengths(len(e), len(x), t.sites)
	for s := range e {
		e[s] = t.e[laws.Index(x[s*t.sites:(s+1)*t.sites], t.levels)]
	}
}

// Conditional stores in d[l] the exact change of energy if the site is set to level l. It
// implements [energy.Conditional].
func (t *table) Conditional(d []float64, site int, x []int32) {
	k, stride := laws.Index(x, t.levels), laws.Size(site+1, t.levels)/t.levels
	for l := range d {
		d[l] = t.e[k+(l-int(x[site]))*stride] - t.e[k]
	}
}

// Gradient stores the energies in e. In g it stores the energy difference of every single-site
// change plus a random error. It implements [energy.Differentiable].
func (t *table) Gradient(e []float64, g []float32, x []int32) {
	t.Energy(e, x)
	lengths(len(g), len(x)*t.levels, 1)
	var few [mostLevels]float64
	d := few[:t.levels]
	for at := 0; at < len(x); at += t.sites {
		row := x[at : at+t.sites]
		k := laws.Index(row, t.levels)
		for i, now := range row {
			t.Conditional(d, i, row)
			for l, v := range d {
				if l != int(now) {
					v += t.noise[(k*t.sites+i)*t.levels+l]
				}
				g[(at+i)*t.levels+l] = float32(v)
			}
		}
	}
}

// Values returns the numeric values of the levels, which are not evenly spaced. It implements
// [energy.Ordinal].
func (t *table) Values() []float32 {
	v := make([]float32, t.levels)
	for l := range v {
		v[l] = float32(l) + float32(0.1*float32(l*l))
	}
	return v
}

// Repair replaces a state of probability zero by the all-zero state. It implements
// [energy.Supported].
func (t *table) Repair(x []int32) {
	for ; len(x) > 0; x = x[t.sites:] {
		if math.IsInf(t.e[laws.Index(x[:t.sites], t.levels)], 1) {
			clear(x[:t.sites])
		}
	}
}

// lengths panics unless x, the length of a slice of states, equals e times the number of sites,
// where e is the number of states.
func lengths(e, x, sites int) {
	if x != e*sites {
		panic(fmt.Sprintf("samplertest: len(x) = %d, want %d states of %d sites", x, e, sites))
	}
}
