package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Fit is the loop that moves parameters: per step it estimates the gradient, moves θ
// by Adam and the proximal steps of the penalties, and sets the parameters of the
// model. A run is a function of the configuration, the data and the chains; the
// number of workers plays no part. Methods must not be called concurrently with each
// other.
type Fit struct {
	cfg   Config
	p     energy.Parametric
	data  []int32
	sites int
	phase Phase

	theta, g []float64
	average  []float64 // of θ, weights ∝ t²
	rule     adam
	steps    int
	res      residuals
	batch    []int32
	chosen   []int32
	filed    int // steps at the last checkpoint file
	busy     uint32
}

// New returns a fit of the parameters of p, from where they are, to data, rows of
// sites, which it keeps and does not modify.
//
// Errors: a nil model, a model without parameters, data that are not whole rows or
// none, a level out of range or a row of probability zero (both named by row and
// site), a field of the configuration out of range, an objective that refuses.
func New(ctx context.Context, p energy.Parametric, data []int32, cfg Config) (*Fit, error) {
	sites, levels, err := check.Model("fit", "New", "the model", p)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 || len(data)%sites != 0 {
		return nil, fmt.Errorf("fit: New: len(data) = %d, want a positive multiple of %d sites", len(data), sites)
	}
	for at, l := range data {
		if l < 0 || int(l) >= levels {
			return nil, fmt.Errorf("fit: New: row %d of the data has level %d at site %d, want 0 … %d", at/sites, l, at%sites, levels-1)
		}
	}
	rows := len(data) / sites
	e := make([]float64, rows)
	p.Energy(e, data)
	for r, v := range e {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("fit: New: energy of row %d of the data = %v, want a finite number", r, v)
		}
	}
	f := &Fit{cfg: cfg, p: p, data: data, sites: sites, theta: p.Params()}
	n := len(f.theta)
	if n == 0 {
		return nil, fmt.Errorf("fit: New: the model has no parameters")
	}
	if err := f.cfg.fill(n, rows); err != nil {
		return nil, err
	}
	if f.phase, err = f.cfg.Objective.Bind(ctx, p, data, cfg.Chains); err != nil {
		return nil, err
	}
	f.g, f.average, f.rule, f.res = make([]float64, n), slices.Clone(f.theta), newAdam(n), newResiduals(n)
	f.batch, f.chosen = make([]int32, f.cfg.Batch*sites), make([]int32, 0, f.cfg.Batch)
	return f, nil
}

// Run makes n steps; math.MaxInt of them go on until the context ends. Then the
// model has the present parameters and the chains are Reset to them.
//
// If the context ends, Run returns its error; a later Run goes on with the step that
// was interrupted. A gradient that is not finite, parameters that the model refuses,
// or an error of the chains ends it with that; the parameters are then those before
// the step.
func (f *Fit) Run(ctx context.Context, n int) error {
	if n < 0 {
		return fmt.Errorf("fit: Run: n = %d, want ≥ 0", n)
	}
	return f.run(ctx, n, func() bool { return false })
}

func (f *Fit) run(ctx context.Context, n int, stop func() bool) error {
	if ctx == nil {
		return fmt.Errorf("fit: Run: ctx = nil")
	}
	if !atomic.CompareAndSwapUint32(&f.busy, 0, 1) {
		return fmt.Errorf("fit: Run: another Run of this fit is under way, want one at a time")
	}
	defer atomic.StoreUint32(&f.busy, 0)
	err := f.advance(ctx, n, stop)
	if err == nil || ctx.Err() != nil {
		if file := f.keep(0); file != nil {
			err = errors.Join(err, file)
		}
	}
	return err
}

func (f *Fit) advance(ctx context.Context, n int, stop func() bool) error {
	for k := range n {
		if err := f.step(ctx); err != nil {
			return err
		}
		if stop() || k+1 == n {
			return f.phase.Settle()
		}
		if every := f.cfg.Checkpoint.Every; every > 0 {
			if err := f.keep(every); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *Fit) step(ctx context.Context) error {
	if err := poll.Err(ctx); err != nil {
		return err
	}
	clear(f.g)
	if err := f.phase.Gradient(ctx, f.g, f.rows(), f.steps, f.cfg.Seed); err != nil {
		return fmt.Errorf("fit: step %d: %w", f.steps, err)
	}
	for k, v := range f.g {
		if !check.Finite(v) {
			return fmt.Errorf("fit: step %d: gradient of parameter %d = %v, want a finite number", f.steps, k, v)
		}
	}
	eta := f.cfg.Rate(f.steps)
	if !(eta >= 0) || !check.Finite(eta) {
		return fmt.Errorf("fit: step %d: Config.Rate = %v, want a finite number ≥ 0", f.steps, eta)
	}
	before := f.p.Params()
	f.rule.step(f.theta, f.g, eta, &f.cfg)
	if err := f.p.SetParams(f.theta); err != nil {
		copy(f.theta, before)
		return fmt.Errorf("fit: step %d: %w", f.steps, err)
	}
	w := 3 / float64(f.steps+3)
	for k, t := range f.theta {
		f.average[k] += float64(w * (t - f.average[k]))
	}
	f.res.add(f.g)
	f.steps++
	if f.cfg.Observe != nil {
		f.cfg.Observe(f.steps-1, f.theta, f.g)
	}
	return nil
}

// rows returns the rows of the present step, a function of seed and step alone.
func (f *Fit) rows() []int32 {
	all := len(f.data) / f.sites
	if f.cfg.Batch == all {
		return f.data
	}
	r := rand.New(rand.NewPCG(f.cfg.Seed, uint64(f.steps)<<1))
	f.chosen = f.chosen[:0]
	for j := all - f.cfg.Batch; j < all; j++ { // Bentley and Floyd 1987
		v := int32(r.IntN(j + 1))
		at, taken := slices.BinarySearch(f.chosen, v)
		if taken {
			v, at = int32(j), len(f.chosen)
		}
		f.chosen = slices.Insert(f.chosen, at, v)
	}
	for k, v := range f.chosen {
		copy(f.batch[k*f.sites:(k+1)*f.sites], f.data[int(v)*f.sites:])
	}
	return f.batch
}

// keep saves a checkpoint if Config.Checkpoint asks for any and at least so many steps
// have been made since the last.
func (f *Fit) keep(every int) error {
	if f.cfg.Checkpoint.Path == "" || f.steps-f.filed < every {
		return nil
	}
	if err := durable.SaveFile("fit", f.cfg.Checkpoint.Path, f); err != nil {
		return err
	}
	f.filed = f.steps
	return nil
}

// Len returns the number of steps made.
func (f *Fit) Len() int { return f.steps }

// Params returns a copy of the present parameters, which are those of the model.
func (f *Fit) Params() []float64 { return slices.Clone(f.theta) }

// Average returns the mean of the parameters over the steps, with weights ∝ t², which
// has less noise than the last ones.
func (f *Fit) Average() []float64 { return slices.Clone(f.average) }

// UseAverage makes the average the present parameters, as at the end of a fit.
func (f *Fit) UseAverage() error {
	if err := f.p.SetParams(f.average); err != nil {
		return fmt.Errorf("fit: UseAverage: %w", err)
	}
	copy(f.theta, f.average)
	return f.phase.Settle()
}
