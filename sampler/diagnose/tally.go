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

// Tally holds the statistics of a part of a run, which can be merged with those of other parts.
// Chains may run anywhere: their tallies, merged in any order, have the same bits as one tally of
// all chains. A Tally takes some 5 KB per function, however many chains there are.
//
//	part, err := diagnose.NewTally(diagnose.TallyConfig{Chains: 1_000_000, First: 4096, Count: 1024, Draws: 96}, f)
//	// … run these chains with Observe: part.Observe; then, where the parts are collected,
//	var all diagnose.Tally
//	err = all.Merge(part) // for each part
//	s, err := all.Summary()
//
// Every chain adds these numbers to exact sums: the means of its halves, their squares and their
// autocovariances at lags below 64; its own mean and the square of that mean; and its variance. In
// the [Row] of a function, the sums give
//
//   - Mean and SD of all draws,
//   - RHat as the split R-hat without ranks (Gelman et al. 2013, section 11.4),
//   - ESSMean as [ESSMean] and MCSE as [MCSEMean] if the sum over lags ends below lag 64; otherwise
//     ESSMean is (SD/MCSEChains)², capped like [ESSMean] at n·log₁₀ n for n draws, and MCSE is
//     SD/√ESSMean,
//   - MCSEChains, the error from the means of the chains alone,
//   - RHatNested (Margossian et al. 2024), for many short chains.
//
// Ranks cannot be merged: the quantiles, ESSBulk and ESSTail have the error [ErrRanks].
//
// The zero value is empty and takes its settings from the first tally merged into it. Only
// [Tally.Observe] takes locks.
type Tally struct {
	run   run
	done  spans // finished chains
	rows  []tallied
	moves actions
	bits  digest

	record *recorder // of one that draws are shown to
}

// run holds the settings on which tallies must agree.
type run struct {
	chains, draws, nested int
	seed                  uint64
	names                 []string
	logWeights            bool
	settings              []byte // a fingerprint.List, of TallyConfig.Run
}

// maxDraws limits draws × functions, so that sizes in bytes fit an int.
const maxDraws = math.MaxInt32 / 16

// ErrRanks means that a figure needs the ranks of draws among all other draws, which a [Tally] does
// not keep.
var ErrRanks = errors.New("ranks do not merge")

// Merge adds the chains of o, another part of the same run. It returns an error that names what is
// wrong, and leaves t unchanged, if t has some of the chains already, if o belongs to a run with
// other settings, or if chains of either do not have all of their draws. Merge does not change o.
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

// agree returns an error that names the first setting in which r and o differ. If there is none, it
// returns the settings to keep: of two that agree up to rounding, those whose bytes compare
// smaller.
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

// SameRun returns an error that names the difference if t and o belong to different runs and so
// cannot be merged. It does not matter which chains they count.
func (t *Tally) SameRun(o *Tally) error {
	if o == nil || o.empty() || t.empty() {
		return errors.New("diagnose: Tally.SameRun: a tally is empty")
	}
	if _, err := t.run.agree(&o.run); err != nil {
		return fmt.Errorf("diagnose: Tally.SameRun: %w", err)
	}
	return nil
}

// Covers reports whether the finished chains that t counts are exactly the chains first …
// first+count−1.
func (t *Tally) Covers(first, count int) bool {
	return len(t.done) == 1 && t.done[0] == span{first, first + count}
}

// Chains returns the number of finished chains that t counts.
func (t *Tally) Chains() int { return t.done.chains() }

// Digest returns 64 hexadecimal digits that identify what t observed: the values of every function
// at every draw of every chain, and the states at the last draws. The digest does not depend on the
// order of merging. Two runs with equal digests had the same bits.
func (t *Tally) Digest() string { return t.bits.String() }

// Missing returns an error that names the chains of the run that t does not count, or nil if t
// counts all chains.
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

// Summary returns the figures of the chains that t counts. If chains of the run are missing, it
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

// LogMeanExp returns log((1/n) Σ exp(l)) over the n chains that t counts, where l, the values of
// the first function, are log-weights. With TallyConfig.LogWeights a tally keeps Σ exp(l) and
// Σ exp(2l) in exact sums, whatever the size of l, so parts merged in any order give the same bits.
// stdErr is the relative standard error of the mean of the weights, which is to first order the
// standard error of its logarithm; for a single chain it is 0, which means nothing. ess is
// (Σw)²/Σw².
//
// It returns an error if the tally does not keep these sums, if a log-weight is NaN, +Inf or beyond
// ±2²⁸, or if no weight is positive (mean is then −Inf), and the error of [Tally.Missing].
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

// TallyConfig specifies the run and the chains that a [Tally] counts. Draws is required.
type TallyConfig struct {
	Chains int    // of the whole run; 0 means 4
	First  int    // number of the first chain of this part
	Count  int    // chains of this part; 0 means all from First on
	Draws  int    // per chain, ≥ 1
	Seed   uint64 // of the run

	// Nested is the number of consecutive chains that start in the same state; 0 means 1. Nested
	// must divide Chains, First and Count.
	Nested int

	// LogWeights declares that the value of the first function is the logarithm of a chain's
	// weight, which may be −Inf, see [Tally.LogMeanExp]. Draws must then be 1.
	LogWeights bool

	// Run is what the draws depend on in addition to Chains and Seed, such as the name of a model
	// and its arguments. Merge rejects parts with a different Run. Runs are compared as checkpoints
	// compare settings, see [sampler.Method]; languages are compared by content if Run is
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

// NewTally returns a tally of functions of the state for the chains that cfg specifies.
// [Tally.Observe] records their draws. The functions are called as [NewTrace] calls its own. Their
// names are f1, f2, … unless [Tally.Name] sets others. It returns an error if a function is nil or
// a setting is out of range.
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

// Name names the functions and returns t. It panics if the number of names differs from the number
// of functions, or if a name is empty or contains a comma or a line break.
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

// RealTally is [NewTally] for functions of real states. It returns a tally and the observer that
// records draws in it.
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
