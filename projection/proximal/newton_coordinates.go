package proximal

import "math"

// ascend improves the multipliers of rows 0 … m−1 by coordinate ascent on the
// dual: each in turn takes its best value. Every sweep gains, whatever the
// rows, so this is the fallback when Newton's method fails; but where rows are
// nearly dependent the gain is small. It returns the residual as run does.
func (w *newton) ascend(z []float64, m, sweeps int, tol float64) (residual float64) {
	w.expand(w.y, m)
	for k := range sweeps {
		for j := range m {
			w.coordinate(z, j)
		}
		if k%sweepsPerCheck == sweepsPerCheck-1 || k == sweeps-1 {
			w.expand(w.y, m) // afresh: coordinate steps add up rounding errors
			w.products(z, m)
			if residual = w.residual(m); residual <= tol || math.IsNaN(residual) {
				return residual
			}
		}
	}
	return residual
}

// A check costs about as much as a sweep.
const sweepsPerCheck = 8

// coordinate maximises the dual over y_j. Along it the dual is quadratic with
// curvature a_jᵀPa_j, which is 1 without a metric.
func (w *newton) coordinate(z []float64, j int) {
	curve := 1.0
	if w.apply != nil {
		clear(w.d)
		w.axpy(j, 1, w.d)
		w.apply(w.pd, w.d)
		if curve = w.dot(j, w.pd); !(curve > 0) {
			return
		}
	}
	t := 0.0
	from, to := w.start[j], w.end[j]
	for k, i := range w.index[from:to] {
		t += float64(w.value[int(from)+k] * (z[i] + w.pc[i]))
	}
	y := prox(w.y[j]+t/curve, 1/curve, w.lo[j], w.hi[j], w.cap[j])
	step := w.y[j] - y
	if step == 0 {
		return
	}
	w.y[j] = y
	w.axpy(j, step, w.c)
	if w.apply != nil {
		for i, v := range w.pd {
			w.pc[i] += float64(step * v)
		}
	}
}

// fallbackSweeps bounds coordinate ascent; a sweep costs as much as a step of
// conjugate gradients on all rows.
const fallbackSweeps = 20000

// finite makes multipliers that are NaN 0.
func (w *newton) finite(m int) {
	for j, y := range w.y[:m] {
		if math.IsNaN(y) {
			w.y[j] = 0
		}
	}
}
