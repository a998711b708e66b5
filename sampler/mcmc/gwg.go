package mcmc

import (
	"cmp"
	"context"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// GWG is Gibbs with gradients (Grathwohl et al. 2021). A step draws one change of a site i to a
// level l ≠ x_i from
//
//	q(i,l|x) ∝ exp(−½ (E(x with x_i=l) − E(x)))
//
// where the energy differences come from the model's table, often a first-order approximation (see
// [DMALA]). It accepts the change with the Metropolis–Hastings probability. A step costs one
// evaluation of the model.
//
// If Flips is R > 1, a step draws a list of R changes with replacement and accepts or rejects them
// together (GWG-X of Zhang, Liu and Liu 2022). With two levels, a site that is repeated in the list
// flips once. With more levels, a list that repeats a site is rejected. Lists suit only energies
// that change little at each site; otherwise use [DMALA].
type GWG struct {
	Flips int // number of changes of a site that a step draws; 0 means 1
}

// Name returns "gwg"; it implements [sampler.Named].
func (GWG) Name() string { return "gwg" }

// Kernel returns a new kernel that moves the given number of chains. It implements [sampler.Method].
func (g GWG) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	_, _, err := check.Shape("mcmc: GWG", m, chains, sampler.BlockSize)
	if err = cmp.Or(err,
		check.If(g.Flips < 0, "mcmc: GWG: Flips = %d, want ≥ 0", g.Flips),
		check.Entries("mcmc: GWG", "chains × Flips", chains, g.Flips),
	); err != nil {
		return nil, err
	}
	return newHastings(m, chains, newGWG(m, chains, max(g.Flips, 1), newCompactTable(m)), 0, nil), nil
}

// gwg is the proposal that draws single changes with a probability proportional to their weight.
type gwg struct {
	unconfined
	unstepped
	table                *table
	balance              Balance
	sites, levels, flips int
	// columns of the table: levels, or 1 if an entry is the flip of a two-level site
	cols int
	// table of energy differences at the states evaluated last
	g   []float32
	w   padded.Pair[float32] // weights of all changes: chains × (sites·cols)
	sum padded.Pair[float64]
	// drawn changes, chains × flips: indices i·levels+l, or i for flips; −1 in the first entry
	// marks a rejected list
	list []int
}

func newGWG(m energy.Model, chains, flips int, t *table) *gwg {
	sites, levels := m.Shape()
	cols := t.cols()
	return padded.New(gwg{
		table: t, sites: sites, levels: levels, cols: cols, flips: flips,
		g: padded.Make[float32](chains * sites * cols),
		w: padded.NewPair[float32](chains, sites*cols), sum: padded.NewPair[float64](chains, 1),
		list: padded.Make[int](chains * flips),
	})
}

func (k *gwg) work() int { return k.table.work() }

func (k *gwg) evaluate(lo, hi int, e []float64, y, _ []int32, at *sweep.Cursor) bool {
	n := k.sites * k.cols
	return k.table.evaluate(e[lo:hi], k.g[lo*n:hi*n], y[lo*k.sites:hi*k.sites], at)
}

func (k *gwg) weigh(lo, hi int, y []int32, _ *sweep.Cursor) bool {
	n := k.sites * k.cols
	k.table.weigh(k.w.Next[lo*n:hi*n], k.sum.Next[lo:hi], k.g[lo*n:hi*n], y[lo*k.sites:hi*k.sites], k.balance)
	return true
}

func (k *gwg) accept(lo, hi int) {
	k.w.Accept(lo, hi)
	k.sum.Accept(lo, hi)
}

func (k *gwg) changes(s int) []int { return k.list[s*k.flips : (s+1)*k.flips] }

func (k *gwg) draw(y, x []int32, s int, r *sampler.Stream) (moved int, logq float64) {
	copy(y, x)
	list := k.changes(s)
	for j := range list {
		list[j] = simd.Pick(k.w.Chain(s, false), k.sum.Now[s], r.Float64())
	}
	if !k.apply(y, x, list) {
		list[0] = -1 // marks the list as rejected for logProb
		copy(y, x)
		return 0, k.sum.Now[s] - k.sum.Now[s] // 0, or NaN if the sum is not finite
	}
	if k.flips == 1 {
		return 1, k.current(y, x, s)
	}
	return sweep.Changed(x, y), k.current(y, x, s)
}

// change returns the site i and the new level l of the change with index c at state x.
func (k *gwg) change(c int, x []int32) (i int, l int32) {
	if k.cols == 1 {
		return c, 1 - x[c]
	}
	return c / k.levels, int32(c % k.levels)
}

// apply applies the listed changes to y, which equals x. It returns false if a change could not
// be drawn or the list must be rejected.
func (k *gwg) apply(y, x []int32, list []int) bool {
	for _, c := range list {
		if c < 0 {
			return false
		}
		i, l := k.change(c, x)
		if y[i] != x[i] && k.levels > 2 {
			return false
		}
		y[i] = l
	}
	return true
}

// current returns the log-probability of drawing the list of chain s at the current state.
func (k *gwg) current(_, _ []int32, s int) float64 {
	q, w := newProduct(), k.w.Chain(s, false)
	for _, c := range k.changes(s) {
		q.mul(float64(w[c]) / k.sum.Now[s])
	}
	return q.log()
}

// logProb returns the log-probability of drawing, at the proposed state, the reverse of the list
// of chain s. The first argument is the current state.
func (k *gwg) logProb(x, _ []int32, s int) float64 {
	q, next := newProduct(), k.w.Chain(s, true)
	for _, c := range k.changes(s) {
		if c < 0 {
			return math.Inf(-1)
		}
		if k.cols > 1 {
			i := c / k.levels
			c = i*k.levels + int(x[i])
		}
		q.mul(float64(next[c]) / k.sum.Next[s])
	}
	return q.log()
}

func (k *gwg) fields(f *wire.Fields) {
	f.Float32s(k.w.Now)
	f.Float64s(k.sum.Now)
}

// LocallyBalanced changes one site per step. It draws a change of a site i to a level l ≠ x_i from
//
//	q(i,l|x) ∝ g( exp(E(x) − E(x with x_i=l)) )
//
// and accepts it with the Metropolis–Hastings probability (Zanella 2020). The balancing function g
// is the field Balance. A step costs one evaluation of the model and one table of energy
// differences.
//
// If Balance is Sqrt and Exact is false, the method is the same as [GWG] with one flip.
type LocallyBalanced struct {
	Balance Balance // balancing function g, which weights the changes; the zero value is Sqrt

	// Exact, if true, computes the energy differences from the model's single-site energies instead
	// of its table of energy differences. Use it for models whose table is only approximate. The
	// kernel leaves the model's distribution π invariant with or without Exact.
	//
	// Single-site energies come from energy.Local, else from energy.Conditional, else from
	// evaluations of whole states. Without energy.Local, a step costs as much as computing the
	// conditional distributions of all sites.
	Exact bool
}

// Name returns "locally-balanced"; it implements [sampler.Named].
func (LocallyBalanced) Name() string { return "locally-balanced" }

// Kernel returns a new kernel that moves the given number of chains. It implements [sampler.Method].
func (l LocallyBalanced) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	_, _, err := check.Shape("mcmc: LocallyBalanced", m, chains, sampler.BlockSize)
	if err = cmp.Or(err, l.Balance.check("LocallyBalanced")); err != nil {
		return nil, err
	}
	t := newExactTable
	if !l.Exact {
		t = newCompactTable
	}
	p := newGWG(m, chains, 1, t(m))
	p.balance = l.Balance
	return newHastings(m, chains, p, 0, nil), nil
}
