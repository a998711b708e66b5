package twisted

import (
	"context"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/pool"
)

// differences asks any denoiser for predictions around each particle:
//
//	Cov[x_0 | x_t]·u = (1−ᾱ)/√ᾱ · ∂x̂_0/∂x_t·u.
type differences struct {
	*directions
	model      energy.Denoiser[float32]
	step, gain float64
	ask, read  func(_, i int) // methods shift and take
}

func newDifferences(m energy.Denoiser[float32], r *rows, c Config, p *pool.Pool) *differences {
	d := &differences{directions: newDirections(r, c, p), model: m}
	d.ask, d.read = d.shift, d.take
	return d
}

// states is the number of predictions per particle.
func (d *differences) states() int { return 1 + 2*(d.rows.q+d.probes) }

func (d *differences) look(ctx context.Context, all []*particle, t, alpha float64) error {
	per := d.states()
	d.reserve(len(all), per)
	batch := d.batch(all, t, alpha, per)
	d.step = float64(reach * math.Sqrt(1-alpha))
	d.gain = d.slope / (2 * d.step)
	d.pool.Each(0, len(all), d.ask)
	if err := d.model.Denoise(ctx, d.v[:len(batch.X)], batch); err != nil {
		return err
	}
	d.pool.Each(0, len(all), d.read)
	return firstError(all)
}

// shift stores the states around particle i.
func (d *differences) shift(_, i int) {
	n, p, step := d.n, d.all[i], d.step
	at := d.x[i*d.states()*n : (i+1)*d.states()*n]
	copy(at, p.z)
	for k := range d.rows.q + d.probes {
		u := d.direction(i, k)
		if k >= d.rows.q {
			d.aim(u, p.stream)
		}
		for s, sign := range [2]float64{1, -1} {
			x := at[(1+2*k+s)*n : (2+2*k+s)*n]
			for j, z := range p.z {
				x[j] = float32(float64(z) + float64(float64(sign*step)*u[j]))
			}
		}
	}
}

// take makes moments of the predictions around particle i.
func (d *differences) take(_, i int) {
	n, p, gain := d.n, d.all[i], d.gain
	v := d.v[i*d.states()*n : (i+1)*d.states()*n]
	if p.err = d.means(p, v[:n]); p.err != nil {
		return
	}
	p.open = 0
	for k := range d.rows.q + d.probes {
		up, down := v[(1+2*k)*n:(2+2*k)*n], v[(2+2*k)*n:(3+2*k)*n]
		if k < d.rows.q {
			for j := range n {
				p.product[k*n+j] = gain * (float64(up[j]) - float64(down[j]))
			}
			continue
		}
		u, s := d.direction(i, k), 0.0
		for j, x := range u {
			s += float64(x * (float64(up[j]) - float64(down[j])))
		}
		p.open += d.share(gain * s)
	}
}
