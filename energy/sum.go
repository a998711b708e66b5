package energy

import (
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// Sum returns the model with E(x) = Σ_k E_k(x), the product of the densities
// of the given models; it has probability where all of them have. Energies add
// in the order given. The sum of one model is that model.
//
// The sum supports what all its parts support of [Binary], [Conditional],
// [Local], [Graphical] and [Windowed]. It is [Differentiable] if every part is
// Differentiable, Binary or Windowed. It is [Ordinal] and
// [Supported] if at least one part is (Repair asks the parts in turn, twice, so
// parts with conflicting demands may leave a state of probability zero),
// [Stochastic] if at least one part is and the others are one of those, and
// [Bipartite] if one part is and the others have Conditionals and a graph
// without edges. It is safe for concurrent use.
//
// Sum returns an error if there is no model, one is nil, shapes differ, or two
// Ordinal parts have different values.
func Sum(models ...Model) (Model, error) {
	if len(models) == 0 {
		return nil, fmt.Errorf("energy: Sum: no models, want ≥ 1")
	}
	s := &sum{parts: slices.Clone(models)}
	var values []float32
	for k, m := range models {
		sites, levels, err := check.Model("energy", "Sum", fmt.Sprintf("models[%d]", k), m)
		if err != nil {
			return nil, err
		}
		if k == 0 {
			s.sites, s.levels = sites, levels
		}
		if sites != s.sites || levels != s.levels {
			return nil, fmt.Errorf("energy: Sum: models[%d] has %d sites and %d levels, want %d and %d as models[0]", k, sites, levels, s.sites, s.levels)
		}
		if o, ok := As[Ordinal](m); ok {
			if values == nil {
				values = o.Values()
			}
			if !slices.Equal(values, o.Values()) {
				return nil, fmt.Errorf("energy: Sum: models[%d] has the level values %v, want %v as an earlier model", k, o.Values(), values)
			}
		}
	}
	if len(models) == 1 {
		return models[0], nil
	}
	s.values = values
	s.start, s.adj = unite(s.parts, s.sites)
	s.offset, s.bipartite = s.visibleOffset()
	return s, nil
}

// sum is what [Sum] returns. Every optional interface has a type of its own
// around it.
type sum struct {
	parts         []Model
	sites, levels int
	values        []float32 // nil: not Ordinal
	start, adj    []int32   // nil: not Graphical
	bipartite     Bipartite // nil: not Bipartite
	offset        []float32 // what the other parts add to its visible field
}

// Shape returns the shape of all parts.
func (s *sum) Shape() (sites, levels int) { return s.sites, s.levels }

// Energy implements [Model].
func (s *sum) Energy(e []float64, x []int32) {
	s.parts[0].Energy(e, x)
	b := scratch.Float64s.Get(len(e))
	defer scratch.Float64s.Put(b)
	for _, m := range s.parts[1:] {
		m.Energy(*b, x)
		accumulate(e, *b)
	}
}

// visibleOffset returns the one bipartite part, if the others are products of
// sites, and what they add to the log-odds of its visible sites.
func (s *sum) visibleOffset() ([]float32, Bipartite) {
	var bipartite Bipartite
	offset := make([]float64, s.sites)
	d := make([]float64, s.levels)
	x := make([]int32, s.sites)
	for _, m := range s.parts {
		if b, ok := As[Bipartite](m); ok {
			if bipartite != nil {
				return nil, nil
			}
			bipartite = b
			continue
		}
		g, graphical := As[Graphical](m)
		c, conditional := As[Conditional](m)
		if !graphical || !conditional || s.levels != 2 {
			return nil, nil
		}
		if _, adj := g.Graph(); len(adj) > 0 {
			return nil, nil
		}
		for i := range x {
			c.Conditional(d, i, x)
			if offset[i] -= d[1]; !check.Finite(offset[i]) {
				return nil, nil
			}
		}
	}
	f := make([]float32, s.sites)
	for i, v := range offset {
		f[i] = float32(v)
	}
	return f, bipartite
}

// unite returns the union of the graphs of the models, or nil if one has none.
func unite(models []Model, sites int) (start, adj []int32) {
	graphs := all[Graphical](models)
	if graphs == nil {
		return nil, nil
	}
	start = make([]int32, sites+1)
	for i := range sites {
		from := len(adj)
		for _, m := range graphs {
			s, a := m.Graph()
			adj = append(adj, a[s[i]:s[i+1]]...)
		}
		slices.Sort(adj[from:])
		adj = append(adj[:from], slices.Compact(adj[from:])...)
		start[i+1] = int32(len(adj))
	}
	return start, adj
}

// accumulate adds b to a.
func accumulate[T float32 | float64](a, b []T) {
	for i, v := range b {
		a[i] += v
	}
}
