package ground

import (
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/subgraph"
)

const (
	// Strips of a square lattice have 10 rows and 130 columns. Three take about as long as the
	// annealing of a short round; one of 12 rows finds less, on a torus made for it.
	stripWidth   = 10
	stripLength  = 130 * stripWidth
	stripCount   = 24
	stripsARound = 3

	// Shorter ones, of dense graphs, are not worth it; and plans of larger models take too
	// much memory.
	leastStrip = 10 * stripWidth
	mostSites  = 1 << 18
)

// strips are sets of sites of low width, over which the energy is minimised exactly given the
// other sites. They are immutable.
type strips struct {
	plans []*subgraph.Plan
	slack float64 // differences of energies up to here are 0
}

// newStrips returns those of a model, nil if its graph is too dense for them or it is too
// large.
func newStrips[T number](g *system[T]) *strips {
	n := g.sites()
	if n > mostSites {
		return nil
	}
	adj, cards := make([]int32, len(g.adj)), make([]int32, n)
	for k, a := range g.adj {
		adj[k] = a.to
	}
	graph, r := subgraph.NewGraph(g.start, adj, nil), rand.New(rand.NewPCG(44, 3)) // no search draws from it
	var sets [][]int32
	for range stripCount {
		set := graph.Strip(stripWidth, stripLength, r)
		if len(set) < leastStrip && len(set) < n {
			return nil
		}
		sets = append(sets, set)
	}
	var scopes [][]int32
	var tables [][]float64
	fields, couplings := map[T][]float64{}, map[T][]float64{}
	add := func(shared map[T][]float64, v T, scope ...int32) {
		if shared[v] == nil {
			shared[v] = make([]float64, 1<<len(scope))
			shared[v][len(shared[v])-1] = float64(v)
		}
		scopes, tables = append(scopes, scope), append(tables, shared[v])
	}
	for i := range int32(n) {
		cards[i] = 2
		add(fields, g.field[i], i)
		for _, a := range g.row(int(i)) {
			if i < a.to {
				add(couplings, a.w, i, a.to)
			}
		}
	}
	m := subgraph.NewModel(cards, scopes, tables)
	s := &strips{slack: float64(g.nought)}
	for _, set := range sets {
		s.plans = append(s.plans, m.Compile(set))
	}
	return s
}

// minimiser is the scratch of a search for strips.
type minimiser struct {
	run  *subgraph.Run
	x, y []int32 // levels before and after
	u    []float64
}

// settle minimises the best state over the next strip, ties at random, and returns false if
// it was stopped.
func (s *searcher[T]) settle() bool {
	n := s.g.sites()
	if s.over.run == nil {
		s.over = minimiser{subgraph.NewRun(s.strips.plans), make([]int32, n), make([]int32, n), make([]float64, n)}
	}
	p, o := s.strips.plans[s.strip], &s.over
	s.best.levels(o.x)
	if !o.run.Minimise(p, o.x, s.stop) {
		return false
	}
	copy(o.y, o.x)
	for k := range p.Sites() {
		o.u[k] = s.words.unit()
	}
	o.run.Least(p, o.y, o.u, s.strips.slack)
	for i, v := range o.y {
		if v != o.x[i] {
			s.best.flip(s.g, i)
		}
	}
	s.strip = (s.strip + 1) % len(s.strips.plans)
	return true
}
