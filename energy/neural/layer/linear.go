package layer

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Linear is the layer y = x·Wᵀ + b for rows x of In entries and y of Out entries.
type Linear struct {
	In, Out int

	// Weight holds the matrix W, Out × In.
	Weight []float32

	// Bias holds the bias b, Out entries; nil means no bias.
	Bias []float32
}

// Forward stores x·Wᵀ + b in y, which must not overlap x.
func (l Linear) Forward(y, x []float32) {
	rows := check.Rows("layer", "x", len(x), l.In)
	check.Len("layer", "y", len(y), rows*l.Out)
	if l.Bias == nil {
		clear(y)
	} else {
		for r := range rows {
			copy(y[r*l.Out:], l.Bias)
		}
	}
	simd.GemmT(y, x, l.Weight, rows, l.Out, l.In)
}

// Backward adds the gradients of the input and the weights, given the input x and the gradient dy
// of the output:
//
//	dx += dy·W,  grad.Weight += dyᵀ·x,  grad.Bias += Σ_rows dy.
//
// A nil dx, grad.Weight or grad.Bias is not computed. The slice tmp is scratch memory with the
// length of dy.
func (l Linear) Backward(dx []float32, grad Linear, dy, x, tmp []float32) {
	if l.Out < 1 {
		panic(fmt.Sprintf("layer: Linear.Out = %d, want ≥ 1", l.Out))
	}
	rows := check.Rows("layer", "x", len(x), l.In)
	check.Len("layer", "dy", len(dy), rows*l.Out)
	check.Len("layer", "tmp", len(tmp), len(dy))
	if grad.Bias != nil {
		for r := range rows {
			simd.Axpy(1, dy[r*l.Out:(r+1)*l.Out], grad.Bias)
		}
	}
	if grad.Weight != nil {
		transpose(tmp, dy, rows, l.Out)
		simd.Gemm(grad.Weight, tmp, x, l.Out, l.In, rows)
	}
	if dx != nil {
		l.input(dx, dy)
	}
}

// input adds dy·W, the gradient of the input, to dx.
func (l Linear) input(dx, dy []float32) {
	simd.Gemm(dx, dy, l.Weight, len(dy)/l.Out, l.In, l.Out)
}

// transpose stores in dst the transpose of x, which is rows × cols. It works in strips of rows that
// share cache lines of dst.
func transpose(dst, x []float32, rows, cols int) {
	const strip = 16
	for i := 0; i < rows; i += strip {
		n := min(strip, rows-i)
		for j := range cols {
			d, from := dst[j*rows+i:j*rows+i+n], i*cols+j
			for k := range d {
				d[k] = x[from+k*cols]
			}
		}
	}
}

// Embedding is a table that maps each token to a vector. It has one row of Width entries for every
// token from 0 to Levels − 1.
type Embedding struct {
	Levels, Width int
	Weight        []float32 // table, Levels × Width
}

// Forward stores the vectors of tokens in y: for each token x_r of x, row r of y becomes row x_r of
// the table.
func (e Embedding) Forward(y []float32, x []int32) {
	check.Len("layer", "y", len(y), len(x)*e.Width)
	e.check(e.Weight, x)
	for r, l := range x {
		copy(y[r*e.Width:(r+1)*e.Width], e.Weight[int(l)*e.Width:])
	}
}

// check panics unless the table w has a row for every entry of x.
func (e Embedding) check(w []float32, x []int32) {
	if e.Width < 1 {
		panic(fmt.Sprintf("layer: Embedding: Width = %d, want ≥ 1", e.Width))
	}
	for _, l := range x {
		check.Index("layer", "x", int(l), len(w)/e.Width)
	}
}

// Backward adds the gradient of the table to grad. For each token x_r of x, it adds row r of dy to
// row x_r of grad.Weight.
func (e Embedding) Backward(grad Embedding, dy []float32, x []int32) {
	check.Len("layer", "dy", len(dy), len(x)*e.Width)
	e.check(grad.Weight, x)
	for r, l := range x {
		simd.Axpy(1, dy[r*e.Width:(r+1)*e.Width], grad.Weight[int(l)*e.Width:(int(l)+1)*e.Width])
	}
}

// Sinusoid stores in dst features of a number t, such as the noise level of a diffusion network.
// For h = len(dst)/2 frequencies ω_j,
//
//	dst_j = cos(t·ω_j),  dst_{h+j} = sin(t·ω_j),  ω_j = 10000^{−j/h}.
//
// The features follow Vaswani et al. 2017, in the order of Nichol and Dhariwal 2021. If dst has odd
// length, its last entry is 0.
func Sinusoid(dst []float32, t float64) {
	h := len(dst) / 2
	for j := range h {
		w := math.Exp(-math.Log(10000) * float64(j) / float64(h))
		s, c := math.Sincos(t * w)
		dst[j], dst[h+j] = float32(c), float32(s)
	}
	clear(dst[2*h:])
}

// rowsOf panics unless the slice called name, of length got, has the given number of rows of cols
// entries.
func rowsOf(name string, got, rows, cols int) {
	if cols < 0 || cols > 0 && rows > math.MaxInt/cols {
		panic(fmt.Sprintf("layer: %d rows of %d entries, want len(%s) = %d", rows, cols, name, got))
	}
	check.Len("layer", name, got, rows*cols)
}

// atLeast panics if the slice called name, of length got, is shorter than want.
func atLeast(name string, got, want int) {
	if got < want {
		panic(fmt.Sprintf("layer: len(%s) = %d, want ≥ %d", name, got, want))
	}
}

// held reports whether a·b entries, both numbers ≥ 0, fit in memory.
func held(a, b int) bool { return b == 0 || a <= check.MaxEntries/b }
