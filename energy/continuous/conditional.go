package continuous

import (
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Posterior stores the posterior mean E[x_0 | y] of the clean state x_0 in v, for every noisy state
// y in x. State s of x is
//
//	y = √ᾱ·x_0 + √(1−ᾱ)·ε,  ᾱ = alpha[s],
//
// where ε is standard normal. The prior of x_0 is the mixture tilted by t (see [Mixture.Tilt]); a
// nil t means 0. The components of this prior are N(m_k, C_k). If p(k|y) is the probability of
// component k given y, the mean is
//
//	Σ_k p(k|y)·(m_k + √ᾱ·C_k·(ᾱC_k + (1−ᾱ)I)⁻¹·(y − √ᾱ·m_k)).
//
// Posterior panics if lengths do not fit. The slices v and x may be the same.
func (m *Mixture) Posterior(v, x []float32, alpha, t []float64) {
	(&Conditional{m: m, parts: m.full}).Posterior(v, x, alpha, t)
}

// Conditional is a [Mixture] conditioned on known values of some coordinates. [Mixture.Given] makes
// it. A Conditional is immutable and safe for concurrent use.
type Conditional struct {
	m     *Mixture
	known []bool       // whether each coordinate is known; nil if none is
	parts []*component // conditioned covariance of each component; nil if covariances are diagonal
}

// Given returns the mixture prepared for conditioning on the coordinates marked as known. Pass
// their values later, as entries of x in [Conditional.Posterior]. Given panics unless there is one
// mark per coordinate. It returns an error if a component has a full covariance that is singular on
// the known coordinates.
func (m *Mixture) Given(known []bool) (*Conditional, error) {
	check.Len("continuous", "known", len(known), m.sites)
	c := &Conditional{m: m, known: slices.Clone(known)}
	for k, cov := range m.cov {
		p, err := newComponent(cov, known)
		if err != nil {
			return nil, fmt.Errorf("continuous: Given: component %d: %w", k, err)
		}
		c.parts = append(c.parts, p)
	}
	return c, nil
}

// Posterior stores in v the posterior mean of every state of x, given the known coordinates. The
// arguments are as in [Mixture.Posterior], except that the known coordinates of x hold values of
// the clean state x_0, without noise. Posterior copies these values to v and conditions the other
// coordinates on them exactly.
func (c *Conditional) Posterior(v, x []float32, alpha, t []float64) {
	m := c.m
	check.Len("continuous", "v", len(v), len(x))
	check.Len("continuous", "x", len(x), len(alpha)*m.sites)
	mean, logw := m.mean, m.logw
	if t != nil {
		check.Len("continuous", "t", len(t), m.sites)
		b := scratch.Float64s.Get(len(mean) + len(logw))
		defer scratch.Float64s.Put(b)
		mean, logw = (*b)[:len(mean)], (*b)[len(mean):]
		copy(mean, m.mean)
		copy(logw, m.logw)
		m.tilt(logw, mean, t)
	}
	if c.parts == nil {
		c.diagonal(v, x, alpha, mean, logw)
	} else {
		c.full(v, x, alpha, mean, logw)
	}
}

// full computes Posterior for full covariances.
func (c *Conditional) full(v, x []float32, alpha, mean, logw []float64) {
	n := c.m.sites
	b := scratch.Float64s.Get(4 * n)
	defer scratch.Float64s.Put(b)
	total, part, work := (*b)[:n], (*b)[n:2*n], (*b)[2*n:]
	for s, a := range alpha {
		state := x[s*n : (s+1)*n]
		clear(total)
		sum, top := 0.0, math.Inf(-1)
		for k, p := range c.parts {
			l := logw[k] + p.posterior(part, mean[k*n:(k+1)*n], state, a, work)
			// The running sums are relative to the largest weight so far.
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
			for i, y := range part {
				total[i] += float64(w * y)
			}
		}
		for i, y := range total {
			if c.known == nil || !c.known[i] {
				v[s*n+i] = float32(y / sum)
			} else {
				v[s*n+i] = state[i]
			}
		}
	}
}

// diagonal computes Posterior for diagonal covariances. A known coordinate is treated as one
// without noise, ᾱ = 1.
func (c *Conditional) diagonal(v, x []float32, alpha, mean, logw []float64) {
	m, n := c.m, c.m.sites
	size := len(mean)
	b := scratch.Float64s.Get(3*size + 2*len(logw) + n)
	defer scratch.Float64s.Put(b)
	scaled, inverse, gain := (*b)[:size], (*b)[size:2*size], (*b)[2*size:3*size]
	base, p, sum := (*b)[3*size:3*size+len(logw)], (*b)[3*size+len(logw):3*size+2*len(logw)], (*b)[3*size+2*len(logw):]
	for s, a := range alpha {
		if s == 0 || a != alpha[s-1] { // most states of a batch have the same ᾱ
			for k := range logw {
				base[k] = logw[k]
				for i := range n {
					at, signal := k*n+i, a
					if c.known != nil && c.known[i] {
						signal = 1
					}
					root := math.Sqrt(signal)
					total := float64(signal*m.v[at]) + (1 - signal)
					scaled[at] = float64(root * mean[at])
					inverse[at] = 1 / total
					gain[at] = float64(root*m.v[at]) / total
					base[k] -= float64(0.5 * simd.Log(total))
				}
			}
		}
		shrunk(sum, x[s*n:(s+1)*n], mean, scaled, inverse, gain, base, p)
		for i, y := range sum {
			if c.known == nil || !c.known[i] {
				v[s*n+i] = float32(y)
			} else {
				v[s*n+i] = x[s*n+i]
			}
		}
	}
}

// shrunk stores in sum the posterior mean of one state x, for diagonal covariances v and means m.
// The arguments are scaled = √ᾱ·m, inverse = 1/(ᾱv + 1 − ᾱ), gain = √ᾱ·v·inverse, and base, the
// log-weights plus log-normalisers of the components. p is scratch for their probabilities.
func shrunk(sum []float64, x []float32, mean, scaled, inverse, gain, base, p []float64) {
	n := len(x)
	// The slice origin holds the terms of the first component, and sums are relative to it. Far
	// from all components, the absolute terms would round away the differences between components.
	origin := sum
	for k := range p {
		q := 0.0
		row, inv := scaled[k*n:(k+1)*n], inverse[k*n:(k+1)*n]
		for i, xi := range x {
			d := float64(xi) - row[i]
			term := float64(float64(d*d) * inv[i])
			if k == 0 {
				origin[i] = term
			}
			q += term - origin[i]
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
}
