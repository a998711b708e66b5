package twisted

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/span"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/pool"
)

// differences asks any denoiser for predictions around each particle:
//
//	Cov[x_0 | x_t]·u = (1−ᾱ)/√ᾱ · ∂x̂_0/∂x_t·u.
type differences struct {
	model energy.Denoiser[float32]
	*rows
	meta   any
	probes int
	pool   *pool.Pool

	x, v  []float32
	q     energy.Noised[float32]
	probe []float64 // one per particle and probe, orthogonal to U, of norm 1

	// The step under way.
	all        []*particle
	step, gain float64
	ask, read  func(_, i int) // methods shift and take
}

func newDifferences(m energy.Denoiser[float32], r *rows, c Config, p *pool.Pool) *differences {
	d := &differences{model: m, rows: r, meta: c.Meta, probes: c.Probes, pool: p}
	if r.n == r.q {
		d.probes = 0
	}
	d.ask, d.read = d.shift, d.take
	return d
}

// states is the number of predictions per particle.
func (d *differences) states() int { return 1 + 2*(d.rows.q+d.probes) }

func (d *differences) look(ctx context.Context, all []*particle, t, alpha float64) error {
	n, per := d.n, d.states()
	total := per * len(all)
	if len(d.x) < total*n {
		d.x, d.v = make([]float32, total*n), make([]float32, total*n)
		d.probe = make([]float64, len(all)*d.probes*n)
		d.q.Time, d.q.Alpha, d.q.Sample = make([]float64, total), make([]float64, total), make([]int, total)
		d.q.Src = make([]rand.Source, total)
	}
	d.all, d.step = all, float64(reach*math.Sqrt(1-alpha))
	d.gain = (1 - alpha) / math.Sqrt(alpha) / (2 * d.step)
	d.pool.Each(0, len(all), d.ask)
	for i, p := range all {
		for k := i * per; k < (i+1)*per; k++ {
			d.q.Time[k], d.q.Alpha[k], d.q.Sample[k], d.q.Src[k] = t, alpha, p.number, p.stream
		}
	}
	batch := energy.Noised[float32]{
		X: d.x[:total*n], Time: d.q.Time[:total], Alpha: d.q.Alpha[:total], Sample: d.q.Sample[:total], Src: d.q.Src[:total], Meta: d.meta,
	}
	if err := d.model.Denoise(ctx, d.v[:total*n], batch); err != nil {
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

// aim draws a direction orthogonal to U, of norm 1.
func (d *differences) aim(u []float64, src rand.Source) {
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
}

// direction returns row k of U, or a probe of particle i.
func (d *differences) direction(i, k int) []float64 {
	if k < d.rows.q {
		return d.basis[k*d.n : (k+1)*d.n]
	}
	k += i*d.probes - d.rows.q
	return d.probe[k*d.n : (k+1)*d.n]
}

// take makes moments of the predictions around particle i.
func (d *differences) take(_, i int) {
	n, p, gain := d.n, d.all[i], d.gain
	v := d.v[i*d.states()*n : (i+1)*d.states()*n]
	for j, x := range v[:n] {
		p.mean[j] = float64(x)
		if p.err = nil; !check.Finite(p.mean[j]) {
			p.err = fmt.Errorf("the prediction for entry %d is %v, want finite", j, x)
			return
		}
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
		// vᵀCv of a direction that is uniform enough, times the dimension.
		u, s := d.direction(i, k), 0.0
		for j, x := range u {
			s += float64(x * (float64(up[j]) - float64(down[j])))
		}
		p.open += float64(gain*s) * float64(n-d.rows.q) / float64(d.probes)
	}
}
