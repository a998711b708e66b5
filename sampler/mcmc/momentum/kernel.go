package momentum

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/cost"
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// conditional draws the sites of the states of a block given their momentum. It holds two sets of
// energy differences: the current ones, and the loaded ones of the states evaluated last.
type conditional interface {
	// load evaluates the model at the states y of the chains lo … hi−1. It stores energies in e
	// and differences in the loaded set. e and y hold all chains.
	load(lo, hi int, e []float64, y []int32)

	// weigh computes the weights of chain s at state x from its loaded or current differences and
	// the drift of its momentum.
	weigh(s int, loaded bool, x []int32, drift []float64)

	// draw stores in y a draw by the weights computed last, at state x. It returns the number of
	// changed sites and the log-probability of y, NaN if y could not be drawn.
	draw(y, x []int32, r *sampler.Stream) (moved int, logq float64)

	// logProb returns the log-probability of y by the weights computed last, at state x.
	logProb(y, x []int32) float64

	// slope stores in g the slopes of −E along the sites of chain s at state x.
	slope(g []float64, s int, loaded bool, x []int32)

	// displace stores in d the change of coordinates v(y) − v(x).
	displace(d []float64, y, x []int32)

	// accept makes the loaded differences of chains lo … hi−1 the current ones.
	accept(lo, hi int)

	// costs sets the costs of all sites from a frame.
	costs(f frame)

	// fields reads or writes the current differences.
	fields(f *wire.Fields)
}

// kernel is the kernel of DHAMS and PDHAMS.
type kernel struct {
	settings
	model energy.Model
	price cost.Memo // unit costs of the model; computed on first use
	conditional
	frame frame
	sites int
	step  float64
	tune  *tune.Tuner // tunes the step size; nil if it is fixed
	// momenta, chains × sites: after the last step, and at the beginning of this step
	u, now   []float64
	next     []float64 // momentum of one proposal
	e, f     []float64 // energies of the states and of the proposals
	logq     []float64
	moved    []int
	y        []int32
	noise    float64 // √(1−ρ²), the factor of the fresh part of the momentum
	began    bool    // u holds a momentum
	slide, d []float64
	from, to []float64 // slopes at the state and at the proposal
	at       sweep.Cursor
}

var (
	_ sampler.Adaptive = (*kernel)(nil)
	_ sampler.Costed   = (*kernel)(nil)
	_ sampler.Tuned    = (*kernel)(nil)
	_ sampler.Warner   = (*kernel)(nil)
)

func newKernel(m energy.Model, chains int, s settings) (*kernel, error) {
	sites, levels, err := check.Shape("momentum: "+s.who, m, chains, sampler.BlockSize)
	if err = cmp.Or(err, s.check()); err != nil {
		return nil, err
	}
	n := chains * sites
	k := padded.New(kernel{
		settings: s, model: m, sites: sites, noise: math.Sqrt(1 - float64(s.persistence*s.persistence)),
		u: padded.Make[float64](n), now: padded.Make[float64](n), next: padded.Make[float64](sites), y: padded.Make[int32](n),
		e: padded.Make[float64](chains), f: padded.Make[float64](chains), logq: padded.Make[float64](chains), moved: padded.Make[int](chains),
		at:    sweep.NewCursor(chains),
		slide: padded.Make[float64](sites), d: padded.Make[float64](sites), from: padded.Make[float64](sites), to: padded.Make[float64](sites),
	})
	if levels == 2 {
		k.conditional = newFlips(m, chains, s.relaxation)
		return k, nil
	}
	o, ok := energy.As[energy.Ordinal](m)
	if !ok {
		return nil, fmt.Errorf("momentum: %s: model = %T with %d levels, want two levels or an energy.Ordinal one: use mcmc.DMALA for others", s.who, m, levels)
	}
	k.conditional = newRows(m, o.Values(), chains, s.relaxation)
	return k, nil
}

// setStep sets the step size δ from the next step on.
func (k *kernel) setStep(delta float64) {
	k.step = delta
	k.frame.setStep(delta)
	k.costs(k.frame)
}

// StepSize returns the current step size δ; it implements [sampler.Tuned].
func (k *kernel) StepSize() float64 { return k.step }

// Warning returns a sentence if tuning moved the step size to its bound, and "" otherwise. It
// implements [sampler.Warner].
func (k *kernel) Warning() string { return k.tune.Warning(k.step) }

// work returns the number of elementary operations of one stage of a chain.
func (k *kernel) work() int { return sweep.Times(k.sites, sweep.SiteWork) }

// Reset evaluates the states x, and makes the next step draw new momenta. It implements
// [sampler.Transition].
func (k *kernel) Reset(ctl sampler.Control, x []int32) error {
	k.began = false
	return k.at.Renew(ctl.Stop, 1, k.work(), func(_, lo, hi int) (bool, error) {
		k.load(lo, hi, k.e, x)
		k.conditional.accept(lo, hi)
		return true, sweep.CheckStart(k.e, lo, hi)
	})
}

// refreshed is the number of sites whose momentum is drawn between two checks for a stop. It is
// even, because normal numbers are drawn in pairs.
const refreshed = 1 << 16

// refresh stores in v the momentum of a chain at the beginning of a step, given u, the momentum
// after the last step. It returns false if it was stopped.
func (k *kernel) refresh(u, v []float64, r *sampler.Stream) bool {
	keep, noise := k.persistence, k.noise
	if !k.began {
		keep, noise = 0, 1
		clear(u)
	}
	for k.at.Part < len(u) {
		// a chain is stopped only in its middle, because short chains may share a stage
		if k.at.Stopped && k.at.Part > 0 {
			return false
		}
		first := k.at.Part
		k.at.Part = min(first+refreshed, len(u))
		normal.Fill(v[first:k.at.Part], r)
		for i := first; i < k.at.Part; i++ {
			v[i] = float64(keep*u[i]) + float64(noise*v[i])
		}
		k.at.Done(sweep.SiteWork * (k.at.Part - first))
	}
	return true
}

// propose computes the weights of the proposals of chain s from its state x and momentum.
func (k *kernel) propose(s int, x []int32) {
	k.frame.drift(k.slide, k.now[s*k.sites:(s+1)*k.sites])
	k.weigh(s, false, x, k.slide)
}

// judge stores in k.next the momentum of the proposal y of chain s at state x, and returns the
// probability of accepting it. The differences at y must be loaded. It returns ok = false if the
// probability is not defined.
func (k *kernel) judge(s int, y, x []int32) (a float64, ok bool) {
	u, next := k.now[s*k.sites:(s+1)*k.sites], k.next
	for i, v := range u {
		next[i] = -v
	}
	drop := k.e[s] - k.f[s]
	if math.IsInf(drop, -1) {
		return 0, true // y has probability zero, so its differences are meaningless
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
	return sweep.Accept(drop+float64(kinetic/2), k.logq[s], k.logProb(x, y))
}

// Adapt tunes the step size unless that is fixed; it implements [sampler.Adaptive].
func (k *kernel) Adapt(info []sampler.Info, step, of int) {
	if k.tune != nil {
		k.setStep(k.tune.AdaptTo(sweep.Proposals(info), step, of))
	}
}

// AppendBinary appends energies, momenta, energy differences and the state of the tuning to b. It
// implements [sampler.Transition].
func (k *kernel) AppendBinary(b []byte) ([]byte, error) { return wire.AppendFields(b, k.fields) }

// UnmarshalBinary restores the output of AppendBinary; it implements [sampler.Transition].
func (k *kernel) UnmarshalBinary(b []byte) error {
	err := wire.ReadFields(b, k.fields)
	if err == nil {
		k.setStep(k.step)
	}
	return err
}

// fields reads or writes the checkpoint of the kernel.
func (k *kernel) fields(f *wire.Fields) {
	f.Bool("momentum: a momentum has begun", &k.began)
	f.Float64(&k.step)
	f.Fail(checkStep(k.who, k.step))
	if k.tune != nil {
		k.tune.Fields(f)
	}
	f.Float64s(k.e)
	f.Float64s(k.u)
	k.conditional.fields(f)
	k.at.Fields(f, 0)
}

// checkStep returns an error unless 0 ≤ step < ∞; 0 selects the default.
func checkStep(who string, step float64) error {
	return check.If(!(step >= 0) || math.IsInf(step, 1), "momentum: %s: StepSize = %v, want positive and finite (0 for the default)", who, step)
}

// settings are the settings that DHAMS and PDHAMS share.
type settings struct {
	who                                 string
	persistence, correction, relaxation float64
}

func (s settings) check() error {
	return cmp.Or(
		check.If(!(s.persistence >= 0 && s.persistence < 1), "momentum: %s: Persistence = %v, want within [0, 1)", s.who, s.persistence),
		check.If(!check.Finite(s.correction), "momentum: %s: Correction = %v, want a finite number", s.who, s.correction),
		check.If(!(s.relaxation >= 0 && s.relaxation <= 1), "momentum: %s: Relaxation = %v, want within [0, 1]", s.who, s.relaxation),
	)
}

// Stages of a step. Until its last stage, a step changes nothing of a chain except the random
// stream.
const (
	refreshing = iota // stage of a step that draws the momenta
	drawing           // stage of a step that draws the proposals
	loading           // stage of a step that evaluates the proposals
	moving            // stage of a step that accepts or rejects the proposals
	stages            // number of stages of a step
)

// Step makes one step by calling [kernel.Stage] for each stage. It calls ctl.Stop between stages
// and while it refreshes momenta. It implements [sampler.Transition].
func (k *kernel) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	done = sweep.Step(&k.at, ctl, k, info, x, r, stages, k.work())
	k.began = k.began || done > 0
	return done
}

// Stage makes one stage of a step for the chains lo … hi−1. The stages refresh the momenta, draw
// the proposals, evaluate the model at the proposals, and accept or reject them. It implements
// [sweep.Staged].
func (k *kernel) Stage(stage, lo, hi int, x []int32, r []sampler.Stream) bool {
	if stage == loading {
		k.load(lo, hi, k.f, k.y)
		return true
	}
	for s := lo; s < hi; s++ {
		from, to := s*k.sites, (s+1)*k.sites
		switch own, y := x[from:to], k.y[from:to]; stage {
		case refreshing:
			if !k.refresh(k.u[from:to], k.now[from:to], &r[s]) {
				return false
			}
			k.at.Part = 0
		case drawing:
			k.propose(s, own)
			if k.moved[s], k.logq[s] = k.draw(y, own, &r[s]); math.IsNaN(k.logq[s]) {
				copy(y, own)
			}
		case moving:
			k.move(s, y, own, &r[s])
		}
	}
	return true
}

// move moves chain s from x to its proposal y if it is accepted, and otherwise reverses the
// momentum.
func (k *kernel) move(s int, y, x []int32, r *sampler.Stream) {
	u, pending := k.u[s*k.sites:(s+1)*k.sites], &k.at.Info[s]
	a, ok := k.judge(s, y, x)
	*pending = sampler.Info{Accept: a}
	if !ok {
		pending.Invalid = 1
	}
	if r.Float64() < a {
		copy(u, k.next)
		copy(x, y)
		k.conditional.accept(s, s+1)
		k.e[s], pending.Moved = k.f[s], k.moved[s]
	} else {
		for i, v := range k.now[s*k.sites : (s+1)*k.sites] {
			u[i] = -v
		}
	}
	pending.Energy = k.e[s]
}

// Unit costs in nanoseconds; see sampler.Costed.
const (
	normalCost = 42  // to refresh the momentum of a site and draw the site
	levelCost  = 55  // per level of a site, if there are more than two
	entryCost  = 1.2 // per entry of the factor of a curvature
)

// Cost estimates the time of one step in nanoseconds; it implements [sampler.Costed].
func (k *kernel) Cost(info []sampler.Info) float64 {
	m, n := k.price.Of(k.model), float64(k.sites)
	step := m.Table + float64(normalCost*n)
	if l := m.Levels; l > 2 {
		step += float64(levelCost * n * float64(l))
	}
	if f, ok := k.frame.(*factored); ok {
		step += float64(entryCost * 3 * float64(len(f.l)))
	}
	return float64(len(info)) * step
}
