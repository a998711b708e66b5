package mcmc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/cost"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Tempering is replica exchange, also called parallel tempering (Geyer 1991). Every chain has
// several replicas, one for each inverse temperature β of a ladder that descends from 1. A position
// j on the ladder is called a rung. A step first moves every replica once, by Base on the energy
// β·E. It then swaps the states x_j and x_{j+1} of neighbouring rungs with probability
//
//	min(1, exp( (β_j − β_{j+1}) (E(x_j) − E(x_{j+1})) )),
//
// for even j in one step and odd j in the next (Okabe et al. 2001; Syed, Bouchard-Côté,
// Deligiannidis and Doucet 2022). The joint distribution ∏_j exp(−β_j E(x_j)) of the replicas is
// invariant. The schedule is not reversible, and carries states straight through the ladder.
//
// The states and energies of the chain are those of the rung with β = 1. Observers find every rung
// in Info.Rungs, and diagnose.Replicas records them. [Ladders] reports the swaps.
//
// A rung costs a step of Base, an evaluation of the energy and, after a swap, a Reset of the Base
// kernel. If the kernels of Base are [sampler.Exchanger], a rung costs little more than a step of
// Base.
//
// The zero value tunes a ladder of 8 rungs from β = 1 down to β = 0 during warm-up.
type Tempering struct {
	// Base is the method that moves the replicas (the states at the different temperatures); nil
	// means DMALA{}. Warm-up tunes Base separately for every temperature.
	Base sampler.Method

	// Betas is the ladder of inverse temperatures, descending from 1, all ≥ 0. If it is nil, the
	// ladder has Rungs values, at first equally spaced from 1 to 0. The first half of warm-up moves
	// the inner values four times, to make all swaps equally likely.
	Betas []float64

	// Rungs is the number of rungs (inverse temperatures) if Betas is nil; 0 means 8. The best
	// number is about twice the Barrier that the [Ladder] reports (Syed et al. 2022).
	Rungs int
}

const defaultRungs = 8

// Name returns "tempering"; it implements [sampler.Named].
func (Tempering) Name() string { return "tempering" }

// Kernel returns a new kernel that moves the given number of chains. It implements
// [sampler.Method].
func (t Tempering) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	sites, _, err := check.Shape("mcmc: Tempering", m, chains, sampler.BlockSize)
	if err != nil {
		return nil, err
	}
	if t.Base == nil {
		t.Base = DMALA{}
	}
	betas, err := t.ladder()
	if err = cmp.Or(check.Given("mcmc: Tempering", "Base", t.Base), err, check.Entries("mcmc: Tempering", "rungs × chains × sites", len(betas), chains, sites)); err != nil {
		return nil, err
	}
	n := len(betas) * chains
	k := padded.New(tempering{
		ctx: ctx, model: m, base: t.Base, sites: sites, chains: chains, adaptive: t.Betas == nil,
		x: padded.Make[int32](n * sites), e: padded.Make[float64](n), info: padded.Make[sampler.Info](n),
		touched: padded.Make[bool](len(betas)), old: padded.Make[bool](len(betas)), swaps: newSwaps(len(betas), chains), at: sweep.NewCursor(chains),
		swapped: padded.Make[int](chains), moved: padded.Make[int](chains),
	})
	k.views = make([]rungs, chains)
	for s := range k.views {
		k.views[s] = rungs{k, s}
	}
	return k, k.build(ctx, betas)
}

// ladder returns the initial inverse temperatures.
func (t Tempering) ladder() ([]float64, error) {
	if t.Betas != nil {
		if t.Rungs != 0 {
			return nil, fmt.Errorf("mcmc: Tempering: Rungs = %d with Betas, want one of them", t.Rungs)
		}
		return append([]float64(nil), t.Betas...), checkLadder(t.Betas)
	}
	n := cmp.Or(t.Rungs, defaultRungs)
	if n < minRungs || n > maxRungs {
		return nil, fmt.Errorf("mcmc: Tempering: Rungs = %d, want %d … %d (0 for the default)", t.Rungs, minRungs, maxRungs)
	}
	betas := make([]float64, n)
	for j := range betas {
		betas[j] = float64(n-1-j) / float64(n-1)
	}
	return betas, nil
}

// build sets the ladder to betas and builds its kernels.
func (k *tempering) build(ctx context.Context, betas []float64) error {
	kernels := make([]sampler.Kernel, len(betas))
	for j, beta := range betas {
		var err error
		if kernels[j], err = k.kernel(ctx, beta); err != nil {
			return err
		}
	}
	k.betas, k.kernels = betas, kernels
	clear(k.old)
	k.findExchangers()
	return nil
}

// findExchangers finds the kernels that can exchange states with the kernel of β = 1. That kernel
// then computes their energies.
func (k *tempering) findExchangers() {
	k.exchangers, k.packed = make([]sampler.Exchanger, len(k.kernels)), make([]sampler.Exchanger, len(k.kernels))
	for j, base := range k.kernels {
		ex, ok := sampler.As[sampler.Exchanger](base)
		if k.exchangers[j] = ex; ok && k.exchangers[0] != nil && ex.Exchanges(k.exchangers[0], max(k.betas[j], almostZero)) {
			k.packed[j] = ex
		}
	}
}

// changed reports whether a kernel has been replaced since findExchangers ran. The cause can be a
// new ladder, changed parameters of the model, or a method that chooses among several kernels.
func (k *tempering) changed() bool {
	return !slices.EqualFunc(k.kernels, k.exchangers, func(base sampler.Kernel, known sampler.Exchanger) bool {
		ex, _ := sampler.As[sampler.Exchanger](base)
		return ex == known
	})
}

// Cost estimates the time of one step in nanoseconds, or returns NaN if a kernel of Base is not
// Costed. It implements [sampler.Costed].
func (k *tempering) Cost([]sampler.Info) float64 {
	m, sum := k.price.Of(k.model), 0.0
	for j, base := range k.kernels {
		b, ok := sampler.As[sampler.Costed](base)
		if !ok {
			return math.NaN()
		}
		if sum += b.Cost(k.info[j*k.chains : (j+1)*k.chains]); k.packed[j] == nil {
			sum += float64(float64(k.chains) * m.Energy)
		}
	}
	return sum
}

func (k *tempering) Adapt(_ []sampler.Info, step, of int) {
	for j, base := range k.kernels {
		if a, ok := sampler.As[sampler.Adaptive](base); ok {
			a.Adapt(k.info[j*k.chains:(j+1)*k.chains], step, of)
		}
	}
	done := step + 1
	if k.adaptive && (done == of/16 || done == of/8 || done == of/4 || done == of/2) {
		// Each round is twice as long as the previous one and starts its statistics anew, as in
		// Syed et al. 2022.
		k.betas = k.swaps.respace(k.betas)
		for j := range k.old {
			k.old[j] = true // the next step rebuilds the kernel, rung by rung
		}
		k.behind = true
		k.swaps.clear()
	}
	if done == of {
		k.swaps.clear()
	}
}

// AppendBinary saves the ladder, the replicas and their kernels; it implements
// [sampler.Transition]. After a step or a new ladder, some kernels may need a Reset before their
// next step. AppendBinary resets these first. This does not change the results of later steps.
func (k *tempering) AppendBinary(b []byte) ([]byte, error) {
	if k.behind {
		if err := k.resetBases(sampler.Control{}); err != nil {
			return nil, err
		}
		k.behind = false
	}
	if k.phase == resetting {
		k.resetTouched(sampler.Control{})
	}
	k.show()
	return wire.AppendFields(b, func(f *wire.Fields) { k.fields(f, k.betas) })
}

// fields reads or writes the checkpoint. betas is the ladder to write, or receives the one read.
func (k *tempering) fields(f *wire.Fields, betas []float64) {
	f.Float64s(betas)
	flags := []int32{int32(k.odd)}
	if k.started {
		flags[0] |= 2
	}
	f.Int32s(flags)
	_, levels := k.model.Shape()
	f.Tokens(k.x, levels)
	k.swaps.fields(f)
	if f.Reading() {
		k.odd, k.started = int(flags[0]&1), flags[0]&2 != 0
		f.Fail(k.restore(betas))
	}
	for j, base := range k.kernels {
		if f.Sized(base); f.Reading() && wire.Empty(base) {
			// it accepted these states before the checkpoint
			_ = base.Reset(sampler.Control{}, k.states(j))
		}
	}
	if f.Reading() {
		k.findExchangers()
	}
	f.Int("mcmc: Tempering: phase of a step", (*int)(&k.phase), int(starting), int(resetting))
	f.Int("mcmc: Tempering: rung of a step", &k.rung, 0, len(k.e))
	if k.phase != starting {
		sweep.InfoFields(f, k.info)
		sweep.InfoFields(f, k.at.Info)
	}
}

// restore builds the kernels for the ladder read from a checkpoint, ready for a new step.
func (k *tempering) restore(betas []float64) error {
	if err := checkLadder(betas); err != nil {
		return err
	}
	k.kernels, k.stale, k.cold, k.behind = nil, false, nil, false
	k.at.Clear()
	clear(k.touched)
	return k.build(k.ctx, betas)
}

// UnmarshalBinary restores the output of AppendBinary. It builds new kernels for the ladder in the
// checkpoint. It implements [sampler.Transition].
func (k *tempering) UnmarshalBinary(b []byte) error {
	betas := make([]float64, len(k.betas))
	if err := wire.ReadFields(b, func(f *wire.Fields) { k.fields(f, betas) }); err != nil {
		return err
	}
	if k.phase == moving {
		k.rung = min(k.rung, len(k.kernels))
		return nil
	}
	if k.rung = 0; k.phase == resetting { // only reporting the energies is left
		k.at.Begin(nil)
		k.measure()
		k.rung = len(k.touched)
	}
	return nil
}

// Ladders returns the ladder of every block of chains (see [sampler.Config.Block]), or nil if the
// chains do not use [Tempering]. A block of cluster.Houdayer has two, one for each replica.
func Ladders(c *sampler.Chains) []Ladder {
	if c == nil {
		return nil
	}
	var l []Ladder
	for _, kernel := range c.Kernels() {
		kernels := []sampler.Kernel{kernel}
		if p, ok := sampler.As[sweep.Paired](kernel); ok {
			kernels = p.Pair()
		}
		for _, one := range kernels {
			if k, ok := sampler.As[*tempering](one); ok {
				l = append(l, k.swaps.report(k.betas))
			}
		}
	}
	return l
}

// tempering is the kernel of [Tempering].
type tempering struct {
	ctx           context.Context // context in which kernels are built when a checkpoint is restored
	model         energy.Model
	base          sampler.Method
	price         cost.Memo
	sites, chains int
	adaptive      bool

	betas   []float64
	kernels []sampler.Kernel // kernels of the rungs
	// kernels seen by findExchangers, one per rung; nil if the kernel is not an Exchanger
	exchangers []sampler.Exchanger
	// exchangers that hold their states privately, one per rung; nil if the states are in x
	packed  []sampler.Exchanger
	started bool // the replicas have states
	// the states of the chains have not been stored in the caller's x
	stale bool
	cold  []int32 // states of rung 0, in the caller's slice; nil if they are in x

	x       []int32        // states, rungs × chains × sites
	e       []float64      // energies E (not β·E), rungs × chains
	info    []sampler.Info // reports of the kernels, rungs × chains
	views   []rungs        // replicas of each chain, for observers
	touched []bool         // per rung: states in x were swapped, so the kernel needs a Reset
	swapped []int          // scratch: chains whose states a pair of rungs swaps
	moved   []int          // per chain: sites at which the states that rungs 0 and 1 swap differ
	odd     int            // 1 if the next swaps begin at an odd rung
	swaps   *swaps
	pairs   []sweep.Pair // scratch of CoupleRungs

	at       sweep.Cursor
	phase    phase
	rung     int    // position within the phase: a rung, or a replica while measuring
	renewing bool   // a Reset was stopped early
	behind   bool   // kernels of a new ladder need a Reset
	old      []bool // per rung: the kernel belongs to the previous ladder
	fault    error  // error of building a kernel of a new ladder
}

var (
	_ sampler.Adaptive    = (*tempering)(nil)
	_ sampler.Costed      = (*tempering)(nil)
	_ sampler.Lazy[int32] = (*tempering)(nil)
	_ sampler.Starter     = (*tempering)(nil)
	_ sampler.Confined    = (*tempering)(nil)
	_ sweep.Laddered      = (*tempering)(nil)
)

// phase is the next part of a step of [Tempering].
type phase int

const (
	starting  phase = iota // begin a step from the states of the chains
	moving                 // move the replicas, one rung after the other
	measuring              // compute the energies, one replica after the other
	resetting              // reset the kernels of rungs whose states were swapped
)

// states returns the states of rung j, chains × sites.
func (k *tempering) states(j int) []int32 {
	n := k.chains * k.sites
	return k.x[j*n : (j+1)*n]
}

// Start lets the kernel of β = 1 choose the initial state, if it is a Starter. It implements
// [sampler.Starter].
func (k *tempering) Start(x []int32, r *sampler.Stream) error {
	if s, ok := sampler.As[sampler.Starter](k.kernels[0]); ok {
		return s.Start(x, r)
	}
	return nil
}

// Allows reports whether Base allows the state x; it implements [sampler.Confined].
func (k *tempering) Allows(x []int32) bool {
	c, ok := sampler.As[sampler.Confined](k.kernels[0])
	return !ok || c.Allows(x)
}

func (k *tempering) state(j, s int) []int32 { return k.states(j)[s*k.sites : (s+1)*k.sites] }

// Reset sets the replicas of rung 0 (β = 1) to x. On the first call, the other replicas become
// copies of x. On later calls, only those whose states now have probability zero become copies of
// x, and the others keep their states. Reset first computes the energies of the chains and then
// resets the kernels of the rungs. It calls ctl.Stop between chains; the kernels call it too. It
// implements [sampler.Transition].
func (k *tempering) Reset(ctl sampler.Control, x []int32) error {
	if ctl.Stop == nil || !k.renewing {
		k.show()
		k.stale = false
		k.at.Clear()
		k.phase, k.rung, k.behind, k.renewing = starting, 0, false, true
		clear(k.touched)
	}
	if k.rung == 0 {
		err := k.at.Renew(ctl.Stop, 1, sweep.Times(k.sites, len(k.betas)), func(_, lo, hi int) (bool, error) {
			return true, k.resetChains(lo, hi, x)
		})
		if err != nil {
			k.renewing = errors.Is(err, sampler.ErrStopped)
			return err
		}
		k.started = true
	}
	err := k.resetBases(sampler.Control{Stop: ctl.Stop, Workers: ctl.Workers})
	k.renewing = errors.Is(err, sampler.ErrStopped)
	return err
}

func (k *tempering) resetChains(lo, hi int, x []int32) error {
	n := k.sites
	copy(k.states(0)[lo*n:hi*n], x[lo*n:])
	for j := range k.betas {
		e := k.e[j*k.chains:]
		k.model.Energy(e[lo:hi], k.states(j)[lo*n:hi*n])
		for s := lo; s < hi && j > 0; s++ {
			if !k.started || math.IsInf(e[s], 0) || math.IsNaN(e[s]) {
				copy(k.state(j, s), k.state(0, s))
			}
		}
	}
	return sweep.CheckStart(k.e[:k.chains], lo, hi)
}

// resetBases resets the kernels from k.rung on. It first rebuilds those of the previous ladder.
func (k *tempering) resetBases(ctl sampler.Control) error {
	for ; k.rung < len(k.kernels); k.rung++ {
		if k.old[k.rung] {
			if k.fault = k.rebuild(k.rung, ctl.Stop); k.fault != nil {
				if !errors.Is(k.fault, sampler.ErrStopped) {
					k.rung = 0
					return k.fault
				}
				k.fault = nil
				return sampler.ErrStopped
			}
			if ctl.Stop != nil && ctl.Stop() {
				return sampler.ErrStopped
			}
		}
		if err := k.kernels[k.rung].Reset(ctl, k.states(k.rung)); err != nil {
			if !errors.Is(err, sampler.ErrStopped) {
				k.rung = 0
			}
			return err
		}
	}
	k.rung = 0
	if k.changed() {
		k.findExchangers()
	}
	return nil
}

// almostZero is the inverse temperature that the kernel of a rung with β = 0 uses instead.
// Conditionals are then exactly uniform, different couplings stay different for engines that sort
// sites by them, and multiplication by this power of two is exact.
const almostZero = 0x1p-512

// kernel builds the kernel of a rung with inverse temperature beta.
func (k *tempering) kernel(ctx context.Context, beta float64) (sampler.Kernel, error) {
	m, err := energy.Scale(k.model, max(beta, almostZero))
	if err != nil {
		return nil, fmt.Errorf("mcmc: Tempering: %w", err)
	}
	return k.base.Kernel(ctx, m, k.chains)
}

// rebuild replaces the kernel of rung j by one for the new ladder. It returns
// [sampler.ErrStopped] if it was stopped. The new kernel keeps the tuned settings of the old one;
// its caches need a Reset.
func (k *tempering) rebuild(j int, stop func() bool) error {
	ctx := until{context.Background(), stop}
	kernel, err := k.kernel(ctx, k.betas[j])
	if err != nil {
		if ctx.Err() != nil {
			return sampler.ErrStopped
		}
		return err
	}
	b, err := k.kernels[j].AppendBinary(nil)
	if err != nil {
		return err
	}
	if err := kernel.UnmarshalBinary(b); err != nil {
		return err
	}
	k.kernels[j], k.old[j] = kernel, false
	return nil
}

// until is a context that ends once stop returns true, for compiling a language within a step.
type until struct {
	context.Context
	stop func() bool // nil: the context never ends
}

// Err returns context.Canceled once u.stop returns true, and nil before. It implements
// [context.Context].
func (u until) Err() error {
	if u.stop != nil && u.stop() {
		return context.Canceled
	}
	return nil
}

// Step moves the replica at every inverse temperature and then swaps states between neighbouring
// temperatures. It implements [sampler.Transition].
func (k *tempering) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	unread := ctl.Unread
	ctl = sampler.Control{Stop: ctl.Stop, Workers: ctl.Workers} // for the kernels of the rungs
	k.at.Begin(ctl.Stop)
	if k.behind { // states of positive probability have it at any β
		k.show()
		if errors.Is(k.resetBases(ctl), sampler.ErrStopped) {
			return 0
		}
		k.behind = false
	}
	if k.phase == starting {
		if k.changed() {
			k.show()
			k.findExchangers()
		}
		if k.packed[0] == nil {
			copy(k.states(0), x)
		}
		k.phase = moving
	}
	if k.phase == moving {
		for ; k.rung < len(k.kernels); k.rung++ {
			j := k.rung
			ctl.Unread = k.packed[j] != nil
			if k.at.Stopped || k.kernels[j].Step(ctl, k.info[j*k.chains:(j+1)*k.chains], k.states(j), r) == 0 {
				return 0
			}
			k.at.Done(sweep.Times(k.chains, k.sites))
		}
		k.phase, k.rung = measuring, 0
	}
	if k.phase == measuring {
		if k.rung == 0 && k.changed() { // a new kernel was reset from the states in k.x
			k.show()
			k.findExchangers()
		}
		if !k.measure() {
			return 0
		}
		if k.gather() {
			k.exchange(k.at.Info, r)
		}
		k.phase, k.rung = resetting, 0
	}
	if !k.resetTouched(ctl) {
		return 0
	}
	k.swaps.steps++
	k.swaps.travel()
	if k.packed[0] != nil {
		if k.stale = unread; !unread {
			k.showCold(x)
		}
	}
	for s := range k.at.Info {
		if pending := &k.at.Info[s]; pending.Err == nil {
			pending.Energy, pending.Rungs = k.e[s], &k.views[s]
			if k.packed[0] == nil {
				own := x[s*k.sites : (s+1)*k.sites]
				pending.Moved += sweep.Changed(own, k.state(0, s))
				copy(own, k.state(0, s))
			}
		}
	}
	k.at.Finish(info)
	k.phase, k.rung = starting, 0
	return 1
}

// Show writes the states at β = 1 to x, and updates the kernel's own copies of the states at other
// temperatures. It implements [sampler.Lazy].
func (k *tempering) Show(x []int32) {
	k.show()
	if k.stale {
		copy(x, k.states(0))
		k.stale = false
	}
}

// show stores in k.x the states that kernels hold privately.
func (k *tempering) show() {
	if k.cold != nil {
		k.cold = nil
		k.packed[0].Hold(k.states(0))
	}
	for j, ex := range k.packed {
		if ex != nil {
			ex.Show(k.states(j))
		}
	}
}

// CoupleRungs lets c exchange states between this kernel and partner. States are exchanged
// separately on each of the rungs first + k·stride for k = 0, 1, …. CoupleRungs returns the
// energies of the states x and y, or ok = false if the temperatures of the two kernels differ. It
// implements [sweep.Laddered].
func (k *tempering) CoupleRungs(partner sampler.Kernel, x, y []int32, r []sampler.Stream, first, stride int, c sweep.Coupler) (e, f []float64, ok bool) {
	o, ok := sampler.As[*tempering](partner)
	if !ok || !slices.Equal(k.betas, o.betas) || k.behind || o.behind {
		return nil, nil, false
	}
	k.pairs = k.pairs[:0]
	for j := first; j < len(k.kernels); j += stride {
		k.pairs = append(k.pairs, sweep.Pair{A: k.kernels[j], B: o.kernels[j], X: k.states(j), Y: o.states(j), Rung: j})
	}
	if first == 0 {
		k.pairs[0].X, k.pairs[0].Y = x, y
	}
	c.Couple(k.pairs, r)
	for _, p := range k.pairs {
		k.coupled(p.Rung, p.X)
		o.coupled(p.Rung, p.Y)
	}
	if first == 0 {
		k.showCold(x)
		o.showCold(y)
	}
	return k.e[:k.chains], o.e[:k.chains], true
}

// coupled makes rung j consistent after states have been exchanged with another kernel. The states
// are in x unless the kernel holds them.
func (k *tempering) coupled(j int, x []int32) {
	ex := k.packed[j]
	if j == 0 {
		copy(k.states(0), x)
		x = k.states(0)
	}
	if ex != nil {
		ex.Hold(x)
	}
	if j > 0 {
		return // the next step computes the energies
	}
	if ex == nil {
		k.model.Energy(k.e[:k.chains], x)
		return
	}
	ex.Energies(k.e[:k.chains], ex)
}

// SwapRungs swaps states between neighbouring temperatures once more, after CoupleRungs has changed
// them. It returns the error of a Reset after a swap. It implements [sweep.Laddered].
func (k *tempering) SwapRungs(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) error {
	k.at.Begin(nil)
	k.measure()
	k.rung = 0
	k.exchange(info, r)
	k.resetTouched(sampler.Control{Workers: ctl.Workers})
	k.rung = 0
	k.swaps.travel()
	k.showCold(x)
	return k.at.Info[0].Err // of all chains
}

// Rungs returns the number of inverse temperatures; it implements [sweep.Laddered].
func (k *tempering) Rungs() int { return len(k.betas) }

// showCold stores in x the states at β = 1, from those that the kernel holds.
func (k *tempering) showCold(x []int32) {
	if ex := k.packed[0]; ex != nil {
		ex.Show(x)
		k.cold = x
	} else {
		copy(x, k.states(0))
	}
}

// Align sets the inverse temperatures of partner to those of this kernel. It implements
// [sweep.Laddered].
func (k *tempering) Align(partner sampler.Kernel) {
	o, ok := sampler.As[*tempering](partner)
	if !ok || slices.Equal(k.betas, o.betas) {
		return
	}
	o.betas, o.behind = slices.Clone(k.betas), true
	for j := range o.old {
		o.old[j] = true
	}
}

// measure computes the energies of all replicas from number k.rung on. It returns false if it was
// stopped.
func (k *tempering) measure() bool {
	each := max(1, sweep.PollWork/k.sites)
	for k.rung < len(k.e) {
		lo, j := k.rung, k.rung/k.chains
		end := (j + 1) * k.chains
		if ex := k.packed[j]; ex != nil {
			ex.Hold(k.states(j))
			k.packed[0].Hold(k.states(0))
			k.packed[0].Energies(k.e[lo:end], ex)
			k.rung = end
			continue
		}
		if k.at.Stopped {
			return false
		}
		hi := min(k.rung+each, end)
		k.model.Energy(k.e[lo:hi], k.x[lo*k.sites:hi*k.sites])
		k.rung = hi
		k.at.Done(sweep.Times(hi-lo, k.sites))
	}
	return true
}

// gather combines the kernels' reports on all rungs into one report per chain. It returns false
// if a chain cannot continue: a kernel without an acceptance step may have moved to a state of
// probability zero.
func (k *tempering) gather() (ok bool) {
	ok = true
	for s := range k.at.Info {
		pending := &k.at.Info[s]
		*pending = sampler.Info{Accept: k.info[s].Accept, Err: k.fault}
		if k.packed[0] != nil {
			pending.Moved = k.info[s].Moved
		}
		for j := range k.kernels {
			of := &k.info[j*k.chains+s]
			pending.Invalid += of.Invalid
			if err := cmp.Or(of.Err, unadjusted(k.e[j*k.chains+s])); err != nil && pending.Err == nil {
				pending.Err = fmt.Errorf("rung %d, β = %v: %w", j, k.betas[j], err)
			}
		}
		ok = ok && pending.Err == nil
	}
	return ok
}

// exchange proposes and makes the swaps of this step.
func (k *tempering) exchange(info []sampler.Info, r []sampler.Stream) {
	for j := k.odd; j+1 < len(k.betas); j += 2 {
		e, f := k.e[j*k.chains:][:k.chains], k.e[(j+1)*k.chains:][:k.chains]
		n := 0
		for s := range info {
			a, ok := k.swapProb(j, e[s], f[s])
			if !ok {
				info[s].Invalid++
			}
			k.swaps.offer(j, a)
			k.swapped[n] = s
			if r[s].Float64() < a {
				n++
			}
		}
		for _, s := range k.swapped[:n] {
			e[s], f[s] = f[s], e[s]
			k.swaps.exchange(j, s)
		}
		k.swap(j, k.swapped[:n])
	}
	for s := range info {
		info[s].Moved += k.moved[s]
	}
	clear(k.moved)
	k.odd = 1 - k.odd
}

// swap swaps the states of the given chains on rungs j and j+1. If both kernels hold states
// privately, it swaps them there. Otherwise it swaps them in x, and the kernels then need a
// Reset.
func (k *tempering) swap(j int, chains []int) {
	if len(chains) == 0 {
		return
	}
	a, b := k.packed[j], k.packed[j+1]
	if a != nil && b != nil {
		var moved []int
		if j == 0 {
			moved = k.moved
		}
		a.Exchange(b, chains, moved)
		return
	}
	for _, i := range [2]int{j, j + 1} {
		if ex := k.packed[i]; ex != nil {
			ex.Show(k.states(i))
		}
	}
	for _, s := range chains {
		a, b := k.state(j, s), k.state(j+1, s)
		if j == 0 && k.packed[0] != nil {
			k.moved[s] += sweep.Changed(a, b)
		}
		sweep.Exchange(a, b)
	}
	k.touched[j], k.touched[j+1] = true, true
}

// resetTouched resets the kernels of rungs whose states were swapped in x, from k.rung on. It
// returns false if it was stopped.
func (k *tempering) resetTouched(ctl sampler.Control) bool {
	for ; k.rung < len(k.touched); k.rung++ {
		j := k.rung
		if !k.touched[j] {
			continue
		}
		err := k.kernels[j].Reset(ctl, k.states(j))
		if errors.Is(err, sampler.ErrStopped) {
			return false
		}
		k.touched[j] = false
		if ex := k.packed[j]; ex != nil && err == nil {
			ex.Hold(k.states(j)) // so that Show also stores them in the states of the chains
		}
		if err != nil {
			// the failing chain does not matter, because the whole block stops
			for s := range k.at.Info {
				k.at.Info[s].Err = fmt.Errorf("rung %d, β = %v: %w", j, k.betas[j], err)
			}
		}
	}
	return true
}

// rungs gives observers access to the replicas of one chain.
type rungs struct {
	k     *tempering
	chain int
}

// Len returns the number of rungs, the positions on the ladder of temperatures.
func (r *rungs) Len() int { return len(r.k.betas) }

// Rung returns the inverse temperature of rung j, and the energy and the state of the replica
// there.
func (r *rungs) Rung(j int) (beta, energy float64, x []int32) {
	k, s := r.k, r.chain
	x = k.state(j, s)
	switch ex := k.packed[j]; {
	case j == 0 && k.cold != nil:
		x = k.cold[s*k.sites : (s+1)*k.sites]
	case ex != nil:
		ex.Show(k.states(j))
	}
	return k.betas[j], k.e[j*k.chains+s], x
}

// swapProb returns the probability of swapping rungs j and j+1 at energies e and f. It returns ok =
// false if the probability is not defined.
func (k *tempering) swapProb(j int, e, f float64) (float64, bool) {
	l := (k.betas[j] - k.betas[j+1]) * (e - f)
	// no branch on the sign of l, which would be mispredicted
	if l > math.Inf(-1) && l < math.Inf(1) {
		return simd.Exp(min(l, 0)), true
	}
	return sweep.Accept(l, 0, 0)
}
