package fit

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// Exact computes the moments of the model exactly. It gives maximum likelihood without chains, so
// Config.Chains must be nil.
//
// A model with more than 4,096 states is summed by variable elimination if it has finite factors
// (see [Factored]). These factors must form a graph of low tree-width, such as a chain, a tree or a
// narrow lattice. All other models are enumerated and may have at most 2²² states. With
// elimination, a step takes one pass over the graph. It also calls ParamGradient once for each pair
// of levels of each pair of neighbouring sites.
type Exact struct{}

const (
	mostStates = 1 << 22 // largest number of states that Exact enumerates at every step
	fewStates  = 1 << 12 // largest number of states for which Exact always enumerates
)

// Name returns the name by which checkpoints identify the objective.
func (Exact) Name() string { return "exact" }

// Bind returns the [Phase] that computes gradients for the model p and its data; it implements
// [Objective].
func (Exact) Bind(ctx context.Context, p energy.Parametric, data []int32, _ dual.Primal[int32]) (Phase, error) {
	if err := check.Given("fit: Exact", "p", p); err != nil {
		return nil, err
	}
	sites, levels := p.Shape()
	n := 1
	for range sites {
		n = min(n, mostStates) * levels
	}
	if n > fewStates {
		f, err := newFactored(ctx, p, data)
		if f != nil {
			return f, nil
		}
		if n > mostStates {
			if err != nil {
				return nil, fmt.Errorf("fit: Exact: %w", err)
			}
			return nil, fmt.Errorf("fit: Exact: %d sites of %d levels, want at most %d states, or finite factors over few sites", sites, levels, mostStates)
		}
	}
	return &enumerated{data: newMoments(p, data), p: p, sites: sites, levels: levels, states: n}, nil
}

type enumerated struct {
	stateless
	data                  *moments
	p                     energy.Parametric
	sites, levels, states int
}

func (*enumerated) UnmarshalBinary(b []byte) error { return wire.ReadEnd(b) }

// Gradient adds to g the gradient of the mean loss of the rows. It implements [Phase].
func (n *enumerated) Gradient(ctx context.Context, g []float64, rows []int32, _ int, _ uint64) error {
	e := make([]float64, n.states)
	x := make([]int32, min(n.states, enumeratedBatch)*n.sites)
	each := func(f func(at int, x []int32)) {
		for at := 0; at < n.states && poll.Err(ctx) == nil; at += enumeratedBatch {
			part := x[:min(n.states-at, enumeratedBatch)*n.sites]
			n.fill(part, at)
			f(at, part)
		}
	}
	each(func(at int, x []int32) { n.p.Energy(e[at:at+len(x)/n.sites], x) })
	least, sum := math.Inf(1), 0.0
	for s, v := range e {
		if math.IsNaN(v) || math.IsInf(v, -1) {
			return fmt.Errorf("fit: Exact: energy of state %d = %v, want a number above −Inf", s, v)
		}
		least = min(least, v)
	}
	if math.IsInf(least, 1) && poll.Err(ctx) == nil {
		return fmt.Errorf("fit: Exact: every state has energy +Inf")
	}
	for s, v := range e {
		e[s] = simd.Exp(least - v)
		sum += e[s]
	}
	for s := range e {
		e[s] /= -sum
	}
	each(func(at int, x []int32) { n.p.ParamGradient(g, x, e[at:at+len(x)/n.sites]) })
	n.data.add(g, rows)
	return ctx.Err()
}

// enumeratedBatch is the number of states whose energies are computed in one call.
const enumeratedBatch = 1 << 10

// fill stores in x consecutive states, starting with state number at. The first site varies
// fastest.
func (n *enumerated) fill(x []int32, at int) {
	for s := 0; s*n.sites < len(x); s++ {
		c := at + s
		for i := range n.sites {
			x[s*n.sites+i] = int32(c % n.levels)
			c /= n.levels
		}
	}
}
