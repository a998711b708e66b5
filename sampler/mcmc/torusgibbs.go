package mcmc

import (
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// torusGibbs is the chromatic kernel of [Gibbs] for energy.Toroidal models: a
// sweep redraws first one colour of the chequerboard, then the other. Its updates are
// colours.
//
// The conditional of a site takes five values, held as multiples of 2⁻⁶⁴.
type torusGibbs struct {
	torusChains
	odds   *simd.Odds
	redraw func(worker, job int)
}

// newTorusGibbs returns nil if the model has no states of bits.
func newTorusGibbs(m energy.Model, chains int) *torusGibbs {
	c, ok := newTorusChains(m, chains)
	if !ok {
		return nil
	}
	p := make([]uint64, len(c.d))
	for n, diff := range c.d {
		p[n] = odds(diff)
	}
	k := apart.New(torusGibbs{torusChains: c, odds: simd.NewOdds(p)})
	k.begin()
	k.redraw = func(w, job int) {
		t := &k.workers[w][0]
		t.told.Add(k.job.state.Redraw(k.job.colour, job, k.odds, k.job.from, &t.scratch))
	}
	return k
}

func (k *torusGibbs) Step(info []sampler.Info, x []int32, r []sampler.Stream) {
	k.StepUntil(nil, info, x, r)
}

// StepUntil is Step until stop says so, which is asked between half sweeps.
func (k *torusGibbs) StepUntil(stop func() bool, info []sampler.Info, x []int32, r []sampler.Stream) (done bool) {
	k.at.begin(stop)
	for ; k.at.chain < len(info); k.at.next() {
		s := k.at.chain
		told := &k.at.told[s]
		if !k.held[s] {
			k.hold(s, x)
		}
		for k.at.update < colours {
			if k.at.stopped {
				k.shown(s, x)
				return false
			}
			told.Moved += k.half(s, k.at.update, &r[s])
			k.at.update++
			k.at.done(k.sites / 2)
		}
		k.shown(s, x)
		told.Energy, told.Accept = k.energy(s), 1
	}
	k.at.finish(info)
	return true
}

// half redraws a colour of chain s and returns how many sites changed.
func (k *torusGibbs) half(s, colour int, r *sampler.Stream) (moved int) {
	j := &k.job
	j.state, j.colour = k.states[s], colour
	j.from = reserve(r, k.torus.Groups())
	t := k.each(k.torus.Jobs(), k.redraw)
	j.state.Close(colour)
	k.now[s].bonds, k.now[s].up[colour] = t.Bonds, t.Up
	return t.Moved
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
