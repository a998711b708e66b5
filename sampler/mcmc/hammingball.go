package mcmc

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/cost"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// HammingBall is the Hamming ball sampler (Titsias and Yau 2017). An update takes a random block of
// sites and draws a centre u uniformly from the states that are within Hamming distance Radius of x
// and equal to x outside the block. It then draws the new x from
//
//	p(x') ∝ exp(−E(x')),  x' within Radius of u, x' = x outside the block,
//
// by exact energies, without rejection. An update can change up to 2·Radius sites at once, so it
// can reach states that no sequence of single-site changes reaches. Each update is reversible.
//
// A ball has Σ_{k≤Radius} C(Block, k)·(levels−1)^k members, and an update evaluates the energy of
// each. With Radius = Block it is a Gibbs update of the block.
type HammingBall struct {
	Block   int // sites per update; 0 means 8, or all if there are fewer
	Radius  int // largest distance from the centre; 0 means 2, or Block if that is 1
	Updates int // updates per step; 0 means ⌈sites/Block⌉
}

// The default ball of a two-level model has 37 members: about as many energies
// as four sweeps of the block.
const (
	defaultBlock  = 8
	defaultRadius = 2
)

// Name implements [sampler.Named].
func (HammingBall) Name() string { return "hamming-ball" }

// Kernel implements [sampler.Method].
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
		model: m, sites: sites, levels: levels, radius: h.Radius, updates: h.Updates,
		shells: shells, size: size,
		e: padded.Make[float64](chains), order: padded.Make[int](sites), block: padded.Make[int](h.Block), centre: padded.Make[int32](sites),
		d: padded.Make[float64](size), w: padded.Make[float64](size), batch: padded.Make[int32](min(size, ballBatch, max(1, sweep.PollWork/sites)) * sites), at: sweep.NewCursor(chains),
	})
	for i := range k.order {
		k.order[i] = i
	}
	return k, nil
}

// shellSizes returns the number of states at each distance 0 … radius,
// C(block, k)·(levels−1)^k, with maxMembers+1 for anything beyond it.
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

// ballBatch limits the number of states per evaluation of the model, because the states of a large
// ball would not fit any cache. Results do not depend on it.
const ballBatch = 256

type hammingBall struct {
	model                          energy.Model
	sites, levels, radius, updates int

	shells []int // states at each distance from the centre
	size   int   // their sum

	e      []float64
	order  []int   // a permutation of the sites
	block  []int   // sites of the update, in random order
	centre []int32 // u, then the member that visit is at
	d, w   []float64
	batch  []int32
	filled int // members of the ball so far

	at    sweep.Cursor
	price cost.Memo
	known int // energies in d of the update that was interrupted
}

var _ sampler.Costed = (*hammingBall)(nil)

// Reset implements [sampler.Transition].
func (k *hammingBall) Reset(ctl sampler.Control, x []int32) error {
	k.known = 0
	return k.at.Renew(ctl.Stop, 1, k.sites, func(_, lo, hi int) (bool, error) {
		k.model.Energy(k.e[lo:hi], x[lo*k.sites:hi*k.sites])
		return true, sweep.CheckStart(k.e, lo, hi)
	})
}

// Step implements [sampler.Transition]. It checks for a stop between batches of energies. An
// interrupted update begins again from the same stream and reuses the energies already computed.
func (k *hammingBall) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	k.at.Begin(ctl.Stop)
	for ; k.at.Chain < len(info); k.at.Next() {
		s := k.at.Chain
		pending := &k.at.Info[s]
		pending.Accept = 1
		for k.at.Update < k.updates && pending.Err == nil {
			before := r[s]
			moved, ok := k.update(s, x[s*k.sites:(s+1)*k.sites], &r[s])
			if k.at.Stopped {
				r[s] = before
				return 0
			}
			k.at.Update++
			if pending.Moved += moved; !ok {
				pending.Err = fmt.Errorf("a state in the ball: %w", sampler.ErrNaN)
			}
		}
		pending.Energy = k.e[s]
	}
	k.at.Finish(info)
	return 1
}

// update moves chain s, at state x. ok is false if no state of the ball has positive
// probability.
func (k *hammingBall) update(s int, x []int32, r *sampler.Stream) (moved int, ok bool) {
	k.pickBlock(r)
	copy(k.centre, x)
	k.pickCentre(r)
	k.energies()
	if k.at.Stopped {
		return 0, true
	}
	c := sweep.HeatBath(k.w, k.d, r.Float64())
	if c < 0 {
		return 0, false
	}
	k.e[s] = k.d[c]
	k.find(c)
	for _, i := range k.block {
		if x[i] != k.centre[i] {
			x[i] = k.centre[i]
			moved++
		}
	}
	return moved, true
}

// pickBlock draws the block; every ordered list of sites is equally likely. It starts
// from the identity permutation, so that a checkpoint need not hold one.
func (k *hammingBall) pickBlock(r *sampler.Stream) {
	for j := range k.block {
		n := j + r.IntN(k.sites-j)
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

// pickCentre moves k.centre, which holds x, to a uniform member of the ball around x: it draws a
// distance in proportion to the size of its shell, then moves that many sites (the first ones of
// the block, whose order is random), each to another level.
func (k *hammingBall) pickCentre(r *sampler.Stream) {
	n := r.IntN(k.size)
	distance := 0
	for n >= k.shells[distance] {
		n -= k.shells[distance]
		distance++
	}
	for _, i := range k.block[:distance] {
		l := int32(r.IntN(k.levels - 1))
		if l >= k.centre[i] {
			l++
		}
		k.centre[i] = l
	}
}

// energies stores in k.d the energies of the ball around k.centre.
func (k *hammingBall) energies() {
	k.filled = 0
	if !k.visit(0, k.radius, -1) {
		k.flush()
	}
	if !k.at.Stopped {
		k.known = 0
	}
}

// find sets k.centre, the centre of a ball, to member c of the ball.
func (k *hammingBall) find(c int) {
	k.filled = 0
	k.visit(0, k.radius, c)
}

// visit walks through the states within distance left of k.centre that differ from k.centre only in
// block[from:], beginning with k.centre itself. It counts the states in k.filled. At number stop it
// returns true, with k.centre at that state. If stop < 0, it collects the states for evaluation and
// leaves k.centre unchanged; it then returns true if the step must stop.
func (k *hammingBall) visit(from, left, stop int) bool {
	if k.filled == stop {
		return true
	}
	if stop < 0 {
		at := k.filled % k.batchSize()
		copy(k.batch[at*k.sites:], k.centre)
	}
	k.filled++
	if stop < 0 && k.filled%k.batchSize() == 0 {
		if k.evaluate(k.filled-k.batchSize(), k.batchSize()); k.at.Stopped {
			return true
		}
	}
	if left == 0 {
		return false
	}
	for j := from; j < len(k.block); j++ {
		i := k.block[j]
		own := k.centre[i]
		for l := range int32(k.levels) {
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
	return false
}

// batchSize returns the number of states per evaluation.
func (k *hammingBall) batchSize() int { return len(k.batch) / k.sites }

// flush evaluates the members of the last batch.
func (k *hammingBall) flush() {
	n := k.filled % k.batchSize()
	k.evaluate(k.filled-n, n)
}

func (k *hammingBall) evaluate(first, n int) {
	if first+n <= k.known {
		return // the same ball, before it was interrupted
	}
	k.known = first + n
	k.model.Energy(k.d[first:first+n], k.batch[:n*k.sites])
	k.at.Done(n * k.sites)
}

func (k *hammingBall) AppendBinary(b []byte) ([]byte, error) { return wire.AppendFields(b, k.fields) }

func (k *hammingBall) UnmarshalBinary(b []byte) error {
	k.known = 0
	return wire.ReadFields(b, k.fields)
}

func (k *hammingBall) fields(f *wire.Fields) {
	f.Float64s(k.e)
	k.at.Fields(f, k.updates)
}

func (k *hammingBall) Cost(info []sampler.Info) float64 {
	m := k.price.Of(k.model)
	ball := float64(float64(k.size) * (m.Energy + sweep.LevelCost + float64(k.sites)))
	return float64(len(info)) * float64(float64(k.updates)*ball)
}
