package mcmc

import (
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/spins"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// torusGibbs is the chromatic kernel of [Gibbs] for energy.Toroidal models: a
// sweep redraws first one colour of the chequerboard, then the other. Its updates are
// colours.
//
// The conditional of a site takes five values, held as multiples of 2⁻⁶⁴.
type torusGibbs struct {
	torusChains
	torus   *spins.Torus
	states  []*spins.State // in the colours of the chequerboard
	odds    *simd.Odds
	burst   *pool.Burst
	workers [][]torusWorker // one each
	job     struct {        // what workers do
		state  *spins.State
		x      []int32
		colour int
		from   spins.Source
	}
	redraw, count, spread func(worker, job int)
	proposal              *torusProposal // of Metropolis
}

var (
	_ sampler.Costed      = (*torusGibbs)(nil)
	_ sampler.Lazy[int32] = (*torusGibbs)(nil)
)

// torusWorker is what one worker writes.
type torusWorker struct {
	scratch spins.Scratch // whole cache lines
	told    spins.Tally
	flip    *torusFlips
	_       [128 - 4*8]byte // nothing else of its last cache line
}

// torusProposal are the probabilities with which Metropolis accepts that a site flips, by its
// state and the number of its neighbours in state 1.
type torusProposal struct {
	accept [2][5]float64
	p      [2][5]uint64 // 2⁶⁴ times them
	odds   simd.FlipOdds
}

// torusFlips is what a worker of Metropolis writes besides.
type torusFlips struct {
	scratch spins.FlipScratch
	tally   simd.FlipTally
}

// newTorusGibbs returns nil if the model has no states of bits, or its sides are not even
// and at least 4, as two colours demand.
func newTorusGibbs(m energy.Model, chains int) *torusGibbs {
	whole, fixed := unclamped(m)
	c, ok := newTorusChains(whole, chains)
	if !ok || c.cols%2 != 0 || c.sites/c.cols%2 != 0 {
		return nil
	}
	c.model = m
	p := make([]uint64, len(c.d))
	for n, diff := range c.d {
		p[n] = odds(diff)
	}
	k := apart.New(torusGibbs{
		torusChains: c, torus: spins.NewTorus(c.sites/c.cols, c.cols), states: make([]*spins.State, chains), odds: simd.NewOdds(p),
	})
	if fixed != nil {
		k.torus.Fix(fixed)
	}
	for s := range k.states {
		k.states[s] = k.torus.NewState()
	}
	k.redraw = func(w, job int) {
		t := &k.workers[w][0]
		t.told.Add(k.job.state.Redraw(k.job.colour, job, k.odds, k.job.from, &t.scratch))
	}
	k.count = func(w, job int) {
		t := &k.workers[w][0]
		t.told.Add(k.job.state.Count(k.job.colour, job, &t.scratch))
	}
	k.spread = func(_, job int) { k.job.state.Spread(k.job.x, job, k.torus.Jobs()) }
	k.pack = func(s int, x []int32) {
		k.job.state = k.states[s]
		k.job.state.Pack(x)
		for c := range colours {
			k.job.colour = c
			t := k.each(k.count)
			k.now[s].bonds, k.now[s].up[c] = t.Bonds, t.Up
		}
	}
	k.unpack = func(s int, x []int32) {
		k.job.state, k.job.x = k.states[s], x
		k.each(k.spread)
		k.job.x = nil
	}
	k.share(1)
	return k
}

// Reset implements [sampler.Transition].
func (k *torusGibbs) Reset(ctl sampler.Control, x []int32) error {
	k.share(ctl.Workers)
	return k.torusChains.Reset(ctl, x)
}

// share makes what so many workers write.
func (k *torusGibbs) share(n int) {
	if n = max(1, min(n, k.torus.Jobs())); n == len(k.workers) {
		return
	}
	k.burst = pool.NewBurst(n)
	k.workers = make([][]torusWorker, n)
	for w := range k.workers {
		k.workers[w] = apart.Make[torusWorker](1)
		if k.proposal != nil {
			k.workers[w][0].flip = apart.New(torusFlips{})
		}
	}
}

// each does the jobs of a colour and returns the sum of what they counted.
func (k *torusGibbs) each(do func(worker, job int)) (sum spins.Tally) {
	for _, w := range k.workers {
		w[0].told = spins.Tally{}
	}
	k.burst.Each(k.torus.Jobs(), do)
	for _, w := range k.workers {
		sum.Add(w[0].told)
	}
	return sum
}

// Step implements [sampler.Transition]. It asks whether to stop between half sweeps.
func (k *torusGibbs) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	k.share(ctl.Workers)
	k.hidden = ctl.Unread
	k.at.begin(ctl.Stop)
	for ; k.at.chain < len(info); k.at.next() {
		s := k.at.chain
		told := &k.at.told[s]
		if !k.held[s] {
			k.hold(s, x)
		}
		for k.at.update < colours {
			if k.at.stopped {
				k.shown(s, x)
				return 0
			}
			told.Moved += k.half(s, k.at.update, &r[s])
			k.at.update++
			k.at.done(k.sites / 2)
		}
		k.shown(s, x)
		told.Energy = k.energy(s)
		if k.proposal == nil {
			told.Accept = 1
		} else {
			told.Accept /= float64(k.sites)
		}
	}
	k.at.finish(info)
	return 1
}

// half redraws a colour of chain s and returns how many sites changed.
func (k *torusGibbs) half(s, colour int, r *sampler.Stream) (moved int) {
	j := &k.job
	j.state, j.colour = k.states[s], colour
	j.from = reserve(r, k.torus.Groups())
	t := k.each(k.redraw)
	j.state.Close(colour)
	k.now[s].bonds, k.now[s].up[colour] = t.Bonds, t.Up
	if k.proposal != nil {
		k.at.told[s].Accept += k.accepted()
	}
	return t.Moved
}

// accepted returns the sum of the acceptance probabilities of a colour that Metropolis has
// redrawn.
func (k *torusGibbs) accepted() (sum float64) {
	var all simd.FlipTally
	for _, w := range k.workers {
		all.Add(&w[0].flip.tally)
		w[0].flip.tally = simd.FlipTally{}
	}
	for x := range all.Sites {
		for n, sites := range all.Sites[x] {
			sum += float64(float64(sites) * k.proposal.accept[x][n])
		}
	}
	return sum
}

func (k *torusGibbs) AppendBinary(b []byte) ([]byte, error) {
	return k.at.append(k.appendEnergies(b)), nil
}

func (k *torusGibbs) UnmarshalBinary(b []byte) error {
	b, err := k.restoreEnergies(b)
	if err != nil {
		return err
	}
	return k.at.restore(b, colours)
}
