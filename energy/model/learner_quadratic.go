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

// quadraticLearner is a Quadratic with θ = (A_ij, b_i, and Q_ii with more than two
// levels).
type quadraticLearner struct {
	*Quadratic
	parameters
	exponential
	pairs int     // number of couplings
	graph *Graph  // of a sparse matrix, else nil
	edge  []int32 // of the graph
}

// Learn implements [energy.Learnable]. The parameters are, in this order, the couplings
// A_ij = Q_ij + Q_ji, i < j (all n(n−1)/2 of a dense matrix, row by row; those of the
// given entries of a sparse one); b_i; and, with more than two levels, Q_ii. (With two
// levels Q_ii is redundant with b_i, and fixed.)
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

// SetParams implements [energy.Parametric].
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

// gradientBatch is how many states a product of matrices adds up in float32, in
// which counts of up to 2²⁴ are exact.
const gradientBatch = 1024

// ParamGradient implements [energy.Parametric]. The second moments of a dense
// matrix are products of matrices in float32.
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

// addPairs adds scale·(C_ij + C_ji) to the gradient of A_ij, where C = left·right,
// left of n × k and right of k × n.
func (l *quadraticLearner) addPairs(g []float64, left, right []float32, k int, scale float64) {
	n := len(l.linear)
	c := scratch.Float32s.Get(n * n)
	defer scratch.Float32s.Put(c)
	clear(*c)
	simd.Gemm(*c, left, right, n, n, k)
	const strip = 16 // columns of the transpose that share cache lines
	for from := 0; from < n; from += strip {
		for i := range min(n, from+strip) {
			at := i*n - i*(i+1)/2 - 1 // of pair (i, 0), had it one
			for j := max(from, i+1); j < min(n, from+strip); j++ {
				g[at-i+j] += float64(scale * (float64((*c)[i*n+j]) + float64((*c)[j*n+i])))
			}
		}
	}
}

// denseLearner is a quadraticLearner with dense couplings of two levels, which knows
// the gradient of its pseudo-likelihood.
type denseLearner struct{ *quadraticLearner }

// PseudoGradient adds to g the gradient of Σ_s Σ_i −log p(x_i | the other sites)
// and returns that sum; see dual/fit. With r_i = x_i − p(x_i = 1 | the others) it is
// (v_1 − v_0)·(r_i v_j + r_j v_i) for A_ij and (v_1 − v_0)·r_i for b_i.
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
		// z = h_i·(2x_i − 1): what the site gains by its level, so that its surprise
		// is log(1 + e^z) and r = (2x_i − 1)·σ(z).
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
