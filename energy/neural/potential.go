package neural

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/neural/layer"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Potential is a fully connected network whose output is an energy,
//
//	E(x) = bᵀv + wᵀf(h_K),  h_0 = W v + c,  h_k = h_{k−1} + D_k f(U_k h_{k−1} + u_k) + d_k.
//
// Here v encodes the state: 2x_i − 1 for two levels, one-hot entries for more. The function f is
// the SiLU activation, and K is the number of residual blocks. The other letters are weights and
// biases.
//
// Potential implements [energy.Differentiable] (to first order, by backpropagation) and
// [energy.Learnable]. If there are two levels, [energy.As] also finds [energy.Binary]. A Potential
// is immutable and safe for concurrent use. Results are reproducible only on processors with the
// same vector instructions. They do not depend on the batch.
type Potential struct {
	sites, levels, in, width int
	weights                  []float32
	parts                    potentialParts
}

// potentialParts holds the weights or gradients of each layer.
type potentialParts struct {
	input  layer.Linear
	blocks []layer.MLP
	read   []float32 // readout weights w
	bias   []float32 // linear term b
}

// NewPotential returns a network for states with the given sites and levels. The network has the
// given width and number of blocks. Its weights are drawn from src, with standard deviation 1/√n in
// a layer with n inputs. In the second layer of each block and in the last layer, the standard
// deviation is a tenth of that. Biases are 0.
//
// NewPotential returns an error if sites, levels or width is below 1, or if blocks < 0. It also
// returns an error if there would be more than 2²⁸ weights.
func NewPotential(sites, levels, width, blocks int, src rand.Source) (*Potential, error) {
	switch {
	case sites < 1 || levels < 1:
		return nil, fmt.Errorf("neural: NewPotential: %d sites and %d levels, want both ≥ 1", sites, levels)
	case width < 1:
		return nil, fmt.Errorf("neural: NewPotential: width = %d, want ≥ 1", width)
	case blocks < 0:
		return nil, fmt.Errorf("neural: NewPotential: blocks = %d, want ≥ 0", blocks)
	}
	if err := check.Given("neural: NewPotential", "src", src); err != nil {
		return nil, err
	}
	m := &Potential{sites: sites, levels: levels, in: sites, width: width}
	if levels != 2 {
		m.in = sites * levels
	}
	size := float64(float64(m.in)*float64(width+1)) + float64(2*width) + float64(2*float64(blocks)*float64(width)*float64(width+1))
	if float64(sites)*float64(levels) > maxPotential || size > maxPotential {
		return nil, fmt.Errorf("neural: NewPotential: %g weights, want ≤ %d", size, maxPotential)
	}
	m.weights = make([]float32, int(size))
	m.parts = m.cut(m.weights, blocks)
	draw := func(v []float32, sd float64) {
		normal.Fill(v, src)
		for i := range v {
			v[i] = float32(sd * float64(v[i]))
		}
	}
	draw(m.parts.input.Weight, 1/math.Sqrt(float64(m.in)))
	for _, b := range m.parts.blocks {
		draw(b.Up.Weight, 1/math.Sqrt(float64(width)))
		draw(b.Down.Weight, 0.1/math.Sqrt(float64(width)))
	}
	draw(m.parts.read, 0.1/math.Sqrt(float64(width)))
	return m, nil
}

// maxPotential is the largest number of weights of a network: one gibibyte.
const maxPotential = 1 << 28

// cut returns layers whose weights are consecutive views of w.
func (m *Potential) cut(w []float32, blocks int) potentialParts {
	var p potentialParts
	take := func(n int) []float32 {
		v := w[:n:n]
		w = w[n:]
		return v
	}
	linear := func(in, out int) layer.Linear {
		return layer.Linear{In: in, Out: out, Weight: take(in * out), Bias: take(out)}
	}
	p.input = linear(m.in, m.width)
	for range blocks {
		p.blocks = append(p.blocks, layer.MLP{Up: linear(m.width, m.width), Down: linear(m.width, m.width), Activation: layer.SiLU})
	}
	p.read, p.bias = take(m.width), take(m.in)
	return p
}

// Shape returns the numbers of sites and levels of a state.
func (m *Potential) Shape() (sites, levels int) { return m.sites, m.levels }

// Energy stores in e the energies of the states x; it implements [energy.Model].
func (m *Potential) Energy(e []float64, x []int32) { m.evaluate(e, nil, nil, x, nil) }

// Gradient stores the energies in e. It stores in g the energy differences of all single-site
// changes, to first order, computed by backpropagation. It implements [energy.Differentiable].
func (m *Potential) Gradient(e []float64, g []float32, x []int32) {
	check.Len("neural", "g", len(g), len(x)*m.levels)
	b := scratch.Float32s.Get(len(x) / m.sites * m.in)
	defer scratch.Float32s.Put(b)
	m.evaluate(e, *b, nil, x, nil)
	for i, l := range x {
		row := g[i*m.levels : (i+1)*m.levels]
		if m.levels == 2 {
			d := 2 * (*b)[i]
			row[0], row[1] = -float32(l)*d, float32(1-l)*d
			continue
		}
		d := (*b)[i*m.levels : (i+1)*m.levels]
		for k := range row {
			row[k] = d[k] - d[l]
		}
	}
}

// As implements [energy.Capable]: the network is also [energy.Binary] if there are two levels.
func (m *Potential) As(target any) bool {
	return m.levels == 2 && energy.Give[energy.Binary](target, binaryPotential{m})
}

// binaryPotential adds [energy.Binary] to a Potential of two levels.
type binaryPotential struct{ *Potential }

// Field stores the energies in e. In h it stores the energy differences between levels 1 and 0, to
// first order: h_i = 2 ∂E/∂v_i, where v_i = 2x_i − 1. It implements [energy.Binary].
func (m binaryPotential) Field(e []float64, h []float32, x []int32) {
	check.Len("neural", "h", len(h), len(x))
	m.evaluate(e, h, nil, x, nil)
	for i := range h {
		h[i] *= 2
	}
}

// potentialTile is the number of states that go through the network together.
const potentialTile = 64

// evaluate computes the energies of the states x and their gradients. A nil argument omits its
// result. e receives the energies, and dv the gradient with respect to v. The gradient with
// respect to the weights, summed over states with factors w, is added to grad.
func (m *Potential) evaluate(e []float64, dv []float32, grad *potentialParts, x []int32, w []float64) {
	n := check.Rows("neural", "x", len(x), m.sites)
	if e != nil {
		check.Len("neural", "e", len(e), n)
	}
	blocks, tile := len(m.parts.blocks), min(max(n, 1), potentialTile)
	rows := tile * m.width
	buf := scratch.Float32s.Get(tile*m.in + rows*(3*blocks+5))
	defer scratch.Float32s.Put(buf)
	work := *buf
	take := func(k int) []float32 {
		v := work[:k:k]
		work = work[k:]
		return v
	}
	v, dh, act, dact, spare := take(tile*m.in), take(rows), take(rows), take(rows), take(rows)
	hs, pres, mids := take(rows*(blocks+1)), take(rows*blocks), take(rows*blocks)
	for at := 0; at < n; at += tile {
		k := min(tile, n-at)
		size := k * m.width
		in := v[:k*m.in]
		m.encode(in, x[at*m.sites:(at+k)*m.sites])
		m.parts.input.Forward(hs[:size], in)
		for b, block := range m.parts.blocks {
			block.Forward(hs[(b+1)*rows:][:size], pres[b*rows:][:size], mids[b*rows:][:size], hs[b*rows:][:size])
			for i, a := range hs[b*rows:][:size] {
				hs[(b+1)*rows+i] += a
			}
		}
		last := hs[blocks*rows:][:size]
		layer.SiLU.Forward(act[:size], last)
		if e != nil {
			for s := range k {
				e[at+s] = dot(m.parts.read, act[s*m.width:(s+1)*m.width]) + dot(m.parts.bias, in[s*m.in:(s+1)*m.in])
			}
		}
		if dv == nil && grad == nil {
			continue
		}
		for s := range k {
			c := float32(1)
			if w != nil {
				c = float32(w[at+s])
			}
			for i, r := range m.parts.read {
				dh[s*m.width+i] = c * r
				if grad != nil {
					grad.read[i] += float32(c * act[s*m.width+i])
				}
			}
			if grad != nil {
				for i, a := range in[s*m.in : (s+1)*m.in] {
					grad.bias[i] += float32(c * a)
				}
			}
		}
		layer.SiLU.Backward(dh[:size], last)
		for b := blocks - 1; b >= 0; b-- {
			// dh is the gradient of h_{b+1}, the sum of h_b and the output of the
			// block
			block := m.parts.blocks[b]
			if grad != nil {
				copy(act[:size], dh[:size])
				block.Backward(dh[:size], grad.blocks[b], act[:size], hs[b*rows:][:size], pres[b*rows:][:size], mids[b*rows:][:size], dact[:size], spare[:size])
				continue
			}
			clear(dact[:size])
			inputBack(dact[:size], dh[:size], block.Down)
			layer.SiLU.Backward(dact[:size], pres[b*rows:][:size])
			inputBack(dh[:size], dact[:size], block.Up)
		}
		if grad != nil {
			m.parts.input.Backward(nil, grad.input, dh[:size], in, spare[:size])
			continue
		}
		out := dv[at*m.in : (at+k)*m.in]
		for s := range k {
			copy(out[s*m.in:], m.parts.bias)
		}
		inputBack(out, dh[:size], m.parts.input)
	}
}

// encode stores the encoding v of the states x.
func (m *Potential) encode(v []float32, x []int32) {
	if m.levels == 2 {
		for i, l := range x {
			v[i] = float32(2*l - 1)
		}
		return
	}
	clear(v)
	for i, l := range x {
		v[i*m.levels+int(l)] = 1
	}
}

// inputBack adds dy·W, the gradient with respect to the input of l, to dx.
func inputBack(dx, dy []float32, l layer.Linear) {
	simd.Gemm(dx, dy, l.Weight, len(dy)/l.Out, l.In, l.Out)
}

// dot returns Σ a_i b_i in float64.
func dot(a, b []float32) float64 {
	sum := 0.0
	for i, v := range a {
		sum += float64(float64(v) * float64(b[i]))
	}
	return sum
}

// potentialLearner is a Potential whose parameters θ are its weights.
type potentialLearner struct {
	*Potential
	theta []float64
}

// Learn returns a copy of the network whose weights can change; it implements [energy.Learnable].
// In the notation of [Potential], the parameters are, in this order: W and c; U_k, u_k, D_k and d_k
// of each block; w and b. The network stores them as float32.
func (m *Potential) Learn() (energy.Parametric, error) {
	own := *m
	own.weights = slices.Clone(m.weights)
	own.parts = own.cut(own.weights, len(m.parts.blocks))
	l := &potentialLearner{Potential: &own, theta: make([]float64, len(m.weights))}
	for i, w := range m.weights {
		l.theta[i] = float64(w)
	}
	return l, nil
}

// Params returns a copy of the parameters; it implements [energy.Parametric].
func (l *potentialLearner) Params() []float64 { return slices.Clone(l.theta) }

// SetParams replaces the parameters; it implements [energy.Parametric]. It returns an error if a
// parameter is not finite as a float32.
func (l *potentialLearner) SetParams(theta []float64) error {
	check.Len("neural", "theta", len(theta), len(l.theta))
	for k, v := range theta {
		if w := float32(v); !check.Finite(float64(w)) {
			return fmt.Errorf("neural: SetParams: theta[%d] = %v, want a finite float32", k, v)
		}
	}
	copy(l.theta, theta)
	for i, v := range theta {
		l.weights[i] = float32(v)
	}
	return nil
}

// ParamGradient adds to g the gradient of the energy with respect to the parameters, summed over
// the states x with weights w. It uses backpropagation in float32 and implements
// [energy.Parametric].
func (l *potentialLearner) ParamGradient(g []float64, x []int32, w []float64) {
	check.Len("neural", "g", len(g), len(l.theta))
	if w != nil {
		check.Len("neural", "w", len(w), check.Rows("neural", "x", len(x), l.sites))
	}
	b := scratch.Float32s.Get(len(g))
	defer scratch.Float32s.Put(b)
	clear(*b)
	grad := l.cut(*b, len(l.parts.blocks))
	l.evaluate(nil, nil, &grad, x, w)
	for i, v := range *b {
		g[i] += float64(v)
	}
}
