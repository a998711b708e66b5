package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// quadratic is the problem min_x ½γ·xᵀΣx − μᵀx over weights x ≥ 0, Σ_j x_j = 1. It is solved by
// accelerated projected gradients (Beck and Teboulle 2009), restarted where the momentum points
// uphill (O'Donoghue and Candès 2015). With g the gradient, the Frank–Wolfe gap gᵀx − min_j g_j
// bounds the excess of the objective over its minimum.
type quadratic struct {
	cov  covariance
	mean []float64 // expected returns μ
	top  float64   // upper bound on the largest eigenvalue of Σ
}

// Maximum number of iterations, and the gap, relative to the gradient, at which solve stops.
const (
	mostIterations = 20000 // maximum number of iterations
	gapTolerance   = 1e-9  // gap, relative to the gradient, at which solve stops
)

func newQuadratic(m *market) *quadratic {
	q := &quadratic{cov: m.cov, mean: m.mean}
	n := len(m.mean)
	x, y := slices.Repeat([]float64{1}, n), make([]float64, n)
	for range 50 { // power iterations
		m.cov.times(y, x, nil, nil)
		size := math.Sqrt(dot(y, y))
		if !(size > 0) {
			break
		}
		q.top = size / math.Sqrt(dot(x, x))
		for i, v := range y {
			x[i] = v / size
		}
	}
	q.top *= 1.2 // they come from below
	return q
}

// solve moves x to the optimum and returns its gap. It weighs the variance by gamma and the mean
// by mean.
func (q *quadratic) solve(ctx context.Context, x []float64, gamma, mean float64) (gap float64, err error) {
	n := len(x)
	y, old, g := slices.Clone(x), slices.Clone(x), make([]float64, n)
	momentum := 1.0
	for k := range mostIterations {
		if err := poll.Err(ctx); err != nil {
			return 0, err
		}
		if k%10 == 0 {
			size := q.gradient(g, x, gamma, mean)
			if gap = dot(g, x) - slices.Min(g); gap <= gapTolerance*size {
				return gap, nil
			}
		}
		q.gradient(g, y, gamma, mean)
		copy(old, x)
		for i := range x {
			x[i] = y[i] - g[i]/(gamma*q.top)
		}
		onto(x)
		uphill := 0.0
		for i := range x {
			uphill += (y[i] - x[i]) * (x[i] - old[i])
		}
		next := (1 + math.Sqrt(1+4*momentum*momentum)) / 2
		if uphill > 0 {
			momentum, next = 1, 1
		}
		for i := range y {
			y[i] = x[i] + (momentum-1)/next*(x[i]-old[i])
		}
		momentum = next
	}
	return gap, nil
}

// gradient stores in g the gradient γΣx − mean·μ and returns the largest magnitude of an entry.
func (q *quadratic) gradient(g, x []float64, gamma, mean float64) (size float64) {
	q.cov.times(g, x, nil, nil)
	for i := range g {
		g[i] = gamma*g[i] - mean*q.mean[i]
		size = max(size, math.Abs(g[i]))
	}
	return size
}

// onto projects x onto the nearest weights.
func onto(x []float64) {
	sorted := slices.Clone(x)
	slices.Sort(sorted)
	sum, tau := 0.0, 0.0
	for k := len(sorted) - 1; k >= 0; k-- {
		sum += sorted[k]
		t := (sum - 1) / float64(len(sorted)-k)
		if sorted[k] <= t {
			break
		}
		tau = t
	}
	for i, v := range x {
		x[i] = max(0, v-tau)
	}
}

// least returns the weights with the least variance.
func (q *quadratic) least(ctx context.Context) ([]float64, error) {
	n := len(q.mean)
	x := slices.Repeat([]float64{1 / float64(n)}, n)
	_, err := q.solve(ctx, x, 1, 0)
	return x, err
}

// within returns the weights with the highest return and a variance of at most v, by bisection
// in γ. It also returns an upper bound on the return of such weights, by Lagrange duality. The
// variance is convex, so that the bound also holds on average for portfolios whose mean variance
// is at most v.
func (q *quadratic) within(ctx context.Context, v float64) (x []float64, bound float64, err error) {
	x, err = q.least(ctx)
	if err != nil {
		return nil, 0, err
	}
	if low := q.variance(x); low > v*(1+1e-6) {
		return nil, 0, fmt.Errorf("the least variance is %.4g, want at most %.4g: raise -budget", low, v)
	}
	level := 0.0
	for _, m := range q.mean {
		level = max(level, math.Abs(m))
	}
	bound = math.Inf(1)
	y := slices.Clone(x)
	low, high := math.Log(level/q.top)-12, math.Log(level/v)+12
	for range 40 {
		gamma := math.Exp((low + high) / 2)
		gap, err := q.solve(ctx, y, gamma, 1)
		if err != nil {
			return nil, 0, err
		}
		s := q.variance(y)
		bound = min(bound, dot(q.mean, y)-gamma/2*(s-v)+gap)
		if s > v {
			low = math.Log(gamma)
			continue
		}
		high = math.Log(gamma)
		copy(x, y)
	}
	return x, bound, nil
}

// variance returns xᵀΣx.
func (q *quadratic) variance(x []float64) float64 {
	s := make([]float64, len(x))
	q.cov.times(s, x, nil, nil)
	return dot(x, s)
}
