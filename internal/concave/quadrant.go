package concave

import "math"

// quadrant maximises quadratic models over multipliers λ_j ≥ 0, or of either sign
// where free, by an active set (Lawson and Hanson 1974). It keeps scratch.
type quadrant struct {
	free      []bool
	in        []bool // the passive set: multipliers that are not held at 0
	list      []int
	a, d, off []float64
}

func newQuadrant(free []bool, n int) *quadrant {
	return &quadrant{free: free, in: make([]bool, n), list: make([]int, 0, n), a: make([]float64, n*n), d: make([]float64, n), off: make([]float64, n)}
}

// pushed is the slope, relative to the largest, that lets a multiplier go from 0.
const pushed = 1e-12

// runaway is how far a multiplier moves in a direction in which the model is linear.
const runaway = 1e10

// maximize stores in z the maximum of gᵀδ − ½δᵀ(H + μ·diag H)δ, δ = z − λ, over
// the multipliers allowed, and returns what the model gains without its damping.
// ok is false if the curvature is singular in spite of it.
func (q *quadrant) maximize(z, lambda, g, h []float64, mu float64) (gain float64, ok bool) {
	n := len(lambda)
	copy(z, lambda)
	largest := 0.0
	for j, v := range lambda {
		q.in[j] = v > 0 || q.free != nil && q.free[j]
		largest = max(largest, math.Abs(g[j]))
	}
	for j := range n {
		if !q.in[j] || h[j*n+j] > 0 || g[j] == 0 { // else the model is a straight line
			continue
		}
		if free := q.free != nil && q.free[j]; free || g[j] > 0 {
			z[j] += math.Copysign(runaway, g[j])
			return float64(runaway * math.Abs(g[j])), true
		}
		z[j], q.in[j] = 0, false
	}
	for range 3*n + 10 {
		if !q.settle(z, lambda, g, h, mu) {
			return 0, false
		}
		// The multiplier at 0 that is pushed up hardest joins.
		best, to := pushed*largest, -1
		for j := range n {
			if q.in[j] {
				continue
			}
			if s := g[j] - q.slope(j, z, lambda, h, mu); s > best {
				best, to = s, j
			}
		}
		if to < 0 {
			break
		}
		if !(h[to*n+to] > 0) { // nothing holds it back
			copy(z, lambda)
			z[to] += runaway
			return float64(runaway * g[to]), true
		}
		q.in[to] = true
	}
	for j := range n {
		d := z[j] - lambda[j]
		if d == 0 {
			continue
		}
		sum := 0.0
		for k := range n {
			sum += float64(h[j*n+k] * (z[k] - lambda[k]))
		}
		gain += float64(d * (g[j] - float64(sum/2)))
	}
	return gain, true
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

// settle moves z to the maximum over the passive set, taking out those that meet
// 0 on the way.
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
