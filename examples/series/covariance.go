package main

import (
	"context"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy"
)

// withCovariance is a denoiser that is taken to have the posterior covariance of a
// Gaussian: a twisted.Posterior. Particles weigh what that gets wrong, and a prediction
// is all that a step costs.
type withCovariance struct {
	energy.Denoiser[float32]
	ctx   context.Context // of the run: Moments has none
	prior *posterior
}

// Moments implements twisted.Posterior.
func (d withCovariance) Moments(mean, product, rows []float64, x []float32, alpha float64) (trace float64, err error) {
	n := d.prior.n
	v := make([]float32, n)
	q := energy.Noised[float32]{X: x, Time: []float64{0}, Alpha: []float64{alpha}, Sample: []int{0}, Src: []rand.Source{nil}}
	if err := d.Denoise(d.ctx, v, q); err != nil {
		return 0, err
	}
	for i, u := range v {
		mean[i] = float64(u)
	}
	for at := 0; at < len(rows); at += n {
		d.prior.apply(product[at:at+n], rows[at:at+n], alpha)
	}
	for _, l := range d.prior.values {
		trace += (1 - alpha) * l / (alpha*l + 1 - alpha)
	}
	return trace, nil
}
