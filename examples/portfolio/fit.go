package main

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// fit predicts by a Gaussian approximation. Among all N(m, diag v) it computes the one that
// minimises KL(q‖p) to
//
//	p(z_0 | z_t) ∝ N(z_0; √ᾱ z_t, (1−ᾱ)I) · exp(−(f0 + λᵀg)/β),
//
// where the Gaussian factor combines the standard normal reference and the noise. Let ξ =
// softmax(m + v/2), which equals E_q[x] if the normalising sum of x hardly varies. Then
// E_q[x_iΣ_ij x_j] = Σ_ij ξ_i ξ_j, times e^{v_i} for j = i.
//
// The mean m is computed by a few descent steps from √ᾱ z_t. Each coordinate is scaled by its
// variance v_i, and the step lengths are those of Barzilai and Borwein (1988). The variance v_i
// is 1/(1/(1−ᾱ) + curvature). At high noise the posterior has many modes, and a few steps do not
// reach one, so that m is not a posterior mean. Later diffusion steps correct the error
// (TestOptimum).
//
// A prediction costs rounds passes over Σ. It is deterministic, and rows do not depend on each
// other or on the number of workers.
type fit struct {
	*law
	workers int
}

// rounds is the number of descent steps. With 6 and 12 the returns and the violations are the
// same.
const rounds = 6

// farthest bounds the change of a coordinate per step: a weight changes by at most a factor of
// e.
const farthest = 1

// firstStep is the length of the first step, relative to a Newton step on the diagonal. It is
// below 1 because coordinates of a sector move together.
const firstStep = 0.2

type fitSpace struct {
	x32                            []float32
	m, v, g, step, a, price, extra []float64
}

func newFitSpace(n int) (f fitSpace) {
	f.x32 = make([]float32, n)
	for _, v := range []*[]float64{&f.m, &f.v, &f.g, &f.step, &f.a, &f.price, &f.extra} {
		*v = make([]float64, n)
	}
	return f
}

func newFit(l *law) *fit { return &fit{l, runtime.GOMAXPROCS(0)} }

// Predict stores in v the predictions for the noisy states in z, one row per state. It implements
// pdi.Predictor.
func (f *fit) Predict(v, z []float32, alpha, lambda []float64, _ []rand.Source) error {
	n, states := len(f.mean), len(alpha)
	workers := min(f.workers, states)
	var all sync.WaitGroup
	for k := range workers {
		all.Go(func() {
			p := f.scratch.Get().(*space)
			defer f.scratch.Put(p)
			for j, l := range lambda {
				p.fit.price[j] = l * f.unit / f.beta
			}
			for s := k * states / workers; s < (k+1)*states/workers; s++ {
				f.one(p, v[s*n:(s+1)*n], z[s*n:(s+1)*n], alpha[s])
			}
		})
	}
	all.Wait()
	return nil
}

// one predicts one state at the scaled multipliers λ/(c̄β).
func (f *fit) one(p *space, out, z []float32, alpha float64) {
	if alpha >= 1 {
		copy(out, z)
		return
	}
	q, root, u := &p.fit, math.Sqrt(alpha), 1-alpha
	for i, v := range z {
		q.a[i] = root * float64(v)
		q.m[i], q.v[i] = q.a[i], u
	}
	tau := firstStep
	for round := range rounds {
		f.slope(p, 1/u)
		sy, yy := 0.0, 0.0
		for i, t := range p.t { // t is the gradient of the energy alone
			g := (q.m[i]-q.a[i])/u + t
			y := g - q.g[i]
			sy += q.step[i] * y
			yy += y * y * q.v[i]
			q.g[i] = g
		}
		if round > 0 && sy > 0 {
			tau = min(sy/yy, 1)
		}
		for i, g := range q.g {
			d := min(max(-tau*q.v[i]*g, -farthest), farthest)
			q.step[i] = d
			q.m[i] += d
		}
	}
	for i, m := range q.m {
		out[i] = float32(m)
	}
}

// slope stores the gradient of E_q[(f0 + λᵀg)/β] in m in p.t, and the variances for noise of the
// given precision in v.
func (f *fit) slope(p *space, precision float64) {
	q := &p.fit
	for i, m := range q.m {
		q.x32[i] = float32(m + q.v[i]/2)
	}
	simd.Softmax(q.x32, q.x32, len(q.x32))
	for i, v := range q.x32 {
		p.x[i] = float64(v)
		p.w[i] = q.price[i] * p.x[i]
	}
	f.cov.times(p.s, p.x, p.d, p.w)
	mean, k := 0.0, 1/f.beta
	for i, x := range p.x {
		v := q.v[i] // e^v − 1 by its series: v ≤ 1
		q.extra[i] = 2 * p.w[i] * f.own[i] * v * (1 + v/2*(1+v/3*(1+v/4*(1+v/5))))
		p.d[i] = q.price[i]*p.s[i] + p.d[i] - k*f.gain[i] + q.extra[i]
		mean += x * p.d[i]
	}
	for i, x := range p.x {
		t := x * (p.d[i] - mean)
		p.t[i] = t
		q.v[i] = 1 / (precision + max(0, t+x*(q.extra[i]+2*p.w[i]*f.own[i])))
	}
}
