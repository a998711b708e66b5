package mcmc

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// HammingBall is the Hamming ball sampler (Titsias and Yau 2017). It redraws the sites of a random
// block jointly, but considers only states that differ at few sites. An update makes two draws:
//
//   - a centre u, uniformly from the states that differ from x at no more than Radius sites, all in
//     the block;
//   - the new state x', with probability p(x') ∝ exp(−E(x')), from the states that differ from u at
//     no more than Radius sites, all in the block.
//
// Energies are exact, and nothing is rejected. An update can change up to 2·Radius sites at once.
// Each update is reversible.
//
// An update evaluates the energy of each state in the ball around u. The number of these states is
//
//	Σ_{k≤Radius} C(Block, k)·(levels−1)^k.
//
// If Radius equals Block, an update is a Gibbs update of the block.
type HammingBall struct {
	// number of sites in the block of an update; 0 means 8, or all sites if there are fewer
	Block int
	// Radius is the radius of the Hamming ball: the largest number of sites at which a state in the
	// ball differs from the centre. The default 0 means 2; if Block is 1, it means 1.
	Radius  int
	Updates int // number of updates per step; 0 means ⌈sites/Block⌉
}

// defaultBlock and defaultRadius give a ball of 37 states on a two-level model. Evaluating them
// costs about as much as four sweeps of the block.
const (
	defaultBlock  = 8 // default sites per update; with defaultRadius, a ball has 37 two-level states
	defaultRadius = 2 // default radius of the ball
)

// Name returns "hamming-ball"; it implements [sampler.Named].
func (HammingBall) Name() string { return "hamming-ball" }

// Kernel returns a new kernel that moves the given number of chains. It implements [sampler.Method].
func (h HammingBall) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	sites, levels, err := check.Shape("mcmc: HammingBall", m, chains, sampler.BlockSize)
	h.Block = cmp.Or(h.Block, min(defaultBlock, sites))
	h.Radius = cmp.Or(h.Radius, min(defaultRadius, h.Block))
	if err = cmp.Or(err,
		check.If(h.Block < 1 || h.Block > sites, "mcmc: HammingBall: Block = %d, want 1 … %d (0 for the default)", h.Block, sites),
		check.If(h.Radius < 1 || h.Radius > h.Block, "mcmc: HammingBall: Radius = %d, want 1 … %d (0 for the default)", h.Radius, h.Block),
		check.If(h.Updates < 0, "mcmc: HammingBall: Updates = %d, want ≥ 0", h.Updates),
	); err != nil {
		return nil, err
	}
	h.Updates = cmp.Or(h.Updates, (sites+h.Block-1)/h.Block)
	shells := shellSizes(h.Block, h.Radius, levels)
	size := 0
	for _, n := range shells {
		size += n
	}
	if size > maxMembers {
		return nil, fmt.Errorf("mcmc: HammingBall: Radius = %d in a Block of %d sites of %d levels gives a ball of more than %d states", h.Radius, h.Block, levels, maxMembers)
	}
	k := padded.New(hammingBall{
		Locals: sweep.NewEnergies(m, chains, h.Updates), radius: h.Radius, shells: shells, size: size,
		order: padded.Make[int](sites), block: padded.Make[int](h.Block), centre: padded.Make[int32](sites),
		d: padded.Make[float64](size), w: padded.Make[float64](size), batch: padded.Make[int32](min(size, ballBatch, max(1, sweep.PollWork/sites)) * sites),
	})
	for i := range k.order {
		k.order[i] = i
	}
	return k, nil
}

// shellSizes returns the number of states at each distance k = 0 … radius from a centre, C(block,
// k)·(levels−1)^k, capped at maxMembers+1.
func shellSizes(block, radius, levels int) []int {
	n := make([]int, radius+1)
	size := 1.0
	for k := range n {
		if k > 0 {
			size *= float64(block-k+1) / float64(k) * float64(levels-1)
		}
		n[k] = int(math.Round(min(size, maxMembers+1)))
	}
	return n
}

// ballBatch is the maximum number of states per evaluation of the model. The states of a large
// ball would not fit in any cache. Results do not depend on it.
const ballBatch = 256

type hammingBall struct {
	*sweep.Locals // only its energies are used
	radius        int
	shells        []int // number of states at each distance from the centre
	size          int   // number of states in the ball

	order  []int   // a permutation of the sites
	block  []int   // sites of the update, in random order
	centre []int32 // centre u, then the state that visit has reached
	d, w   []float64
	batch  []int32
	filled int // number of states of the ball that visit has reached
	known  int // number of valid energies in d of an interrupted update; 0 if there is none
}

var _ sampler.Costed = (*hammingBall)(nil)

// Reset evaluates the states x and discards the energies of an interrupted update. It implements
// [sampler.Transition].
func (k *hammingBall) Reset(ctl sampler.Control, x []int32) error {
	k.known = 0
	return k.Locals.Reset(ctl, x)
}

// Step makes HammingBall.Updates updates of each chain. It calls ctl.Stop between batches of
// energies. An interrupted update begins again from the same position of the stream and reuses the
// energies already computed. It implements [sampler.Transition].
func (k *hammingBall) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	return k.Make(ctl, k, info, x, r)
}

// Walk makes n updates of chain s, each of which redraws the state within one Hamming ball. It
// implements [sweep.Walker].
func (k *hammingBall) Walk(n, s int, x []int32, r []sampler.Stream) (made int) {
	pending := &k.At.Info[s]
	pending.Accept = 1
	for ; made < n && pending.Err == nil; made++ {
		before := r[s]
		k.pickBlock(&r[s])
		copy(k.centre, x)
		k.pickCentre(&r[s])
		if k.visit(0, k.radius, -1); k.At.Stopped {
			r[s] = before
			break
		}
		c := sweep.HeatBath(k.w, k.d, r[s].Float64())
		if c < 0 {
			pending.Err = fmt.Errorf("a state in the ball: %w", sampler.ErrNaN)
			continue
		}
		k.E[s] = k.d[c]
		k.visit(0, k.radius, c)
		pending.Moved += sweep.Changed(x, k.centre)
		copy(x, k.centre)
	}
	return made
}

// pickBlock draws the block; every ordered list of sites is equally likely. It restores k.order
// to the identity permutation afterwards, so that a checkpoint need not contain k.order.
func (k *hammingBall) pickBlock(r *sampler.Stream) {
	for j := range k.block {
		n := j + r.IntN(k.Sites-j)
		k.order[j], k.order[n] = k.order[n], k.order[j]
		k.block[j] = k.order[j]
	}
	for _, i := range k.block { // undo the swaps: they moved these sites only
		k.order[i] = i
	}
	for j := range k.block {
		k.order[j] = j
	}
}

// pickCentre moves k.centre, which holds x, to a uniform member of the ball around x. It draws a
// distance with probability proportional to the number of states at that distance. It then
// changes that many sites, the first ones of the randomly ordered block, each to another level.
func (k *hammingBall) pickCentre(r *sampler.Stream) {
	n := r.IntN(k.size)
	distance := 0
	for n >= k.shells[distance] {
		n -= k.shells[distance]
		distance++
	}
	for _, i := range k.block[:distance] {
		l := int32(r.IntN(k.Levels - 1))
		if l >= k.centre[i] {
			l++
		}
		k.centre[i] = l
	}
}

// visit enumerates the states within the distance left of k.centre that differ from k.centre only
// in block[from:], starting with k.centre itself. It counts the states in k.filled. With left =
// k.radius it begins a new ball.
//
// If stop ≥ 0, visit returns true at the state with index stop, with k.centre equal to that
// state. If stop < 0, it stores the energies of all states in k.d and restores k.centre; it
// returns true only if the step has to stop.
func (k *hammingBall) visit(from, left, stop int) bool {
	whole := left == k.radius
	if whole {
		k.filled = 0
	}
	if k.filled == stop {
		return true
	}
	if stop < 0 {
		at := k.filled % k.batchSize()
		copy(k.batch[at*k.Sites:], k.centre)
	}
	k.filled++
	if stop < 0 && k.filled%k.batchSize() == 0 {
		if k.evaluate(k.filled-k.batchSize(), k.batchSize()); k.At.Stopped {
			return true
		}
	}
	if left == 0 {
		return false
	}
	for j := from; j < len(k.block); j++ {
		i := k.block[j]
		own := k.centre[i]
		for l := range int32(k.Levels) {
			if l == own {
				continue
			}
			k.centre[i] = l
			if k.visit(j+1, left-1, stop) {
				return true
			}
		}
		k.centre[i] = own
	}
	if rest := k.filled % k.batchSize(); whole && stop < 0 {
		if k.evaluate(k.filled-rest, rest); !k.At.Stopped {
			k.known = 0
		}
	}
	return false
}

// batchSize returns the number of states per evaluation of the model.
func (k *hammingBall) batchSize() int { return len(k.batch) / k.Sites }

func (k *hammingBall) evaluate(first, n int) {
	if first+n <= k.known {
		return // this ball was evaluated before the interruption
	}
	k.known = first + n
	k.Model.Energy(k.d[first:first+n], k.batch[:n*k.Sites])
	k.At.Done(n * k.Sites)
}

func (k *hammingBall) UnmarshalBinary(b []byte) error {
	k.known = 0
	return k.Locals.UnmarshalBinary(b)
}

func (k *hammingBall) Cost(info []sampler.Info) float64 {
	m := k.Price.Of(k.Model)
	ball := float64(float64(k.size) * (m.Energy + sweep.LevelCost + float64(k.Sites)))
	return float64(len(info)) * float64(float64(k.Updates)*ball)
}
