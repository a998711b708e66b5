package diagnose

import (
	"crypto/sha256"
	"encoding/hex"
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

// Observe records the state x of a chain, by its number in the run; it has the type
// [sampler.Observer]. Draws are numbered in the order of the calls; the argument draw is
// not read. Calls for one chain must not overlap; calls for different chains may.
//
// It panics if the chain is not of this part or has all its draws, and if t is not
// from [NewTally].
func (t *Tally) Observe(chain, draw int, x []int32, info *sampler.Info) {
	u := t.next(chain)
	n := t.record.draws
	for i, f := range t.record.functions {
		u.values[i*n+u.draws] = f(x)
	}
	drawn(t, chain, x, info)
}

// next returns the chain, with space for its next draw.
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

// drawn counts the draw and adds the chain to the tally if that was its last.
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

// finishGroup adds a group of chains that began in the same state to the tally, if
// they are all finished.
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

// recorder holds the draws of chains until they have all.
type recorder struct {
	first, draws, nested int
	functions            []func(x []int32) float64
	chains               []underway // of this part

	mu   sync.Mutex  // for the tally and what follows
	free [][]float64 // buffers of finished chains
}

// underway is a chain that draws are made of; one goroutine at a time uses it.
type underway struct {
	draws   int
	values  []float64 // functions × draws
	means   []float64 // of the functions, once finished, until their group is
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

// unfinished returns an error unless all chains are done.
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

// chainActions sums up the steps of one chain that ended in a draw.
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

// actions sums up those of chains; the order does not matter.
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

// digest is the sum, modulo 2⁶⁴ each, of the words of SHA-256 digests of chains:
// their order does not matter.
type digest [4]uint64

func (d *digest) add(o digest) {
	for i := range d {
		d[i] += o[i]
	}
}

// digestOf returns the digest of one chain: of its number, its draws and the state
// of the last draw.
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
