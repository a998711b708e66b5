package continuous

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// density is the work of one state: log-weights, or probabilities, of the components,
// the state and a sum over them, padded if covariances are diagonal.
type density struct {
	from   *[]float64
	p      []float64
	x, sum []float64
}

func (m *Mixture) density() density {
	k, w := len(m.logw), m.rows.width
	if m.full != nil {
		w = m.sites
	}
	b := scratch.Float64s.Get(k + 2*w)
	clear(*b)
	return density{b, (*b)[:k], (*b)[k : k+w], (*b)[k+w:]}
}

func (d density) done() { scratch.Float64s.Put(d.from) }

// Energy implements [energy.Real].
func (m *Mixture) Energy(e []float64, x []float32) {
	check.Len("continuous", "x", len(x), len(e)*m.sites)
	d := m.density()
	defer d.done()
	for s := range e {
		m.logDensities(d, x[s*m.sites:(s+1)*m.sites])
		e[s] = 0 - logSum(d.p)
	}
}

// logDensities stores log w_k N(x; m_k, C_k) in d.p and x in d.x.
func (m *Mixture) logDensities(d density, x []float32) {
	for i, v := range x {
		d.x[i] = float64(v)
	}
	if m.full == nil {
		simd.Squares(d.p, d.x, m.rows.mean, m.rows.scale)
	}
	for k, sum := range d.p {
		if m.full != nil {
			sum = 0
			for j, l := range m.full[k].lambda {
				y := m.full[k].along(j, x, m.mean[k*m.sites:(k+1)*m.sites])
				sum += float64(y*y) / l
			}
		}
		d.p[k] = m.logw[k] - m.halfLogDet[k] - float64(0.5*sum)
	}
}

// Score implements [energy.Scored]: Σ_k p(k|x)·C_k⁻¹(m_k − x).
func (m *Mixture) Score(s, x []float32) {
	n := m.sites
	check.Len("continuous", "s", len(s), len(x))
	check.Rows("continuous", "x", len(x), n)
	d := m.density()
	defer d.done()
	for at := 0; at < len(x); at += n {
		state := x[at : at+n]
		m.logDensities(d, state)
		softmax(d.p)
		clear(d.sum)
		for k, p := range d.p {
			if p != 0 {
				m.addScore(d, k, p, state)
			}
		}
		for i := range state {
			s[at+i] = float32(d.sum[i])
		}
	}
}

// addScore adds p·C_k⁻¹(m_k − x) to d.sum.
func (m *Mixture) addScore(d density, k int, p float64, x []float32) {
	if m.full == nil {
		row := k * m.rows.width
		simd.Attract(d.sum, d.x, m.rows.mean[row:row+m.rows.width], m.rows.scale[row:row+m.rows.width], p)
		return
	}
	c, mean := m.full[k], m.mean[k*m.sites:(k+1)*m.sites]
	for j, l := range c.lambda {
		y := float64(p*c.along(j, x, mean)) / l
		for i := range d.sum {
			d.sum[i] -= float64(c.vector.At(i, j) * y)
		}
	}
}

// softmax replaces log-weights by probabilities and returns the logarithm of
// their sum; all −Inf or a NaN gives NaN.
func softmax(w []float64) float64 {
	top, sum := weights(w)
	for k := range w {
		w[k] /= sum
	}
	return top + simd.Log(sum)
}

// logSum is softmax without the probabilities.
func logSum(w []float64) float64 {
	top, sum := weights(w)
	return top + simd.Log(sum)
}

// weights replaces log-weights by exp(w − top), top the greatest, and returns their sum.
func weights(w []float64) (top, sum float64) {
	top = math.Inf(-1)
	for _, v := range w {
		if v > top {
			top = v
		}
	}
	for k, v := range w {
		w[k] = 1
		if d := v - top; d != 0 { // NaN if all are −Inf
			w[k] = simd.Exp(d)
		}
		sum += w[k]
	}
	return top, sum
}
