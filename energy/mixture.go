package energy

import (
	"context"
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Mixture is a mixture of Gaussians on reals with its exact denoiser: for
// x_t = √ᾱ·x_0 + √(1−ᾱ)·noise and one component N(m, C)
//
//	E[x_0 | x_t] = m + √ᾱ·C·(ᾱC + (1−ᾱ)I)⁻¹·(x_t − √ᾱ·m),
//
// and for several the average of these by the posterior weights of the
// components. Entries marked clean condition the others exactly.
//
// Covariances are diagonalised once, so a prediction costs 2·n² per component;
// every set of clean entries is prepared when it is first met. Predictions are
// float64 sums from gonum's factorisations, rounded: bits may differ between
// GOARCHs. A Mixture is safe for concurrent use.
type Mixture struct {
	sites int
	logw  []float64
	parts []gaussian

	mu       sync.Mutex
	prepared map[string][]conditional // by the pattern of clean entries
}

// gaussian is one component.
type gaussian struct {
	mean []float64
	cov  *mat.SymDense
}

// conditional is a component given that some of its entries are known.
type conditional struct {
	free, known []int
	gain        *mat.Dense   // C_fk·C_kk⁻¹
	chol        mat.Cholesky // of C_kk
	lambda      []float64    // eigenvalues of the covariance of the free entries
	vector      *mat.Dense   // and its eigenvectors, as columns
}

// maxPatterns bounds how many sets of clean entries stay prepared.
const maxPatterns = 64

// NewGaussian returns the Gaussian with the given mean and covariance, row-major.
// See [NewMixture] for the errors.
func NewGaussian(mean, cov []float64) (*Mixture, error) {
	return NewMixture([]float64{1}, [][]float64{mean}, [][]float64{cov})
}

// NewMixture returns the mixture Σ_k w_k N(mean_k, cov_k); covariances are n × n,
// row-major. Weights are > 0 and need not add up to 1. Everything is copied.
//
// The error says that numbers of weights, means and covariances differ or are
// 0, that a length does not fit, that a number is not finite, or that a
// covariance is not symmetric (to rounding) or has an eigenvalue below −1e-9
// of the largest.
func NewMixture(weights []float64, means, covs [][]float64) (*Mixture, error) {
	if len(weights) == 0 || len(means) != len(weights) || len(covs) != len(weights) {
		return nil, fmt.Errorf("energy: NewMixture: %d weights, %d means and %d covariances, want the same number ≥ 1", len(weights), len(means), len(covs))
	}
	m := &Mixture{sites: len(means[0]), prepared: map[string][]conditional{}}
	if m.sites == 0 {
		return nil, fmt.Errorf("energy: NewMixture: len(means[0]) = 0, want ≥ 1")
	}
	for k, w := range weights {
		if !(w > 0) || math.IsInf(w, 1) {
			return nil, fmt.Errorf("energy: NewMixture: weights[%d] = %v, want > 0 and finite", k, w)
		}
		m.logw = append(m.logw, simd.Log(w))
		g, err := newGaussian(k, m.sites, means[k], covs[k])
		if err != nil {
			return nil, err
		}
		m.parts = append(m.parts, g)
	}
	_, err := m.conditionals(make([]bool, m.sites))
	return m, err
}

func newGaussian(k, n int, mean, cov []float64) (gaussian, error) {
	if len(mean) != n || len(cov) != n*n {
		return gaussian{}, fmt.Errorf("energy: NewMixture: component %d has %d means and %d covariances, want %d and %d", k, len(mean), len(cov), n, n*n)
	}
	g := gaussian{mean: append([]float64(nil), mean...), cov: mat.NewSymDense(n, nil)}
	for i := range n {
		if !check.Finite(mean[i]) {
			return g, fmt.Errorf("energy: NewMixture: means[%d][%d] = %v, want finite", k, i, mean[i])
		}
		for j := range n {
			a, b := cov[i*n+j], cov[j*n+i]
			// 1e-12 of the variances: rounding of a product that was computed
			// in two orders.
			if tol := 1e-12 * math.Sqrt(math.Abs(cov[i*n+i]*cov[j*n+j])); !check.Finite(a) || math.Abs(a-b) > tol {
				return g, fmt.Errorf("energy: NewMixture: covs[%d] has %v at (%d, %d) and %v at (%d, %d), want finite and equal", k, a, i, j, b, j, i)
			}
			g.cov.SetSym(i, j, a)
		}
	}
	return g, nil
}

// Shape returns the number of sites and 1.
func (m *Mixture) Shape() (sites, levels int) { return m.sites, 1 }

// Denoise implements [Denoiser].
func (m *Mixture) Denoise(ctx context.Context, v []float32, q Noised[float32]) error {
	n := m.sites
	states := q.States(n)
	check.Len("energy", "v", len(v), len(q.X))
	b := scratch.Float64s.Get(4*n + len(m.parts))
	defer scratch.Float64s.Put(b)
	none := make([]bool, n)
	for s := range states {
		if err := ctx.Err(); err != nil {
			return err
		}
		clean := none
		if q.Clean != nil {
			clean = q.Clean[s*n : (s+1)*n]
		}
		parts, err := m.conditionals(clean)
		if err != nil {
			return err
		}
		m.mean(v[s*n:(s+1)*n], q.X[s*n:(s+1)*n], q.Alpha[s], parts, *b)
	}
	return nil
}

// mean stores E[x_0 | x_t] of one state.
func (m *Mixture) mean(v, x []float32, alpha float64, parts []conditional, b []float64) {
	n := m.sites
	total, mean, work := b[:n], b[n:2*n], b[2*n:4*n]
	clear(total)
	sum, top := 0.0, math.Inf(-1)
	for k := range parts {
		l := m.logw[k] + parts[k].posterior(mean, m.parts[k].mean, x, alpha, work)
		// Running sums are relative to the largest weight so far.
		if l > top {
			scale := simd.Exp(top - l)
			sum *= scale
			for i := range total {
				total[i] *= scale
			}
			top = l
		}
		w := simd.Exp(l - top)
		sum += w
		addScaled(total, w, mean)
	}
	for i := range v {
		v[i] = float32(total[i] / sum)
	}
	for _, i := range parts[0].known {
		v[i] = x[i]
	}
}

// conditionals returns the components given the clean entries.
func (m *Mixture) conditionals(clean []bool) ([]conditional, error) {
	key := make([]byte, len(clean))
	for i, c := range clean {
		if c {
			key[i] = 1
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.prepared[string(key)]; ok {
		return c, nil
	}
	parts := make([]conditional, len(m.parts))
	for k, g := range m.parts {
		if err := parts[k].prepare(g, clean); err != nil {
			return nil, fmt.Errorf("energy: Mixture: component %d: %w", k, err)
		}
	}
	if len(m.prepared) >= maxPatterns {
		clear(m.prepared)
	}
	m.prepared[string(key)] = parts
	return parts, nil
}

// prepare conditions g on the clean entries.
func (c *conditional) prepare(g gaussian, clean []bool) error {
	for i, k := range clean {
		if k {
			c.known = append(c.known, i)
		} else {
			c.free = append(c.free, i)
		}
	}
	if len(c.free) == 0 {
		return nil
	}
	cov := submatrix(g.cov, c.free, c.free)
	if len(c.known) > 0 {
		kk := mat.NewSymDense(len(c.known), nil)
		for a, i := range c.known {
			for b, j := range c.known {
				kk.SetSym(a, b, g.cov.At(i, j))
			}
		}
		if !c.chol.Factorize(kk) {
			return fmt.Errorf("the covariance of the %d clean entries is singular", len(c.known))
		}
		kf := submatrix(g.cov, c.known, c.free)
		var solved mat.Dense
		if err := c.chol.SolveTo(&solved, kf); err != nil {
			return err
		}
		c.gain = mat.DenseCopyOf(solved.T())
		var explained mat.Dense
		explained.Mul(c.gain, kf)
		cov.Sub(cov, &explained)
	}
	sym := mat.NewSymDense(len(c.free), nil)
	for i := range c.free {
		for j := i; j < len(c.free); j++ {
			sym.SetSym(i, j, (cov.At(i, j)+cov.At(j, i))/2)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(sym, true) {
		return fmt.Errorf("the eigenvalues of the covariance do not converge")
	}
	c.lambda = eigen.Values(nil)
	c.vector = new(mat.Dense)
	eigen.VectorsTo(c.vector)
	for j, l := range c.lambda {
		// 1e-9 of the largest: rounding of an eigenvalue that is 0.
		if l < -1e-9*c.lambda[len(c.lambda)-1] || l < 0 && c.lambda[len(c.lambda)-1] <= 0 {
			return fmt.Errorf("the covariance has the eigenvalue %v, want ≥ 0", l)
		}
		c.lambda[j] = max(l, 0)
	}
	return nil
}

// submatrix returns the submatrix of the given rows and columns.
func submatrix(a *mat.SymDense, rows, cols []int) *mat.Dense {
	d := mat.NewDense(len(rows), len(cols), nil)
	for i, r := range rows {
		for j, c := range cols {
			d.Set(i, j, a.At(r, c))
		}
	}
	return d
}

// posterior stores the mean of x_0 given x_t for one component with mean m, and
// returns the log-density of what was seen, up to a constant. work has
// 2·sites entries.
func (c *conditional) posterior(dst, m []float64, x []float32, alpha float64, work []float64) float64 {
	n, signal := len(c.free), math.Sqrt(alpha)
	prior, shrunk := work[:n], work[n:2*n]
	logp := c.condition(prior, m, x)
	clear(shrunk)
	// In the eigenbasis the entries are independent: y_j ~ N(0, ᾱλ_j + 1−ᾱ).
	for j, l := range c.lambda {
		y := 0.0
		for a, i := range c.free {
			y += float64(c.vector.At(a, j) * (float64(x[i]) - float64(signal*prior[a])))
		}
		s := float64(alpha*l) + (1 - alpha)
		logp -= float64((simd.Log(s) + float64(y*y)/s) / 2)
		y *= float64(signal*l) / s
		for a := range c.free {
			shrunk[a] += float64(c.vector.At(a, j) * y)
		}
	}
	for i := range dst {
		dst[i] = float64(x[i])
	}
	for a, i := range c.free {
		dst[i] = prior[a] + shrunk[a]
	}
	return logp
}

// condition stores the mean of the free entries given the known ones and
// returns the log-density of those, up to a constant.
func (c *conditional) condition(dst, m []float64, x []float32) float64 {
	for a, i := range c.free {
		dst[a] = m[i]
	}
	if len(c.known) == 0 || len(c.free) == 0 {
		return 0
	}
	off := mat.NewVecDense(len(c.known), nil)
	for a, i := range c.known {
		off.SetVec(a, float64(x[i])-m[i])
	}
	for a := range c.free {
		for b := range c.known {
			dst[a] += float64(c.gain.At(a, b) * off.AtVec(b))
		}
	}
	var solved mat.VecDense
	if err := c.chol.SolveVecTo(&solved, off); err != nil {
		return math.Inf(-1)
	}
	return -(c.chol.LogDet() + mat.Dot(off, &solved)) / 2
}
