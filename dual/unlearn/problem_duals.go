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
		p, err := u.Law(ReverseKL, lambda)
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
					curv[i*n+j] += v * l[i] * l[j] / c
				}
			}
		}
		return value
	}
}

// forwardDual is D(λ) = KL(q‖p_λ) + Σλ_i(b_i − KL(q_i‖p_λ)) with the gradient
// b_i − KL(q_i‖p_λ) and the curvature Σ_x q_i q_j/(q − Σλq) − 1/(1−s).
func (u *Problem) forwardDual(b []float64) concave.Func {
	n := len(b)
	return func(lambda, grad, curv []float64) float64 {
		p, err := u.Law(ForwardKL, lambda)
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
