package continuous

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
	"gonum.org/v1/gonum/mat"
)

// Where returns the distribution of x given the equations R·x = y, a mixture
// again: its weights are ∝ w_k·N(y; Rm_k, RC_kRᵀ) and its components are
//
//	N(m_k + G_k(y − Rm_k), C_k − G_kRC_k),  G_k = C_kRᵀ(RC_kRᵀ)⁻¹,
//
// and logp = log p(Rx = y), the log of its density at y in nats. rows holds R
// row by row, one row of Sites numbers for every value of y. The covariances are
// singular, so the result has no density, but [Mixture.Draw] is an exact draw,
// [Mixture.Posterior] the mean of x_0 given x_t and the equations, and
// [Mixture.DrawPosterior] a draw of it. Components whose weight is below e⁻⁷⁰⁰
// of the largest are left out.
//
// The error says that there is no row, that lengths do not fit, that a number is
// not finite, or that a component knows the value of a row or of a combination
// of rows beforehand, as it does if they are dependent.
func (m *Mixture) Where(rows, values []float64) (given *Mixture, logp float64, err error) {
	n, q := m.sites, len(values)
	switch {
	case q == 0 || len(rows) != q*n:
		return nil, 0, fmt.Errorf("continuous: Where: len(rows) = %d and len(values) = %d, want %d numbers for each value, and one or more", len(rows), q, n)
	case q > n:
		return nil, 0, fmt.Errorf("continuous: Where: %d equations for %d coordinates, want at most as many", q, n)
	}
	if err := checkFinite("Where", "rows", rows); err != nil {
		return nil, 0, err
	}
	if err := checkFinite("Where", "values", values); err != nil {
		return nil, 0, err
	}
	r := mat.NewDense(q, n, rows)
	logw := make([]float64, len(m.logw))
	means, covs := make([][]float64, len(logw)), make([][]float64, len(logw))
	top := math.Inf(-1)
	for k := range logw {
		means[k], covs[k] = make([]float64, n), make([]float64, n*n)
		density, ok := m.where(k, r, values, means[k], mat.NewDense(n, n, covs[k]))
		if !ok {
			return nil, 0, fmt.Errorf("continuous: Where: the rows are dependent, or component %d has no variance along one of them", k)
		}
		logw[k] = m.logw[k] + density
		top = max(top, logw[k])
	}
	weights, kept := make([]float64, 0, len(logw)), 0
	sum := 0.0
	for k, w := range logw {
		if w-top < leastComponent {
			continue
		}
		e := simd.Exp(w - top)
		sum += e
		weights = append(weights, e)
		means[kept], covs[kept] = means[k], covs[k]
		kept++
	}
	if given, err = NewMixture(weights, means[:kept], covs[:kept]); err != nil {
		return nil, 0, err
	}
	return given, top + simd.Log(sum), nil
}

// leastComponent is the log of the least weight of a component that can be
// written as a double beside 1, with room to spare.
const leastComponent = -700

// where stores mean and covariance of component k given the equations and
// returns log N(y; Rm_k, RC_kRᵀ); ok is false if that covariance is singular.
func (m *Mixture) where(k int, r *mat.Dense, values, mean []float64, cov *mat.Dense) (logp float64, ok bool) {
	n, q := m.sites, len(values)
	rc, rcr := mat.NewDense(q, n, nil), mat.NewSymDense(q, nil)
	for j := range q {
		m.Covariance(k, rc.RawRowView(j), r.RawRowView(j))
		for i := range j + 1 {
			rcr.SetSym(i, j, simd.Dot64(r.RawRowView(i), rc.RawRowView(j)))
		}
	}
	var chol mat.Cholesky
	// 1e-13: what rounding leaves of the pivot of a row that depends on others.
	if !chol.Factorize(rcr) || !(chol.Cond() < 1e13) {
		return 0, false
	}
	miss, pull := mat.NewVecDense(q, nil), mat.NewVecDense(q, nil)
	own := m.mean[k*n : (k+1)*n]
	for j, y := range values {
		miss.SetVec(j, y-simd.Dot64(r.RawRowView(j), own))
	}
	if chol.SolveVecTo(pull, miss) != nil {
		return 0, false
	}
	var gain mat.Dense // (RC_kRᵀ)⁻¹RC_k
	if chol.SolveTo(&gain, rc) != nil {
		return 0, false
	}
	for i := range mean {
		mean[i] = own[i]
		for j := range q {
			mean[i] += float64(rc.At(j, i) * pull.AtVec(j))
		}
		for l := range i + 1 {
			c := m.entry(k, i, l)
			for j := range q {
				c -= float64(rc.At(j, i) * gain.At(j, l))
			}
			cov.Set(i, l, c)
			cov.Set(l, i, c)
		}
	}
	return -(chol.LogDet() + mat.Dot(miss, pull) + float64(float64(q)*simd.Log(2*math.Pi))) / 2, true
}

// entry returns C_k at (i, j).
func (m *Mixture) entry(k, i, j int) float64 {
	switch {
	case m.cov != nil:
		return m.cov[k].At(i, j)
	case i == j:
		return m.v[k*m.sites+i]
	}
	return 0
}
