package twisted

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/internal/span"
)

// Posterior is a denoiser of reals that can compute the mean and the covariance of the clean state
// x_0 given x_t. Examples are denoise.Mixture and denoise.Windows. It must be safe for concurrent
// use.
type Posterior interface {
	energy.Denoiser[float32]

	// Moments stores E[x_0 | x_t = x] in the slice mean, where alpha is the signal level ᾱ, 0 ≤ ᾱ <
	// 1. It multiplies the covariance Cov[x_0 | x_t = x] by each vector in the slice rows and
	// stores the products in the slice product. A vector has one entry per site, and there may be
	// any number of vectors. Moments returns the trace of the covariance.
	Moments(mean, product, rows []float64, x []float32, alpha float64) (trace float64, err error)
}

// view computes the moments of particles. From the predictions v for a particle, look sets its
// mean, its product (U times the covariance) and its open (the trace of the covariance orthogonal
// to U).
type view interface {
	look(i int, p *particle, v []float32, alpha float64) error
}

// known is a view that uses a [Posterior].
type known struct {
	model Posterior
	*rows
}

func (k known) look(_ int, p *particle, _ []float32, alpha float64) (err error) {
	p.open, err = k.model.Moments(p.mean, p.product, k.basis, p.z, alpha)
	for r := range k.q {
		p.open -= span.Dot(k.basis[r*k.n:(r+1)*k.n], p.product[r*k.n:])
	}
	return err
}

// reach is the size of a finite difference, in standard deviations of the noise. It is small
// compared with the structure that survives the noise, and large compared with float32 rounding.
const reach = 0.05

// directions is a view that computes the covariance along the rows of U and along random probes,
// from
//
//	Cov[x_0 | x_t]·u = (1−ᾱ)/√ᾱ · ∂x̂_0/∂x_t·u.
//
// If the denoiser has vector–Jacobian products, directions makes one backward pass per direction.
// For any other denoiser it makes two predictions per direction, whose difference approximates the
// product.
type directions struct {
	*rows
	model  energy.Denoiser[float32]
	exact  denoise.Differentiable // the model if it has vector–Jacobian products; else nil
	probes int
	pool   *pool.Pool
	probe  []float64 // random probes, particles × probes × n, orthogonal to U and of norm 1

	// particles × directions × n: the directions, and their products with the Jacobian
	along, out []float32

	q    energy.Noised[float32] // batch of the current round
	step float64                // size of a finite difference
	gain float64                // factor from a product or a difference to the covariance
	aim  func(_, i int)         // prepares the directions of particle i: product or difference
}

// newDirections returns a directions view for a model. per is the number of states per particle
// for which it requests predictions.
func newDirections(m energy.Denoiser[float32], r *rows, c Config) (d *directions, per int) {
	d = &directions{rows: r, model: m, probes: probes}
	if r.n == r.q {
		d.probes = 0
	}
	d.probe = make([]float64, c.Particles*d.probes*r.n)
	d.aim = d.difference
	var ok bool
	if d.exact, ok = energy.As[denoise.Differentiable](m); !ok {
		return d, 1 + 2*d.len()
	}
	total := c.Particles * d.len() * r.n
	d.along, d.out, d.aim = make([]float32, total), make([]float32, total), d.product
	return d, 1
}

// len returns the number of directions per particle.
func (d *directions) len() int { return d.rows.q + d.probes }

// ask stores in v the predictions for the states of all particles. It also computes the products,
// or the predictions at neighbouring states, from which look computes the covariance.
func (d *directions) ask(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	alpha := q.Alpha[0]
	d.q, d.gain = q, (1-alpha)/math.Sqrt(alpha)
	d.step = float64(reach * math.Sqrt(1-alpha))
	if d.exact != nil {
		d.pool.Each(0, len(q.X)/d.n, d.aim)
		return d.exact.Pullback(ctx, v, d.out, d.along, q)
	}
	d.gain /= 2 * d.step
	d.pool.Each(0, len(q.X)/d.n/(1+2*d.len()), d.aim)
	return d.model.Denoise(ctx, v, q)
}

// product stores in d.along the directions of particle i.
func (d *directions) product(_, i int) {
	for k := range d.len() {
		at := d.along[(i*d.len()+k)*d.n:][:d.n]
		for j, x := range d.draw(i, k, d.q.Src[i]) {
			at[j] = float32(x)
		}
	}
}

// difference stores in the batch the states at distance d.step from particle i along each
// direction.
func (d *directions) difference(_, i int) {
	n, per := d.n, 1+2*d.len()
	at := d.q.X[i*per*n : (i+1)*per*n]
	for k := range d.len() {
		u := d.draw(i, k, d.q.Src[i*per])
		for s, sign := range [2]float64{1, -1} {
			x := at[(1+2*k+s)*n : (2+2*k+s)*n]
			for j, z := range at[:n] {
				x[j] = float32(float64(z) + float64(float64(sign*d.step)*u[j]))
			}
		}
	}
}

// draw returns direction k of particle i. A probe is first drawn anew, orthogonal to U and of
// norm 1.
func (d *directions) draw(i, k int, src rand.Source) []float64 {
	u := d.direction(i, k)
	if k < d.rows.q {
		return u
	}
	bits := uint64(0)
	for j := range u {
		if j%64 == 0 {
			bits = src.Uint64()
		}
		u[j] = 1 - 2*float64(bits&1)
		bits >>= 1
	}
	d.clear(u)
	norm := math.Sqrt(span.Dot(u, u))
	for j := range u {
		if norm > 0 {
			u[j] /= norm
		}
	}
	return u
}

// direction returns row k of U, or a probe of particle i if k exceeds the rows.
func (d *directions) direction(i, k int) []float64 {
	if k < d.rows.q {
		return d.basis[k*d.n : (k+1)*d.n]
	}
	k += i*d.probes - d.rows.q
	return d.probe[k*d.n : (k+1)*d.n]
}

func (d *directions) look(i int, p *particle, v []float32, _ float64) error {
	for j, x := range v[:d.n] {
		if p.mean[j] = float64(x); !check.Finite(p.mean[j]) {
			return fmt.Errorf("the prediction for entry %d is %v, want finite", j, x)
		}
	}
	p.open = 0
	for k := range d.len() {
		u, s := d.direction(i, k), 0.0
		for j := range d.n {
			var y float64
			if d.exact != nil {
				y = float64(d.out[(i*d.len()+k)*d.n+j])
			} else {
				y = float64(v[(1+2*k)*d.n+j]) - float64(v[(2+2*k)*d.n+j])
			}
			if k < d.rows.q {
				p.product[k*d.n+j] = d.gain * y
			} else {
				s += float64(u[j] * y)
			}
		}
		// The mean of uᵀCu over the probes u, times the dimension, estimates the trace.
		if k >= d.rows.q {
			p.open += float64(float64(d.gain*s)*float64(d.n-d.rows.q)) / float64(d.probes)
		}
	}
	return nil
}
