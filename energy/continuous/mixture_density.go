package continuous

import (
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Energy implements [energy.Real].
func (m *Mixture) Energy(e []float64, x []float32) {
	check.Len("continuous", "x", len(x), len(e)*m.sites)
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

// logDensity returns log w_k N(x; m_k, C_k).
func (m *Mixture) logDensity(k int, x []float32) float64 {
	mean := m.mean[k*m.sites : (k+1)*m.sites]
	sum := 0.0
	if m.full != nil {
		for j, l := range m.full[k].lambda {
			y := m.full[k].along(j, x, mean)
			sum += float64(y*y) / l
		}
	} else {
		sum = distance(x, mean, m.inverse[k*m.sites:(k+1)*m.sites])
	}
	return m.logw[k] - m.halfLogDet[k] - float64(0.5*sum)
}

// distance returns Σ_i w_i·(x_i − m_i)², in four sums, which wait for each other less
// than one.
func distance(x []float32, mean, w []float64) float64 {
	mean, w = mean[:len(x)], w[:len(x)]
	var s0, s1, s2, s3 float64
	for len(x) >= 4 && len(mean) >= 4 && len(w) >= 4 {
		d0, d1, d2, d3 := float64(x[0])-mean[0], float64(x[1])-mean[1], float64(x[2])-mean[2], float64(x[3])-mean[3]
		s0 += float64(float64(d0*d0) * w[0])
		s1 += float64(float64(d1*d1) * w[1])
		s2 += float64(float64(d2*d2) * w[2])
		s3 += float64(float64(d3*d3) * w[3])
		x, mean, w = x[4:], mean[4:], w[4:]
	}
	for i, v := range x {
		d := float64(v) - mean[i]
		s0 += float64(float64(d*d) * w[i])
	}
	return (s0 + s1) + (s2 + s3)
}

// Score implements [energy.Scored]: Σ_k p(k|x)·C_k⁻¹(m_k − x).
func (m *Mixture) Score(s, x []float32) {
	n := m.sites
	check.Len("continuous", "s", len(s), len(x))
	check.Rows("continuous", "x", len(x), n)
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
			m.addScore(*sum, k, p, state)
		}
		for i, v := range *sum {
			s[at+i] = float32(v)
		}
	}
}

// addScore adds p·C_k⁻¹(m_k − x) to sum.
func (m *Mixture) addScore(sum []float64, k int, p float64, x []float32) {
	mean := m.mean[k*m.sites : (k+1)*m.sites]
	if m.full == nil {
		w := m.inverse[k*m.sites : (k+1)*m.sites]
		for i, xi := range x {
			sum[i] += float64(float64(p*(mean[i]-float64(xi))) * w[i])
		}
		return
	}
	c := m.full[k]
	for j, l := range c.lambda {
		y := float64(p*c.along(j, x, mean)) / l
		for i := range sum {
			sum[i] -= float64(c.vector.At(i, j) * y)
		}
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
