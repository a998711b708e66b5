package momentum

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/cost"
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// conditional draws the sites of the states of a block given their momentum. It holds
// two sets of differences: those of the current and those of the last loaded states.
type conditional interface {
	// load evaluates the model at the states y: energies to e, differences to the
	// loaded set.
	load(e []float64, y []int32)

	// weigh makes the weights of one chain at state x from its loaded or current
	// differences and the drift of its momentum.
	weigh(s int, loaded bool, x []int32, drift []float64)

	// draw stores in y a draw by the weights last made, at x, and returns the
	// number of changed sites and the log-probability of y, NaN if there is none.
	draw(y, x []int32, r *sampler.Stream) (moved int, logq float64)

	// logProb returns the log-probability of y by the weights last made, at x.
	logProb(y, x []int32) float64

	// slope stores G of one chain, the slopes of −E along the sites at state x.
	slope(g []float64, s int, loaded bool, x []int32)

	// displace stores v(y) − v(x).
	displace(d []float64, y, x []int32)

	// accept makes the loaded differences of chain s its current ones, all those of
	// every chain.
	accept(s int)
	all()

	// costs takes the weights of d² from a frame.
	costs(f frame)

	appendBinary(b []byte) []byte
	unmarshalBinary(b []byte) ([]byte, error)
}

// kernel is the kernel of DHAMS and PDHAMS.
type kernel struct {
	settings
	model energy.Model
	price cost.Memo // of the model, once that was asked for
	conditional
	frame    frame
	sites    int
	step     float64
	tune     *tune.Tuner // nil: the step size is fixed
	u, next  []float64   // momenta of states and of proposals: chains × sites
	e, f     []float64   // energies of the states and of the proposals
	logq     []float64
	moved    []int
	y        []int32
	noise    float64 // √(1−ρ²)
	began    bool    // there is a momentum
	slide, d []float64
	from, to []float64 // slopes
	pause
}

var (
	_ sampler.Adaptive = (*kernel)(nil)
	_ sampler.Costed   = (*kernel)(nil)
	_ sampler.Tuned    = (*kernel)(nil)
	_ sampler.Warner   = (*kernel)(nil)
)

func newKernel(m energy.Model, chains int, s settings) (*kernel, error) {
	sites, levels, err := check.Shape("momentum: "+s.who, m, chains, sampler.BlockSize)
	if err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	n := chains * sites
	k := apart.New(kernel{
		settings: s, model: m, sites: sites, noise: math.Sqrt(1 - float64(s.persistence*s.persistence)),
		u: apart.Make[float64](n), next: apart.Make[float64](n), y: apart.Make[int32](n),
		e: apart.Make[float64](chains), f: apart.Make[float64](chains), logq: apart.Make[float64](chains), moved: apart.Make[int](chains),
		pause: pause{accepts: apart.Make[float64](chains), judged: apart.Make[bool](chains)},
		slide: apart.Make[float64](sites), d: apart.Make[float64](sites), from: apart.Make[float64](sites), to: apart.Make[float64](sites),
	})
	if levels == 2 {
		k.conditional = newFlips(m, chains, s.relaxation)
		return k, nil
	}
	o, ok := energy.As[energy.Ordinal](m)
	if !ok {
		return nil, fmt.Errorf("momentum: %s: model = %T with %d levels, want two levels or an energy.Ordinal one", s.who, m, levels)
	}
	k.conditional = newRows(m, o.Values(), chains, s.relaxation)
	return k, nil
}

// setStep sets δ from the next step on.
func (k *kernel) setStep(delta float64) {
	k.step = delta
	k.frame.setStep(delta)
	k.costs(k.frame)
}

// StepSize returns δ.
func (k *kernel) StepSize() float64 { return k.step }

// Warning implements [sampler.Warner].
func (k *kernel) Warning() string { return k.tune.Warning(k.step) }

// Reset implements [sampler.Transition]. The momentum is drawn anew by the next step.
func (k *kernel) Reset(_ sampler.Control, x []int32) error {
	k.load(k.e, x)
	k.all()
	k.began = false
	k.stage, k.chain, k.part = 0, 0, 0
	return sampler.CheckStart(k.e)
}

// refresh turns u into the momentum at the beginning of a step.
func (k *kernel) refresh(u []float64, r *sampler.Stream) {
	keep, noise := k.persistence, k.noise
	if !k.began {
		keep, noise = 0, 1
		clear(u)
	}
	for i := 0; i < len(u); i += 2 {
		a, b := normal.Pair(r)
		u[i] = float64(keep*u[i]) + float64(noise*a)
		if i+1 < len(u) {
			u[i+1] = float64(keep*u[i+1]) + float64(noise*b)
		}
	}
}

// propose makes the weights of the proposals of chain s from its state and momentum.
func (k *kernel) propose(s int, x []int32) {
	k.frame.drift(k.slide, k.u[s*k.sites:(s+1)*k.sites])
	k.weigh(s, false, x, k.slide)
}

// judge stores the momentum of the proposal y of chain s, at x, whose differences are
// loaded, and returns the probability of accepting it; ok is false if that is not defined.
func (k *kernel) judge(s int, y, x []int32) (a float64, ok bool) {
	u, next := k.u[s*k.sites:(s+1)*k.sites], k.next[s*k.sites:(s+1)*k.sites]
	for i, v := range u {
		next[i] = -v
	}
	drop := k.e[s] - k.f[s]
	switch {
	case math.IsInf(drop, -1):
		return 0, true // a state of probability zero, whose differences are meaningless
	case math.IsInf(drop, 1) || math.IsNaN(drop) || math.IsNaN(k.logq[s]):
		return 0, false
	}
	k.displace(k.d, y, x)
	k.frame.push(next, k.d)
	if k.correction != 0 {
		k.slope(k.from, s, false, x)
		k.slope(k.to, s, true, y)
		for i := range next {
			next[i] += float64(k.correction * (k.to[i] - k.from[i]))
		}
	}
	kinetic := 0.0 // |u|² − |u*|²
	for i, v := range u {
		kinetic += float64((v - next[i]) * (v + next[i]))
	}
	k.frame.drift(k.slide, next)
	for i, v := range k.slide {
		k.slide[i] = -v
	}
	k.weigh(s, true, y, k.slide)
	back := k.logProb(x, y)
	if math.IsNaN(back) || math.IsNaN(kinetic) {
		return 0, false
	}
	if l := drop + float64(kinetic/2) + (back - k.logq[s]); l < 0 {
		return simd.Exp(l), true
	}
	return 1, true
}

// Adapt implements [sampler.Adaptive].
func (k *kernel) Adapt(info []sampler.Info, step, of int) {
	if k.tune == nil {
		return
	}
	p := tune.Mean(len(info), func(i int) (float64, int) { return info[i].Accept, info[i].Moved })
	k.setStep(k.tune.AdaptTo(p, step, of))
}

// AppendBinary implements [sampler.Transition].
func (k *kernel) AppendBinary(b []byte) ([]byte, error) {
	began, u := 0, k.u
	if k.stopped() { // the step begins again
		u = k.was
		if k.hadBegun {
			began = 1
		}
	} else if k.began {
		began = 1
	}
	b = wire.AppendInts(b, began)
	b = wire.AppendFloat64s(b, []float64{k.step})
	if k.tune != nil {
		b, _ = wire.AppendFields(b, k.tune.Fields)
	}
	b = wire.AppendFloat64s(wire.AppendFloat64s(b, k.e), u)
	return k.appendBinary(b), nil
}

// UnmarshalBinary implements [sampler.Transition].
func (k *kernel) UnmarshalBinary(b []byte) error {
	var began [1]uint64
	step := make([]float64, 1)
	b, err := wire.ReadUint64s(b, began[:])
	if err != nil {
		return err
	}
	if b, err = wire.ReadFloat64s(b, step); err != nil {
		return err
	}
	if err := checkStep(k.who, step[0]); err != nil {
		return err
	}
	if k.tune != nil {
		f := wire.Reading(b)
		k.tune.Fields(f)
		if b, err = f.Rest(); err != nil {
			return err
		}
	}
	if b, err = wire.ReadFloat64s(b, k.e); err != nil {
		return err
	}
	if b, err = wire.ReadFloat64s(b, k.u); err != nil {
		return err
	}
	if b, err = k.unmarshalBinary(b); err != nil {
		return err
	}
	k.began = began[0] == 1
	k.stage, k.chain, k.part = 0, 0, 0
	k.setStep(step[0])
	return wire.ReadEnd(b)
}
