package layer

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Embedding is a table with one row of Width entries per level.
type Embedding struct {
	Levels, Width int
	Weight        []float32 // Levels × Width
}

// Forward stores row x_r of the table in row r of y.
func (e Embedding) Forward(y []float32, x []int32) {
	check.Len("layer", "y", len(y), len(x)*e.Width)
	e.check(e.Weight, x)
	for r, l := range x {
		copy(y[r*e.Width:(r+1)*e.Width], e.Weight[int(l)*e.Width:])
	}
}

// check panics unless the table w has a row for every x.
func (e Embedding) check(w []float32, x []int32) {
	if e.Width < 1 {
		panic(fmt.Sprintf("layer: Embedding: Width = %d, want ≥ 1", e.Width))
	}
	for _, l := range x {
		check.Index("layer", "x", int(l), len(w)/e.Width)
	}
}

// Backward adds row r of dy to row x_r of grad.Weight.
func (e Embedding) Backward(grad Embedding, dy []float32, x []int32) {
	check.Len("layer", "dy", len(dy), len(x)*e.Width)
	e.check(grad.Weight, x)
	for r, l := range x {
		simd.Axpy(1, dy[r*e.Width:(r+1)*e.Width], grad.Weight[int(l)*e.Width:(int(l)+1)*e.Width])
	}
}

// Sinusoid stores the features of a number t that diffusion networks condition
// on, for h = len(dst)/2 frequencies:
//
//	dst_j = cos(t·ω_j),  dst_{h+j} = sin(t·ω_j),  ω_j = 10000^{−j/h}
//
// (Vaswani et al. 2017, in the order of Nichol and Dhariwal 2021). The last
// entry of an odd dst is 0.
func Sinusoid(dst []float32, t float64) {
	h := len(dst) / 2
	for j := range h {
		w := math.Exp(-math.Log(10000) * float64(j) / float64(h))
		s, c := math.Sincos(t * w)
		dst[j], dst[h+j] = float32(c), float32(s)
	}
	clear(dst[2*h:])
}
