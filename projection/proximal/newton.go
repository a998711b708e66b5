package proximal

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// newton solves the dual of the proximal problem,
//
//	max_y −½·yᵀAPAᵀy + yᵀAẑ − Σ_j support_j(y_j),  |y_j| ≤ cap_j,
//
// by the proximal point method on y, whose steps it finds by a semismooth
// Newton method on z. P is the metric, the identity if apply is nil.
//
// With t = Az, u = y + σt and p_j the clipped soft threshold of u_j, a step is
// the z where z − ẑ + PAᵀp vanishes. The derivative of that, I + σPA_TᵀA_T,
// has only the tight rows T in it, those strictly inside a piece of the
// threshold that is not flat; its inverse goes through a system as large as T,
// (I/σ + A_TPA_Tᵀ)w = A_T·residual, by conjugate gradients. z is kept as
// ẑ + Pc, so that P is multiplied with but never inverted.
type newton struct {
	*slabs
	apply func(dst, src []float64) // dst = P·src

	// By row. y is the multiplier, kept between calls.
	y, p, t, dt, cap, keep []float64

	// By tight row.
	tight            []int32
	w, res, dir, img []float64

	// By variable. Without a metric pr, pd and pc are r, d and c.
	c, r, d, sum []float64
	pc, pr, pd   []float64

	steps int // Newton steps of the last run
	inner int // and conjugate gradient steps
	outer int
}

const (
	firstSigma  = 10    // of the first proximal step, for rows of norm 1
	sigmaGrowth = 3     // of every further one
	lastSigma   = 1e6   // rounding errors of t, 1e-16, come out of p multiplied by it
	proxTol     = 1e-12 // largest residual of the optimality conditions, for data of order 1
	outerSteps  = 60
	newtonSteps = 60
	patience    = 8 // proximal steps before contradictions are looked for
	// rescueVariables is the largest number of variables for which the active set is the
	// fallback of Newton's method; its factor is of this size squared.
	rescueVariables = 1000
	rescueAfter     = 16    // proximal steps; σ has been at its last value for five
	rescueInner     = 20000 // steps of conjugate gradients
)

// newNewton returns the iteration for the rows of s.
func newNewton(s *slabs, metric bool) *newton {
	m, n := s.len(), s.n
	rows := make([]float64, 10*m)
	cut := func(k int) []float64 { v := rows[:k:k]; rows = rows[k:]; return v }
	w := &newton{
		slabs: s,
		y:     cut(m), p: cut(m), t: cut(m), dt: cut(m), cap: cut(m), keep: cut(m),
		w: cut(m), res: cut(m), dir: cut(m), img: cut(m),
		tight: make([]int32, 0, m),
		c:     make([]float64, n), r: make([]float64, n), d: make([]float64, n), sum: make([]float64, n),
	}
	w.pc, w.pr, w.pd = w.c, w.r, w.d
	if metric {
		w.pc, w.pr, w.pd = make([]float64, n), make([]float64, n), make([]float64, n)
	}
	return w
}

// run improves the multipliers of rows 0 … m−1 from where they are, and leaves
// c = −Aᵀy. It returns the residual of the optimality conditions, the largest
// |y_j − prox(y_j + t_j)|, which is at most tol unless it failed. contradiction
// is called with the change of the multipliers after every proximal step that
// failed to converge; true ends the run.
func (w *newton) run(z []float64, m int, tol float64, contradiction func() bool) (residual float64) {
	w.steps, w.inner, w.outer = 0, 0, 0
	sigma := float64(firstSigma)
	for j, y := range w.y[:m] {
		w.y[j] = min(max(y, -w.cap[j]), w.cap[j])
	}
	w.expand(w.y, m)
	w.products(z, m)
	residual = w.residual(m)
	for k := range outerSteps {
		if w.n <= rescueVariables && (k >= rescueAfter || w.inner > rescueInner) {
			return residual
		}
		if residual <= tol || math.IsNaN(residual) {
			return residual
		}
		if k >= patience && contradiction != nil && contradiction() {
			return residual
		}
		before := w.steps
		w.outer++
		w.step(m, sigma, tol)
		// What moved, p − y, is what a contradiction shows in.
		for j, p := range w.p[:m] {
			w.p[j], w.y[j] = p-w.y[j], p
		}
		w.expand(w.y, m)
		w.products(z, m)
		residual = w.residual(m)
		if w.steps-before <= quiet {
			residual = w.polish(z, m, sigma, tol, residual)
		}
		sigma = min(sigma*sigmaGrowth, lastSigma)
	}
	return residual
}

// polish solves for the multipliers of the tight rows with all others as they
// are, as long as that improves the residual, and returns it. It is the
// proximal step with σ = 1/polishRidge, written for the change of y: where rows
// are nearly dependent it takes such a σ to converge, and prox would multiply
// the rounding errors of t with it.
func (w *newton) polish(z []float64, m int, sigma, tol, residual float64) float64 {
	ridge := polishRidge
	for residual > tol && residual < polishBelow {
		copy(w.dt, w.p) // the step, in which contradictions show
		copy(w.keep, w.y)
		w.threshold(m, sigma)
		w.classify(m)
		for j, p := range w.p[:m] {
			if p == 0 || math.Abs(p) >= w.cap[j] {
				w.y[j] = p
			}
		}
		w.expand(w.y, m)
		w.products(z, m)
		for i, j := range w.tight {
			bound := w.hi[j]
			if w.p[j] < 0 {
				bound = w.lo[j]
			}
			w.res[i] = w.t[j] - bound
		}
		w.solve(ridge, tol/10)
		largest, moved := 1.0, 0.0
		for i, j := range w.tight {
			largest = max(largest, math.Abs(w.y[j]))
			moved = max(moved, math.Abs(w.w[i]))
			w.y[j] = min(max(w.y[j]+w.w[i], -w.cap[j]), w.cap[j])
		}
		copy(w.p, w.dt)
		w.expand(w.y, m)
		w.products(z, m)
		now := w.residual(m)
		// Dependent rows that cannot all be tight pull their multipliers to
		// residual/ridge, from where there is no way back.
		if !(now < residual) || moved > polishReach*largest {
			copy(w.y, w.keep)
			w.expand(w.y, m)
			w.products(z, m)
			if ridge > polishRidge {
				return residual
			}
			ridge = 1 / sigma
			continue
		}
		residual = now
	}
	return residual
}

const (
	quiet       = 4    // Newton steps after which the tight rows may be right
	polishBelow = 1    // residuals, in units of data
	polishReach = 1e2  // how far polish may move multipliers, relative to the largest
	polishRidge = 1e-9 // of the system of polish: singular values below 3e-5 stay undecided
)

// expand stores −Aᵀy in c and P·c in pc.
func (w *newton) expand(y []float64, m int) {
	clear(w.c)
	for j, v := range y[:m] {
		if v != 0 {
			w.axpy(j, -v, w.c)
		}
	}
	w.multiply(w.pc, w.c)
}

// products stores A(ẑ + pc) in t.
func (w *newton) products(z []float64, m int) {
	for i, v := range z {
		w.sum[i] = v + w.pc[i]
	}
	for j := range m {
		w.t[j] = w.dot(j, w.sum)
	}
}

// multiply stores P·src in dst.
func (w *newton) multiply(dst, src []float64) {
	if w.apply != nil {
		w.apply(dst, src)
	}
}

// residual returns the largest |y − prox(y+t)|.
func (w *newton) residual(m int) float64 {
	worst := 0.0
	for j := range m {
		y := w.y[j]
		e := math.Abs(y - prox(y+w.t[j], 1, w.lo[j], w.hi[j], w.cap[j]))
		if !(e <= worst) {
			worst = e
		}
	}
	return worst
}

// step finds p, the proximal step from y, starting at c. It is inexact while multipliers move
// far: the remaining residual r is at most slackness times what the rows have still to change.
func (w *newton) step(m int, sigma, tol float64) {
	w.threshold(m, sigma)
	for range newtonSteps {
		moved := w.classify(m)
		if w.n <= rescueVariables && w.inner > rescueInner {
			return
		}
		copy(w.r, w.c)
		for j, p := range w.p[:m] {
			if p != 0 {
				w.axpy(j, p, w.r)
			}
		}
		w.multiply(w.pr, w.r)
		size := math.Sqrt(simd.Dot64(w.r, w.pr))
		if size <= max(tol/2, slackness*moved/sigma, rounding*sigma*tol) || math.IsNaN(size) {
			return
		}
		w.steps++
		for i, j := range w.tight {
			w.res[i] = w.dot(int(j), w.pr)
		}
		w.solve(1/sigma, 0)
		for i, r := range w.r {
			w.d[i] = -r
		}
		for k, j := range w.tight {
			w.axpy(int(j), w.w[k], w.d)
		}
		w.multiply(w.pd, w.d)
		for j := range m {
			w.dt[j] = w.dot(j, w.pd)
		}
		a := w.search(m, sigma)
		if a == 0 {
			w.threshold(m, sigma)
			return
		}
		for i, d := range w.d {
			w.c[i] += float64(a * d)
		}
		for j, d := range w.dt[:m] {
			w.t[j] += float64(a * d)
		}
	}
}

const (
	slackness = 0.1
	rounding  = 1e-3 // of σ·t relative to σ times the tolerance, which is 1e-12 of the data
)

// threshold stores p for the present t.
func (w *newton) threshold(m int, sigma float64) {
	for j := range m {
		w.p[j] = prox(w.y[j]+float64(sigma*w.t[j]), sigma, w.lo[j], w.hi[j], w.cap[j])
	}
}

// classify lists the tight rows of p, and returns the largest |p − y|.
func (w *newton) classify(m int) (moved float64) {
	w.tight = w.tight[:0]
	y, limit := w.y[:m], w.cap[:m]
	for j, p := range w.p[:m] {
		if e := math.Abs(p - y[j]); e > moved {
			moved = e
		}
		if p != 0 && math.Abs(p) < limit[j] {
			w.tight = append(w.tight, int32(j))
		}
	}
	return moved
}

// solve stores (εI + A_TPA_Tᵀ)⁻¹·res in w.w, by conjugate gradients, until the
// residual is at most cgTol of what it was, or least.
func (w *newton) solve(epsilon, least float64) {
	k := len(w.tight)
	x, res, dir, img := w.w[:k], w.res[:k], w.dir[:k], w.img[:k]
	clear(x)
	copy(dir, res)
	norm := simd.Dot64(res, res)
	stop := max(float64(norm*(cgTol*cgTol)), float64(least*least))
	for range 2*k + 10 {
		if norm <= stop {
			return
		}
		w.inner++
		clear(w.sum)
		for i, j := range w.tight {
			w.axpy(int(j), dir[i], w.sum)
		}
		src := w.sum
		if w.apply != nil {
			w.apply(w.pd, w.sum)
			src = w.pd
		}
		curve := 0.0
		for i, j := range w.tight {
			img[i] = w.dot(int(j), src) + float64(dir[i]*epsilon)
			curve += float64(img[i] * dir[i])
		}
		if !(curve > 0) {
			return
		}
		a := norm / curve
		next := 0.0
		for i := range x {
			x[i] += float64(a * dir[i])
			res[i] -= float64(a * img[i])
			next += float64(res[i] * res[i])
		}
		b := next / norm
		for i := range dir {
			dir[i] = res[i] + float64(b*dir[i])
		}
		norm = next
	}
}

// cgTol is the relative residual at which a Newton system counts as solved.
// Newton's method ends in a finite number of steps if its systems are solved
// exactly, so a loose tolerance does not pay; see BenchmarkProximal.
const cgTol = 1e-8

// search returns the step along d: 1 unless the derivative of the objective
// along d has turned there, then about its zero. The objective is convex and
// piecewise quadratic, so the derivative is increasing and piecewise linear. p
// is what belongs to the step returned.
func (w *newton) search(m int, sigma float64) float64 {
	at0 := simd.Dot64(w.d, w.pr)
	if !(at0 < 0) {
		return 0
	}
	dc, dd := simd.Dot64(w.d, w.pc), simd.Dot64(w.d, w.pd)
	at1 := w.slope(m, sigma, 1, dc+dd)
	if at1 <= -float64(turned*at0) {
		return 1
	}
	// Regula falsi with the Illinois rule.
	lo, hi, glo, ghi := 0.0, 1.0, at0, at1
	for range 30 {
		a := lo + float64((hi-lo)*(glo/(glo-ghi)))
		g := w.slope(m, sigma, a, dc+float64(a*dd))
		switch {
		case math.Abs(g) <= -float64(turned*at0):
			return a
		case g < 0:
			lo, glo, ghi = a, g, ghi/2
		default:
			hi, ghi, glo = a, g, glo/2
		}
	}
	w.slope(m, sigma, lo, 0)
	return lo
}

// slope stores p at t + a·dt and returns the derivative of the objective along
// d there, of which quadratic is the part that the rows have nothing to do with.
func (w *newton) slope(m int, sigma, a, quadratic float64) float64 {
	y, p, lo, hi, limit, t := w.y[:m], w.p[:m], w.lo[:m], w.hi[:m], w.cap[:m], w.t[:m]
	g := quadratic
	for j, dt := range w.dt[:m] {
		q := prox(y[j]+float64(sigma*(t[j]+float64(a*dt))), sigma, lo[j], hi[j], limit[j])
		p[j] = q
		g += float64(dt * q)
	}
	return g
}

// turned is the part of the first slope up to which a step may overshoot.
const turned = 0.1
