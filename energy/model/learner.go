package model

import (
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// The copies that learners own, one type per model: a model that nobody else
// has seen, inside, is rewritten in place, so that the views of it that kernels
// got through energy.As follow, and a step of learning allocates little.

// parameters are θ as it was set: what a model keeps of it may be rounded.
type parameters struct{ theta []float64 }

// Params implements [energy.Parametric].
func (p *parameters) Params() []float64 { return slices.Clone(p.theta) }

// check panics or returns an error unless theta may replace θ.
func (p *parameters) check(theta []float64) error {
	check.Len("model", "theta", len(theta), len(p.theta))
	for k, v := range theta {
		if !check.Finite(v) {
			return fmt.Errorf("model: SetParams: theta[%d] = %v, want a finite number", k, v)
		}
	}
	return nil
}

// exponential models have energies that are linear in θ; see dual/fit.
type exponential struct{}

// Exponential reports that ParamGradient does not depend on θ.
func (exponential) Exponential() bool { return true }

// weight returns the weight of state s, 1 if there are none.
func weight(w []float64, s int) float64 {
	if w == nil {
		return 1
	}
	return w[s]
}

// states checks the arguments of ParamGradient and returns the number of states.
func (p *parameters) states(g []float64, x []int32, w []float64, sites int) int {
	check.Len("model", "g", len(g), len(p.theta))
	n := check.Rows("model", "x", len(x), sites)
	if w != nil {
		check.Len("model", "w", len(w), n)
	}
	return n
}

// owned returns a copy of the graph with weights of its own, and the number of
// the edge, in the order of Edges, that each entry belongs to.
func (g *Graph) owned() (*Graph, []int32) {
	own := *g
	own.weight = slices.Clone(g.weight)
	edge, next := make([]int32, len(g.adj)), slices.Clone(g.start)
	n := int32(0)
	for i := range g.upper {
		for k := g.upper[i]; k < g.start[i+1]; k++ {
			j := g.adj[k]
			edge[k], edge[next[j]] = n, n
			next[j]++
			n++
		}
	}
	return &own, edge
}

// upperWeights returns the weights of the edges, in the order of Edges, times c.
func (g *Graph) upperWeights(c float64) []float64 {
	var w []float64
	for e := range g.Edges() {
		w = append(w, c*e.W)
	}
	return w
}

// surprise returns −log p of level v at a site whose levels differ by
// h = E(1) − E(0), and its derivative by h, v − p(1).
func surprise(v int32, h float64) (r, nll float64) {
	p := simd.Sigmoid(-h)
	if v == 1 {
		return 1 - p, simd.Softplus(h)
	}
	return -p, simd.Softplus(-h)
}
