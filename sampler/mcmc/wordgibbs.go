package mcmc

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/spins"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// wordGibbs is the chromatic kernel of [Gibbs] for models of two levels on graphs of few
// neighbours and one strength of couplings, of either sign: the chains of a block are the
// bits of a word, and those of sixteen sites are redrawn at once. States are held as bits
// beside x, which is what they are made from and written to.
//
// Conditionals are held as multiples of 2⁻⁶⁴. All chains draw from the stream of the first
// one.
type wordGibbs struct {
	model  energy.Model
	sites  int
	even   *evenly
	states *spins.Chains
	held   bool // the states are up to date
	stale  bool // x does not have them yet
	hidden bool // it need not have them

	start []float64 // energies at the last Reset
	ones  [][]int   // how many more sites are in state 1 since then, by kind and chain
	near  []int     // and neighbours that count, see spins.Change
	at    cursor    // its updates are parts, of all chains together

	burst   *pool.Burst
	workers [][]wordWorker // one each
	first   int            // part of job 0
	from    [batch]spins.Source
	redraw  func(worker, job int)

	side     *beside     // of blocks that leap together
	together []wordBlock // these
}

var (
	_ sampler.Companion   = (*wordGibbs)(nil)
	_ sampler.Costed      = (*wordGibbs)(nil)
	_ sampler.Lazy[int32] = (*wordGibbs)(nil)
)

// wordWorker is what one worker writes.
type wordWorker struct {
	scratch spins.Scratch
	told    []simd.ChainTally // changes since the last flush, by kind
}

// batch is the number of parts between two questions whether to stop.
const batch = 512

// newWordGibbs returns nil if another kernel does better.
func newWordGibbs(m energy.Model, chains int) *wordGibbs {
	if chains < fewestBits {
		return nil
	}
	e := newEvenly(m)
	sites, _ := m.Shape()
	if e == nil || e.graph.Lanes() > 2*chains*sites { // of small graphs of many colours most lanes fill up registers
		return nil
	}
	k := apart.New(wordGibbs{
		model: m, sites: sites, even: e, states: e.graph.NewChains(),
		start: apart.Make[float64](chains), near: apart.Make[int](chains), at: newCursor(chains),
	})
	k.redraw = func(worker, job int) {
		w := &k.workers[worker][0]
		k.states.Redraw(k.first+job, w.told, k.from[job], &w.scratch)
	}
	for range e.base {
		k.ones = append(k.ones, apart.Make[int](chains))
	}
	k.share(1)
	return k
}

// share makes what so many workers write.
func (k *wordGibbs) share(n int) {
	if n = max(1, min(n, k.states.Parts())); n == len(k.workers) {
		return
	}
	k.burst = pool.NewBurst(n)
	k.workers = make([][]wordWorker, n)
	for w := range k.workers {
		k.workers[w] = apart.Make[wordWorker](1)
		k.workers[w][0].told = apart.Make[simd.ChainTally](len(k.ones))
	}
}

// wordSites is the number of sites for each chain of a block from which on chains of a
// torus take less time one by one (BenchmarkWordGibbs): registers of torusGibbs are full.
const wordSites = 32

// wordFormat begins what AppendBinary writes: that of sparseGibbs, which had these
// models, is as long, and begins with an energy. Another one had three numbers of each
// kind.
const wordFormat = 0x776f7265

// Reset implements [sampler.Transition].
func (k *wordGibbs) Reset(ctl sampler.Control, x []int32) error {
	k.share(ctl.Workers)
	k.held = false
	for _, ones := range k.ones {
		clear(ones)
	}
	clear(k.near)
	return k.at.renew(ctl.Stop, 1, k.sites, func(_, lo, hi int) (bool, error) {
		k.model.Energy(k.start[lo:hi], x[lo*k.sites:hi*k.sites])
		return true, checkStart(k.start, lo, hi)
	})
}

// Step implements [sampler.Transition]. It asks whether to stop about every millisecond.
func (k *wordGibbs) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	if ctl.Unread && (len(ctl.Company) > 0 || ctl.Steps > 1 && k.at.fresh()) {
		return k.leap(ctl, info, x, r)
	}
	k.share(ctl.Workers)
	k.hidden = ctl.Unread
	k.at.begin(ctl.Stop)
	k.hold(x)
	for k.at.update < k.states.Parts() && !k.at.stopped {
		k.first = k.at.update
		parts, sites := min(k.states.End(k.first)-k.first, batch), 0
		for job := range parts {
			k.from[job] = reserve(&r[0], k.states.Groups(k.first+job))
			sites += k.states.PartSites(k.first + job)
		}
		if len(k.workers) > 1 && parts > 1 {
			k.burst.Each(parts, k.redraw)
		} else {
			for job := range parts {
				k.redraw(0, job)
			}
		}
		k.at.update += parts
		k.at.done(len(info) * sites)
	}
	k.flush()
	k.shown(x)
	if k.at.update < k.states.Parts() {
		return 0
	}
	for s := range info {
		info[s] = sampler.Info{Energy: k.energy(s), Accept: 1, Moved: k.at.told[s].Moved}
	}
	k.at.clear()
	return 1
}

// hold takes the states from x, unless it has them.
func (k *wordGibbs) hold(x []int32) {
	if !k.held {
		k.states.Pack(x)
		k.held = true
	}
}

// flush takes note of what changed.
func (k *wordGibbs) flush() {
	for _, w := range k.workers {
		for kind := range w[0].told {
			t, ones := &w[0].told[kind], k.ones[kind]
			for s := range ones {
				var c spins.Change
				c.Add(t, s)
				ones[s] += c.Ones
				k.near[s] += c.Near
				k.at.told[s].Moved += int(t.Moved[s])
			}
			*t = simd.ChainTally{}
		}
	}
}

// energy returns the running energy of a chain: integers times parameters, so that
// rounding does not gather.
func (k *wordGibbs) energy(s int) float64 {
	sum := 0.0
	for kind, ones := range k.ones {
		sum += float64(k.even.base[kind] * float64(ones[s]))
	}
	return k.start[s] + (sum + float64(k.even.weight*float64(k.near[s])))
}

// Show implements [sampler.Lazy].
func (k *wordGibbs) Show(x []int32) {
	if k.stale {
		k.states.Spread(x)
		k.stale = false
	}
}

// shown stores the states in x, unless that is deferred.
func (k *wordGibbs) shown(x []int32) {
	if k.stale = true; !k.hidden {
		k.Show(x)
	}
}

// AppendBinary implements [sampler.Transition].
func (k *wordGibbs) AppendBinary(b []byte) ([]byte, error) {
	b = wire.AppendFloat64s(wire.AppendInts(b, wordFormat), k.start)
	for _, ones := range k.ones {
		b = wire.AppendInts(b, ones...)
	}
	return k.at.append(wire.AppendInts(b, k.near...)), nil
}

// UnmarshalBinary implements [sampler.Transition].
func (k *wordGibbs) UnmarshalBinary(b []byte) error {
	k.held, k.stale = false, false
	var format [1]uint64
	b, err := wire.ReadUint64s(b, format[:])
	if err != nil {
		return err
	}
	if format[0] != wordFormat {
		return fmt.Errorf("mcmc: the checkpoint is of another kernel of Gibbs: format %d, want %d", format[0], wordFormat)
	}
	b, err = wire.ReadFloat64s(b, k.start)
	if err != nil {
		return err
	}
	for _, counts := range append(k.ones[:len(k.ones):len(k.ones)], k.near) {
		for s := range counts {
			var v [1]uint64
			if b, err = wire.ReadUint64s(b, v[:]); err != nil {
				return err
			}
			counts[s] = int(v[0])
		}
	}
	return k.at.restore(b, k.states.Parts())
}

// fewestBits is the number of chains of a block from which on they are bits of a word
// (BenchmarkWordGibbs). Tests set it higher, to try other kernels.
var fewestBits = 1
