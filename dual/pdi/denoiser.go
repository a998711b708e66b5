package pdi

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/multiplier"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Denoiser is primal–dual inference on reals (Hadou, Uslu and Ribeiro 2026, Algorithm
// 2): a denoiser that carries multipliers and moves them while a diffusion
// runs. In every reverse step it predicts the clean samples under μ_λ, projects
// them onto a domain, hands them to the diffusion, and then moves λ by the mean
// violation over the samples that share it:
//
//	x̂_0 = Π(E_λ[x_0 | x_t]),   λ ← rule(λ, mean g(x̂_0)).
//
// Use it with the DDPM step, diffusion.Gaussian{Eta: 1}; the paper has T = 500
// steps on a cosine (s = 0.008) or linear schedule. One λ per batch
// (diffusion.Config.Batch) unless Group says otherwise; a new batch starts from
// Start again.
//
// It belongs to one diffusion at a time. Given the batch, results do not depend
// on the number of workers.
type Denoiser struct {
	p      projected
	cfg    Config
	groups []*pdiGroup
	last   float64 // time of the last call
	first  float64 // of the first of the run
	g      []float64
	ess    []float64
}

const averageFrom = 0.25 // part of a run that averages leave out

// pdiGroup is what one λ needs.
type pdiGroup struct {
	lambda  []float64
	updater dual.Updater // nil if the rule is predictive
	ahead   *predictive
	batch   dual.Batch
	ess     float64
	history []float64 // per step: λ, then the mean violation
}

// New returns the denoiser. It returns an error for a nil predictor, a field
// out of range, or a rule that refuses.
func New(ctx context.Context, p Predictor, cfg Config) (*Denoiser, error) {
	if check.Nil(p) {
		return nil, fmt.Errorf("pdi: New: predictor is nil")
	}
	if cfg.Group < 0 {
		return nil, fmt.Errorf("pdi: Config.Group = %d, want ≥ 0", cfg.Group)
	}
	var err error
	if cfg.Start, cfg.most, err = multiplier.Range("pdi: Config", p.Len(), cfg.Start, cfg.Max, nil); err != nil {
		return nil, err
	}
	if err := check.Optional("pdi: Config", "Rule", cfg.Rule); err != nil {
		return nil, err
	}
	if cfg.Rule != nil {
		if _, err := cfg.Rule.Bind(ctx, p.Len()); err != nil {
			return nil, err
		}
	}
	return &Denoiser{p: projected{p, cfg.Domain}, cfg: cfg, last: math.Inf(-1)}, nil
}

// Shape returns the number of coordinates and 1.
func (d *Denoiser) Shape() (sites, levels int) { return d.p.Sites(), 1 }

// Denoise implements energy.Denoiser. The states of a group are coupled through
// λ.
func (d *Denoiser) Denoise(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	n, states := d.p.Sites(), len(q.Time)
	check.Len("pdi", "X", len(q.X), states*n)
	check.Len("pdi", "v", len(v), len(q.X))
	if slices.Contains(q.Clean, true) {
		return fmt.Errorf("pdi: the predictor does not know of clamped entries")
	}
	if states == 0 {
		return ctx.Err()
	}
	size := d.cfg.Group
	if size == 0 {
		size = states
	}
	if states%size != 0 {
		return fmt.Errorf("pdi: batch of %d samples, want a multiple of Group = %d", states, size)
	}
	if q.Time[0] >= d.last {
		d.first = q.Time[0]
		if err := d.begin(ctx, states/size); err != nil {
			return err
		}
	}
	final := q.Time[0] < 1.5*(d.last-q.Time[0]) // the next step would end at 0
	d.last = q.Time[0]
	if len(d.groups) != states/size {
		return fmt.Errorf("pdi: %d samples in the middle of a batch of %d", states, len(d.groups)*size)
	}
	ess := 0.0
	for k, g := range d.groups {
		if err := poll.Err(ctx); err != nil {
			return err
		}
		part := energy.Noised[float32]{X: q.X[k*size*n : (k+1)*size*n], Alpha: q.Alpha[k*size : (k+1)*size], Src: q.Src[k*size : (k+1)*size]}
		if err := d.step(g, v[k*size*n:(k+1)*size*n], part, final); err != nil {
			return err
		}
		ess += g.ess / float64(len(d.groups))
	}
	d.ess = append(d.ess, ess)
	return nil
}

// begin starts a batch of so many groups.
func (d *Denoiser) begin(ctx context.Context, groups int) error {
	d.groups = d.groups[:0]
	d.ess = d.ess[:0]
	m := d.p.Len()
	for range groups {
		g := &pdiGroup{lambda: slices.Clone(d.cfg.Start), batch: dual.Batch{Beta: d.p.Beta(), Mean: make([]float64, m), Max: d.cfg.most}}
		switch {
		case d.cfg.Fixed:
		case d.cfg.Rule == nil:
			g.ahead = newPredictive(m)
		default:
			var err error
			if g.updater, err = d.cfg.Rule.Bind(ctx, m); err != nil {
				return err
			}
		}
		d.groups = append(d.groups, g)
	}
	return nil
}

// step predicts the states of a group and moves its λ.
func (d *Denoiser) step(g *pdiGroup, v []float32, q energy.Noised[float32], final bool) error {
	b := &g.batch
	b.States = len(q.Alpha)
	if g.ahead != nil && b.Step == 0 {
		if err := g.ahead.prologue(d.p, g.lambda, b.Max, q); err != nil {
			return err
		}
	}
	if err := d.p.predict(v, q.X, q.Alpha, g.lambda, q.Src); err != nil {
		return err
	}
	if e, ok := d.p.Predictor.(Estimator); ok {
		g.ess = e.Effective()
	}
	d.g = slices.Grow(d.g[:0], b.States*len(b.Mean))[:b.States*len(b.Mean)]
	d.p.Violation(d.g, v)
	if err := b.Measure(d.g); err != nil {
		return err
	}
	g.history = append(append(g.history, g.lambda...), b.Mean...)
	if d.cfg.Fixed {
		return nil
	}
	if err := d.move(g, q); err != nil {
		return err
	}
	b.Step++
	again := 0
	switch {
	case final && g.ahead != nil:
		again = epilogueRounds
	case d.cfg.Again:
		again = 1
	}
	for k := range again {
		if err := d.p.predict(v, q.X, q.Alpha, g.lambda, q.Src); err != nil {
			return err
		}
		if k+1 == again {
			break
		}
		d.p.Violation(d.g, v)
		if err := b.Measure(d.g); err != nil {
			return err
		}
		if err := d.move(g, q); err != nil {
			return err
		}
	}
	return nil
}

// move moves the λ of a group after its prediction.
func (d *Denoiser) move(g *pdiGroup, q energy.Noised[float32]) error {
	switch {
	case g.ahead == nil:
		return g.updater.Update(g.lambda, &g.batch)
	case g.batch.Step == 0: // the prologue has moved λ
		return nil
	}
	return g.ahead.update(d.p, g.lambda, &g.batch, q, d.first-d.last)
}

// Groups returns the number of groups of the last batch.
func (d *Denoiser) Groups() int { return len(d.groups) }

// Lambda returns a copy of the present multipliers of a group of the last batch.
func (d *Denoiser) Lambda(group int) []float64 { return slices.Clone(d.groups[group].lambda) }

// Average returns the mean multipliers of a group over the last batch's steps
// after the first quarter; nil before the first step.
func (d *Denoiser) Average(group int) []float64 {
	steps := d.Steps()
	if steps == 0 {
		return nil
	}
	from := int(averageFrom * float64(steps))
	avg := make([]float64, d.p.Len())
	for t := from; t < steps; t++ {
		lambda, _ := d.At(group, t)
		for j, l := range lambda {
			avg[j] += l / float64(steps-from)
		}
	}
	return avg
}

// Steps returns the number of steps of the last batch so far.
func (d *Denoiser) Steps() int { return len(d.ess) }

// At returns the multipliers of a group at a step of the last batch and the mean
// violation of its predictions there, before Again. The slices are the
// denoiser's own. It panics if there is no such group or step.
func (d *Denoiser) At(group, step int) (lambda, mean []float64) {
	m := d.p.Len()
	row := d.groups[group].history[2*m*step : 2*m*(step+1)]
	return row[:m:m], row[m:]
}

// Effective returns, per step of the last batch, the effective number of
// candidates of a predictor that estimates ([GibbsScore]), zeros for others. The
// slice is the denoiser's own.
func (d *Denoiser) Effective() []float64 { return d.ess }
