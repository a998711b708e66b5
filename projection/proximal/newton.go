package proximal

import (
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/activeset"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// newton solves the dual of the proximal problem,
//
//	max_y −½·yᵀAPAᵀy + yᵀAẑ − Σ_j support_j(y_j),  |y_j| ≤ cap_j,
//
// by the proximal point method on y. Each proximal step is computed by a semismooth Newton
// method on z. P is the metric, which is the identity if apply is nil.
//
// Let t = Az, u = y + σt, and p_j the clipped soft threshold of u_j. A proximal step finds the
// z where z − ẑ + PAᵀp vanishes. The derivative of this expression, I + σPA_TᵀA_T, involves
// only the set T of tight rows: those for which the threshold function is locally not constant.
// Its inverse is computed from a system of size |T|, (I/σ + A_TPA_Tᵀ)w = A_T·residual, by
// conjugate gradients. z is represented as ẑ + Pc, so that P is never inverted.
type newton struct {
	*slabs
	apply func(dst, src []float64) // computes dst = P·src; nil means the identity

	// Vectors by row. y holds the multipliers, which are kept between calls.
	y, p, t, dt, cap, keep []float64

	// Vectors by tight row.
	tight            []int32
	w, res, dir, img []float64

	// Vectors by variable. Without a metric, pr, pd and pc share memory with r, d and c.
	c, r, d, sum []float64
	pc, pr, pd   []float64

	steps int // Newton steps of the last run
	inner int // conjugate-gradient steps of the last run
	outer int
}

const (
	firstSigma  = 10    // σ of the first proximal step, for rows of norm 1
	sigmaGrowth = 3     // factor by which σ grows at every further step
	lastSigma   = 1e6   // largest σ; rounding errors of t, about 1e-16, are multiplied by σ in p
	proxTol     = 1e-12 // largest residual of the optimality conditions, for data of order 1
	outerSteps  = 60
	newtonSteps = 60
	patience    = 8 // proximal steps before the iteration looks for contradictions
	// rescueVariables is the largest number of variables for which the active-set method is the
	// fallback of Newton's method. The size of its factor is the square of this number.
	rescueVariables = 1000
	// proximal steps before the fallback; σ has then been at its largest value for five steps
	rescueAfter = 16
	rescueInner = 20000 // conjugate-gradient steps before the fallback
)

// newNewton returns an iteration for the rows of s.
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

// run improves the multipliers of rows 0 … m−1, starting from their present values, and stores
// c = −Aᵀy. It returns the residual of the optimality conditions, which is the largest |y_j −
// prox(y_j + t_j)|. The residual is at most tol unless the run failed. After a proximal step
// that does not converge, run calls contradiction, with the change of the multipliers in w.p.
// If contradiction returns true, the run ends.
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

// polish solves for the multipliers of the tight rows while all others stay fixed. It repeats this
// as long as the residual improves, and returns the residual. It is a proximal step with σ =
// 1/polishRidge, written for the change of y. If rows are nearly dependent, only such a large σ
// converges, but prox would multiply the rounding errors of t by it.
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
	quiet       = 4 // Newton steps after which the set of tight rows is assumed to be right
	polishBelow = 1 // residual below which polish is used, in units of the data
	// bound on the change of a multiplier by polish, relative to the largest multiplier
	polishReach = 1e2
	// regularisation of the system of polish; singular values below 3e-5 remain undetermined
	polishRidge = 1e-9
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

// products sets t to A(ẑ + pc). The argument z is ẑ.
func (w *newton) products(z []float64, m int) {
	for i, v := range z {
		w.sum[i] = v + w.pc[i]
	}
	for j := range m {
		w.t[j] = w.dot(j, w.sum)
	}
}

// multiply stores P·src in dst. Without a metric it does nothing, because dst and src share
// memory.
func (w *newton) multiply(dst, src []float64) {
	if w.apply != nil {
		w.apply(dst, src)
	}
}

// residual returns the largest |y − prox(y+t)| of rows 0 … m−1.
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

// step computes in w.p the proximal step from y, starting from c. It is inexact while
// multipliers still change much: the remaining residual r is at most slackness times the change
// that the rows still require.
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
	// rounding error of σ·t, relative to σ times the tolerance; the tolerance is 1e-12 for data
	// of order 1
	rounding = 1e-3
)

// threshold computes p from the present t.
func (w *newton) threshold(m int, sigma float64) {
	for j := range m {
		w.p[j] = prox(w.y[j]+float64(sigma*w.t[j]), sigma, w.lo[j], w.hi[j], w.cap[j])
	}
}

// classify lists the tight rows of p and returns the largest |p − y|.
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

// solve sets w.w to (εI + A_TPA_Tᵀ)⁻¹·res by conjugate gradients. It stops when the residual is at
// most least, or cgTol times its initial value.
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

// cgTol is the relative residual at which the system of a Newton step counts as solved.
// Newton's method ends in a finite number of steps if its systems are solved exactly, so a
// loose tolerance does not pay; see BenchmarkProximal.
const cgTol = 1e-8

// search returns the step length along d. The result is 1, unless the derivative of the
// objective along d has changed sign there. In that case it is approximately the zero of the
// derivative. The objective is convex and piecewise quadratic, so the derivative is increasing
// and piecewise linear. search leaves in w.p the multipliers for the returned length.
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

// slope computes p at t + a·dt and returns the derivative of the objective along d at this
// point. quadratic is the part of the derivative that does not depend on the rows.
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

// turned is the fraction of the initial derivative up to which a step may overshoot.
const turned = 0.1

// Certificate measures the quality of a solution. Its numbers are computed from the solution
// alone, so they are valid even if the iteration failed.
type Certificate struct {
	// Violation is the largest amount by which an inequality is violated, in the units of its
	// row.
	Violation float64

	// Gap is the duality gap of the penalty form (see [Projector]). The objective at the solution z
	// exceeds the minimum of the objective by at most Gap. For the minimiser z*, ½‖z − z*‖² ≤ Gap,
	// in the norm of the Metric if that is set. In the hard form, Gap is the error of complementary
	// slackness,
	//
	//	Σ_j |support_j(y_j) − y_j·t_j|.
	//
	// Here y_j is the multiplier of row j, and t_j is the value of the row at z. The function
	// support_j(y) is the maximum of y·t over all values t that the row allows. With curved
	// inequalities, Gap refers to the last linearisation.
	//
	// Gap is ≥ 0. It includes an allowance for rounding errors, 2⁻⁵⁰ of the sum of its terms.
	Gap float64

	// Contradiction is true if no z satisfies the linear inequalities. The solution then belongs to
	// the penalty form (see [Projector]) with γ = [SoftGamma].
	Contradiction bool

	// Steps is the number of Newton steps, including steps of the active-set method. Inner is the
	// number of conjugate-gradient steps, and Outer the number of linearisations.
	Steps, Inner, Outer int
}

// gapRounding is the rounding error of a term of the gap, relative to the penalty in the term.
const gapRounding = 0x1p-50

// certify computes the certificate of z, the solution just found.
func (w *newton) certify(c *Certificate, z []float64, scale float64) {
	c.Violation, c.Gap = w.emptyViolation, 0
	c.Contradiction = c.Contradiction || w.emptyViolation > leastSlack
	for j := range w.len() {
		t := w.dot(j, z)
		far := w.distance(j, t)
		c.Violation = max(c.Violation, far*w.norm[j])
		gap := w.support(j, w.y[j]) - float64(w.y[j]*t)
		if math.IsInf(w.cap[j], 1) {
			c.Gap += math.Abs(gap) / scale
			continue
		}
		penalty := float64(w.cap[j] * far)
		c.Gap += (max(0, gap+penalty) + float64(gapRounding*penalty)) / scale
	}
}

// closed computes the multipliers of the rows that have a closed form, and adds their part of
// −Aᵀy to c. z is ẑ. It returns false if hard bounds of one variable contradict each other,
// with the proof in p.
func (w *newton) closed(z []float64) bool {
	clear(w.p[w.coupled:])
	for j := w.coupled; j < w.single; j++ {
		w.y[j] = prox(w.dot(j, z), 1, w.lo[j], w.hi[j], w.cap[j])
		w.axpy(j, -w.y[j], w.c)
	}
	for g := range w.groups {
		c := &w.groups[g]
		v := z[c.variable]
		if math.IsInf(w.cap[c.from], 1) {
			x, ok := w.clip(c, v)
			if !ok {
				return false
			}
			w.c[c.variable] = x - v
			continue
		}
		x := w.kinked(c, v)
		w.share(c, v, x)
		w.c[c.variable] = x - v
	}
	return true
}

// roundedApart is the largest relative difference between bounds of one variable that counts as
// rounding. Rows with different factors may express the same bound slightly differently.
const roundedApart = 1e-12

// clip returns the point nearest to v within the bounds of c. ok is false if the bounds
// contradict each other.
func (w *newton) clip(c *column, v float64) (x float64, ok bool) {
	low, high := c.from, c.from
	for j := c.from; j < c.to; j++ {
		w.y[j] = 0
		if w.lo[j] > w.lo[low] {
			low = j
		}
		if w.hi[j] < w.hi[high] {
			high = j
		}
	}
	lo, hi := w.lo[low], w.hi[high]
	if gap := lo - hi; gap > 0 && gap <= max(2*leastSlack, roundedApart*max(math.Abs(lo), math.Abs(hi))) {
		lo = hi + float64(gap/2) // one number, rounded in two ways
		hi = lo
	}
	switch {
	case lo > hi:
		w.p[low], w.p[high] = -1, 1
		return v, false
	case v < lo:
		w.y[low] = v - lo
		return lo, true
	case v > hi:
		w.y[high] = v - hi
		return hi, true
	}
	return v, true
}

// kinked returns the minimiser of ½(x−v)² + Σ_j cap_j·distance_j(x) over the rows j of c.
// Between knots, the derivative is x − v plus a constant. At every knot it jumps up.
func (w *newton) kinked(c *column, v float64) float64 {
	x, below := v, math.Inf(-1)
	for _, k := range c.knot {
		left, right := k-v, k-v
		for j := c.from; j < c.to; j++ {
			limit := w.cap[j]
			if k > w.hi[j] {
				left += limit
			}
			if k >= w.hi[j] {
				right += limit
			}
			if k <= w.lo[j] {
				left -= limit
			}
			if k < w.lo[j] {
				right -= limit
			}
		}
		if left > 0 {
			return max(k-left, below) // not below the last knot by rounding
		}
		if right >= 0 {
			return k
		}
		x, below = max(k-right, k), k // unless a further knot stops it
	}
	return x
}

// share sets the multipliers of c at its minimiser x. The rows whose knot is x share the part
// of v − x that the other rows leave.
func (w *newton) share(c *column, v, x float64) {
	rest := v - x
	for j := c.from; j < c.to; j++ {
		w.y[j] = 0
		switch {
		case x > w.hi[j]:
			w.y[j] = w.cap[j]
		case x < w.lo[j]:
			w.y[j] = -w.cap[j]
		}
		rest -= w.y[j]
	}
	for j := c.from; j < c.to; j++ {
		give := 0.0
		if x == w.hi[j] && rest > 0 {
			give = min(rest, w.cap[j])
		} else if x == w.lo[j] && rest < 0 {
			give = max(rest, -w.cap[j])
		}
		w.y[j] += give
		rest -= give
	}
}

// ascend improves the multipliers of rows 0 … m−1 by coordinate ascent on the dual: each
// multiplier in turn is set to its best value. Every sweep improves the dual, whatever the
// rows, so this is the fallback if Newton's method fails. If rows are nearly dependent, the
// improvement is small. It returns the residual of the optimality conditions.
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

// sweepsPerCheck is the number of sweeps between two checks of the residual. A check costs
// about as much as a sweep.
const sweepsPerCheck = 8

// coordinate maximises the dual over y_j. As a function of y_j, the dual is quadratic with
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

// fallbackSweeps bounds the number of sweeps of coordinate ascent. A sweep costs as much as a
// conjugate-gradient step on all rows.
const fallbackSweeps = 20000

// finite sets multipliers that are NaN to 0.
func (w *newton) finite(m int) {
	for j, y := range w.y[:m] {
		if math.IsNaN(y) {
			w.y[j] = 0
		}
	}
}

const (
	reduceStarts = 20 // number of starting points from which reduce looks for a contradiction
	// largest number of rows of a contradiction for which reduce tries to omit every single row
	reduceRows = 100
)

// reduce shortens the proof in p that some of the first rows rows exclude each other. It looks
// for the shortest proof that the active-set method finds from a number of random points, and
// then removes rows that are not needed.
func (w *newton) reduce(rows int) {
	r := &reduction{newton: w, rows: rows, dense: newDense(w, false), limit: make([]float64, w.len()), y: make([]float64, w.len()), v: make([]float64, w.n), old: make([]float64, w.len())}
	largest := 0.0
	for _, p := range w.p {
		largest = max(largest, math.Abs(p))
	}
	copy(r.old, w.p)
	for j, p := range w.p {
		if math.Abs(p) <= 1e-6*largest { // it only cancels rounding errors
			w.p[j] = 0
		}
	}
	if !w.tightens() {
		copy(w.p, r.old)
		w.tightens()
	}
	if w.n <= rescueVariables {
		for j := range rows {
			r.limit[j] = math.Inf(1)
		}
		r.scatter()
	} else {
		r.only()
		r.find()
	}
	if r.only() <= reduceRows {
		r.spare()
	}
}

// reduction is the search for a short proof that rows exclude each other. A row with limit 0 is
// left out.
type reduction struct {
	*newton
	*dense
	rows        int
	limit, y, v []float64
	old         []float64 // the proof before the present attempt
}

// find looks for a proof starting from the point v, and stores it in p if it is shorter than
// the present one. It returns false if there is none, or if rounding errors spoil the one it
// finds.
func (r *reduction) find() bool {
	clear(r.y)
	if r.plain.Solve(r.x, r.y, r.v, r.limit, r.rows, 0) != activeset.Infeasible {
		return false
	}
	rows, weights := r.plain.Conflict()
	count := 0
	for _, p := range r.p {
		if p != 0 {
			count++
		}
	}
	copy(r.old, r.p)
	r.show(rows, weights)
	sound := r.tightens()
	if !sound || len(rows) > count {
		copy(r.p, r.old)
	}
	return sound
}

// scatter looks for proofs starting from random points of the magnitude of the bounds.
func (r *reduction) scatter() {
	size := 1.0
	for j := range r.rows {
		for _, b := range [2]float64{r.lo[j], r.hi[j]} {
			if !math.IsInf(b, 0) {
				size = max(size, math.Abs(b))
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range reduceStarts {
		for i := range r.v {
			u := float64(rng.Float64()) // rounded: a compiler may fuse its last product
			r.v[i] = 2 * size * (float64(2*u) - 1)
		}
		r.find()
	}
	clear(r.v)
}

// only leaves out all rows except those of the proof in p, and returns their number.
func (r *reduction) only() (count int) {
	for j, p := range r.p {
		r.limit[j] = 0
		if p != 0 {
			r.limit[j] = math.Inf(1)
			count++
		}
	}
	return count
}

// spare tries to leave out each row of the proof in turn.
func (r *reduction) spare() {
	for j := range r.rows {
		if r.limit[j] == 0 {
			continue
		}
		r.limit[j] = 0
		if r.find() {
			r.only()
			continue
		}
		r.limit[j] = math.Inf(1)
	}
}
