package neural

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Posterior is a Bayesian network with binary weights: the distribution of the weights
// θ ∈ {−1, 1}ᵈ of a network with one hidden layer, given N rows of data,
//
//	E(θ) = (w/N) Σ_i (f_i − y_i)²,  f_i = σ(c + Σ_j v_j tanh(b_j + Σ_k W_kj x_ik)),
//
// and no prior (Zhang, Liu and Liu 2022, section 6.4, whose code has w = 100; w = N gives the sum
// of squares). Each site is a weight; level 0 stands for −1 and level 1 for 1. The d = (inputs +
// 2)·hidden + 1 sites are W row by row (a row per input), b, v and c.
//
// It is [energy.Binary] and [energy.Differentiable], to first order by backpropagation
// (twice the derivative at θ), [energy.Conditional] by evaluating both energies and,
// if it has a batch, through [energy.As] [energy.Stochastic]. It is immutable and safe for
// concurrent use; its methods allocate nothing in steady state. Activations are
// float32: results are reproducible per dispatch level of the processor. The energy and
// field of a state do not depend on the other states of a call.
type Posterior struct {
	rows, inputs, hidden, batch int

	weight float64
	x      []float32 // rows × (inputs + 1), the last column of ones
	y      []float32
}

// NewPosterior returns the posterior given the inputs x, len(y) × inputs row-major, and their
// targets y in 0 … 1. weight is w. batch is the number of rows drawn for an estimate of the
// field; with 0 the posterior has no estimates. It copies x and y.
//
// It returns an error if y is empty or not in 0 … 1, if len(x) is not a positive
// multiple of len(y), if hidden < 1, if weight is not > 0, if batch is not in 0 …
// len(y), if a number is not finite, or if a derivative could overflow float32.
func NewPosterior(x, y []float32, hidden int, weight float64, batch int) (*Posterior, error) {
	const caller = "neural: NewPosterior"
	rows := len(y)
	switch {
	case rows == 0:
		return nil, fmt.Errorf("%s: len(y) = 0, want ≥ 1", caller)
	case len(x) == 0 || len(x)%rows != 0:
		return nil, fmt.Errorf("%s: len(x) = %d, want a positive multiple of len(y) = %d", caller, len(x), rows)
	case hidden < 1:
		return nil, fmt.Errorf("%s: hidden = %d, want ≥ 1", caller, hidden)
	case !(weight > 0):
		return nil, fmt.Errorf("%s: weight = %v, want > 0", caller, weight)
	case batch < 0 || batch > rows:
		return nil, fmt.Errorf("%s: batch = %d, want 0 … %d", caller, batch, rows)
	}
	inputs := len(x) / rows
	if err := check.Entries(caller, "(inputs + 2) × hidden", inputs+2, hidden); err != nil {
		return nil, err
	}
	m := &Posterior{rows: rows, inputs: inputs, hidden: hidden, batch: batch, weight: weight}
	m.x, m.y = make([]float32, rows*(inputs+1)), append([]float32(nil), y...)
	most := 1.0
	for i, v := range y {
		if !(v >= 0 && v <= 1) {
			return nil, fmt.Errorf("%s: y[%d] = %v, want 0 … 1", caller, i, v)
		}
		sum := 1.0
		for k, v := range x[i*inputs : (i+1)*inputs] {
			if !check.Finite(float64(v)) {
				return nil, fmt.Errorf("%s: x[%d] = %v, want a finite number", caller, i*inputs+k, v)
			}
			sum += math.Abs(float64(v))
		}
		most = max(most, sum)
	}
	if bound := 16 * float64(max(1, weight)*most); !(bound <= math.MaxFloat32) {
		return nil, fmt.Errorf("%s: weight = %v and rows of magnitude %v, want 16·max(1, weight)·magnitude ≤ %v", caller, weight, most, math.MaxFloat32)
	}
	m.pad(m.x, x)
	return m, nil
}

// pad stores the rows of x, each with a 1 behind it.
func (m *Posterior) pad(dst, x []float32) {
	for n := m.inputs; len(x) > 0; x, dst = x[n:], dst[n+1:] {
		copy(dst, x[:n])
		dst[n] = 1
	}
}

// Shape returns the number of weights and 2.
func (m *Posterior) Shape() (sites, levels int) { return (m.inputs+2)*m.hidden + 1, 2 }

// Energy implements [energy.Model].
func (m *Posterior) Energy(e []float64, x []int32) { m.evaluate(e, nil, x) }

// Field implements [energy.Binary], to first order.
func (m *Posterior) Field(e []float64, h []float32, x []int32) {
	check.Len("neural", "h", len(h), len(x))
	m.evaluate(e, h, x)
}

// Gradient implements [energy.Differentiable]: g[i,l] = (l − x_i)·h_i.
func (m *Posterior) Gradient(e []float64, g []float32, x []int32) {
	check.Len("neural", "g", len(g), 2*len(x))
	m.evaluate(e, g[len(x):], x)
	for i, v := range x {
		h := g[len(x)+i]
		g[2*i], g[2*i+1] = -float32(v)*h, float32(1-v)*h
	}
}

// Conditional implements [energy.Conditional].
func (m *Posterior) Conditional(d []float64, site int, x []int32) {
	sites, _ := m.Shape()
	check.Len("neural", "d", len(d), 2)
	check.Len("neural", "x", len(x), sites)
	check.Index("neural", "site", site, sites)
	b := scratch.Int32s.Get(2 * sites)
	defer scratch.Int32s.Put(b)
	copy(*b, x)
	copy((*b)[sites:], x)
	(*b)[site], (*b)[sites+site] = 0, 1
	m.Energy(d, *b)
	own := d[x[site]]
	d[0], d[1] = d[0]-own, d[1]-own
}

// As implements [energy.Capable].
func (m *Posterior) As(target any) bool {
	if m.batch == 0 {
		return false
	}
	sites, _ := m.Shape()
	return energy.Func{
		Sites: sites, Levels: 2, Rows: m.rows, Batch: m.batch, Estimate: m.estimate,
		E: func(x []int32) float64 { return m.state(nil, x, m.x, m.y) },
	}.As(target)
}

// Predict stores in p, for the weights theta, the output f for each row of x, which has as many
// inputs as the data. Its mean over draws of θ is the posterior prediction.
func (m *Posterior) Predict(p []float32, theta []int32, x []float32) {
	sites, _ := m.Shape()
	check.Len("neural", "theta", len(theta), sites)
	check.Len("neural", "x", len(x), len(p)*m.inputs)
	tile := max(1, min(len(p), posteriorTile))
	b := scratch.Float32s.Get(tile*(m.inputs+1) + passWork(m.inputs+1, m.hidden, tile))
	defer scratch.Float32s.Put(b)
	f := passOf((*b)[tile*(m.inputs+1):], theta, m.inputs+1, m.hidden, tile)
	for at := 0; at < len(p); at += tile {
		k := min(tile, len(p)-at)
		rows := (*b)[:k*(m.inputs+1)]
		m.pad(rows, x[at*m.inputs:(at+k)*m.inputs])
		f.activate(rows)
		copy(p[at:at+k], f.p)
	}
}

// estimate is the field by some rows of the data.
func (m *Posterior) estimate(h []float32, theta []int32, rows []int32) {
	n := m.inputs + 1
	b := scratch.Float32s.Get(len(rows) * (n + 1))
	defer scratch.Float32s.Put(b)
	x, y := (*b)[:len(rows)*n], (*b)[len(rows)*n:]
	for k, r := range rows {
		copy(x[k*n:(k+1)*n], m.x[int(r)*n:])
		y[k] = m.y[r]
	}
	m.state(h, theta, x, y)
}

// evaluate stores energies in e and, unless it is nil, fields in h.
func (m *Posterior) evaluate(e []float64, h []float32, x []int32) {
	n, _ := m.Shape()
	check.Len("neural", "e", len(e), check.Rows("neural", "x", len(x), n))
	for s := range e {
		var field []float32
		if h != nil {
			field = h[s*n : (s+1)*n]
		}
		e[s] = m.state(field, x[s*n:(s+1)*n], m.x, m.y)
	}
}

// posteriorTile is how many rows go through the network together, a multiple of what
// the products take at once: their activations
// stay in the second-level cache.
const posteriorTile = 48

// state returns the energy of one state by the rows x (inputs + 1 entries each) and y,
// and stores its field in h unless that is nil.
//
// With s = σ(2z) of an activation z, tanh z = 2s − 1 and tanh′ z = 4s(1 − s).
func (m *Posterior) state(h []float32, theta []int32, x, y []float32) float64 {
	in, hid := m.inputs+1, padded(m.hidden)
	tile := min(len(y), posteriorTile)
	forward, back := passWork(m.inputs+1, m.hidden, tile), (in+1)*hid+tile*(in+1)
	if h == nil {
		back = 0
	}
	b := scratch.Float32s.Get(forward + back)
	defer scratch.Float32s.Put(b)
	f := passOf((*b)[:forward], theta, in, m.hidden, tile)
	var g, r, rx []float32
	if h != nil {
		g = (*b)[forward:][:(in+1)*hid]
		clear(g)
		r = (*b)[forward+len(g):][:tile]
		rx = (*b)[forward+len(g)+tile:]
	}
	c, sum, total := m.weight/float64(len(y)), 0.0, 0.0
	for at := 0; at < len(y); at += tile {
		k := min(tile, len(y)-at)
		rows := x[at*in : (at+k)*in]
		f.activate(rows)
		for i, y := range y[at : at+k] {
			p := float64(f.p[i])
			d := p - float64(y)
			sum += float64(d * d)
			if h != nil {
				r[i] = float32(2 * c * d * p * float64(f.q[i]))
				total += float64(r[i])
			}
		}
		if h == nil {
			continue
		}
		s := f.s[:k*hid]
		simd.Gemm(g[in*hid:], r[:k], s, 1, hid, k)
		for j := range in {
			row := rx[j*k : (j+1)*k]
			for i := range row {
				row[i] = r[i] * rows[i*in+j]
			}
		}
		simd.Slope(s)
		simd.Gemm(g[:in*hid], rx[:in*k], s, in, hid, k)
	}
	if h != nil {
		for k := range in {
			row := h[k*m.hidden : (k+1)*m.hidden]
			for j, d := range g[k*hid:][:m.hidden] {
				row[j] = 4 * f.v[j] * d
			}
		}
		for j, d := range g[in*hid:][:m.hidden] {
			h[in*m.hidden+j] = 2 * (2*d - float32(total))
		}
		h[len(h)-1] = float32(2 * total)
	}
	return c * sum
}

// posteriorPass is a pass of rows through the network of a Bayesian network. Its hidden units
// are padded with units whose weights are 0 both ways, which change nothing.
type posteriorPass struct {
	in, hid int
	w, v    []float32 // twice the weights: (inputs + 1) × hidden, hidden
	s       []float32 // σ(2z), rows × hidden
	p, q    []float32 // f and 1 − f of each row, either without cancellation
	offset  float32   // c − Σ v_j
}

// padded returns how many hidden units a pass computes: whole panels of the products,
// which spares them the copies of a narrow last one (BenchmarkPosterior).
func padded(hidden int) int {
	const panel = 32
	if hidden < 4*panel {
		return hidden
	}
	return (hidden + panel - 1) / panel * panel
}

// passWork returns the numbers of scratch that a pass needs: rows of in numbers each.
func passWork(in, hidden, rows int) int { return (in+1+rows)*padded(hidden) + 2*rows }

// passOf returns a pass with the given weights for up to the given number of rows, of in
// numbers each. work has passWork numbers.
func passOf(work []float32, theta []int32, in, hidden, rows int) posteriorPass {
	for i, l := range theta {
		if l&^1 != 0 {
			panic(fmt.Sprintf("neural: x[%d] = %d, want 0 or 1", i, l))
		}
	}
	hid := padded(hidden)
	p := posteriorPass{in: in, hid: hid, w: work[:in*hid], v: work[in*hid:][:hid]}
	work = work[(in+1)*hid:]
	p.p, p.q, p.s = work[:rows], work[rows:2*rows], work[2*rows:]
	for k := range in {
		row := p.w[k*hid : (k+1)*hid]
		for j, t := range theta[k*hidden : (k+1)*hidden] {
			row[j] = float32(4*t - 2)
		}
		clear(row[hidden:])
	}
	sum := 2*theta[len(theta)-1] - 1
	for j, t := range theta[in*hidden : (in+1)*hidden] {
		p.v[j] = float32(4*t - 2)
		sum -= 2*t - 1
	}
	clear(p.v[hidden:])
	p.offset = float32(sum)
	return p
}

// activate stores the activations and outputs of the rows.
func (p *posteriorPass) activate(rows []float32) {
	n := len(rows) / p.in
	s := p.s[:n*p.hid]
	clear(s)
	simd.Gemm(s, rows, p.w, n, p.hid, p.in)
	simd.SigmoidTo(s, s)
	for i := range n {
		o := p.offset + simd.Dot(p.v, s[i*p.hid:(i+1)*p.hid])
		p.p[i], p.q[i] = o, -o
	}
	simd.SigmoidTo(p.p[:n], p.p[:n])
	simd.SigmoidTo(p.q[:n], p.q[:n])
}
