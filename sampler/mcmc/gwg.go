package mcmc

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/cost"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// GWG is Gibbs with gradients (Grathwohl et al. 2021): it draws one change
// (i, l), l ≠ x_i, from
//
//	q(i,l|x) ∝ exp(−½ (E(x with x_i=l) − E(x)))
//
// with the differences of the model's first-order table, and accepts with the
// Hastings ratio of the reverse change. Energy and table of the current states
// are cached: a step costs one evaluation of the model and changes at most
// Flips sites.
//
// With Flips = R > 1 it draws a list of R changes with replacement and scores
// the reversed list at the new state (the GWG-X of Zhang, Liu and Liu 2022). On
// two levels a site that the list repeats flips once; on more levels such a list
// is rejected, since "the last one wins" would not leave π invariant. Either way
// lists suit flat energies: where one change is much steeper than the others
// every draw of the list is that change, and the chain stays where it is. [DMALA]
// changes many sites without that flaw.
type GWG struct {
	Flips int // changes per step; 0 means 1
}

// Name implements [sampler.Named].
func (GWG) Name() string { return "gwg" }

// Kernel implements [sampler.Method].
func (g GWG) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	if _, _, err := check.Shape("mcmc: GWG", m, chains, sampler.BlockSize); err != nil {
		return nil, err
	}
	if g.Flips < 0 {
		return nil, fmt.Errorf("mcmc: GWG: Flips = %d, want ≥ 0", g.Flips)
	}
	if err := check.Entries("mcmc: GWG", "chains × Flips", chains, g.Flips); err != nil {
		return nil, err
	}
	return newGWG(m, chains, max(g.Flips, 1), newCompactTable(m)), nil
}

func newGWG(m energy.Model, chains, flips int, t *table) *gwg {
	sites, levels := m.Shape()
	cols := t.cols()
	n := chains * sites * cols
	return apart.New(gwg{
		table: t, sites: sites, levels: levels, cols: cols, flips: flips,
		g: apart.Make[float32](n),
		w: apart.Make[float32](n), nextW: apart.Make[float32](n),
		sum: apart.Make[float64](chains), nextSum: apart.Make[float64](chains),
		e: apart.Make[float64](chains), next: apart.Make[float64](chains),
		y: apart.Make[int32](chains * sites), list: apart.Make[int](chains * flips),
		at: newCursor(chains),
	})
}

type gwg struct {
	price                cost.Memo
	table                *table
	balance              Balance
	sites, levels, flips int
	cols                 int       // of the table: levels, or 1 for the flip of a site
	g                    []float32 // table of the states last loaded
	w, nextW             []float32 // weights of all changes: chains × (sites·cols)
	sum, nextSum         []float64
	e, next              []float64
	y                    []int32
	list                 []int // chains × flips: indices i·levels+l, or i for flips
	at                   cursor
}

var _ sampler.Costed = (*gwg)(nil)

// evaluate stores energies and differences of the chains lo … hi−1 at x, or
// returns false if it was stopped.
func (k *gwg) evaluate(lo, hi int, e []float64, x []int32) bool {
	n := k.sites * k.cols
	return k.table.evaluate(e[lo:hi], k.g[lo*n:hi*n], x[lo*k.sites:hi*k.sites], &k.at)
}

// weigh turns the differences of the chains lo … hi−1 at x into weights.
func (k *gwg) weigh(lo, hi int, x []int32) {
	n := k.sites * k.cols
	k.table.weigh(k.nextW[lo*n:hi*n], k.nextSum[lo:hi], k.g[lo*n:hi*n], x[lo*k.sites:hi*k.sites], k.balance)
}

// work returns the elementary operations of evaluating or weighing one chain.
func (k *gwg) work() int { return k.table.work() }

// Reset implements [sampler.Transition].
func (k *gwg) Reset(ctl sampler.Control, x []int32) error {
	return k.at.renew(ctl.Stop, 2, k.work(), func(stage, lo, hi int) (bool, error) {
		if stage == 0 {
			return k.evaluate(lo, hi, k.e, x), nil
		}
		k.weigh(lo, hi, x)
		for s := lo; s < hi; s++ {
			k.accept(s)
		}
		return true, checkStart(k.e, lo, hi)
	})
}

// accept makes the weights last loaded for chain s its current ones.
func (k *gwg) accept(s int) {
	copy(k.row(k.w, s), k.row(k.nextW, s))
	k.sum[s] = k.nextSum[s]
}

func (k *gwg) row(w []float32, s int) []float32 {
	n := k.sites * k.cols
	return w[s*n : (s+1)*n]
}

func (k *gwg) changes(s int) []int { return k.list[s*k.flips : (s+1)*k.flips] }

// Step implements [sampler.Transition].
func (k *gwg) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	return k.at.step(ctl, k, info, x, r, 4, k.work())
}

// move implements staged.
func (k *gwg) move(stage, lo, hi int, x []int32, r []sampler.Stream) bool {
	switch stage {
	case 0:
		copy(k.y[lo*k.sites:hi*k.sites], x[lo*k.sites:])
		for s := lo; s < hi; s++ {
			from, to := s*k.sites, (s+1)*k.sites
			list := k.changes(s)
			for j := range list {
				list[j] = simd.Pick(k.row(k.w, s), k.sum[s], r[s].Float64())
			}
			if !k.apply(k.y[from:to], x[from:to], list) {
				list[0] = -1 // rejected before it is evaluated
				copy(k.y[from:to], x[from:to])
			}
		}
	case 1:
		return k.evaluate(lo, hi, k.next, k.y)
	case 2:
		k.weigh(lo, hi, k.y)
	default:
		for s := lo; s < hi; s++ {
			k.judge(s, x[s*k.sites:(s+1)*k.sites], k.y[s*k.sites:(s+1)*k.sites], &r[s])
		}
	}
	return true
}

// judge accepts the proposal y of chain s, at state x, or not.
func (k *gwg) judge(s int, x, y []int32, r *sampler.Stream) {
	told := &k.at.told[s]
	*told = sampler.Info{Energy: k.e[s]}
	u := r.Float64()
	if k.changes(s)[0] < 0 {
		if math.IsNaN(k.sum[s]) {
			told.Invalid = 1
		}
		return
	}
	forth, back := k.score(s, x)
	a, ok := accept(k.e[s]-k.next[s], forth, back)
	told.Accept = a
	if !ok {
		told.Invalid = 1
	}
	if u >= a {
		return
	}
	told.Moved = changed(x, y)
	copy(x, y)
	k.accept(s)
	k.e[s] = k.next[s]
	told.Energy = k.e[s]
}

// change returns the site and the level of change number c at x.
func (k *gwg) change(c int, x []int32) (i int, l int32) {
	if k.cols == 1 {
		return c, 1 - x[c]
	}
	return c / k.levels, int32(c % k.levels)
}

// apply makes the listed changes to y, which equals x. It returns false if a
// change could not be drawn or the list is one to reject.
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

// score returns the log-probabilities of drawing the list of chain s at x and
// of drawing its reverse at y.
func (k *gwg) score(s int, x []int32) (forth, back float64) {
	f, b := newProduct(), newProduct()
	w, next := k.row(k.w, s), k.row(k.nextW, s)
	for _, c := range k.changes(s) {
		back := c
		if k.cols > 1 {
			i := c / k.levels
			back = i*k.levels + int(x[i])
		}
		f.mul(float64(w[c]) / k.sum[s])
		b.mul(float64(next[back]) / k.nextSum[s])
	}
	return f.log(), b.log()
}

func (k *gwg) AppendBinary(b []byte) ([]byte, error) {
	return k.at.append(wire.AppendFloat64s(wire.AppendFloat64s(wire.AppendFloat32s(b, k.w), k.sum), k.e)), nil
}

func (k *gwg) UnmarshalBinary(b []byte) error {
	b, err := wire.ReadFloat32s(b, k.w)
	if err != nil {
		return err
	}
	if b, err = wire.ReadFloat64s(b, k.sum); err != nil {
		return err
	}
	if b, err = wire.ReadFloat64s(b, k.e); err != nil {
		return err
	}
	return k.at.restore(b, 0)
}
