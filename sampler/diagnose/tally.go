package diagnose

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Tally holds statistics of some chains of a run and can be merged with tallies of other chains,
// from any machines. Merged in any order, they have the same bits as one tally of all chains. A
// Tally takes some 5 KB per function, however many chains there are.
//
//	part, err := diagnose.NewTally(diagnose.TallyConfig{Chains: 1_000_000, First: 4096, Count: 1024, Draws: 96}, f)
//	// … run these chains with Observe: part.Observe; then, where the parts are collected,
//	var all diagnose.Tally
//	err = all.Merge(part) // for each part
//	s, err := all.Summary()
//
// For every function, a tally keeps sums over the chains. The function's [Row] has these estimates
// from the sums:
//
//   - Mean and SD of all draws,
//   - RHat as the split R-hat without ranks (Gelman et al. 2013, section 11.4),
//   - ESSMean and MCSE, as the functions [ESSMean] and [MCSEMean] compute them. If correlations
//     reach beyond lag 64, ESSMean is (SD/MCSEChains)² instead, capped at n·log₁₀ n for n draws,
//     and MCSE is SD/√ESSMean,
//   - MCSEChains, computed from the means of the chains alone,
//   - RHatNested (Margossian et al. 2024), for many short chains.
//
// The quantiles, ESSBulk and ESSTail have the error [ErrRanks].
//
// The zero value is empty and takes its settings from the first tally merged into it. Tally.Observe
// may be called concurrently for different chains; the other methods take no locks.
type Tally struct {
	run   run
	done  spans // chains that have all their draws
	rows  []tallied
	moves actions
	bits  digest

	record *recorder // draws of unfinished chains; nil for a tally that cannot observe draws
}

// run holds the settings of a run. Tallies can be merged only if their settings agree.
type run struct {
	chains, draws, nested int
	seed                  uint64
	names                 []string
	logWeights            bool
	settings              []byte // encoded fingerprint.List of TallyConfig.Run
}

// maxDraws limits draws × functions, so that sizes in bytes fit into an int.
const maxDraws = math.MaxInt32 / 16

// ErrRanks means that an estimate needs the ranks of draws, which a [Tally] does not keep.
var ErrRanks = errors.New("ranks do not merge")

// Merge adds the chains of o, another part of the same run, to t. It does not change o. It takes
// a few microseconds per function.
//
// Merge returns an error if o belongs to a run with other settings, if t and o share a chain, or if
// a chain lacks some of its draws. On an error t is unchanged.
func (t *Tally) Merge(o *Tally) error {
	if err := t.merge(o); err != nil {
		return fmt.Errorf("diagnose: Tally.Merge: %w", err)
	}
	return nil
}

func (t *Tally) merge(o *Tally) error {
	if o == nil || o.empty() {
		return errors.New("the other tally is empty")
	}
	if t == o {
		return errors.New("both are the same tally")
	}
	for _, each := range []*Tally{o, t} {
		if err := each.whole(); err != nil {
			return err
		}
	}
	if t.empty() {
		*t = Tally{run: o.run, rows: make([]tallied, len(o.rows))}
		for i := range t.rows {
			t.rows[i] = newTallied()
			if o.rows[i].weights != nil {
				t.rows[i].weights = &weights{}
			}
		}
	}
	settings, err := t.run.agree(&o.run)
	if err != nil {
		return err
	}
	if chain, ok := t.done.union(o.done); !ok {
		return fmt.Errorf("chain %d is in both", chain)
	}
	t.run.settings = settings
	for i := range t.rows {
		t.rows[i].merge(&o.rows[i])
	}
	t.moves.merge(&o.moves)
	t.bits.add(o.bits)
	return nil
}

// empty reports whether t is the zero value.
func (t *Tally) empty() bool { return t.run.chains == 0 }

// whole returns an error unless all chains of this part of the run have all draws.
func (t *Tally) whole() error {
	if t.record == nil {
		return nil
	}
	return t.record.unfinished(t.done)
}

// agree returns an error that names the first setting in which r and o differ. Otherwise it returns
// the encoded settings to keep. If the encodings agree only up to rounding, it returns the one
// whose bytes compare smaller.
func (r *run) agree(o *run) ([]byte, error) {
	differ := func(name string, a, b any) error {
		return fmt.Errorf("not the same run: %s is %v in one part and %v in the other", name, a, b)
	}
	switch {
	case r.chains != o.chains:
		return nil, differ("TallyConfig.Chains", r.chains, o.chains)
	case r.draws != o.draws:
		return nil, differ("TallyConfig.Draws", r.draws, o.draws)
	case r.seed != o.seed:
		return nil, differ("TallyConfig.Seed", r.seed, o.seed)
	case r.nested != o.nested:
		return nil, differ("TallyConfig.Nested", r.nested, o.nested)
	case !slices.Equal(r.names, o.names):
		return nil, differ("the functions' names", r.names, o.names)
	case r.logWeights != o.logWeights:
		return nil, differ("TallyConfig.LogWeights", r.logWeights, o.logWeights)
	case bytes.Equal(r.settings, o.settings):
		return r.settings, nil
	}
	a, err := fingerprint.Read(r.settings)
	if err != nil {
		return nil, err
	}
	b, err := fingerprint.Read(o.settings)
	if err != nil {
		return nil, err
	}
	err = fingerprint.Compare(a, b)
	var m *fingerprint.Mismatch
	if errors.As(err, &m) {
		return nil, differ(m.Setting, m.Saved, m.Here)
	}
	if err != nil {
		return nil, err
	}
	if bytes.Compare(r.settings, o.settings) < 0 {
		return r.settings, nil
	}
	return o.settings, nil
}

// SameRun returns nil if t and o belong to the same run, whatever chains they count. Otherwise t
// and o cannot be merged, and the error names the difference. An empty tally is an error too.
func (t *Tally) SameRun(o *Tally) error {
	if o == nil || o.empty() || t.empty() {
		return errors.New("diagnose: Tally.SameRun: a tally is empty")
	}
	if _, err := t.run.agree(&o.run); err != nil {
		return fmt.Errorf("diagnose: Tally.SameRun: %w", err)
	}
	return nil
}

// Covers reports whether the finished chains in t are exactly the chains of the run with indices
// from first to first+count−1.
func (t *Tally) Covers(first, count int) bool {
	return len(t.done) == 1 && t.done[0] == span{first, first + count}
}

// Chains returns the number of finished chains that t counts.
func (t *Tally) Chains() int { return t.done.chains() }

// Digest returns 64 hexadecimal digits that identify what t observed. The digits cover the values
// of every function at every draw of every chain, and the states at the last draws. Two runs with
// equal digests had the same bits. The digest does not depend on the order of merging.
func (t *Tally) Digest() string { return t.bits.String() }

// Missing returns nil if t counts all chains of the run. Otherwise it returns an error that names
// the missing ones.
func (t *Tally) Missing() error {
	if t.empty() {
		return errors.New("diagnose: Tally: empty")
	}
	gaps := t.done.gaps(t.run.chains)
	if len(gaps) == 0 {
		return nil
	}
	text := ""
	const shown = 4
	for i, g := range gaps[:min(len(gaps), shown)] {
		if i > 0 {
			text += ", "
		}
		text += g.String()
	}
	if more := len(gaps) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more gaps", more)
	}
	return fmt.Errorf("diagnose: Tally: missing of %d chains: %s", t.run.chains, text)
}

// Summary returns the statistics of the chains that t counts. If chains of the run are missing, it
// also returns an error that names them.
func (t *Tally) Summary() (Summary, error) {
	s := Summary{Chains: t.Chains(), Draws: t.run.draws, Merged: true}
	if t.empty() {
		return s, t.Missing()
	}
	s.Invalid = int(min(t.moves.invalid, math.MaxInt))
	s.Accept.set(share(t.moves.accept.float64(), float64(t.moves.accepts)))
	s.Moves.set(share(float64(t.moves.moved), float64(s.Chains)*float64(s.Draws)))
	for i := range t.rows {
		row := Row{Name: t.run.names[i]}
		t.rows[i].summarize(&row, s.Chains, s.Draws, t.run.nested)
		row.undefine(ErrRanks, &row.Q5, &row.Q50, &row.Q95, &row.ESSBulk, &row.ESSTail)
		s.Rows = append(s.Rows, row)
	}
	return s, t.Missing()
}

// LogMeanExp returns the logarithm of the mean weight of the n chains of the tally,
//
//	mean = log((1/n) Σ exp(l)),
//
// where the log-weight l of a chain is the value of the first function. Use it for runs that end
// with a weight per chain, such as annealed importance sampling. TallyConfig.LogWeights must be
// set. Parts merged in any order give the same bits.
//
// The result stdErr is the relative standard error of the mean weight. To first order, this is also
// the standard error of the logarithm. For a single chain, stdErr is 0 and has no meaning. The
// result ess is the effective sample size (Σw)²/Σw² of the weights w = exp(l).
//
// LogMeanExp returns the error of [Tally.Missing]. It also returns an error in these cases:
//
//   - LogWeights is not set;
//   - a log-weight is NaN, +Inf or beyond ±2²⁸;
//   - no weight is positive; the logarithm is then −Inf.
func (t *Tally) LogMeanExp() (mean, stdErr, ess float64, err error) {
	if err := t.Missing(); err != nil && t.empty() {
		return 0, 0, 0, err
	}
	if len(t.rows) == 0 || t.rows[0].weights == nil {
		return 0, 0, 0, errors.New("diagnose: Tally.LogMeanExp: the tally keeps no weights, see TallyConfig.LogWeights")
	}
	w := t.rows[0].weights
	if w.bad.some {
		return 0, 0, 0, fmt.Errorf("diagnose: Tally.LogMeanExp: chain %d: log-weight = %v, want −Inf … 2²⁸", w.bad.chain, w.bad.value)
	}
	mean, stdErr, ess, err = w.mean(t.Chains())
	if err != nil {
		return mean, 0, 0, fmt.Errorf("diagnose: Tally.LogMeanExp: %w", err)
	}
	return mean, stdErr, ess, t.Missing()
}

// TallyConfig specifies the run and the chains that a [Tally] counts. Only Draws is required.
type TallyConfig struct {
	Chains int    // number of chains of the whole run; 0 means 4
	First  int    // index of the first chain that the tally counts
	Count  int    // number of chains that the tally counts; 0 means all from First on
	Draws  int    // number of draws per chain, ≥ 1
	Seed   uint64 // seed of the run

	// Nested is the number of consecutive chains that start in the same state and form a group for
	// Row.RHatNested; 0 means 1. Nested must divide Chains, First and Count.
	Nested int

	// LogWeights declares that the value of the first function is the logarithm of a chain's
	// weight, which may be −Inf; see [Tally.LogMeanExp]. Draws must then be 1.
	LogWeights bool

	// Run identifies what determines the draws besides the other fields, such as the name of a
	// model and its arguments. Merge rejects a part with a different Run, Chains or Seed. Values of
	// Run are compared as a checkpoint compares settings; see [sampler.Method]. Languages of
	// package constraint are compared by their members only if Run is [energy.Shaped].
	Run any
}

// fill checks the configuration and replaces zeros by defaults.
func (c *TallyConfig) fill(functions int) error {
	if c.Chains == 0 {
		c.Chains = 4
	}
	if c.Nested == 0 {
		c.Nested = 1
	}
	if c.Count == 0 {
		c.Count = c.Chains - c.First
	}
	bad := func(name string, v int, want string, a ...any) error {
		return fmt.Errorf("diagnose: TallyConfig.%s = %d, want %s", name, v, fmt.Sprintf(want, a...))
	}
	most := maxDraws / max(functions, 1)
	switch {
	case c.Chains < 0:
		return bad("Chains", c.Chains, "≥ 0")
	case c.First < 0 || c.First >= c.Chains:
		return bad("First", c.First, "0 … %d", c.Chains-1)
	case c.Count < 0 || c.Count > c.Chains-c.First:
		return bad("Count", c.Count, "1 … %d", c.Chains-c.First)
	case c.Draws < 1 || c.Draws > most:
		return bad("Draws", c.Draws, "1 … %d", most)
	case c.LogWeights && c.Draws != 1:
		return bad("Draws", c.Draws, "1 with LogWeights")
	case c.LogWeights && functions == 0:
		return fmt.Errorf("diagnose: TallyConfig.LogWeights = true, want a function with it")
	case c.Nested < 0 || c.Nested > c.Chains || c.Chains%c.Nested != 0:
		return bad("Nested", c.Nested, "a divisor of Chains = %d", c.Chains)
	case c.First%c.Nested != 0:
		return bad("First", c.First, "a multiple of Nested = %d", c.Nested)
	case c.Count%c.Nested != 0:
		return bad("Count", c.Count, "a multiple of Nested = %d", c.Nested)
	}
	return check.Entries("diagnose: NewTally", "Count × functions", c.Count, max(functions, 1))
}

// NewTally returns a tally of the functions f for the chains that cfg specifies. [Tally.Observe]
// records the draws of these chains. Each function is called with the levels of one state, must not
// keep or modify them, and must be safe for concurrent use. The functions are named f1, f2, …
// unless [Tally.Name] sets other names. NewTally returns an error if a function is nil or a setting
// is out of range.
func NewTally(cfg TallyConfig, f ...func(x []int32) float64) (*Tally, error) {
	for i := range f {
		if f[i] == nil {
			return nil, fmt.Errorf("diagnose: NewTally: function %d is nil", i)
		}
	}
	if err := cfg.fill(len(f)); err != nil {
		return nil, err
	}
	settings := &fingerprint.List{}
	if s, ok := cfg.Run.(energy.Shaped); ok {
		settings.Sites, settings.Levels = s.Shape()
	}
	settings.Add("TallyConfig.Run", cfg.Run)
	t := &Tally{
		run:  run{chains: cfg.Chains, draws: cfg.Draws, nested: cfg.Nested, seed: cfg.Seed, settings: settings.Append(nil), logWeights: cfg.LogWeights},
		rows: make([]tallied, len(f)),
		record: &recorder{
			first: cfg.First, draws: cfg.Draws, nested: cfg.Nested, functions: slices.Clone(f), chains: make([]underway, cfg.Count),
		},
	}
	for i := range f {
		t.rows[i] = newTallied()
		t.run.names = append(t.run.names, fmt.Sprintf("f%d", i+1))
	}
	if cfg.LogWeights {
		t.rows[0].weights = &weights{}
	}
	return t, nil
}

// Name sets the names of the functions and returns t. It panics if the number of names differs from
// the number of functions, or if a name is empty or contains a comma or a line break.
func (t *Tally) Name(names ...string) *Tally {
	if len(names) != len(t.rows) {
		panic(fmt.Sprintf("diagnose: Tally.Name: %d names, want %d", len(names), len(t.rows)))
	}
	for _, n := range names {
		if n == "" || strings.ContainsAny(n, ",\r\n") {
			panic(fmt.Sprintf("diagnose: Tally.Name: name %q, want one without comma and line break", n))
		}
	}
	t.run.names = slices.Clone(names)
	return t
}

// RealTally returns a tally of functions of real-valued states, and an observer that records draws
// in the tally. Otherwise it is the same as [NewTally].
func RealTally(cfg TallyConfig, f ...func(x []float32) float64) (*Tally, sampler.RealObserver, error) {
	stand := make([]func(x []int32) float64, len(f))
	for i := range f {
		if f[i] != nil {
			stand[i] = func([]int32) float64 { return 0 }
		}
	}
	t, err := NewTally(cfg, stand...)
	if err != nil {
		return nil, nil, err
	}
	return t, func(chain, draw int, x []float32, info *sampler.Info) {
		u := t.next(chain)
		for i := range f {
			u.values[i*t.record.draws+u.draws] = f[i](x)
		}
		drawn(t, chain, x, info)
	}, nil
}

// tallyMagic is the first line of a saved Tally, which is a frame of package wire. It contains the
// version of the layout.
const tallyMagic = "gibbsite tally 1\n"

// AppendBinary appends t to b in binary form, with a checksum. Tallies with equal statistics have
// equal bytes. AppendBinary returns an error if t is empty or if one of its chains lacks draws.
func (t *Tally) AppendBinary(b []byte) ([]byte, error) {
	if t.empty() {
		return nil, errors.New("diagnose: Tally: empty")
	}
	if err := t.whole(); err != nil {
		return nil, fmt.Errorf("diagnose: Tally: %w", err)
	}
	return wire.Append(b, tallyMagic, t.body()), nil
}

// MarshalBinary returns t in binary form, as written by [Tally.AppendBinary].
func (t *Tally) MarshalBinary() ([]byte, error) { return t.AppendBinary(nil) }

func (t *Tally) body() []byte {
	r := &t.run
	b := wire.AppendInts(nil, r.chains, r.draws, r.nested)
	b = wire.AppendUint64s(b, r.seed)
	b = append(wire.AppendInts(b, len(r.settings)), r.settings...)
	b = wire.AppendInts(b, len(r.names))
	for _, name := range r.names {
		b = append(wire.AppendInts(b, len(name)), name...)
	}
	b = wire.AppendInts(b, len(t.done))
	for _, s := range t.done {
		b = wire.AppendInts(b, s.first, s.end)
	}
	m := &t.moves
	b = wire.AppendUint64s(b, uint64(m.accepts), uint64(m.moved), uint64(m.invalid))
	b = m.accept.append(b)
	b = wire.AppendUint64s(b, t.bits[:]...)
	for i := range t.rows {
		b = t.rows[i].append(b)
	}
	return b
}

// Flags of the saved statistics of one function.
const (
	flagBad = 1 << iota
	flagOverflow
	flagWeights
)

func (t *tallied) append(b []byte) []byte {
	flags := 0
	if t.bad.some {
		flags |= flagBad
	}
	if t.overflow {
		flags |= flagOverflow
	}
	if t.weights != nil {
		flags |= flagWeights
	}
	b = wire.AppendInts(b, flags, t.groups, t.bad.chain, t.bad.draw)
	b = wire.AppendFloat64s(b, []float64{t.bad.value, t.low, t.high})
	for _, s := range t.sums() {
		b = s.append(b)
	}
	if t.weights != nil {
		b = t.weights.append(b)
	}
	return b
}

// UnmarshalBinary replaces t by a tally that AppendBinary wrote. After that, t can be merged but
// accepts no further draws. Damaged data give an error and leave t unchanged. The memory used is
// proportional to the length of the data, whatever sizes the data claim.
func (t *Tally) UnmarshalBinary(b []byte) error {
	if err := t.decode(b); err != nil {
		return fmt.Errorf("diagnose: Tally: %w", err)
	}
	return nil
}

// decode replaces t by the tally in b. It reads b a first time to check it, and a second time to
// store it in t.
func (t *Tally) decode(b []byte) error {
	body, err := wire.Body(b, tallyMagic)
	if err != nil {
		return fmt.Errorf("not a saved tally of this version: %w", err)
	}
	n := &Tally{}
	rest, err := n.decodeHead(body)
	if err != nil {
		return err
	}
	rows := len(n.run.names)
	d := &decoder{rest: rest}
	var row tallied
	for i := 0; i < rows && !d.short; i++ {
		row.decode(d)
		if row.groups > n.done.chains()/n.run.nested {
			return errors.New("impossible counts")
		}
		if row.weights != nil && (i > 0 || n.run.draws != 1) {
			return errors.New("impossible weights")
		}
	}
	switch {
	case d.short:
		return errors.New("the data end too early")
	case len(d.rest) > 0:
		return fmt.Errorf("%d bytes too many", len(d.rest))
	}
	if n.rows = t.rows; len(n.rows) != rows || t.record != nil {
		n.rows = make([]tallied, rows)
	}
	d = &decoder{rest: rest}
	for i := range n.rows {
		n.rows[i].decode(d)
	}
	n.run.logWeights = rows > 0 && n.rows[0].weights != nil
	*t = *n
	return nil
}

// decodeHead reads everything before the statistics of the functions and returns the rest of body.
func (t *Tally) decodeHead(body []byte) ([]byte, error) {
	d := &decoder{rest: body}
	r := &t.run
	r.chains, r.draws, r.nested, r.seed = d.natural(), d.natural(), d.natural(), d.word()
	r.settings = slices.Clone(d.bytes(d.count(1)))
	for range d.count(8) {
		r.names = append(r.names, string(d.bytes(d.count(1))))
	}
	for range d.count(16) {
		t.done = append(t.done, span{d.natural(), d.natural()})
	}
	m := &t.moves
	m.accepts, m.moved, m.invalid = int64(d.word()), int64(d.word()), int64(d.word())
	readSum(d, &m.accept)
	for i := range t.bits {
		t.bits[i] = d.word()
	}
	if d.short {
		return nil, errors.New("the data end too early")
	}
	if _, err := fingerprint.Read(r.settings); err != nil {
		return nil, err
	}
	return d.rest, t.possible()
}

// possible returns an error if the counts of t contradict each other or its settings.
func (t *Tally) possible() error {
	r := &t.run
	if r.chains < 1 || r.draws < 1 || r.draws > maxDraws || r.nested < 1 || r.chains%r.nested != 0 {
		return errors.New("impossible counts")
	}
	end := -1
	for _, s := range t.done {
		if s.first <= end || s.end <= s.first || s.end > r.chains {
			return errors.New("impossible chains")
		}
		end = s.end
	}
	if m := &t.moves; m.accepts < 0 || m.moved < 0 || m.invalid < 0 {
		return errors.New("impossible counts")
	}
	return nil
}

func (t *tallied) decode(d *decoder) {
	flags := d.natural()
	t.groups = d.natural()
	t.bad = badDraw{flags&flagBad != 0, d.natural(), d.natural(), d.float()}
	t.overflow = flags&flagOverflow != 0
	t.low, t.high = d.float(), d.float()
	for _, s := range t.sums() {
		readSum(d, s)
	}
	if t.weights = nil; flags&flagWeights != 0 {
		t.weights = &weights{}
		t.weights.decode(d)
	}
}

// append appends w to b in the format that decode reads.
func (w *weights) append(b []byte) []byte {
	some := 0
	if w.bad.some {
		some = 1
	}
	b = wire.AppendInts(b, some, w.bad.chain)
	b = wire.AppendFloat64s(b, []float64{w.bad.value})
	for _, s := range []*scaledSum{&w.first, &w.second} {
		b = wire.AppendUint64s(b, uint64(int64(s.top)))
		b = s.sums[1].append(s.sums[0].append(b))
	}
	return b
}

func (w *weights) decode(d *decoder) {
	*w = weights{bad: badDraw{some: d.natural() == 1, chain: d.natural(), value: d.float()}}
	for _, s := range []*scaledSum{&w.first, &w.second} {
		top := int64(d.word())
		readSum(d, &s.sums[0])
		readSum(d, &s.sums[1])
		if top < -4*largestLog/span512 || top > 4*largestLog/span512 || s.sums[0].big().Sign() < 0 || s.sums[1].big().Sign() < 0 {
			d.short = true
			return
		}
		if s.top = int(top); s.sums[0].high == 0 { // the sum has no term
			*s = scaledSum{}
		}
	}
}

// readSum reads an exact sum from d into s. An invalid encoding sets d.short.
func readSum(d *decoder, s *exactSum) {
	rest, err := s.read(d.rest)
	if err != nil {
		d.short, d.rest = true, nil
		return
	}
	d.rest = rest
}

// tallyJSON is the JSON form of a tally: its settings in readable form, and the whole tally in
// Data.
type tallyJSON struct {
	Chains    int      `json:"chains"`
	Draws     int      `json:"draws"`
	Nested    int      `json:"nested"`
	Seed      uint64   `json:"seed"`
	Functions []string `json:"functions"`
	Done      [][2]int `json:"done"` // first and last chain of each span
	Data      []byte   `json:"data"` // bytes of [Tally.AppendBinary]
}

func (t *Tally) toJSON() (j tallyJSON, err error) {
	r := &t.run
	j = tallyJSON{Chains: r.chains, Draws: r.draws, Nested: r.nested, Seed: r.seed, Functions: r.names}
	for _, s := range t.done {
		j.Done = append(j.Done, [2]int{s.first, s.end - 1})
	}
	j.Data, err = t.AppendBinary(nil)
	return j, err
}

// MarshalJSON encodes t as a JSON object. The counts, the names and the chains are in readable
// form, and "data" holds the bytes of AppendBinary in base64.
func (t *Tally) MarshalJSON() ([]byte, error) {
	j, err := t.toJSON()
	if err != nil {
		return nil, err
	}
	return json.Marshal(j)
}

// UnmarshalJSON replaces t by a tally that MarshalJSON encoded. It returns an error if the readable
// fields of the object do not agree with the field "data".
func (t *Tally) UnmarshalJSON(b []byte) error {
	var j tallyJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return fmt.Errorf("diagnose: Tally: %w", err)
	}
	n := &Tally{}
	if err := n.decode(j.Data); err != nil {
		return fmt.Errorf("diagnose: Tally: data: %w", err)
	}
	is, err := n.toJSON()
	if err != nil {
		return err
	}
	if is.Chains != j.Chains || is.Draws != j.Draws || is.Nested != j.Nested || is.Seed != j.Seed ||
		!slices.Equal(is.Functions, j.Functions) || !slices.Equal(is.Done, j.Done) {
		return errors.New("diagnose: Tally: the data are not those of the counts")
	}
	*t = *n
	return nil
}

// Observe records the state x of a chain. The argument chain is the chain's number in the run. Use
// Observe as a [sampler.Observer]. Draws are numbered in the order of the calls; the argument draw
// is ignored. Calls for the same chain must not overlap; calls for different chains may.
//
// It panics if t is not from [NewTally], if the chain is not one that t counts, or if the chain
// already has all its draws.
func (t *Tally) Observe(chain, draw int, x []int32, info *sampler.Info) {
	u := t.next(chain)
	n := t.record.draws
	for i, f := range t.record.functions {
		u.values[i*n+u.draws] = f(x)
	}
	drawn(t, chain, x, info)
}

// next returns the record of the chain, with space for its next draw.
func (t *Tally) next(chain int) *underway {
	r := t.record
	if r == nil {
		panic("diagnose: Tally.Observe: the tally is not from NewTally")
	}
	if chain < r.first || chain >= r.first+len(r.chains) {
		panic(fmt.Sprintf("diagnose: Tally.Observe: chain = %d, want %d ≤ chain < %d", chain, r.first, r.first+len(r.chains)))
	}
	u := &r.chains[chain-r.first]
	if u.draws == r.draws {
		panic(fmt.Sprintf("diagnose: Tally.Observe: chain %d has %d draws, want no more: TallyConfig.Draws = %d", chain, u.draws, r.draws))
	}
	if u.draws == 0 {
		u.values = r.buffer(len(t.rows) * r.draws)
	}
	return u
}

// drawn counts a draw of the chain, and adds the chain to the tally if it was the last draw. x is
// the state of the draw.
func drawn[S energy.Site](t *Tally, chain int, x []S, info *sampler.Info) {
	u := &t.record.chains[chain-t.record.first]
	if info != nil {
		u.actions.add(info)
	}
	if u.draws++; u.draws == t.record.draws {
		t.finish(chain, digestOf(chain, u.values, x))
	}
}

func (t *Tally) finish(chain int, d digest) {
	r := t.record
	u := &r.chains[chain-r.first]
	all := make([]condensed, len(t.rows))
	logWeight := 0.0
	if t.run.logWeights {
		logWeight = u.values[0]
	}
	for i := range all {
		all[i] = condense(chain, u.values[i*r.draws:(i+1)*r.draws])
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range all {
		t.rows[i].add(&all[i])
	}
	if t.run.logWeights {
		t.rows[0].weights.add(chain, logWeight)
	}
	r.free = append(r.free, u.values)
	u.values = nil
	t.moves.add(&u.actions)
	t.bits.add(d)
	t.done.add(span{chain, chain + 1})
	if r.nested > 1 {
		u.means = make([]float64, len(all))
		for i := range all {
			u.means[i] = all[i].mean
		}
		t.finishGroup((chain - r.first) / r.nested)
	}
}

// finishGroup adds the statistics of a group of chains that began in the same state, if all chains
// of the group are finished.
func (t *Tally) finishGroup(group int) {
	r := t.record
	chains := r.chains[group*r.nested : (group+1)*r.nested]
	for i := range chains {
		if chains[i].means == nil {
			return
		}
	}
	means := make([]float64, r.nested)
	for f := range t.rows {
		for i := range chains {
			means[i] = chains[i].means[f]
		}
		t.rows[f].addGroup(means)
	}
	for i := range chains {
		chains[i].means = nil
	}
}

// recorder holds the draws of unfinished chains.
type recorder struct {
	first, draws, nested int
	functions            []func(x []int32) float64
	chains               []underway // chains of this part of the run

	mu   sync.Mutex  // guards the statistics of the tally and free
	free [][]float64 // buffers of finished chains, for reuse
}

// underway holds the draws of an unfinished chain. Only one goroutine at a time may use it.
type underway struct {
	draws  int
	values []float64 // functions × draws: value of the function at the draw
	// Mean of each function over a finished chain, kept until its group is finished.
	means   []float64
	actions chainActions
}

func (r *recorder) buffer(n int) []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := len(r.free) - 1; last >= 0 {
		b := r.free[last]
		r.free = r.free[:last]
		return b
	}
	return make([]float64, n)
}

// unfinished returns an error that names the first chain without all of its draws, or nil if all
// chains are done.
func (r *recorder) unfinished(done spans) error {
	if done.chains() >= len(r.chains) {
		return nil
	}
	for i := range r.chains {
		if n := r.chains[i].draws; n < r.draws {
			return fmt.Errorf("chain %d has %d draws, want %d", r.first+i, n, r.draws)
		}
	}
	return nil
}

// chainActions sums what sampler.Info reports about those steps of one chain that ended in a draw.
type chainActions struct {
	accept                  float64
	accepts, moved, invalid int64
}

func (a *chainActions) add(info *sampler.Info) {
	a.moved += int64(info.Moved)
	a.invalid += int64(info.Invalid)
	if !math.IsNaN(info.Accept) && !math.IsInf(info.Accept, 0) {
		a.accepts++
		a.accept += info.Accept
	}
}

// actions sums the chainActions of several chains. The result does not depend on their order.
type actions struct {
	accept                  exactSum
	accepts, moved, invalid int64
}

func (a *actions) add(c *chainActions) {
	a.accept.add(c.accept)
	a.accepts += c.accepts
	a.moved += c.moved
	a.invalid += c.invalid
}

func (a *actions) merge(o *actions) {
	a.accept.merge(&o.accept)
	a.accepts += o.accepts
	a.moved += o.moved
	a.invalid += o.invalid
}

// digest is the sum of the SHA-256 digests of chains, each word modulo 2⁶⁴. It does not depend on
// the order of the chains.
type digest [4]uint64

func (d *digest) add(o digest) {
	for i := range d {
		d[i] += o[i]
	}
}

// digestOf returns the digest of one chain: of its number, the recorded values and the last state
// x.
func digestOf[S energy.Site](chain int, values []float64, x []S) (d digest) {
	b := make([]byte, 0, 8+8*len(values)+4*len(x))
	b = wire.AppendFloat64s(wire.AppendInts(b, chain), values)
	switch x := any(x).(type) {
	case []int32:
		b = wire.AppendInt32s(b, x)
	case []float32:
		b = wire.AppendFloat32s(b, x)
	}
	sum := sha256.Sum256(b)
	_, _ = wire.ReadUint64s(sum[:], d[:])
	return d
}

func (d digest) String() string { return hex.EncodeToString(wire.AppendUint64s(nil, d[:]...)) }
