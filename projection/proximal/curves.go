package proximal

import (
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// curves holds smooth inequalities and their linearisation at the present point.
type curves struct {
	constraint.Curved
	count    int
	at       []float64 // present point z_k
	covector []float64 // P⁻¹(z_k − v), where P is the metric
	center   []float64
	next     []float64
	g, trial []float64
	grad     []float64
}

func newCurves(n int, f constraint.Curved) *curves {
	k := f.Len()
	cut := make([]float64, 5*n+2*k)
	take := func(n int) []float64 { v := cut[:n:n]; cut = cut[n:]; return v }
	return &curves{
		Curved: f, count: k,
		at: take(n), covector: take(n), center: take(n), next: take(n), grad: take(n), g: take(k), trial: take(k),
	}
}

// extend returns a copy of rows with one additional row per curve, which has capacity for a
// full row of entries.
func (c *curves) extend(rows *slabs) *slabs {
	n, m := rows.n, rows.len()+c.count
	s := *rows
	s.index = append(make([]int32, 0, len(rows.index)+n*c.count), rows.index...)
	s.value = append(make([]float64, 0, cap(s.index)), rows.value...)
	s.start, s.end = append(make([]int32, 0, m), rows.start...), append(make([]int32, 0, m), rows.end...)
	s.lo = append(make([]float64, 0, m), rows.lo...)
	s.hi = append(make([]float64, 0, m), rows.hi...)
	s.norm = append(make([]float64, 0, m), rows.norm...)
	s.factor = append(make([]float64, 0, m), rows.factor...)
	s.origin = append(make([]int32, 0, m), rows.origin...)
	for j := range c.count {
		at := int32(len(s.index))
		s.index, s.value = s.index[:len(s.index)+n], s.value[:len(s.value)+n]
		s.start, s.end, s.origin = append(s.start, at), append(s.end, at), append(s.origin, int32(rows.given+j))
		s.lo, s.hi = append(s.lo, math.Inf(-1)), append(s.hi, math.Inf(1))
		s.norm, s.factor = append(s.norm, 1), append(s.factor, 1)
	}
	return &s
}

// linearise replaces the rows of the curves by the tangents at the present point z_k, g_j +
// ∇g_j·(z − z_k) ≤ 0.
func (c *curves) linearise(s *slabs) {
	first := s.len() - c.count
	for k := range c.count {
		c.Gradient(c.grad, k, c.at)
		norm := math.Sqrt(simd.Dot64(c.grad, c.grad))
		j := first + k
		s.end[j] = s.start[j]
		if !(norm > 0) { // no direction is better than another
			s.hi[j], s.norm[j], s.factor[j] = math.Inf(1), 1, 1
			continue
		}
		for i, v := range c.grad {
			if v != 0 {
				s.index[s.end[j]], s.value[s.end[j]] = int32(i), v/norm
				s.end[j]++
			}
		}
		s.hi[j], s.norm[j], s.factor[j] = s.dot(j, c.at)-c.g[k]/norm, norm, norm
	}
}

// worst returns the largest violation of a curve at the present point, at least 0.
func (c *curves) worst() float64 {
	worst := 0.0
	for _, g := range c.g {
		if !(g <= worst) {
			worst = g
		}
	}
	return worst
}
