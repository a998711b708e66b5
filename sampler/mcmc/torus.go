package mcmc

import (
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// torusChains holds the chains of a kernel for energy.Toroidal models: states as bits,
// beside x, which is what they are made from and written to.
type torusChains struct {
	model  energy.Model
	sites  int
	cols   int
	d      [5]float64
	held   []bool     // chains whose states are up to date
	stale  []bool     // chains whose states x does not have yet
	hidden bool       // it need not have them
	start  []float64  // energies at the last Reset
	since  []movement // what was counted then
	now    []movement // and now
	at     cursor

	// Of the kernel: what takes the state of a chain from x and counts it, and what
	// stores it there.
	pack, unpack func(s int, x []int32)
}

const colours = 2 // of a chequerboard

// movement is what the energy depends on: Σ x_i x_j over the bonds and Σ x_i, by
// colour.
type movement struct {
	bonds int
	up    [colours]int
}

// newTorusChains returns false if the model is not toroidal or a side is below 3.
func newTorusChains(m energy.Model, chains int) (k torusChains, ok bool) {
	t, ok := energy.As[energy.Toroidal](m)
	if !ok {
		return k, false
	}
	sites, _ := m.Shape()
	cols, d, ok := t.Torus()
	if !ok || cols < 3 || sites/cols < 3 {
		return k, false
	}
	return torusChains{
		model: m, sites: sites, cols: cols, d: d, held: apart.Make[bool](chains), stale: apart.Make[bool](chains),
		start: make([]float64, chains), since: make([]movement, chains), now: apart.Make[movement](chains),
		at: newCursor(chains),
	}, true
}

// Reset implements [sampler.Transition].
func (k *torusChains) Reset(ctl sampler.Control, x []int32) error {
	if k.at.renews(ctl.Stop) {
		clear(k.held)
		clear(k.stale)
	}
	return k.at.renew(ctl.Stop, 1, k.sites, func(_, lo, hi int) (bool, error) {
		k.model.Energy(k.start[lo:hi], x[lo*k.sites:hi*k.sites])
		for s := lo; s < hi; s++ {
			k.hold(s, x)
			k.since[s] = k.now[s]
		}
		return true, checkStart(k.start, lo, hi)
	})
}

// hold takes the state of chain s from x.
func (k *torusChains) hold(s int, x []int32) {
	k.held[s], k.stale[s] = true, false
	k.pack(s, x[s*k.sites:(s+1)*k.sites])
}

// Show implements [sampler.Lazy].
func (k *torusChains) Show(x []int32) {
	for s, stale := range k.stale {
		if stale {
			k.show(s, x)
		}
	}
}

// shown stores the state of chain s in x, unless that is deferred.
func (k *torusChains) shown(s int, x []int32) {
	if k.stale[s] = true; !k.hidden {
		k.show(s, x)
	}
}

func (k *torusChains) show(s int, x []int32) {
	k.stale[s] = false
	k.unpack(s, x[s*k.sites:(s+1)*k.sites])
}

// energy returns the running energy of a chain: d[k] = d[0] + k(d[1]−d[0]) says
// that a pair of ones counts d[1]−d[0] and a one d[0].
func (k *torusChains) energy(s int) float64 { return k.energyAt(s, &k.now[s]) }

// energyAt is energy of a state of which b was counted.
func (k *torusChains) energyAt(s int, b *movement) float64 {
	a := &k.since[s]
	e := float64((k.d[1] - k.d[0]) * float64(b.bonds-a.bonds))
	return k.start[s] + (e + float64(k.d[0]*float64(b.up[0]+b.up[1]-a.up[0]-a.up[1])))
}

// appendEnergies appends to a checkpoint what energies are counted from.
func (k *torusChains) appendEnergies(b []byte) []byte {
	b = wire.AppendFloat64s(b, k.start)
	for _, m := range k.since {
		b = wire.AppendInts(b, m.bonds, m.up[0], m.up[1])
	}
	return b
}

// restoreEnergies reads what appendEnergies wrote and returns the rest of b.
func (k *torusChains) restoreEnergies(b []byte) ([]byte, error) {
	clear(k.held)
	clear(k.stale)
	b, err := wire.ReadFloat64s(b, k.start)
	if err != nil {
		return nil, err
	}
	for s := range k.since {
		var v [1 + colours]uint64
		if b, err = wire.ReadUint64s(b, v[:]); err != nil {
			return nil, err
		}
		k.since[s] = movement{int(v[0]), [colours]int{int(v[1]), int(v[2])}}
	}
	return b, nil
}
