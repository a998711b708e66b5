package concave

import "math"

// Quadratic is the concave function
//
//	q(δ) = ḡᵀδ − ½·Scale·δᵀ(C + diag H)δ
//
// on a box: the model of a dual function that a step of a rule maximises. C is
// symmetric and positive semidefinite, n × n; a coordinate where C_jj + H_j = 0
// stays at 0.
type Quadratic struct {
	Mean, C, H []float64
	Scale      float64
	Low, High  []float64 // Low ≤ 0 ≤ High

	Residual []float64 // ḡ − Scale·C·δ after Maximize
}

// Maximize stores in d the maximum over the box, found by coordinate ascent from 0 with
// sweeps forward and backward by turns, at most as many as allowed or until one no longer
// moves a coordinate by more than 10⁻⁴ standard deviations, and returns dᵀ(C + diag H)d.
// Clipping a Newton step instead of solving on the box breaks down with many bounds.
func (q *Quadratic) Maximize(d []float64, sweeps int) float64 {
	n := len(d)
	clear(d)
	copy(q.Residual, q.Mean)
	for sweep := range sweeps {
		moved := 0.0
		for i := range n {
			j := i
			if sweep&1 == 1 {
				j = n - 1 - i
			}
			moved = max(moved, q.ascend(d, j))
		}
		if moved < settled/q.Scale {
			break
		}
	}
	sum := 0.0
	for j, v := range d {
		sum += float64(v * ((q.Mean[j]-q.Residual[j])/q.Scale + float64(q.H[j]*v)))
	}
	return sum
}

// ascend maximises over coordinate j and returns how far that moved it, in
// standard deviations of C.
func (q *Quadratic) ascend(d []float64, j int) float64 {
	n := len(d)
	own := q.C[j*n+j]
	curvature := float64((own + q.H[j]) * q.Scale)
	if !(curvature > 0) {
		return 0
	}
	slope := q.Residual[j] - float64(float64(q.H[j]*q.Scale)*d[j])
	to := min(max(d[j]+slope/curvature, q.Low[j]), q.High[j])
	if to == d[j] {
		return 0
	}
	moved := to - d[j]
	d[j] = to
	subtract(q.Residual, q.C[j*n:j*n+n], float64(moved*q.Scale))
	return math.Abs(moved) * math.Sqrt(own)
}
