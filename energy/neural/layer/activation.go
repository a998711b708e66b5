package layer

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Activation selects a function f(x) = x·σ(u(x)), which a layer applies to each entry. Here σ is
// the logistic function, and u depends on the Activation.
type Activation uint8

const (
	// GELU is the tanh form of the Gaussian error linear unit (Hendrycks and Gimpel 2016),
	//
	//	x·½(1 + tanh(u/2)) = x·σ(u),  u = 2·√(2/π)·(x + 0.044715·x³),
	//
	// where σ is the logistic function.
	GELU Activation = iota

	// SiLU is the sigmoid linear unit, x·σ(x) with the logistic function σ (Elfwing, Uchibe and
	// Doya 2018).
	SiLU
)

// String returns "GELU" or "SiLU".
func (a Activation) String() string {
	return check.Name("Activation", a, "GELU", "SiLU")
}

// MarshalText returns the result of String as bytes. It implements encoding.TextMarshaler.
func (a Activation) MarshalText() ([]byte, error) {
	return check.MarshalName("activation", a, SiLU)
}

// UnmarshalText sets a to the activation with the given name, as String returns it. It implements
// encoding.TextUnmarshaler.
func (a *Activation) UnmarshalText(name []byte) error {
	return check.UnmarshalName("activation", a, SiLU, name)
}

// chunk is the number of entries that an activation handles at a time, so that they stay in cache
// between its steps.
const chunk = 512

// Forward stores f(x) in y, for each entry of x. The slices x and y may be the same.
func (a Activation) Forward(y, x []float32) {
	check.Len("layer", "y", len(y), len(x))
	if a == GELU {
		simd.GELU(y, x)
		return
	}
	var work [chunk]float32
	for len(x) > 0 {
		n := min(chunk, len(x))
		s := work[:n]
		simd.SigmoidTo(s, x[:n])
		for i, v := range x[:n] {
			y[i] = v * s[i]
		}
		x, y = x[n:], y[n:]
	}
}

// Backward multiplies each entry of the gradient dy by the derivative of f (see [Activation]),
//
//	f′(x) = s + x·s·(1−s)·u′(x),  s = σ(u(x)),
//
// where σ is the logistic function.
func (a Activation) Backward(dy, x []float32) {
	check.Len("layer", "dy", len(dy), len(x))
	if a == GELU {
		simd.GELUSlope(dy, x)
		return
	}
	var work [chunk]float32
	for len(x) > 0 {
		n := min(chunk, len(x))
		s, d := work[:n], dy[:n]
		simd.SigmoidTo(s, x[:n])
		for i, v := range x[:n] {
			d[i] *= s[i] + float32(v*float32(s[i]*(1-s[i])))
		}
		x, dy = x[n:], dy[n:]
	}
}

// MLP is a perceptron with one hidden layer. Its output is Down(f(Up(x))), where Up and Down are
// linear layers and f is the Activation.
type MLP struct {
	Up, Down   Linear
	Activation Activation
}

// Forward stores the output in y. It stores Up(x) in pre and f(Up(x)) in act, each rows × Up.Out.
// If Backward is not called, pre and act may be the same slice.
func (m MLP) Forward(y, pre, act, x []float32) {
	m.Up.Forward(pre, x)
	m.Activation.Forward(act, pre)
	m.Down.Forward(y, act)
}

// Backward adds the gradient of the input to dx and the gradient of the weights to grad, given the
// gradient dy of the output. The slices pre and act hold what Forward stored for x. The slices dact
// and work are scratch: dact has len(act) entries, and work has at least max(len(act), len(dy)).
func (m MLP) Backward(dx []float32, grad MLP, dy, x, pre, act, dact, work []float32) {
	if len(work) < max(len(dy), len(dact)) {
		panic(fmt.Sprintf("layer: MLP: len(work) = %d, want ≥ %d", len(work), max(len(dy), len(dact))))
	}
	clear(dact)
	m.Down.Backward(dact, grad.Down, dy, act, work[:len(dy)])
	m.Activation.Backward(dact, pre)
	m.Up.Backward(dx, grad.Up, dact, x, work[:len(dact)])
}
