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

// conditional draws the sites of the states of a block given their momentum. It holds
// two sets of differences: those of the current and those of the last loaded states.
type conditional interface {
	// load evaluates the model at the states y: energies to e, differences to the
	// loaded set.
	load(e []float64, y []int32)

	// weigh makes the weights of one chain at state x from its loaded or current
	// differences and the drift of its momentum.
	weigh(s int, loaded bool, x []int32, drift []float64)

	// draw stores in y a draw by the weights last made, at x, and returns the number of changed
	// sites and the log-probability of y, NaN if y could not be drawn.
	draw(y, x []int32, r *sampler.Stream) (moved int, logq float64)

	// logProb returns the log-probability of y by the weights last made, at x.
	logProb(y, x []int32) float64

	// slope stores G of one chain, the slopes of −E along the sites at state x.
	slope(g []float64, s int, loaded bool, x []int32)

	// displace stores v(y) − v(x).
	displace(d []float64, y, x []int32)

	// accept makes the loaded differences of chains lo … hi−1 their current ones.
	accept(lo, hi int)

	// costs sets the weights of d² from a frame.
	costs(f frame)

	// fields reads or writes the current differences.
	fields(f *wire.Fields)
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
	if err = cmp.Or(err, s.check()); err != nil {
		return nil, err
	}
	n := chains * sites
	k := padded.New(kernel{
		settings: s, model: m, sites: sites, noise: math.Sqrt(1 - float64(s.persistence*s.persistence)),
		u: padded.Make[float64](n), next: padded.Make[float64](n), y: padded.Make[int32](n),
		e: padded.Make[float64](chains), f: padded.Make[float64](chains), logq: padded.Make[float64](chains), moved: padded.Make[int](chains),
		pause: pause{accepts: padded.Make[float64](chains), judged: padded.Make[bool](chains)},
		slide: padded.Make[float64](sites), d: padded.Make[float64](sites), from: padded.Make[float64](sites), to: padded.Make[float64](sites),
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

// setStep sets δ for the next steps.
func (k *kernel) setStep(delta float64) {
	k.step = delta
	k.frame.setStep(delta)
	k.costs(k.frame)
}

// StepSize returns δ.
func (k *kernel) StepSize() float64 { return k.step }

// Warning implements [sampler.Warner].
func (k *kernel) Warning() string { return k.tune.Warning(k.step) }

// Reset implements [sampler.Transition]. The next step draws a new momentum.
func (k *kernel) Reset(_ sampler.Control, x []int32) error {
	k.load(k.e, x)
	k.conditional.accept(0, len(k.e))
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
	if math.IsInf(drop, -1) {
		return 0, true // a state of probability zero, whose differences are meaningless
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

// Adapt implements [sampler.Adaptive].
func (k *kernel) Adapt(info []sampler.Info, step, of int) {
	if k.tune == nil {
		return
	}
	k.setStep(k.tune.AdaptTo(sweep.Proposals(info), step, of))
}

// AppendBinary implements [sampler.Transition].
func (k *kernel) AppendBinary(b []byte) ([]byte, error) {
	began, u := k.began, k.u
	if k.stopped() { // the step begins again
		began, u = k.hadBegun, k.was
	}
	return wire.AppendFields(b, func(f *wire.Fields) { k.fields(f, &began, u) })
}

// UnmarshalBinary implements [sampler.Transition].
func (k *kernel) UnmarshalBinary(b []byte) error {
	k.stage, k.chain, k.part = 0, 0, 0
	err := wire.ReadFields(b, func(f *wire.Fields) { k.fields(f, &k.began, k.u) })
	if err == nil {
		k.setStep(k.step)
	}
	return err
}

// fields reads or writes the checkpoint, including the momentum u if it has begun.
func (k *kernel) fields(f *wire.Fields, began *bool, u []float64) {
	f.Bool("momentum: a momentum has begun", began)
	f.Float64(&k.step)
	f.Fail(checkStep(k.who, k.step))
	if k.tune != nil {
		k.tune.Fields(f)
	}
	f.Float64s(k.e)
	f.Float64s(u)
	k.conditional.fields(f)
}

// checkStep returns an error unless 0 ≤ step < ∞; 0 stands for the default.
func checkStep(who string, step float64) error {
	return check.If(!(step >= 0) || math.IsInf(step, 1), "momentum: %s: StepSize = %v, want positive and finite (0 for the default)", who, step)
}

// settings are the settings common to DHAMS and PDHAMS.
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

// refreshed is the number of sites that draw their momentum between two checks for a stop. It is
// even because normal numbers are drawn in pairs.
const refreshed = 1 << 16

// The stages of a step. Before the last one only the momentum and the stream of a chain
// change.
const (
	refreshing = iota
	drawing
	loading
	judging
	moving
)

// longSites is the minimum number of sites for which a step can be stopped between chains. Results
// do not depend on it; tests set it lower.
var longSites = 1 << 16

// Step implements [sampler.Transition]. If chains have many sites, it checks for a stop after each
// chain.
func (k *kernel) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	stop := ctl.Stop
	switch {
	case k.sites < longSites:
		stop = nil
	case k.stopped():
		copy(r, k.after)
	case stop != nil:
		k.before, k.after = append(k.before[:0], r...), append(k.after[:0], r...)
		k.was, k.hadBegun = append(k.was[:0], k.u...), k.began
	}
	for k.stage < moving {
		if k.advance(k.chain, x, r); k.part > 0 {
			// the chain goes on with the stage
		} else if k.chain++; k.chain == len(info) {
			k.stage, k.chain = k.stage+1, 0
		}
		if stop != nil && stop() {
			copy(k.after, r)
			copy(r, k.before)
			return 0
		}
	}
	for s := range info {
		info[s] = k.move(s, x, r)
	}
	k.stage, k.chain = refreshing, 0
	return 1
}

// advance makes one stage of the step of chain s.
func (k *kernel) advance(s int, x []int32, r []sampler.Stream) {
	from, to := s*k.sites, (s+1)*k.sites
	switch k.stage {
	case refreshing:
		last := min(k.part+refreshed, k.sites)
		k.refresh(k.u[from+k.part:from+last], &r[s])
		if k.part = last; last == k.sites {
			k.part = 0
		}
	case drawing:
		k.began = true
		k.propose(s, x[from:to])
		k.moved[s], k.logq[s] = k.draw(k.y[from:to], x[from:to], &r[s])
		if math.IsNaN(k.logq[s]) {
			copy(k.y[from:to], x[from:to])
		}
	case loading: // all chains together
		if s == 0 {
			k.load(k.f, k.y)
		}
	case judging:
		k.accepts[s], k.judged[s] = k.judge(s, k.y[from:to], x[from:to])
	}
}

// move moves chain s to its proposal, or reverses its momentum.
func (k *kernel) move(s int, x []int32, r []sampler.Stream) sampler.Info {
	from, to := s*k.sites, (s+1)*k.sites
	info := sampler.Info{Accept: k.accepts[s]}
	if !k.judged[s] {
		info.Invalid = 1
	}
	u := k.u[from:to]
	if r[s].Float64() < k.accepts[s] {
		copy(u, k.next[from:to])
		copy(x[from:to], k.y[from:to])
		k.conditional.accept(s, s+1)
		k.e[s], info.Moved = k.f[s], k.moved[s]
	} else {
		for i, v := range u {
			u[i] = -v
		}
	}
	info.Energy = k.e[s]
	return info
}

// pause is the position of a stopped step. It is kept in memory only: a checkpoint contains the
// momentum and the streams from before the step, and the step then begins again.
type pause struct {
	stage, chain  int // the chains before chain have done the stage
	part          int // of a chain, the sites before it have done refreshing
	accepts       []float64
	judged        []bool
	before, after []sampler.Stream
	was           []float64 // momentum
	hadBegun      bool
}

// stopped reports whether a step is in progress.
func (p *pause) stopped() bool { return p.stage > 0 || p.chain > 0 || p.part > 0 }

// Unit costs in nanoseconds; see sampler.Costed.
const (
	normalCost = 42  // a site whose momentum is refreshed and which is drawn
	levelCost  = 55  // a level of a site where there are more than two
	entryCost  = 1.2 // an entry of the factor of a curvature
)

// Cost implements [sampler.Costed].
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
