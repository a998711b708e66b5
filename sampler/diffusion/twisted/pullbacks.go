package twisted

import (
	"context"

	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/pool"
)

// pullbacks asks a denoiser that has vector–Jacobian products:
//
//	u·Cov[x_0 | x_t] = (1−ᾱ)/√ᾱ · u·∂x̂_0/∂x_t,
//
// exactly where differences are not, and with a backward pass for every direction in
// place of two predictions.
type pullbacks struct {
	*directions
	model      denoise.Differentiable
	along, out []float32      // states × directions × n
	ask, read  func(_, i int) // methods fill and take
}

func newPullbacks(m denoise.Differentiable, r *rows, c Config, p *pool.Pool) *pullbacks {
	d := &pullbacks{directions: newDirections(r, c, p), model: m}
	d.ask, d.read = d.fill, d.take
	return d
}

// products is the number of products per particle.
func (d *pullbacks) products() int { return d.rows.q + d.probes }

func (d *pullbacks) look(ctx context.Context, all []*particle, t, alpha float64) error {
	d.reserve(len(all), 1)
	if total := len(all) * d.products() * d.n; len(d.along) < total {
		d.along, d.out = make([]float32, total), make([]float32, total)
	}
	batch := d.batch(all, t, alpha, 1)
	d.pool.Each(0, len(all), d.ask)
	total := len(all) * d.products() * d.n
	if err := d.model.Pullback(ctx, d.v[:len(all)*d.n], d.out[:total], d.along[:total], batch); err != nil {
		return err
	}
	d.pool.Each(0, len(all), d.read)
	return firstError(all)
}

// fill stores the state and the directions of particle i.
func (d *pullbacks) fill(_, i int) {
	n, p := d.n, d.all[i]
	copy(d.x[i*n:(i+1)*n], p.z)
	for k := range d.products() {
		u := d.direction(i, k)
		if k >= d.rows.q {
			d.aim(u, p.stream)
		}
		at := d.along[(i*d.products()+k)*n:][:n]
		for j, x := range u {
			at[j] = float32(x)
		}
	}
}

// take makes moments of the products of particle i.
func (d *pullbacks) take(_, i int) {
	n, p := d.n, d.all[i]
	if p.err = d.means(p, d.v[i*n:(i+1)*n]); p.err != nil {
		return
	}
	p.open = 0
	for k := range d.products() {
		out := d.out[(i*d.products()+k)*n:][:n]
		if k < d.rows.q {
			for j, x := range out {
				p.product[k*n+j] = d.slope * float64(x)
			}
			continue
		}
		s := 0.0
		for j, x := range d.direction(i, k) {
			s += float64(x * float64(out[j]))
		}
		p.open += d.share(d.slope * s)
	}
}
