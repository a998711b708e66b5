package mcmc

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/cost"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Tempering is replica exchange (parallel tempering; Geyer 1991). Every chain has a replica for
// each inverse temperature β of a ladder that descends from 1. A step moves every replica once, by
// Base on the energy β·E, and then swaps the states of neighbouring rungs j and j+1 with
// probability
//
//	min(1, exp( (β_j − β_{j+1}) (E(x_j) − E(x_{j+1})) )),
//
// for even j in one step and odd j in the next. That schedule is not reversible: it carries states
// straight through the ladder instead of letting them diffuse (Okabe et al. 2001; Syed,
// Bouchard-Côté, Deligiannidis and Doucet 2022). The replicas together leave ∏_j exp(−β_j E(x_j))
// invariant. The chain's states and energies are those of β = 1. Observers see every rung in
// Info.Rungs, which diagnose.Replicas records and reweights to intermediate temperatures. [Ladders]
// reports the swaps.
//
// For each rung, a step costs a step of Base, an energy and, after a swap, a Reset of Base. If the
// kernels of Base are [sampler.Exchanger], a rung costs little more than the step of Base.
//
// The zero value tunes a ladder of 8 rungs down to β = 0 during warm-up.
type Tempering struct {
	// Base moves the replicas; nil means DMALA{}. During warm-up it is tuned
	// separately for every rung.
	Base sampler.Method

	// Betas is the ladder, descending from 1, all ≥ 0. With nil, the ladder starts with Rungs
	// equally spaced values from 1 to 0; four times in the first half of warm-up, the inner values
	// are moved to make all swaps equally likely.
	Betas []float64

	// Rungs is the number of rungs if Betas is nil; 0 means 8. About twice the
	// Barrier of the [Ladder] is best (Syed et al. 2022).
	Rungs int
}

const defaultRungs = 8

// Name implements [sampler.Named].
func (Tempering) Name() string { return "tempering" }

// Kernel implements [sampler.Method].
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

// ladder returns the inverse temperatures to start with.
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

// build makes the kernels of a ladder.
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

// findExchangers finds the kernels that can exchange states with the kernel of β = 1, which then
// computes their energies.
func (k *tempering) findExchangers() {
	k.exchangers, k.packed = make([]sampler.Exchanger, len(k.kernels)), make([]sampler.Exchanger, len(k.kernels))
	for j, base := range k.kernels {
		ex, ok := sampler.As[sampler.Exchanger](base)
		if k.exchangers[j] = ex; ok && k.exchangers[0] != nil && ex.Exchanges(k.exchangers[0], max(k.betas[j], almostZero)) {
			k.packed[j] = ex
		}
	}
}

// changed reports whether a kernel has been replaced since findExchangers: by a new ladder,
// by a change of the parameters of the model, or by a method that chooses among several.
func (k *tempering) changed() bool {
	return !slices.EqualFunc(k.kernels, k.exchangers, func(base sampler.Kernel, known sampler.Exchanger) bool {
		ex, _ := sampler.As[sampler.Exchanger](base)
		return ex == known
	})
}

// Cost implements [sampler.Costed]. It is NaN if Base is not Costed.
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
		// Each round is twice as long as the one before and begins afresh, as
		// Syed et al. 2022 do.
		k.betas = k.swaps.respace(k.betas)
		for j := range k.old {
			k.old[j] = true // the next step makes it, rung by rung
		}
		k.behind = true
		k.swaps.clear()
	}
	if done == of {
		k.swaps.clear()
	}
}

// AppendBinary implements [sampler.Transition]. It first performs the resets that a step or a new
// ladder has left pending; they change nothing else.
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

// fields reads or writes the checkpoint, beginning with the ladder.
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
			_ = base.Reset(sampler.Control{}, k.states(j)) // which it accepted before
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

// restore makes the kernels of the ladder of a checkpoint, between two steps.
func (k *tempering) restore(betas []float64) error {
	if err := checkLadder(betas); err != nil {
		return err
	}
	k.kernels, k.stale, k.cold, k.behind = nil, false, nil, false
	k.at.Clear()
	clear(k.touched)
	return k.build(k.ctx, betas)
}

// UnmarshalBinary implements [sampler.Transition].
func (k *tempering) UnmarshalBinary(b []byte) error {
	betas := make([]float64, len(k.betas))
	if err := wire.ReadFields(b, func(f *wire.Fields) { k.fields(f, betas) }); err != nil {
		return err
	}
	if k.phase == moving {
		k.rung = min(k.rung, len(k.kernels))
		return nil
	}
	if k.rung = 0; k.phase == resetting { // only the report of the energies is left
		k.at.Begin(nil)
		k.measure()
		k.rung = len(k.touched)
	}
	return nil
}

// Ladders returns the ladder of every block of chains, or nil if the method of the chains is not
// [Tempering].
func Ladders(c *sampler.Chains) []Ladder {
	if c == nil {
		return nil
	}
	var l []Ladder
	for _, kernel := range c.Kernels() {
		if k, ok := sampler.As[*tempering](kernel); ok {
			l = append(l, k.swaps.report(k.betas))
		}
	}
	return l
}

// tempering is the kernel of [Tempering].
type tempering struct {
	ctx           context.Context // of the kernels that a checkpoint asks for
	model         energy.Model
	base          sampler.Method
	price         cost.Memo
	sites, chains int
	adaptive      bool

	betas      []float64
	kernels    []sampler.Kernel    // one per rung
	exchangers []sampler.Exchanger // the kernels as findExchangers found them, nil where they are none
	packed     []sampler.Exchanger // those of them that hold states; nil: the states are in x
	started    bool                // replicas hold states
	stale      bool                // the states of the chains have not been shown
	cold       []int32             // where the states of rung 0 are; nil: in x

	x       []int32        // rungs × chains × sites
	e       []float64      // rungs × chains: E, not β·E
	info    []sampler.Info // rungs × chains
	views   []rungs        // per chain: what observers see
	touched []bool         // rungs whose states were swapped in x
	swapped []int          // chains that a pair of rungs swaps
	moved   []int          // by chain: sites at which the states differ that rungs 0 and 1 swap
	odd     int            // 1 if odd rungs swap next
	swaps   *swaps

	at       sweep.Cursor
	phase    phase
	rung     int    // the rung that a phase stands at, or the state
	renewing bool   // a Reset was stopped
	behind   bool   // kernels of a new ladder need a Reset
	old      []bool // by rung: the kernel is still that of the previous ladder
	fault    error  // why a kernel of a new ladder could not be made
}
