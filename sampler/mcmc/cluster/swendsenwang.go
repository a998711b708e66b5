package cluster

import (
	"context"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// SwendsenWang updates all clusters of an Ising or Potts model in one step (Swendsen and Wang
// 1987). It puts bonds between neighbouring sites at the same level, each with probability 1 −
// e^{−J}. Here J is the coupling of energy.Matching: 2K for an Ising model with energy −K Σ s_i
// s_j. Sites connected by bonds form a cluster. The step draws a new common level l for every
// cluster C from
//
//	p(x_C = l) ∝ exp(|C|·h_l),
//
// where |C| is the number of sites in C, and h_l is the field of level l (Edwards and Sokal 1988).
//
// If J < 0, a step draws a random pair of levels. It puts bonds, with probability 1 − e^{−|J|}
// each, between neighbours of which one is at the first level and one at the second. Every cluster
// then swaps the two levels with the probability of a heat bath (Wang, Swendsen and Kotecký 1989).
//
// Two-level models may have individual couplings of either sign and individual fields
// (energy.Pairwise). Bonds then join neighbours that satisfy their coupling, and a cluster flips
// with the probability of a heat bath in its fields.
//
// Each step is reversible and costs one pass over the edges.
type SwendsenWang struct{}

// Name returns "swendsen-wang"; it implements [sampler.Named].
func (SwendsenWang) Name() string { return "swendsen-wang" }

// Kernel returns a new kernel that moves the given number of chains. It implements [sampler.Method].
func (SwendsenWang) Kernel(_ context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	b, err := newBonds("SwendsenWang", m, chains, 1)
	if err != nil {
		return nil, err
	}
	k := padded.New(swendsenWang{
		bonds: b, parent: padded.Make[int32](b.Sites), size: padded.Make[int32](b.Sites), level: padded.Make[int32](b.Sites),
	})
	if b.pairs != nil {
		k.w = padded.Make[float64](b.Sites)
		return k, nil
	}
	k.w, k.top, k.flat = padded.Make[float64](b.Levels), slices.Max(b.field), slices.Min(b.field) == slices.Max(b.field)
	return k, nil
}

type swendsenWang struct {
	*bonds
	parent []int32 // per site: parent in the tree of its cluster; a root is its own parent
	// per root: number of sites; with J < 0, sites at level a minus sites at level b
	size  []int32
	level []int32   // per root: new level; with J < 0 or pairs, 1 if the cluster swaps levels
	w     []float64 // per level: weight; of pairs, per root: log-weight of the flipped cluster
	top   float64
	flat  bool

	// left is the stream of a chain that was stopped while drawing bonds. The bonds of its sites
	// before At.Part are drawn. The caller and a checkpoint hold the stream from before the
	// chain's step, so a restored chain starts the step over.
	left sampler.Stream
	a, b int32 // with J < 0, the two levels that the step swaps
}

var _ sampler.Costed = (*swendsenWang)(nil)

// bondSites is the number of sites whose bonds are drawn between two checks for a stop.
const bondSites = 1 << 16

// Step updates all clusters of each chain. It calls ctl.Stop while it draws bonds, and between
// chains. It implements [sampler.Transition].
func (k *swendsenWang) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	return k.Make(ctl, k, info, x, r)
}

// Walk makes one step of chain s, which is a single update: it draws the bonds, redraws all
// clusters and evaluates the energy. It implements [sweep.Walker].
func (k *swendsenWang) Walk(_, s int, x []int32, r []sampler.Stream) (made int) {
	before := r[s]
	if k.At.Part > 0 {
		r[s] = k.left
	} else {
		k.begin(&r[s])
	}
	for k.At.Part < k.Sites {
		if k.At.Stopped {
			k.left, r[s] = r[s], before
			return 0
		}
		first := k.At.Part
		k.At.Part = min(k.Sites, first+bondSites)
		k.bind(first, k.At.Part, x, &r[s])
		k.At.Done(sweep.SiteWork * (k.At.Part - first))
	}
	k.At.Part = 0
	pending := &k.At.Info[s]
	switch pending.Accept = 1; {
	case k.pairs != nil:
		pending.Moved = k.flip(x, &r[s])
	case k.unequal:
		pending.Moved = k.swap(x, &r[s])
	default:
		pending.Moved = k.redraw(x, &r[s])
	}
	k.Model.Energy(k.E[s:s+1], x)
	return 1
}

// begin starts the step of a chain: every site is a cluster of its own. With J < 0 it draws the
// two levels.
func (k *swendsenWang) begin(r *sampler.Stream) {
	for i := range k.parent {
		k.parent[i] = int32(i)
	}
	if k.unequal && k.Levels > 1 {
		k.a, k.b = k.pair(r)
	}
}

// bind draws the bonds between the sites first … last−1 of x and later sites.
func (k *swendsenWang) bind(first, last int, x []int32, r *sampler.Stream) {
	if k.pairs != nil {
		k.bindPairs(first, last, x, r)
		return
	}
	if k.unequal && k.Levels < 2 {
		return
	}
	for i := first; i < last; i++ {
		partner := x[i]
		if k.unequal {
			switch partner {
			case k.a:
				partner = k.b
			case k.b:
				partner = k.a
			default:
				continue
			}
		}
		for _, j := range k.adj[k.start[i]:k.start[i+1]] {
			if int(j) > i && x[j] == partner && r.Float64() < k.chance {
				k.join(int32(i), j)
			}
		}
	}
}

// bindPairs draws the bonds of bind for a model with individual couplings.
func (k *swendsenWang) bindPairs(first, last int, x []int32, r *sampler.Stream) {
	for i := first; i < last; i++ {
		for n := k.start[i]; n < k.start[i+1]; n++ {
			if j := k.adj[n]; int(j) > i && x[i]^x[j] == k.pairs.unequal[n] && r.Float64() < k.pairs.chance[n] {
				k.join(int32(i), j)
			}
		}
	}
}

// flip flips clusters of x at random, for individual fields, and returns the number of changed
// sites.
func (k *swendsenWang) flip(x []int32, r *sampler.Stream) (moved int) {
	clear(k.w)
	for i, l := range x {
		k.w[k.root(int32(i))] += k.pairs.gain(int32(i), l)
	}
	for i := range x {
		root := k.root(int32(i))
		if int(root) == i {
			k.level[i] = 0
			if r.Float64() < simd.Sigmoid(k.w[i]) {
				k.level[i] = 1
			}
		}
		x[i] ^= k.level[root]
		moved += int(k.level[root])
	}
	return moved
}

// redraw redraws the level of every cluster of x, for bonds that join equal levels. It returns
// the number of changed sites.
func (k *swendsenWang) redraw(x []int32, r *sampler.Stream) (moved int) {
	clear(k.size)
	for i := range k.parent {
		k.size[k.root(int32(i))]++
	}
	for i := range k.parent {
		root := k.root(int32(i))
		if int(root) == i {
			k.level[i] = k.draw(k.size[i], r)
		}
	}
	for i := range x {
		if l := k.level[k.parent[i]]; l != x[i] {
			x[i] = l
			moved++
		}
	}
	return moved
}

// draw draws the new level of a cluster of n sites.
func (k *swendsenWang) draw(n int32, r *sampler.Stream) int32 {
	if k.flat {
		return int32(r.IntN(k.Levels))
	}
	u := float64(r.Float64() * k.weigh(n))
	last := 0
	for l, w := range k.w {
		if w == 0 {
			continue
		}
		last = l
		if u -= w; u < 0 {
			break
		}
	}
	return int32(last)
}

// weigh stores in k.w the weights of the levels of a cluster of n sites and returns their sum.
func (k *swendsenWang) weigh(n int32) (total float64) {
	for l, h := range k.field {
		k.w[l] = simd.Exp(float64(n) * (h - k.top))
		total += k.w[l]
	}
	return total
}

// swap swaps the two levels of clusters of x at random, for bonds that join different levels. It
// returns the number of changed sites.
func (k *swendsenWang) swap(x []int32, r *sampler.Stream) (moved int) {
	if k.Levels < 2 {
		return 0
	}
	a, b := k.a, k.b
	clear(k.size)
	for i, l := range x {
		switch l {
		case a:
			k.size[k.root(int32(i))]++
		case b:
			k.size[k.root(int32(i))]--
		}
	}
	for i, l := range x {
		if l != a && l != b {
			continue
		}
		root := k.root(int32(i))
		if int(root) == i {
			k.level[i] = 0
			if r.Float64() < k.swaps(k.size[i], a, b) {
				k.level[i] = 1
			}
		}
	}
	for i, l := range x {
		if l != a && l != b || k.level[k.parent[i]] == 0 {
			continue
		}
		x[i] = a + b - l
		moved++
	}
	return moved
}

// swaps returns the probability that a cluster with n more sites of level a than of level b swaps
// the two levels.
func (k *swendsenWang) swaps(n, a, b int32) float64 {
	return simd.Sigmoid(float64(n) * (k.field[b] - k.field[a]))
}

// root returns the root of the cluster of site i. It makes the root the parent of all sites on
// the way.
func (k *swendsenWang) root(i int32) int32 {
	p := k.parent
	root := i
	for p[root] != root {
		root = p[root]
	}
	for p[i] != root {
		p[i], i = root, p[i]
	}
	return root
}

// join merges the clusters of sites i and j. The lower root becomes the root.
func (k *swendsenWang) join(i, j int32) {
	if i, j = k.root(i), k.root(j); i < j {
		k.parent[j] = i
	} else {
		k.parent[i] = j
	}
}
