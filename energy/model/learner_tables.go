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

// independentLearner is an Independent with θ = w_i[l] for every allowed level.
type independentLearner struct {
	*Independent
	parameters
	exponential
	number []int32 // of the parameter of each log-weight, −1 for a forbidden level
}

// Learn implements [energy.Learnable]. The parameters are the log-weights, site by
// site, without those of forbidden levels, which stay forbidden. Adding a constant to
// the row of a site changes energies but no probability.
func (m *Independent) Learn() (energy.Parametric, error) {
	own := &Independent{levels: m.levels, costs: slices.Clone(m.costs), start: m.start}
	l := &independentLearner{Independent: own}
	l.theta, l.number = finite(make([]float64, 0, len(m.costs)), m.costs)
	return l, nil
}

// finite appends the log-weights of costs that are not +Inf to theta, and returns their
// numbers there, −1 for the others.
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

// SetParams implements [energy.Parametric].
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

// Factors returns false: the numbers change with SetParams.
func (l *independentLearner) Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool) {
	return nil, nil, nil, false
}

// ParamGradient implements [energy.Parametric].
func (l *independentLearner) ParamGradient(g []float64, x []int32, w []float64) {
	n := len(l.costs) / l.levels
	l.states(g, x, w, n)
	for at, v := range x {
		if p := l.number[at%n*l.levels+int(v)]; p >= 0 {
			g[p] -= weight(w, at/n)
		}
	}
}

// markovLearner is a Markov chain with θ the logits of its rows.
type markovLearner struct {
	*Markov
	parameters
	starts, moves []int32 // numbers of the parameters, −1 for what is forbidden
}

// Learn implements [energy.Learnable]. The parameters are logits of start and then of
// the rows of trans, initially log-probabilities. Entries of probability zero have no
// parameter. Rows are the softmax of their logits, so the chain stays normalised.
func (m *Markov) Learn() (energy.Parametric, error) {
	own := *m
	own.start, own.trans = slices.Clone(m.start), slices.Clone(m.trans)
	l := &markovLearner{Markov: &own}
	l.theta, l.starts = finite(make([]float64, 0, len(m.start)+len(m.trans)), m.start)
	l.theta, l.moves = finite(l.theta, m.trans)
	return l, nil
}

// SetParams implements [energy.Parametric].
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

// normalise stores −log softmax of the logits with the given numbers in costs.
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

// Factors returns false: the numbers change with SetParams.
func (l *markovLearner) Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool) {
	return nil, nil, nil, false
}

// ParamGradient implements [energy.Parametric]: how often a row was met times its
// probabilities, less how often each entry was.
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

// take subtracts by from the gradient of parameter p, unless p is negative.
func take(g []float64, p int32, by float64) {
	if p >= 0 {
		g[p] -= by
	}
}

// spend adds the probabilities of a row, times by, to the gradient.
func spend(g, costs []float64, number []int32, by float64) {
	for k, p := range number {
		if p >= 0 {
			g[p] += float64(by * simd.Exp(-costs[k]))
		}
	}
}

// rbmLearner is an RBM with θ = (W, b_h, b_v).
type rbmLearner struct {
	*RBM
	parameters
}

// Learn implements [energy.Learnable]. The parameters are W (hidden × visible), b_h
// and b_v, as for NewRBM; the model keeps them as float32.
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

// SetParams implements [energy.Parametric].
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

// Factors returns false: the numbers change with SetParams.
func (l *rbmLearner) Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool) {
	return nil, nil, nil, false
}

// ParamGradient implements [energy.Parametric]: −σ(a)vᵀ, −σ(a) and −v, the first as
// a product of matrices in float32.
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
