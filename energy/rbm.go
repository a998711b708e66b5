package energy

import (
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// RBM is a restricted Boltzmann machine over its visible units, the hidden ones
// summed out:
//
//	E(v) = −b_vᵀv − Σ_j log(1 + e^{a_j}),  a = b_h + W·v.
//
// It is [Differentiable] and [Binary] with the first-order field
// −b_v − Wᵀσ(a), [Incremental], [Conditional] and [Bipartite].
//
// The weights of a hidden unit, and the biases of the visible ones, are rounded
// once, by NewRBM, to multiples of 2^(e−52), where 2^e is the power of two above
// the sum of their magnitudes (that of the hidden bias included). Those above
// 2^(e−29) are multiples already. All sums for a and b_vᵀv are then exact in
// float64, in any order: they are functions of the state alone, however it was
// reached, and the same on every machine, and so are energies, which round a to
// float32 and are float64 from there. Fields add the products of Wᵀσ(a) in
// float32, and those of [Bipartite] those of W·v: they are reproducible for each
// instruction set. Conditional is the difference of two energies. An RBM is
// immutable and safe for concurrent use; its methods allocate nothing in steady
// state.
type RBM struct {
	w       []float32 // hidden × visible
	bias    struct{ hidden, visible []float32 }
	columns []float32 // visible × stride: Wᵀ, b_v, zeros
	origin  []float64 // of the state 0: b_h, 0, zeros
	zero    []int32   // the state 0
}

// NewRBM returns the machine with the weights w, len(bh)×len(bv) row-major (a
// row per hidden unit), and the biases of the hidden and visible units. It
// returns an error if there are no hidden or no visible units, if len(w) does
// not fit, if a number is not finite, or if an activation could overflow
// float32. It copies its arguments.
func NewRBM(w, bh, bv []float32) (*RBM, error) {
	hidden, visible := len(bh), len(bv)
	if hidden < 1 || visible < 1 {
		return nil, fmt.Errorf("energy: NewRBM: len(bh) = %d and len(bv) = %d, want both ≥ 1", hidden, visible)
	}
	if len(w)/visible != hidden || len(w)%visible != 0 {
		return nil, fmt.Errorf("energy: NewRBM: len(w) = %d, want len(bh)·len(bv) = %d", len(w), hidden*visible)
	}
	m := &RBM{w: slices.Clone(w), zero: make([]int32, visible)}
	m.bias.hidden, m.bias.visible = slices.Clone(bh), slices.Clone(bv)
	for _, c := range []struct {
		name string
		v    []float32
	}{{"w", w}, {"bh", bh}, {"bv", bv}} {
		for i, v := range c.v {
			if !finite(float64(v)) {
				return nil, fmt.Errorf("energy: NewRBM: %s[%d] = %v, want a finite number", c.name, i, v)
			}
		}
	}
	down := make([]float64, visible) // Σ_j |W_ji| + |b_v,i|, a bound on the field
	for i, b := range bv {
		down[i] = math.Abs(float64(b))
	}
	m.origin = make([]float64, (hidden/columnBlock+1)*columnBlock)
	m.columns = make([]float32, visible*len(m.origin))
	for j := range bh {
		row := m.w[j*visible : (j+1)*visible]
		sum := exactly(row, m.bias.hidden[j:j+1])
		for i, v := range row {
			down[i] += math.Abs(float64(v))
		}
		if sum > maxActivation {
			return nil, fmt.Errorf("energy: NewRBM: the weights of hidden unit %d add up to %v, want ≤ %v", j, sum, maxActivation)
		}
		m.origin[j] = float64(m.bias.hidden[j])
		m.fillColumn(j, row)
	}
	for i, sum := range down {
		if sum > maxActivation {
			return nil, fmt.Errorf("energy: NewRBM: the weights of visible unit %d add up to %v, want ≤ %v", i, sum, maxActivation)
		}
	}
	exactly(m.bias.visible, nil)
	m.fillColumn(hidden, m.bias.visible)
	return m, nil
}

// columnBlock is how many columns simd.AddRows adds at full speed.
const columnBlock = 64

// fillColumn stores what each visible unit adds to sum j of a state.
func (m *RBM) fillColumn(j int, v []float32) {
	for i, w := range v {
		m.columns[i*len(m.origin)+j] = w
	}
}

// exactly rounds the numbers of both slices to multiples of 2^(e−52), 2^e being
// above the sum of their magnitudes, which it returns. Every partial sum is then
// a multiple of 2^(e−52) below 2^(e+1): exact in float64. What is rounded stays
// exact in float32, since only its last bits vanish.
func exactly(v, w []float32) (sum float64) {
	for _, s := range [][]float32{v, w} {
		for _, x := range s {
			sum += math.Abs(float64(x))
		}
	}
	_, e := math.Frexp(sum)
	grid := math.Ldexp(1, e-52)
	for _, s := range [][]float32{v, w} {
		for i, x := range s {
			s[i] = float32(math.RoundToEven(float64(x)/grid) * grid)
		}
	}
	return sum
}

// maxActivation keeps sums of float32 terms finite whatever their rounding:
// half the largest float32.
const maxActivation = math.MaxFloat32 / 2

// tile is the number of states that share one matrix product: enough to use
// each weight many times, few enough for scratch of a few hundred kilobytes.
const tile = 128

// Shape returns the number of visible units and 2.
func (m *RBM) Shape() (sites, levels int) { return len(m.bias.visible), 2 }

// Hidden implements [Bipartite].
func (m *RBM) Hidden() int { return len(m.bias.hidden) }

// Energy implements [Model].
func (m *RBM) Energy(e []float64, x []int32) { m.evaluate(e, nil, nil, x, nil, nil) }

// Field implements [Binary] to first order: h = −b_v − Wᵀσ(a).
func (m *RBM) Field(e []float64, h []float32, x []int32) {
	states(x, len(m.bias.visible))
	checkLen("h", len(h), len(x))
	m.evaluate(e, h, nil, x, nil, nil)
}

// Gradient implements [Differentiable]: g[i,l] = (l − x_i)·h_i, with h from
// Field.
func (m *RBM) Gradient(e []float64, g []float32, x []int32) {
	states(x, len(m.bias.visible))
	checkLen("g", len(g), 2*len(x))
	m.evaluate(e, g[len(x):], nil, x, nil, nil)
	expandField(g, x)
}

// Conditional implements [Conditional] by evaluating both energies.
func (m *RBM) Conditional(d []float64, site int, x []int32) {
	checkLen("d", len(d), 2)
	checkLen("x", len(x), len(m.bias.visible))
	buf := int32s.get(2 * len(x))
	defer int32s.put(buf)
	both := *buf
	copy(both, x)
	copy(both[len(x):], x)
	both[site], both[len(x)+site] = 0, 1
	m.Energy(d, both)
	own := d[x[site]]
	d[0], d[1] = d[0]-own, d[1]-own
}

// HiddenField implements [Bipartite]: the log-odds are the activations a.
func (m *RBM) HiddenField(f []float32, x []int32) {
	n := states(x, len(m.bias.visible))
	checkLen("f", len(f), n*len(m.bias.hidden))
	project(f, x, m.bias.hidden, m.columns, len(m.origin))
}

// VisibleField implements [Bipartite]: the log-odds are b_v + Wᵀh.
func (m *RBM) VisibleField(f []float32, h []int32) {
	n := len(m.bias.hidden)
	if len(h)%n != 0 {
		panic(fmt.Sprintf("energy: len(h) = %d, want a multiple of %d", len(h), n))
	}
	checkLen("f", len(f), len(h)/n*len(m.bias.visible))
	project(f, h, m.bias.visible, m.w, len(m.bias.visible))
}

// CacheLen implements [Incremental]: the activations of the hidden units, b_vᵀv
// and padding.
func (m *RBM) CacheLen() int { return len(m.origin) }

// FieldFrom implements [Incremental]: a change of a site costs a pass over the
// activations, the field a matrix product.
func (m *RBM) FieldFrom(e []float64, h []float32, next []float64, y []int32, cache []float64, x []int32) {
	n := states(y, len(m.bias.visible))
	checkLen("h", len(h), len(y))
	checkLen("next", len(next), n*len(m.origin))
	if x != nil {
		checkLen("x", len(x), len(y))
		checkLen("cache", len(cache), len(next))
	}
	m.evaluate(e, h, next, y, cache, x)
}

// evaluate stores the energies of y in e and, unless they are nil, fields in h
// and caches in next. It begins from the states x with the given caches or, if x
// is nil, from 0.
func (m *RBM) evaluate(e []float64, h []float32, next []float64, y []int32, cache []float64, x []int32) {
	visible, hidden, stride := len(m.bias.visible), len(m.bias.hidden), len(m.origin)
	checkLen("e", len(e), states(y, visible))
	act, odds := float32s.get(stride), float32s.get(min(len(e), tile)*hidden)
	own, rows := float64s.get(stride), int32s.get(visible)
	defer float32s.put(act)
	defer float32s.put(odds)
	defer float64s.put(own)
	defer int32s.put(rows)
	old, from, to := m.zero, m.origin, *own
	for s := 0; s < len(e); s += tile {
		n := min(len(e)-s, tile)
		for k := range n {
			k := s + k
			if x != nil {
				old, from = x[k*visible:(k+1)*visible], cache[k*stride:(k+1)*stride]
			}
			if next != nil {
				to = next[k*stride : (k+1)*stride]
			}
			simd.AddRows(to, *act, from, m.columns, changes(*rows, y[k*visible:(k+1)*visible], old))
			e[k] = 0 - to[hidden] - simd.SoftplusSum((*act)[:hidden])
			if h != nil {
				simd.SigmoidTo((*odds)[(k-s)*hidden:(k-s+1)*hidden], (*act)[:hidden])
			}
		}
		if h != nil {
			h := h[s*visible : (s+n)*visible]
			spread(h, m.bias.visible)
			simd.Gemm(h, (*odds)[:n*hidden], m.w, n, visible, hidden)
			simd.Scale(-1, h)
		}
	}
}

// changes returns the sites where y is above x, and ^i for those below, in rows.
func changes(rows, y, x []int32) []int32 {
	n := 0
	for i, v := range y {
		d := v - x[i] // −1, 0 or 1
		rows[n] = int32(i) ^ d>>31
		n += int(d & 1)
	}
	return rows[:n]
}

// project stores bias + x·w in the rows of f, where a row of w has stride ≥
// len(bias) entries.
func project(f []float32, x []int32, bias, w []float32, stride int) {
	units := len(w) / stride
	buf, sums := float32s.get(tile*units), float32s.get(tile*stride)
	defer float32s.put(buf)
	defer float32s.put(sums)
	for ; len(x) > 0; x = x[min(len(x), tile*units):] {
		v := (*buf)[:min(len(x), tile*units)]
		for i := range v {
			v[i] = float32(x[i])
		}
		n := len(v) / units
		clear((*sums)[:n*stride])
		for k := range n {
			copy((*sums)[k*stride:], bias)
		}
		simd.Gemm((*sums)[:n*stride], v, w, n, stride, units)
		for k := range n {
			copy(f[:len(bias)], (*sums)[k*stride:])
			f = f[len(bias):]
		}
	}
}

// spread fills f with copies of row.
func spread(f, row []float32) {
	for ; len(f) > 0; f = f[len(row):] {
		copy(f, row)
	}
}
