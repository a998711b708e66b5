package unlearn

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/concave"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/tilt"
)

// bounds writes a formulation with bounds on means as inequalities g ≤ 0 of the
// states with probability, whose energies are f0 = −log q.
func (u *Problem) bounds(f Formulation, b []float64) (f0, g []float64) {
	for k, q := range u.q {
		if q == 0 {
			continue
		}
		f0 = append(f0, -simd.Log(q))
		for i, v := range b {
			if f == DiscreteSafe {
				g = append(g, v+u.statistic(f, i, k))
			} else {
				g = append(g, u.statistic(f, i, k)-v)
			}
		}
	}
	return f0, g
}

// dual returns the dual function of a formulation, with its gradient and
// curvature; see the two below for the formulas.
func (u *Problem) dual(f Formulation, b []float64) concave.Func {
	switch f {
	case ReverseKL:
		return u.reverseDual(b)
	case ForwardKL:
		return u.forwardDual(b)
	}
	f0, g := u.bounds(f, b)
	m := len(b)
	list := tilt.New(1, m, nil)
	for k, e := range f0 {
		list.Append(e, g[k*m:(k+1)*m])
	}
	return list.Value
}

// reverseDual is D(λ) = λᵀb − (1−s) log Z_λ with the gradient b_i − KL(p_λ‖q_i)
// and the curvature Cov(log p_λ/q_i, log p_λ/q_j)/(1−s).
func (u *Problem) reverseDual(b []float64) concave.Func {
	n := len(b)
	l := make([]float64, n)
	return func(lambda, grad, curv []float64) float64 {
		p, err := u.law(ReverseKL, lambda)
		if err != nil {
			return math.Inf(-1) // s ≥ 1
		}
		c, value := 1.0, 0.0
		for i, v := range lambda {
			c -= v
			grad[i] = b[i] - KL(p, u.away[i])
			value += float64(v * grad[i])
		}
		// D is the Lagrangian at its minimum p_λ.
		value += KL(p, u.q)
		clear(curv)
		for k, v := range p {
			if v == 0 {
				continue
			}
			for i, a := range u.away {
				l[i] = simd.Log(v/a[k]) - (b[i] - grad[i])
			}
			for i := range n {
				for j := range n {
					curv[i*n+j] += float64(v*l[i]*l[j]) / c
				}
			}
		}
		return value
	}
}

// reverseLines is the dual of ReverseKL along lines of μ = λ/(1−s) ≥ 0, which has no bound
// s < 1: p_μ ∝ q·exp(Σμ_i l_i), l_i = log(q/q_i), is an exponential family, and lines of μ
// are lines of λ, on which D is concave. Its gradient and curvature are those of D over
// 1−s: h − λᵀh with h_i = b_i − KL(p‖q_i), and Cov(l).
func (u *Problem) reverseLines(b []float64) concave.Func {
	n := len(b)
	l := make([]float64, n)
	return func(mu, grad, curv []float64) float64 {
		lambda := fromNatural(mu)
		if lambda == nil {
			return math.Inf(-1)
		}
		p, mean := u.natural(mu)
		along, value := 0.0, KL(p, u.q)
		for i, v := range lambda {
			grad[i] = b[i] - KL(p, u.away[i])
			along += float64(v * grad[i])
		}
		for i := range grad {
			grad[i] -= along
		}
		clear(curv)
		for k, v := range p {
			if v == 0 {
				continue
			}
			for i, a := range u.away {
				l[i] = simd.Log(u.q[k]/a[k]) - mean[i]
			}
			for i := range n {
				for j := range n {
					curv[i*n+j] += float64(v * l[i] * l[j])
				}
			}
		}
		return value + along
	}
}

// natural returns p_μ and the means of log(q/q_i) under it.
func (u *Problem) natural(mu []float64) (p, mean []float64) {
	p, mean = make([]float64, len(u.q)), make([]float64, len(mu))
	for k, q := range u.q {
		if p[k] = simd.Log(q); q == 0 {
			continue
		}
		for i, a := range u.away {
			p[k] += float64(mu[i] * simd.Log(q/a[k]))
		}
	}
	tilt.Normalize(p)
	for k, v := range p {
		if v > 0 {
			for i, a := range u.away {
				mean[i] += float64(v * simd.Log(u.q[k]/a[k]))
			}
		}
	}
	return p, mean
}

// mostNatural bounds Σμ = s/(1−s): beyond it λ, which has 16 digits of s, no longer tells
// distributions apart.
const mostNatural = 1e7

// fromNatural returns λ = μ/(1+Σμ), nil beyond mostNatural.
func fromNatural(mu []float64) []float64 {
	sum := 1.0
	for _, v := range mu {
		sum += v
	}
	if !(sum <= (1+mostNatural)*(1+0x1p-40)) { // that of slice is off by rounding
		return nil
	}
	lambda := make([]float64, len(mu))
	for i, v := range mu {
		lambda[i] = v / sum
	}
	return lambda
}

// forwardDual is D(λ) = KL(q‖p_λ) + Σλ_i(b_i − KL(q_i‖p_λ)) with the gradient
// b_i − KL(q_i‖p_λ) and the curvature Σ_x q_i q_j/(q − Σλq) − 1/(1−s).
func (u *Problem) forwardDual(b []float64) concave.Func {
	n := len(b)
	return func(lambda, grad, curv []float64) float64 {
		p, err := u.law(ForwardKL, lambda)
		if err != nil {
			return math.Inf(-1)
		}
		c, value := 1.0, KL(u.q, p)
		for i, v := range lambda {
			c -= v
			grad[i] = b[i] - KL(u.away[i], p)
			value += float64(v * grad[i])
		}
		if math.IsInf(value, 0) || math.IsNaN(value) {
			return math.Inf(-1) // the edge of the domain
		}
		for i := range n {
			for j := range n {
				curv[i*n+j] = -1 / c
				for k, v := range p {
					if v > 0 {
						curv[i*n+j] += u.away[i][k] * u.away[j][k] / (v * c)
					}
				}
			}
		}
		return value
	}
}
