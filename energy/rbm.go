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
// −b_v − Wᵀσ(a), [Conditional] and [Bipartite].
//
// The activations a are float32 sums of the matrix kernels, so that energies
// carry their rounding, about 1e-7 of Σ|W| per hidden unit, and are
// reproducible for each instruction set; the rest is float64. Conditional is
// the difference of two such energies, not of ideal ones, and hence agrees with
// Energy. An RBM is immutable and safe for concurrent use; its methods allocate
// nothing in steady state.
type RBM struct {
	w    []float32 // hidden × visible
	wt   []float32 // visible × hidden
	bias struct{ hidden, visible []float32 }
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
	m := &RBM{w: slices.Clone(w), wt: make([]float32, len(w))}
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
	for j, b := range bh {
		sum := math.Abs(float64(b))
		for i, v := range w[j*visible : (j+1)*visible] {
			m.wt[i*hidden+j] = v
			sum += math.Abs(float64(v))
			down[i] += math.Abs(float64(v))
		}
		if sum > maxActivation {
			return nil, fmt.Errorf("energy: NewRBM: the weights of hidden unit %d add up to %v, want ≤ %v", j, sum, maxActivation)
		}
	}
	for i, sum := range down {
		if sum > maxActivation {
			return nil, fmt.Errorf("energy: NewRBM: the weights of visible unit %d add up to %v, want ≤ %v", i, sum, maxActivation)
		}
	}
	return m, nil
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
func (m *RBM) Energy(e []float64, x []int32) { m.evaluate(e, nil, x) }

// Field implements [Binary] to first order: h = −b_v − Wᵀσ(a).
func (m *RBM) Field(e []float64, h []float32, x []int32) {
	states(x, len(m.bias.visible))
	checkLen("h", len(h), len(x))
	m.evaluate(e, h, x)
}

// Gradient implements [Differentiable]: g[i,l] = (l − x_i)·h_i, with h from
// Field.
func (m *RBM) Gradient(e []float64, g []float32, x []int32) {
	states(x, len(m.bias.visible))
	checkLen("g", len(g), 2*len(x))
	m.evaluate(e, g[len(x):], x)
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
	project(f, x, m.bias.hidden, m.wt)
}

// VisibleField implements [Bipartite]: the log-odds are b_v + Wᵀh.
func (m *RBM) VisibleField(f []float32, h []int32) {
	n := len(m.bias.hidden)
	if len(h)%n != 0 {
		panic(fmt.Sprintf("energy: len(h) = %d, want a multiple of %d", len(h), n))
	}
	checkLen("f", len(f), len(h)/n*len(m.bias.visible))
	project(f, h, m.bias.visible, m.w)
}

// evaluate stores the energies in e and, unless h is nil, the field in h.
func (m *RBM) evaluate(e []float64, h []float32, x []int32) {
	visible, hidden := len(m.bias.visible), len(m.bias.hidden)
	checkLen("e", len(e), states(x, visible))
	buf := float32s.get(min(len(e), tile) * hidden)
	defer float32s.put(buf)
	for s := 0; s < len(e); s += tile {
		n := min(len(e)-s, tile)
		a, x := (*buf)[:n*hidden], x[s*visible:(s+n)*visible]
		project(a, x, m.bias.hidden, m.wt)
		for k := range n {
			e[s+k] = 0 - m.pull(x[k*visible:(k+1)*visible]) - simd.SoftplusSum(a[k*hidden:(k+1)*hidden])
		}
		if h == nil {
			continue
		}
		h := h[s*visible : (s+n)*visible]
		simd.SigmoidTo(a, a)
		spread(h, m.bias.visible)
		simd.Gemm(h, a, m.w, n, visible, hidden)
		simd.Scale(-1, h)
	}
}

// pull returns b_vᵀv.
func (m *RBM) pull(v []int32) float64 {
	sum := 0.0
	for i, b := range m.bias.visible {
		sum += float64(float64(b) * float64(v[i]))
	}
	return sum
}

// project stores bias + x·w in the rows of f, w being units × len(bias).
func project(f []float32, x []int32, bias, w []float32) {
	units := len(w) / len(bias)
	buf := float32s.get(tile * units)
	defer float32s.put(buf)
	spread(f, bias)
	for ; len(x) > 0; x = x[min(len(x), tile*units):] {
		v := (*buf)[:min(len(x), tile*units)]
		for i := range v {
			v[i] = float32(x[i])
		}
		n := len(v) / units
		simd.Gemm(f[:n*len(bias)], v, w, n, len(bias), units)
		f = f[n*len(bias):]
	}
}

// spread fills f with copies of row.
func spread(f, row []float32) {
	for ; len(f) > 0; f = f[len(row):] {
		copy(f, row)
	}
}
