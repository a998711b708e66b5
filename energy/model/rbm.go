package model

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// RBM is a restricted Boltzmann machine as a model of its visible units v. The hidden units are
// summed out:
//
//	E(v) = −b_vᵀv − Σ_j log(1 + e^{a_j}),  a = b_h + W·v,
//
// where b_v and b_h are the biases of the visible and hidden units, W holds the weights, and the
// vector a holds the activations of the hidden units.
//
// RBM is [energy.Differentiable] and [energy.Binary] with the first-order field −b_v − Wᵀσ(a),
// where σ is the logistic function. It is also [energy.Incremental], [energy.Conditional] (with
// exact differences), [energy.IncrementalBipartite], [energy.Factored] and [energy.Learnable]. An
// RBM is immutable and safe for concurrent use. After the first calls, its methods allocate
// nothing.
//
// # Reproducibility
//
// NewRBM rounds weights and biases once, so that energies and VisibleField are the same on every
// machine. For each hidden unit, the weights and the bias are rounded to about 2⁻⁵² of the sum of
// their magnitudes. The visible biases are rounded in the same way, all together.
//
// Field, Gradient and FieldFrom are reproducible for each instruction set. [RBM.ProposalFrom] takes
// half the time and is reproducible on every machine.
type RBM struct {
	w      []float32    // weights W, hidden × visible
	packed *simd.Packed // weights W in the layout for matrix products
	bias   struct{ hidden, visible []float32 }
	// Linear functions of the visible units that are updated step by step: a of each hidden unit,
	// b_vᵀv, and zeros as padding.
	panels panels
	rough  *rough // fixed-point weights for ProposalFrom
}

// NewRBM returns the machine with weights w, hidden biases bh and visible biases bv. It copies all
// three. The row-major matrix w has one row per hidden unit and one column per visible unit. NewRBM
// returns an error if there are no hidden or no visible units, or if len(w) does not fit. It also
// returns an error if a number is not finite or an activation could overflow float32.
func NewRBM(w, bh, bv []float32) (*RBM, error) {
	hidden, visible := len(bh), len(bv)
	if hidden < 1 || visible < 1 {
		return nil, fmt.Errorf("model: NewRBM: len(bh) = %d and len(bv) = %d, want both ≥ 1", hidden, visible)
	}
	if len(w)/visible != hidden || len(w)%visible != 0 {
		return nil, fmt.Errorf("model: NewRBM: len(w) = %d, want len(bh)·len(bv) = %d", len(w), hidden*visible)
	}
	m := &RBM{w: slices.Clone(w), panels: newPanels(visible, hidden+1), rough: new(rough)}
	m.panels.columns = make([]float32, visible*len(m.panels.origin))
	m.bias.hidden, m.bias.visible = slices.Clone(bh), slices.Clone(bv)
	for _, c := range []struct {
		name string
		v    []float32
	}{{"w", w}, {"bh", bh}, {"bv", bv}} {
		for i, v := range c.v {
			if !check.Finite(float64(v)) {
				return nil, fmt.Errorf("model: NewRBM: %s[%d] = %v, want a finite number", c.name, i, v)
			}
		}
	}
	down := make([]float64, visible) // Σ_j |W_ji| + |b_v,i|, a bound on the field
	for i, b := range bv {
		down[i] = math.Abs(float64(b))
	}
	for j := range bh {
		row := m.w[j*visible : (j+1)*visible]
		sum := exactly(row, m.bias.hidden[j:j+1])
		for i, v := range row {
			down[i] += math.Abs(float64(v))
		}
		if sum > maxActivation {
			return nil, fmt.Errorf("model: NewRBM: the weights of hidden unit %d add up to %v, want ≤ %v", j, sum, maxActivation)
		}
		m.panels.origin[j] = float64(m.bias.hidden[j]) + 0 // adding 0 turns −0 into +0, as in sums
		m.panels.fill(j, row)
	}
	for i, sum := range down {
		if sum > maxActivation {
			return nil, fmt.Errorf("model: NewRBM: the weights of visible unit %d add up to %v, want ≤ %v", i, sum, maxActivation)
		}
	}
	exactly(m.bias.visible, nil)
	m.panels.fill(hidden, m.bias.visible)
	m.packed = simd.Pack(m.w, visible, hidden)
	return m, nil
}

// exactly rounds the numbers of both slices to multiples of 2^(e−52), where 2^e exceeds the sum of
// their magnitudes. It returns this sum. Every partial sum is then a multiple of 2^(e−52) below
// 2^(e+1), and hence exact in float64. Rounding only clears last bits, so the rounded numbers are
// still exact in float32.
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

// maxActivation is the largest sum of magnitudes of a unit's weights, half the largest float32. It
// keeps sums of float32 terms finite whatever their rounding.
const maxActivation = math.MaxFloat32 / 2

// Shape returns the number of visible units and the number of levels, which is 2.
func (m *RBM) Shape() (sites, levels int) { return len(m.bias.visible), 2 }

// Hidden returns the number of hidden units; it implements [energy.Bipartite].
func (m *RBM) Hidden() int { return len(m.bias.hidden) }

// Energy stores in e the energies of the states x; it implements [energy.Model].
func (m *RBM) Energy(e []float64, x []int32) { m.evaluate(e, nil, nil, nil, x, nil, nil, nil) }

// Field stores the energies in e and the field −b_v − Wᵀσ(a) in h. Here b_v holds the visible
// biases, W the weights, and the vector a the activations of the hidden units. The function σ is
// the logistic function. The field is a first-order approximation of the energy differences between
// levels 1 and 0. Field implements [energy.Binary].
func (m *RBM) Field(e []float64, h []float32, x []int32) {
	check.Rows("model", "x", len(x), len(m.bias.visible))
	check.Len("model", "h", len(h), len(x))
	m.evaluate(e, h, nil, nil, x, nil, nil, nil)
}

// Gradient stores the energies in e. It stores in g the energy differences of all single-site
// changes, to first order. The entries of g are (l − x_i)·h_i for sites i and levels l, where h is
// the field from Field. Gradient implements [energy.Differentiable].
func (m *RBM) Gradient(e []float64, g []float32, x []int32) {
	check.Rows("model", "x", len(x), len(m.bias.visible))
	check.Len("model", "g", len(g), 2*len(x))
	m.evaluate(e, g[len(x):], nil, nil, x, nil, nil, nil)
	expandField(g, x)
}

// Conditional stores in d the exact energy at each of the two levels of one site, minus the energy
// of the state x. It implements [energy.Conditional].
func (m *RBM) Conditional(d []float64, site int, x []int32) {
	check.Len("model", "d", len(d), 2)
	check.Len("model", "x", len(x), len(m.bias.visible))
	check.Index("model", "site", site, len(x))
	buf := scratch.Int32s.Get(2 * len(x))
	defer scratch.Int32s.Put(buf)
	both := *buf
	copy(both, x)
	copy(both[len(x):], x)
	both[site], both[len(x)+site] = 0, 1
	m.Energy(d, both)
	own := d[x[site]]
	d[0], d[1] = d[0]-own, d[1]-own
}

// HiddenField stores in f the log-odds of the hidden units, rounded to float32. They are b_h + W·v
// with the hidden biases b_h, the weights W and the visible states v = x. It implements
// [energy.Bipartite].
func (m *RBM) HiddenField(f []float32, x []int32) {
	n := check.Rows("model", "x", len(x), len(m.bias.visible))
	check.Len("model", "f", len(f), n*len(m.bias.hidden))
	e := scratch.Float64s.Get(n)
	defer scratch.Float64s.Put(e)
	m.evaluate(*e, nil, f, nil, x, nil, nil, nil)
}

// VisibleField stores in f the log-odds b_v + Wᵀh of the visible units, given states h of the
// hidden units. Here b_v are the visible biases and W the weights. It implements
// [energy.Bipartite].
func (m *RBM) VisibleField(f []float32, h []int32) {
	n := len(m.bias.hidden)
	if len(h)%n != 0 {
		panic(fmt.Sprintf("model: len(h) = %d, want a multiple of %d", len(h), n))
	}
	check.Len("model", "f", len(f), len(h)/n*len(m.bias.visible))
	m.project(f, h)
}

// Factors returns the joint energy of visible and hidden units as a sum of tables. There is one for
// each bias and one for each nonzero weight. Factors implements [energy.Factored]. The hidden units
// are variables that follow the sites. The tables are exact in float64, whereas energies round
// activations to float32.
func (m *RBM) Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool) {
	visible, hidden := len(m.bias.visible), len(m.bias.hidden)
	add := func(table []float64, v ...int32) {
		scopes, tables = append(scopes, v), append(tables, table)
	}
	for i, b := range m.bias.visible {
		add([]float64{0, 0 - float64(b)}, int32(i))
	}
	for j, b := range m.bias.hidden {
		add([]float64{0, 0 - float64(b)}, int32(visible+j))
		for i, w := range m.w[j*visible : (j+1)*visible] {
			if w != 0 {
				add([]float64{0, 0, 0, 0 - float64(w)}, int32(i), int32(visible+j))
			}
		}
	}
	return slices.Repeat([]int32{2}, visible+hidden), scopes, tables, true
}

// Tempered returns the machine with all weights and biases multiplied by beta, which must be in [0,
// 1]. The result has the joint distribution of visible and hidden units at inverse temperature
// beta, as annealed importance sampling (anneal.AIS) requires. At beta = 0 every state has the
// energy −hidden·log 2, where hidden is the number of hidden units.
func (m *RBM) Tempered(beta float64) (energy.Model, error) {
	if !(beta >= 0 && beta <= 1) {
		return nil, fmt.Errorf("model: Tempered: beta = %v, want 0 … 1", beta)
	}
	if beta == 1 {
		return m, nil
	}
	scaled := func(v []float32) []float32 {
		v = slices.Clone(v)
		for i := range v {
			v[i] = float32(beta * float64(v[i]))
		}
		return v
	}
	return NewRBM(scaled(m.w), scaled(m.bias.hidden), scaled(m.bias.visible))
}

// CacheLen returns the number of float64s cached per state: the activations of the hidden units,
// the summed biases of the visible units at level 1, and padding. It implements
// [energy.Incremental].
func (m *RBM) CacheLen() int { return len(m.panels.origin) }

// FieldFrom stores in e the energies and in h the fields of the states y. It reads from cache the
// activations for the earlier states x. Each site that differs between x and y costs one pass over
// the activations, and the fields cost a matrix product. It implements [energy.Incremental].
func (m *RBM) FieldFrom(e []float64, h []float32, newCache []float64, y []int32, cache []float64, x []int32) {
	m.checkFrom(h, newCache, y, cache, x)
	m.evaluate(e, h, nil, newCache, y, cache, x, nil)
}

// HiddenFieldFrom stores in e the energies of the states y, and in f the log-odds of the hidden
// units given y. The activations for the earlier states x are read from cache. The method
// implements [energy.IncrementalBipartite].
func (m *RBM) HiddenFieldFrom(e []float64, f []float32, newCache []float64, y []int32, cache []float64, x []int32) {
	check.Len("model", "f", len(f), check.Rows("model", "x", len(y), len(m.bias.visible))*len(m.bias.hidden))
	m.checkCaches(newCache, y, cache, x)
	m.evaluate(e, nil, f, newCache, y, cache, x, nil)
}

func (m *RBM) checkFrom(h []float32, next []float64, y []int32, cache []float64, x []int32) {
	check.Len("model", "h", len(h), len(y))
	m.checkCaches(next, y, cache, x)
}

func (m *RBM) checkCaches(next []float64, y []int32, cache []float64, x []int32) {
	check.Len("model", "newCache", len(next), check.Rows("model", "x", len(y), len(m.bias.visible))*len(m.panels.origin))
	if x != nil {
		check.Len("model", "x", len(x), len(y))
		check.Len("model", "cache", len(cache), len(next))
	}
}

// evaluate stores the energies of y in e and, unless they are nil, fields in h, activations in f
// and caches in next. It starts from the states x with the given caches or, if x is nil, from the
// state with all levels 0. If fixed is not nil, it computes the fields from these fixed-point
// weights.
func (m *RBM) evaluate(e []float64, h, f []float32, next []float64, y []int32, cache []float64, x []int32, fixed *simd.Fixed) {
	visible, hidden, stride := len(m.bias.visible), len(m.bias.hidden), len(m.panels.origin)
	check.Len("model", "e", len(e), check.Rows("model", "x", len(y), visible))
	act, sums := scratch.Float32s.Get(tile*stride), scratch.Float64s.Get(tile*stride)
	defer scratch.Float32s.Put(act)
	defer scratch.Float64s.Put(sums)
	for s := 0; s < len(e); s += tile {
		n := min(len(e)-s, tile)
		at, to := s*visible, (s+n)*visible
		now, before, from := (*sums)[:n*stride], []int32(nil), []float64(nil)
		if next != nil {
			now = next[s*stride : (s+n)*stride]
		}
		if x != nil {
			before, from = x[at:to], cache[s*stride:(s+n)*stride]
		}
		m.panels.activate(now, *act, y[at:to], from, before)
		for k := range n {
			a := (*act)[k*stride : k*stride+hidden]
			e[s+k] = 0 - now[k*stride+hidden] - simd.SoftplusSum(a)
			if f != nil {
				copy(f[(s+k)*hidden:(s+k+1)*hidden], a)
			}
		}
		switch {
		case h == nil:
		case fixed != nil:
			fixedField(fixed, h[at:to], *act, n, hidden, stride)
		default:
			m.field(h[at:to], *act, n)
		}
	}
}

// field stores in h the field −b_v − Wᵀσ(a) for the n rows of activations in act, which it
// overwrites.
func (m *RBM) field(h, act []float32, n int) {
	hidden, stride := len(m.bias.hidden), len(m.panels.origin)
	for k := range n { // in place: rows shrink from stride to hidden entries
		a := act[k*stride : k*stride+hidden]
		simd.SigmoidTo(a, a)
		copy(act[k*hidden:], a)
	}
	spread(h, m.bias.visible)
	m.packed.Gemm(h, act[:n*hidden], n)
	simd.Scale(-1, h)
}

// project stores in f the log-odds b_v + Wᵀh, for each row of h.
func (m *RBM) project(f []float32, h []int32) {
	buf := selections.Get(1)
	defer selections.Put(buf)
	choice := &(*buf)[0].choice
	spread(f, m.bias.visible)
	choice.Set(h, len(m.bias.hidden))
	m.packed.AddChosen(f, choice)
}

// spread fills f with repeated copies of row.
func spread(f, row []float32) {
	for ; len(f) > 0; f = f[len(row):] {
		copy(f, row)
	}
}

// rough holds −W in fixed point, computed on first use. weights is nil if that is not accurate
// enough.
type rough struct {
	once    sync.Once
	weights *simd.Fixed
}

// words is a pool of buffers for values of the logistic function in fixed point.
var words scratch.Pool[int16]

// fixedField computes the approximate field for proposals from the n rows of activations in act. It
// stores the field in h.
func fixedField(fixed *simd.Fixed, h, act []float32, n, hidden, stride int) {
	size := fixed.Words()
	buf := words.Get(n * size)
	defer words.Put(buf)
	for k := range n {
		row := (*buf)[k*size : (k+1)*size]
		simd.LogisticWords(row[:hidden], act[k*stride:k*stride+hidden])
		clear(row[hidden:])
	}
	fixed.Gemm(h, *buf, n)
}

// coarsest is the largest error, in nats, of the approximate field for proposals relative to the
// field of FieldFrom. Proposals use half of the field. The first-order field itself can differ by
// this much from the exact energy difference if a flip changes an activation by one.
const coarsest = 1. / 8

// ProposalFrom does the same as [RBM.FieldFrom] in half the time, but with an approximate field.
// mcmc.DMALA uses this field for proposals. Energies and caches are the same as in FieldFrom, and
// the field is the same on every machine. In the notation of [RBM], the weights W_ji are rounded to
// multiples of u_i, and σ(a_j) − ½ to multiples of 2⁻¹³. For a visible unit i,
//
//	h_i = (−b_v,i − ½Σ_j W_ji) − u_i·Σ_j ⌊W_ji/u_i⌉·2⁻¹³·⌊2¹³·(σ(a_j) − ½)⌉,
//
// where ⌊·⌉ is the nearest integer. The unit u_i is the smallest power of two with |W_ji/u_i| < 2¹⁵
// for all j and Σ_j |W_ji/u_i| < 2¹⁹. Apart from rounding to float32, h_i differs from the field of
// FieldFrom by at most
//
//	u_i·hidden/4 + 2⁻¹⁴·(Σ_j |W_ji| + u_i·hidden/2),
//
// where hidden is the number of hidden units. If this bound exceeds 1/8 for any site, as with large
// weights, h is the field of FieldFrom.
func (m *RBM) ProposalFrom(e []float64, h []float32, newCache []float64, y []int32, cache []float64, x []int32) {
	m.checkFrom(h, newCache, y, cache, x)
	m.rough.once.Do(m.fix)
	m.evaluate(e, h, nil, newCache, y, cache, x, m.rough.weights)
}

// fix converts the weights to fixed point and stores them in m.rough if they are accurate enough.
func (m *RBM) fix() {
	visible, hidden := len(m.bias.visible), len(m.bias.hidden)
	minus, origin, size := make([]float32, len(m.w)), make([]float32, visible), make([]float64, visible)
	total := make([]float64, visible)
	for j := range hidden {
		for i, w := range m.w[j*visible : (j+1)*visible] {
			minus[j*visible+i] = -w
			total[i] += float64(w)
			size[i] += math.Abs(float64(w))
		}
	}
	for i, b := range m.bias.visible {
		origin[i] = float32(0 - float64(b) - float64(total[i]/2))
	}
	fixed := simd.Fix(minus, origin, visible, hidden)
	for i, s := range size {
		if unit := fixed.Unit(i) * float64(hidden); !(float64(unit/4)+float64((s+float64(unit/2))*0x1p-14) <= coarsest) {
			return
		}
	}
	m.rough.weights = fixed
}
