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
	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Paths is the path auxiliary fast sampler, PAFS (Sun, Dai, Xia and Ramamurthy
// 2022): it walks n sites away from x, one change after the other, drawn from
// the weights that [LocallyBalanced] would use at x,
//
//	q(i,l|x) ∝ g( exp(E(x) − E(x with x_i=l)) ),
//
// all changes of a site being dropped once it has changed, and accepts the end
// of the walk with the Hastings ratio of the way back: the same sites in reverse
// order, with their original levels, by the weights at the end. A step costs one
// evaluation of the model however long the path.
//
// The length n is drawn uniformly from 1 … 2·Length−1, at most the number of
// sites, whatever the state: paths of one even length could never change the
// parity of a two-level state.
type Paths struct {
	// Length is the mean length of a path. 0 means: start at 2 and adapt during
	// warm-up.
	Length int

	// Target is the mean acceptance probability that adaptation aims at; 0
	// means 0.574, the optimum for this sampler on product targets (Sun, Dai
	// and Schuurmans 2022).
	Target float64

	Balance Balance // g; the zero value is Sqrt
}

const defaultLength = 2 // paths of one to three changes

// Name implements [sampler.Named].
func (Paths) Name() string { return "paths" }

// Kernel implements [sampler.Method].
func (p Paths) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	sites, levels, err := check.Shape("mcmc: Paths", m, chains, sampler.BlockSize)
	if err != nil {
		return nil, err
	}
	if p.Length < 0 || p.Length > sites {
		return nil, fmt.Errorf("mcmc: Paths: Length = %d, want 1 … %d (0 to adapt)", p.Length, sites)
	}
	if err := p.Balance.check("Paths"); err != nil {
		return nil, err
	}
	k := apart.New(paths{
		table: newTable(m), balance: p.Balance, sites: sites, levels: levels,
		mean: float64(p.Length),
		g:    apart.Make[float32](chains * sites * levels),
		now:  newPathWeights(chains, sites, levels), next: newPathWeights(chains, sites, levels),
		e: apart.Make[float64](chains), nextE: apart.Make[float64](chains),
		y: apart.Make[int32](chains * sites), path: apart.Make[int32](chains * sites), length: apart.Make[int](chains),
		kept: apart.Make[float64](sites), at: newCursor(chains),
	})
	if p.Length == 0 {
		k.mean = float64(min(defaultLength, sites))
		if k.tune, err = tune.New("mcmc: Paths", k.mean, p.Target); err != nil {
			return nil, err
		}
	}
	return k, nil
}

type paths struct {
	price         cost.Memo
	table         *table
	balance       Balance
	sites, levels int
	mean          float64     // mean length before rounding
	tune          *tune.Tuner // nil: the length is fixed

	g         []float32
	now, next pathWeights // of the current states and of those last loaded
	e, nextE  []float64
	y         []int32
	path      []int32 // chains × sites: the sites of each path, in order
	length    []int   // of each path; 0 if it could not be drawn
	kept      []float64
	at        cursor
}

var (
	_ sampler.Adaptive = (*paths)(nil)
	_ sampler.Costed   = (*paths)(nil)
	_ sampler.Tuned    = (*paths)(nil)
)

// StepSize returns the mean length of a path.
func (k *paths) StepSize() float64 { return k.mean }

// longest returns the length of the longest path.
func (k *paths) longest() int { return min(2*int(math.Round(k.mean))-1, k.sites) }

// evaluate stores energies and differences of the chains lo … hi−1 at x, or
// returns false if it was stopped.
func (k *paths) evaluate(lo, hi int, e []float64, x []int32) bool {
	n := k.sites * k.levels
	return k.table.evaluate(e[lo:hi], k.g[lo*n:hi*n], x[lo*k.sites:hi*k.sites], &k.at)
}

// weigh turns the differences of the chains lo … hi−1 at x into weights.
func (k *paths) weigh(lo, hi int, x []int32) {
	n := k.sites * k.levels
	k.table.weigh(k.next.w[lo*n:hi*n], k.next.total[lo:hi], k.g[lo*n:hi*n], x[lo*k.sites:hi*k.sites], k.balance)
	k.next.sum(lo, hi)
}

// work returns the elementary operations of evaluating or weighing one chain.
func (k *paths) work() int { return k.table.work() }

// Reset implements [sampler.Transition].
func (k *paths) Reset(ctl sampler.Control, x []int32) error {
	return k.at.renew(ctl.Stop, 2, k.work(), func(stage, lo, hi int) (bool, error) {
		if stage == 0 {
			return k.evaluate(lo, hi, k.e, x), nil
		}
		k.weigh(lo, hi, x)
		for s := lo; s < hi; s++ {
			k.now.accept(&k.next, s)
		}
		return true, checkStart(k.e, lo, hi)
	})
}

// Step implements [sampler.Transition].
func (k *paths) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	return k.at.step(ctl, k, info, x, r, 4, k.work())
}

// move implements staged.
func (k *paths) move(stage, lo, hi int, x []int32, r []sampler.Stream) bool {
	switch stage {
	case 0:
		copy(k.y[lo*k.sites:hi*k.sites], x[lo*k.sites:])
		for s := lo; s < hi; s++ {
			own := k.y[s*k.sites : (s+1)*k.sites]
			k.length[s] = 1 + r[s].IntN(k.longest())
			if !k.draw(s, own, &r[s]) {
				k.length[s] = 0
				copy(own, x[s*k.sites:])
			}
		}
	case 1:
		return k.evaluate(lo, hi, k.nextE, k.y)
	case 2:
		k.weigh(lo, hi, k.y)
	default:
		for s := lo; s < hi; s++ {
			k.judge(s, x[s*k.sites:(s+1)*k.sites], k.y[s*k.sites:(s+1)*k.sites], &r[s])
		}
	}
	return true
}

// judge accepts the end y of the path of chain s, at state x, or not.
func (k *paths) judge(s int, x, y []int32, r *sampler.Stream) {
	told := &k.at.told[s]
	*told = sampler.Info{Energy: k.e[s]}
	u := r.Float64()
	if k.length[s] == 0 {
		if math.IsNaN(k.now.tree(s)[1]) {
			told.Invalid = 1
		}
		return
	}
	forth, back := k.score(s, y, x)
	a, ok := accept(k.e[s]-k.nextE[s], forth, back)
	told.Accept = a
	if !ok {
		told.Invalid = 1
	}
	if u >= a {
		return
	}
	told.Moved = k.length[s]
	copy(x, y)
	k.now.accept(&k.next, s)
	k.e[s] = k.nextE[s]
	told.Energy = k.e[s]
}

// draw walks from y, the current state of chain s, and notes the path. It
// returns false if no change is left to draw before the path is complete, or if
// weights are not defined.
func (k *paths) draw(s int, y []int32, r *sampler.Stream) bool {
	tree := k.now.tree(s)
	path := k.path[s*k.sites:][:k.length[s]]
	n := 0
	for ; n < len(path); n++ {
		i := tree.pick(r.Float64())
		if i < 0 {
			break
		}
		row := k.now.row(s, i)
		k.kept[n] = tree.leaf(i)
		y[i] = int32(simd.Pick(row, k.kept[n], r.Float64()))
		tree.set(i, 0)
		path[n] = int32(i)
	}
	for j := range n {
		tree.set(int(path[j]), k.kept[j])
	}
	return n == len(path)
}

// score returns the log-probabilities of walking the path of chain s from x to
// y, given its length, and of walking it back.
func (k *paths) score(s int, y, x []int32) (forth, back float64) {
	path := k.path[s*k.sites:][:k.length[s]]
	forth = k.walk(&k.now, s, path, y)
	for i, j := 0, len(path)-1; i < j; i, j = i+1, j-1 {
		path[i], path[j] = path[j], path[i]
	}
	return forth, k.walk(&k.next, s, path, x)
}

// walk returns the log-probability of drawing the sites of the path in this
// order, each with its level in to.
func (k *paths) walk(w *pathWeights, s int, path, to []int32) float64 {
	tree := w.tree(s)
	q := newProduct()
	for n, i := range path {
		p := float64(w.row(s, int(i))[to[i]])
		if p != 0 { // with nothing left to draw the total is 0 too
			p /= tree[1]
		}
		q.mul(p)
		k.kept[n] = tree.leaf(int(i))
		tree.set(int(i), 0)
	}
	for n, i := range path {
		tree.set(int(i), k.kept[n])
	}
	return q.log()
}

func (k *paths) Adapt(info []sampler.Info, step, of int) {
	if k.tune == nil {
		return
	}
	// The length has bounds that the tuner does not know.
	k.mean = min(max(k.tune.AdaptTo(proposals(info), step, of), 1), float64(k.sites))
	k.tune.Set(k.mean)
}

func (k *paths) AppendBinary(b []byte) ([]byte, error) {
	b = wire.AppendFloat64s(wire.AppendFloat64s(b, k.e), []float64{k.mean})
	if k.tune != nil {
		b = k.tune.Append(b)
	}
	return k.at.append(wire.AppendFloat32s(b, k.now.w)), nil
}

func (k *paths) UnmarshalBinary(b []byte) error {
	mean := make([]float64, 1)
	b, err := wire.ReadFloat64s(b, k.e)
	if err != nil {
		return err
	}
	if b, err = wire.ReadFloat64s(b, mean); err != nil {
		return err
	}
	if !(mean[0] >= 1 && mean[0] <= float64(k.sites)) {
		return fmt.Errorf("mcmc: Paths: length in the checkpoint = %v, want 1 … %d", mean[0], k.sites)
	}
	if k.tune != nil {
		if b, err = k.tune.Restore(b); err != nil {
			return err
		}
	}
	if b, err = wire.ReadFloat32s(b, k.now.w); err != nil {
		return err
	}
	k.mean = mean[0]
	k.now.sum(0, len(k.e))
	return k.at.restore(b, 0)
}
