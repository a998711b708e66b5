package network

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// frame scales the input and output of the network. It uses a Gaussian with mean c and variance s
// of each coordinate. With D = ᾱs + 1 − ᾱ and the output F of the network, the prediction is
//
//	x̂_0 = c + s√ᾱ·(x_t − √ᾱc)/D + √(s(1−ᾱ)/D)·F((x_t − √ᾱc)/√D, λ/scale, ᾱ).
//
// This is the posterior mean of the Gaussian plus F posterior standard deviations (the
// preconditioning of Karras, Aittala, Aila and Laine 2022, with a mean). The inputs and the
// targets of the network are of order 1 at every noise level.
type frame struct {
	center, spread []float64
	// unit of each multiplier in the input; 0 means that the multiplier is not an input
	scale []float64
}

func newFrame(center, spread []float64, d, m int) (f frame, err error) {
	if f.center, err = broadcast("Center", center, d, 0, math.Inf(-1)); err != nil {
		return f, err
	}
	f.spread, err = broadcast("Spread", spread, d, 1, 0)
	f.scale = make([]float64, m)
	return f, err
}

// broadcast returns the d numbers of v, or d copies of its single number. If v is nil, all numbers
// are preset. It returns an error unless the numbers are finite and exceed the given bound.
func broadcast(name string, v []float64, d int, preset, above float64) ([]float64, error) {
	if v == nil {
		v = []float64{preset}
	}
	if len(v) != 1 && len(v) != d {
		return nil, fmt.Errorf("network: len(Config.%s) = %d, want 1 or %d", name, len(v), d)
	}
	all := make([]float64, d)
	for i := range all {
		all[i] = v[i%len(v)]
		if !(all[i] > above) || !check.Finite(all[i]) {
			return nil, fmt.Errorf("network: Config.%s[%d] = %v, want a finite number > %v", name, i%len(v), all[i], above)
		}
	}
	return all, nil
}

// level returns the noise level as the network's input: 1000τ with
//
//	τ = (√(1−ᾱ) − √ᾱ + 1)/2,
//
// which grows from 0 to 1, almost evenly on a cosine schedule.
func level(alpha float64) float64 {
	return 500 * (math.Sqrt(1-alpha) - math.Sqrt(alpha) + 1)
}

// signal returns ᾱ for a given τ, the inverse of level/1000. With c = 2τ − 1, √ᾱ = (√(2−c²) −
// c)/2.
func signal(tau float64) float64 {
	c := float64(2*tau) - 1
	root := (math.Sqrt(2-float64(c*c)) - c) / 2
	return min(max(float64(root*root), 0), 1)
}

// parts returns the scaled input for coordinate i, the posterior mean of the Gaussian there, and
// the posterior standard deviation.
func (f *frame) parts(i int, x, alpha, root float64) (in, mean, sd float64) {
	c, s := f.center[i], f.spread[i]
	d := float64(alpha*s) + (1 - alpha)
	off := x - float64(root*c)
	return off / math.Sqrt(d), c + s*root*off/d, math.Sqrt(s * (1 - alpha) / d)
}

// show sets in to the input of the network: the scaled state, followed by the scaled multipliers.
func (f *frame) show(in, x []float32, alpha float64, lambda []float64) {
	root := math.Sqrt(alpha)
	for i, v := range x {
		z, _, _ := f.parts(i, float64(v), alpha, root)
		in[i] = float32(z)
	}
	for j, l := range lambda {
		v := 0.0
		if f.scale[j] > 0 {
			v = 2*l/f.scale[j] - 1
		}
		in[len(x)+j] = float32(v)
	}
}

// answer stores in v the prediction that corresponds to the network output y. v and y may be the
// same slice.
func (f *frame) answer(v, y, x []float32, alpha float64) {
	root := math.Sqrt(alpha)
	for i := range v {
		_, mean, sd := f.parts(i, float64(x[i]), alpha, root)
		v[i] = float32(mean + float64(sd*float64(y[i])))
	}
}

// clip limits the absolute value of the network's targets, in posterior standard deviations of
// the Gaussian (TestTargetsAreClipped).
const clip = 6

// ask stores in target the network output that corresponds to the prediction v, limited to ±clip.
func (f *frame) ask(target, v, x []float32, alpha float64) {
	root := math.Sqrt(alpha)
	for i := range target {
		_, mean, sd := f.parts(i, float64(x[i]), alpha, root)
		t := 0.0
		if sd > 0 {
			t = (float64(v[i]) - mean) / sd
		}
		target[i] = float32(min(max(t, -clip), clip))
	}
}

// noise stores in x a state of the Gaussian at noise level ᾱ, made from the normal numbers eps.
func (f *frame) noise(x, eps []float32, alpha float64) {
	root := math.Sqrt(alpha)
	for i, e := range eps {
		sd := math.Sqrt(float64(alpha*f.spread[i]) + (1 - alpha))
		x[i] = float32(float64(root*f.center[i]) + float64(sd*float64(e)))
	}
}

// reverse replaces the state x, whose signal level is a, by a draw at a higher signal level, next,
// given the prediction v:
//
//	√next·v + w·(x − √a·v) + noise,  w = √(a/next)·(1−next)/(1−a).
//
// The variance of the noise is that of DDPM's posterior plus the uncertainty of the prediction. The
// draw is exact if the distribution is the Gaussian.
func (f *frame) reverse(x, v, eps []float32, a, next float64) {
	root, to := math.Sqrt(a), math.Sqrt(next)
	w := math.Sqrt(a/next) * (1 - next) / (1 - a)
	own := (1 - a/next) * (1 - next) / (1 - a)
	c := to - float64(w*root)
	for i, e := range eps {
		_, _, sd := f.parts(i, 0, a, root)
		y := float64(c*float64(v[i])) + float64(w*float64(x[i]))
		noise := own + float64(float64(c*sd)*float64(c*sd))
		x[i] = float32(y + float64(math.Sqrt(noise)*float64(e)))
	}
}
