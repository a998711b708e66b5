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
// It takes the number of chains from the run: a chain is part of the trace once
// [Trace.Observe] has been called for it. Results list chains in the order of their
// numbers. [Record] makes chains, runs them and returns their trace.
//
// A Trace from [NewTrace] keeps every value: 8 bytes × (3 + functions) per kept draw and
// chain, the three being energy, acceptance and moves, under the names "energy", "accept"
// and "moves". One from [NewStreamingTrace] needs the same small memory however long the
// run is, and has fewer figures.
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

// unknown is what is known of a step without an Info.
var unknown = sampler.Info{Energy: math.NaN(), Accept: math.NaN()}

// NewTrace returns a trace of the functions f that keeps every value. The functions are
// called with one state (its sites, not to be kept or modified) and must be safe for
// concurrent use. Their names are f1, f2, … unless [Trace.Name] sets others. No function
// at all is allowed: energies, acceptance and moves are still recorded.
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

// NewStreamingTrace is [NewTrace] in constant memory, 1.6 KB per chain and
// function. The length of the run need not be known: each series is condensed
// into 32 to 64 batches of consecutive draws whose size doubles when they run
// out. Its [Summary] has
//
//   - the mean and the standard deviation of all draws,
//   - MCSE and ESSMean by batch means, with batches of √n draws or more, pooled
//     with the variance of the chain means; by the latter alone if it is larger
//     than chance allows (F test at 1 %), so that chains stuck in different places
//     are noticed; and, where batches are correlated, by their autocorrelations. If so
//     few batches are effective that an interval would cover too little, MCSE has the
//     error [ErrTooFew],
//   - MCSEChains, by the variance of the chain means alone, and RHatNested,
//   - RHat as the plain split statistic without ranks (Gelman et al. 2013); it
//     compares the first and the second half of the complete batches, which leaves
//     out at most 2 batches in 34,
//
// and no quantiles, bulk or tail ESS (their error is [ErrStreaming]).
func NewStreamingTrace(f ...func(x []int32) float64) *Trace {
	t := NewTrace(f...)
	t.streaming = true
	return t
}

// Name names the functions, for tables and files, and returns t. Files accept
// only names as described at [Trace.WriteCSV]. It panics unless there is one
// name for each function.
func (t *Trace) Name(names ...string) *Trace {
	if len(names) != len(t.names) {
		panic(fmt.Sprintf("diagnose: Name: %d names, want %d", len(names), len(t.names)))
	}
	copy(t.names, names)
	return t
}

// KeepStates makes t keep the states too, 4 bytes per site, draw and chain, so
// that they can be exported. It returns t, and panics in streaming mode or
// after the first draw.
func (t *Trace) KeepStates() *Trace {
	if t.streaming {
		panic("diagnose: KeepStates: a streaming trace keeps no states")
	}
	t.early("KeepStates")
	t.keepStates = true
	return t
}

// Reserve allocates memory for further draws per chain, up to 256 MB of them, so that
// Observe does not allocate until they are exhausted; memory for states is allocated once
// the first one has been seen. In streaming mode it does nothing.
func (t *Trace) Reserve(draws int) {
	if t.streaming || draws <= 0 {
		return
	}
	t.reserved = draws
	for _, r := range t.records() {
		r.reserve(draws, t.columns(), t.keepStates)
	}
}

// Observe records the state x of a chain; it has the type [sampler.Observer]. Draws are
// numbered in the order of the calls and not by draw, so that a trace may continue
// through several runs. A nil info, or NaN in it, stands for an unknown energy and
// acceptance.
//
// Calls for one chain must not overlap; calls for different chains may. It allocates only
// to grow the record; see [Trace.Reserve]. It panics if chain is not within 0 … 2²⁸−1, or
// if the number of sites changes while states, the best states or marginals are kept.
func (t *Trace) Observe(chain, draw int, x []int32, info *sampler.Info) {
	r := t.record(chain)
	for i, f := range t.functions {
		r.values[i] = f(x)
	}
	t.keep(r, x, info)
}

// keep adds a draw whose values r holds; x is nil for states of reals.
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

// Chains returns the number of chains that have a draw.
func (t *Trace) Chains() int { return len(t.records()) }

// Len returns the number of draws that every chain has; after a cancelled run
// some chains may have one more.
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

// early panics after the first draw.
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

// record returns the record of a chain, a new one if need be.
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

// RealTrace returns a [Trace] of functions of real states, and the observer that
// feeds it. The functions must be safe for concurrent use. A trace of reals
// keeps no states, best states or marginals. It panics if a function is nil.
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

// KeepBest makes t keep the state of the lowest energy that each chain has been
// observed in. It returns t, and panics after the first draw.
func (t *Trace) KeepBest() *Trace {
	t.early("KeepBest")
	t.keepBest = true
	return t
}

// Best returns a copy of the observed state of the lowest energy so far and that
// energy in nats; among equals, the first such state of the first such chain. It
// is an error if states were not kept ([Trace.KeepBest]) or no draw has had a
// known energy (ErrTooFew).
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
// It is [NewTrace], [sampler.NewChains] and Run in one, and cfg.Observe is called too.
// Errors are theirs; if Run fails, Record also returns the trace of the draws made before.
func Record(ctx context.Context, m energy.Model, method sampler.Method, cfg sampler.Config, draws int, f ...func(x []int32) float64) (*Trace, error) {
	t := NewTrace(f...)
	cfg.Observe = sampler.Observer(t.Observe).And(cfg.Observe)
	ch, err := sampler.NewChains(ctx, m, method, cfg)
	if err != nil {
		return nil, err
	}
	return t, ch.Run(ctx, draws)
}

// Replay calls observe with every draw in a file that [sampler.Config].DrawsFile has
// written, the draws of each chain in order, and returns the number of draws that every
// chain has. A [Trace] filled by Replay equals one filled during the run:
//
//	draws, err := diagnose.Replay("run.draws", mag.Observe)
//
// Chains are numbered as in the run. Draws that a resumed run made again are passed once.
// A draw left unfinished at the end of the file, by a killed process, is skipped; a file
// that is damaged before its end, or in which draws are missing, is an error. Draws that
// a chain missed by a failure, see Reset of [sampler.Runner], count but are not passed. It
// needs memory for a few draws of a block
// and for an index of some 40 bytes per 64 KB of file.
//
// The file may be one that is still being written to. S is int32, or float32 for
// chains on reals.
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
