package mcmc

import (
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/cost"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// denseGibbs is the kernel of [Gibbs] for energy.Matching models of two levels with
// many neighbours, and of [Metropolis] in a fixed order for those with any number.
// It keeps, as integers, how many neighbours of a site are in state
// 1, and looks its conditional up by that: a visit that changes nothing costs a few
// operations, one that changes a site its neighbourhood.
type denseGibbs struct {
	model      energy.Model
	sites      int
	coupling   float64
	field      []float64
	start, adj []int32
	order      []int32

	// odds holds 2⁶⁴·p(x_i = 1) for 0, 1, …, d neighbours in state 1, one stretch
	// per number of neighbours d; those of site i begin at first[i].
	odds  []uint64
	diff  []float64 // E(x_i = 1) − E(x_i = 0)
	first []int32

	// Of Metropolis: what odds are for sites in state 1, those above being for sites
	// in state 0.
	odds1 []uint64

	visits *simd.Visits
	look   []int32 // entry of odds for the state of the neighbours: chains × sites
	held   []bool  // chains whose entries of look are right
	words  []uint32
	from   []float64 // energies at the last Reset
	since  []change  // since then
	at     cursor    // its updates are sites
	price  cost.Memo
}

var _ sampler.Costed = (*denseGibbs)(nil)

// change is what an energy depends on: the number of edges between equals and of
// sites in state 1.
type change struct{ equal, ones int64 }

// newDenseGibbs returns nil if the model is not energy.Matching or has not two
// levels. A sweep visits sites in the given order.
func newDenseGibbs(m energy.Model, chains int, order []int32) *denseGibbs {
	g, ok := energy.As[energy.Matching](m)
	if !ok {
		return nil
	}
	coupling, field, ok := g.Matching()
	if !ok || len(field) != 2 {
		return nil
	}
	start, adj := g.Graph()
	k := apart.New(denseGibbs{
		model: m, sites: len(start) - 1, coupling: coupling, field: field, start: start, adj: adj, order: order,
		first: apart.Make[int32](len(start) - 1), look: apart.Make[int32](chains * (len(start) - 1)), held: apart.Make[bool](chains),
		words: apart.Make[uint32](2 * chunk), from: apart.Make[float64](chains), since: apart.Make[change](chains), at: newCursor(chains),
	})
	stretches := map[int]int32{}
	for i := range k.sites {
		d := int(start[i+1] - start[i])
		at, ok := stretches[d]
		if !ok {
			at = int32(len(k.odds))
			stretches[d] = at
			for n := range d + 1 {
				diff := float64(coupling*float64(d-2*n)) + (field[0] - field[1])
				k.diff = append(k.diff, diff)
				k.odds = append(k.odds, odds(diff))
			}
		}
		k.first[i] = at
	}
	k.visits = simd.NewVisits(start, adj, k.first, k.odds, nil, [2][]uint64{})
	return k
}

// dense reports whether a site has more neighbours on average than sparseGibbs
// takes.
func dense(m energy.Model) bool {
	g, ok := energy.As[energy.Matching](m)
	if !ok {
		return false
	}
	start, adj := g.Graph()
	return len(adj) > sparseDegree*(len(start)-1)
}

// Reset implements [sampler.Transition].
func (k *denseGibbs) Reset(ctl sampler.Control, x []int32) error {
	return k.at.renew(ctl.Stop, 1, k.sites+len(k.adj), func(_, lo, hi int) (bool, error) {
		k.model.Energy(k.from[lo:hi], x[lo*k.sites:hi*k.sites])
		for s := lo; s < hi; s++ {
			k.since[s] = change{}
			k.hold(s, x[s*k.sites:(s+1)*k.sites])
		}
		return true, checkStart(k.from, lo, hi)
	})
}

// hold counts the neighbours of chain s at state x.
func (k *denseGibbs) hold(s int, x []int32) {
	k.held[s] = true
	look := k.look[s*k.sites : (s+1)*k.sites]
	for i := range look {
		at := k.first[i]
		for _, j := range k.adj[k.start[i]:k.start[i+1]] {
			at += x[j]
		}
		look[i] = at
	}
}

// Step implements [sampler.Transition]. It asks whether to stop about every millisecond.
func (k *denseGibbs) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	k.at.begin(ctl.Stop)
	for ; k.at.chain < len(info); k.at.next() {
		s := k.at.chain
		told, state := &k.at.told[s], x[s*k.sites:(s+1)*k.sites]
		if !k.held[s] {
			k.hold(s, state)
		}
		for k.at.update < k.sites {
			if k.at.stopped {
				return 0
			}
			n := min(chunk, k.sites-k.at.update)
			words := k.words[:2*n]
			r[s].Uint32s(words)
			v := k.visits.Visit(k.look[s*k.sites:(s+1)*k.sites], state, k.order[k.at.update:k.at.update+n], words)
			told.Moved += v.Moved
			told.Accept += float64(float64(v.Accept) * (1.0 / acceptUnit))
			k.since[s].equal += int64(v.Equal)
			k.since[s].ones += int64(v.Ones)
			k.at.update += n
			k.at.done(n*siteWork + times(v.Moved, len(k.adj)/k.sites))
		}
		told.Energy = k.energy(s)
		if k.odds1 == nil {
			told.Accept = 1
		} else {
			told.Accept /= float64(k.sites)
		}
	}
	k.at.finish(info)
	return 1
}

// acceptUnit is the acceptance probability 1 in the sums of visits: chunks of them fit 64
// bits.
const acceptUnit = 1 << 52

// metropolise makes the kernel one of [Metropolis]: odds are then those of a site in
// state 0 to flip, and of one in state 1 not to.
func (k *denseGibbs) metropolise() {
	k.odds1 = make([]uint64, len(k.diff))
	var accepts [2][]uint64
	for n, d := range k.diff {
		up, _ := accept(-d, 0, 0)
		down, _ := accept(d, 0, 0)
		for l, a := range []float64{up, down} {
			accepts[l] = append(accepts[l], uint64(math.RoundToEven(a*acceptUnit)))
		}
		k.odds[n], k.odds1[n] = fraction(up), -fraction(down)
		if down == 1 {
			k.odds1[n] = 0
		}
	}
	k.visits = simd.NewVisits(k.start, k.adj, k.first, k.odds, k.odds1, accepts)
}

// energy returns the running energy of a chain: integers times parameters, so that
// rounding does not gather.
func (k *denseGibbs) energy(s int) float64 {
	c := &k.since[s]
	sum := float64(k.coupling * float64(c.equal))
	return k.from[s] - (sum + float64((k.field[1]-k.field[0])*float64(c.ones)))
}

// AppendBinary implements [sampler.Transition]. The counts are functions of the
// states.
func (k *denseGibbs) AppendBinary(b []byte) ([]byte, error) {
	b = wire.AppendFloat64s(b, k.from)
	for _, c := range k.since {
		b = wire.AppendUint64s(b, uint64(c.equal), uint64(c.ones))
	}
	return k.at.append(b), nil
}

// UnmarshalBinary implements [sampler.Transition].
func (k *denseGibbs) UnmarshalBinary(b []byte) error {
	clear(k.held)
	b, err := wire.ReadFloat64s(b, k.from)
	if err != nil {
		return err
	}
	for s := range k.since {
		var v [2]uint64
		if b, err = wire.ReadUint64s(b, v[:]); err != nil {
			return err
		}
		k.since[s] = change{int64(v[0]), int64(v[1])}
	}
	return k.at.restore(b, k.sites)
}
