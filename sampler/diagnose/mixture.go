package diagnose

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// mixture estimates free energies from draws at several inverse temperatures β_k by the multistate
// Bennett acceptance ratio, MBAR (Shirts and Chodera 2008, Journal of Chemical Physics 129,
// 124105). E_n is the energy of draw n, and N_k is the number of draws at β_k. The free energies
// f_k = −log Z(β_k), up to a constant that makes f = 0 at the smallest β, solve
//
//	N_k = Σ_n p_nk,   p_nk = N_k exp(f_k − β_k E_n) / D_n,   D_n = Σ_l N_l exp(f_l − β_l E_n).
type mixture struct {
	betas []float64 // inverse temperatures β_k, in descending order
	n     []float64 // number of draws at each β
	e     []float64 // distinct energies
	c     []float64 // number of draws with each distinct energy
	f     []float64
	logd  []float64 // log of the denominator D of the weights, for each distinct energy
	// Hessian of Σ log D − Σ N f in the free energies, without the one of the smallest β
	hess *mat.SymDense
}

// solve computes the free energies f by Newton's method with step halving. mean holds the mean
// energy at each β, from which thermodynamic integration gives the starting point. It returns an
// error if the energies at different β do not overlap.
func (m *mixture) solve(mean []float64) error {
	k := len(m.betas)
	m.f = make([]float64, k)
	for j := k - 2; j >= 0; j-- {
		m.f[j] = m.f[j+1] + (m.betas[j]-m.betas[j+1])*(mean[j]+mean[j+1])/2
	}
	m.logd = make([]float64, len(m.e))
	total := 0.0
	for _, n := range m.n {
		total += n
	}
	value := m.evaluate()
	next := make([]float64, k)
	for range newtonSteps {
		g, h := m.derivatives()
		worst := 0.0
		for _, v := range g {
			worst = max(worst, math.Abs(v))
		}
		m.hess = h
		if worst <= 1e-10*total {
			return nil
		}
		step, err := m.newton(g)
		if err != nil {
			return err
		}
		old := m.f
		better := false
		for size := 1.0; size > 1e-10; size /= 2 {
			copy(next, old)
			for j := range step {
				next[j] = old[j] - size*step[j]
			}
			m.f = next
			// Close to the minimum, the value changes by less than its rounding error.
			if v := m.evaluate(); v <= value+1e-12*math.Abs(value) {
				value, better = v, true
				break
			}
		}
		if !better { // only rounding errors are left
			m.f = old
			m.evaluate()
			return nil
		}
		m.f, next = next, old
	}
	return errors.New("the free energies did not converge")
}

// evaluate fills logd for the current f and returns the objective Σ log D − Σ N f, which is convex
// in f.
func (m *mixture) evaluate() float64 {
	sum := 0.0
	for d, e := range m.e {
		most := math.Inf(-1)
		for k, b := range m.betas {
			most = max(most, m.f[k]-b*e)
		}
		s := 0.0
		for k, b := range m.betas {
			s += m.n[k] * math.Exp(m.f[k]-b*e-most)
		}
		m.logd[d] = most + math.Log(s)
		sum += m.c[d] * m.logd[d]
	}
	for k, n := range m.n {
		sum -= n * m.f[k]
	}
	return sum
}

// shares stores in p, for each k, the probability p_nk of a draw n with the distinct energy m.e[d].
func (m *mixture) shares(p []float64, d int) {
	for k, b := range m.betas {
		p[k] = m.n[k] * math.Exp(m.f[k]-b*m.e[d]-m.logd[d])
	}
}

// derivatives returns the gradient and the Hessian of the objective in the free energies f, without
// the one of the smallest β.
func (m *mixture) derivatives() ([]float64, *mat.SymDense) {
	k := len(m.betas)
	g, p := make([]float64, k-1), make([]float64, k)
	h := make([]float64, (k-1)*(k-1))
	for d := range m.e {
		m.shares(p, d)
		for i := range g {
			cp := m.c[d] * p[i]
			g[i] += cp
			h[i*(k-1)+i] += cp
			for j := i; j < k-1; j++ {
				h[i*(k-1)+j] -= cp * p[j]
			}
		}
	}
	for i := range g {
		g[i] -= m.n[i]
	}
	if k == 1 {
		return g, nil
	}
	return g, mat.NewSymDense(k-1, h)
}

// newton returns the Newton step H⁻¹g for the Hessian H in m.hess. It returns an error if H is
// nearly singular.
func (m *mixture) newton(g []float64) ([]float64, error) {
	if len(g) == 0 {
		return nil, nil
	}
	var c mat.Cholesky
	// If the energies of two rungs hardly overlap, the objective is almost flat in one direction.
	if !c.Factorize(m.hess) || c.Cond() > 1e13 {
		return nil, fmt.Errorf("energies at different temperatures do not overlap, want more rungs from β = %v to %v", m.betas[0], m.betas[len(m.betas)-1])
	}
	var v mat.VecDense
	if err := c.SolveVecTo(&v, mat.NewVecDense(len(g), g)); err != nil {
		return nil, err
	}
	return v.RawVector().Data, nil
}

// newtonSteps limits the Newton steps of solve, which usually takes about ten.
const newtonSteps = 200
