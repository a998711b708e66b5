package concave

import "math"

// quadrant maximises quadratic models by an active set (Lawson and Hanson 1974). The multipliers
// satisfy λ_j ≥ 0, or have either sign where free is true. It keeps scratch for one goroutine.
type quadrant struct {
	free []bool
	in   []bool // passive set: multipliers that are not held at 0
	list []int
	a, d []float64

	unit float64
	size []float64 // square roots of the diagonal of the curvature
	// point, multipliers, gradient and curvature of the model, in units of size
	z, l, g, hh []float64
}

func newQuadrant(free []bool, n int, unit float64) *quadrant {
	return &quadrant{free: free, in: make([]bool, n), list: make([]int, 0, n), a: make([]float64, n*n), d: make([]float64, n),
		unit: unit, size: make([]float64, n), z: make([]float64, n), l: make([]float64, n), g: make([]float64, n), hh: make([]float64, n*n)}
}

// pushed is the slope above which a multiplier leaves 0, relative to the largest slope.
const pushed = 1e-12

// frozen is the slope, in standard deviations, above which the curvature is useless for choosing a
// step length. The curvature then depends on states with almost no probability.
const frozen = 1e30

// maximize stores in z the maximum of gᵀδ − ½δᵀ(H + μ·diag H)δ, δ = z − λ, over the allowed
// multipliers. If the model is almost linear in one multiplier, it instead takes the step along
// that multiplier that gains one unit of value. It returns ok = false if the curvature is singular
// in spite of the damping.
func (q *quadrant) maximize(z, lambda, g, h []float64, mu float64) (ok bool) {
	n := len(lambda)
	for j, v := range lambda {
		q.size[j] = math.Sqrt(h[j*n+j])
		if g[j] == 0 || !(math.Abs(g[j]) > frozen*q.size[j]*math.Sqrt(q.unit)) {
			continue
		}
		free := q.free != nil && q.free[j]
		if g[j] < 0 && !free && v == 0 {
			continue
		}
		copy(z, lambda)
		z[j] += q.unit / g[j]
		if !free {
			z[j] = max(z[j], 0)
		}
		return true
	}
	for j := range n {
		q.g[j], q.l[j] = g[j], lambda[j]
		if s := q.size[j]; s > 0 {
			q.g[j], q.l[j] = g[j]/s, lambda[j]*s
		}
		for k := range n {
			q.hh[j*n+k] = h[j*n+k]
			if s := q.size[j]; s > 0 && q.size[k] > 0 {
				q.hh[j*n+k] = h[j*n+k] / s / q.size[k]
			}
		}
	}
	if !q.scaled(q.z, q.l, q.g, q.hh, mu) {
		return false
	}
	for j, v := range q.z {
		switch {
		case v == q.l[j]:
			z[j] = lambda[j]
		case q.size[j] > 0:
			z[j] = v / q.size[j]
		default:
			z[j] = v
		}
	}
	return true
}

// scaled does the work of maximize for a scaled model. The diagonal of H must be 1, or 0 where g_j
// is not positive.
func (q *quadrant) scaled(z, lambda, g, h []float64, mu float64) (ok bool) {
	n := len(lambda)
	copy(z, lambda)
	largest := 0.0
	for j, v := range lambda {
		q.in[j] = (v > 0 || q.free != nil && q.free[j]) && h[j*n+j] > 0
		if q.in[j] {
			largest = max(largest, math.Abs(g[j]))
		}
		largest = max(largest, g[j])
	}
	for range 3*n + 10 {
		if !q.settle(z, lambda, g, h, mu) {
			return false
		}
		// The multiplier at 0 with the largest positive slope joins the passive set.
		best, to := pushed*largest, -1
		for j := range n {
			if q.in[j] || !(h[j*n+j] > 0) {
				continue
			}
			if s := g[j] - q.slope(j, z, lambda, h, mu); s > best {
				best, to = s, j
			}
		}
		if to < 0 {
			break
		}
		q.in[to] = true
	}
	return true
}

// slope returns row j of (H + μ·diag H)(z − λ).
func (q *quadrant) slope(j int, z, lambda, h []float64, mu float64) float64 {
	n := len(z)
	sum := float64(float64(mu*h[j*n+j]) * (z[j] - lambda[j]))
	for k, v := range h[j*n : j*n+n] {
		sum += float64(v * (z[k] - lambda[k]))
	}
	return sum
}

// settle moves z to the maximum over the passive set. It removes from the set every multiplier
// that reaches 0 on the way. It returns false if the curvature is singular.
func (q *quadrant) settle(z, lambda, g, h []float64, mu float64) bool {
	n := len(z)
	for {
		q.list = q.list[:0]
		for j := range n {
			if q.in[j] {
				q.list = append(q.list, j)
			}
		}
		m := len(q.list)
		a, d := q.a[:m*m], q.d[:m]
		for p, i := range q.list {
			// δ is −λ where a multiplier is held at 0.
			right := g[i]
			for k := range n {
				if !q.in[k] && lambda[k] != 0 {
					right += float64(h[i*n+k] * lambda[k])
				}
			}
			d[p] = right
			for r, j := range q.list {
				a[p*m+r] = h[i*n+j]
			}
			a[p*m+p] += float64(mu * h[i*n+i])
		}
		if !SolvePositive(a, d) {
			return false
		}
		step, hit := 1.0, -1
		for p, j := range q.list {
			to := lambda[j] + d[p]
			if to > 0 || q.free != nil && q.free[j] {
				continue
			}
			part := 0.0
			if z[j] > to {
				part = z[j] / (z[j] - to)
			}
			if part < step || hit < 0 {
				step, hit = min(part, 1), j
			}
		}
		for p, j := range q.list {
			z[j] += float64(step * (lambda[j] + d[p] - z[j]))
		}
		if hit < 0 {
			return true
		}
		z[hit], q.in[hit] = 0, false
		for _, j := range q.list {
			if q.in[j] && z[j] <= 0 && (q.free == nil || !q.free[j]) {
				z[j] = 0
			}
		}
	}
}
