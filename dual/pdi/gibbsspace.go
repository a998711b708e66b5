package pdi

// gibbsSpace is what one worker needs.
type gibbsSpace struct {
	y, s          []float32 // per candidate
	eps           []float32 // per candidate, or pair of them
	e, shift      []float64
	center, width []float64 // of the candidates of a state
}

func newGibbsSpace(o GibbsOptions, n int) gibbsSpace {
	k := o.Candidates
	drawn := k
	if o.Antithetic {
		drawn = (k + 1) / 2
	}
	return gibbsSpace{y: make([]float32, k*n), s: make([]float32, k*n), eps: make([]float32, drawn*n),
		e: make([]float64, k), shift: make([]float64, n), center: make([]float64, n), width: make([]float64, n)}
}

// negligible is the weight, relative to the largest, below which a candidate moves no
// bit of a sum in float64 unless its score is 2²⁷ times as large.
const negligible = 0x1p-80

// keep moves the candidates that count to the front, in their order, and returns their
// weights: at high noise these are a few, and a score costs more than an energy.
func (b *gibbsSpace) keep(n int) []float64 {
	kept := 0
	for k, w := range b.e {
		if w < negligible {
			continue
		}
		if kept < k {
			b.e[kept] = w
			copy(b.y[kept*n:(kept+1)*n], b.y[k*n:(k+1)*n])
		}
		kept++
	}
	return b.e[:kept]
}
