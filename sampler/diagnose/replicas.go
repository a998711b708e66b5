package diagnose

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gibbsite-go/gibbsite/sampler"
)

// Replicas records functions of the states at every temperature of mcmc.Tempering. That method runs
// one replica of every chain at each inverse temperature. The sequence of these temperatures is
// called the ladder, and a position on it is called a rung. Replicas can also reweight expectations
// to any temperature between the rungs:
//
//	all := diagnose.NewReplicas(energy.Magnetization).Name("mag")
//	cfg := sampler.Config{Seed: 1, Observe: all.Observe}
//	ch, err := sampler.NewChains(ctx, m, mcmc.Tempering{Base: mcmc.Gibbs{}}, cfg)
//	err = ch.Run(ctx, 10000)
//	w, err := all.Reweight()
//	mag, err := w.Mean("mag", 0.5, 0.6, 0.7)
//
// [Replicas.Rung] returns the trace of one rung. Replicas takes 8 bytes × (4 + number of functions)
// per draw, chain and rung. Observe may be called for different chains at the same time. No other
// method may overlap with Observe.
type Replicas struct {
	functions []func(x []int32) float64
	names     []string
	setup     sync.Mutex
	rungs     atomic.Pointer[[]*Trace] // one trace per rung; nil before the first draw
}

// betaName is the name of the column of a rung's trace that holds the inverse temperature of each
// draw.
const betaName = "beta"

// NewReplicas returns an empty record for the functions f. Each function is called with the levels
// of one state, must not keep or modify them, and must be safe for concurrent use.
func NewReplicas(f ...func(x []int32) float64) *Replicas {
	t := NewTrace(f...)
	return &Replicas{functions: t.functions, names: t.names}
}

// Name sets the names of the functions and returns r. It panics if the number of names differs from
// the number of functions, if a name is "beta", or after the first draw.
func (r *Replicas) Name(names ...string) *Replicas {
	if len(names) != len(r.names) {
		panic(fmt.Sprintf("diagnose: Replicas.Name: %d names, want %d", len(names), len(r.names)))
	}
	if slices.Contains(names, betaName) {
		panic(fmt.Sprintf("diagnose: Replicas.Name: %q is the name of the inverse temperature", betaName))
	}
	if r.rungs.Load() != nil {
		panic("diagnose: Replicas.Name: called after the first draw")
	}
	copy(r.names, names)
	return r
}

// Observe records the states of all replicas of a chain. Use it as a [sampler.Observer]. It panics
// if info has no rungs or if the number of rungs has changed.
func (r *Replicas) Observe(chain, draw int, x []int32, info *sampler.Info) {
	if info == nil || info.Rungs == nil {
		panic("diagnose: Replicas.Observe: info has no Rungs, want those of a method such as mcmc.Tempering")
	}
	n := info.Rungs.Len()
	traces := r.traces(n)
	for j := range n {
		beta, e, x := info.Rungs.Rung(j)
		rec := traces[j].record(chain)
		for i, f := range r.functions {
			rec.values[i] = f(x)
		}
		rec.values[len(r.functions)] = beta
		of := sampler.Info{Energy: e, Accept: math.NaN()}
		if j == 0 {
			of.Accept, of.Moved, of.Invalid = info.Accept, info.Moved, info.Invalid
		}
		traces[j].keep(rec, x, &of)
	}
}

// traces returns the traces of n rungs and creates them at the first call. It panics if their
// number is not n.
func (r *Replicas) traces(n int) []*Trace {
	p := r.rungs.Load()
	if p == nil {
		r.setup.Lock()
		defer r.setup.Unlock()
		if p = r.rungs.Load(); p == nil {
			list := make([]*Trace, n)
			for j := range list {
				list[j] = newTrace(len(r.names) + 1)
				list[j].Name(append(slices.Clone(r.names), betaName)...)
			}
			p = &list
			r.rungs.Store(p)
		}
	}
	if len(*p) != n {
		panic(fmt.Sprintf("diagnose: Replicas.Observe: %d rungs, want %d as before", n, len(*p)))
	}
	return *p
}

// Len returns the number of rungs (temperatures of the ladder), or 0 before the first draw.
func (r *Replicas) Len() int {
	if p := r.rungs.Load(); p != nil {
		return len(*p)
	}
	return 0
}

// Rung returns the trace of the states at rung j of the ladder of temperatures. Besides the
// functions, this trace holds the inverse temperature of each draw under the name "beta". Each
// block of chains tunes its own ladder, so "beta" may differ between blocks unless
// mcmc.Tempering.Betas is set. Rung panics if there is no rung j.
func (r *Replicas) Rung(j int) *Trace {
	if j < 0 || j >= r.Len() {
		panic(fmt.Sprintf("diagnose: Replicas: rung = %d, want 0 ≤ rung < %d", j, r.Len()))
	}
	return (*r.rungs.Load())[j]
}

// Reset discards all draws.
func (r *Replicas) Reset() { r.rungs.Store(nil) }
