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
	v, in, got := make([]float64, n), make([]float64, n), make([]float64, n)
	for _, alpha := range []float64{0.999, 0.5, 0.01} {
		clear(v)
		v[2], v[7] = 1, -2
		for i := range n { // (ᾱC + (1−ᾱ)I)·v
			in[i] = (1 - alpha) * v[i]
			for j := range n {
				in[i] += alpha * p.cov.At(i, j) * v[j]
			}
		}
		for range 2 { // made, then kept, in float32
			p.apply(got, in, alpha)
			for i := range n {
				want := 0.0
				for j := range n {
					want += (1 - alpha) * p.cov.At(i, j) * v[j]
				}
				if math.Abs(got[i]-want) > 1e-5 {
					t.Errorf("ᾱ %v, entry %d: %v, want %v", alpha, i, got[i], want)
				}
			}
		}
	}
	if len(p.levels) != 3 {
		t.Errorf("%d levels kept", len(p.levels))
	}
}

// Where there is no capacity for all levels of a schedule, neighbours share one: no
// product is ever made of eigenvectors, and the metric is close.
func TestPosteriorOfFewLevels(t *testing.T) {
	const n = 6
	r := rand.New(rand.NewPCG(3, 1))
	windows := make([]float32, 40*n)
	for i := range windows {
		windows[i] = float32(r.NormFloat64())
	}
	p, err := newPosterior(windows, n, 0.2)
	if err != nil {
		t.Fatal(err)
	}
	const few = 100
	p.capacity = few * n * n
	exact, err := newPosterior(windows, n, 0.2)
	if err != nil {
		t.Fatal(err)
	}
	v, got, want := make([]float64, n), make([]float64, n), make([]float64, n)
	v[3] = 1
	for k := 1; k <= schedule.Steps; k++ {
		alpha := schedule.Alpha(float64(k) / float64(schedule.Steps))
		p.apply(got, v, alpha)
		exact.apply(want, v, alpha)
		// A step of the grid is 0.28 in log-odds, so P is off by at most half of that.
		if math.Abs(got[3]/want[3]-1) > 0.15 {
			t.Errorf("ᾱ %v: %v, want about %v", alpha, got[3], want[3])
		}
	}
	if len(p.levels) > few || len(exact.levels) != schedule.Steps {
		t.Errorf("%d and %d levels kept", len(p.levels), len(exact.levels))
	}
}
