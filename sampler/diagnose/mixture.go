package diagnose

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// mixture combines the information in draws with energies at several inverse temperatures β_k: the
// multistate Bennett acceptance ratio, MBAR (Shirts and Chodera 2008, Journal of Chemical Physics
// 129, 124105), of states that differ only in β. The free energies f_k = −log Z(β_k), with that of
// the smallest β set to 0, solve
//
//	N_k = Σ_n p_nk,   p_nk = N_k exp(f_k − β_k E_n) / D_n,   D_n = Σ_l N_l exp(f_l − β_l E_n).
type mixture struct {
	betas []float64 // descending
	n     []float64 // draws at each
	e     []float64 // distinct energies
	c     []float64 // draws of each
	f     []float64
	logd  []float64     // log D by energy
	hess  *mat.SymDense // ∂²/∂f² of Σ log D − Σ N f, without the hottest
}

// solve finds f, starting from the mean energies at each β.
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
			// Near the end the value changes by less than its rounding error.
			if v := m.evaluate(); v <= value+1e-12*math.Abs(value) {
				value, better = v, true
				break
			}
		}
		if !better { // rounding is all that is left
			m.f = old
			m.evaluate()
			return nil
		}
		m.f, next = next, old
	}
	return errors.New("the free energies did not converge")
}

// evaluate fills logd and returns Σ log D − Σ N f, which is convex in f.
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

// shares stores p_nk of energy d.
func (m *mixture) shares(p []float64, d int) {
	for k, b := range m.betas {
		p[k] = m.n[k] * math.Exp(m.f[k]-b*m.e[d]-m.logd[d])
	}
}

// derivatives returns the gradient and the Hessian for all f except that of the smallest β.
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

// newton returns H⁻¹g.
func (m *mixture) newton(g []float64) ([]float64, error) {
	if len(g) == 0 {
		return nil, nil
	}
	var c mat.Cholesky
	// Rungs whose energies hardly overlap leave a direction without curvature.
	if !c.Factorize(m.hess) || c.Cond() > 1e13 {
		return nil, fmt.Errorf("energies at different temperatures do not overlap, want more rungs from β = %v to %v", m.betas[0], m.betas[len(m.betas)-1])
	}
	var v mat.VecDense
	if err := c.SolveVecTo(&v, mat.NewVecDense(len(g), g)); err != nil {
		return nil, err
	}
	return v.RawVector().Data, nil
}

// newtonSteps limits the search; it takes some ten steps from a start by thermodynamic integration.
const newtonSteps = 200
