package mcmc

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/spins"
	"github.com/gibbsite-go/gibbsite/internal/wire"
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
	model  energy.Model
	sites  int
	weight float64
	base   []float64 // by kind: E(x_i = 1) − E(x_i = 0) where the sum is 0
	states *spins.RowChains
	held   bool // the states are up to date
	stale  bool // x does not have them yet
	hidden bool // it need not have them

	// The energy of chain s is origin[s] + weight·sum[s], and what the sites in state 1
	// add, each the base of its kind.
	origin []float64
	sum    []int
	now    []float64 // energies of the end of a step
	at     cursor    // its updates are parts, of all chains together

	moved   int           // sites that the last step changed, all chains together; −1: unknown
	told    simd.RowTally // since the last flush
	ones    [simd.ChainBits]int32
	scratch simd.RowScratch
	pair    *rowPair // of the first block of two, once there is one
}

var (
	_ sampler.Companion   = (*rowGibbs)(nil)
	_ sampler.Costed      = (*rowGibbs)(nil)
	_ sampler.Lazy[int32] = (*rowGibbs)(nil)
)

// rowPair are two blocks side by side.
type rowPair struct {
	states *spins.RowPair
	with   *spins.RowGraph // of the second, which is the same as the first's
	told   [2]simd.RowTally
	from   [2]spins.Source
}

const (
	// rowFormat begins what AppendBinary writes: that of other kernels begins with an
	// energy.
	rowFormat = 0x726f7773

	// keepBelow and addAbove are the changes of a visit, of 32 chains together, below which
	// sums are kept and above which they are added up at each visit (BenchmarkDenseGibbs).
	keepBelow, addAbove = 0.5, 0.7

	// flushParts are the parts whose sums a tally holds.
	flushParts = 8
)

// fewestRows is the number of chains of a block from which on a kernel of rows takes less
// time than chains one by one, or as much where hardly any states change
// (BenchmarkDenseGibbs). Tests set it higher, to try other kernels.
var fewestRows = 8

// newRowGibbs returns nil if another kernel does better, or the model is not of this kind.
// A sweep visits sites in the given order or, if that is nil, in one that is fast.
func newRowGibbs(m energy.Model, chains int, order []int32) *rowGibbs {
	if chains < fewestRows {
		return nil
	}
	e := newEqual(m)
	if e == nil || len(e.start) > spins.MostRows {
		return nil
	}
	rows := newRowKinds(e)
	if rows == nil {
		return nil
	}
	k := apart.New(rowGibbs{
		model: m, sites: len(e.start) - 1, weight: e.weight, origin: apart.Make[float64](chains), sum: apart.Make[int](chains), now: apart.Make[float64](chains), at: newCursor(chains),
	})
	l := spins.RowLayout{Start: e.start, Adj: e.adj, Against: e.against, Order: order, Bias: rows.bias, Kind: rows.kind}
	k.base, l.Odds = rows.tables(e.weight)
	k.states = spins.NewRowGraph(l).NewChains(chains)
	return k
}

// Reset implements [sampler.Transition].
func (k *rowGibbs) Reset(ctl sampler.Control, x []int32) error {
	k.held, k.stale, k.told = false, false, simd.RowTally{}
	clear(k.sum)
	err := k.at.renew(ctl.Stop, 1, k.sites, func(_, lo, hi int) (bool, error) {
		k.model.Energy(k.origin[lo:hi], x[lo*k.sites:hi*k.sites])
		return true, checkStart(k.origin, lo, hi)
	})
	if err == nil {
		k.hold(x)
		k.addOnes(k.origin, -1)
	}
	return err
}

// hold takes the states from x.
func (k *rowGibbs) hold(x []int32) {
	k.states.Pack(x)
	k.held, k.stale, k.moved = true, false, -1
}

// addOnes adds to energies, times sign, what sites in state 1 are worth.
func (k *rowGibbs) addOnes(e []float64, sign float64) {
	for kind, b := range k.base {
		k.states.Ones(&k.ones, kind)
		b *= sign
		for s := range e {
			e[s] += float64(b * float64(k.ones[s]))
		}
	}
}

// energies returns the running energies: integers times parameters, so that rounding does
// not gather.
func (k *rowGibbs) energies() []float64 {
	for s, from := range k.origin {
		k.now[s] = from + float64(k.weight*float64(k.sum[s]))
	}
	k.addOnes(k.now, 1)
	return k.now
}

// Step implements [sampler.Transition]. It asks whether to stop about every millisecond.
func (k *rowGibbs) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	if len(ctl.Company) > 0 {
		return k.leap(ctl, info, x, r)
	}
	k.hidden = ctl.Unread
	k.at.begin(ctl.Stop)
	if !k.held {
		k.hold(x)
	}
	if k.at.update == 0 {
		k.choose()
	}
	for k.at.update < k.states.Parts() && !k.at.stopped {
		part := k.at.update
		k.states.Redraw(part, &k.told, reserve(&r[0], k.states.Groups(part)), &k.scratch)
		if k.at.update++; k.at.update%flushParts == 0 {
			k.flush()
		}
		sites, rows := k.states.PartSites(part)
		k.at.done(siteWork*sites + rows)
	}
	k.flush()
	k.shown(x)
	if k.at.update < k.states.Parts() {
		return 0
	}
	k.moved = 0
	for s := range k.at.told {
		k.moved += k.at.told[s].Moved
	}
	for s, e := range k.energies() {
		k.at.told[s].Energy, k.at.told[s].Accept = e, 1
	}
	k.at.finish(info)
	return 1
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
	return float64(moved) * simd.ChainBits / float64(len(k.origin)*k.sites)
}

// flush takes note of what changed.
func (k *rowGibbs) flush() {
	for s, n := range k.told.Moved[:len(k.sum)] {
		k.at.told[s].Moved += int(n)
	}
	k.count(&k.told)
}

// count adds what energies depend on, and returns how many sites changed. The tally is then
// empty.
func (k *rowGibbs) count(t *simd.RowTally) (moved int) {
	for s := range k.sum {
		k.sum[s] += int(t.Sum[s])
		moved += int(t.Moved[s])
	}
	*t = simd.RowTally{}
	return moved
}

// Show implements [sampler.Lazy].
func (k *rowGibbs) Show(x []int32) {
	if k.stale {
		k.states.Spread(x)
		k.stale = false
	}
}

// shown stores the states in x, unless that is deferred.
func (k *rowGibbs) shown(x []int32) {
	if k.stale = true; !k.hidden {
		k.Show(x)
	}
}

// AppendBinary implements [sampler.Transition].
func (k *rowGibbs) AppendBinary(b []byte) ([]byte, error) {
	b = wire.AppendFloat64s(wire.AppendInts(b, rowFormat), k.origin)
	return k.at.append(wire.AppendInts(b, k.sum...)), nil
}

// UnmarshalBinary implements [sampler.Transition].
func (k *rowGibbs) UnmarshalBinary(b []byte) error {
	k.held, k.stale = false, false
	var format [1]uint64
	b, err := wire.ReadUint64s(b, format[:])
	if err != nil {
		return err
	}
	if format[0] != rowFormat {
		return fmt.Errorf("mcmc: the checkpoint is of another kernel of Gibbs: format %d, want %d", format[0], rowFormat)
	}
	if b, err = wire.ReadFloat64s(b, k.origin); err != nil {
		return err
	}
	for s := range k.sum {
		var v [1]uint64
		if b, err = wire.ReadUint64s(b, v[:]); err != nil {
			return err
		}
		k.sum[s] = int(v[0])
	}
	return k.at.restore(b, k.states.Parts())
}
