package mcmc

import (
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/spins"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// rowGibbs is the kernel of [Gibbs] for many chains of models of two levels on graphs of up
// to 127 neighbours a site and one strength of couplings, of either sign: a site is a row of
// bytes, one for each chain of the block, the rows of its neighbours are added up, and the
// sums look up the conditionals of all chains at once. A visit takes as long whether states
// change or not. States are held beside x, which is what they are made from and written to.
//
// Conditionals are held as multiples of 2⁻⁶⁴. All chains draw from the stream of the first
// one.
type rowGibbs struct {
	sweeper // of all chains together
	weight  float64
	base    []float64 // by kind: E(x_i = 1) − E(x_i = 0) where the sum is 0
	states  *spins.RowChains

	moved   int           // sites that the last step changed, all chains together; −1: unknown
	told    simd.RowTally // since the last flush
	ones    [simd.ChainBits]int32
	scratch simd.RowScratch
	pair    *rowPair // of the first block of two, once there is one
}

// What the energy of a state of rows depends on: the sum over the sites in state 1 of their
// neighbours, each pair once, and how many sites of each kind are in state 1. The energies
// at the last Reset are less by what those were worth then.
const (
	rowSum = iota
	rowOnes
)

var (
	_ engine            = (*rowGibbs)(nil)
	_ sampler.Companion = (*rowGibbs)(nil)
	_ sampler.Costed    = (*rowGibbs)(nil)
	_ sampler.Exchanger = (*rowGibbs)(nil)
)

// rowPair are two blocks side by side.
type rowPair struct {
	states *spins.RowPair
	with   *spins.RowGraph // of the second, which is the same as the first's
	told   [2]simd.RowTally
	from   [2]spins.Source
}

const (
	// keepBelow and addAbove are the changes of a visit, of 32 chains together, below which
	// sums are kept and above which they are added up at each visit (BenchmarkDenseGibbs).
	keepBelow, addAbove = 0.5, 0.7

	// flushParts are the parts whose sums a tally holds.
	flushParts = 8
)

// rowFormat has a tag: checkpoints of other kernels begin with an energy.
var rowFormat = format{tag: 0x726f7773, foreign: "another kernel of Gibbs", kept: rowOnes}

// fewestRows is the number of chains of a block from which on a kernel of rows takes less
// time than chains one by one, or as much where hardly any states change
// (BenchmarkDenseGibbs). Tests set it higher, to try other kernels.
var fewestRows = 8

// newRowGibbs returns nil if another kernel does better, or the model is not of this kind.
// A sweep visits the free sites in the given order or, if that is nil, in one that is fast.
func newRowGibbs(m energy.Model, chains int, order []int32) *rowGibbs {
	if chains < fewestRows {
		return nil
	}
	whole, fixed := unclamped(m)
	if few(fixed) {
		return nil
	}
	e := newEqual(whole)
	if e == nil || len(e.start) > spins.MostRows {
		return nil
	}
	rows := newRowKinds(e, fixed)
	if rows == nil {
		return nil
	}
	l := spins.RowLayout{Start: e.start, Adj: e.adj, Against: e.against, Order: order, Bias: rows.bias, Kind: rows.kind}
	k := apart.New(rowGibbs{weight: e.weight})
	k.base, l.Odds = rows.tables(e.weight)
	k.packed = newPacked(m, len(e.start)-1, chains, chains, rowOnes+len(k.base), rowFormat)
	k.init(k)
	k.states = spins.NewRowGraph(l).NewChains(chains)
	return k
}

// Reset implements [sampler.Transition].
func (k *rowGibbs) Reset(ctl sampler.Control, x []int32) error {
	k.told = simd.RowTally{}
	err := k.sweeper.Reset(ctl, x)
	if err == nil {
		k.addOnes(k.start, k.since, -1)
	}
	return err
}

// addOnes adds to energies, times sign, what sites in state 1 are worth.
func (k *rowGibbs) addOnes(e []float64, counts [][]int, sign float64) {
	for kind, b := range k.base {
		b *= sign
		ones := counts[rowOnes+kind][:len(e)]
		for s, n := range ones {
			e[s] += float64(b * float64(n))
		}
	}
}

// addEnergies implements holder.
func (k *rowGibbs) addEnergies(e []float64, more [][]int) {
	for s := range e {
		e[s] += float64(k.weight * float64(more[rowSum][s]))
	}
	k.addOnes(e, more, 1)
}

// pack implements holder.
func (k *rowGibbs) pack(_ int, x []int32) {
	k.states.Pack(x)
	k.moved = -1
	k.countOnes()
}

// unpack implements holder.
func (k *rowGibbs) unpack(_ int, x []int32) { k.states.Spread(x) }

// countOnes counts the sites in state 1, of which there were none, as it were, at the last
// Reset.
func (k *rowGibbs) countOnes() {
	for kind := range k.base {
		k.states.Ones(&k.ones, kind)
		for s, n := range k.ones[:k.chains] {
			k.since[rowOnes+kind][s] = int(n)
		}
	}
}

// count implements holder.
func (k *rowGibbs) count(int) {
	var sums [simd.ChainBits]int
	k.states.Sums(&sums)
	for s := range k.chains {
		k.is(s, rowSum, sums[s])
		for kind := range k.base {
			k.is(s, rowOnes+kind, k.since[rowOnes+kind][s])
		}
	}
}

// alike implements holder.
func (k *rowGibbs) alike(with holder) bool {
	other, ok := with.(*rowGibbs)
	return ok && k.states.Share(other.states.RowGraph)
}

// swap implements holder.
func (k *rowGibbs) swap(with holder, chains []int, moved []int) {
	other := with.(*rowGibbs)
	k.states.Swap(other.states, chains, moved)
	k.moved, other.moved = -1, -1
}

// Step implements [sampler.Transition].
func (k *rowGibbs) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	if len(ctl.Company) > 0 {
		return k.leap(ctl, info, x, r)
	}
	if done = k.sweeper.Step(ctl, info, x, r); done > 0 {
		k.moved = 0
		for s := range info {
			k.moved += info[s].Moved
		}
	}
	return done
}

// share implements engine: the block is moved by one worker.
func (k *rowGibbs) share(int) {}

// updates implements engine: they are parts.
func (k *rowGibbs) updates() int { return k.states.Parts() }

// redraw implements engine.
func (k *rowGibbs) redraw(_, part int, _ []int32, r *sampler.Stream) (next, work int) {
	if part == 0 {
		k.choose()
	}
	k.states.Redraw(part, &k.told, reserve(r, k.states.Groups(part)), &k.scratch)
	if next = part + 1; next%flushParts == 0 {
		k.take()
	}
	sites, rows := k.states.PartSites(part)
	return next, siteWork*sites + rows
}

// choose says whether sums are kept in the step to come, by what the last one changed.
func (k *rowGibbs) choose() {
	if k.moved < 0 {
		return
	}
	each := k.changes(k.moved)
	if kept := k.states.Kept(); !kept && each < keepBelow || kept && each > addAbove {
		k.states.Keep(!kept)
	}
}

// changes returns how often a visit of 32 chains changes one where a step has changed so
// many sites.
func (k *rowGibbs) changes(moved int) float64 {
	return float64(moved) * simd.ChainBits / float64(k.chains*k.states.Free())
}

// flush implements engine.
func (k *rowGibbs) flush(int) {
	k.take()
	k.countOnes()
}

// take takes note of what parts have changed.
func (k *rowGibbs) take() {
	for s, n := range k.told.Moved[:k.chains] {
		k.at.told[s].Moved += int(n)
	}
	k.gather(&k.told)
}

// gather adds what a tally counts, and returns how many sites changed. The tally is then
// empty.
func (k *rowGibbs) gather(t *simd.RowTally) (moved int) {
	for s := range k.chains {
		k.since[rowSum][s] += int(t.Sum[s])
		moved += int(t.Moved[s])
	}
	*t = simd.RowTally{}
	return moved
}

// Cost implements [sampler.Costed].
func (k *rowGibbs) Cost(info []sampler.Info) float64 {
	return wholeCost + float64(visitCost*float64(k.states.Free())) + float64(addCost*float64(k.states.Near()))
}
