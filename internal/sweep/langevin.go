package sweep

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/spins"
	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// torusLangevin is the kernel of DMALA and DLMC for energy.Toroidal models. The probability that
// a site flips depends on its state and on the number of its four neighbours in state 1. A
// [FlipLaw] computes these ten probabilities, with which sites are drawn as bits. Counts of the
// sites of the ten kinds, before and after a proposal, give the energy and the log-probabilities
// of the proposal and its reverse.
type torusLangevin struct {
	packed
	torusChains
	law   FlipLaw
	alpha float64
	tune  *tune.Tuner   // tunes the step size; nil if it is fixed
	odds  simd.FlipOdds // flip probabilities for the current step size
	// log-probabilities of flipping and of staying, by state and number of neighbours
	flip, stay   [2][5]float64
	finite       bool // all entries of flip and stay are finite
	grid         *spins.Grid
	states, next []*spins.GridState // current and proposed state of each chain
	forth, back  []simd.FlipTally   // per chain: counts of sites before and after the proposal
	// per chain: counts of fixed sites before and after the proposal
	still, stays []simd.FlipTally

	workers workers[flipWorker]
	job     struct { // arguments of the workers' jobs
		state, next *spins.GridState
		x           []int32
		from        spins.Source
	}
	propose, weigh, spread func(worker, job int)
}

var (
	_ sampler.Adaptive  = (*torusLangevin)(nil)
	_ sampler.Costed    = (*torusLangevin)(nil)
	_ sampler.Exchanger = (*torusLangevin)(nil)
	_ sampler.Tuned     = (*torusLangevin)(nil)
	_ sampler.Warner    = (*torusLangevin)(nil)
)

// flipWorker holds the counts of one worker, padded to whole cache lines.
type flipWorker struct {
	forth, back, still simd.FlipTally
	_                  [512 - 3*20*8]byte // fills whole cache lines
}

// FewestSites is the minimum number of sites of a torus for which [OnBits] returns a kernel. On
// smaller tori, vector registers would be mostly empty (BenchmarkTorusLangevin).
var FewestSites = 144

// FlipLaw computes, from the local fields of a model with two levels, the probability with which a
// proposal flips each site.
type FlipLaw interface {
	// SetStep sets the step size α of the proposal.
	SetStep(alpha float64)

	// Thresholds stores in t the flip probabilities of all sites, multiplied by 2³¹, for one or
	// several states x with the local fields h. It stores 0 for a flip that is impossible, and −1
	// if the probability is not defined.
	Thresholds(t []int32, h []float32, x []int32)
}

// OnBits returns a kernel that stores states as bits, for one of the discrete Langevin methods
// mcmc.DMALA and mcmc.DLMC. It returns nil if the model does not allow such a kernel. The argument
// law computes the flip probabilities. OnBits tabulates them for
// sites with 0, 1, 2, 3 and 4 neighbours in state 1. The argument alpha is the
// initial step size. The tuner adapts it; if the tuner is nil, the step size stays fixed.
func OnBits(m energy.Model, chains int, law FlipLaw, alpha float64, tuner *tune.Tuner) sampler.Kernel {
	if k := newTorusLangevin(m, chains, law, alpha, tuner); k != nil {
		return k
	}
	return nil
}

func newTorusLangevin(m energy.Model, chains int, law FlipLaw, alpha float64, tuner *tune.Tuner) *torusLangevin {
	whole, fixed := unclamped(m)
	c, held, ok := newTorusChains(whole, chains, torusFormat)
	if !ok || held.sites < FewestSites {
		return nil
	}
	held.model = m
	k := padded.New(torusLangevin{
		packed: held, torusChains: c, law: law, tune: tuner, grid: spins.NewGrid(held.sites/c.cols, c.cols),
		states: make([]*spins.GridState, chains), next: make([]*spins.GridState, chains),
		forth: padded.Make[simd.FlipTally](chains), back: padded.Make[simd.FlipTally](chains), still: padded.Make[simd.FlipTally](chains), stays: padded.Make[simd.FlipTally](chains),
	})
	k.holder = k
	if fixed != nil {
		k.grid.Fix(fixed)
	}
	for s := range k.states {
		k.states[s], k.next[s] = k.grid.NewState(), k.grid.NewState()
	}
	k.propose = func(_, job int) { k.job.state.Propose(k.job.next, job, &k.odds, k.job.from) }
	k.weigh = func(w, job int) {
		t := k.workers.each[w]
		k.job.next.Count(&t.forth, &t.back, &t.still, k.job.state, job)
	}
	k.spread = func(_, job int) { k.job.state.Spread(k.job.x, job) }
	k.setStep(alpha)
	k.share(1)
	return k
}

// share allocates workspaces for n workers, or for as many as there are jobs.
func (k *torusLangevin) share(n int) { k.workers.share(n, k.grid.Jobs(), nil) }

// Reset packs the states of x into bits. It implements [sampler.Transition].
func (k *torusLangevin) Reset(ctl sampler.Control, x []int32) error {
	k.share(ctl.Workers)
	return k.packed.Reset(ctl, x)
}

// pack implements holder: it converts the state of chain s to bits and counts its sites.
func (k *torusLangevin) pack(s int, x []int32) {
	k.states[s].Pack(x)
	k.count(s)
}

// unpack implements holder: it sets x to the state of chain s.
func (k *torusLangevin) unpack(s int, x []int32) {
	k.job.state, k.job.x = k.states[s], x
	k.each(k.spread)
	k.job.x = nil
}

// count implements holder: it counts the sites of chain s by state and neighbours.
func (k *torusLangevin) count(s int) {
	k.job.state, k.job.next = k.states[s], k.states[s]
	k.tally(s)
	k.forth[s].Sites, k.still[s] = k.back[s].Sites, k.stays[s]
	for number, n := range movementOf(&k.back[s]) {
		k.is(s, number, n)
	}
}

// alike implements holder. It reports whether the other kernel is a torusLangevin with as many
// columns.
func (k *torusLangevin) alike(with holder) bool {
	other, ok := with.(*torusLangevin)
	return ok && other.cols == k.cols
}

// swap implements holder: it exchanges states and counts of the given chains.
func (k *torusLangevin) swap(with holder, chains []int, moved []int) {
	other := with.(*torusLangevin)
	for _, s := range chains {
		if moved != nil {
			moved[s] += k.states[s].Differ(other.states[s])
		}
		k.states[s], other.states[s] = other.states[s], k.states[s]
		k.forth[s].Sites, other.forth[s].Sites = other.forth[s].Sites, k.forth[s].Sites
		k.still[s], other.still[s] = other.still[s], k.still[s]
	}
}

// setStep sets the step size from the next step on.
func (k *torusLangevin) setStep(alpha float64) {
	k.alpha = alpha
	k.law.SetStep(alpha)
	var p [2][5]uint64
	var h [5]float32
	var x, y, t [5]int32
	for n, d := range k.d {
		h[n] = float32(d)
	}
	sum := 0.0
	for v := range p {
		for n := range x {
			x[n], y[n] = int32(v), int32(1-v)
		}
		k.law.Thresholds(t[:], h[:], x[:])
		for n, t := range t {
			one := []int32{t}
			p[v][n] = uint64(max(t, 0)) << 33
			k.flip[v][n], k.stay[v][n] = simd.FlipLogProb(x[n:n+1], y[n:n+1], one), simd.FlipLogProb(x[n:n+1], x[n:n+1], one)
			sum += k.flip[v][n] + k.stay[v][n]
		}
	}
	k.odds.Set(&p)
	k.finite = sum-sum == 0
}

// logProb returns the log-probability of the flips counted in t. It leaves out the fixed sites,
// which still counts.
func (k *torusLangevin) logProb(t, still *simd.FlipTally) (logq float64) {
	for x := range t.Sites {
		flipped, stayed := 0.0, 0.0
		for n, sites := range t.Sites[x] {
			sites -= still.Sites[x][n]
			flips, flip, stay := t.Flips[x][n], k.flip[x][n], k.stay[x][n]
			if !k.finite {
				flip, stay = of(flips, flip), of(sites-flips, stay)
			}
			flipped += float64(float64(flips) * flip)
			stayed += float64(float64(sites-flips) * stay)
		}
		logq += flipped + stayed
	}
	return logq
}

// of returns the contribution of a number of sites with log-probability logq each. If sites is 0,
// it returns 0 even if logq is infinite.
func of(sites int, logq float64) float64 {
	if sites == 0 {
		return 0
	}
	return logq
}

// KeepStep gives kernel k the step size and the tuner of the second kernel. It does nothing unless
// both kernels come from [OnBits].
func KeepStep(k, from sampler.Kernel) {
	to, ok := k.(*torusLangevin)
	if before, also := from.(*torusLangevin); ok && also {
		to.tune = before.tune
		to.setStep(before.alpha)
	}
}

// StepSize returns the step size α. It implements [sampler.Tuned].
func (k *torusLangevin) StepSize() float64 { return k.alpha }

// Warning returns a sentence about the step size if tuning has moved it to its lower or upper
// bound, and "" otherwise. It implements [sampler.Warner].
func (k *torusLangevin) Warning() string { return k.tune.Warning(k.alpha) }

// Step makes one step of every chain, checking for a stop between stages. It implements
// [sampler.Transition].
func (k *torusLangevin) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	k.share(ctl.Workers)
	k.hidden = ctl.Unread
	return Step(&k.at, ctl, k, info, x, r, 3, k.packed.sites)
}

// Stage makes one stage of a step: it draws the proposals, counts the flips, or accepts and
// rejects. It implements [Staged].
func (k *torusLangevin) Stage(stage, lo, hi int, x []int32, r []sampler.Stream) bool {
	for s := lo; s < hi; s++ {
		if !k.held[s] {
			k.hold(s, x)
		}
		k.job.state, k.job.next = k.states[s], k.next[s]
		switch stage {
		case 0:
			k.job.from = reserve(&r[s], k.grid.Groups())
			k.each(k.propose)
		case 1:
			k.job.next.Close()
			k.tally(s)
		case 2:
			k.judge(s, x, &r[s])
		}
	}
	return true
}

// each runs the jobs of one state on all workers.
func (k *torusLangevin) each(do func(worker, job int)) { k.workers.do(k.grid.Jobs(), do) }

// tally counts the proposal of chain s, and the flips to the proposal and back. The sites of the
// current state must have been counted already.
func (k *torusLangevin) tally(s int) {
	for _, w := range k.workers.each {
		w.forth.Flips, w.back, w.still = [2][5]int{}, simd.FlipTally{}, simd.FlipTally{}
	}
	k.each(k.weigh)
	first := k.workers.each[0]
	for _, w := range k.workers.each[1:] {
		first.forth.Add(&w.forth)
		first.back.Add(&w.back)
		first.still.Add(&w.still)
	}
	k.forth[s].Flips, k.back[s], k.stays[s] = first.forth.Flips, first.back, first.still
}

// judge accepts or rejects the proposal of chain s.
func (k *torusLangevin) judge(s int, x []int32, r *sampler.Stream) {
	forth, back := &k.forth[s], &k.back[s]
	moved := 0
	for v := range forth.Flips {
		for _, flips := range forth.Flips[v] {
			moved += flips
		}
	}
	next := movementOf(back)
	e := k.start[s] + k.worth(k.since[torusBonds][s], k.since[torusUp][s]+k.since[torusUp+1][s])
	changed := k.energyAt(s, next)
	a, ok := Accept(e-changed, k.logProb(forth, &k.still[s]), k.logProb(back, &k.stays[s]))
	pending := &k.at.Info[s]
	*pending = sampler.Info{Energy: e, Accept: a}
	if !ok {
		pending.Invalid = 1
	}
	if r.Float64() < a && moved > 0 {
		k.states[s], k.next[s] = k.next[s], k.states[s]
		for number, n := range next {
			k.is(s, number, n)
		}
		forth.Sites, k.still[s] = back.Sites, k.stays[s]
		pending.Moved, pending.Energy = moved, changed
		k.stale[s] = true
	}
	if k.stale[s] {
		k.shown(s, x)
	}
}

// energyAt returns the energy of a state of chain s with the counts now.
func (k *torusLangevin) energyAt(s int, now [torusNumbers]int) float64 {
	for number := range now {
		now[number] -= k.zero[number][s]
	}
	return k.start[s] + k.worth(now[torusBonds], now[torusUp]+now[torusUp+1])
}

// movementOf returns the counts on which the energy of a state depends.
func movementOf(t *simd.FlipTally) (m [torusNumbers]int) {
	for n, sites := range t.Sites[1] {
		m[torusBonds] += n * sites
		m[torusUp] += sites // sites of both colours
	}
	m[torusBonds] /= 2 // every bond was counted at both of its ends
	return m
}

// Adapt tunes the step size unless it is fixed. It implements [sampler.Adaptive].
func (k *torusLangevin) Adapt(info []sampler.Info, step, of int) {
	if k.tune != nil {
		k.setStep(k.tune.AdaptTo(Proposals(info), step, of))
	}
}

// torusFormat has a tag, because DMALA had another kernel for these models before, whose
// checkpoints begin with an energy. An earlier tag marked kernels that used other random bits for
// a site.
var torusFormat = format{tag: 0x67726964, foreign: "the kernel that DMALA and DLMC had for such a model before"}

func (k *torusLangevin) AppendBinary(b []byte) ([]byte, error) { return wire.AppendFields(b, k.fields) }

func (k *torusLangevin) UnmarshalBinary(b []byte) error {
	err := wire.ReadFields(b, k.fields)
	if err == nil {
		k.setStep(k.alpha)
	}
	return err
}

func (k *torusLangevin) fields(f *wire.Fields) {
	k.packed.fields(f)
	TuningFields(f, &k.alpha, k.tune)
	k.at.Fields(f, 0)
}

// Cost estimates the time in nanoseconds of a step, which proposes a flip at every site. It
// implements [sampler.Costed].
func (k *torusLangevin) Cost(info []sampler.Info) float64 {
	return float64(len(info)) * (proposeCost + float64(kindCost*float64(k.packed.sites)))
}

// Proposals summarises the proposals that the chains made in a step, for the tuner that adapts
// the step size.
func Proposals(info []sampler.Info) tune.Proposals {
	return tune.Mean(len(info), func(i int) (float64, int) { return info[i].Accept, info[i].Moved })
}

// TuningFields reads a step size alpha from a checkpoint or writes it there. If t is not nil, it
// does the same with the tuner t, which adapts the step size.
func TuningFields(f *wire.Fields, alpha *float64, t *tune.Tuner) {
	if f.Float64(alpha); !(*alpha > 0) || math.IsInf(*alpha, 1) {
		f.Fail(fmt.Errorf("mcmc: the checkpoint has step size %v, want positive and finite", *alpha))
	}
	if t != nil {
		t.Fields(f)
	}
}
