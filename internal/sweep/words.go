package sweep

import (
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/spins"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// wordGibbs is the chromatic Gibbs kernel of two-level models with few neighbours per site and
// couplings of one strength and either sign. The chains of a block are the bits of a word, and
// sixteen sites are redrawn at once. The kernel holds its own copy of the states as bits, read
// from x and written to x.
//
// Conditional probabilities are multiples of 2⁻⁶⁴. All chains draw from the stream of the first
// chain.
type wordGibbs struct {
	sweeper // one group of all chains; its counts are those of spins.Change, by kind
	even    *equalByKind
	states  *spins.Chains

	workers workers[wordWorker]
	first   int // index of the part of job 0
	from    [batch]spins.Source
	job     func(worker, job int)

	side     *abreast    // states of blocks that are redrawn together; nil until needed
	together []wordBlock // blocks of the current batch
}

var (
	_ engine            = (*wordGibbs)(nil)
	_ sampler.Companion = (*wordGibbs)(nil)
	_ sampler.Costed    = (*wordGibbs)(nil)
	_ sampler.Exchanger = (*wordGibbs)(nil)
)

// wordWorker is the workspace of one worker.
type wordWorker struct {
	scratch spins.Scratch
	delta   []simd.ChainTally // per kind: changes since the last flush
}

// batch is the maximum number of parts redrawn between two checks for a stop.
const batch = 512

// newWordGibbs returns nil if the couplings have several magnitudes, a site has too many
// neighbours, the sites have too many kinds, or another kernel is faster.
func newWordGibbs(m energy.Model, chains int) *wordGibbs {
	if chains < FewestBits {
		return nil
	}
	e := newEqualByKind(m)
	sites, _ := m.Shape()
	// on small graphs of many colours most lanes are padding
	if e == nil || e.graph.Lanes() > 2*chains*sites {
		return nil
	}
	form := wordFormat
	form.kept = len(e.base) + 1
	k := padded.New(wordGibbs{
		sweeper: sweeper{packed: newPacked(m, sites, chains, chains, form.kept, form)}, even: e, states: e.graph.NewChains(),
	})
	k.init(k)
	k.job = func(worker, job int) {
		w := k.workers.each[worker]
		k.states.Redraw(k.first+job, w.delta, k.from[job], &w.scratch)
	}
	k.share(1)
	return k
}

// share allocates workspaces for n workers, or for as many as there are parts.
func (k *wordGibbs) share(n int) {
	k.workers.share(n, k.states.Parts(), func(w *wordWorker) { w.delta = padded.Make[simd.ChainTally](len(k.even.base)) })
}

// wordSites is the minimum number of sites per chain of a block for which the chains of a torus
// are faster one by one (BenchmarkWordGibbs). The registers of torusGibbs are then full.
const wordSites = 32

// wordFormat has a tag, because checkpoints of sparseGibbs, which had these models before, are as
// long and begin with an energy. An earlier tag marked checkpoints with three numbers per kind.
var wordFormat = format{tag: 0x776f7265, foreign: "another kernel of Gibbs", byNumber: true}

// Step makes one step of every chain. If the caller will read the states only after several steps,
// Step makes these steps as a batch. A batch also moves the other blocks of chains that the field
// Company of the [sampler.Control] holds. Step implements [sampler.Transition].
func (k *wordGibbs) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	if ctl.Unread && (len(ctl.Company) > 0 || ctl.Steps > 1 && k.at.Fresh()) {
		return k.batch(ctl, info, x, r)
	}
	return k.sweeper.Step(ctl, info, x, r)
}

// updates implements engine: an update is a redraw of one part.
func (k *wordGibbs) updates() int { return k.states.Parts() }

// redraw implements engine: it redraws some parts of one colour in all chains.
func (k *wordGibbs) redraw(_, from int, _ []int32, r *sampler.Stream) (next, work int) {
	k.first = from
	parts, sites := min(k.states.End(from)-from, batch), 0
	for job := range parts {
		k.from[job] = reserve(r, k.states.Groups(from+job))
		sites += k.states.PartSites(from + job)
	}
	k.workers.do(parts, k.job)
	return from + parts, k.chains * sites
}

// flush implements engine: it adds the changes of all workers to the counts.
func (k *wordGibbs) flush(int) {
	pending := k.at.Info
	near := k.since[len(k.even.base)][:len(pending)]
	for _, w := range k.workers.each {
		for kind := range w.delta {
			t, ones := &w.delta[kind], k.since[kind][:len(pending)]
			for s := range pending {
				var c spins.Change
				c.Add(t, s)
				ones[s] += c.Ones
				near[s] += c.Near
				pending[s].Moved += int(t.Moved[s])
			}
			*t = simd.ChainTally{}
		}
	}
}

// pack implements holder: it converts the states of all chains to bits.
func (k *wordGibbs) pack(_ int, x []int32) { k.states.Pack(x) }

// unpack implements holder: it sets x to the states of all chains.
func (k *wordGibbs) unpack(_ int, x []int32) { k.states.Spread(x) }

// count implements holder for all chains. It visits every pair of neighbours twice. A pair that
// counts in state 0 adds half of a correction at each of its two sites.
func (k *wordGibbs) count(int) {
	delta := k.workers.each[0].delta
	k.states.Count(delta, &k.workers.each[0].scratch)
	for s := range k.chains {
		twice := 0
		for kind := range delta {
			t := &delta[kind]
			up := int(t.Up[s])
			k.is(s, kind, up)
			twice += int(t.Sum[s]) + k.even.turned[kind]*up
		}
		k.is(s, len(delta), twice/2)
	}
	clear(delta)
}

// addEnergies implements holder: it adds to e the energies of changed sums of neighbours and
// numbers of sites in state 1, by kind.
func (k *wordGibbs) addEnergies(e []float64, more [][]int) {
	near := more[len(k.even.base)][:len(e)]
	for s := range e {
		sum := 0.0
		for kind, base := range k.even.base {
			sum += float64(base * float64(more[kind][s]))
		}
		e[s] += sum + float64(k.even.weight*float64(near[s]))
	}
}

// alike implements holder. It reports whether kinds and layout are the same. If so, the kernels
// share the layout.
func (k *wordGibbs) alike(with holder) bool {
	other, ok := with.(*wordGibbs)
	return ok && slices.Equal(k.even.turned, other.even.turned) && k.even.graph.Share(other.even.graph)
}

// swap implements holder: it exchanges the states of the given chains.
func (k *wordGibbs) swap(with holder, chains []int, moved []int) {
	k.states.Swap(with.(*wordGibbs).states, chains, moved)
}

// FewestBits is the smallest number of chains (one bit each) for which the unexported engine
// wordGibbs is used; see BenchmarkWordGibbs. Tests set it higher to exercise other kernels.
var FewestBits = 1

// Cost estimates the time of a step in nanoseconds. It does not depend on the number of chains,
// because a step redraws all bits of every lane. It implements [sampler.Costed].
func (k *wordGibbs) Cost(info []sampler.Info) float64 {
	return float64(WholeCost + float64(float64(k.states.Lanes())*laneCost))
}

const (
	// batchSites is the maximum number of sites of graphs on which unread steps are made in
	// batches. On a larger graph the report of a step costs nothing compared with the step,
	// several goroutines can redraw it, and interleaved states would leave the caches.
	batchSites = 1 << 12

	// Redrawing abreastLanes lanes of a single block takes as long as redrawing one site in a
	// register of several blocks (BenchmarkWordBatch).
	abreastLanes = 11
)

// Company returns how many blocks of chains should move together in one call of Step. If the graph
// is too large for batches of steps, it returns 0, and blocks move one by one. Company implements
// [sampler.Companion].
func (k *wordGibbs) Company(blocks int) int {
	if k.sites > batchSites || len(k.workers.each) > 1 && k.states.End(0) > 1 {
		return 0
	}
	if most := min(blocks, simd.JointBlocks); k.abreast(most) {
		return most
	}
	return 1
}

// abreast reports whether redrawing the given number of blocks together is faster than one by
// one.
func (k *wordGibbs) abreast(blocks int) bool {
	width := simd.JointWidth()
	return width > 0 && !k.states.Fixes() && blocks*k.states.Lanes() >= abreastLanes*k.sites*((blocks-1)/width+1)
}

// wordBlock is one of the blocks that a batch of steps moves.
type wordBlock struct {
	kernel *wordGibbs
	info   []sampler.Info
	r      *sampler.Stream
	moved  int // number of sites that changed in the batch
}

// batch makes several unread steps of the block and of its companions. It returns the number of
// steps, or 0 if it cannot.
func (k *wordGibbs) batch(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (steps int) {
	k.together = append(k.together[:0], wordBlock{kernel: k, info: info, r: &r[0]})
	for _, b := range ctl.Company {
		other, ok := sampler.As[*wordGibbs](b.Kernel)
		if !ok {
			return 0
		}
		k.together = append(k.together, wordBlock{kernel: other, info: b.Info, r: &b.R[0]})
	}
	for _, b := range k.together {
		if !b.kernel.at.Fresh() {
			return 0
		}
	}
	k.depart(x)
	for i, b := range ctl.Company {
		k.together[1+i].kernel.depart(b.X)
	}
	k.at.Begin(ctl.Stop)
	if n := max(1, ctl.Steps); k.abreast(len(k.together)) {
		steps = k.batchAbreast(n, k.together)
	} else {
		steps = k.batchInTurn(n, k.together)
	}
	for _, b := range k.together {
		b.kernel.arrive()
		report(b.info, b.moved)
	}
	return steps
}

// report stores the result of a batch in the reports of a block. The first report holds the
// changes of all chains together.
func report(info []sampler.Info, moved int) {
	for s := range info {
		info[s] = sampler.Info{Energy: math.NaN(), Accept: 1}
	}
	info[0].Moved = moved
}

// stride returns the number of steps, at most n, of the given number of blocks that fit between
// two checks for a stop.
func (k *wordGibbs) stride(n, blocks int) int {
	return min(n, max(1, PollWork/(blocks*simd.ChainBits*k.sites)))
}

// batchInTurn makes n steps of the blocks, one block after the other, some steps at a time.
func (k *wordGibbs) batchInTurn(n int, blocks []wordBlock) (steps int) {
	for steps < n && !k.at.Stopped {
		some := k.stride(n-steps, len(blocks))
		for i := range blocks {
			b := &blocks[i]
			o := b.kernel
			for range some {
				from := reserve(b.r, o.states.SweepGroups())
				for part := range o.states.Parts() {
					b.moved += o.states.Draw(part, o.chains, from, &o.workers.each[0].scratch)
					from.Group += o.states.Groups(part)
				}
			}
		}
		steps += some
		k.at.Done(some * len(blocks) * simd.ChainBits * k.sites)
	}
	return steps
}

// batchAbreast makes n steps of the blocks together, with interleaved states.
func (k *wordGibbs) batchAbreast(n int, blocks []wordBlock) (steps int) {
	if k.side == nil {
		k.side = padded.New(abreast{states: k.states.NewJoint()})
	}
	j := k.side
	for i, b := range blocks {
		j.chains[i], j.moved[i] = b.kernel.chains, 0
		j.states.Take(i, b.kernel.states)
	}
	for steps < n && !k.at.Stopped {
		some := k.stride(n-steps, len(blocks))
		var first spins.Source
		for i, b := range blocks {
			from := reserve(b.r, uint64(some)*k.states.SweepGroups())
			j.streams[i], j.groups[i] = from.Chain, from.Group
			if i == 0 {
				first = from
			}
		}
		j.from.Begin(first.ARS, first.Seed, j.streams[:len(blocks)], j.groups[:len(blocks)], j.chains[:len(blocks)])
		for step := range some {
			j.states.Sweep(&j.from, uint64(step)*k.states.SweepGroups())
		}
		j.from.Moved(j.moved[:len(blocks)])
		steps += some
		k.at.Done(some * len(blocks) * simd.ChainBits * k.sites)
	}
	for i := range blocks {
		j.states.Give(i, blocks[i].kernel.states)
		blocks[i].moved = j.moved[i]
	}
	return steps
}

// depart computes the counts on which energies depend before a batch; arrive recomputes the counts
// after the batch.
func (k *wordGibbs) depart(x []int32) {
	k.hold(0, x)
	k.know()
}

func (k *wordGibbs) arrive() {
	k.count(0)
	k.stale[0] = true
}

// abreast holds the interleaved states of blocks of chains, with scratch for redrawing them
// together.
type abreast struct {
	states          *spins.Joint
	from            simd.Joint
	streams, groups [simd.JointBlocks]uint64
	chains, moved   [simd.JointBlocks]int
}
