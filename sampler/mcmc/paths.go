package mcmc

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Paths is the path auxiliary fast sampler, PAFS (Sun, Dai, Xia and Ramamurthy 2022). A step
// changes n sites one after another; this sequence of changes is called a path. Each change sets a
// site i to a level l ≠ x_i. It is drawn with the weights at the initial state x,
//
//	q(i,l|x) ∝ g( exp(E(x) − E(x with x_i=l)) ),
//
// where g is Balance. A site that has changed is not drawn again. The length n of the path is drawn
// uniformly from
//
//	1 … min(2·Length−1, number of sites).
//
// The final state is accepted with the Metropolis–Hastings probability. The reverse proposal
// changes the same sites back, with the weights at the final state. A step costs one evaluation of
// the model, however long the path.
type Paths struct {
	// Length is the mean number of sites that a path changes. If it is 0, the length starts at 2
	// and is tuned during warm-up.
	Length int

	// Target is the mean acceptance probability to which warm-up tunes Length (the mean length of a
	// path). 0 means 0.574. This value is optimal for Paths on targets of independent sites (Sun,
	// Dai and Schuurmans 2022).
	Target float64

	Balance Balance // balancing function g, which weights the changes; the zero value is Sqrt
}

const defaultLength = 2 // default mean length; paths then have one to three changes

// Name returns "paths"; it implements [sampler.Named].
func (Paths) Name() string { return "paths" }

// Kernel returns a new kernel that moves the given number of chains. It implements [sampler.Method].
func (p Paths) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	sites, _, err := check.Shape("mcmc: Paths", m, chains, sampler.BlockSize)
	length, tuner, untuned := tune.Start("mcmc: Paths", float64(p.Length), float64(min(defaultLength, sites)), p.Target)
	if err = cmp.Or(err,
		check.If(p.Length < 0 || p.Length > sites, "mcmc: Paths: Length = %d, want 1 … %d (0 to adapt)", p.Length, sites),
		p.Balance.check("Paths"), untuned,
	); err != nil {
		return nil, err
	}
	k := newHastings(m, chains, newPaths(m, chains, p.Balance, length), length, tuner)
	k.most = float64(sites)
	return k, nil
}

// paths is the proposal of [Paths]. Its step size is the mean length of a path.
type paths struct {
	unconfined
	table         *table
	balance       Balance
	sites, levels int
	mean          float64 // mean length of a path, not rounded

	g      []float32
	w      padded.Pair[float32] // weights of levels: chains × sites × levels
	trees  padded.Pair[float64] // sums of the weights of sites: chains × 2·leaves
	total  []float64            // scratch, one entry per chain
	path   []int32              // chains × sites: the sites of each chain's path, in order
	length []int                // length of each chain's path; 0 if it could not be drawn
	kept   []float64
}

func newPaths(m energy.Model, chains int, b Balance, mean float64) *paths {
	sites, levels := m.Shape()
	return padded.New(paths{
		table: newTable(m), balance: b, sites: sites, levels: levels, mean: mean,
		g: padded.Make[float32](chains * sites * levels), w: padded.NewPair[float32](chains, sites*levels),
		trees: padded.NewPair[float64](chains, 2*leaves(sites)), total: padded.Make[float64](chains),
		path: padded.Make[int32](chains * sites), length: padded.Make[int](chains),
		kept: padded.Make[float64](sites),
	})
}

// longest returns the largest length of a path.
func (k *paths) longest() int { return min(2*int(math.Round(k.mean))-1, k.sites) }

func (k *paths) tune(mean, _ float64) { k.mean = mean }

func (k *paths) rebuild(int, int, []int32, *sweep.Cursor) bool { return true }

func (k *paths) work() int { return k.table.work() }

func (k *paths) evaluate(lo, hi int, e []float64, y, _ []int32, at *sweep.Cursor) bool {
	n := k.sites * k.levels
	return k.table.evaluate(e[lo:hi], k.g[lo*n:hi*n], y[lo*k.sites:hi*k.sites], at)
}

func (k *paths) weigh(lo, hi int, y []int32, _ *sweep.Cursor) bool {
	n := k.sites * k.levels
	k.table.weigh(k.w.Next[lo*n:hi*n], k.total[lo:hi], k.g[lo*n:hi*n], y[lo*k.sites:hi*k.sites], k.balance)
	k.sum(lo, hi, true)
	return true
}

func (k *paths) accept(lo, hi int) {
	k.w.Accept(lo, hi)
	k.trees.Accept(lo, hi)
}

// tree returns the sum tree of chain s at the loaded or the current state.
func (k *paths) tree(s int, loaded bool) sumTree { return k.trees.Chain(s, loaded) }

// row returns the weights of the levels of a site of chain s, at the loaded or the current state.
func (k *paths) row(s, site int, loaded bool) []float32 {
	return k.w.Chain(s, loaded)[site*k.levels : (site+1)*k.levels]
}

// sum computes the sum trees of the chains lo … hi−1 from their weights.
func (k *paths) sum(lo, hi int, loaded bool) {
	for s := lo; s < hi; s++ {
		tree := k.tree(s, loaded)
		for i := range k.sites {
			total := 0.0
			for _, w := range k.row(s, i, loaded) {
				total += float64(w)
			}
			tree[len(tree)/2+i] = total
		}
		tree.sum()
	}
}

func (k *paths) draw(y, x []int32, s int, r *sampler.Stream) (moved int, logq float64) {
	copy(y, x)
	k.length[s] = 1 + r.IntN(k.longest())
	if !k.wander(s, y, r) {
		k.length[s] = 0
		copy(y, x)
		total := k.tree(s, false)[1]
		return 0, total - total // 0, or NaN if the sum is not finite
	}
	return k.length[s], k.current(y, x, s)
}

// wander draws the path of chain s, records its sites and applies its changes to y, which holds
// the current state. It returns false if no change is left before the path is complete, or if the
// weights are not defined.
func (k *paths) wander(s int, y []int32, r *sampler.Stream) bool {
	tree := k.tree(s, false)
	path := k.path[s*k.sites:][:k.length[s]]
	n := 0
	for ; n < len(path); n++ {
		i := tree.pick(r.Float64())
		if i < 0 {
			break
		}
		row := k.row(s, i, false)
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

// current returns the log-probability of the path of chain s from the current state to y, given
// the length of the path.
func (k *paths) current(y, _ []int32, s int) float64 {
	return k.walk(false, s, k.path[s*k.sites:][:k.length[s]], y)
}

// logProb returns the log-probability of the reverse path of chain s, from the proposed state
// back to x, or −Inf if there is no path. It reverses the recorded path in place.
func (k *paths) logProb(x, _ []int32, s int) float64 {
	path := k.path[s*k.sites:][:k.length[s]]
	if len(path) == 0 {
		return math.Inf(-1)
	}
	slices.Reverse(path)
	return k.walk(true, s, path, x)
}

// walk returns the log-probability of drawing the sites of the path in this order, each with its
// level in to.
func (k *paths) walk(loaded bool, s int, path, to []int32) float64 {
	tree := k.tree(s, loaded)
	q := newProduct()
	for n, i := range path {
		p := float64(k.row(s, int(i), loaded)[to[i]])
		if p != 0 { // if nothing is left to draw, tree[1] is also 0
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

func (k *paths) fields(f *wire.Fields) {
	if !(k.mean >= 1 && k.mean <= float64(k.sites)) {
		f.Fail(fmt.Errorf("mcmc: Paths: length in the checkpoint = %v, want 1 … %d", k.mean, k.sites))
	}
	if f.Float32s(k.w.Now); f.Reading() {
		k.sum(0, len(k.length), false)
	}
}

// sumTree is a complete binary tree over non-negative numbers. Entry 1 is the root, the children
// of entry p are 2p and 2p+1, and the leaves are the second half. Every parent is the sum of its
// children. Changing a number, or drawing one with probability proportional to its value, takes
// logarithmic time. A parent is always recomputed from its children, so removing numbers leaves
// no rounding errors behind.
type sumTree []float64

// leaves returns the number of leaves of a tree over n numbers: the smallest power of 2 that is ≥
// n.
func leaves(n int) int {
	l := 1
	for l < n {
		l *= 2
	}
	return l
}

// leaf returns number i of the tree.
func (t sumTree) leaf(i int) float64 { return t[len(t)/2+i] }

// set replaces number i of the tree and updates its parents.
func (t sumTree) set(i int, v float64) {
	p := len(t)/2 + i
	t[p] = v
	for p > 1 {
		p /= 2
		t[p] = t[2*p] + t[2*p+1]
	}
}

// sum computes all parents from the leaves.
func (t sumTree) sum() {
	for p := len(t)/2 - 1; p >= 1; p-- {
		t[p] = t[2*p] + t[2*p+1]
	}
}

// pick returns i with probability leaf(i)/t[1], for u uniform in [0,1). It returns −1 if the
// total is 0 or NaN. It never returns an i with leaf(i) = 0.
func (t sumTree) pick(u float64) int {
	if !(t[1] > 0) {
		return -1
	}
	u *= t[1]
	p := 1
	for p < len(t)/2 {
		p *= 2
		if left := t[p]; u >= left && t[p+1] > 0 {
			u -= left
			p++
		}
	}
	return p - len(t)/2
}
