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

// mostInequalities is how many inequalities particles are tried on: each narrow one
// loses some in the last step (package twisted, Caveats).
const mostInequalities = 24

// narrow is the width of rows that are equations, in standard deviations: those of a
// series.Builder have a tolerance of half a hundredth.
const narrow = 0.0101

// drawer draws samples.
type drawer interface {
	Draw(x []float32, src rand.Source)
}

// fits returns an error unless the conditional distribution can be drawn from under
// the limits.
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

// conditional stores samples for held-out window i from the distribution of the model
// given its limits: in closed form where the model is a density and all limits are
// equations, else by weighted particles, a cloud for each.
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

// given returns the model given equations.
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

// dependent is the share of a row beyond the rows before it that is rounding.
const dependent = 1e-9

// equations returns the equations of held-out window i as independent rows, which
// are orthonormal; only reports that there is nothing else. The window itself meets
// them, so a row that depends on others adds nothing.
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
