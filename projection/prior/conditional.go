package prior

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Conditional is a [Path] compiled for given numbers of sites and levels, that is, a hidden Markov
// model restricted to a language. Its methods compute with the distribution
//
//	P(x) ∝ p(x)·∏_i exp(v[i,x_i])·1[x ∈ C],
//
// where p is the hidden Markov model, C the language, and v holds log-weights (sites × levels,
// row-major). A log-weight of −Inf marks an impossible token. Zeros, or a nil v, leave the model
// unchanged.
//
// Methods return an *[projection.InfeasibleError] if no sequence has positive weight, and a
// *[projection.WeightError] for a NaN or +Inf among tokens of the model. If ctx ends, they return
// its cause. They panic if a slice has the wrong length. A Conditional is immutable and safe for
// concurrent use. For L sites, V tokens in K classes, H hidden states and Q automaton states, a sum
// over the language takes L·(V·H + H²·Q + H·Q·K) multiplications.
type Conditional struct {
	program

	free scratch.Stock[work]
}

// take returns scratch that no other call uses, and makes it watch ctx.
func (c *Conditional) take(ctx context.Context) (*work, error) {
	w := c.free.Take(func() *work { return newWork(&c.program) })
	w.meter.Watch(ctx)
	if err := w.meter.Poll(); err != nil {
		c.give(w)
		return nil, err
	}
	return w, nil
}

func (c *Conditional) give(w *work) {
	w.v = nil
	w.meter.Unwatch()
	c.free.Give(w)
}

// Shape returns the number of sites and of levels.
func (c *Conditional) Shape() (sites, levels int) { return c.sites, c.levels }

// String returns the name of the language, as errors show it.
func (c *Conditional) String() string { return c.name }

// LogZ returns log Σ_{x∈C} p(x)·∏_i exp(v[i,x_i]), where p is the hidden Markov model and C the
// language. For v = 0 this is the log-probability of the language.
func (c *Conditional) LogZ(ctx context.Context, v []float32) (float64, error) {
	v = c.weights(v)
	w, err := c.take(ctx)
	if err != nil {
		return 0, err
	}
	defer c.give(w)
	return w.filter(v)
}

// Draw stores in x0 an exact draw from the distribution P of [Conditional], and returns the result
// of [Conditional.LogZ]. Draw does not modify v and uses three random numbers per site.
func (c *Conditional) Draw(ctx context.Context, x0 []int32, v []float32, src rand.Source) (logZ float64, err error) {
	check.Len("prior", "x0", len(x0), c.sites)
	return c.Sample(ctx, x0, v, src)
}

// Sample stores len(dst)/sites independent exact draws in dst, one after the other, and returns log
// Z. Each is distributed as in [Conditional.Draw]. The sums are computed only once.
func (c *Conditional) Sample(ctx context.Context, dst []int32, v []float32, src rand.Source) (logZ float64, err error) {
	if len(dst)%c.sites != 0 {
		panic(fmt.Sprintf("prior: len(dst) = %d, want a multiple of %d", len(dst), c.sites))
	}
	v = c.weights(v)
	w, err := c.take(ctx)
	if err != nil {
		return 0, err
	}
	defer c.give(w)
	if logZ, err = w.filter(v); err != nil {
		return 0, err
	}
	for ; len(dst) > 0; dst = dst[c.sites:] {
		if err := w.meter.Poll(); err != nil {
			return 0, err
		}
		w.draw(dst[:c.sites], src)
	}
	return logZ, nil
}

// LogProb returns log P(x), where P is the distribution of [Conditional]. It is −Inf if x is not in
// the language or is impossible under the model.
func (c *Conditional) LogProb(ctx context.Context, x []int32, v []float32) (float64, error) {
	check.Len("prior", "x", len(x), c.sites)
	var dst [1]float64
	err := c.LogProbs(ctx, dst[:], x, v)
	return dst[0], err
}

// LogProbs stores in dst the result of [Conditional.LogProb] for every sequence in x. The sequences
// are stored in x one after the other. The sums are computed only once for all sequences.
func (c *Conditional) LogProbs(ctx context.Context, dst []float64, x []int32, v []float32) error {
	check.Len("prior", "x", len(x), len(dst)*c.sites)
	v = c.weights(v)
	w, err := c.take(ctx)
	if err != nil {
		return err
	}
	defer c.give(w)
	logZ, err := w.filter(v)
	if err != nil {
		return err
	}
	for s := range dst {
		dst[s] = w.weigh(x[s*c.sites:(s+1)*c.sites]) - logZ
		if err := w.meter.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Marginals stores in dst (sites × levels) the probabilities P(x_i = l), where P is the
// distribution of [Conditional].
func (c *Conditional) Marginals(ctx context.Context, dst []float64, v []float32) error {
	err := c.LogMarginals(ctx, dst, v)
	if err == nil {
		for i, log := range dst {
			dst[i] = simd.Exp(log)
		}
	}
	return err
}

// LogMarginals stores in dst (sites × levels) the logarithms of [Conditional.Marginals]. The
// logarithm is −Inf for tokens that cannot occur.
func (c *Conditional) LogMarginals(ctx context.Context, dst []float64, v []float32) error {
	check.Len("prior", "dst", len(dst), c.sites*c.levels)
	v = c.weights(v)
	w, err := c.take(ctx)
	if err != nil {
		return err
	}
	defer c.give(w)
	if _, err := w.filter(v); err != nil {
		return err
	}
	w.marginals(dst)
	return w.meter.Err()
}

// weights checks the length of v and returns v. If v is nil, weights returns zeros.
func (c *Conditional) weights(v []float32) []float32 {
	if v == nil {
		return make([]float32, c.sites*c.levels)
	}
	check.Len("prior", "v", len(v), c.sites*c.levels)
	return v
}

// Advance stores in dst the log-probability of every level l as the next token of a sequence that
// begins with prefix,
//
//	P(x_n = l | x_0 … x_{n−1} = prefix),  n = len(prefix) < sites.
//
// Here P is the hidden Markov model p restricted to the language. Ctrl-G conditions a language
// model q by weighting its next token l:
//
//	q(l | prefix)·P(l | prefix)/p(l | prefix).
//
// Advance returns an error if no sequence of the language begins with the prefix.
func (c *Conditional) Advance(ctx context.Context, dst []float64, prefix []int32) error {
	check.Len("prior", "dst", len(dst), c.levels)
	if len(prefix) >= c.sites {
		check.Len("prior", "prefix", len(prefix), c.sites-1)
	}
	v := make([]float32, c.sites*c.levels)
	for i, l := range prefix {
		row := v[i*c.levels : (i+1)*c.levels]
		for j := range row {
			if j != int(l) {
				row[j] = float32(math.Inf(-1))
			}
		}
	}
	all := make([]float64, c.sites*c.levels)
	if err := c.LogMarginals(ctx, all, v); err != nil {
		return err
	}
	copy(dst, all[len(prefix)*c.levels:])
	return nil
}

// Project replaces v by the log-marginals of the distribution P of [Conditional]. Of all factorised
// distributions y, the product of these marginals has the smallest KL(P‖y). The likeliest sequence
// under y need not be in the language, but draws from P always are. The returned violation is
// always 0.
func (c *Conditional) Project(ctx context.Context, sample int, v []float32, start, end float64, src rand.Source) (violation float64, err error) {
	check.Len("prior", "v", len(v), c.sites*c.levels)
	dst := make([]float64, len(v))
	if err := c.LogMarginals(ctx, dst, v); err != nil {
		return 0, err
	}
	for i, w := range dst {
		v[i] = float32(w)
	}
	return 0, nil
}
