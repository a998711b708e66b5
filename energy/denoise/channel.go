package denoise

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"gonum.org/v1/gonum/mat"
)

// Channel is one channel of an [Autoregressive].
type Channel struct {
	Coef     []float64 // φ_1, φ_2, …, stationary; none for white noise
	Mean     float64   // of x_t, in units of the data
	Variance float64   // of x_t; 0 means 1
}

func (c Channel) check(length int) error {
	if len(c.Coef) >= length {
		return fmt.Errorf("len(Coef) = %d, want < %d", len(c.Coef), length)
	}
	if !check.Finite(c.Mean) || !(c.Variance >= 0) || !check.Finite(c.Variance) {
		return fmt.Errorf("mean and variance = %v, %v, want finite and ≥ 0", c.Mean, c.Variance)
	}
	for k, phi := range c.Coef {
		if !check.Finite(phi) {
			return fmt.Errorf("has Coef[%d] = %v, want finite", k, phi)
		}
	}
	return nil
}

// autocorrelation returns the autocorrelation at lags 0 … len(coef), the
// solution of the Yule–Walker equations ρ_j = Σ_k φ_k·ρ_{|j−k|}, ρ_0 = 1. The
// error says that they have none with |ρ_j| ≤ 1.
func autocorrelation(coef []float64) ([]float64, error) {
	p := len(coef)
	rho := make([]float64, p+1)
	rho[0] = 1
	if p == 0 {
		return rho, nil
	}
	a, b := mat.NewDense(p, p, nil), mat.NewVecDense(p, nil)
	for j := 1; j <= p; j++ {
		a.Set(j-1, j-1, 1)
	}
	for j := 1; j <= p; j++ {
		for k, phi := range coef {
			switch lag := max(j-k-1, k+1-j); {
			case lag == 0:
				b.SetVec(j-1, b.AtVec(j-1)+phi)
			default:
				a.Set(j-1, lag-1, a.At(j-1, lag-1)-phi)
			}
		}
	}
	var x mat.VecDense
	if err := x.SolveVec(a, b); err != nil {
		return nil, fmt.Errorf("coefficients are not stationary: %w", err)
	}
	copy(rho[1:], x.RawVector().Data)
	return rho, nil
}

// band returns the inverse covariance, the sum over t ≥ order of what x_t given
// the past contributes, plus the inverse of the covariance of the first entries.
func (c Channel) band(length int) (band, error) {
	p := len(c.Coef)
	variance := c.Variance
	if variance == 0 {
		variance = 1
	}
	rho, err := autocorrelation(c.Coef)
	if err != nil {
		return band{}, err
	}
	noise := 1.0 // variance of the noise relative to that of x
	for k, phi := range c.Coef {
		noise -= float64(phi * rho[k+1])
	}
	b := band{order: p, mean: c.Mean, inv: make([]float64, length*(p+1))}
	first := mat.NewSymDense(max(p, 1), nil)
	for i := range max(p, 1) {
		for j := i; j < max(p, 1); j++ {
			first.SetSym(i, j, rho[j-i])
		}
	}
	var chol mat.Cholesky
	if !(noise > 0) || !chol.Factorize(first) {
		return band{}, fmt.Errorf("coefficients %v are not stationary", c.Coef)
	}
	var inverse mat.SymDense
	if err := chol.InverseTo(&inverse); err != nil {
		return band{}, fmt.Errorf("coefficients %v are not stationary: %w", c.Coef, err)
	}
	for t := range p {
		for k := range t + 1 {
			b.inv[t*(p+1)+k] = inverse.At(t, t-k) / variance
		}
	}
	weight := func(k int) float64 { // of x_{t−k} in the noise of t
		if k == 0 {
			return 1
		}
		return -c.Coef[k-1]
	}
	for t := p; t < length; t++ {
		for i := range p + 1 {
			for j := i; j <= p; j++ { // entry (t−i, t−j)
				b.inv[(t-i)*(p+1)+j-i] += weight(i) * weight(j) / (noise * variance)
			}
		}
	}
	return b, nil
}
