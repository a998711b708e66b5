package exact

import (
	"math"
)

// Ordinal gives a [Rugged] model numeric levels, unevenly spaced.
type Ordinal struct{ *Rugged }

func (m Ordinal) Values() []float32 {
	v := make([]float32, m.levels)
	for l := range v {
		v[l] = float32(l) + 0.1*float32(l*l)
	}
	return v
}

func (m Ordinal) Window(e []float64, g []float32, x []int32, w int) {
	whole := make([]float32, len(x)*m.levels)
	m.Gradient(e, whole, x)
	for i, at := range x {
		for c := range 2*w + 1 {
			l := int(at) + c - w
			g[i*(2*w+1)+c] = float32(math.Inf(1))
			if l >= 0 && l < m.levels {
				g[i*(2*w+1)+c] = whole[i*m.levels+l]
			}
		}
	}
}
