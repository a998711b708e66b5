package model

import (
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// isingLearner is an Ising model with θ = (J_e for every edge, h_i for every site).
type isingLearner struct {
	*Ising
	parameters
	exponential
	graph *Graph
	edge  []int32
}

// Learn implements [energy.Learnable]. The parameters are a coupling per edge of
// the topology, J·w_ij at first, in the order of Graph.Edges, and a field per site:
//
//	E(s) = −Σ_e J_e s_i s_j − Σ_i h_i s_i.
func (m *Ising) Learn() (energy.Parametric, error) {
	topology := m.topology.graph()
	own, edge := topology.owned()
	b := given(own)
	l := &isingLearner{
		Ising: &Ising{sites: own.Sites(), topology: b, bonds: b, coupling: 1, fields: make([]float64, own.Sites())},
		graph: own, edge: edge,
	}
	l.theta = topology.upperWeights(m.coupling)
	for i := range l.fields {
		l.theta = append(l.theta, m.fieldAt(i))
	}
	return l, l.SetParams(l.theta)
}

// SetParams implements [energy.Parametric].
func (l *isingLearner) SetParams(theta []float64) error {
	if err := l.check(theta); err != nil {
		return err
	}
	l.set(theta)
	if err := l.checkRange("SetParams"); err != nil {
		l.set(l.theta)
		return err
	}
	copy(l.theta, theta)
	return nil
}

func (l *isingLearner) set(theta []float64) {
	for k, e := range l.edge {
		l.graph.weight[k] = theta[e]
	}
	copy(l.fields, theta[len(l.edge)/2:])
}

// Matching returns false: what is equal now may differ after SetParams.
func (l *isingLearner) Matching() (coupling float64, field []float64, ok bool) { return 0, nil, false }

// Pairs returns false: the numbers change with SetParams.
func (l *isingLearner) Pairs() (start, adj []int32, weight, field []float64, ok bool) {
	return nil, nil, nil, nil, false
}

// Factors returns false: the numbers change with SetParams.
func (l *isingLearner) Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool) {
	return nil, nil, nil, false
}

// ParamGradient implements [energy.Parametric].
func (l *isingLearner) ParamGradient(g []float64, x []int32, w []float64) {
	n := l.graph.Sites()
	states := l.states(g, x, w, n)
	fields := g[len(l.edge)/2:]
	for s := range states {
		state, c := x[s*n:(s+1)*n], weight(w, s)
		e := 0
		for i, v := range state {
			spin := float64(c * float64(2*v-1))
			fields[i] -= spin
			for k := l.graph.upper[i]; k < l.graph.start[i+1]; k++ {
				g[e] -= float64(spin * float64(2*state[l.graph.adj[k]]-1))
				e++
			}
		}
	}
}

// PseudoGradient adds to g the gradient of Σ_s Σ_i −log p(x_i | the other sites)
// and returns that sum; see dual/fit.
func (l *isingLearner) PseudoGradient(g []float64, x []int32) float64 {
	n := l.graph.Sites()
	states := l.states(g, x, nil, n)
	fields, sum := g[len(l.edge)/2:], 0.0
	for s := range states {
		state := x[s*n : (s+1)*n]
		for i, v := range state {
			r, nll := surprise(v, l.difference(l.spinsAt(i, state), i))
			sum += nll
			fields[i] -= 2 * r
			for k := l.graph.start[i]; k < l.graph.start[i+1]; k++ {
				g[l.edge[k]] -= float64(2 * r * float64(2*state[l.graph.adj[k]]-1))
			}
		}
	}
	return sum
}

// pottsLearner is a Potts model with θ = (J_e for every edge, h_l for every level).
type pottsLearner struct {
	*Potts
	parameters
	exponential
	edge []int32
}

// Learn implements [energy.Learnable]. The parameters are a coupling per edge of
// the topology, J·w_ij at first, in the order of Graph.Edges, and the fields of the
// levels.
func (m *Potts) Learn() (energy.Parametric, error) {
	own, edge := m.topology.owned()
	l := &pottsLearner{Potts: &Potts{topology: own, graph: own, levels: m.levels, coupling: 1, field: slices.Clone(m.field)}, edge: edge}
	l.theta = append(m.topology.upperWeights(m.coupling), m.field...)
	return l, l.SetParams(l.theta)
}

// SetParams implements [energy.Parametric].
func (l *pottsLearner) SetParams(theta []float64) error {
	if err := l.check(theta); err != nil {
		return err
	}
	edges, sum, largest := len(l.edge)/2, 0.0, 0.0
	for _, v := range theta[:edges] {
		sum += max(v, -v)
	}
	for _, v := range theta[edges:] {
		largest = max(largest, v, -v)
	}
	if !check.Finite(4 * (sum + float64(largest*float64(l.graph.Sites())))) {
		return fmt.Errorf("model: SetParams: the parameters add up to %v, energies would overflow", sum)
	}
	for k, e := range l.edge {
		l.graph.weight[k] = theta[e]
	}
	copy(l.field, theta[edges:])
	copy(l.theta, theta)
	return nil
}

// Matching returns false: see isingLearner.
func (l *pottsLearner) Matching() (coupling float64, field []float64, ok bool) { return 0, nil, false }

// Factors returns false: the numbers change with SetParams.
func (l *pottsLearner) Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool) {
	return nil, nil, nil, false
}

// ParamGradient implements [energy.Parametric].
func (l *pottsLearner) ParamGradient(g []float64, x []int32, w []float64) {
	n := l.graph.Sites()
	states := l.states(g, x, w, n)
	fields := g[len(l.edge)/2:]
	for s := range states {
		state, c := x[s*n:(s+1)*n], weight(w, s)
		e := 0
		for i, v := range state {
			fields[v] -= c
			for k := l.graph.upper[i]; k < l.graph.start[i+1]; k++ {
				if state[l.graph.adj[k]] == v {
					g[e] -= c
				}
				e++
			}
		}
	}
}
