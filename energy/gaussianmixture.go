package energy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// GaussianMixture is the normalised law Σ_k w_k N(m_k, diag v_k) over reals,
// with E = −log density (log Z = 0).
//
// It is [Scored], a tilt of it is a mixture again, and so is it under Gaussian
// noise: [GaussianMixture.Posterior] is exact. It is immutable and safe for
// concurrent use.
type GaussianMixture struct {
	sites     int
	logw      []float64 // per component
	mean, v   []float64 // components × sites
	halfLogDV []float64 // ½ Σ log 2πv per component
}

// NewGaussianMixture returns the mixture with the given weights (positive, any
// sum), means (components × sites, row-major) and variances (one per component,
// or components × sites). It copies its arguments, and returns an error unless
// lengths fit, weights and variances are positive and everything is finite.
func NewGaussianMixture(weights, means, variances []float64) (*GaussianMixture, error) {
	const name = "NewGaussianMixture"
	k := len(weights)
	if k == 0 || len(means) == 0 || len(means)%k != 0 {
		return nil, fmt.Errorf("energy: %s: %d weights and %d means, want a positive multiple", name, k, len(means))
	}
	if len(variances) != k && len(variances) != len(means) {
		return nil, fmt.Errorf("energy: %s: len(variances) = %d, want %d or %d", name, len(variances), k, len(means))
	}
	if err := checkFinite(name, "means", means); err != nil {
		return nil, err
	}
	for _, a := range [][]float64{weights, variances} {
		for i, v := range a {
			if !(v > 0) || !check.Finite(v) {
				return nil, fmt.Errorf("energy: %s: weight or variance %d = %v, want a finite number > 0", name, i, v)
			}
		}
	}
	m := &GaussianMixture{sites: len(means) / k, logw: make([]float64, k), mean: slices.Clone(means), v: make([]float64, len(means)), halfLogDV: make([]float64, k)}
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	for c, w := range weights {
		m.logw[c] = simd.Log(w / sum)
		for i := range m.sites {
			at := c*m.sites + i
			m.v[at] = variances[at*len(variances)/len(means)]
			m.halfLogDV[c] += float64(0.5 * simd.Log(2*math.Pi*m.v[at]))
		}
	}
	return m, nil
}

// Sites returns the number of coordinates.
func (m *GaussianMixture) Sites() int { return m.sites }

// Components returns the number of components.
func (m *GaussianMixture) Components() int { return len(m.logw) }

// Component stores the mean and the variances of component k and returns its
// weight. It panics unless there is such a component and both slices have one
// entry per coordinate.
func (m *GaussianMixture) Component(k int, mean, variance []float64) (weight float64) {
	check.Len("energy", "mean", len(mean), m.sites)
	check.Len("energy", "variance", len(variance), m.sites)
	copy(mean, m.mean[k*m.sites:(k+1)*m.sites])
	copy(variance, m.v[k*m.sites:(k+1)*m.sites])
	return simd.Exp(m.logw[k])
}

// Energy implements [Real].
func (m *GaussianMixture) Energy(e []float64, x []float32) {
	check.Len("energy", "x", len(x), len(e)*m.sites)
	b := scratch.Float64s.Get(len(m.logw))
	defer scratch.Float64s.Put(b)
	for s := range e {
		state := x[s*m.sites : (s+1)*m.sites]
		for k := range *b {
			(*b)[k] = m.logDensity(k, state)
		}
		e[s] = 0 - softmax(*b)
	}
}

// logDensity returns log w_k N(x; m_k, v_k).
func (m *GaussianMixture) logDensity(k int, x []float32) float64 {
	mean, v := m.mean[k*m.sites:(k+1)*m.sites], m.v[k*m.sites:(k+1)*m.sites]
	sum := 0.0
	for i, xi := range x {
		d := float64(xi) - mean[i]
		sum += float64(d*d) / v[i]
	}
	return m.logw[k] - m.halfLogDV[k] - float64(0.5*sum)
}

// Score implements [Scored]: Σ_k p(k|x)(m_k − x)/v_k.
func (m *GaussianMixture) Score(s, x []float32) {
	n := m.sites
	check.Len("energy", "s", len(s), len(x))
	check.Rows("energy", "x", len(x), n)
	b, sum := scratch.Float64s.Get(len(m.logw)), scratch.Float64s.Get(n)
	defer scratch.Float64s.Put(b)
	defer scratch.Float64s.Put(sum)
	for at := 0; at < len(x); at += n {
		state := x[at : at+n]
		for k := range *b {
			(*b)[k] = m.logDensity(k, state)
		}
		softmax(*b)
		clear(*sum)
		for k, p := range *b {
			if p == 0 {
				continue
			}
			for i, xi := range state {
				(*sum)[i] += float64(p * (m.mean[k*n+i] - float64(xi)) / m.v[k*n+i])
			}
		}
		for i, v := range *sum {
			s[at+i] = float32(v)
		}
	}
}

// Tilt returns the law ∝ p(x)·exp(tᵀx), a mixture of the same variances with the
// means m_k + v_k t and the weights w_k exp(tᵀm_k + ½tᵀv_k t), and
// log E_p[exp(tᵀx)], its partition sum. It panics unless there is one number
// per coordinate; they must be finite.
func (m *GaussianMixture) Tilt(t []float64) (tilted *GaussianMixture, logZ float64) {
	check.Len("energy", "t", len(t), m.sites)
	c := *m
	c.mean, c.logw = slices.Clone(m.mean), slices.Clone(m.logw)
	logZ = m.tilt(c.logw, c.mean, t)
	for k := range c.logw {
		c.logw[k] -= logZ
	}
	return &c, logZ
}

// tilt adds to log-weights and means what a tilt does and returns log Σ w.
func (m *GaussianMixture) tilt(logw, mean, t []float64) float64 {
	top := math.Inf(-1)
	for k := range logw {
		sum := 0.0
		for i, ti := range t {
			at := k*m.sites + i
			shift := float64(m.v[at] * ti)
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
func (m *GaussianMixture) Mean(dst []float64) {
	check.Len("energy", "dst", len(dst), m.sites)
	clear(dst)
	for k, w := range m.logw {
		p := simd.Exp(w)
		for i := range dst {
			dst[i] += float64(p * m.mean[k*m.sites+i])
		}
	}
}

// Draw stores one draw in x. It panics unless len(x) = Sites. Its normals are
// those of math/rand/v2, whose last bits may differ between GOARCHs.
func (m *GaussianMixture) Draw(x []float32, src rand.Source) {
	check.Len("energy", "x", len(x), m.sites)
	r := rand.New(src)
	u := r.Float64()
	k := 0
	for ; k < len(m.logw)-1; k++ {
		if u -= simd.Exp(m.logw[k]); u < 0 {
			break
		}
	}
	for i := range x {
		at := k*m.sites + i
		x[i] = float32(m.mean[at] + float64(math.Sqrt(m.v[at])*r.NormFloat64()))
	}
}

// Posterior stores in v the posterior mean E[x_0 | x_t] of every state of x
// under the law ∝ p(x_0)·exp(tᵀx_0) (see [GaussianMixture.Tilt]; nil means
// t = 0) and the noise x_t = √ᾱ·x_0 + √(1−ᾱ)·ε, with alpha[s] = ᾱ of state s:
//
//	Σ_k p(k|x_t)·(m_k + √ᾱ·v_k/(ᾱv_k + 1 − ᾱ)·(x_t − √ᾱ·m_k)).
//
// It panics where lengths do not fit. v may be x.
func (m *GaussianMixture) Posterior(v, x []float32, alpha, t []float64) {
	n := m.sites
	check.Len("energy", "v", len(v), len(x))
	check.Len("energy", "x", len(x), len(alpha)*n)
	mean, logw := m.mean, m.logw
	if t != nil {
		check.Len("energy", "t", len(t), n)
		b := scratch.Float64s.Get(len(mean) + len(logw))
		defer scratch.Float64s.Put(b)
		mean, logw = (*b)[:len(mean)], (*b)[len(mean):]
		copy(mean, m.mean)
		copy(logw, m.logw)
		m.tilt(logw, mean, t)
	}
	size := len(mean)
	b := scratch.Float64s.Get(3*size + 2*len(logw) + n)
	defer scratch.Float64s.Put(b)
	scaled, inverse, gain := (*b)[:size], (*b)[size:2*size], (*b)[2*size:3*size]
	base, p, sum := (*b)[3*size:3*size+len(logw)], (*b)[3*size+len(logw):3*size+2*len(logw)], (*b)[3*size+2*len(logw):]
	for s, a := range alpha {
		if s == 0 || a != alpha[s-1] { // states of a batch mostly share ᾱ
			root := math.Sqrt(a)
			for k := range logw {
				base[k] = logw[k]
				for i := range n {
					at := k*n + i
					total := float64(a*m.v[at]) + (1 - a)
					scaled[at] = float64(root * mean[at])
					inverse[at] = 1 / total
					gain[at] = float64(root*m.v[at]) / total
					base[k] -= float64(0.5 * simd.Log(total))
				}
			}
		}
		posterior(v[s*n:(s+1)*n], x[s*n:(s+1)*n], mean, scaled, inverse, gain, base, p, sum)
	}
}

// posterior is Posterior for one state: scaled is √ᾱ·m, inverse 1/(ᾱv + 1 − ᾱ),
// gain √ᾱ·v times that, base the log-weights with the normalisers.
func posterior(v, x []float32, mean, scaled, inverse, gain, base, p, sum []float64) {
	n := len(x)
	for k := range p {
		q := 0.0
		row, inv := scaled[k*n:(k+1)*n], inverse[k*n:(k+1)*n]
		for i, xi := range x {
			d := float64(xi) - row[i]
			q += float64(float64(d*d) * inv[i])
		}
		p[k] = base[k] - float64(0.5*q)
	}
	softmax(p)
	clear(sum)
	for k, w := range p {
		if w == 0 {
			continue
		}
		for i, xi := range x {
			at := k*n + i
			sum[i] += float64(w * (mean[at] + float64(gain[at]*(float64(xi)-scaled[at]))))
		}
	}
	for i, s := range sum {
		v[i] = float32(s)
	}
}

// softmax replaces log-weights by probabilities and returns the logarithm of
// their sum; all −Inf or a NaN gives NaN.
func softmax(w []float64) float64 {
	top := slices.Max(w)
	sum := 0.0
	for k, v := range w {
		w[k] = simd.Exp(v - top)
		sum += w[k]
	}
	for k := range w {
		w[k] /= sum
	}
	return top + simd.Log(sum)
}
