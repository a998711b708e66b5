package main

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// convolution is a convolutional energy of binary images of side×side pixels with periodic boundaries:
//
//	E(x) = −b·Σ_i x_i − Σ_f Σ_i log(1 + exp(c_f + Σ_k w_fk·x_{i+k})),
//
// where k runs over the 3×3 window at pixel i. This is the energy of a convolutional Boltzmann machine
// (Lee, Grosse, Ranganath and Ng 2009) whose hidden units are summed out. Its parameters are w, window
// by window, c and b.
type convolution struct {
	side, filters int
	window        [][]int // per pixel: pixels of its window
	theta         []float64
}

const windowSize = 9

// newConvolution returns an energy with small random parameters.
func newConvolution(side, filters int, r *rand.Rand) *convolution {
	m := &convolution{side: side, filters: filters, theta: make([]float64, filters*(windowSize+1)+1)}
	for i := range side * side {
		var near []int
		for k := range windowSize {
			near = append(near, (i/side+k/3)%side*side+(i+k%3)%side)
		}
		m.window = append(m.window, near)
	}
	for k := range filters * windowSize {
		m.theta[k] = 0.1 * r.NormFloat64()
	}
	return m
}

// Shape returns the number of pixels, one site each, and 2 levels. It implements energy.Model.
func (m *convolution) Shape() (sites, levels int) { return m.side * m.side, 2 }

// Energy stores in e the energies of the images x; it implements energy.Model.
func (m *convolution) Energy(e []float64, x []int32) { m.visit(e, x, nil) }

// visit computes energies. It calls f, if it is not nil, for every filter and window with the
// derivative ∂E/∂a by the sum a = c_f + Σ_k w_fk·x_{i+k}.
func (m *convolution) visit(e []float64, x []int32, f func(state, filter, pixel int, slope float64)) {
	n := m.side * m.side
	bias, b := m.theta[m.filters*windowSize:], m.theta[len(m.theta)-1]
	for s := range e {
		own := x[s*n : (s+1)*n]
		e[s] = 0
		for i := range own {
			e[s] -= b * float64(own[i])
			for k := range m.filters {
				a := bias[k]
				for j, p := range m.window[i] {
					a += m.theta[k*windowSize+j] * float64(own[p])
				}
				small := math.Exp(-math.Abs(a))
				e[s] -= max(a, 0) + math.Log1p(small)
				if f != nil {
					slope := 1 / (1 + small)
					if a < 0 {
						slope *= small
					}
					f(s, k, i, -slope)
				}
			}
		}
	}
}

// Field stores the energies in e, and in h the derivatives ∂E/∂x_i as first-order differences. It
// implements energy.Binary.
func (m *convolution) Field(e []float64, h []float32, x []int32) {
	n := m.side * m.side
	for i := range h {
		h[i] = -float32(m.theta[len(m.theta)-1])
	}
	m.visit(e, x, func(state, filter, pixel int, slope float64) {
		for j, p := range m.window[pixel] {
			h[state*n+p] += float32(slope * m.theta[filter*windowSize+j])
		}
	})
}

// Params returns a copy of the parameters; it implements energy.Parametric.
func (m *convolution) Params() []float64 { return append([]float64(nil), m.theta...) }

// ParamGradient adds to g the gradient of the energy with respect to the parameters, summed over
// the images x with weights w. It implements energy.Parametric.
func (m *convolution) ParamGradient(g []float64, x []int32, w []float64) {
	n := m.side * m.side
	weight := func(s int) float64 {
		if w == nil {
			return 1
		}
		return w[s]
	}
	for i, v := range x {
		g[len(g)-1] -= weight(i/n) * float64(v)
	}
	m.visit(make([]float64, len(x)/n), x, func(state, filter, pixel int, slope float64) {
		slope *= weight(state)
		g[m.filters*windowSize+filter] += slope
		for j, p := range m.window[pixel] {
			g[filter*windowSize+j] += slope * float64(x[state*n+p])
		}
	})
}

// SetParams replaces the parameters; it returns an error if one is not finite. It implements
// energy.Parametric.
func (m *convolution) SetParams(theta []float64) error {
	for k, v := range theta {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("parameter %d = %v, want a finite number", k, v)
		}
	}
	copy(m.theta, theta)
	return nil
}
