package neural

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Posterior is the posterior distribution of the binary weights θ ∈ {−1, 1}ᵈ of a network with one
// hidden layer. Its data are N inputs x_i and targets y_i; there is no prior. The energy is
//
//	E(θ) = (w/N) Σ_i (f_i − y_i)²,  f_i = σ(c + Σ_j v_j tanh(b_j + Σ_k W_kj x_ik)),
//
// where f_i is the output of the network, σ the logistic function, and w a factor that you choose.
// The weights and biases W, b, v and c are the entries of θ. Zhang, Liu and Liu (2022, section 6.4)
// use this energy with w = 100.
//
// Each weight or bias is a site; level 0 means −1 and level 1 means 1. The d = (inputs + 2)·hidden
// + 1 sites are W row by row (a row per input), b, v and c.
//
// Posterior implements [energy.Binary] and [energy.Differentiable] to first order, by
// backpropagation. It implements [energy.Conditional] by evaluating both energies. If its batch is
// positive (see [NewPosterior]), [energy.As] also finds [energy.Stochastic].
//
// A Posterior is immutable and safe for concurrent use. After the first calls, its methods allocate
// nothing. The results for a state do not depend on the other states of a call. They have the same
// bits only on processors with the same vector instructions.
type Posterior struct {
	rows, inputs, hidden, batch int

	weight float64
	x      []float32 // inputs, rows × (inputs + 1); the last column is 1
	y      []float32
}

// NewPosterior returns the posterior given the inputs x and the targets y in [0, 1]. The slice x
// holds one row of inputs for each entry of y. Both slices are copied. The argument weight is the
// factor w of the energy. The argument batch is the number of rows drawn for an estimate of the
// field; 0 means no estimates (see [energy.Stochastic]).
//
// The ranges are hidden ≥ 1, weight > 0 and 0 ≤ batch ≤ len(y); len(x) must be a positive multiple
// of len(y). NewPosterior returns an error if an argument is out of range, a number is not finite,
// or a derivative could overflow float32.
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

// pad stores in dst the rows of x, each followed by a 1.
func (m *Posterior) pad(dst, x []float32) {
	for n := m.inputs; len(x) > 0; x, dst = x[n:], dst[n+1:] {
		copy(dst, x[:n])
		dst[n] = 1
	}
}

// Shape returns the number of weights as sites, and 2 as the number of levels.
func (m *Posterior) Shape() (sites, levels int) { return (m.inputs+2)*m.hidden + 1, 2 }

// Energy stores in e the energies of the states x. A state is a vector of binary weights. Energy
// implements [energy.Model].
func (m *Posterior) Energy(e []float64, x []int32) { m.evaluate(e, nil, x) }

// Field stores the energies in e. It stores in h the energy differences between levels 1 and 0, to
// first order. It implements [energy.Binary].
func (m *Posterior) Field(e []float64, h []float32, x []int32) {
	check.Len("neural", "h", len(h), len(x))
	m.evaluate(e, h, x)
}

// Gradient stores the energies in e. It stores in g the energy differences of all single-site
// changes, to first order. For sites i and levels l they are g[i,l] = (l − x_i)·h_i, where h is the
// field of [Posterior.Field]. It implements [energy.Differentiable].
func (m *Posterior) Gradient(e []float64, g []float32, x []int32) {
	check.Len("neural", "g", len(g), 2*len(x))
	m.evaluate(e, g[len(x):], x)
	for i, v := range x {
		h := g[len(x)+i]
		g[2*i], g[2*i+1] = -float32(v)*h, float32(1-v)*h
	}
}

// Conditional stores in d the exact energy at each level of one site, minus the energy of the state
// x. It implements [energy.Conditional].
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

// As implements [energy.Capable]: the posterior is also [energy.Stochastic] if the batch given to
// [NewPosterior] is positive.
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

// Predict stores in p the output f of the network with weights theta for each row of x. Each row
// has the same number of inputs as the data of the posterior. The posterior prediction is the mean
// of f over draws of θ.
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

// estimate stores in h the field estimated from the given rows of the data.
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

// evaluate stores energies in e. If h is not nil, it also stores fields in h.
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

// posteriorTile is the number of rows that go through the network together, so that their
// activations fit into the second-level cache. It is a multiple of the rows that a matrix product
// handles at once.
const posteriorTile = 48

// state returns the energy of one state for the rows x (inputs + 1 entries each) and targets y.
// If h is not nil, it stores the field in h.
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

// posteriorPass is one forward pass of rows through the network. Its hidden units are padded with
// units whose weights are 0, which do not change the result.
type posteriorPass struct {
	in, hid int
	w, v    []float32 // weights times two: (inputs + 1) × hidden, and hidden
	s       []float32 // σ(2z) of each activation z, rows × hidden
	p, q    []float32 // f and 1 − f of each row, each computed without cancellation
	offset  float32   // constant c − Σ v_j of the output before its sigmoid
}

// padded returns the number of hidden units that a pass computes: a multiple of the panel width
// of the matrix products. This avoids copying a narrow last panel (BenchmarkPosterior).
func padded(hidden int) int {
	const panel = 32
	if hidden < 4*panel {
		return hidden
	}
	return (hidden + panel - 1) / panel * panel
}

// passWork returns the length of the scratch for a pass over rows of in numbers each.
func passWork(in, hidden, rows int) int { return (in+1+rows)*padded(hidden) + 2*rows }

// passOf returns a pass with the weights theta for up to the given number of rows, of in numbers
// each. work is scratch of length passWork.
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

// activate computes the activations and outputs of the given rows.
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
