package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/twisted"
)

// mostInequalities is the maximum number of inequalities for which particles are used. Each
// narrow one loses some particles in the last step (package twisted, Caveats).
const mostInequalities = 24

// narrow is the maximum width, in standard deviations, of limits that count as equations. The
// equations of a series.Builder have a tolerance of half a hundredth.
const narrow = 0.0101

// drawer draws samples.
type drawer interface {
	Draw(x []float32, src rand.Source)
}

// fits returns an error if the conditional distribution under the limits cannot be sampled.
func (p *problem) fits() error {
	for i, set := range p.sets {
		linear, curved := set.Split()
		if curved.Len() > 0 {
			return fmt.Errorf("window of line %d: an autocorrelation is no linear equation", p.lines[p.starts[i]])
		}
		bounded := 0
		for j, lo := range linear.Lower {
			if linear.Upper[j]-lo > narrow {
				bounded++
			}
		}
		if bounded > mostInequalities {
			return fmt.Errorf("window of line %d has %d inequalities, want at most %d: leave out argmax and argmin (-features), and -ohlc=false",
				p.lines[p.starts[i]], bounded, mostInequalities)
		}
	}
	return nil
}

// conditional stores samples for held-out window i from the model's distribution given the
// window's limits. If the model is a density and all limits are equations, it samples in closed
// form. Otherwise it uses weighted particles, one cloud per sample.
func (p *problem) conditional(ctx context.Context, o options, i int, x []float32) error {
	if err := p.fits(); err != nil {
		return err
	}
	rows, values, only := p.equations(i)
	seed := o.seed + uint64(i)<<32
	if only && o.denoiser != trainedDenoiser {
		given, err := p.given(rows, values)
		if err != nil {
			return err
		}
		src := rand.NewPCG(seed, 0)
		for at := 0; at < len(x); at += p.sites() {
			given.Draw(x[at:at+p.sites()], src)
		}
		return ctx.Err()
	}
	model := p.model
	if o.denoiser == trainedDenoiser && !o.jacobian {
		model = withCovariance{p.model, ctx, p.prior}
	}
	s, err := twisted.New(ctx, model, p.sets[i], twisted.Config{
		Schedule: schedule, Steps: o.steps, Particles: o.particles, Width: narrow, Seed: seed,
	})
	if err != nil {
		return err
	}
	return s.Sample(ctx, x)
}

// given returns the model conditioned on the equations rows·x = values.
func (p *problem) given(rows, values []float64) (drawer, error) {
	if w, ok := p.model.(*denoise.Windows); ok {
		given, _, err := w.Where(rows, values)
		return given, err
	}
	if k, ok := p.model.(*kernels); ok {
		return k.Where(rows, values)
	}
	m, err := continuous.NewMixture([]float64{1}, [][]float64{p.prior.mean}, [][]float64{p.prior.full()})
	if err != nil {
		return nil, err
	}
	given, _, err := m.Where(rows, values)
	return given, err
}

// dependent is the share of a row, after projection on the previous rows, below which the
// remainder counts as rounding.
const dependent = 1e-9

// equations returns the equations of held-out window i as orthonormal rows. The boolean result
// reports whether there are no inequalities. The window itself satisfies the equations, so that
// a row which depends on others can be dropped.
func (p *problem) equations(i int) (rows, values []float64, only bool) {
	linear, _ := p.sets[i].Split()
	n := p.sites()
	only = true
	for j, a := range linear.A {
		if linear.Upper[j]-linear.Lower[j] > narrow {
			only = false
			continue
		}
		row, value, size := make([]float64, n), (linear.Lower[j]+linear.Upper[j])/2, 0.0
		for k, at := range a.Index {
			row[at] += a.Value[k]
			size += a.Value[k] * a.Value[k]
		}
		left := 0.0
		for range 2 { // once more for what rounding leaves
			for r := range values {
				u, dot := rows[r*n:(r+1)*n], 0.0
				for k, v := range u {
					dot += v * row[k]
				}
				for k, v := range u {
					row[k] -= dot * v
				}
				value -= dot * values[r]
			}
		}
		for _, v := range row {
			left += v * v
		}
		if left <= dependent*dependent*size {
			continue
		}
		norm := math.Sqrt(left)
		for k := range row {
			row[k] /= norm
		}
		rows, values = append(rows, row...), append(values, value/norm)
	}
	return rows, values, only
}

// withCovariance adds the posterior covariance of a Gaussian to a denoiser, which makes it a
// twisted.Posterior. The particles' weights correct the error of this covariance. A step then
// costs no more than a prediction.
type withCovariance struct {
	energy.Denoiser[float32]
	ctx   context.Context // context of the run, which Moments does not receive
	prior *posterior
}

// Moments stores in mean the prediction for x, and in product the products of the vectors in rows
// with the posterior covariance. It returns the trace of the covariance. It implements
// twisted.Posterior.
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
