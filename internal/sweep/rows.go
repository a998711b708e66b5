package sweep

import (
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/spins"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// rowGibbs is the Gibbs kernel for many chains of two-level models with up to 127 neighbours per
// site and couplings of one strength and either sign. A site is a row of bytes, one for each
// chain of the block. A visit adds the rows of the neighbours and looks up the conditional
// probabilities of all chains by the sums, whether states change or not. The kernel holds its own
// copy of the states, read from x and written to x.
//
// Conditional probabilities are multiples of 2⁻⁶⁴. All chains draw from the stream of the first
// chain.
type rowGibbs struct {
	sweeper // one group of all chains
	weight  float64
	base    []float64 // per kind: E(x_i = 1) − E(x_i = 0) at sum 0
	states  *spins.RowChains

	moved   int           // sites changed by the last step, summed over the chains; −1 if unknown
	delta   simd.RowTally // changes since the last flush
	ones    [simd.ChainBits]int32
	scratch simd.RowScratch
	pair    *rowPair // states of this block and a second one, redrawn together; nil until needed
}

// Indices of the counts that determine the energy of a state.
const (
	// rowSum is the index of the sum of the neighbours of the sites in state 1. Each pair counts
	// once.
	rowSum = iota

	// rowOnes is the first index of the numbers of sites in state 1, one number per kind. The
	// energies stored at the last Reset do not include the part of these numbers.
	rowOnes
)

var (
	_ engine            = (*rowGibbs)(nil)
	_ sampler.Companion = (*rowGibbs)(nil)
	_ sampler.Costed    = (*rowGibbs)(nil)
	_ sampler.Exchanger = (*rowGibbs)(nil)
)

// rowPair holds two blocks that are redrawn together.
type rowPair struct {
	states *spins.RowPair
	with   *spins.RowGraph // graph of the second block, equal to that of the first
	delta  [2]simd.RowTally
	from   [2]spins.Source
}

const (
	// keepBelow is the number of changes per visit, in 32 chains together, below which sums of
	// neighbours are kept. Above addAbove changes the neighbours are added at each visit
	// (BenchmarkDenseGibbs).
	keepBelow, addAbove = 0.5, 0.7

	// flushParts is the number of parts whose sums fit in a tally.
	flushParts = 8
)

// rowFormat has a tag, because checkpoints of other kernels begin with an energy.
var rowFormat = format{tag: 0x726f7773, foreign: "another kernel of Gibbs", kept: rowOnes}

// FewestRows is the smallest number of chains that the unexported engine rowGibbs accepts. From
// this number on, the engine is at least as fast as moving chains one by one (BenchmarkDenseGibbs).
// Tests set it higher to exercise other kernels.
var FewestRows = 8

// newRowGibbs returns nil if the couplings have several magnitudes, a site has too many
// neighbours, or another kernel is faster. A sweep visits the free sites in the given order. A
// nil order selects a fast one.
func newRowGibbs(m energy.Model, chains int, order []int32) *rowGibbs {
	if chains < FewestRows {
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
	l := spins.RowLayout{Start: e.start, Adj: e.adj, Against: e.against, Order: free(order, fixed), Bias: rows.bias, Kind: rows.kind}
	k := padded.New(rowGibbs{weight: e.weight})
	k.base, l.Odds = rows.tables(e.weight)
	k.packed = newPacked(m, len(e.start)-1, chains, chains, rowOnes+len(k.base), rowFormat)
	k.init(k)
	k.states = spins.NewRowGraph(l).NewChains(chains)
	return k
}

// Reset packs the states of x and computes their energies. It implements [sampler.Transition].
func (k *rowGibbs) Reset(ctl sampler.Control, x []int32) error {
	k.delta = simd.RowTally{}
	err := k.sweeper.Reset(ctl, x)
	if err == nil {
		k.addOnes(k.start, k.since, -1)
	}
	return err
}

// addOnes adds to the energies e, multiplied by sign, the base energies of the sites in state 1.
// The slice counts holds the numbers of these sites.
func (k *rowGibbs) addOnes(e []float64, counts [][]int, sign float64) {
	for kind, b := range k.base {
		b *= sign
		ones := counts[rowOnes+kind][:len(e)]
		for s, n := range ones {
			e[s] += float64(b * float64(n))
		}
	}
}

// addEnergies implements holder: it adds to e the energies of changed sums of neighbours and
// numbers of sites in state 1.
func (k *rowGibbs) addEnergies(e []float64, more [][]int) {
	for s := range e {
		e[s] += float64(k.weight * float64(more[rowSum][s]))
	}
	k.addOnes(e, more, 1)
}

// pack implements holder: it converts the states of all chains to rows of bytes.
func (k *rowGibbs) pack(_ int, x []int32) {
	k.states.Pack(x)
	k.moved = -1
	k.countOnes()
}

// unpack implements holder: it sets x to the states of all chains.
func (k *rowGibbs) unpack(_ int, x []int32) { k.states.Spread(x) }

// countOnes stores in the field since the numbers of sites in state 1. The numbers at the last
// Reset count as 0.
func (k *rowGibbs) countOnes() {
	for kind := range k.base {
		k.states.Ones(&k.ones, kind)
		for s, n := range k.ones[:k.chains] {
			k.since[rowOnes+kind][s] = int(n)
		}
	}
}

// count implements holder: it counts sums of neighbours and sites in state 1 of all chains.
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

// alike implements holder. It reports whether the graphs have the same layout. If so, the kernels
// share it.
func (k *rowGibbs) alike(with holder) bool {
	other, ok := with.(*rowGibbs)
	return ok && k.states.Share(other.states.RowGraph)
}

// swap implements holder: it exchanges the states of the given chains.
func (k *rowGibbs) swap(with holder, chains []int, moved []int) {
	other := with.(*rowGibbs)
	k.states.Swap(other.states, chains, moved)
	k.moved, other.moved = -1, -1
}

// Step makes one step of every chain. If the field Company of the [sampler.Control] holds a second
// block of chains, Step moves that block too. Step implements [sampler.Transition].
func (k *rowGibbs) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	if len(ctl.Company) > 0 {
		return k.batch(ctl, info, x, r)
	}
	if done = k.sweeper.Step(ctl, info, x, r); done > 0 {
		k.moved = 0
		for s := range info {
			k.moved += info[s].Moved
		}
	}
	return done
}

// share implements engine. It does nothing, because one worker moves a block.
func (k *rowGibbs) share(int) {}

// updates implements engine: an update is a redraw of one part.
func (k *rowGibbs) updates() int { return k.states.Parts() }

// redraw implements engine: it redraws one part in all chains.
func (k *rowGibbs) redraw(_, part int, _ []int32, r *sampler.Stream) (next, work int) {
	if part == 0 {
		k.choose()
	}
	k.states.Redraw(part, &k.delta, reserve(r, k.states.Groups(part)), &k.scratch)
	if next = part + 1; next%flushParts == 0 {
		k.take()
	}
	sites, rows := k.states.PartSites(part)
	return next, SiteWork*sites + rows
}

// choose decides, by the number of changes in the last step, whether the next step keeps sums.
func (k *rowGibbs) choose() {
	if k.moved < 0 {
		return
	}
	each := k.changes(k.moved)
	if kept := k.states.Kept(); !kept && each < keepBelow || kept && each > addAbove {
		k.states.Keep(!kept)
	}
}

// changes returns the number of changes per visit and 32 chains in a step. The argument moved is
// the number of sites that the step changed.
func (k *rowGibbs) changes(moved int) float64 {
	return float64(moved) * simd.ChainBits / float64(k.chains*k.states.Free())
}

// flush implements engine: it adds the pending changes to the counts.
func (k *rowGibbs) flush(int) {
	k.take()
	k.countOnes()
}

// take adds the pending changes to the counts and to Moved.
func (k *rowGibbs) take() {
	for s, n := range k.delta.Moved[:k.chains] {
		k.at.Info[s].Moved += int(n)
	}
	k.gather(&k.delta)
}

// gather adds a tally to the counts and clears the tally. It returns the number of sites that
// changed.
func (k *rowGibbs) gather(t *simd.RowTally) (moved int) {
	for s := range k.chains {
		k.since[rowSum][s] += int(t.Sum[s])
		moved += int(t.Moved[s])
	}
	*t = simd.RowTally{}
	return moved
}

// Cost estimates the time in nanoseconds of a step, which visits every site and its neighbours in
// all chains. It implements [sampler.Costed].
func (k *rowGibbs) Cost(info []sampler.Info) float64 {
	return WholeCost + float64(visitCost*float64(k.states.Free())) + float64(addCost*float64(k.states.Near()))
}

const (
	// pairSites is the maximum number of sites of graphs on which two blocks are redrawn
	// together. A sweep of a larger graph takes longer than the time between two checks for a
	// stop.
	pairSites = 1 << 15

	// pairAbove is the number of changes per visit, in 32 chains together, above which redrawing
	// two blocks together is faster than redrawing them one by one with sums kept
	// (BenchmarkRowBatch).
	pairAbove = 0.16

	// pairCalm is the number of successive steps with fewer changes after which a batch ends.
	pairCalm = 16
)

// Company returns how many blocks of chains should move together in one call of Step. It returns 2
// if the graph is small enough. Otherwise it returns 0, and blocks move one by one. Company
// implements [sampler.Companion].
func (k *rowGibbs) Company(blocks int) int {
	if blocks < 2 || k.sites > pairSites || !simd.PairOfRows() {
		return 0
	}
	return 2
}

// batch makes several unread steps of the block and of one companion. It returns 0 if it cannot.
func (k *rowGibbs) batch(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (steps int) {
	if len(ctl.Company) != 1 || !ctl.Unread {
		return 0
	}
	with := &ctl.Company[0]
	second, ok := sampler.As[*rowGibbs](with.Kernel)
	if !ok {
		return 0
	}
	all := [2]*rowGibbs{k, second}
	busy := false
	for _, o := range all {
		if !o.at.Fresh() {
			return 0
		}
		busy = busy || o.moved < 0 || o.changes(o.moved) > pairAbove
	}
	if !busy {
		return 0
	}
	if with := all[1].states.RowGraph; k.pair == nil || k.pair.with != with {
		// a method that chooses among kernels may have chosen another one
		if !k.states.Equal(with) {
			return 0
		}
		k.pair = padded.New(rowPair{states: k.states.NewPair(), with: with})
	}
	for b, x := range [2][]int32{x, with.X} {
		all[b].hold(0, x)
	}
	streams := [2]*sampler.Stream{&r[0], &with.R[0]}
	var moved [2]int
	p := k.pair
	p.states.Take(all[0].states, all[1].states)
	k.at.Begin(ctl.Stop)
	n := max(1, ctl.Steps)
	for calm := 0; steps < n && calm < pairCalm && !k.at.Stopped; steps++ {
		for b := range all {
			p.from[b] = reserve(streams[b], k.states.SweepGroups())
		}
		p.states.Sweep(&p.delta, p.from)
		calm++
		for b, o := range all {
			some := o.gather(&p.delta[b])
			if moved[b] += some; o.changes(some) > pairAbove {
				calm = 0
			}
		}
		k.at.Done(len(all) * (SiteWork*k.states.Free() + k.states.Near()))
	}
	p.states.Give(all[0].states, all[1].states)
	for _, o := range all {
		o.countOnes()
		o.stale[0], o.moved = true, -1
	}
	report(info, moved[0])
	report(with.Info, moved[1])
	return steps
}
