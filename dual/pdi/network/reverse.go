package network

import "math"

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
