package projection

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/big"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/lead"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// PathProjection is a [Path] compiled for given numbers of sites and levels. It projects onto the
// language of the Path or conditions on it. In all methods, v holds log-weights (sites × levels,
// row-major). They define the factorised distribution
//
//	p(x) = ∏_i p_i(x_i),  p_i = softmax(v_i).
//
// Adding a constant to a row changes nothing, and −Inf marks an impossible token. A nil v means
// zeros, which is the uniform distribution.
//
// If no sequence of the language has positive probability, methods return an *[InfeasibleError].
// For a NaN or +Inf in v they return a *[WeightError]. If ctx ends, they return its cause. Methods
// panic if a slice has the wrong length. A PathProjection is safe for concurrent use. After the
// first calls, only KBest, Ascending, Count, Mean, Entropy and work on nested languages allocate.
type PathProjection struct {
	name          string
	program       program
	sites, levels int
	rule          lead.Rule

	zeros func() []float32 // returns the zeros that a nil v stands for
	free  scratch.Stock[work]
}

// work is the scratch of one call.
type work struct {
	run runner
	row *lead.Row
	x   []int32

	of    *PathProjection // projection whose row is loaded, and its log-weights
	v     []float32
	table []float64 // prices of all tokens of the row, nil if they are computed one by one
	clean []float32 // copy of a row in which NaN and +Inf are replaced by −Inf

	cleaned bool // true if some row needed such a copy
}

// tableShare is the number of tokens per class up to which all tokens are priced at once. For
// more tokens per class, pricing one token of each class is cheaper (BenchmarkNearest).
const tableShare = 4

// take returns scratch that no other call uses, and makes it watch ctx. If ctx has ended, it
// returns the cause.
func (e *PathProjection) take(ctx context.Context) (*work, error) {
	if poll.Err(ctx) != nil {
		return nil, context.Cause(ctx)
	}
	w := e.free.Take(func() *work { return &work{run: e.program.runner()} })
	w.run.Watch(ctx)
	return w, nil
}

// give returns scratch for reuse.
func (e *PathProjection) give(w *work) {
	w.run.Unwatch()
	e.free.Give(w)
}

// weights checks the length of v and returns v. If v is nil, weights returns zeros.
func (e *PathProjection) weights(v []float32) []float32 {
	if v == nil {
		return e.zeros()
	}
	check.Len("projection", "v", len(v), e.sites*e.levels)
	return v
}

// Shape returns the number of sites and of levels.
func (e *PathProjection) Shape() (sites, levels int) { return e.sites, e.levels }

// Draw stores in x0 an exact draw from the factorised distribution p with the log-weights v,
// restricted to the language C:
//
//	P(x) = p(x)·1[x ∈ C] / p(C).
//
// Draw returns log Z, where Z is the total weight of the language under the unnormalised weights
// exp(v). If the rows of v are normalised, log Z is the log-probability log p(C) of the language.
// Draw does not modify v.
func (e *PathProjection) Draw(ctx context.Context, x0 []int32, v []float32, src rand.Source) (logZ float64, err error) {
	check.Len("projection", "x0", len(x0), e.sites)
	return e.Sample(ctx, x0, v, src)
}

// DrawGiven is like [PathProjection.Draw] with some tokens fixed. On entry, x0 holds the fixed
// tokens, and −1 at all other sites. In log Z, a fixed token has the log-weight 0. The row of v at
// a fixed site is not read and may be overwritten.
func (e *PathProjection) DrawGiven(ctx context.Context, x0 []int32, v []float32, src rand.Source) (logZ float64, err error) {
	check.Len("projection", "x0", len(x0), e.sites)
	if v == nil {
		v = make([]float32, e.sites*e.levels) // rows are written to
	}
	check.Len("projection", "v", len(v), e.sites*e.levels)
	for i, token := range x0 {
		if int(token) >= e.levels {
			panic(fmt.Sprintf("projection: x0[%d] = %d, want < %d", i, token, e.levels))
		}
	}
	w, err := e.take(ctx)
	if err != nil {
		return 0, err
	}
	defer e.give(w)
	if logZ, err = w.run.FilterGiven(v, x0); err != nil {
		return 0, explain(e.name, err)
	}
	w.run.Draw(x0, src)
	return logZ, nil
}

// Self returns the receiver. If a type embeds a *PathProjection, its method Self still returns the
// *PathProjection and not the type. Callers of DrawGiven can thus detect such a type. It may have
// its own Draw, which DrawGiven does not call.
func (e *PathProjection) Self() any { return e }

// Sample stores len(dst)/sites independent exact draws in dst, one after the other. Each is
// distributed as in [PathProjection.Draw]. The sums are computed only once.
func (e *PathProjection) Sample(ctx context.Context, dst []int32, v []float32, src rand.Source) (logZ float64, err error) {
	if len(dst)%e.sites != 0 {
		panic(fmt.Sprintf("projection: len(dst) = %d, want a multiple of %d", len(dst), e.sites))
	}
	v = e.weights(v)
	w, err := e.take(ctx)
	if err != nil {
		return 0, err
	}
	defer e.give(w)
	if logZ, err = w.run.Filter(v); err != nil {
		return 0, explain(e.name, err)
	}
	for ; len(dst) > 0; dst = dst[e.sites:] {
		if poll.Err(ctx) != nil {
			return 0, context.Cause(ctx)
		}
		w.run.Draw(dst[:e.sites], src)
	}
	return logZ, nil
}

// DrawUntil repeats [PathProjection.Draw] until the function accept returns true for the draw. It
// makes at most the given number of trials. It stores the last draw in x0. The result ok reports
// whether accept returned true. The sums over the language are computed only once. The function
// accept must not keep its argument.
func (e *PathProjection) DrawUntil(ctx context.Context, x0 []int32, v []float32, src rand.Source, trials int, accept func(x []int32) bool) (logZ float64, ok bool, err error) {
	check.Len("projection", "x0", len(x0), e.sites)
	v = e.weights(v)
	w, err := e.take(ctx)
	if err != nil {
		return 0, false, err
	}
	defer e.give(w)
	if logZ, err = w.run.Filter(v); err != nil {
		return 0, false, explain(e.name, err)
	}
	for range trials {
		if poll.Err(ctx) != nil {
			return 0, false, context.Cause(ctx)
		}
		w.run.Draw(x0, src)
		if accept(x0) {
			return logZ, true, nil
		}
	}
	return logZ, false, nil
}

// LogZ returns log Σ_{x ∈ C} ∏_i exp(v[i,x_i]), where C is the language. Its error is below 1e-12
// per site. The log Z that Draw returns may be off by 1e-7 per site, because Draw adds up large
// classes of tokens in float32.
func (e *PathProjection) LogZ(ctx context.Context, v []float32) (float64, error) {
	v = e.weights(v)
	w, err := e.take(ctx)
	if err != nil {
		return 0, err
	}
	defer e.give(w)
	logZ, err := w.run.FilterExact(v)
	return logZ, explain(e.name, err)
}

// MAP stores in x the likeliest sequence of the language and returns its log-weight Σ_i
// v[i,x_i]. Among equally likely sequences, it chooses the first in lexicographic order.
func (e *PathProjection) MAP(ctx context.Context, x []int32, v []float32) (logWeight float64, err error) {
	check.Len("projection", "x", len(x), e.sites)
	v = e.weights(v)
	w, err := e.take(ctx)
	if err != nil {
		return 0, err
	}
	defer e.give(w)
	logWeight, err = w.run.MAP(x, v)
	return logWeight, explain(e.name, err)
}

// Marginals stores in dst (sites × levels) the probabilities P(x_i = l | x ∈ C), where C is the
// language.
func (e *PathProjection) Marginals(ctx context.Context, dst []float64, v []float32) error {
	err := e.LogMarginals(ctx, dst, v)
	if err == nil {
		for i, log := range dst {
			dst[i] = simd.Exp(log)
		}
	}
	return err
}

// LogMarginals stores in dst (sites × levels) the log-probabilities log P(x_i = l | x ∈ C), where C
// is the language. Unlike [PathProjection.Marginals], it represents probabilities that are too
// small for a float64. −Inf marks a token that cannot occur.
func (e *PathProjection) LogMarginals(ctx context.Context, dst []float64, v []float32) error {
	check.Len("projection", "dst", len(dst), e.sites*e.levels)
	v = e.weights(v)
	w, err := e.take(ctx)
	if err != nil {
		return err
	}
	defer e.give(w)
	if _, err := w.run.FilterExact(v); err != nil {
		return explain(e.name, err)
	}
	return w.run.Marginals(dst)
}

// KBest yields the sequences of the language in descending order of log-weight, each with its
// log-weight. Sequences of probability zero are left out. The yielded slice is overwritten by the
// next step. The table v must not change during the iteration. The iteration stops early if ctx
// ends.
func (e *PathProjection) KBest(ctx context.Context, v []float32) (iter.Seq2[[]int32, float64], error) {
	v = e.weights(v)
	w, err := e.take(ctx)
	if err != nil {
		return nil, err
	}
	defer e.give(w)
	seq, err := w.run.Descending(v)
	return until(ctx, seq), explain(e.name, err)
}

// until returns the iteration seq, except that it stops once ctx has ended.
func until(ctx context.Context, seq iter.Seq2[[]int32, float64]) iter.Seq2[[]int32, float64] {
	if seq == nil {
		return nil
	}
	return func(yield func([]int32, float64) bool) {
		for x, w := range seq {
			if poll.Err(ctx) != nil || !yield(x, w) {
				return
			}
		}
	}
}

// Ascending yields the sequences of the language in ascending order of cost, each with its total
// cost Σ_i cost[i,x_i]. A cost may be any number, and +Inf forbids the token. The yielded slice is
// overwritten by the next step. Do not change cost during the iteration. The iteration stops early
// if ctx ends.
func (e *PathProjection) Ascending(ctx context.Context, cost []float64) (iter.Seq2[[]int32, float64], error) {
	check.Len("projection", "cost", len(cost), e.sites*e.levels)
	w, err := e.take(ctx)
	if err != nil {
		return nil, err
	}
	defer e.give(w)
	seq, err := w.run.Ascending(cost)
	return until(ctx, seq), explain(e.name, err)
}

// Count returns the number of sequences in the language that have no token of log-weight −Inf.
// If v is nil, it counts all sequences of the language.
func (e *PathProjection) Count(ctx context.Context, v []float32) (*big.Int, error) {
	if v != nil {
		check.Len("projection", "v", len(v), e.sites*e.levels)
	}
	return e.program.Count(ctx, v)
}

// Automaton returns the compiled language, unrolled over the sites, for combination with other
// languages. Padding is an ordinary token in it. If the language is nested, Automaton returns the
// language itself, and ignores masks.
func (e *PathProjection) Automaton() constraint.Automaton { return e.program.automaton() }

// String returns the field Name of the Path if it is set, and otherwise the name or type of the
// language.
func (e *PathProjection) String() string { return e.name }

// Accepts reports whether x is in the language.
func (e *PathProjection) Accepts(x []int32) bool {
	check.Len("projection", "x", len(x), e.sites)
	return e.program.Accepts(x)
}

// Project replaces v by the factorised distribution that is nearest to v and whose likeliest
// sequence is in the language: see [PathProjection.Nearest]. The returned violation is always 0.
// The arguments sample, start, end and src are ignored.
func (e *PathProjection) Project(ctx context.Context, sample int, v []float32, start, end float64, src rand.Source) (violation float64, err error) {
	check.Len("projection", "v", len(v), e.sites*e.levels)
	w, err := e.take(ctx)
	if err != nil {
		return 0, err
	}
	defer e.give(w)
	if w.x == nil {
		w.x = make([]int32, e.sites)
	}
	_, err = e.nearest(w, w.x, v)
	return 0, err
}

// Nearest replaces the factorised distribution p with the log-weights v by the nearest factorised
// distribution y whose likeliest sequence is in the language,
//
//	argmin_y Σ_i KL(p_i‖y_i)  (or Σ_i KL(y_i‖p_i) if the Divergence of the Path is Reverse).
//
// It stores the log-probabilities of y in v and the likeliest sequence of y in x, and returns the
// divergence in nats. With the margin κ of the Path, x must also satisfy y_i(x_i) ≥ κ·y_i(l) for
// all sites i and levels l ≠ x_i. Rows that already satisfy this are unchanged. A NaN or +Inf at a
// token that the language cannot use at that site counts as −Inf. If Nearest returns an error, v is
// unchanged.
//
// Source: Cardei et al. (2025).
func (e *PathProjection) Nearest(ctx context.Context, x []int32, v []float32) (divergence float64, err error) {
	check.Len("projection", "x", len(x), e.sites)
	check.Len("projection", "v", len(v), e.sites*e.levels)
	w, err := e.take(ctx)
	if err != nil {
		return 0, err
	}
	defer e.give(w)
	return e.nearest(w, x, v)
}

func (e *PathProjection) nearest(w *work, x []int32, v []float32) (float64, error) {
	if w.row == nil {
		w.row = lead.New(e.levels, e.rule)
		if e.program.classes()*tableShare >= e.levels {
			w.table = make([]float64, e.levels)
		}
	}
	w.of, w.v, w.cleaned = e, v, false
	divergence, err := w.run.CheapestBy(x, v, w)
	if err != nil {
		return 0, explain(e.name, err)
	}
	for i, token := range x {
		row := v[i*e.levels : (i+1)*e.levels]
		if !w.cleaned && w.row.Satisfied(row, token) {
			continue
		}
		clean, _, _ := w.load(i)
		copy(row, clean)
		if !w.row.Satisfied(row, token) {
			w.row.Pool(row, token)
		}
	}
	return divergence, nil
}

// load loads row i and returns it. A NaN or +Inf counts as −Inf if the language cannot use the
// token at the site. The result bad is the index of any other NaN or +Inf, or −1. The result ok is
// false if the row cannot be used.
func (w *work) load(i int) (row []float32, bad int, ok bool) {
	levels := w.of.levels
	row = w.v[i*levels : (i+1)*levels]
	if bad, ok = w.row.Load(row); bad < 0 {
		return row, bad, ok
	}
	w.cleaned = true
	w.clean = append(w.clean[:0], row...)
	for l, x := range row {
		if (x != x || x > math.MaxFloat32) && !w.of.program.Usable(i, int32(l)) {
			w.clean[l] = float32(math.Inf(-1))
		}
	}
	bad, ok = w.row.Load(w.clean)
	return w.clean, bad, ok
}

// Site normalises row i of the log-weights, for the calls of Price that follow. If many tokens will
// be priced, it computes the costs of all tokens at once. It implements [trellis.Pricer].
func (w *work) Site(i int) error {
	row, bad, ok := w.load(i)
	switch {
	case ok && w.table != nil:
		w.row.Costs(w.table)
		return nil
	case ok:
		return nil
	case bad >= 0:
		return &WeightError{Site: i, Level: bad, Weight: float64(row[bad])}
	}
	return &algebra.DeadError{Site: i}
}

// Price returns the divergence that results from making token the most likely one in the current
// row. It implements [trellis.Pricer].
func (w *work) Price(token int32) float64 {
	if w.table != nil {
		return w.table[token]
	}
	return w.row.Price(token)
}

// LogProb returns log P(x | x ∈ C) in nats, where C is the language. It returns −Inf if x is
// not in the language or has a token of log-weight −Inf. It panics if a token is not in 0 …
// levels−1.
func (e *PathProjection) LogProb(ctx context.Context, x []int32, v []float32) (float64, error) {
	check.Len("projection", "x", len(x), e.sites)
	v = e.weights(v)
	sum := 0.0
	for i, token := range x {
		check.Index("projection", "token", int(token), e.levels)
		sum += float64(v[i*e.levels+int(token)])
	}
	logZ, err := e.LogZ(ctx, v)
	if err != nil {
		return 0, err
	}
	if math.IsInf(sum, -1) || !e.Accepts(x) {
		return math.Inf(-1), nil
	}
	return sum - logZ, nil
}

// Mean returns the expected value of a sum over the sites, given that the sequence is in the
// language C:
//
//	E[Σ_i f[i,x_i] | x ∈ C] = Σ_{i,l} P(x_i = l | x ∈ C)·f[i,l],
//
// where f is sites × levels, in any unit. Values of f at tokens that cannot occur are ignored.
func (e *PathProjection) Mean(ctx context.Context, f []float64, v []float32) (float64, error) {
	check.Len("projection", "f", len(f), e.sites*e.levels)
	p := make([]float64, len(f))
	if err := e.Marginals(ctx, p, v); err != nil {
		return 0, err
	}
	sum := 0.0
	for i, q := range p {
		if q > 0 {
			sum += float64(q * f[i])
		}
	}
	return sum, nil
}

// Entropy returns the entropy in nats of the distribution P of [PathProjection.Draw], which is
// restricted to the language C:
//
//	H = −Σ_{x ∈ C} P(x) log P(x) = log Z − E[Σ_i v[i,x_i] | x ∈ C],
//
// where log Z is the result of [PathProjection.LogZ].
func (e *PathProjection) Entropy(ctx context.Context, v []float32) (float64, error) {
	v = e.weights(v)
	w, err := e.take(ctx)
	if err != nil {
		return 0, err
	}
	defer e.give(w)
	logZ, err := w.run.FilterExact(v)
	if err != nil {
		return 0, explain(e.name, err)
	}
	p := make([]float64, e.sites*e.levels)
	if err := w.run.Marginals(p); err != nil {
		return 0, err
	}
	// Weights relative to that of the likeliest token of their site: large ones would
	// cancel against log Z.
	for i := range e.sites {
		row, q := v[i*e.levels:(i+1)*e.levels], p[i*e.levels:(i+1)*e.levels]
		top := 0
		for l := range q {
			if q[l] > q[top] {
				top = l
			}
		}
		logZ -= float64(row[top])
		for l, logP := range q {
			if w := simd.Exp(logP); w > 0 {
				logZ -= float64(w * (float64(row[l]) - float64(row[top])))
			}
		}
	}
	return max(0, logZ), nil
}
