package diagnose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/drawfile"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/npy"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Trace records functions of the state at every draw of a run and measures how well the chains have
// mixed.
//
//	mag := diagnose.NewTrace(energy.Magnetization)
//	ch, err := sampler.NewChains(ctx, m, mcmc.DMALA{}, sampler.Config{Chains: 64, Observe: mag.Observe})
//	err = ch.Run(ctx, 5000)
//	fmt.Println(mag.Summary())
//
// [Record] makes chains, runs them and returns their trace. A chain is part of the trace once
// [Trace.Observe] has been called for it. Results list chains in the order of their numbers.
//
// A Trace from [NewTrace] keeps every value: 8 bytes × (3 + number of functions) per draw and
// chain. The three additional values are named "energy", "accept" and "moves". A Trace from
// [NewStreamingTrace] needs little memory, but provides fewer statistics.
//
// Observe may be called for different chains at the same time. No other method may overlap with
// Observe. Methods that do not change the trace may overlap with each other.
type Trace struct {
	functions  []func(x []int32) float64
	names      []string
	streaming  bool
	keepStates bool
	keepBest   bool
	// Number of levels whose frequencies are counted at each site; 0 means none are counted.
	levels   int
	reserved int // number of draws for which a new record allocates memory
	slots    slots
}

// unknown describes a step whose energy and acceptance probability are unknown.
var unknown = sampler.Info{Energy: math.NaN(), Accept: math.NaN()}

// NewTrace returns a trace of the functions f that keeps every value. Each function is called with
// the levels of one state, must not keep or modify them, and must be safe for concurrent use. The
// functions are named f1, f2, … unless [Trace.Name] sets other names. Energies, acceptance and
// moves are always recorded, so f may be empty.
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

// newTrace returns an empty trace with names for the given number of functions.
func newTrace(functions int) *Trace {
	t := &Trace{}
	for i := range functions {
		t.names = append(t.names, fmt.Sprintf("f%d", i+1))
	}
	return t
}

// NewStreamingTrace returns a trace that needs constant memory, 1.6 KB per chain and function. The
// functions f must satisfy the rules of [NewTrace]. The values of a function on a chain are
// condensed into 32 to 64 batches of consecutive draws. The [Summary] of the trace has
//
//   - the mean and the standard deviation of all draws,
//   - MCSE and ESSMean by batch means, see below,
//   - MCSEChains from the variance of the chain means alone,
//   - RHatNested,
//   - RHat as the plain split statistic without ranks (Gelman et al. 2013). It compares the first
//     half of the complete batches with the second half.
//
// Quantiles and the bulk and tail effective sample sizes are not available. In the summary, their
// error is [ErrStreaming].
//
// For n draws, MCSE uses batches of √n draws or more, and takes correlations between batches into
// account. It combines the variances of batch means and chain means. If the chain means vary more
// than chance allows, it uses only the chain means. If too few batches are effectively independent,
// the error is [ErrTooFew].
func NewStreamingTrace(f ...func(x []int32) float64) *Trace {
	t := NewTrace(f...)
	t.streaming = true
	return t
}

// Name sets the names of the functions, which appear in tables and files, and returns t. It panics
// if the number of names differs from the number of functions. [Trace.WriteCSV] lists the rules for
// names in files.
func (t *Trace) Name(names ...string) *Trace {
	if len(names) != len(t.names) {
		panic(fmt.Sprintf("diagnose: Name: %d names, want %d", len(names), len(t.names)))
	}
	copy(t.names, names)
	return t
}

// KeepStates makes t also keep the states, so that they can be exported. The states take 4 bytes
// per site, draw and chain. KeepStates returns t. It panics in streaming mode or if called after
// the first draw.
func (t *Trace) KeepStates() *Trace {
	if t.streaming {
		panic("diagnose: KeepStates: a streaming trace keeps no states")
	}
	t.early("KeepStates")
	t.keepStates = true
	return t
}

// Reserve allocates memory for the given number of further draws per chain, up to 256 MB per chain.
// Observe then does not allocate until that memory is full. Memory for states is allocated once the
// number of sites is known. In streaming mode Reserve does nothing.
func (t *Trace) Reserve(draws int) {
	if t.streaming || draws <= 0 {
		return
	}
	t.reserved = draws
	for _, r := range t.records() {
		r.reserve(draws, t.columns(), t.keepStates)
	}
}

// Observe records the state x of a chain. Use it as a [sampler.Observer]. It numbers draws in the
// order of the calls and ignores the argument draw, so a trace can continue through several runs.
// If info is nil or holds NaN, energy and acceptance are unknown.
//
// Calls for the same chain must not overlap; calls for different chains may. Observe allocates only
// to grow the record; see [Trace.Reserve]. It panics if the chain number is not within 0 … 2²⁸−1.
// If the trace keeps states, best states or marginals, Observe also panics when the number of sites
// changes.
func (t *Trace) Observe(chain, draw int, x []int32, info *sampler.Info) {
	r := t.record(chain)
	for i, f := range t.functions {
		r.values[i] = f(x)
	}
	t.keep(r, x, info)
}

// keep completes a draw for which r.values already holds the values of the functions. x is nil for
// states of reals.
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

// Len returns the number of draws that every chain has. After a cancelled run some chains may have
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

// Reset discards all draws and keeps the allocated memory.
func (t *Trace) Reset() {
	for _, r := range t.records() {
		r.reset()
	}
}

// early panics if the trace already has a draw. caller is the method named in the message.
func (t *Trace) early(caller string) {
	if t.longest() > 0 {
		panic("diagnose: " + caller + ": called after the first draw")
	}
}

// columns returns the number of values in a row of record.rows.
func (t *Trace) columns() int { return columnFirst + len(t.names) }

// longest returns the number of draws of the chain that has the most.
func (t *Trace) longest() int {
	n := 0
	for _, r := range t.records() {
		n = max(n, r.draws)
	}
	return n
}

// record returns the record of a chain. It creates the record if there is none.
func (t *Trace) record(chain int) *record {
	r := t.slots.find(chain)
	if r == nil {
		r = newRecord(chain, len(t.names), t.streaming)
		r.reserve(t.reserved, t.columns(), false)
		t.slots.place(r)
	}
	return r
}

// records returns the records of the chains that have at least one draw, ordered by chain number.
func (t *Trace) records() []*record { return t.slots.list() }

// RealTrace returns a [Trace] of functions of real-valued states, and an observer that records
// draws in the trace. The functions must be safe for concurrent use. The trace cannot keep states,
// best states or marginals. RealTrace panics if a function is nil.
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

// KeepBest makes t keep, for each chain, the observed state of least energy; see [Trace.Best]. It
// returns t, and panics if called after the first draw.
func (t *Trace) KeepBest() *Trace {
	t.early("KeepBest")
	t.keepBest = true
	return t
}

// Best returns a copy of the observed state of least energy so far, and its energy in nats. If
// several chains have such a state, Best takes the chain with the lowest number. If this chain has
// several, Best takes the earliest. It is an error if states were not kept ([Trace.KeepBest]) or if
// no draw had a known energy (ErrTooFew).
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

// Record makes chains of the method on the model, warms them up and runs them for a number of
// draws. It returns the trace of the functions f:
//
//	mag, err := diagnose.Record(ctx, m, mcmc.Gibbs{}, sampler.Config{Seed: 1}, 1000, energy.Magnetization)
//
// It combines [NewTrace], [sampler.NewChains] and Run. If cfg.Observe is set, it is also called for
// every draw. The errors are those of NewChains and Run. If Run fails, Record also returns the
// trace of the draws made before.
func Record(ctx context.Context, m energy.Model, method sampler.Method, cfg sampler.Config, draws int, f ...func(x []int32) float64) (*Trace, error) {
	t := NewTrace(f...)
	cfg.Observe = sampler.Observer(t.Observe).And(cfg.Observe)
	ch, err := sampler.NewChains(ctx, m, method, cfg)
	if err != nil {
		return nil, err
	}
	return t, ch.Run(ctx, draws)
}

// Replay calls observe with every draw in a file that a run wrote (see DrawsFile of
// [sampler.Config]). It returns the number of draws per chain. A [Trace] filled by Replay equals
// one filled during the run:
//
//	draws, err := diagnose.Replay("run.draws", mag.Observe)
//
// The draws of each chain come in order. If a resumed run repeated a draw, Replay calls observe
// only once for it. If a chain missed a draw because of a failure (see [sampler.Runner.Reset]),
// Replay counts the draw but does not call observe. An incomplete draw at the end is skipped. It is
// an error if the file is damaged, or if draws are missing.
//
// The file may still be growing. Replay needs memory for a few draws of one block of chains, and 40
// bytes per 64 KB of file. S is int32, or float32 for chains on reals.
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

// traceMagic is the first line of a saved Trace, which is a frame of package wire. It contains the
// version of the layout: mode, levels, names and chains, then for each chain its number, counters
// and draws. Everything is in little-endian words of 64 bits except names (bytes) and states (32
// bits).
const traceMagic = "gibbsite trace 3\n"

// Bits of the mode in a saved trace.
const (
	modeStreaming = 1 << iota
	modeStates
	modeBest
)

// AppendBinary appends all draws so far to b in binary form. A run that resumes with the restored
// trace ends with the same summary as an uninterrupted run. The functions themselves are not saved.
func (t *Trace) AppendBinary(b []byte) ([]byte, error) {
	return wire.Append(b, traceMagic, t.body(nil)), nil
}

func (t *Trace) body(b []byte) []byte {
	records := t.records()
	b = wire.AppendInts(b, t.mode(), t.levels, len(t.names))
	for _, name := range t.names {
		b = append(wire.AppendInts(b, len(name)), name...)
	}
	b = wire.AppendInts(b, len(records))
	for _, r := range records {
		b = wire.AppendInts(b, r.chain, r.draws, r.moves, r.invalid, r.accepts, r.sites)
		b = wire.AppendFloat64s(b, []float64{r.accept})
		b = wire.AppendFloat64s(b, r.rows)
		b = wire.AppendInt32s(b, r.states)
		for i := range r.condense {
			b = r.condense[i].appendBinary(b)
		}
		if t.keepBest {
			b = wire.AppendInts(b, len(r.best))
			b = wire.AppendInt32s(wire.AppendFloat64s(b, []float64{r.bestEnergy}), r.best)
		}
		for _, n := range r.counts {
			b = wire.AppendInts(b, int(n))
		}
	}
	return b
}

// UnmarshalBinary replaces the draws by draws that AppendBinary saved. The receiver must come from
// the same constructor with the same options and names; the functions should be the same too. Data
// that do not fit give an error and leave the trace unchanged. The memory used is proportional to
// the length of the data, whatever sizes the data claim.
func (t *Trace) UnmarshalBinary(b []byte) error {
	records, err := t.decode(b)
	if err != nil {
		return fmt.Errorf("diagnose: Trace: %w", err)
	}
	t.slots.clear()
	for _, r := range records {
		t.slots.place(r)
	}
	return nil
}

func (t *Trace) mode() (mode int) {
	if t.streaming {
		mode |= modeStreaming
	}
	if t.keepStates {
		mode |= modeStates
	}
	if t.keepBest {
		mode |= modeBest
	}
	return mode
}

func (t *Trace) decode(b []byte) ([]*record, error) {
	body, err := wire.Body(b, traceMagic)
	if err != nil {
		return nil, fmt.Errorf("not a saved trace of this version: %w", err)
	}
	d := decoder{rest: body}
	if mode := d.int(); mode != t.mode() {
		return nil, fmt.Errorf("saved in mode %d, want %d (1: streaming, 2: states, 4: best)", mode, t.mode())
	}
	if levels := d.int(); levels != t.levels {
		return nil, fmt.Errorf("saved with marginals of %d levels, want %d", levels, t.levels)
	}
	var names []string
	for range d.count(1) {
		names = append(names, string(d.bytes(d.count(1))))
	}
	if !slices.Equal(names, t.names) {
		return nil, fmt.Errorf("saved with the names %q, want %q", names, t.names)
	}
	records := make([]*record, d.count(1))
	last := -1
	for c := range records {
		chain := d.int()
		if d.short {
			break
		}
		if chain <= last || chain >= mostChains {
			return nil, fmt.Errorf("impossible chain %d after chain %d", chain, last)
		}
		last = chain
		records[c] = newRecord(chain, len(t.names), t.streaming)
		if err := t.decodeRecord(records[c], &d); err != nil {
			return nil, fmt.Errorf("chain %d%w", chain, err)
		}
	}
	if d.short {
		return nil, errors.New("the data end too early")
	}
	if len(d.rest) > 0 {
		return nil, fmt.Errorf("%d bytes too many", len(d.rest))
	}
	return records, nil
}

// decodeRecord reads the data of one chain from d into r. If the data end too early, it sets
// d.short.
func (t *Trace) decodeRecord(r *record, d *decoder) error {
	r.draws, r.moves, r.invalid, r.accepts, r.sites = d.int(), d.int(), d.int(), d.int(), d.int()
	r.accept = d.float()
	if min(r.draws, r.accepts, r.sites) < 0 || r.accepts > r.draws || r.draws == 0 && !d.short {
		return errors.New(": impossible counts")
	}
	if t.streaming {
		for i := range r.condense {
			if err := r.condense[i].decode(d, r.draws); err != nil {
				return fmt.Errorf(", function %d: %w", i, err)
			}
		}
	} else {
		r.rows = d.floats(r.draws, t.columns())
		if t.keepStates {
			r.states = d.levels(r.draws, r.sites)
		}
	}
	if t.keepBest {
		n := d.count(1)
		r.bestEnergy = d.float()
		if n > 0 {
			r.best = d.levels(1, n)
		}
		if !d.short && n != 0 && n != r.sites {
			return fmt.Errorf(": the best state has %d sites, want %d", n, r.sites)
		}
	}
	if t.levels > 0 {
		if r.sites > len(d.rest)/8/t.levels {
			d.short, d.rest = true, nil
			return nil
		}
		r.counts = make([]int64, r.sites*t.levels)
		for i := range r.counts {
			if r.counts[i] = int64(d.int()); r.counts[i] < 0 || r.counts[i] > int64(r.draws) {
				return errors.New(": impossible frequencies")
			}
		}
	}
	return nil
}

func (s *series) appendBinary(b []byte) []byte {
	b = wire.AppendInts(b, s.size, s.full, s.bad)
	b = wire.AppendFloat64s(b, []float64{s.value, s.low, s.high, s.part.n, s.part.mean, s.part.squares})
	for _, m := range s.batch[:s.full] {
		b = wire.AppendFloat64s(b, []float64{m.mean, m.squares})
	}
	return b
}

// decode reads a series from d. It returns an error if the series has more than limit draws.
func (s *series) decode(d *decoder, limit int) error {
	s.size, s.full, s.bad = d.int(), d.int(), d.int()
	s.value, s.low, s.high = d.float(), d.float(), d.float()
	s.part = moments{d.float(), d.float(), d.float()}
	n := s.part.n
	if d.short {
		return nil // truncated data are reported once, by the caller
	}
	if s.size < 1 || s.size > max(1, limit) || s.size&(s.size-1) != 0 || s.full < 0 || s.full >= batchLimit ||
		s.full > limit/s.size || !(n >= 0 && n < float64(s.size)) || n != math.Trunc(n) ||
		s.draws() > limit || s.bad < 0 || s.bad > limit {
		return errors.New("impossible batches")
	}
	for i := range s.full {
		s.batch[i] = moments{float64(s.size), d.float(), d.float()}
	}
	return nil
}

// WriteNPY writes the values of the functions as one NumPy array of float64, with shape chains ×
// [Trace.Len] × functions. A streaming trace gives [ErrStreaming].
func (t *Trace) WriteNPY(w io.Writer) error {
	if t.streaming {
		return fmt.Errorf("diagnose: WriteNPY: %w", ErrStreaming)
	}
	n, k := t.Len(), t.columns()
	values := make([]float64, 0, t.Chains()*n*len(t.names))
	for _, r := range t.records() {
		for i := range n {
			values = append(values, r.rows[i*k+columnFirst:(i+1)*k]...)
		}
	}
	return npy.Write(w, values, t.Chains(), n, len(t.names))
}

// WriteStatesNPY writes the states as one NumPy array of int32, with shape chains × [Trace.Len] ×
// sites. It is an error if the states were not kept; see [Trace.KeepStates].
func (t *Trace) WriteStatesNPY(w io.Writer) error {
	if !t.keepStates {
		return errors.New("diagnose: WriteStatesNPY: no states were kept")
	}
	n, sites := t.Len(), t.sites()
	states := make([]int32, 0, t.Chains()*n*sites)
	for _, r := range t.records() {
		if r.sites != sites {
			return fmt.Errorf("diagnose: WriteStatesNPY: chain %d has %d sites, want %d as the first", r.chain, r.sites, sites)
		}
		states = append(states, r.states[:n*sites]...)
	}
	return npy.Write(w, states, t.Chains(), n, sites)
}

// sites returns the number of sites of the first chain.
func (t *Trace) sites() int {
	if r := t.records(); len(r) > 0 {
		return r[0].sites
	}
	return 0
}

// WriteCSV writes one chain in the layout of CmdStan's files, which ArviZ reads with from_cmdstan.
// The file has comment lines that start with #, a line of column names and one line per draw. The
// columns are
//
//	lp__, accept_stat__, moves__, the functions, x.1 … x.sites
//
// Here lp__ is −energy, accept_stat__ is the acceptance probability, and moves__ is the number of
// sites that changed. The sites are written only if states are kept. Unknown numbers are written as
// NaN, and infinite numbers as inf and -inf. Other numbers have the fewest digits that reproduce
// the float64.
//
// The name of a function must be a letter followed by letters, digits and underscores, without two
// underscores at the end. It may end in 1-based indices after dots (spin.1.3). Names that differ
// only in their indices must have the same number of indices. Names must differ, and none may be x
// if states are kept. For any other name WriteCSV returns an error before it writes anything.
//
// The argument chain counts the recorded chains from 0, in the order of their numbers. WriteCSV
// panics if there is no such chain. A streaming trace gives [ErrStreaming].
func (t *Trace) WriteCSV(w io.Writer, chain int) error {
	if err := check.Given("diagnose: WriteCSV", "w", w); err != nil {
		return err
	}
	if err := t.checkCSV(); err != nil {
		return fmt.Errorf("diagnose: WriteCSV: %w", err)
	}
	if chain < 0 || chain >= t.Chains() {
		panic(fmt.Sprintf("diagnose: chain = %d, want 0 ≤ chain < %d", chain, t.Chains()))
	}
	const flush = 1 << 16 // bytes; any size whose writing takes long compared with a system call
	r, n := t.records()[chain], t.Len()
	b := fmt.Appendf(nil, "# gibbsite draws\n# num_samples = %d\n# save_warmup = 0\n# id = %d\n", n, chain+1)
	b = append(b, "lp__,accept_stat__,moves__"...)
	for _, name := range t.names {
		b = append(append(b, ','), name...)
	}
	sites := 0
	if t.keepStates {
		sites = r.sites
	}
	for i := range sites {
		b = strconv.AppendInt(append(b, ",x."...), int64(i+1), 10)
	}
	b = append(b, '\n')
	for i := range n {
		row := r.rows[i*t.columns() : (i+1)*t.columns()]
		b = appendFloat(b, 0-row[columnEnergy])
		for _, v := range row[columnAccept:] {
			b = appendFloat(append(b, ','), v)
		}
		for _, level := range r.states[i*sites : (i+1)*sites] {
			b = strconv.AppendInt(append(b, ','), int64(level), 10)
		}
		b = append(b, '\n')
		if len(b) >= flush {
			if _, err := w.Write(b); err != nil {
				return fmt.Errorf("diagnose: WriteCSV: %w", err)
			}
			b = b[:0]
		}
	}
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("diagnose: WriteCSV: %w", err)
	}
	return nil
}

// column splits a column name such as beta.1.2 into its base name and the number of its indices.
// It returns ok = false for a name that WriteCSV does not accept. Package regexp is not used,
// because its tables would slow down the start of a program in a browser.
func column(name string) (base string, indices int, ok bool) {
	digit := func(r rune) bool { return '0' <= r && r <= '9' }
	letter := func(r rune) bool { return 'a' <= r|0x20 && r|0x20 <= 'z' }
	parts := strings.Split(name, ".")
	for i, part := range parts {
		begins, inside := letter, func(r rune) bool { return letter(r) || digit(r) || r == '_' }
		if i > 0 {
			begins, inside = func(r rune) bool { return digit(r) && r > '0' }, digit
		}
		if part == "" || !begins(rune(part[0])) || strings.ContainsFunc(part, func(r rune) bool { return !inside(r) }) {
			return "", 0, false
		}
	}
	return parts[0], len(parts) - 1, !strings.HasSuffix(parts[0], "__")
}

func (t *Trace) checkCSV() error {
	if t.streaming {
		return ErrStreaming
	}
	dots := map[string]int{} // number of indices of each base name
	if t.keepStates {
		dots["x"] = -1 // reserves the base name x for the states
	}
	full := map[string]bool{}
	for _, name := range t.names {
		base, n, ok := column(name)
		if !ok {
			return fmt.Errorf("the function name %q does not fit a column", name)
		}
		if before, ok := dots[base]; full[name] || ok && before != n {
			return fmt.Errorf("the function name %q is taken", name)
		}
		dots[base], full[name] = n, true
	}
	return nil
}

// appendFloat appends v in decimal, and infinities as inf and -inf, the spelling of CmdStan.
func appendFloat(b []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(b, "inf"...)
	case math.IsInf(v, -1):
		return append(b, "-inf"...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}

// Values returns a copy of the values of one function as values[chain][draw]. Every chain has
// [Trace.Len] draws. The names "energy" (in nats), "accept" (acceptance probability) and "moves"
// (number of sites that changed) are also accepted, unless a function has the same name. Any other
// name is an error. A streaming trace gives [ErrStreaming].
func (t *Trace) Values(name string) ([][]float64, error) {
	k, err := t.find(name)
	if err != nil {
		return nil, fmt.Errorf("diagnose: Values: %w", err)
	}
	return t.column(k), nil
}

// find returns the index of the column with the given name in a row of record.rows.
func (t *Trace) find(name string) (int, error) {
	if t.streaming {
		return 0, ErrStreaming
	}
	if i := slices.Index(t.names, name); i >= 0 {
		return columnFirst + i, nil
	}
	if k := slices.Index(columnNames[:], name); k >= 0 {
		return k, nil
	}
	return 0, fmt.Errorf("name = %q, want one of %s", name, strings.Join(append(slices.Clone(t.names), columnNames[:]...), ", "))
}

// column returns a copy of column k of all rows, as draws[chain][draw].
func (t *Trace) column(k int) [][]float64 {
	records := t.records()
	draws := newDraws(len(records), t.Len())
	for c, x := range draws {
		for i := range x {
			x[i] = records[c].rows[i*t.columns()+k]
		}
	}
	return draws
}

// errNotKept returns the error of a trace that does not keep the data named by what; how names the
// method that makes the trace keep them.
func errNotKept(what, how string) error {
	return errors.New("diagnose: " + what + ": not kept, want " + how + " before the first draw")
}

// SaveNPY writes the output of [Trace.WriteNPY] to the file at the given path. Until the file is
// complete, its name is path.partial. On an error, the partial file is removed and an existing
// file at path is unchanged.
func (t *Trace) SaveNPY(path string) error { return saveFile(path, t.WriteNPY) }

// SaveStatesNPY writes the output of [Trace.WriteStatesNPY] to the file at the given path, in
// the same way as [Trace.SaveNPY].
func (t *Trace) SaveStatesNPY(path string) error { return saveFile(path, t.WriteStatesNPY) }

// SaveCSV writes each chain with [Trace.WriteCSV], to the files prefix_1.csv, prefix_2.csv, …, and
// returns their names. Each file appears only when it is complete. After an error, the files of the
// earlier chains remain.
func (t *Trace) SaveCSV(prefix string) (paths []string, err error) {
	if err := t.checkCSV(); err != nil {
		return nil, fmt.Errorf("diagnose: SaveCSV: %w", err)
	}
	for c := range t.Chains() {
		path := fmt.Sprintf("%s_%d.csv", prefix, c+1)
		if err := saveFile(path, func(w io.Writer) error { return t.WriteCSV(w, c) }); err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// saveFile lets write fill the file path.partial and then renames it to path. If path is a link, it
// replaces the file to which the link points.
func saveFile(path string, write func(io.Writer) error) (err error) {
	if path, err = durable.Target(path); err != nil {
		return fmt.Errorf("diagnose: %w", err)
	}
	partial := path + ".partial"
	f, err := os.Create(partial)
	if err != nil {
		return fmt.Errorf("diagnose: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(partial)
		}
	}()
	if err = write(f); err != nil {
		f.Close()
		return err
	}
	if err = f.Close(); err != nil {
		return fmt.Errorf("diagnose: %w", err)
	}
	if err = os.Rename(partial, path); err != nil {
		return fmt.Errorf("diagnose: %w", err)
	}
	return nil
}

// Histogram counts the values in each of several adjacent bins of equal width.
type Histogram struct {
	Edges []float64 // bin edges in ascending order, one more than there are bins
	// Counts holds the number of values in [Edges[k], Edges[k+1]) for each bin k. The last bin
	// includes its upper edge.
	Counts []int
}

// Histogram returns a histogram of the values of one function over all chains. The bins have equal
// width and span the range of the values. If all values are equal, the range has length 1 and is
// centred on that value. The names "energy", "accept" and "moves" are also accepted.
//
// Histogram returns the errors of [Trace.Values]. It returns [ErrTooFew] if there are no draws, and
// a [*NotFinite] if draws are not finite. It panics if bins < 1.
func (t *Trace) Histogram(name string, bins int) (Histogram, error) {
	if bins < 1 {
		panic(fmt.Sprintf("diagnose: Histogram: bins = %d, want ≥ 1", bins))
	}
	k, err := t.find(name)
	if err != nil {
		return Histogram{}, fmt.Errorf("diagnose: Histogram: %w", err)
	}
	draws := t.column(k)
	if err := finite(draws); err != nil {
		return Histogram{}, fmt.Errorf("diagnose: Histogram: %w", err)
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, x := range draws {
		for _, v := range x {
			low, high = min(low, v), max(high, v)
		}
	}
	switch {
	case low > high:
		return Histogram{}, fmt.Errorf("diagnose: Histogram: %w", ErrTooFew)
	case low == high:
		low, high = low-0.5, high+0.5
	}
	h := Histogram{Edges: make([]float64, bins+1), Counts: make([]int, bins)}
	for k := range h.Edges {
		part := float64(k) / float64(bins)
		h.Edges[k] = low*(1-part) + high*part // does not overflow
	}
	h.Edges[bins] = high
	for _, x := range draws {
		for _, v := range x {
			h.Counts[h.bin(v)]++
		}
	}
	return h, nil
}

// bin returns the index of the last bin whose lower edge is at most v, or 0 if there is none.
func (h *Histogram) bin(v float64) int {
	low, high := 0, len(h.Counts)
	for high-low > 1 {
		if middle := (low + high) / 2; v >= h.Edges[middle] {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// WriteInferenceData writes all draws as one JSON object for the function from_json of ArviZ:
//
//	{"posterior": {"mag": [[…], …], …, "x": [[[…], …], …]},
//	 "sample_stats": {"lp": [[…], …], "acceptance_rate": …, "n_moves": …},
//	 "attrs": {"inference_library": "gibbsite"}}
//
// The values of each function appear under its name, indexed [chain][draw]. If states are kept,
// they appear as x, indexed [chain][draw][site]. Here lp is −energy. Statistics that are NaN in
// every draw are omitted. Numbers have the fewest digits that reproduce the float64. Numbers that
// are not finite are written as NaN, Infinity and −Infinity, which strict JSON readers refuse.
//
// Names must differ and must not be empty, "chain" or "draw". If states are kept, "x" is not
// allowed either. A streaming trace gives [ErrStreaming].
func (t *Trace) WriteInferenceData(w io.Writer) error {
	if err := check.Given("diagnose: WriteInferenceData", "w", w); err != nil {
		return err
	}
	if err := t.writeInferenceData(w); err != nil {
		return fmt.Errorf("diagnose: WriteInferenceData: %w", err)
	}
	return nil
}

// SaveInferenceData writes the output of [Trace.WriteInferenceData] to the file at the given
// path, in the same way as [Trace.SaveNPY].
func (t *Trace) SaveInferenceData(path string) error { return saveFile(path, t.WriteInferenceData) }

func (t *Trace) writeInferenceData(w io.Writer) error {
	if t.streaming {
		return ErrStreaming
	}
	taken := []string{"", "chain", "draw"}
	if t.keepStates {
		taken = append(taken, "x")
	}
	for _, name := range t.names {
		if slices.Contains(taken, name) {
			return fmt.Errorf("the function name %q is empty or taken", name)
		}
		taken = append(taken, name)
	}
	j := jsonWriter{w: w}
	j.text(`{"posterior": {`)
	for i, name := range t.names {
		j.variable(i == 0, name)
		j.draws(t.column(columnFirst + i))
	}
	if t.keepStates {
		j.variable(len(t.names) == 0, "x")
		j.states(t.records(), t.Len())
	}
	j.text(`}, "sample_stats": {`)
	first := true
	for k, name := range [columnFirst]string{"lp", "acceptance_rate", "n_moves"} {
		draws := t.column(k)
		known := false
		for _, x := range draws {
			for i, v := range x {
				known = known || !math.IsNaN(v)
				if k == columnEnergy {
					x[i] = 0 - v
				}
			}
		}
		if known {
			j.variable(first, name)
			j.draws(draws)
			first = false
		}
	}
	j.text(`}, "attrs": {"inference_library": "gibbsite"}}` + "\n")
	j.flush()
	return j.err
}

// jsonWriter writes JSON to w. After the first error it writes nothing more and keeps the error.
type jsonWriter struct {
	w   io.Writer
	b   []byte
	err error
}

func (j *jsonWriter) flush() {
	if j.err == nil {
		_, j.err = j.w.Write(j.b)
	}
	j.b = j.b[:0]
}

func (j *jsonWriter) text(s string) { j.b = append(j.b, s...) }

func (j *jsonWriter) variable(first bool, name string) {
	if !first {
		j.text(", ")
	}
	j.b = appendQuoted(j.b, name)
	j.text(": ")
}

// draws writes draws[chain][draw] as a nested array.
func (j *jsonWriter) draws(draws [][]float64) {
	j.array(len(draws), func(c int) {
		j.array(len(draws[c]), func(i int) { j.b = appendNumber(j.b, draws[c][i]) })
	})
}

// states writes the first draws states of every chain as a nested array [chain][draw][site].
func (j *jsonWriter) states(records []*record, draws int) {
	j.array(len(records), func(c int) {
		r := records[c]
		j.array(draws, func(d int) {
			j.array(r.sites, func(i int) { j.b = strconv.AppendInt(j.b, int64(r.states[d*r.sites+i]), 10) })
		})
	})
}

func (j *jsonWriter) array(n int, item func(i int)) {
	const full = 1 << 16 // bytes; any size whose writing takes long compared with a system call
	j.text("[")
	for i := range n {
		if i > 0 {
			j.text(", ")
		}
		item(i)
		if len(j.b) >= full {
			j.flush()
		}
	}
	j.text("]")
}

// appendNumber appends v to b as JSON. Numbers that are not finite are NaN, Infinity and -Infinity,
// the spelling of Python's json.
func appendNumber(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, "NaN"...)
	case math.IsInf(v, 1):
		return append(b, "Infinity"...)
	case math.IsInf(v, -1):
		return append(b, "-Infinity"...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}

// appendQuoted appends s to b as a JSON string; bytes that are not valid UTF-8 become U+FFFD.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ':
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = append(b, string(r)...)
		}
	}
	return append(b, '"')
}

// Marginals holds how often each level occurred at every site, as relative frequencies. They
// estimate the probabilities p(x_i = l), not log-probabilities.
type Marginals struct {
	Sites, Levels int
	Draws         int       // number of draws of all chains together
	P             []float64 // relative frequency of each level at each site, sites × levels

	// SE is the standard error of each entry of P, or nil for a single chain. It is the standard
	// deviation of the chains' means, divided by √chains. This is valid for any autocorrelation.
	// Where P is 0 or 1, SE is 0, although P need not be exact.
	SE []float64
}

// At returns the relative frequency of a level at a site, and its standard error. The standard
// error is NaN for a single chain. At panics if there is no such site or level.
func (m Marginals) At(site, level int) (p, se float64) {
	if site < 0 || site >= m.Sites || level < 0 || level >= m.Levels {
		panic(fmt.Sprintf("diagnose: Marginals: site = %d, level = %d, want < %d and < %d", site, level, m.Sites, m.Levels))
	}
	i := site*m.Levels + level
	check.Len("diagnose", "Marginals.P", len(m.P), m.Sites*m.Levels)
	if m.SE == nil {
		return m.P[i], math.NaN()
	}
	check.Len("diagnose", "Marginals.SE", len(m.SE), len(m.P))
	return m.P[i], m.SE[i]
}

// KeepMarginals makes t count how often each level occurs at every site; see [Trace.Marginals]. The
// counts take 8 bytes per chain, site and level, in streaming mode too. Observe then panics on a
// level outside 0…levels−1. KeepMarginals returns t. It panics if levels < 1 or if called after the
// first draw.
func (t *Trace) KeepMarginals(levels int) *Trace {
	t.early("KeepMarginals")
	if levels < 1 {
		panic(fmt.Sprintf("diagnose: KeepMarginals: levels = %d, want ≥ 1", levels))
	}
	t.levels = levels
	return t
}

// Marginals returns the relative frequencies of levels so far. It is an error if levels were not
// counted ([Trace.KeepMarginals]), if there are no draws (ErrTooFew), or if chains differ in their
// number of sites.
func (t *Trace) Marginals() (Marginals, error) {
	if t.levels == 0 {
		return Marginals{}, errNotKept("Marginals", "KeepMarginals")
	}
	records := t.records()
	if len(records) == 0 {
		return Marginals{}, fmt.Errorf("diagnose: Marginals: %w", ErrTooFew)
	}
	m := Marginals{Sites: records[0].sites, Levels: t.levels}
	size := m.Sites * m.Levels
	m.P = make([]float64, size)
	for c, r := range records {
		if r.sites != m.Sites {
			return Marginals{}, fmt.Errorf("diagnose: Marginals: chain %d has %d sites, want %d as the first", r.chain, r.sites, m.Sites)
		}
		m.Draws += r.draws
		for i, n := range r.counts {
			m.P[i] += (float64(n)/float64(r.draws) - m.P[i]) / float64(c+1)
		}
	}
	if len(records) == 1 {
		return m, nil
	}
	m.SE = make([]float64, size)
	n := float64(len(records))
	for i, mean := range m.P {
		sum := 0.0
		for _, r := range records {
			d := float64(r.counts[i])/float64(r.draws) - mean
			sum += d * d
		}
		m.SE[i] = math.Sqrt(sum / (n - 1) / n)
	}
	return m, nil
}

// Summary computes the diagnostics of the draws so far. Draws that only some chains have (see
// [Trace.Len]) are not included. If the trace keeps every value and has S draws, Summary takes O(S
// log S) time and O(S) memory.
func (t *Trace) Summary() Summary {
	s := Summary{Chains: t.Chains(), Draws: t.Len(), Streaming: t.streaming}
	var draws, moves, accepts int
	var accept float64
	for _, r := range t.records() {
		draws += r.draws
		moves += r.moves
		accepts += r.accepts
		accept += r.accept
		s.Invalid += r.invalid
	}
	s.Accept.set(share(accept, float64(accepts)))
	s.Moves.set(share(float64(moves), float64(draws)))
	for i := range t.names {
		s.Rows = append(s.Rows, t.row(i))
	}
	return s
}

// Row returns the diagnostics of one function, or of "energy", "accept" or "moves". These three are
// not available in a streaming trace. The errors are the same as for [Trace.Values].
func (t *Trace) Row(name string) (Row, error) {
	if i := slices.Index(t.names, name); i >= 0 {
		return t.row(i), nil
	}
	k, err := t.find(name)
	if err != nil {
		return Row{}, fmt.Errorf("diagnose: Row: %w", err)
	}
	row := Row{Name: name}
	summarizeDraws(&row, t.column(k))
	return row, nil
}

// row returns the diagnostics of function i.
func (t *Trace) row(i int) Row {
	row := Row{Name: t.names[i]}
	if !t.streaming {
		summarizeDraws(&row, t.column(columnFirst+i))
		return row
	}
	var chains []*series
	for _, r := range t.records() {
		chains = append(chains, &r.condense[i])
	}
	summarizeBatches(&row, chains)
	return row
}

// summarizeDraws fills in the row of a function from all of its draws[chain][draw].
func summarizeDraws(row *Row, draws [][]float64) {
	err := checkDraws(draws, 1)
	row.undefine(err, row.all()...)
	if err != nil && !errors.Is(err, ErrConstant) {
		return
	}
	mean, sd := meanSD(draws)
	ascending := sorted(draws)
	row.Mean.set(mean, nil)
	row.SD.set(sd, nil)
	if len(ascending) == 1 {
		row.SD.set(0, ErrTooFew)
	}
	row.Q5.set(quantile(ascending, tail), nil)
	row.Q50.set(quantile(ascending, 0.5), nil)
	row.Q95.set(quantile(ascending, 1-tail), nil)
	if err != nil {
		return
	}
	row.once = row.Q5.Value == row.Q95.Value && stretches(draws, row.Q50.Value) == 1
	n := len(draws[0])
	var means, within moments
	for _, x := range draws {
		m, v := meanVariance(x)
		means.add(m)
		within.add(v)
	}
	row.across(len(draws), n, means.variance(), within.mean)
	row.undefine(tooFew(n, MinDraws), &row.MCSE, &row.ESSBulk, &row.ESSTail, &row.ESSMean, &row.Time)
	row.undefine(tooFew(n, minRHat), &row.RHat)
	if n < minRHat {
		return
	}
	halves := splitChains(draws)
	z := rankNormalize(halves)
	row.RHat.Value, row.RHat.Err = rhat(draws, z, row.Q50.Value)
	if n < MinDraws {
		return
	}
	row.ESSBulk.set(effective(z))
	row.ESSTail.set(essTail(draws, ascending))
	row.ESSMean.set(effective(halves))
	row.MCSE, row.Time = row.ESSMean, row.ESSMean
	if row.ESSMean.Defined() {
		row.MCSE.set(sd/math.Sqrt(row.ESSMean.Value), nil)
		row.Time.set(float64(len(draws))*float64(n)/row.ESSMean.Value, nil)
	}
}

// stretches returns the number of maximal runs of consecutive draws that differ from v.
func stretches(draws [][]float64, v float64) (n int) {
	for _, x := range draws {
		away := false
		for _, u := range x {
			if u != v && !away {
				n++
			}
			away = u != v
		}
	}
	return n
}
