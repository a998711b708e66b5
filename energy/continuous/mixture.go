package continuous

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"gonum.org/v1/gonum/mat"
)

// Mixture is the normalised density Σ_k w_k N(m_k, C_k) over reals, with
// E = −log density (log Z = 0).
//
// It is [energy.Scored]. Tilted, under Gaussian noise, and given some of its
// coordinates it is a mixture again: [Mixture.Tilt], [Mixture.Posterior] and
// [Mixture.Given] are exact. Diagonal covariances ([NewDiagonal])
// cost one operation per coordinate where full ones ([NewMixture]), which are
// diagonalised once, cost one per coordinate and eigenvector. With full ones
// the numbers come from gonum's factorisations, and bits may differ between
// GOARCHs.
//
// A full covariance may be singular. Such a mixture has no density, and Energy
// and Score are NaN; everything else is as for others.
//
// A Mixture is immutable and safe for concurrent use.
type Mixture struct {
	sites      int
	logw       []float64       // per component
	mean       []float64       // components × sites
	v          []float64       // diagonals of the covariances, components × sites
	halfLogDet []float64       // ½ log det 2πC per component; NaN if C is singular
	cov        []*mat.SymDense // nil if the covariances are diagonal
	full       []*component    // beside cov
	rows       padded          // without cov
}

var _ energy.Scored = (*Mixture)(nil)

// NewDiagonal returns the mixture with diagonal covariances, with the
// given weights (positive, any sum), means (components × sites, row-major) and
// variances (one per component, or components × sites). It copies its
// arguments, and returns an error unless lengths fit, weights and variances are
// positive and everything is finite.
func NewDiagonal(weights, means, variances []float64) (*Mixture, error) {
	const name = "NewDiagonal"
	k := len(weights)
	if k == 0 || len(means) == 0 || len(means)%k != 0 {
		return nil, fmt.Errorf("continuous: %s: %d weights and %d means, want a positive multiple", name, k, len(means))
	}
	if len(variances) != k && len(variances) != len(means) {
		return nil, fmt.Errorf("continuous: %s: len(variances) = %d, want %d or %d", name, len(variances), k, len(means))
	}
	if err := checkFinite(name, "means", means); err != nil {
		return nil, err
	}
	for i, v := range variances {
		if !(v > 0) || !check.Finite(v) {
			return nil, fmt.Errorf("continuous: %s: variances[%d] = %v, want a finite number > 0", name, i, v)
		}
	}
	m, err := newMixture(name, weights, len(means)/k)
	if err != nil {
		return nil, err
	}
	copy(m.mean, means)
	for at := range m.v {
		m.v[at] = variances[at*len(variances)/len(means)]
		m.halfLogDet[at/m.sites] += float64(0.5 * simd.Log(2*math.Pi*m.v[at]))
	}
	m.rows = newPadded(m.mean, m.v, m.sites)
	return m, nil
}

// NewMixture returns the mixture Σ_k w_k N(means[k], covs[k]); covariances
// are n × n, row-major. Weights are > 0 and need not add up to 1. Everything is
// copied.
//
// The error says that numbers of weights, means and covariances differ or are
// 0, that a length does not fit, that a number is not finite, or that a
// covariance is not symmetric (to rounding) or has an eigenvalue below −1e-9
// of the largest.
func NewMixture(weights []float64, means, covs [][]float64) (*Mixture, error) {
	const name = "NewMixture"
	if len(weights) == 0 || len(means) != len(weights) || len(covs) != len(weights) {
		return nil, fmt.Errorf("continuous: %s: %d weights, %d means and %d covariances, want the same number ≥ 1", name, len(weights), len(means), len(covs))
	}
	n := len(means[0])
	if n == 0 {
		return nil, fmt.Errorf("continuous: %s: len(means[0]) = 0, want ≥ 1", name)
	}
	m, err := newMixture(name, weights, n)
	if err != nil {
		return nil, err
	}
	for k, mean := range means {
		if len(mean) != n || len(covs[k]) != n*n {
			return nil, fmt.Errorf("continuous: %s: component %d has %d means and %d covariances, want %d and %d", name, k, len(mean), len(covs[k]), n, n*n)
		}
		if err := checkFinite(name, fmt.Sprintf("means[%d]", k), mean); err != nil {
			return nil, err
		}
		copy(m.mean[k*n:], mean)
		cov, err := symmetric(covs[k], n)
		if err != nil {
			return nil, fmt.Errorf("continuous: %s: covs[%d] %w", name, k, err)
		}
		c, err := newComponent(cov, nil)
		if err != nil {
			return nil, fmt.Errorf("continuous: %s: component %d: %w", name, k, err)
		}
		for i := range n {
			m.v[k*n+i] = cov.At(i, i)
		}
		m.cov, m.full = append(m.cov, cov), append(m.full, c)
		m.halfLogDet[k] = c.halfLogDet()
	}
	return m, nil
}

// newMixture returns a mixture with room for means and variances.
func newMixture(caller string, weights []float64, sites int) (*Mixture, error) {
	k := len(weights)
	m := &Mixture{sites: sites, logw: make([]float64, k), mean: make([]float64, k*sites), v: make([]float64, k*sites), halfLogDet: make([]float64, k)}
	sum := 0.0
	for i, w := range weights {
		if !(w > 0) || !check.Finite(w) {
			return nil, fmt.Errorf("continuous: %s: weights[%d] = %v, want a finite number > 0", caller, i, w)
		}
		sum += w
	}
	for c, w := range weights {
		m.logw[c] = simd.Log(w / sum)
	}
	return m, nil
}

// symmetric returns the n × n matrix a, or an error if it is not symmetric.
func symmetric(a []float64, n int) (*mat.SymDense, error) {
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range n {
			v, w := a[i*n+j], a[j*n+i]
			// 1e-12 of the variances: rounding of a product that was computed
			// in two orders.
			if tol := 1e-12 * math.Sqrt(math.Abs(a[i*n+i]*a[j*n+j])); !check.Finite(v) || math.Abs(v-w) > tol {
				return nil, fmt.Errorf("has %v at (%d, %d) and %v at (%d, %d), want finite and equal", v, i, j, w, j, i)
			}
			s.SetSym(i, j, v)
		}
	}
	return s, nil
}

// Sites returns the number of coordinates.
func (m *Mixture) Sites() int { return m.sites }

// Components returns the number of components.
func (m *Mixture) Components() int { return len(m.logw) }

// Component stores the mean of component k and returns its weight. It panics
// unless there is such a component and mean has one entry per coordinate.
func (m *Mixture) Component(k int, mean []float64) (weight float64) {
	check.Index("continuous", "component", k, len(m.logw))
	check.Len("continuous", "mean", len(mean), m.sites)
	copy(mean, m.mean[k*m.sites:(k+1)*m.sites])
	return simd.Exp(m.logw[k])
}

// Covariance stores C_k·v in dst, with C_k the covariance of component k. It
// panics unless there is such a component and both slices, which must not
// overlap, have one entry per coordinate.
func (m *Mixture) Covariance(k int, dst, v []float64) {
	check.Index("continuous", "component", k, len(m.logw))
	check.Len("continuous", "dst", len(dst), m.sites)
	check.Len("continuous", "v", len(v), m.sites)
	for i := range dst {
		dst[i] = m.product(k, i, v)
	}
}

// product returns entry i of C_k·v.
func (m *Mixture) product(k, i int, v []float64) float64 {
	if m.cov == nil {
		return float64(m.v[k*m.sites+i] * v[i])
	}
	sum := 0.0
	for j, vj := range v {
		sum += float64(m.cov[k].At(i, j) * vj)
	}
	return sum
}

// Tilt returns the distribution ∝ p(x)·exp(tᵀx), a mixture of the same
// covariances with the means m_k + C_k·t and the weights
//
//	w_k·exp(tᵀm_k + ½tᵀC_k·t),
//
// and log E_p[exp(tᵀx)], the log of its partition sum. It panics unless there is
// one number per coordinate; they must be finite.
func (m *Mixture) Tilt(t []float64) (tilted *Mixture, logZ float64) {
	check.Len("continuous", "t", len(t), m.sites)
	c := *m
	c.mean, c.logw = slices.Clone(m.mean), slices.Clone(m.logw)
	logZ = m.tilt(c.logw, c.mean, t)
	for k := range c.logw {
		c.logw[k] -= logZ
	}
	if c.full == nil {
		c.rows = newPadded(c.mean, c.v, c.sites)
	}
	return &c, logZ
}

// tilt adds to log-weights and means what a tilt does and returns log Σ w.
func (m *Mixture) tilt(logw, mean, t []float64) float64 {
	top := math.Inf(-1)
	for k := range logw {
		sum := 0.0
		for i, ti := range t {
			at, shift := k*m.sites+i, m.product(k, i, t)
			sum += float64(ti * (m.mean[at] + float64(0.5*shift)))
			mean[at] += shift
		}
		logw[k] += sum
		top = max(top, logw[k])
	}
	sum := 0.0
	for _, w := range logw {
		sum += simd.Exp(w - top)
	}
	return top + simd.Log(sum)
}

// Mean stores E[x] in dst. It panics unless there is one entry per coordinate.
func (m *Mixture) Mean(dst []float64) {
	check.Len("continuous", "dst", len(dst), m.sites)
	clear(dst)
	for k, w := range m.logw {
		p := simd.Exp(w)
		for i := range dst {
			dst[i] += float64(p * m.mean[k*m.sites+i])
		}
	}
}

// Draw stores one draw in x. It panics unless len(x) = Sites and src is given. Its normals are
// those of math/rand/v2, whose last bits may differ between GOARCHs.
func (m *Mixture) Draw(x []float32, src rand.Source) {
	n := m.sites
	check.Len("continuous", "x", len(x), n)
	check.Must("continuous: Mixture: Draw", "src", src)
	r := rand.New(src)
	u := r.Float64()
	k := 0
	for ; k < len(m.logw)-1; k++ {
		if u -= simd.Exp(m.logw[k]); u < 0 {
			break
		}
	}
	if m.full != nil {
		m.drawFull(x, k, r)
		return
	}
	for i := range x {
		at := k*n + i
		x[i] = float32(m.mean[at] + float64(math.Sqrt(m.v[at])*r.NormFloat64()))
	}
}

// drawFull stores a draw of component k: a normal number along each eigenvector.
func (m *Mixture) drawFull(x []float32, k int, r *rand.Rand) {
	b := scratch.Float64s.Get(m.sites)
	defer scratch.Float64s.Put(b)
	sum, c := *b, m.full[k]
	copy(sum, m.mean[k*m.sites:(k+1)*m.sites])
	for j, l := range c.lambda {
		z := math.Sqrt(l) * r.NormFloat64()
		for i := range sum {
			sum[i] += float64(c.vector.At(i, j) * z)
		}
	}
	for i, v := range sum {
		x[i] = float32(v)
	}
}
