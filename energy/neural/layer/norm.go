package layer

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Norm is layer normalisation (Ba, Kiros and Hinton 2016) of rows of Width entries,
//
//	x̂ = (x − m)/√(s + ε),  y = gain·x̂ + bias,
//
// where m is the mean and s the variance of the row. If RMS is set, m = 0 and s is the mean square
// (Zhang and Sennrich 2019).
type Norm struct {
	Width int
	Gain  []float32 // gain of each entry; nil means 1
	Bias  []float32 // bias of each entry; nil means 0
	RMS   bool

	// Epsilon is ε in the formula of Norm; 0 means 1e-5, as in PyTorch.
	Epsilon float64
}

// Forward stores the output in y, the normalised rows x̂ of [Norm] in hat, and 1/√(s+ε) of each row
// in scale. Any two of x, y and hat may be the same slice. However, if y and hat are the same and
// there is a gain or bias, Backward cannot be called.
func (n Norm) Forward(y, hat, scale, x []float32) {
	rows := check.Rows("layer", "x", len(x), n.Width)
	check.Len("layer", "y", len(y), len(x))
	check.Len("layer", "hat", len(hat), len(x))
	check.Len("layer", "scale", len(scale), rows)
	eps := n.Epsilon
	if eps == 0 {
		eps = 1e-5
	}
	for r := range rows {
		u, h, o := x[r*n.Width:(r+1)*n.Width], hat[r*n.Width:(r+1)*n.Width], y[r*n.Width:(r+1)*n.Width]
		m := float32(0)
		if !n.RMS {
			m = float32(simd.Sum(u) / float64(n.Width))
		}
		for i, v := range u {
			h[i] = v - m
		}
		k := float32(1 / math.Sqrt(float64(simd.Dot(h, h))/float64(n.Width)+eps))
		scale[r] = k
		for i, v := range h {
			h[i] = v * k
		}
		n.affine(o, h)
	}
}

func (n Norm) affine(y, hat []float32) {
	switch {
	case n.Gain == nil:
		copy(y, hat)
	case n.Bias == nil:
		g := n.Gain[:len(hat)]
		for i, v := range hat {
			y[i] = v * g[i]
		}
		return
	default:
		g := n.Gain[:len(hat)]
		for i, v := range hat {
			y[i] = float32(v*g[i]) + n.Bias[i]
		}
		return
	}
	if n.Bias != nil {
		simd.Axpy(1, n.Bias, y)
	}
}

// Backward adds the gradient of the input to dx and the gradients of gain and bias to grad. The
// slice dy is the gradient of the output; hat and scale hold what Forward stored. With u = gain·dy,
//
//	dx += scale·(u − mean(u) − x̂·mean(u·x̂)),  grad.Gain += Σ dy·x̂,  grad.Bias += Σ dy.
//
// If RMS is set, the term mean(u) is omitted. Backward overwrites dy. A nil grad.Gain or grad.Bias
// is not computed.
func (n Norm) Backward(dx []float32, grad Norm, dy, hat, scale []float32) {
	check.Len("layer", "dy", len(dy), len(hat))
	check.Len("layer", "dx", len(dx), len(hat))
	check.Len("layer", "len(scale)·Width", len(scale)*n.Width, len(hat))
	for r, k := range scale {
		d, h, o := dy[r*n.Width:(r+1)*n.Width], hat[r*n.Width:(r+1)*n.Width], dx[r*n.Width:(r+1)*n.Width]
		if grad.Bias != nil {
			simd.Axpy(1, d, grad.Bias)
		}
		if n.Gain != nil {
			if grad.Gain != nil {
				gg := grad.Gain[:len(d)]
				for i, v := range d {
					gg[i] += float32(v * h[i])
				}
			}
			g := n.Gain[:len(d)]
			for i, v := range d {
				d[i] = v * g[i]
			}
		}
		m := float32(0)
		if !n.RMS {
			m = float32(simd.Sum(d) / float64(n.Width))
		}
		c := simd.Dot(d, h) / float32(n.Width)
		for i, v := range d {
			o[i] += float32(k * (v - m - float32(h[i]*c)))
		}
	}
}
