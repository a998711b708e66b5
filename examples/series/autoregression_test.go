package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// stationary is a series of two channels, one lag, with its exact covariance.
func stationary(t *testing.T, n int) (*autoregression, *mat.SymDense) {
	m := &autoregression{c: 2, lags: 1, d: 4, coef: []float64{0.8, 0.1, -0.2, 0.7}, noise: []float64{0.3, 0.1, 0.1, 0.4}}
	a, q := mat.NewDense(2, 2, m.coef), mat.NewDense(2, 2, m.noise)
	var p, next mat.Dense
	p.CloneFrom(q)
	for range 500 { // P = A·P·Aᵀ + Q
		next.Mul(a, &p)
		p.Mul(&next, a.T())
		p.Add(&p, q)
	}
	cov := mat.NewSymDense(2*n, nil)
	for i := range n {
		var g mat.Dense
		g.CloneFrom(&p)
		for j := i; j < n; j++ { // Cov(y_j, y_i) = A^{j−i}·P
			for x := range 2 {
				for y := range 2 {
					cov.SetSym(2*j+x, 2*i+y, g.At(x, y))
				}
			}
			var h mat.Dense
			h.Mul(a, &g)
			g.CloneFrom(&h)
		}
	}
	var ap mat.Dense
	ap.Mul(a, &p)
	m.start = make([]float64, 16)
	for i := range 2 {
		for j := range 2 {
			m.start[i*4+j], m.start[(2+i)*4+2+j] = p.At(i, j), p.At(i, j)
			m.start[i*4+2+j], m.start[(2+j)*4+i] = ap.At(i, j), ap.At(i, j)
		}
	}
	require.True(t, new(mat.Cholesky).Factorize(cov))
	return m, cov
}

// Means, covariances and draws given numbers and a sum of numbers are those of the joint
// normal distribution of all rows, computed by a dense system.
func TestAutoregressionGivenNumbers(t *testing.T) {
	const n = 8
	m, cov := stationary(t, n)
	rows := make([][]seen, n)
	var h []float64
	var values []float64
	add := func(at int, s seen) {
		rows[at] = append(rows[at], s)
		row := make([]float64, 2*n)
		for i, j := range s.index {
			row[2*at+j] = s.weight[i]
		}
		h, values = append(h, row...), append(values, s.value)
	}
	add(0, seen{[]int{0}, []float64{1}, 1.5})
	add(1, seen{[]int{0, 1}, []float64{1, 2}, -0.7})
	add(4, seen{[]int{1}, []float64{1}, 0.3})
	add(4, seen{[]int{0}, []float64{1}, -1})
	add(7, seen{[]int{1}, []float64{1}, 2})
	H := mat.NewDense(len(values), 2*n, h)
	var ch, hch, gain, mean, shrink, left mat.Dense
	ch.Mul(cov, H.T())
	hch.Mul(H, &ch)
	require.NoError(t, gain.Solve(&hch, ch.T()))
	mean.Mul(gain.T(), mat.NewDense(len(values), 1, values))
	shrink.Mul(&ch, &gain)
	left.Sub(cov, &shrink)
	w := m.filter(rows)
	states, covs := m.means(w, func(at, k int) float64 { return rows[at][k].value }), m.covariances(w)
	for at := range n {
		for x := range 2 {
			assert.InDelta(t, mean.At(2*at+x, 0), states[at][x], 1e-9)
			for y := range 2 {
				assert.InDelta(t, left.At(2*at+x, 2*at+y), covs[at][x*4+y], 1e-9)
			}
		}
	}
	s, err := m.sampler()
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	const draws = 20000
	sum, square := make([]float64, 2*n), make([]float64, 2*n)
	for range draws {
		for i, v := range s.draw(w, r) {
			sum[i] += v / draws
			square[i] += v * v / draws
		}
	}
	for i := range sum {
		// Six standard errors: false once in 10⁸ for each of 32 numbers.
		sd := math.Sqrt(max(left.At(i, i), 0))
		assert.InDelta(t, mean.At(i, 0), sum[i], 6*sd/math.Sqrt(draws)+1e-4)
		assert.InDelta(t, left.At(i, i), square[i]-sum[i]*sum[i], 6*sd*sd*math.Sqrt(2.0/draws)+1e-3)
	}
}

// A fit from gaps finds the parameters that made the series.
func TestFitAutoregression(t *testing.T) {
	m, _ := stationary(t, 2)
	s, err := m.sampler()
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(3, 4))
	const n = 4000
	x := s.draw(m.filter(make([][]seen, n)), r)
	rows, filled := make([][]seen, n), append([]float64(nil), x...)
	for at := range rows {
		for c := range 2 {
			if r.Float64() < 0.3 {
				filled[2*at+c] = 0 // a poor start
				continue
			}
			rows[at] = append(rows[at], seen{[]int{c}, []float64{1}, x[2*at+c]})
		}
	}
	fit, err := fitAutoregression([][][]seen{rows}, [][]float64{filled}, 2, 1)
	require.NoError(t, err)
	for i, v := range m.coef {
		assert.InDelta(t, v, fit.coef[i], 0.07)
	}
	for i, v := range m.noise {
		assert.InDelta(t, v, fit.noise[i], 0.06)
	}
}
