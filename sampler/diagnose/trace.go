package diagnose

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/drawfile"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Trace records scalar functions of the states of a run and measures how well the chains
// have mixed.
//
//	mag := diagnose.NewTrace(energy.Magnetization)
//	ch, err := sampler.NewChains(ctx, m, mcmc.DMALA{}, sampler.Config{Chains: 64, Observe: mag.Observe})
//	err = ch.Run(ctx, 5000)
//	fmt.Println(mag.Summary())
//
// A Trace learns the number of chains from the run: a chain is part of the trace once
// [Trace.Observe] has been called for it. Results list chains in the order of their numbers.
// [Record] makes chains, runs them and returns their trace.
//
// A Trace from [NewTrace] keeps every value: 8 bytes × (3 + functions) per kept draw and chain, the
// three being energy, acceptance and moves, under the names "energy", "accept" and "moves". A Trace
// from [NewStreamingTrace] needs little memory, which does not grow with the length of the run, and
// has fewer figures.
//
// Observe may be called for different chains at the same time; each chain has its own
// record, and only its first draw takes a lock. No other method may overlap with Observe or
// with another method, except that methods that only read may overlap with each other.
type Trace struct {
	functions  []func(x []int32) float64
	names      []string
	streaming  bool
	keepStates bool
	keepBest   bool
	levels     int // of the marginals, 0: not kept
	reserved   int // draws that new records have space for
	slots      slots
}

// unknown describes a step without an Info.
var unknown = sampler.Info{Energy: math.NaN(), Accept: math.NaN()}

// NewTrace returns a trace of the functions f that keeps every value. The functions are called with
// one state (its sites), which they must not keep or modify, and must be safe for concurrent use.
// Their names are f1, f2, … unless [Trace.Name] sets others. f may be empty: energies, acceptance
// and moves are still recorded.
//
// It panics if a function is nil.
func NewTrace(f ...func(x []int32) float64) *Trace {
	t := newTrace(len(f))
	t.functions = slices.Clone(f)
	for i, f := range f {
		if f == nil {
			panic(fmt.Sprintf("diagnose: NewTrace: function %d is nil", i))
		}
	}
	return t
}

// newTrace returns a trace of a number of functions.
func newTrace(functions int) *Trace {
	t := &Trace{}
	for i := range functions {
		t.names = append(t.names, fmt.Sprintf("f%d", i+1))
	}
	return t
}

// NewStreamingTrace is [NewTrace] in constant memory, 1.6 KB per chain and function. The length of
// the run need not be known: each series is condensed into 32 to 64 batches of consecutive draws,
// and the batch size doubles when there are more. Its [Summary] has
//
//   - the mean and the standard deviation of all draws,
//   - MCSE and ESSMean by batch means, with batches of √n draws or more, pooled with the variance
//     of the chain means. If that variance is larger than chance allows (F test at 1 %), it is used
//     alone, so that chains stuck in different places are noticed. If batches are correlated, their
//     autocorrelations are included. If the effective number of batches is so small that an
//     interval would cover too little, MCSE has the error [ErrTooFew],
//   - MCSEChains, by the variance of the chain means alone, and RHatNested,
//   - RHat as the plain split statistic without ranks (Gelman et al. 2013); it compares the first
//     and the second half of the complete batches, which omits at most 2 batches in 34,
//
// and no quantiles, bulk or tail ESS (their error is [ErrStreaming]).
func NewStreamingTrace(f ...func(x []int32) float64) *Trace {
	t := NewTrace(f...)
	t.streaming = true
	return t
}

// Name names the functions, for tables and files, and returns t. Files accept only names as
// described at [Trace.WriteCSV]. It panics if the number of names differs from the number of
// functions.
func (t *Trace) Name(names ...string) *Trace {
	if len(names) != len(t.names) {
		panic(fmt.Sprintf("diagnose: Name: %d names, want %d", len(names), len(t.names)))
	}
	copy(t.names, names)
	return t
}

// KeepStates makes t also keep the states, 4 bytes per site, draw and chain, so that they can be
// exported. It returns t, and panics in streaming mode or after the first draw.
func (t *Trace) KeepStates() *Trace {
	if t.streaming {
		panic("diagnose: KeepStates: a streaming trace keeps no states")
	}
	t.early("KeepStates")
	t.keepStates = true
	return t
}

// Reserve allocates memory for further draws per chain, up to 256 MB in all, so that Observe does
// not allocate until that memory is full. Memory for states is allocated when the first state has
// been seen. In streaming mode it does nothing.
func (t *Trace) Reserve(draws int) {
	if t.streaming || draws <= 0 {
		return
	}
	t.reserved = draws
	for _, r := range t.records() {
		r.reserve(draws, t.columns(), t.keepStates)
	}
}

// Observe records the state x of a chain; it has the type [sampler.Observer]. Draws are numbered in
// the order of the calls, not by draw, so that a trace may continue through several runs. A nil
// info, or NaN in info, means that energy and acceptance are unknown.
//
// Calls for the same chain must not overlap; calls for different chains may. It allocates only to
// grow the record; see [Trace.Reserve]. It panics if chain is not within 0 … 2²⁸−1, or if the
// number of sites changes while states, the best states or marginals are kept.
func (t *Trace) Observe(chain, draw int, x []int32, info *sampler.Info) {
	r := t.record(chain)
	for i, f := range t.functions {
		r.values[i] = f(x)
	}
	t.keep(r, x, info)
}

// keep completes a draw whose values r holds; x is nil for states of reals.
func (t *Trace) keep(r *record, x []int32, info *sampler.Info) {
	if info == nil {
		info = &unknown
	}
	if t.keepStates || t.keepBest || t.levels > 0 {
		if r.draws > 0 && len(x) != r.sites {
			panic(fmt.Sprintf("diagnose: len(x) = %d, want %d", len(x), r.sites))
		}
		r.sites = len(x)
	}
	r.moves += info.Moved
	r.invalid += info.Invalid
	if !math.IsNaN(info.Accept) {
		r.accepts++
		r.accept += info.Accept
	}
	if t.keepBest {
		r.improve(x, info.Energy)
	}
	if t.levels > 0 {
		r.count(x, t.levels)
	}
	if t.streaming {
		for i, v := range r.values {
			r.condense[i].add(v, r.draws)
		}
		r.draws++
		return
	}
	r.rows = append(r.rows, info.Energy, info.Accept, float64(info.Moved))
	r.rows = append(r.rows, r.values...)
	if t.keepStates {
		r.states = append(r.states, x...)
	}
	r.draws++
}

// Chains returns the number of chains with at least one draw.
func (t *Trace) Chains() int { return len(t.records()) }

// Len returns the number of draws that every chain has; after a cancelled run some chains may have
// one more.
func (t *Trace) Len() int {
	n := math.MaxInt
	for _, r := range t.records() {
		n = min(n, r.draws)
	}
	if n == math.MaxInt {
		return 0
	}
	return n
}

// Reset forgets all draws and keeps the memory.
func (t *Trace) Reset() {
	for _, r := range t.records() {
		r.reset()
	}
}

// early panics if called after the first draw.
func (t *Trace) early(caller string) {
	if t.longest() > 0 {
		panic("diagnose: " + caller + ": called after the first draw")
	}
}

// columns returns the length of a row.
func (t *Trace) columns() int { return columnFirst + len(t.names) }

// longest returns the number of draws of the chain that has the most.
func (t *Trace) longest() int {
	n := 0
	for _, r := range t.records() {
		n = max(n, r.draws)
	}
	return n
}

// record returns the record of a chain, and creates it if necessary.
func (t *Trace) record(chain int) *record {
	r := t.slots.find(chain)
	if r == nil {
		r = newRecord(chain, len(t.names), t.streaming)
		r.reserve(t.reserved, t.columns(), false)
		t.slots.place(r)
	}
	return r
}

// records returns the records of the chains that have a draw, in the order of
// their numbers.
func (t *Trace) records() []*record { return t.slots.list() }

// RealTrace returns a [Trace] of functions of real states, and the observer that records draws in
// it. The functions must be safe for concurrent use. A trace of reals keeps no states, best states
// or marginals. It panics if a function is nil.
func RealTrace(f ...func(x []float32) float64) (*Trace, sampler.RealObserver) {
	for i := range f {
		if f[i] == nil {
			panic(fmt.Sprintf("diagnose: RealTrace: function %d is nil", i))
		}
	}
	t := newTrace(len(f))
	return t, func(chain, draw int, x []float32, info *sampler.Info) {
		r := t.record(chain)
		for i := range f {
			r.values[i] = f[i](x)
		}
		t.keep(r, nil, info)
	}
}

// KeepBest makes t keep, for each chain, the observed state of lowest energy. It returns t, and
// panics after the first draw.
func (t *Trace) KeepBest() *Trace {
	t.early("KeepBest")
	t.keepBest = true
	return t
}

// Best returns a copy of the observed state of lowest energy so far and that energy in nats; on
// ties, the first such state of the first such chain. It is an error if states were not kept
// ([Trace.KeepBest]) or if no draw had a known energy (ErrTooFew).
func (t *Trace) Best() (x []int32, energy float64, err error) {
	if !t.keepBest {
		return nil, 0, errNotKept("Best", "KeepBest")
	}
	var best *record
	for _, r := range t.records() {
		if r.best != nil && (best == nil || r.bestEnergy < best.bestEnergy) {
			best = r
		}
	}
	if best == nil {
		return nil, 0, ErrTooFew
	}
	return slices.Clone(best.best), best.bestEnergy, nil
}

// Record runs chains of the method on the model for a number of draws after their
// warm-up and returns the trace of the functions f:
//
//	mag, err := diagnose.Record(ctx, m, mcmc.Gibbs{}, sampler.Config{Seed: 1}, 1000, energy.Magnetization)
//
// It combines [NewTrace], [sampler.NewChains] and Run; cfg.Observe is called too. Errors are those
// of NewChains and Run; if Run fails, Record also returns the trace of the draws made before.
func Record(ctx context.Context, m energy.Model, method sampler.Method, cfg sampler.Config, draws int, f ...func(x []int32) float64) (*Trace, error) {
	t := NewTrace(f...)
	cfg.Observe = sampler.Observer(t.Observe).And(cfg.Observe)
	ch, err := sampler.NewChains(ctx, m, method, cfg)
	if err != nil {
		return nil, err
	}
	return t, ch.Run(ctx, draws)
}

// Replay calls observe with every draw in a file written by [sampler.Config].DrawsFile, the draws
// of each chain in order, and returns the number of draws that every chain has. A [Trace] filled by
// Replay equals one filled during the run:
//
//	draws, err := diagnose.Replay("run.draws", mag.Observe)
//
// Chains are numbered as in the run. Draws that a resumed run made again are passed only once. An
// incomplete draw at the end of the file, left by a killed process, is skipped; it is an error if
// the file is damaged before its end or draws are missing. Draws that a chain missed because of a
// failure, see [sampler.Runner.Reset], are counted but not passed. It needs memory for a few draws
// of a block and for an index of some 40 bytes per 64 KB of file.
//
// The file may be one that is still being written. S is int32, or float32 for chains on reals.
func Replay[S energy.Site](path string, observe func(chain, draw int, x []S, info *sampler.Info)) (draws int, err error) {
	if observe == nil {
		return 0, fmt.Errorf("diagnose: Replay: observe = nil")
	}
	draws, err = drawfile.Read(path, func(d *drawfile.Draw[S]) {
		observe(d.Chain, d.Draw, d.X, &sampler.Info{Energy: d.Energy, Accept: d.Accept, Moved: d.Moved, Invalid: d.Invalid})
	})
	if err != nil {
		return 0, fmt.Errorf("diagnose: Replay: %s: %w", path, err)
	}
	return draws, nil
}
