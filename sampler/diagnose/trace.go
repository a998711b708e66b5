package diagnose

import (
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Trace records scalar functions of the states of a run and says how well the
// chains have mixed.
//
//	mag := diagnose.NewTrace(64, energy.Magnetization)
//	ch, err := sampler.NewChains(m, mcmc.DMALA{}, sampler.Config{Chains: 64, Observe: mag.Observe})
//	err = ch.Run(ctx, 5000)
//	fmt.Println(mag.Summary())
//
// A Trace from [NewTrace] keeps every value: 8 bytes × (3 + functions) per
// kept draw and chain, the three being energy, acceptance and moves. One from
// [NewStreamingTrace] needs the same small memory however long the run is, and
// knows less.
//
// [Trace.Observe] may be called for different chains at the same time; each
// chain has its own record and there are no locks. All other methods must not
// overlap with Observe or with each other, except that the reading ones may
// overlap among themselves.
type Trace struct {
	functions  []func(x []int32) float64
	names      []string
	streaming  bool
	keepStates bool
	records    []record // per chain
}

// record is what a Trace knows of one chain; one goroutine at a time uses it.
type record struct {
	draws    int
	moves    int
	invalid  int
	accepts  int     // draws whose acceptance probability is known
	accept   float64 // the sum of these probabilities
	sites    int     // of the states, once there is one
	rows     []float64
	states   []int32
	condense []series // streaming mode: per function
}

// unknown is what is known of a step without an Info.
var unknown = sampler.Info{Energy: math.NaN(), Accept: math.NaN()}

// Columns of a row of record.rows ahead of the functions.
const (
	columnEnergy = iota
	columnAccept
	columnMoved
	columnFirst // of the functions
)

// NewTrace returns a trace of the functions f over a number of chains that
// keeps every value. The functions are called with one state (its sites, not
// to be kept or modified) and must be safe for concurrent use. They are called
// f1, f2, … unless [Trace.Name] says otherwise. No function at all is allowed:
// acceptance and moves are still recorded.
//
// It panics if chains < 1 or a function is nil.
func NewTrace(chains int, f ...func(x []int32) float64) *Trace {
	if chains < 1 {
		panic(fmt.Sprintf("diagnose: NewTrace: chains = %d, want ≥ 1", chains))
	}
	if err := check.Entries("diagnose: NewTrace", "chains", chains); err != nil {
		panic(err.Error())
	}
	t := &Trace{functions: slices.Clone(f), records: make([]record, chains)}
	for i, f := range f {
		if f == nil {
			panic(fmt.Sprintf("diagnose: NewTrace: function %d is nil", i))
		}
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
//   - MCSE and ESSMean by batch means, with batches of √n draws or more, or by
//     the variance of the chain means if that says more, so that chains that are
//     stuck apart show; m chains of one distribution have a squared MCSE that is
//     too large by a factor of about 1 + 1/√(π(m−1)),
//   - RHat as [RHatBasic], the plain split statistic without ranks; it compares
//     the first and the second half of the complete batches, which leaves out
//     at most 2 batches in 34,
//
// and no quantiles, bulk or tail ESS (their error is [ErrStreaming]).
func NewStreamingTrace(chains int, f ...func(x []int32) float64) *Trace {
	t := NewTrace(chains, f...)
	t.streaming = true
	for c := range t.records {
		r := &t.records[c]
		r.condense = make([]series, len(f))
		for i := range r.condense {
			r.condense[i] = newSeries()
		}
	}
	return t
}

// Name names the functions, for tables and files, and returns t. Files accept
// only names as described at [Trace.WriteCSV]. It panics unless there is one
// name for each function.
func (t *Trace) Name(names ...string) *Trace {
	if len(names) != len(t.functions) {
		panic(fmt.Sprintf("diagnose: Name: %d names, want %d", len(names), len(t.functions)))
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
	if t.longest() > 0 {
		panic("diagnose: KeepStates: called after the first draw")
	}
	t.keepStates = true
	return t
}

// mostReserved bounds the entries that Reserve makes room for ahead, 256 MB a
// chain; the rest grows as it fills.
const mostReserved = 1 << 25

// Reserve makes room for further draws per chain, up to 256 MB of them, so that Observe does not
// allocate until they are exhausted; room for states is made once the first
// one has been seen. In streaming mode it does nothing.
func (t *Trace) Reserve(draws int) {
	if t.streaming || draws <= 0 {
		return
	}
	for c := range t.records {
		r := &t.records[c]
		r.rows = slices.Grow(r.rows, min(draws, mostReserved/t.columns())*t.columns())
		if t.keepStates && r.sites > 0 {
			r.states = slices.Grow(r.states, min(draws, mostReserved/r.sites)*r.sites)
		}
	}
}

// Observe records the state x of a chain; it has the type [sampler.Observer]. Draws
// are numbered in the order of the calls, whatever draw says, so that a trace
// may go on through several runs. A nil info, or NaN in it, stands for an
// unknown energy and acceptance.
//
// Calls for one chain must not overlap; calls for different chains may. It
// allocates only to grow the record; see [Trace.Reserve]. It panics if chain is
// out of range, or if states are kept and the number of sites changes.
func (t *Trace) Observe(chain, draw int, x []int32, info *sampler.Info) {
	if chain < 0 || chain >= len(t.records) {
		panic(fmt.Sprintf("diagnose: chain = %d, want 0 ≤ chain < %d", chain, len(t.records)))
	}
	r := &t.records[chain]
	if t.keepStates && r.draws > 0 && len(x) != r.sites {
		panic(fmt.Sprintf("diagnose: len(x) = %d, want %d", len(x), r.sites))
	}
	if info == nil {
		info = &unknown
	}
	r.moves += info.Moved
	r.invalid += info.Invalid
	if !math.IsNaN(info.Accept) {
		r.accepts++
		r.accept += info.Accept
	}
	if t.streaming {
		for i, f := range t.functions {
			r.condense[i].add(f(x), r.draws)
		}
		r.draws++
		return
	}
	r.rows = append(r.rows, info.Energy, info.Accept, float64(info.Moved))
	for _, f := range t.functions {
		r.rows = append(r.rows, f(x))
	}
	if t.keepStates {
		r.sites = len(x)
		r.states = append(r.states, x...)
	}
	r.draws++
}

// Chains returns the number of chains.
func (t *Trace) Chains() int { return len(t.records) }

// Len returns the number of draws that every chain has; after a cancelled run
// some chains may have one more.
func (t *Trace) Len() int {
	n := t.records[0].draws
	for c := range t.records {
		n = min(n, t.records[c].draws)
	}
	return n
}

// Draws returns a copy of the values of one function, numbered from 0, as
// draws[chain][draw]. Every chain has [Trace.Len] draws. A streaming trace
// gives [ErrStreaming]. It panics if there is no such function.
func (t *Trace) Draws(function int) ([][]float64, error) {
	if function < 0 || function >= len(t.functions) {
		panic(fmt.Sprintf("diagnose: function = %d, want 0 ≤ function < %d", function, len(t.functions)))
	}
	if t.streaming {
		return nil, fmt.Errorf("diagnose: Draws: %w", ErrStreaming)
	}
	return t.column(columnFirst + function), nil
}

// Reset forgets all draws and keeps the memory.
func (t *Trace) Reset() {
	for c := range t.records {
		r := &t.records[c]
		for i := range r.condense {
			r.condense[i] = newSeries()
		}
		*r = record{rows: r.rows[:0], states: r.states[:0], sites: r.sites, condense: r.condense}
	}
}

// columns returns the length of a row.
func (t *Trace) columns() int { return columnFirst + len(t.functions) }

// longest returns the number of draws of the chain that has the most.
func (t *Trace) longest() int {
	n := 0
	for c := range t.records {
		n = max(n, t.records[c].draws)
	}
	return n
}

// column copies one column of the rows, as draws[chain][draw].
func (t *Trace) column(k int) [][]float64 {
	draws := newDraws(len(t.records), t.Len())
	for c, x := range draws {
		rows := t.records[c].rows
		for i := range x {
			x[i] = rows[i*t.columns()+k]
		}
	}
	return draws
}
