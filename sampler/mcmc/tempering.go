package mcmc

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Tempering is replica exchange (parallel tempering; Geyer 1991): every chain
// carries a replica for each inverse temperature β of a ladder from 1 downwards.
// A step moves every replica once, by Base on the energy β·E, and then offers to
// swap the states of neighbouring rungs j and j+1, with probability
//
//	min(1, exp( (β_j − β_{j+1}) (E(x_j) − E(x_{j+1})) )),
//
// between even j in one step and odd j in the next. That schedule is not
// reversible: it carries states straight through the ladder instead of letting
// them diffuse (Okabe et al. 2001; Syed, Bouchard-Côté, Deligiannidis and Doucet
// 2022). The replicas together keep ∏_j exp(−β_j E(x_j)) invariant. States and
// energies are those of β = 1; observers see every rung in Info.Rungs, which
// diagnose.Replicas records and reweights to all temperatures between.
//
// A step costs, per rung, a step of Base, an energy, and a fresh start of Base's
// caches where states were swapped. [Ladders] reports how the swaps went.
//
// The zero value tunes a ladder of 8 rungs down to β = 0 during warm-up.
type Tempering struct {
	// Base moves the replicas; nil means DMALA{}. What it tunes during warm-up
	// it tunes for every rung on its own.
	Base sampler.Method

	// Betas is the ladder: descending from 1, to 0 at the least. Nil means: start
	// with Rungs evenly spaced ones from 1 to 0 and, four times in the first half
	// of warm-up, move those between so that all swaps become equally likely.
	Betas []float64

	// Rungs is the number of rungs without Betas; 0 means 8. About twice the
	// ladder's Barrier is best (Syed et al. 2022).
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
	if err != nil {
		return nil, err
	}
	n := len(betas) * chains
	k := &tempering{
		model: m, base: t.Base, sites: sites, chains: chains, adaptive: t.Betas == nil,
		x: make([]int32, n*sites), e: make([]float64, n), info: make([]sampler.Info, n),
		touched: make([]bool, len(betas)), swaps: newSwaps(len(betas), chains),
	}
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
	n := t.Rungs
	if n == 0 {
		n = defaultRungs
	}
	if n < minRungs {
		return nil, fmt.Errorf("mcmc: Tempering: Rungs = %d, want ≥ %d (0 for the default)", t.Rungs, minRungs)
	}
	betas := make([]float64, n)
	for j := range betas {
		betas[j] = float64(n-1-j) / float64(n-1)
	}
	return betas, nil
}

type tempering struct {
	model         energy.Model
	base          sampler.Method
	sites, chains int
	adaptive      bool

	betas   []float64
	kernels []sampler.Kernel // one per rung
	started bool             // replicas hold states

	x       []int32        // rungs × chains × sites
	e       []float64      // rungs × chains: E, not β·E
	info    []sampler.Info // rungs × chains
	views   []rungs        // per chain: what observers see
	touched []bool         // rungs whose states were swapped
	odd     int            // 1 if the next swaps are those of odd rungs
	swaps   *swaps
}

// build makes the kernels of a ladder. Those of an earlier ladder hand over what
// they have tuned; their caches need a Reset.
func (k *tempering) build(ctx context.Context, betas []float64) error {
	kernels := make([]sampler.Kernel, len(betas))
	for j, beta := range betas {
		m, err := energy.Scale(k.model, beta)
		if err != nil {
			return fmt.Errorf("mcmc: Tempering: %w", err)
		}
		if kernels[j], err = k.base.Kernel(ctx, m, k.chains); err != nil {
			return err
		}
		if k.kernels != nil {
			b, err := k.kernels[j].AppendBinary(nil)
			if err != nil {
				return err
			}
			if err := kernels[j].UnmarshalBinary(b); err != nil {
				return err
			}
		}
	}
	k.betas, k.kernels = betas, kernels
	return nil
}

// rung returns the states of a rung.
func (k *tempering) rung(j int) []int32 {
	n := k.chains * k.sites
	return k.x[j*n : (j+1)*n]
}

// Start implements [sampler.Starter], for a Base that stays within a language.
func (k *tempering) Start(x []int32, r *sampler.Stream) error {
	if s, ok := k.kernels[0].(sampler.Starter); ok {
		return s.Start(x, r)
	}
	return nil
}

func (k *tempering) state(j, s int) []int32 { return k.rung(j)[s*k.sites : (s+1)*k.sites] }

// Reset sets the coldest replicas to x. The first time the others become copies
// of it; later they keep their states, unless these have lost their probability.
func (k *tempering) Reset(x []int32) error {
	copy(k.rung(0), x)
	k.model.Energy(k.e, k.x)
	for j := 1; j < len(k.betas); j++ {
		for s := range k.chains {
			if e := k.e[j*k.chains+s]; !k.started || math.IsInf(e, 0) || math.IsNaN(e) {
				copy(k.state(j, s), k.state(0, s))
			}
		}
	}
	if err := sampler.CheckStart(k.e[:k.chains]); err != nil {
		return err
	}
	k.started = true
	return k.resetBases()
}

func (k *tempering) resetBases() error {
	for j, base := range k.kernels {
		if err := base.Reset(k.rung(j)); err != nil {
			return err
		}
	}
	return nil
}

func (k *tempering) Step(info []sampler.Info, x []int32, r []sampler.Stream) {
	copy(k.rung(0), x)
	for j, base := range k.kernels {
		base.Step(k.info[j*k.chains:(j+1)*k.chains], k.rung(j), r)
	}
	k.model.Energy(k.e, k.x)
	for s := range info {
		info[s] = sampler.Info{Accept: k.info[s].Accept}
		for j := range k.kernels {
			of := &k.info[j*k.chains+s]
			info[s].Invalid += of.Invalid
			if of.Err != nil && info[s].Err == nil {
				info[s].Err = fmt.Errorf("rung %d, β = %v: %w", j, k.betas[j], of.Err)
			}
		}
	}
	k.exchange(info, r)
	for s := range info {
		if info[s].Err != nil {
			continue
		}
		info[s].Energy, info[s].Rungs = k.e[s], &k.views[s]
		own := x[s*k.sites : (s+1)*k.sites]
		for i, l := range k.state(0, s) {
			if own[i] != l {
				own[i] = l
				info[s].Moved++
			}
		}
	}
}

// rungs shows one chain's replicas.
type rungs struct {
	k     *tempering
	chain int
}

// Len returns the number of rungs.
func (r *rungs) Len() int { return len(r.k.betas) }

// Rung returns what is on rung j.
func (r *rungs) Rung(j int) (beta, energy float64, x []int32) {
	return r.k.betas[j], r.k.e[j*r.k.chains+r.chain], r.k.state(j, r.chain)
}

// exchange offers the swaps of this step and refreshes the caches of the rungs
// concerned.
func (k *tempering) exchange(info []sampler.Info, r []sampler.Stream) {
	for j := k.odd; j+1 < len(k.betas); j += 2 {
		for s := range info {
			if info[s].Err != nil {
				continue
			}
			a, ok := k.swapProb(j, k.e[j*k.chains+s], k.e[(j+1)*k.chains+s])
			if !ok {
				info[s].Invalid++
			}
			k.swaps.offer(j, a)
			if r[s].Float64() >= a {
				continue
			}
			k.swap(j, s)
		}
	}
	k.odd = 1 - k.odd
	for j := range k.touched {
		if !k.touched[j] {
			continue
		}
		k.touched[j] = false
		if err := k.kernels[j].Reset(k.rung(j)); err != nil {
			for s := range info { // whose chain it is does not matter: the block stops
				info[s].Err = fmt.Errorf("rung %d, β = %v: %w", j, k.betas[j], err)
			}
		}
	}
	k.swaps.arrive()
}

// swapProb returns the probability of swapping rungs j and j+1 at energies e
// and f; false if it is not defined.
func (k *tempering) swapProb(j int, e, f float64) (float64, bool) {
	return accept((k.betas[j]-k.betas[j+1])*(e-f), 0, 0)
}

func (k *tempering) swap(j, s int) {
	a, b := k.state(j, s), k.state(j+1, s)
	for i := range a {
		a[i], b[i] = b[i], a[i]
	}
	e, f := &k.e[j*k.chains+s], &k.e[(j+1)*k.chains+s]
	*e, *f = *f, *e
	k.touched[j], k.touched[j+1] = true, true
	k.swaps.exchange(j, s)
}

func (k *tempering) Adapt(_ []sampler.Info, step, of int) {
	for j, base := range k.kernels {
		if a, ok := base.(sampler.Adaptive); ok {
			a.Adapt(k.info[j*k.chains:(j+1)*k.chains], step, of)
		}
	}
	done := step + 1
	if k.adaptive && (done == of/16 || done == of/8 || done == of/4 || done == of/2) {
		// Each round is twice as long as the one before and begins afresh, as
		// Syed et al. 2022 do.
		betas := k.swaps.respace(k.betas)
		if k.build(context.Background(), betas) == nil {
			_ = k.resetBases() // states with probability keep it at any β
		}
		k.swaps.clear()
	}
	if done == of {
		k.swaps.clear()
	}
}

func (k *tempering) AppendBinary(b []byte) ([]byte, error) {
	b = wire.AppendFloat64s(b, k.betas)
	flags := int32(k.odd)
	if k.started {
		flags |= 2
	}
	b = wire.AppendInt32s(b, []int32{flags})
	b = wire.AppendInt32s(b, k.x)
	b = k.swaps.appendBinary(b)
	for _, base := range k.kernels {
		at := len(b)
		b = binary.LittleEndian.AppendUint64(b, 0)
		var err error
		if b, err = base.AppendBinary(b); err != nil {
			return nil, err
		}
		binary.LittleEndian.PutUint64(b[at:], uint64(len(b)-at-8))
	}
	return b, nil
}

func (k *tempering) UnmarshalBinary(b []byte) error {
	betas, flags := make([]float64, len(k.betas)), make([]int32, 1)
	b, err := wire.ReadFloat64s(b, betas)
	if err != nil {
		return err
	}
	if err := checkLadder(betas); err != nil {
		return err
	}
	if b, err = wire.ReadInt32s(b, flags); err != nil {
		return err
	}
	if b, err = wire.ReadInt32s(b, k.x); err != nil {
		return err
	}
	_, levels := k.model.Shape()
	for _, l := range k.x {
		if l < 0 || int(l) >= levels {
			return fmt.Errorf("mcmc: Tempering: level in the checkpoint = %d, want 0 … %d", l, levels-1)
		}
	}
	if b, err = k.swaps.unmarshalBinary(b); err != nil {
		return err
	}
	k.kernels = nil
	if err := k.build(context.Background(), betas); err != nil {
		return err
	}
	for _, base := range k.kernels {
		if len(b) < 8 {
			return wire.ErrShort
		}
		n := binary.LittleEndian.Uint64(b)
		if b = b[8:]; n > uint64(len(b)) {
			return wire.ErrShort
		}
		if err := base.UnmarshalBinary(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	k.odd, k.started = int(flags[0]&1), flags[0]&2 != 0
	return wire.ReadEnd(b)
}

// Ladders returns the ladder of every block of chains, nil unless their method
// is [Tempering].
func Ladders(c *sampler.Chains) []Ladder {
	var l []Ladder
	for _, kernel := range c.Kernels() {
		if k, ok := kernel.(*tempering); ok {
			l = append(l, k.swaps.report(k.betas))
		}
	}
	return l
}
