package denoise

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/elimination"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Factored is the exact denoiser of a model whose factors form a graph of low tree-width, such as a
// tree or a narrow lattice. By variable elimination (see package projection/junction) it computes
// the posterior of every token given the corrupted state x_t,
//
//	p(x_0,i = l | x_t) ∝ Σ_{x_0: x_0,i = l} exp(−E(x_0)) Π_j q(x_t,j | x_0,j),
//
// where E is the energy of the model and q(x_t,j | x_0,j) is the probability that the corruption
// turns token x_0,j into x_t,j. A prediction of one state costs about three times as much as log Z.
//
// If a corrupted state is impossible under the model, its prediction is −Inf everywhere. A Factored
// is immutable and safe for concurrent use.
type Factored struct {
	sites, k   int
	corruption Corruption
	reduced    *elimination.Reduced
	plan       *elimination.Plan
	noisy      []int // by site: its table of likelihoods, −1 for a site of one level
	runs       sync.Pool
}

// NewFactored returns the exact denoiser of the model m under the corruption c. It uses the current
// parameters of the model.
//
// NewFactored returns an error in these cases:
//
//   - m is nil or cannot list its factors ([energy.Factored]), or c is unknown;
//   - a site has no level of finite energy;
//   - the intermediate tables of the elimination would take more than 1 GiB ([*energy.WidthError]);
//   - ctx ends (the error of ctx).
func NewFactored(ctx context.Context, m energy.Factored, c Corruption) (*Factored, error) {
	if check.Nil(m) {
		return nil, errors.New("denoise: NewFactored: m is nil")
	}
	if err := c.check("NewFactored"); err != nil {
		return nil, err
	}
	cards, scopes, tables, ok := m.Factors()
	if !ok {
		return nil, fmt.Errorf("denoise: NewFactored: %T turns out to have no factors", m)
	}
	d := &Factored{corruption: c}
	d.sites, d.k = m.Shape()
	var err error
	if d.reduced, err = elimination.Reduce(cards, scopes, tables); err != nil {
		return nil, fmt.Errorf("denoise: NewFactored: %w", err)
	}
	d.noisy = make([]int, d.sites)
	scopes = d.reduced.Scopes
	for i := range d.noisy {
		d.noisy[i] = -1
		if left := d.reduced.Scope([]int32{int32(i)}); len(left) == 1 {
			d.noisy[i] = len(scopes)
			scopes = append(scopes[:len(scopes):len(scopes)], left)
		}
	}
	if d.plan, err = elimination.New(ctx, d.reduced.Cards, scopes, elimination.Options{}); err != nil {
		return nil, fmt.Errorf("denoise: NewFactored: %w", err)
	}
	d.runs.New = func() any { return d.newPosteriors(scopes) }
	return d, nil
}

// newPosteriors returns the workspace of a goroutine.
func (d *Factored) newPosteriors(scopes [][]int32) *posteriors {
	r := &posteriors{of: d, run: d.plan.NewRun(), tables: make([][]float64, len(scopes))}
	copy(r.tables, d.reduced.Tables)
	for _, k := range d.noisy {
		if k >= 0 {
			r.tables[k] = make([]float64, d.reduced.Cards[scopes[k][0]])
		}
	}
	return r
}

// Shape returns the numbers of sites and levels of the model. If the corruption is Absorbing,
// the mask is an additional level.
func (d *Factored) Shape() (sites, levels int) { return d.sites, d.corruption.levels(d.k) }

// TimeFree reports whether predictions are independent of time: true for Absorbing, false for
// Noisy.
func (d *Factored) TimeFree() bool { return d.corruption == Absorbing }

// MaskLevel returns the level of the mask, or −1 if the corruption is [Noisy], which has no mask.
// It implements [energy.Masking].
func (d *Factored) MaskLevel() int32 { return d.corruption.mask(d.k) }

// Denoise stores in v the exact log-posteriors of all tokens; it implements [energy.Denoiser].
func (d *Factored) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	r := d.runs.Get().(*posteriors)
	defer d.runs.Put(r)
	r.ctx, r.err = ctx, nil
	err := d.corruption.denoise(ctx, v, q, d.sites, d.k, 0, r)
	r.ctx = nil
	if err == nil && r.err != nil {
		err = fmt.Errorf("denoise: Factored: %w", r.err)
	}
	return err
}

// posteriors is the workspace of a call of Denoise.
type posteriors struct {
	of     *Factored
	run    *elimination.Run
	tables [][]float64 // energies, those of the likelihoods last
	ctx    context.Context
	err    error // of elimination
}

// posterior implements bayes.
func (r *posteriors) posterior(p, like, _ []float64) {
	clear(p)
	d := r.of
	for i, k := range d.noisy {
		row, possible := like[i*d.k:(i+1)*d.k], false
		for j, l := range d.reduced.Levels[i] {
			possible = possible || row[l] > 0
			switch {
			case k < 0:
				p[i*d.k+int(l)] = 1
			case row[l] > 0:
				r.tables[k][j] = 0 - simd.Log(row[l])
			default:
				r.tables[k][j] = math.Inf(1)
			}
		}
		if !possible {
			clear(p)
			return
		}
	}
	_, err := r.run.Marginals(r.ctx, r.tables, nil, func(v int32, q []float64) {
		if i := int(d.reduced.Var[v]); i < d.sites {
			for j, l := range d.reduced.Levels[i] {
				p[i*d.k+int(l)] = q[j]
			}
		}
	})
	if err != nil {
		clear(p)
		if r.err == nil && !errors.Is(err, elimination.ErrZero) {
			r.err = err
		}
	}
}
