package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// Houdayer gives every chain a second replica y of its state x and exchanges clusters of sites
// between the two (Houdayer 2001). A step first moves each replica once by Base. It then picks a
// random site at which the replicas differ. The cluster C is the connected component of that site
// among all sites at which they differ. The step exchanges the levels x_C and y_C. The new states
// x' and y' have
//
//	E(x') + E(y') = E(x) + E(y),
//
// so the exchange is always accepted, for any couplings, fields and levels. It leaves p(x)·p(y)
// invariant, where p ∝ exp(−E), and is its own reverse.
//
// Houdayer helps in spin glasses on two-dimensional lattices or diluted graphs, where differing
// sites form many clusters. If most sites are in one cluster, it only swaps the two replicas and
// gains nothing.
//
// # With tempering
//
// In spin glasses, combine it with mcmc.Tempering:
//
//	cluster.Houdayer{Base: mcmc.Tempering{Base: mcmc.Gibbs{}}}
//
// Every chain then has two ladders of temperatures, which exchange clusters at every temperature or
// at every second one (see Exchanges). If warm-up tunes the temperatures, both ladders use those of
// the first. If Houdayer is the Base of mcmc.Tempering instead, its second replicas never change
// their temperature.
//
// With two ladders, Exchanges can be more than 1. Choose it by a statistic of your own. For
// example, take ±J glasses of 8 × 8 × 8 spins with 16 temperatures from 0.5 to 2. There, 24
// exchanges a step gave seven times as many round trips per second as tempering alone. But the
// overlap at the lowest temperature had only a third as many effective samples.
//
// # Requirements and cost
//
// The model must be energy.Graphical. An exchange is undone if it leads to a state from which Base
// cannot start, for instance because of Within. The states and energies of the chain are those of
// x; Info.Rungs shows both replicas, at β = 1.
//
// A step costs two steps of Base. An exchange also costs an energy and a Reset of Base for each
// replica. With mcmc.Gibbs on chains stored as bits, it costs about a third of a sweep per replica.
//
// Base must reach every state from which it can start. mcmc.Swap is rejected, because an exchange
// can change the number of sites at a level.
type Houdayer struct {
	// Base is the method that moves the replicas; nil means mcmc.Gibbs{}. Warm-up tunes it
	// separately for each of the two replicas.
	Base sampler.Method

	// Exchanges is the number of exchanges in a step, one after the other, at most 1024; 0 means 1.
	// More than 1 is an error unless Base is mcmc.Tempering, which makes a round of swaps between
	// two exchanges. Each exchange then affects half of the temperatures. Exchanges 1, 3, … of a
	// step affect β = 1 and every second temperature after it. Exchanges 2, 4, … affect the
	// temperatures in between. So two exchanges a step make as many clusters as one.
	Exchanges int
}

const maxExchanges = 1 << 10

// Name returns "houdayer"; it implements [sampler.Named].
func (Houdayer) Name() string { return "houdayer" }

// Kernel returns a new kernel that moves the given number of chains. It implements [sampler.Method].
func (h Houdayer) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	sites, levels, err := check.Shape("cluster: Houdayer", m, chains, sampler.BlockSize)
	if err != nil {
		return nil, err
	}
	if h.Base == nil {
		h.Base = mcmc.Gibbs{}
	}
	if err := check.Given("cluster: Houdayer", "Base", h.Base); err != nil {
		return nil, err
	}
	switch h.Base.(type) {
	case mcmc.Swap, *mcmc.Swap:
		return nil, fmt.Errorf("cluster: Houdayer: Base = %T, which keeps the numbers of levels, and exchanges of clusters change them; want mcmc.PairGibbs, which reaches all of its language", h.Base)
	}
	if h.Exchanges < 0 || h.Exchanges > maxExchanges {
		return nil, fmt.Errorf("cluster: Houdayer: Exchanges = %d, want 0 … %d (0 means 1)", h.Exchanges, maxExchanges)
	}
	graph, ok := energy.As[energy.Graphical](m)
	if !ok {
		return nil, fmt.Errorf("cluster: Houdayer: model = %T, want an energy.Graphical one, whose neighbours are known: use mcmc.Gibbs", m)
	}
	k := padded.New(houdayer{
		model: m, sites: sites, levels: levels, chains: chains, exchanges: max(h.Exchanges, 1),
		y: padded.Make[int32](chains * sites), was: padded.Make[int32](chains * sites),
		second: padded.Make[sampler.Info](chains), swapped: padded.Make[[]int32](chains), in: padded.Make[bool](sites),
	})
	k.start, k.adj = graph.Graph()
	for j := range k.base {
		if k.base[j], err = h.Base.Kernel(ctx, m, chains); err != nil {
			return nil, err
		}
		k.e[j] = make([]float64, chains)
	}
	if _, ok := sampler.As[sweep.Laddered](k.base[0]); !ok && k.exchanges > 1 {
		return nil, fmt.Errorf("cluster: Houdayer: Exchanges = %d, want 1 unless Base is mcmc.Tempering, whose swaps of temperatures keep an exchange from undoing the one before", k.exchanges)
	}
	k.views = make([]replicas, chains)
	for s := range k.views {
		k.views[s] = replicas{k: k, chain: s, x: [2][]int32{make([]int32, sites), k.state(k.y, s)}}
		k.swapped[s] = make([]int32, 0, sites)
	}
	k.different = make([]int32, sites)
	return k, nil
}

// houdayer is the kernel of [Houdayer].
type houdayer struct {
	model                 energy.Model
	sites, levels, chains int
	exchanges             int // number of exchanges per step
	start, adj            []int32
	base                  [2]sampler.Kernel
	e                     [2][]float64 // energies of the replicas x and y after the step
	y                     []int32      // states of the second replicas, chains × sites
	was                   []int32      // states x before the step
	second                []sampler.Info
	views                 []replicas
	swapped               [][]int32 // per chain: the cluster that was exchanged
	different             []int32
	in                    []bool
	started               bool // y has been initialised
	// per replica: its kernel saved nothing in the checkpoint and must be Reset
	renew [2]bool

	clusters sweep.Clusters
	pair     [1]sweep.Pair // the kernels of Base
	workers  int           // number of workers of the current step
	fault    error         // error of resetting a kernel after an exchange or a swap
}

var (
	_ sampler.Adaptive = (*houdayer)(nil)
	_ sampler.Costed   = (*houdayer)(nil)
	_ sampler.Starter  = (*houdayer)(nil)
	_ sampler.Confined = (*houdayer)(nil)
	_ sampler.Warner   = (*houdayer)(nil)
	_ sweep.Coupler    = (*houdayer)(nil)
	_ sweep.Paired     = (*houdayer)(nil)
)

func (k *houdayer) state(x []int32, s int) []int32 { return x[s*k.sites : (s+1)*k.sites] }

// Reset evaluates the states x of the chains; it implements [sampler.Transition]. On the first call
// the second replica y becomes a copy of x. On later calls y is kept, unless it now has probability
// zero or Base cannot start from it.
func (k *houdayer) Reset(ctl sampler.Control, x []int32) error {
	ctl = sampler.Control{Workers: ctl.Workers}
	k.renew = [2]bool{}
	if err := k.base[0].Reset(ctl, x); err != nil {
		return err
	}
	if !k.started {
		copy(k.y, x)
	}
	k.model.Energy(k.e[0], x)
	k.model.Energy(k.e[1], k.y)
	for s, e := range k.e[1] {
		if math.IsInf(e, 0) || math.IsNaN(e) {
			copy(k.state(k.y, s), k.state(x, s))
			k.e[1][s] = k.e[0][s]
		}
	}
	k.started = true
	if k.base[1].Reset(ctl, k.y) == nil {
		return nil
	}
	copy(k.y, x)
	copy(k.e[1], k.e[0])
	return k.base[1].Reset(ctl, k.y)
}

// Start lets the kernel of Base choose the initial state, if that kernel is a Starter. It
// implements [sampler.Starter].
func (k *houdayer) Start(x []int32, r *sampler.Stream) error {
	if s, ok := sampler.As[sampler.Starter](k.base[0]); ok {
		return s.Start(x, r)
	}
	return nil
}

// Allows reports whether Base allows the state x; it implements [sampler.Confined].
func (k *houdayer) Allows(x []int32) bool {
	c, ok := sampler.As[sampler.Confined](k.base[0])
	return !ok || c.Allows(x)
}

// Step moves both replicas by Base and exchanges a cluster; it implements [sampler.Transition].
func (k *houdayer) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	ctl = sampler.Control{Workers: ctl.Workers}
	k.workers = ctl.Workers
	copy(k.was, x)
	for j, states := range [2][]int32{x, k.y} {
		if k.renew[j] {
			k.renew[j] = false
			_ = k.base[j].Reset(ctl, states) // it accepted these states before the checkpoint
		}
	}
	k.base[0].Step(ctl, info, x, r)
	k.base[1].Step(ctl, k.second, k.y, r)
	ok := true
	for s := range info {
		k.e[0][s], k.e[1][s] = info[s].Energy, k.second[s].Energy
		k.swapped[s] = k.swapped[s][:0]
		info[s].Invalid += k.second[s].Invalid
		if info[s].Err == nil {
			info[s].Err = ofReplica(1, k.second[s].Err)
		}
		ok = ok && info[s].Err == nil
	}
	if ok {
		k.fault = nil
		k.exchangeAll(info, x, r)
		if k.fault != nil {
			// the failing chain does not matter, because the whole block stops
			for s := range info {
				info[s].Err = k.fault
			}
		}
	}
	for s := range info {
		own := k.state(x, s)
		info[s].Energy, info[s].Rungs, info[s].Moved = k.e[0][s], &k.views[s], len(k.differing(own, k.state(k.was, s)))
		copy(k.views[s].x[0], own)
	}
	return 1
}

// ofReplica returns err, the error of a kernel of replica j, with the name of the second replica.
func ofReplica(j int, err error) error {
	if j == 0 || err == nil {
		return err
	}
	return fmt.Errorf("second replica: %w", err)
}

// exchangeAll exchanges clusters between the two replicas and updates the energies.
func (k *houdayer) exchangeAll(info []sampler.Info, x []int32, r []sampler.Stream) {
	if l, ok := sampler.As[sweep.Laddered](k.base[0]); ok && k.coupleLadders(l, info, x, r) {
		return
	}
	k.pair[0] = sweep.Pair{A: k.base[0], B: k.base[1], X: x, Y: k.y}
	k.Couple(k.pair[:], r)
	for j, states := range [2][]int32{x, k.y} {
		if ex, ok := sampler.As[sampler.Exchanger](k.base[j]); ok && ex.Exchanges(ex, 1) {
			ex.Hold(states)
			ex.Energies(k.e[j], ex)
			ex.Show(states)
		} else {
			k.model.Energy(k.e[j], states)
		}
	}
}

// coupleLadders exchanges clusters between the temperatures of two ladders, the first of which is l.
// It returns false if their temperatures differ. It ends early on an error.
func (k *houdayer) coupleLadders(l sweep.Laddered, info []sampler.Info, x []int32, r []sampler.Stream) bool {
	other, _ := sampler.As[sweep.Laddered](k.base[1])
	ctl := sampler.Control{Workers: k.workers}
	for n := 0; n < k.exchanges && k.fault == nil; n++ {
		if n > 0 {
			k.fault = cmp.Or(l.SwapRungs(ctl, info, x, r), ofReplica(1, other.SwapRungs(ctl, info, k.y, r)))
			if k.fault != nil {
				break
			}
		}
		from, by := k.rungs(n)
		e, f, ok := l.CoupleRungs(k.base[1], x, k.y, r, from, by, k)
		if !ok {
			return false // by the first call, or by none
		}
		copy(k.e[0], e)
		copy(k.e[1], f)
	}
	return true
}

// rungs returns at which temperatures exchange number n of a step is made: at number from and every
// by-th one after it. Of several exchanges each is made at half of the temperatures, by turns. The
// swaps between exchanges cost little if the kernels hold chains as bits. A state thus passes more
// temperatures for the same number of clusters.
func (k *houdayer) rungs(n int) (from, by int) {
	if k.exchanges == 1 {
		return 0, 1
	}
	return n % 2, 2
}

// Couple exchanges a cluster between the two replicas of every chain, for each of the given pairs
// of kernels. It implements [sweep.Coupler].
func (k *houdayer) Couple(pairs []sweep.Pair, r []sampler.Stream) {
	for _, p := range k.clusters.Exchange(pairs, r) {
		show(p.A, p.X)
		show(p.B, p.Y)
		exchanged := false
		for s := range r {
			k.swapped[s] = k.swapped[s][:0]
			if k.grow(s, k.state(p.X, s), k.state(p.Y, s), &r[s]) {
				k.exchange(s, p.X, p.Y)
				exchanged = true
			}
		}
		if exchanged {
			k.settle(p)
		}
	}
}

// show stores in x the states that a kernel holds privately.
func show(base sampler.Kernel, x []int32) {
	if lazy, ok := sampler.As[sampler.Lazy[int32]](base); ok {
		lazy.Show(x)
	}
}

// differing returns the sites at which x and y differ. The slice is valid until the next call.
// The loop has no branch, because it would often be mispredicted.
func (k *houdayer) differing(x, y []int32) []int32 {
	y, n := y[:len(x)], 0
	for i, l := range x {
		k.different[n] = int32(i)
		if y[i] != l {
			n++
		}
	}
	return k.different[:n]
}

// grow finds a random cluster of chain s. It returns false if x and y are equal.
func (k *houdayer) grow(s int, x, y []int32, r *sampler.Stream) bool {
	d := k.differing(x, y)
	if len(d) == 0 {
		return false
	}
	k.reach(s, d[r.IntN(len(d))], x, y)
	return true
}

// reach stores in k.swapped[s] the cluster of seed, a site at which x and y differ.
func (k *houdayer) reach(s int, seed int32, x, y []int32) {
	c := append(k.swapped[s][:0], seed)
	k.in[seed] = true
	for n := 0; n < len(c); n++ {
		i := c[n]
		for _, j := range k.adj[k.start[i]:k.start[i+1]] {
			if x[j] != y[j] && !k.in[j] {
				k.in[j] = true
				c = append(c, j)
			}
		}
	}
	for _, i := range c {
		k.in[i] = false
	}
	k.swapped[s] = c
}

// exchange swaps the levels of x and y in the cluster of chain s. A second call of exchange
// restores the levels.
func (k *houdayer) exchange(s int, x, y []int32) {
	a, b := k.state(x, s), k.state(y, s)
	for _, i := range k.swapped[s] {
		a[i], b[i] = b[i], a[i]
	}
}

// settle updates the caches of two kernels after an exchange between their states. It undoes
// exchanges that lead to states from which a kernel cannot start.
func (k *houdayer) settle(p sweep.Pair) {
	ctl := sampler.Control{Workers: k.workers}
	for again := true; again; {
		again = false
		for j, base := range [2]sampler.Kernel{p.A, p.B} {
			err := base.Reset(ctl, [2][]int32{p.X, p.Y}[j])
			if err == nil {
				continue
			}
			var start *sampler.StartError
			if errors.As(err, &start) && start.Chain >= 0 && start.Chain < k.chains && len(k.swapped[start.Chain]) > 0 {
				k.exchange(start.Chain, p.X, p.Y)
				k.swapped[start.Chain] = k.swapped[start.Chain][:0]
				again = true
				break
			}
			k.fault = ofReplica(j, err)
		}
	}
}

// Adapt tunes the kernels of both replicas separately; it implements [sampler.Adaptive].
func (k *houdayer) Adapt(info []sampler.Info, step, of int) {
	for j, pending := range [2][]sampler.Info{info, k.second} {
		if a, ok := sampler.As[sampler.Adaptive](k.base[j]); ok {
			a.Adapt(pending, step, of)
		}
	}
	if l, ok := sampler.As[sweep.Laddered](k.base[0]); ok {
		l.Align(k.base[1])
	}
}

// Pair returns the two kernels of Base, one per replica; it implements [sweep.Paired].
func (k *houdayer) Pair() []sampler.Kernel { return k.base[:] }

// Warning returns the first warning of the replicas' kernels; it implements [sampler.Warner].
func (k *houdayer) Warning() string {
	for _, base := range k.base {
		if w, ok := sampler.As[sampler.Warner](base); ok && w.Warning() != "" {
			return w.Warning()
		}
	}
	return ""
}

// AppendBinary appends the second replicas and the state of both kernels to b; it implements
// [sampler.Transition].
func (k *houdayer) AppendBinary(b []byte) ([]byte, error) { return wire.AppendFields(b, k.fields) }

// UnmarshalBinary restores the output of AppendBinary; it implements [sampler.Transition].
func (k *houdayer) UnmarshalBinary(b []byte) error {
	err := wire.ReadFields(b, k.fields)
	for j, base := range k.base {
		k.renew[j] = wire.Empty(base)
	}
	return err
}

// fields reads or writes the second replicas and both kernels.
func (k *houdayer) fields(f *wire.Fields) {
	f.Bool("cluster: Houdayer: there are replicas", &k.started)
	f.Tokens(k.y, k.levels)
	for _, base := range k.base {
		f.Sized(base)
	}
}

// replicas gives observers access to the two replicas of a chain.
type replicas struct {
	k     *houdayer
	chain int
	x     [2][]int32
}

// Len returns 2, the number of replicas of the chain.
func (r *replicas) Len() int { return len(r.k.base) }

// Rung returns the inverse temperature 1, and the energy and the state of replica j (0 or 1).
func (r *replicas) Rung(j int) (beta, energy float64, x []int32) {
	return 1, r.k.e[j][r.chain], r.x[j]
}
