package diagnose

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Tally holds the statistics of a part of a run, which merge with those of other parts.
// Chains may run anywhere: their tallies, merged in any order, have the bits of one tally
// of all chains. It takes some 5 KB per function, however many chains there are.
//
//	part, err := diagnose.NewTally(diagnose.TallyConfig{Chains: 1_000_000, First: 4096, Count: 1024, Draws: 96}, f)
//	// … run these chains with Observe: part.Observe; then, where the parts meet,
//	var all diagnose.Tally
//	err = all.Merge(part) // each of them
//	s, err := all.Summary()
//
// Every chain adds to exact sums: the means of its halves, their squares and their
// autocovariances at lags below 64; its mean, the square of it and its variance.
// These give, in the [Row] of a function,
//
//   - Mean and SD of all draws,
//   - RHat as the split R-hat without ranks (Gelman et al. 2013, section 11.4),
//   - ESSMean as [ESSMean] and MCSE as [MCSEMean] where the sum over lags ends below lag
//     64; where it does not, ESSMean is (SD/MCSEChains)², capped like [ESSMean] at n·log₁₀
//     n for n draws, and MCSE is SD/√ESSMean,
//   - MCSEChains, the error from the means of the chains alone,
//   - RHatNested (Margossian et al. 2024), for many short chains.
//
// Ranks do not merge: the quantiles and ESSBulk and ESSTail have the error
// [ErrRanks].
//
// The zero value is empty and takes over what is merged into it. Only [Tally.Observe] takes
// locks.
type Tally struct {
	run   run
	done  spans // finished chains
	rows  []tallied
	moves actions
	bits  digest

	record *recorder // of one that draws are shown to
}

// run is what tallies must agree on.
type run struct {
	chains, draws, nested int
	seed                  uint64
	names                 []string
	logWeights            bool
	settings              []byte // a fingerprint.List, of TallyConfig.Run
}

// maxDraws bounds draws × functions, so that sizes in bytes are ints.
const maxDraws = math.MaxInt32 / 16

// ErrRanks means that a figure needs the ranks of draws among all others, which
// a [Tally] does not keep.
var ErrRanks = errors.New("ranks do not merge")

// Merge adds the chains of o, another part of the same run. Chains that t has already, a
// run with other settings, and a part whose chains do not have all of their draws are
// errors, which name what is wrong and leave t as it was. o is not changed.
//
// It takes some microseconds per function.
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

// whole returns an error unless all chains of this part have all draws.
func (t *Tally) whole() error {
	if t.record == nil {
		return nil
	}
	return t.record.unfinished(t.done)
}

// agree returns an error that names the first setting in which r and o differ,
// and otherwise the settings to keep: of two that agree to rounding, those that
// come first as bytes.
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

// SameRun returns an error that names what differs if t and o are of different runs and
// so cannot be merged, whichever chains they count.
func (t *Tally) SameRun(o *Tally) error {
	if o == nil || o.empty() || t.empty() {
		return errors.New("diagnose: Tally.SameRun: a tally is empty")
	}
	if _, err := t.run.agree(&o.run); err != nil {
		return fmt.Errorf("diagnose: Tally.SameRun: %w", err)
	}
	return nil
}

// Covers reports whether the finished chains that t counts are first …
// first+count−1, no more and no fewer.
func (t *Tally) Covers(first, count int) bool {
	return len(t.done) == 1 && t.done[0] == span{first, first + count}
}

// Chains returns the number of finished chains that t counts.
func (t *Tally) Chains() int { return t.done.chains() }

// Digest returns 64 hexadecimal digits that identify what t observed: the values of every
// function at every draw of every chain, and the states at their last draws. It does not
// depend on the order of merging. Two runs with equal digests had the same bits.
func (t *Tally) Digest() string { return t.bits.String() }

// Missing returns an error that names the chains of the run that t does not
// count, nil if it counts them all.
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

// Summary returns the figures of the chains that t counts. If some of the run's are
// missing, it also returns an error that names them.
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

// LogMeanExp returns log((1/n) Σ exp(l)) over the n chains that t counts, where l, the
// values of the first function, are log-weights. With TallyConfig.LogWeights a tally
// keeps Σ exp(l) and Σ exp(2l) in exact sums, whatever the size of l, so parts merged in
// any order give the same bits. stdErr is the relative standard error of the mean of the
// weights, to first order the standard error of its logarithm; it is 0, without meaning,
// for one chain. ess is (Σw)²/Σw².
//
// Errors: a tally that does not keep them, a log-weight that is NaN, +Inf or beyond
// ±2²⁸, no positive weight (where mean is −Inf), and [Tally.Missing].
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

// TallyConfig names the run and the chains that a [Tally] counts. Draws is required.
type TallyConfig struct {
	Chains int    // of the whole run; 0 means 4
	First  int    // number of the first chain of this part
	Count  int    // chains of this part; 0 means all from First on
	Draws  int    // per chain, ≥ 1
	Seed   uint64 // of the run

	// Nested is the number of consecutive chains that begin in the same state;
	// 0 means 1. It divides Chains, First and Count.
	Nested int

	// LogWeights declares the value of the first function to be the logarithm of a
	// chain's weight, −Inf included, see [Tally.LogMeanExp]. Draws is then 1.
	LogWeights bool

	// Run is what the draws depend on in addition to Chains and Seed, such as the name of
	// a model and its arguments. Parts with another Run are refused. It is compared as
	// checkpoints compare settings, see [sampler.Method]; languages by content if Run is
	// [energy.Shaped].
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

// NewTally returns a tally of functions of the state for the chains that cfg names;
// [Tally.Observe] feeds it. The functions are called as by [NewTrace]. Their names are
// f1, f2, … unless [Tally.Name] sets others. Errors: a nil function and settings out of
// range.
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

// Name names the functions and returns t. It panics unless there is one name for
// each function, none of them empty or with a comma or a line break.
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

// RealTally is [NewTally] for functions of real states: a tally and the observer
// that feeds it.
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
