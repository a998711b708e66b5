package layer

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Rotary rotates pairs of entries of queries and keys by angles that grow with the position (Su et
// al. 2021). The rotation at position t is
//
//	(a_j, a_{h+j}) → (a_j·cos − a_{h+j}·sin, a_{h+j}·cos + a_j·sin),  angle t·θ^{−j/h},
//
// where θ is the base and h is half the number of entries of a head. GPT-NeoX and the public
// diffusion checkpoints pair entries in the same way.
type Rotary struct {
	dim      int
	cos, sin []float32 // cosines and sines, positions × dim/2
}

// NewRotary returns the [Rotary] for the given number of positions and heads of dim entries, an
// even number. The argument base is the base θ of the angles; 0 means 10000. NewRotary panics if
// dim is odd or base is not a positive finite number.
func NewRotary(positions, dim int, base float64) *Rotary {
	check.Rows("layer", "head of a Rotary", dim, 2)
	if base == 0 {
		base = 10000
	}
	if !(base > 0) || !check.Finite(base) {
		panic(fmt.Sprintf("layer: NewRotary: base = %v, want > 0 and finite", base))
	}
	frequencies := make([]float64, dim/2)
	for j := range frequencies {
		frequencies[j] = math.Pow(base, -float64(j)/float64(dim/2))
	}
	return RotaryOf(positions, frequencies, 1)
}

// RotaryOf returns a [Rotary] for heads of 2·len(frequencies) entries. The angles are
// t·frequencies[j], for positions t in 0…positions−1. Cosines and sines are multiplied by scale.
// Networks that were extended to longer texts after their first training use such angles. RotaryOf
// panics if there is no frequency or a number is not finite.
func RotaryOf(positions int, frequencies []float64, scale float64) *Rotary {
	h := len(frequencies)
	if h == 0 {
		panic("layer: RotaryOf: no frequency, want at least 1")
	}
	if err := check.Entries("layer: RotaryOf", "positions × frequencies", positions, 2*h); err != nil {
		panic(err.Error())
	}
	r := &Rotary{dim: 2 * h, cos: make([]float32, positions*h), sin: make([]float32, positions*h)}
	for j, f := range frequencies {
		if !check.Finite(f) || !check.Finite(scale) {
			panic(fmt.Sprintf("layer: RotaryOf: frequencies[%d] = %v, scale = %v, want finite numbers", j, f, scale))
		}
		for t := range positions {
			s, c := math.Sincos(float64(t) * f)
			r.cos[t*h+j], r.sin[t*h+j] = float32(c*scale), float32(s*scale)
		}
	}
	return r
}

// Turn rotates the rows of x by the angles of positions 0, 1, …. A row has the entries of one head.
// Turn panics if x holds an incomplete row or more rows than there are positions.
func (r *Rotary) Turn(x []float32) {
	if n := check.Rows("layer", "x", len(x), r.dim); n*(r.dim/2) > len(r.cos) {
		panic(fmt.Sprintf("layer: Turn: %d rows, want at most %d positions", n, len(r.cos)/(r.dim/2)))
	}
	r.turn(x, 1)
}

// turn rotates rows of dim entries, one per position. A sign of −1 rotates in the opposite
// direction.
func (r *Rotary) turn(x []float32, sign float32) {
	h := r.dim / 2
	for t := 0; len(x) > 0; t, x = t+1, x[2*h:] {
		a, b := x[:h], x[h:2*h]
		for j, c := range r.cos[t*h : (t+1)*h] {
			s := sign * r.sin[t*h+j]
			a[j], b[j] = float32(a[j]*c)-float32(b[j]*s), float32(b[j]*c)+float32(a[j]*s)
		}
	}
}

// Attention is softmax attention between the positions of one state (Vaswani et al. 2017). For
// each head, with queries q, keys k and values v,
//
//	o = softmax(q·kᵀ/√dim)·v,  dim = Width/Heads.
//
// A position has a row of 3·Width entries: the queries of all heads, then their keys, then their
// values.
type Attention struct {
	// Length is the number of positions, and Width the number of features per position. Width is a
	// multiple of Heads, which is ≥ 1 (and ≤ 2²⁰ if Width is 0).
	Length, Width, Heads int

	// Block, if not 0, is the length of a block of positions: a position attends to its own
	// block and the blocks before it. 1 means causal. With 0 every position attends to all.
	Block int

	// Rotary rotates queries and keys by their position; nil means no rotation.
	Rotary *Rotary
}

// Work returns the lengths of the scratch slices that Forward and Backward need.
func (a Attention) Work() (forward, backward int) {
	a.checkHeads()
	head := a.Length * a.Width / a.Heads
	return 4 * head, 7*head + 2*a.Length*a.Length
}

// mostHeads is the largest number of heads if Width is 0, when no slice limits it.
const mostHeads = 1 << 20

// checkHeads panics unless Width is a multiple of Heads and the scratch of a head fits in memory.
func (a Attention) checkHeads() {
	if a.Heads < 1 || a.Length < 0 || a.Width < 0 || a.Width%a.Heads != 0 {
		panic(fmt.Sprintf("layer: Attention: Length = %d, Width = %d, Heads = %d, want ≥ 0, a multiple of Heads and ≥ 1", a.Length, a.Width, a.Heads))
	}
	if !held(a.Length, a.Length) || !held(a.Length, a.Width) || a.Heads > max(a.Width, mostHeads) {
		panic(fmt.Sprintf("layer: Attention: Length = %d, Width = %d, Heads = %d, want Length² and Length·Width ≤ %d and Heads ≤ max(Width, %d)", a.Length, a.Width, a.Heads, check.MaxEntries, mostHeads))
	}
}

// Forward stores in o (Length × Width) the output for one state. It stores in probs (Heads × Length
// × Length) the softmax. If probs has only Length × Length entries, it holds the softmax of the
// last head, and Backward cannot be called. The slice tmp is scratch memory of the length that Work
// returns. Forward panics if a slice is too short.
func (a Attention) Forward(o, probs, qkv, tmp []float32) {
	a.checkHeads()
	n, dim := a.Length, a.Width/a.Heads
	a.check(o, qkv)
	size := n * dim
	if len(probs) != n*n && len(probs)/a.Heads < n*n {
		panic(fmt.Sprintf("layer: len(probs) = %d, want %d × %d² or %d²", len(probs), a.Heads, n, n))
	}
	atLeast("tmp", len(tmp), 4*size)
	q, k, v, y := tmp[:size], tmp[size:2*size], tmp[2*size:3*size], tmp[3*size:4*size]
	for h := range a.Heads {
		a.gather(q, k, v, qkv, h)
		p := a.probs(probs, h)
		clear(p)
		simd.GemmT(p, q, k, n, n, dim)
		a.hide(p)
		simd.Softmax(p, p, n)
		clear(y)
		simd.Gemm(y, p, v, n, dim, n)
		for i := range n {
			copy(o[i*a.Width+h*dim:], y[i*dim:(i+1)*dim])
		}
	}
}

func (a Attention) check(o, qkv []float32) {
	check.Len("layer", "o", len(o), a.Length*a.Width)
	check.Len("layer", "qkv", len(qkv), 3*a.Length*a.Width)
	if r, dim := a.Rotary, a.Width/a.Heads; r != nil && (r.dim != dim || len(r.cos) < a.Length*(dim/2)) {
		panic(fmt.Sprintf("layer: Attention: Rotary has %d angles for heads of %d entries, want ≥ %d for %d", len(r.cos), r.dim, a.Length*(dim/2), dim))
	}
}

// probs returns the part of p that belongs to head h.
func (a Attention) probs(p []float32, h int) []float32 {
	n := a.Length * a.Length
	if len(p) == n {
		return p
	}
	return p[h*n : (h+1)*n]
}

// gather copies the queries, keys and values of head h. It rotates queries and keys and divides
// the queries by √dim.
func (a Attention) gather(q, k, v, qkv []float32, h int) {
	dim := a.Width / a.Heads
	for i := range a.Length {
		r := qkv[3*i*a.Width+h*dim:]
		copy(q[i*dim:(i+1)*dim], r)
		copy(k[i*dim:(i+1)*dim], r[a.Width:])
		copy(v[i*dim:(i+1)*dim], r[2*a.Width:])
	}
	if a.Rotary != nil {
		a.Rotary.turn(q, 1)
		a.Rotary.turn(k, 1)
	}
	simd.Scale(float32(1/math.Sqrt(float64(dim))), q)
}

// hide sets p to −Inf for positions that a position does not attend to.
func (a Attention) hide(p []float32) {
	if a.Block <= 0 {
		return
	}
	for i := range a.Length {
		row := p[i*a.Length : (i+1)*a.Length]
		for j := (i/a.Block + 1) * a.Block; j < a.Length; j++ {
			row[j] = float32(math.Inf(-1))
		}
	}
}

// Backward adds to dqkv the gradient with respect to the input qkv of one state. It is given dout,
// the gradient with respect to the output, and probs, the softmax that Forward stored for all
// heads.
func (a Attention) Backward(dqkv, dout, probs, qkv, tmp []float32) {
	a.checkHeads()
	n, dim := a.Length, a.Width/a.Heads
	a.check(dout, dqkv)
	a.check(dout, qkv)
	rowsOf("probs", len(probs), a.Heads, n*n)
	size := n * dim
	atLeast("tmp", len(tmp), 7*size+2*n*n)
	part := func(i int) []float32 { return tmp[i*size : (i+1)*size] }
	q, k, v, dy, dq, dk, dv := part(0), part(1), part(2), part(3), part(4), part(5), part(6)
	dp, t := tmp[7*size:7*size+n*n], tmp[7*size+n*n:7*size+2*n*n]
	scale := float32(1 / math.Sqrt(float64(dim)))
	for h := range a.Heads {
		a.gather(q, k, v, qkv, h)
		for i := range n {
			copy(dy[i*dim:(i+1)*dim], dout[i*a.Width+h*dim:])
		}
		p := a.probs(probs, h)
		clear(tmp[4*size : 7*size])
		transpose(t, p, n, n)
		simd.Gemm(dv, t, dy, n, dim, n)
		clear(t)
		simd.GemmT(t, dy, v, n, n, dim)
		clear(dp)
		simd.SoftmaxPull(dp, p, t, n, 1)
		simd.Gemm(dq, dp, k, n, dim, n)
		transpose(t, dp, n, n)
		simd.Gemm(dk, t, q, n, dim, n)
		simd.Scale(scale, dq)
		if a.Rotary != nil {
			a.Rotary.turn(dq, -1)
			a.Rotary.turn(dk, -1)
		}
		for i := range n {
			r := dqkv[3*i*a.Width+h*dim:]
			simd.Axpy(1, dq[i*dim:(i+1)*dim], r[:dim])
			simd.Axpy(1, dk[i*dim:(i+1)*dim], r[a.Width:a.Width+dim])
			simd.Axpy(1, dv[i*dim:(i+1)*dim], r[2*a.Width:2*a.Width+dim])
		}
	}
}
