package network

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// frame is what surrounds the network. With a Gaussian of mean c and variance s per
// coordinate, D = ᾱs + 1 − ᾱ, and F the output of the network,
//
//	x̂_0 = c + s√ᾱ·(x_t − √ᾱc)/D + √(s(1−ᾱ)/D)·F((x_t − √ᾱc)/√D, λ/scale, ᾱ):
//
// the Gaussian's posterior mean plus F posterior standard deviations (the
// preconditioning of Karras, Aittala, Aila and Laine 2022 with a mean). What goes in
// and what is asked for are of the order of 1 at every noise level.
type frame struct {
	center, spread []float64
	scale          []float64 // of each multiplier; 0: it is not shown
}

func newFrame(center, spread []float64, d, m int) (f frame, err error) {
	if f.center, err = broadcast("Center", center, d, 0, math.Inf(-1)); err != nil {
		return f, err
	}
	f.spread, err = broadcast("Spread", spread, d, 1, 0)
	f.scale = make([]float64, m)
	return f, err
}

// broadcast returns d finite numbers > above, from d, one or none.
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

// level is what the network is shown of the noise: 1000 times
//
//	τ = (√(1−ᾱ) − √ᾱ + 1)/2,
//
// which grows from 0 to 1, nearly evenly on a cosine schedule.
func level(alpha float64) float64 {
	return 500 * (math.Sqrt(1-alpha) - math.Sqrt(alpha) + 1)
}

// signal is ᾱ at τ, the inverse of level/1000: with c = 2τ − 1, √ᾱ = (√(2−c²) − c)/2.
func signal(tau float64) float64 {
	c := float64(2*tau) - 1
	root := (math.Sqrt(2-float64(c*c)) - c) / 2
	return min(max(float64(root*root), 0), 1)
}

// parts returns the terms of coordinate i: what goes in, the Gaussian's prediction and
// its standard deviation.
func (f *frame) parts(i int, x, alpha, root float64) (in, mean, sd float64) {
	c, s := f.center[i], f.spread[i]
	d := float64(alpha*s) + (1 - alpha)
	off := x - float64(root*c)
	return off / math.Sqrt(d), c + s*root*off/d, math.Sqrt(s * (1 - alpha) / d)
}

// show stores the input of the network: the state and the multipliers.
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

// answer stores the prediction for which the output of the network is y. v may
// be y.
func (f *frame) answer(v, y, x []float32, alpha float64) {
	root := math.Sqrt(alpha)
	for i := range v {
		_, mean, sd := f.parts(i, float64(x[i]), alpha, root)
		v[i] = float32(mean + float64(sd*float64(y[i])))
	}
}

// clip bounds the targets of the network, in posterior standard deviations of the
// Gaussian (TestTargetsAreClipped).
const clip = 6

// ask stores what the network should output so that its prediction is v, within ±
// clip.
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

// noise stores a draw of the Gaussian at noise level ᾱ.
func (f *frame) noise(x, eps []float32, alpha float64) {
	root := math.Sqrt(alpha)
	for i, e := range eps {
		sd := math.Sqrt(float64(alpha*f.spread[i]) + (1 - alpha))
		x[i] = float32(float64(root*f.center[i]) + float64(sd*float64(e)))
	}
}

// reverse replaces x at noise level a by a draw at next > a given the prediction v:
//
//	√next·v + w·(x − √a·v) + noise,  w = √(a/next)·(1−next)/(1−a),
//
// whose variance is that of DDPM's posterior plus what the prediction leaves open,
// exact where the distribution is the Gaussian.
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
