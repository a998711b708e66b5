package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// The copies that learners own, one type per model: a model that nobody else
// has seen, inside, is rewritten in place, so that the views of it that kernels
// got through energy.As follow, and a step of learning allocates little.

// parameters holds θ as it was last set. The model itself may hold rounded values.
type parameters struct{ theta []float64 }

// Params returns a copy of the parameters θ; it implements [energy.Parametric].
func (p *parameters) Params() []float64 { return slices.Clone(p.theta) }

// check returns an error if an entry of theta is not finite. It panics if theta has the wrong
// length.
func (p *parameters) check(theta []float64) error {
	check.Len("model", "theta", len(theta), len(p.theta))
	for k, v := range theta {
		if !check.Finite(v) {
			return fmt.Errorf("model: SetParams: theta[%d] = %v, want a finite number", k, v)
		}
	}
	return nil
}

// exponential marks models whose energy is linear in θ; see dual/fit.
type exponential struct{}

// Exponential returns true, because the energy is linear in the parameters θ (an exponential
// family). ParamGradient therefore does not depend on θ. See fit.Exponential.
func (exponential) Exponential() bool { return true }

// weight returns the weight of state s, or 1 if w is nil.
func weight(w []float64, s int) float64 {
	if w == nil {
		return 1
	}
	return w[s]
}

// states panics if the arguments of ParamGradient have wrong lengths, and returns the number of
// states.
func (p *parameters) states(g []float64, x []int32, w []float64, sites int) int {
	check.Len("model", "g", len(g), len(p.theta))
	n := check.Rows("model", "x", len(x), sites)
	if w != nil {
		check.Len("model", "w", len(w), n)
	}
	return n
}

// owned returns a copy of the graph with its own slice of weights. It also returns, for each entry
// of adj, the index of its edge in the order of Edges.
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

// upperWeights returns the weights of the edges, in the order of Edges, multiplied by c.
func (g *Graph) upperWeights(c float64) []float64 {
	var w []float64
	for e := range g.Edges() {
		w = append(w, c*e.W)
	}
	return w
}

// surprise returns nll = −log p(v), where v is the level of a site with h = E(1) − E(0). r = v −
// p(1) is the derivative of nll by h.
func surprise(v int32, h float64) (r, nll float64) {
	p := simd.Sigmoid(-h)
	if v == 1 {
		return 1 - p, simd.Softplus(h)
	}
	return -p, simd.Softplus(-h)
}

// quadraticLearner is a Quadratic with parameters θ: the couplings A_ij, the linear terms b_i and,
// with more than two levels, the diagonal Q_ii.
type quadraticLearner struct {
	*Quadratic
	parameters
	exponential
	pairs int     // number of couplings in θ
	graph *Graph  // graph of a sparse matrix; nil for a dense one
	edge  []int32 // for each entry of graph, the index of its edge
}

// Learn returns a copy of the Quadratic whose parameters can change. It implements
// [energy.Learnable]. For n sites with the energy vᵀQv + bᵀv + c, the parameters are, in this
// order,
//
//   - the couplings Q_ij + Q_ji for i < j: all n(n−1)/2 couplings of a dense matrix, row by row, or
//     the couplings of the given entries of a sparse matrix;
//   - the linear terms b_i;
//   - with more than two levels, the diagonal Q_ii. With two levels the diagonal has the same
//     effect as b_i and does not change.
func (m *Quadratic) Learn() (energy.Parametric, error) {
	own := *m
	own.learned = true
	own.linear, own.square = slices.Clone(m.linear), slices.Clone(m.square)
	l := &quadraticLearner{Quadratic: &own}
	n := len(m.linear)
	switch a := m.couplings.(type) {
	case sparse:
		l.graph, l.edge = a.graph.owned()
		own.couplings = sparse{l.graph}
		l.theta = a.graph.upperWeights(1)
	case dense:
		d := newDense(slices.Clone(a.rows), n)
		own.couplings = d
		if m.fast != nil {
			own.fast = newForces(d)
		}
		for i := range n {
			l.theta = append(l.theta, a.rows[i*n+i+1:(i+1)*n]...)
		}
	}
	l.pairs = len(l.theta)
	l.theta = append(l.theta, own.linear...)
	if len(m.values) > 2 {
		l.theta = append(l.theta, own.square...)
	}
	if own.fast != nil {
		return denseLearner{l}, nil
	}
	return l, nil
}

// SetParams replaces the parameters θ; it implements [energy.Parametric]. It returns an error if a
// number is not finite or energies would overflow.
func (l *quadraticLearner) SetParams(theta []float64) error {
	if err := l.check(theta); err != nil {
		return err
	}
	sum, largest := 0.0, 0.0
	for _, v := range l.values {
		largest = max(largest, v, -v)
	}
	for _, v := range theta[:l.pairs] {
		sum += 2 * math.Abs(v)
	}
	for _, v := range theta[l.pairs:] {
		sum += math.Abs(v)
	}
	if !check.Finite(4 * float64(max(1, largest*largest)*sum)) {
		return fmt.Errorf("model: SetParams: the parameters add up to %v, energies would overflow", sum)
	}
	copy(l.theta, theta)
	n := len(l.linear)
	if l.graph != nil {
		for k, e := range l.edge {
			l.graph.weight[k] = theta[e]
		}
	} else if a, ok := l.couplings.(dense); ok {
		k := 0
		for i := range n {
			for j := i + 1; j < n; j++ {
				a.rows[i*n+j], a.rows[j*n+i] = theta[k], theta[k]
				k++
			}
		}
		if l.fast != nil {
			l.fast.set(a)
		}
	}
	copy(l.linear, theta[l.pairs:])
	if len(l.values) > 2 {
		copy(l.square, theta[l.pairs+n:])
	}
	return nil
}

// gradientBatch is the number of states that one matrix product sums in float32, in which counts up
// to 2²⁴ are exact.
const gradientBatch = 1024

// Present returns a view of the model with the current parameters θ. The view is [energy.Factored]
// and is valid until the next call of SetParams. Present implements fit.Factored.
func (l *quadraticLearner) Present() energy.Factored {
	own := *l.Quadratic
	own.learned = false
	return &own
}

// ParamGradient adds to g the gradient of the energy with respect to the parameters θ, summed over
// the states x with weights w. For a dense matrix, the sums over the states of w·v_i·v_j, where v_i
// is the value at site i, are computed as matrix products in float32. It implements
// [energy.Parametric].
func (l *quadraticLearner) ParamGradient(g []float64, x []int32, w []float64) {
	n := len(l.linear)
	states := l.states(g, x, w, n)
	for s := range states {
		state, c := x[s*n:(s+1)*n], weight(w, s)
		e := 0
		for i, at := range state {
			v := float64(c * l.values[at])
			g[l.pairs+i] += v
			if len(l.values) > 2 {
				g[l.pairs+n+i] += float64(v * l.values[at])
			}
			if l.graph == nil {
				continue
			}
			for k := l.graph.upper[i]; k < l.graph.start[i+1]; k++ {
				g[e] += float64(v * l.values[state[l.graph.adj[k]]])
				e++
			}
		}
	}
	if l.graph != nil {
		return
	}
	for ; len(x) > 0; x = x[min(len(x), gradientBatch*n):] {
		part := x[:min(len(x), gradientBatch*n)]
		k := len(part) / n
		v, left := scratch.Float32s.Get(len(part)), scratch.Float32s.Get(len(part))
		for s := range k {
			c := weight(w, s)
			for i, at := range part[s*n : (s+1)*n] {
				(*v)[s*n+i] = l.numbers[at]
				(*left)[i*k+s] = float32(c * l.values[at])
			}
		}
		l.addPairs(g, *left, *v, k, 0.5)
		scratch.Float32s.Put(v)
		scratch.Float32s.Put(left)
		if w != nil {
			w = w[k:]
		}
	}
}

// addPairs adds scale·(C_ij + C_ji) to the gradient of A_ij, where C = left·right. left is n × k
// and right is k × n.
func (l *quadraticLearner) addPairs(g []float64, left, right []float32, k int, scale float64) {
	n := len(l.linear)
	c := scratch.Float32s.Get(n * n)
	defer scratch.Float32s.Put(c)
	clear(*c)
	simd.Gemm(*c, left, right, n, n, k)
	const strip = 16 // columns of the transpose that share cache lines
	for from := 0; from < n; from += strip {
		for i := range min(n, from+strip) {
			at := i*n - i*(i+1)/2 - 1 // the pair (i, j) has the index at − i + j
			for j := max(from, i+1); j < min(n, from+strip); j++ {
				g[at-i+j] += float64(scale * (float64((*c)[i*n+j]) + float64((*c)[j*n+i])))
			}
		}
	}
}

// denseLearner is a quadraticLearner with dense couplings and two levels. It also computes the
// gradient of its pseudo-likelihood.
type denseLearner struct{ *quadraticLearner }

// PseudoGradient adds to g the gradient of the negative log-pseudo-likelihood of the states x,
//
//	Σ_x Σ_i −log p(x_i | the other sites),
//
// and returns that sum (see package dual/fit). The gradient of one state is d·(r_i v_j + r_j v_i)
// for the coupling of sites i and j, and d·r_i for b_i. Here r_i = x_i − p(x_i = 1 | the other
// sites), and v_i is the numeric value at site i. The number d is the value of level 1 minus the
// value of level 0.
func (l denseLearner) PseudoGradient(g []float64, x []int32) float64 {
	n := len(l.linear)
	l.states(g, x, nil, n)
	step, sum := l.values[1]-l.values[0], 0.0
	a, offset := make([]float32, n*n), make([]float32, n)
	if d, ok := l.couplings.(dense); ok {
		for i, w := range d.rows {
			a[i] = float32(w)
		}
	}
	for i := range offset {
		offset[i] = float32(float64(l.square[i]*(l.values[0]+l.values[1])) + l.linear[i])
	}
	for ; len(x) > 0; x = x[min(len(x), gradientBatch*n):] {
		part := x[:min(len(x), gradientBatch*n)]
		k := len(part) / n
		z, r := scratch.Float32s.Get(len(part)), scratch.Float32s.Get(len(part))
		v := scratch.Float32s.Get(len(part))
		for i, at := range part {
			(*v)[i] = l.numbers[at]
		}
		// z = h_i·(2x_i − 1) is the energy of the site's level relative to the other level. The
		// surprise is log(1 + e^z), and r = (2x_i − 1)·σ(z).
		spread(*z, offset)
		simd.Gemm(*z, *v, a, k, n, n)
		for i, at := range part {
			(*z)[i] *= float32(step) * float32(2*at-1)
		}
		sum += simd.SoftplusSum(*z)
		simd.SigmoidTo(*z, *z)
		for s := range k {
			for i, at := range part[s*n : (s+1)*n] {
				d := (*z)[s*n+i] * float32(2*at-1)
				g[l.pairs+i] += float64(step * float64(d))
				(*r)[i*k+s] = d
			}
		}
		l.addPairs(g, *r, *v, k, step)
		scratch.Float32s.Put(z)
		scratch.Float32s.Put(r)
		scratch.Float32s.Put(v)
	}
	return sum
}

// isingLearner is an Ising model with parameters θ: a coupling J_e per edge and a field h_i per
// site.
type isingLearner struct {
	*Ising
	parameters
	exponential
	graph *Graph
	edge  []int32
}

// Learn returns a copy of the Ising model whose parameters can change. It implements
// [energy.Learnable]. The parameters are a coupling J_e for each edge e = ij, in the order of
// Graph.Edges, followed by a field h_i for each site:
//
//	E(s) = −Σ_e J_e s_i s_j − Σ_i h_i s_i.
//
// Initially J_e is the coupling of the model times the weight of the edge.
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

// SetParams replaces the parameters θ; it implements [energy.Parametric]. It returns an error if a
// number is not finite or energies would overflow.
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

// Matching returns ok = false. An [energy.Matching] model needs the same coupling on all edges, and
// couplings that are equal now may differ after SetParams.
func (l *isingLearner) Matching() (coupling float64, field []float64, ok bool) { return 0, nil, false }

// Pairs returns ok = false, because the weights of the pairs of sites change with SetParams.
func (l *isingLearner) Pairs() (start, adj []int32, weight, field []float64, ok bool) {
	return nil, nil, nil, nil, false
}

// Factors returns ok = false, because the tables of the factors change with SetParams. For the
// factors at the current parameters, see Present.
func (l *isingLearner) Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool) {
	return nil, nil, nil, false
}

// Present returns a view of the model with the current parameters θ. The view is [energy.Factored]
// and is valid until the next call of SetParams. Present implements fit.Factored.
func (l *isingLearner) Present() energy.Factored { return l.Ising }

// ParamGradient adds to g the gradient of the energy with respect to the parameters θ, summed over
// the states x with weights w. It implements [energy.Parametric].
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

// PseudoGradient adds to g the gradient of the negative log-pseudo-likelihood of the states x,
//
//	Σ_x Σ_i −log p(x_i | the other sites),
//
// and returns that sum (see package dual/fit).
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

// pottsLearner is a Potts model with parameters θ: a coupling J_e per edge and a field h_l per
// level.
type pottsLearner struct {
	*Potts
	parameters
	exponential
	edge []int32
}

// Learn returns a copy of the Potts model whose parameters can change. The parameters are a
// coupling for each edge, in the order of Graph.Edges, followed by the field of each level.
// Initially the coupling of an edge is the coupling of the model times the weight of the edge.
// Learn implements [energy.Learnable].
func (m *Potts) Learn() (energy.Parametric, error) {
	own, edge := m.topology.owned()
	l := &pottsLearner{Potts: &Potts{topology: own, graph: own, levels: m.levels, coupling: 1, field: slices.Clone(m.field)}, edge: edge}
	l.theta = append(m.topology.upperWeights(m.coupling), m.field...)
	return l, l.SetParams(l.theta)
}

// SetParams replaces the parameters θ; it implements [energy.Parametric]. It returns an error if a
// number is not finite or energies would overflow.
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

// Matching returns ok = false. An [energy.Matching] model needs the same coupling on all edges, and
// couplings that are equal now may differ after SetParams.
func (l *pottsLearner) Matching() (coupling float64, field []float64, ok bool) { return 0, nil, false }

// Factors returns ok = false, because the tables of the factors change with SetParams. For the
// factors at the current parameters, see Present.
func (l *pottsLearner) Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool) {
	return nil, nil, nil, false
}

// Present returns a view of the model with the current parameters θ. The view is [energy.Factored]
// and is valid until the next call of SetParams. Present implements fit.Factored.
func (l *pottsLearner) Present() energy.Factored { return l.Potts }

// ParamGradient adds to g the gradient of the energy with respect to the parameters θ, summed over
// the states x with weights w. It implements [energy.Parametric].
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

// independentLearner is an Independent whose parameters θ are the log-weights w_i[l] of all allowed
// levels.
type independentLearner struct {
	*Independent
	parameters
	exponential
	number []int32 // index in θ of each log-weight; −1 for a forbidden level
}

// Learn returns a copy of the Independent model whose parameters can change. The parameters are the
// log-weights, site by site. Forbidden levels have no parameter and stay forbidden. Adding a
// constant to all log-weights of a site changes energies but no probability. It implements
// [energy.Learnable].
func (m *Independent) Learn() (energy.Parametric, error) {
	own := &Independent{levels: m.levels, costs: slices.Clone(m.costs), start: m.start}
	l := &independentLearner{Independent: own}
	l.theta, l.number = finite(make([]float64, 0, len(m.costs)), m.costs)
	return l, nil
}

// finite appends −c to theta for every finite entry c of costs. It returns theta and, for each
// entry of costs, its index in theta, or −1 if the entry is +Inf.
func finite(theta, costs []float64) ([]float64, []int32) {
	number := make([]int32, len(costs))
	for k, c := range costs {
		number[k] = -1
		if !math.IsInf(c, 1) {
			number[k] = int32(len(theta))
			theta = append(theta, 0-c)
		}
	}
	return theta, number
}

// SetParams replaces the parameters θ; it implements [energy.Parametric]. It returns an error if a
// number is not finite or energies would overflow.
func (l *independentLearner) SetParams(theta []float64) error {
	if err := l.check(theta); err != nil {
		return err
	}
	sum := 0.0
	for _, v := range theta {
		sum += math.Abs(v)
	}
	if !check.Finite(2 * sum) {
		return fmt.Errorf("model: SetParams: the log-weights add up to %v, energies would overflow", sum)
	}
	copy(l.theta, theta)
	for k, p := range l.number {
		if p >= 0 {
			l.costs[k] = 0 - theta[p]
		}
	}
	return nil
}

// Factors returns ok = false, because the tables of the factors change with SetParams. For the
// factors at the current parameters, see Present.
func (l *independentLearner) Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool) {
	return nil, nil, nil, false
}

// Present returns a view of the model with the current parameters θ. The view is [energy.Factored]
// and is valid until the next call of SetParams. Present implements fit.Factored.
func (l *independentLearner) Present() energy.Factored { return l.Independent }

// ParamGradient adds to g the gradient of the energy with respect to the parameters θ, summed over
// the states x with weights w. It implements [energy.Parametric].
func (l *independentLearner) ParamGradient(g []float64, x []int32, w []float64) {
	n := len(l.costs) / l.levels
	l.states(g, x, w, n)
	for at, v := range x {
		if p := l.number[at%n*l.levels+int(v)]; p >= 0 {
			g[p] -= weight(w, at/n)
		}
	}
}

// markovLearner is a Markov chain whose parameters θ are the logits of its rows.
type markovLearner struct {
	*Markov
	parameters
	// Index in θ of each entry of start and of trans; −1 for an entry of probability zero.
	starts, moves []int32
}

// Learn returns a copy of the Markov chain whose parameters can change. The parameters are logits,
// in the order of the tables start and trans of [NewMarkov]. Initially they are log-probabilities.
// Entries of probability zero have no parameter. Every row is the softmax of its logits, so the
// chain stays normalised. It implements [energy.Learnable].
func (m *Markov) Learn() (energy.Parametric, error) {
	own := *m
	own.start, own.trans = slices.Clone(m.start), slices.Clone(m.trans)
	l := &markovLearner{Markov: &own}
	l.theta, l.starts = finite(make([]float64, 0, len(m.start)+len(m.trans)), m.start)
	l.theta, l.moves = finite(l.theta, m.trans)
	return l, nil
}

// SetParams replaces the parameters θ and computes the normalised rows of probabilities from them.
// It returns an error if a number is not finite. It implements [energy.Parametric].
func (l *markovLearner) SetParams(theta []float64) error {
	if err := l.check(theta); err != nil {
		return err
	}
	copy(l.theta, theta)
	normalise(l.start, theta, l.starts)
	for r := 0; r < len(l.trans); r += l.levels {
		normalise(l.trans[r:r+l.levels], theta, l.moves[r:r+l.levels])
	}
	return nil
}

// normalise stores in costs the negative log-softmax of a row of logits. The logit of entry k is
// theta[number[k]]; entries with number[k] = −1 are left unchanged.
func normalise(costs, theta []float64, number []int32) {
	top := math.Inf(-1)
	for _, p := range number {
		if p >= 0 {
			top = max(top, theta[p])
		}
	}
	sum := 0.0
	for _, p := range number {
		if p >= 0 {
			sum += simd.Exp(theta[p] - top)
		}
	}
	for k, p := range number {
		if p >= 0 {
			costs[k] = simd.Log(sum) - (theta[p] - top)
		}
	}
}

// Factors returns ok = false, because the tables of the factors change with SetParams. For the
// factors at the current parameters, see Present.
func (l *markovLearner) Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool) {
	return nil, nil, nil, false
}

// Present returns a view of the model with the current parameters θ. The view is [energy.Factored]
// and is valid until the next call of SetParams. Present implements fit.Factored.
func (l *markovLearner) Present() energy.Factored { return l.Markov }

// ParamGradient adds to g the gradient of the energy with respect to the parameters θ, summed over
// the states x with weights w. Consider a transition to a level l after a context of previous
// levels, with probability p. If the context occurs r times in a state, and l follows it c times,
// the gradient for this transition is p·r − c. It implements [energy.Parametric].
func (l *markovLearner) ParamGradient(g []float64, x []int32, w []float64) {
	l.states(g, x, w, l.sites)
	met := scratch.Float64s.Get(len(l.trans)/l.levels + 1)
	defer scratch.Float64s.Put(met)
	clear(*met)
	begun := &(*met)[len(*met)-1]
	for s := 0; s*l.sites < len(x); s++ {
		state, by := x[s*l.sites:(s+1)*l.sites], weight(w, s)
		c := 0
		for _, v := range state[:l.order] {
			c = c*l.levels + int(v)
		}
		*begun += by
		take(g, l.starts[c], by)
		for _, v := range state[l.order:] {
			(*met)[c] += by
			f := c*l.levels + int(v)
			take(g, l.moves[f], by)
			c = f % l.pow[l.order]
		}
	}
	spend(g, l.start, l.starts, *begun)
	for r, by := range (*met)[:len(*met)-1] {
		if by != 0 {
			spend(g, l.trans[r*l.levels:(r+1)*l.levels], l.moves[r*l.levels:(r+1)*l.levels], by)
		}
	}
}

// take subtracts by from the gradient of parameter p; it does nothing if p is negative.
func take(g []float64, p int32, by float64) {
	if p >= 0 {
		g[p] -= by
	}
}

// spend adds the probabilities of a row, multiplied by by, to the gradient of its parameters.
func spend(g, costs []float64, number []int32, by float64) {
	for k, p := range number {
		if p >= 0 {
			g[p] += float64(by * simd.Exp(-costs[k]))
		}
	}
}

// rbmLearner is an RBM whose parameters θ are W, b_h and b_v.
type rbmLearner struct {
	*RBM
	parameters
}

// Learn returns a copy of the RBM whose parameters can change; it implements [energy.Learnable].
// The parameters are the weights W, the hidden biases b_h and the visible biases b_v, in the layout
// of [NewRBM]. The model stores them as float32.
func (m *RBM) Learn() (energy.Parametric, error) {
	own := *m
	l := &rbmLearner{RBM: &own}
	for _, v := range [][]float32{m.w, m.bias.hidden, m.bias.visible} {
		for _, w := range v {
			l.theta = append(l.theta, float64(w))
		}
	}
	return l, nil
}

// SetParams replaces the parameters θ; it implements [energy.Parametric]. It returns an error if a
// number is not finite or an activation could overflow.
func (l *rbmLearner) SetParams(theta []float64) error {
	if err := l.check(theta); err != nil {
		return err
	}
	v := make([]float32, len(theta))
	for k, t := range theta {
		v[k] = float32(t)
	}
	weights, hidden := len(l.w), len(l.bias.hidden)
	m, err := NewRBM(v[:weights], v[weights:weights+hidden], v[weights+hidden:])
	if err != nil {
		return fmt.Errorf("model: SetParams: %w", err)
	}
	copy(l.theta, theta)
	*l.RBM = *m
	return nil
}

// Factors returns ok = false, because the tables of the factors change with SetParams.
func (l *rbmLearner) Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool) {
	return nil, nil, nil, false
}

// ParamGradient adds to g the gradient of the energy with respect to the parameters θ, summed over
// the states x with weights w. For a visible state v, the gradient is −σ(a)vᵀ for the weights W,
// −σ(a) for the hidden biases b_h and −v for the visible biases. Here σ is the logistic function
// and a = b_h + W·v. The product σ(a)vᵀ is computed in float32. ParamGradient implements
// [energy.Parametric].
func (l *rbmLearner) ParamGradient(g []float64, x []int32, w []float64) {
	visible, hidden := len(l.bias.visible), len(l.bias.hidden)
	l.states(g, x, w, visible)
	weights := len(l.w)
	gw, gh, gv := g[:weights], g[weights:weights+hidden], g[weights+hidden:]
	sum := scratch.Float32s.Get(weights)
	defer scratch.Float32s.Put(sum)
	for ; len(x) > 0; x = x[min(len(x), gradientBatch*visible):] {
		part := x[:min(len(x), gradientBatch*visible)]
		k := len(part) / visible
		f, t, v := scratch.Float32s.Get(k*hidden), scratch.Float32s.Get(k*hidden), scratch.Float32s.Get(len(part))
		l.HiddenField(*f, part)
		simd.SigmoidTo(*f, *f)
		for s := range k {
			c := weight(w, s)
			for j, p := range (*f)[s*hidden : (s+1)*hidden] {
				q := float64(c * float64(p))
				gh[j] -= q
				(*t)[j*k+s] = float32(q)
			}
			for i, on := range part[s*visible : (s+1)*visible] {
				(*v)[s*visible+i] = float32(on)
				if on != 0 {
					gv[i] -= c
				}
			}
		}
		clear(*sum)
		simd.Gemm(*sum, *t, *v, hidden, visible, k)
		for i, q := range *sum {
			gw[i] -= float64(q)
		}
		scratch.Float32s.Put(f)
		scratch.Float32s.Put(t)
		scratch.Float32s.Put(v)
		if w != nil {
			w = w[k:]
		}
	}
}
