package sweep

import (
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/spins"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// torusGibbs is the chromatic Gibbs kernel of energy.Toroidal models. A sweep redraws first one
// colour of the chequerboard and then the other. An update is a redraw of one colour.
//
// The conditional probability of a site has five values, stored as multiples of 2⁻⁶⁴.
type torusGibbs struct {
	sweeper
	torusChains
	torus   *spins.Torus
	states  []*spins.State // per chain: state, as bits by colour of the chequerboard
	odds    *simd.Odds
	workers workers[torusWorker]
	job     struct { // arguments of the workers' jobs
		state  *spins.State
		x      []int32
		colour int
		from   spins.Source
	}
	draw, tally, spread func(worker, job int)
	proposal            *torusProposal // set for Metropolis; nil for Gibbs
}

var (
	_ engine            = (*torusGibbs)(nil)
	_ sampler.Costed    = (*torusGibbs)(nil)
	_ sampler.Exchanger = (*torusGibbs)(nil)
)

// torusWorker is the workspace of one worker, padded to whole cache lines.
type torusWorker struct {
	scratch spins.Scratch // neighbour counts and redrawn words; fills whole cache lines
	delta   spins.Tally
	flip    *torusFlips
	_       [128 - 4*8]byte // padding to the end of the last cache line
}

// torusProposal holds the probabilities with which Metropolis accepts the flip of a site, by the
// state of the site and the number of its neighbours in state 1.
type torusProposal struct {
	accept [2][5]float64
	p      [2][5]uint64 // acceptance probabilities in units of 2⁻⁶⁴
	odds   simd.FlipOdds
}

// torusFlips is the additional workspace of a worker for Metropolis.
type torusFlips struct {
	scratch spins.FlipScratch
	tally   simd.FlipTally
}

// newTorusGibbs returns nil if the states of the model cannot be held as bits. It also returns
// nil unless the sides are even and at least 4, as two colours require.
func newTorusGibbs(m energy.Model, chains int) *torusGibbs {
	whole, fixed := unclamped(m)
	c, held, ok := newTorusChains(whole, chains, format{})
	if !ok || c.cols%2 != 0 || held.sites/c.cols%2 != 0 {
		return nil
	}
	held.model = m
	p := make([]uint64, len(c.d))
	for n, diff := range c.d {
		p[n] = odds(diff)
	}
	k := padded.New(torusGibbs{
		sweeper: sweeper{packed: held}, torusChains: c,
		torus: spins.NewTorus(held.sites/c.cols, c.cols), states: make([]*spins.State, chains), odds: simd.NewOdds(p),
	})
	k.init(k)
	if fixed != nil {
		k.torus.Fix(fixed)
	}
	for s := range k.states {
		k.states[s] = k.torus.NewState()
	}
	k.draw = func(w, job int) {
		t := k.workers.each[w]
		t.delta.Add(k.job.state.Redraw(k.job.colour, job, k.odds, k.job.from, &t.scratch))
	}
	k.tally = func(w, job int) {
		t := k.workers.each[w]
		t.delta.Add(k.job.state.Count(k.job.colour, job, &t.scratch))
	}
	k.spread = func(_, job int) { k.job.state.Spread(k.job.x, job, k.torus.Jobs()) }
	k.share(1)
	return k
}

// pack implements holder: it converts the state of chain s to bits and counts its sites.
func (k *torusGibbs) pack(s int, x []int32) {
	k.job.state = k.states[s]
	k.job.state.Pack(x)
	k.count(s)
}

// unpack implements holder: it sets x to the state of chain s.
func (k *torusGibbs) unpack(s int, x []int32) {
	k.job.state, k.job.x = k.states[s], x
	k.each(k.spread)
	k.job.x = nil
}

// count implements holder: it counts bonds and sites in state 1 of chain s.
func (k *torusGibbs) count(s int) {
	k.job.state = k.states[s]
	for c := range colours {
		k.job.colour = c
		k.counted(s, k.each(k.tally))
	}
}

// counted stores the counts of the current colour of chain s.
func (k *torusGibbs) counted(s int, t spins.Tally) {
	k.is(s, torusBonds, t.Bonds)
	k.is(s, torusUp+k.job.colour, t.Up)
}

// alike implements holder. It reports whether the other kernel is a torusGibbs with as many
// columns.
func (k *torusGibbs) alike(with holder) bool {
	other, ok := with.(*torusGibbs)
	return ok && other.cols == k.cols
}

// swap implements holder: it exchanges the states of the given chains.
func (k *torusGibbs) swap(with holder, chains []int, moved []int) {
	other := with.(*torusGibbs)
	for _, s := range chains {
		if moved != nil {
			moved[s] += k.states[s].Differ(other.states[s])
		}
		k.states[s], other.states[s] = other.states[s], k.states[s]
	}
}

// share allocates workspaces for n workers, or for as many as there are jobs.
func (k *torusGibbs) share(n int) {
	k.workers.share(n, k.torus.Jobs(), func(w *torusWorker) {
		if k.proposal != nil {
			w.flip = padded.New(torusFlips{})
		}
	})
}

// each runs the jobs of one colour on all workers and returns the sum of their tallies.
func (k *torusGibbs) each(do func(worker, job int)) (sum spins.Tally) {
	for _, w := range k.workers.each {
		w.delta = spins.Tally{}
	}
	k.workers.do(k.torus.Jobs(), do)
	for _, w := range k.workers.each {
		sum.Add(w.delta)
	}
	return sum
}

// updates implements engine: an update is a redraw of one colour.
func (k *torusGibbs) updates() int { return colours }

// redraw implements engine: it redraws one colour of chain s.
func (k *torusGibbs) redraw(s, colour int, _ []int32, r *sampler.Stream) (next, work int) {
	j, pending := &k.job, &k.at.Info[s]
	j.state, j.colour = k.states[s], colour
	j.from = reserve(r, k.torus.Groups())
	t := k.each(k.draw)
	j.state.Close(colour)
	k.counted(s, t)
	pending.Moved += t.Moved
	if k.proposal != nil {
		pending.Accept += k.accepted()
	}
	return colour + 1, k.sites / 2
}

// flush implements engine. It does nothing, because redraw leaves nothing pending.
func (k *torusGibbs) flush(int) {}

// accepted returns the sum of the acceptance probabilities of the colour that Metropolis has just
// redrawn.
func (k *torusGibbs) accepted() (sum float64) {
	var all simd.FlipTally
	for _, w := range k.workers.each {
		all.Add(&w.flip.tally)
		w.flip.tally = simd.FlipTally{}
	}
	for x := range all.Sites {
		for n, sites := range all.Sites[x] {
			sum += float64(float64(sites) * k.proposal.accept[x][n])
		}
	}
	return sum
}

// fewestProposed is the minimum number of sites of a torus for which Metropolis proposes changes
// as bits. On smaller tori too much of the registers is empty (BenchmarkMetropolis). Tests set it
// lower.
var fewestProposed = 32

// newTorusMetropolis returns the chromatic Metropolis kernel of energy.Toroidal models, or nil if
// the states of the model cannot be held as bits. The kernel is a torusGibbs with other draws. A
// site flips with one of ten probabilities, multiples of 2⁻⁶⁴, which its state and its number of
// neighbours in state 1 select. A flip of probability 1 fails once in 2⁶⁴.
func newTorusMetropolis(m energy.Model, chains int) *torusGibbs {
	k := newTorusGibbs(m, chains)
	if k == nil || k.sites < fewestProposed {
		return nil
	}
	to := &torusProposal{}
	for n, d := range k.d {
		for x, rise := range [2]float64{d, -d} {
			a, _ := Accept(-rise, 0, 0)
			to.accept[x][n], to.p[x][n] = a, fraction(a)
		}
	}
	to.odds.Set(&to.p)
	_, fixed := unclamped(m)
	k.proposal, k.proposes = to, max(1, freeOf(fixed, k.sites))
	k.draw = func(w, job int) {
		t := k.workers.each[w]
		t.delta.Add(k.job.state.Flip(&t.flip.tally, k.job.colour, job, &to.odds, k.job.from, &t.flip.scratch))
	}
	k.workers.each = nil // the existing workspaces have no flips
	k.share(1)
	return k
}

// torusChains holds the parameters of an energy.Toroidal model whose states a kernel holds as
// bits.
type torusChains struct {
	cols int
	d    [5]float64 // E(x_i = 1) − E(x_i = 0) with 0 … 4 neighbours in state 1
}

const colours = 2 // number of colours of a chequerboard

// Indices of the counts that determine the energy of a state of a torus.
const (
	torusBonds   = iota              // index of Σ x_i x_j over the bonds
	torusUp                          // first index of Σ x_i over the sites of each colour
	torusNumbers = torusUp + colours // number of counts that determine the energy of a state
)

// newTorusChains returns the parameters of an energy.Toroidal model and an empty packed for its
// states. It returns ok = false if the model is not toroidal or a side is below 3.
func newTorusChains(m energy.Model, chains int, form format) (k torusChains, p packed, ok bool) {
	t, ok := energy.As[energy.Toroidal](m)
	if !ok {
		return k, p, false
	}
	sites, _ := m.Shape()
	cols, d, ok := t.Torus()
	if !ok || cols < 3 || sites/cols < 3 {
		return k, p, false
	}
	form.absolute, form.kept = true, torusNumbers
	return torusChains{cols: cols, d: d}, newPacked(m, sites, chains, 1, torusNumbers, form), true
}

// addEnergies implements holder: it adds to e the energies of changed numbers of bonds between
// ones and of ones. Because d[k] = d[0] + k(d[1]−d[0]), the energy of a bond is d[1]−d[0] and
// that of a single one is d[0].
func (k *torusChains) addEnergies(e []float64, more [][]int) {
	for s := range e {
		e[s] += k.worth(more[torusBonds][s], more[torusUp][s]+more[torusUp+1][s])
	}
}

// worth returns the energy of the given numbers of bonds between ones and of ones.
func (k *torusChains) worth(bonds, ones int) float64 {
	return float64((k.d[1]-k.d[0])*float64(bonds)) + float64(k.d[0]*float64(ones))
}

// Cost estimates the time in nanoseconds of a step, which redraws all sites. It implements
// [sampler.Costed].
func (k *torusGibbs) Cost(info []sampler.Info) float64 {
	return float64(len(info)) * (WholeCost + float64(bandCost*float64(k.sites/k.cols)) + float64(bitCost*float64(k.sites)))
}
