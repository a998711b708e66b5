package concave

import "math"

// Quadratic is the concave function
//
//	q(δ) = ḡᵀδ − ½·Scale·δᵀ(C + diag H)δ
//
// on a box. Here the field Mean holds ḡ, C is a symmetric positive semidefinite n × n matrix, and
// diag H is the diagonal matrix of H. The function models a dual function near the current
// multipliers, and δ is the change of the multipliers. To update multipliers, maximise a Quadratic
// in every step. A coordinate with C_jj + H_j = 0 stays at 0.
type Quadratic struct {
	Mean, C, H []float64
	Scale      float64
	Low, High  []float64 // bounds of the box: Low ≤ δ ≤ High, with Low ≤ 0 ≤ High

	Residual []float64 // n entries; Maximize stores ḡ − Scale·C·δ
}

// Maximize stores in d the point δ of the box at which q is largest, and returns dᵀ(C + diag H)d.
// It uses coordinate ascent from 0, with alternating forward and backward sweeps. It stops after
// the given number of sweeps, or when a sweep moves every coordinate j by less than
// 10⁻⁴/(Scale·√C_jj).
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

// ascend maximises q over coordinate j. It returns the distance that the coordinate moved, in
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

// settled is the move of a coordinate below which the search ends. The unit is a standard
// deviation divided by Scale.
const settled = 1e-4

// subtract subtracts c·row from r, which has the same length.
func subtract(r, row []float64, c float64) {
	r = r[:len(row)]
	for len(row) >= 4 && len(r) >= 4 {
		r[0] -= float64(c * row[0])
		r[1] -= float64(c * row[1])
		r[2] -= float64(c * row[2])
		r[3] -= float64(c * row[3])
		row, r = row[4:], r[4:]
	}
	for k, v := range row {
		r[k] -= float64(c * v)
	}
}

// SolvePositive replaces d by a⁻¹d for a symmetric positive definite matrix a. It overwrites the
// lower triangle of a with the Cholesky factor of a. It returns false if a is not positive
// definite. Unlike a library with assembly, it gives identical bits on every GOARCH.
func SolvePositive(a, d []float64) bool {
	n := len(d)
	for i := range n {
		for j := range i + 1 {
			v := a[i*n+j]
			for k := range j {
				v -= float64(a[i*n+k] * a[j*n+k])
			}
			if i > j {
				a[i*n+j] = v / a[j*n+j]
				continue
			}
			if !(v > 0) || math.IsInf(v, 1) {
				return false
			}
			a[i*n+i] = math.Sqrt(v)
		}
	}
	for i := range n {
		for k := range i {
			d[i] -= float64(a[i*n+k] * d[k])
		}
		d[i] /= a[i*n+i]
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			d[i] -= float64(a[k*n+i] * d[k])
		}
		d[i] /= a[i*n+i]
	}
	return true
}
