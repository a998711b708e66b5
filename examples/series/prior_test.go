package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The covariance of a level that is kept is that of the eigenvectors, and solves
// P·(ᾱC + (1−ᾱ)I) = (1−ᾱ)·C.
func TestPosteriorCovariance(t *testing.T) {
	const n = 12
	r := rand.New(rand.NewPCG(3, 1))
	windows := make([]float32, 40*n)
	for i := range windows {
		windows[i] = float32(r.NormFloat64())
	}
	p, err := newPosterior(windows, n, 0.2)
	if err != nil {
		t.Fatal(err)
	}
	without, err := newPosterior(windows, n, 0.2)
	if err != nil {
		t.Fatal(err)
	}
	without.capacity = 0
	v, in, got, slow := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	one, other := make([]float64, n), make([]float64, n)
	for _, alpha := range []float64{0.999, 0.5, 0.01} {
		clear(v)
		v[2], v[7] = 1, -2
		for i := range n { // (ᾱC + (1−ᾱ)I)·v
			in[i] = (1 - alpha) * v[i]
			for j := range n {
				in[i] += alpha * p.cov.At(i, j) * v[j]
			}
		}
		for range 2 { // made, then kept
			p.apply(got, in, alpha)
			without.apply(slow, in, alpha)
			unit := make([]float64, n)
			unit[5] = 1
			p.apply(one, unit, alpha)
			without.apply(other, unit, alpha)
			for i := range n {
				if math.Abs(one[i]-other[i]) > 1e-12 {
					t.Errorf("ᾱ %v, entry %d of a column: %v and %v", alpha, i, one[i], other[i])
				}
				want := 0.0
				for j := range n {
					want += (1 - alpha) * p.cov.At(i, j) * v[j]
				}
				if math.Abs(got[i]-want) > 1e-12 || math.Abs(slow[i]-want) > 1e-12 {
					t.Errorf("ᾱ %v, entry %d: %v, %v, want %v", alpha, i, got[i], slow[i], want)
				}
			}
		}
	}
	if len(p.levels) != 3 || len(without.levels) != 0 {
		t.Errorf("%d and %d levels kept", len(p.levels), len(without.levels))
	}
}
