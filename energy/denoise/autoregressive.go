package denoise

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"gonum.org/v1/gonum/mat"
)

// Autoregressive is the exact denoiser of stationary Gaussian time series with independent
// channels. A series is a row-major array of length × channels. Each channel is an autoregressive
// process with coefficients φ_k, mean m and a given variance,
//
//	x_t − m = Σ_k φ_k·(x_{t−k} − m) + noise,  Var x_t = Variance.
//
// The denoiser conditions exactly on entries that are marked clean. Predictions equal those of
// [NewGaussian] with the same covariance, but take length·order² operations instead of length².
// Here order is the number of coefficients. An Autoregressive is immutable and safe for concurrent
// use.
type Autoregressive struct {
	length int
	parts  []band
}

// NewAutoregressive returns the denoiser of series that have the given length and channels. It
// returns an error if there is no channel, or if the length is at most the number of coefficients.
// It also returns an error if a number is not finite or a variance is negative. The coefficients
// must define a stationary process.
func NewAutoregressive(length int, channels ...Channel) (*Autoregressive, error) {
	if length < 1 || len(channels) == 0 {
		return nil, fmt.Errorf("denoise: NewAutoregressive: length = %d with %d channels, want both ≥ 1", length, len(channels))
	}
	if err := check.Entries("denoise: NewAutoregressive", "length", length); err != nil {
		return nil, err
	}
	a := &Autoregressive{length: length}
	for c, ch := range channels {
		if err := ch.check(length); err != nil {
			return nil, fmt.Errorf("denoise: NewAutoregressive: channel %d: %w", c, err)
		}
		b, err := ch.band(length)
		if err != nil {
			return nil, fmt.Errorf("denoise: NewAutoregressive: channel %d: %w", c, err)
		}
		a.parts = append(a.parts, b)
	}
	return a, nil
}

// Shape returns length × channels as the number of sites, and 1 as the number of levels.
func (a *Autoregressive) Shape() (sites, levels int) { return a.length * len(a.parts), 1 }

// Denoise stores in v the posterior means of the clean states; it implements [energy.Denoiser].
func (a *Autoregressive) Denoise(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	sites, _ := a.Shape()
	states := q.States(sites)
	check.Len("denoise", "v", len(v), len(q.X))
	for s := range states {
		if err := poll.Err(ctx); err != nil {
			return err
		}
		var clean []bool
		if q.Clean != nil {
			clean = q.Clean[s*sites : (s+1)*sites]
		}
		for c := range a.parts {
			a.channel(c, v[s*sites:(s+1)*sites], q.X[s*sites:(s+1)*sites], clean, q.Alpha[s])
		}
	}
	return nil
}

// channel stores in v the prediction for one channel. x̂_0 − m is the solution d of (C⁻¹ +
// ᾱ/(1−ᾱ)·I)·d = √ᾱ/(1−ᾱ)·(x − √ᾱ·m).
func (a *Autoregressive) channel(c int, v, x []float32, clean []bool, alpha float64) {
	b, n := &a.parts[c], len(a.parts)
	if alpha >= 1 {
		for t := range a.length {
			v[t*n+c] = x[t*n+c]
		}
		return
	}
	buf := scratch.Float64s.Get(a.length * (b.order + 2))
	defer scratch.Float64s.Put(buf)
	m, d := (*buf)[:len(b.inv)], (*buf)[len(b.inv):]
	copy(m, b.inv)
	signal, noise := math.Sqrt(alpha), 1-alpha
	for t := range d {
		m[t*(b.order+1)] += alpha / noise
		d[t] = float64(signal/noise) * (float64(x[t*n+c]) - float64(signal*b.mean))
	}
	known := func(t int) bool { return clean != nil && clean[t*n+c] }
	for t := range d {
		if known(t) {
			b.fix(m, d, t, float64(x[t*n+c])-b.mean)
		}
	}
	b.solve(m, d)
	for t, e := range d {
		if v[t*n+c] = float32(b.mean + e); known(t) {
			v[t*n+c] = x[t*n+c]
		}
	}
}

// Covariance stores the product P·v in dst. P is the covariance of the clean series x_0 given the
// noisy series x_t,
//
//	P = (C⁻¹ + ᾱ/(1−ᾱ)·I)⁻¹,
//
// where C is the covariance of the series and the argument alpha is ᾱ, in [0, 1]. P does not depend
// on x_t. Conditioning on linear equations R·x = y adds to the posterior mean m the vector
//
//	P·Rᵀ·(R·P·Rᵀ)⁻¹·(y − R·m).
//
// The slices dst and v have length × channels entries and may be the same.
func (a *Autoregressive) Covariance(dst, v []float64, alpha float64) {
	sites, _ := a.Shape()
	check.Len("denoise", "dst", len(dst), sites)
	check.Len("denoise", "v", len(v), sites)
	if alpha >= 1 {
		clear(dst)
		return
	}
	for c := range a.parts {
		b, n := &a.parts[c], len(a.parts)
		buf := scratch.Float64s.Get(a.length * (b.order + 2))
		m, d := (*buf)[:len(b.inv)], (*buf)[len(b.inv):]
		copy(m, b.inv)
		for t := range d {
			m[t*(b.order+1)] += alpha / (1 - alpha)
			d[t] = v[t*n+c]
		}
		b.solve(m, d)
		for t, e := range d {
			dst[t*n+c] = e
		}
		scratch.Float64s.Put(buf)
	}
}

// Channel describes the stationary process of one channel of an [Autoregressive].
type Channel struct {
	Coef     []float64 // coefficients φ_1, φ_2, … of a stationary process; none means white noise
	Mean     float64   // mean m of the process, in units of the data
	Variance float64   // variance of the process, in squared units of the data; 0 means 1
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

// autocorrelation returns the autocorrelation at lags 0 … len(coef). It solves the Yule–Walker
// equations ρ_j = Σ_k φ_k·ρ_{|j−k|}, ρ_0 = 1. It returns an error if the equations are singular.
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

// band returns the inverse covariance of a series of the given length. It is the sum of the terms
// of x_t given the past, over t ≥ order, plus the inverse covariance of the first entries.
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
	noise := 1.0 // variance of the noise, relative to the variance of x
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
	weight := func(k int) float64 { // coefficient of x_{t−k} in the noise at t
		if k == 0 {
			return 1
		}
		return -c.Coef[k-1]
	}
	for t := p; t < length; t++ {
		for i := range p + 1 {
			for j := i; j <= p; j++ { // adds to entry (t−i, t−j)
				b.inv[(t-i)*(p+1)+j-i] += weight(i) * weight(j) / (noise * variance)
			}
		}
	}
	return b, nil
}

// band is the banded inverse covariance of a channel. inv[t·(order+1) + k] is entry (t, t−k).
type band struct {
	order int
	mean  float64
	inv   []float64
}

// fix imposes x[t] = value on the linear system m·x = d.
func (b *band) fix(m, d []float64, t int, value float64) {
	w := b.order + 1
	for k := 1; k <= b.order; k++ {
		if t >= k {
			d[t-k] -= float64(m[t*w+k] * value)
			m[t*w+k] = 0
		}
		if t+k < len(d) {
			d[t+k] -= float64(m[(t+k)*w+k] * value)
			m[(t+k)*w+k] = 0
		}
	}
	m[t*w], d[t] = 1, value
}

// solve replaces d by m⁻¹·d, and m by its Cholesky factor.
func (b *band) solve(m, d []float64) {
	p, w := b.order, b.order+1
	for t := range d {
		for k := min(p, t); k >= 0; k-- { // entry (t, t−k)
			s := m[t*w+k]
			for l := k + 1; l <= min(p, t); l++ {
				if l-k <= p {
					s -= float64(m[t*w+l] * m[(t-k)*w+l-k])
				}
			}
			if k > 0 {
				m[t*w+k] = s / m[(t-k)*w]
			} else {
				m[t*w] = math.Sqrt(s)
			}
		}
	}
	for t := range d {
		for k := 1; k <= min(p, t); k++ {
			d[t] -= float64(m[t*w+k] * d[t-k])
		}
		d[t] /= m[t*w]
	}
	for t := len(d) - 1; t >= 0; t-- {
		for k := 1; k <= p && t+k < len(d); k++ {
			d[t] -= float64(m[(t+k)*w+k] * d[t+k])
		}
		d[t] /= m[t*w]
	}
}
