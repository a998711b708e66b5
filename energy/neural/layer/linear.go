package layer

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Linear is y = x·Wᵀ + b for rows x of In entries and y of Out.
type Linear struct {
	In, Out int

	// Weight holds W, Out × In.
	Weight []float32

	// Bias holds b, Out entries; nil means none.
	Bias []float32
}

// Forward stores x·Wᵀ + b in y, which may not overlap x.
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

// Backward adds the pullback of dy at x:
//
//	dx += dy·W,  grad.Weight += dyᵀ·x,  grad.Bias += Σ_rows dy.
//
// dx may be nil, and so may grad.Weight and grad.Bias, which are then not computed.
// room has len(dy) entries and is overwritten.
func (l Linear) Backward(dx []float32, grad Linear, dy, x, room []float32) {
	if l.Out < 1 {
		panic(fmt.Sprintf("layer: Linear.Out = %d, want ≥ 1", l.Out))
	}
	rows := check.Rows("layer", "x", len(x), l.In)
	check.Len("layer", "dy", len(dy), rows*l.Out)
	check.Len("layer", "room", len(room), len(dy))
	if grad.Bias != nil {
		for r := range rows {
			simd.Axpy(1, dy[r*l.Out:(r+1)*l.Out], grad.Bias)
		}
	}
	if grad.Weight != nil {
		transpose(room, dy, rows, l.Out)
		simd.Gemm(grad.Weight, room, x, l.Out, l.In, rows)
	}
	if dx != nil {
		l.input(dx, dy)
	}
}

// input adds dy·W to dx.
func (l Linear) input(dx, dy []float32) {
	simd.Gemm(dx, dy, l.Weight, len(dy)/l.Out, l.In, l.Out)
}

// transpose stores the transpose of x, rows × cols, in dst, in strips of rows
// that share cache lines of dst.
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
