package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/prior"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/site/engine/letters"
)

// Pattern requests random strings that match a regular expression.
type Pattern struct {
	Pattern string
	Length  int
	UpTo    bool   // whether shorter strings are allowed, too
	Fixed   string // one rune per position, · where the position is free
	Model   string // "uniform", or "text" for the distribution learned from Text
	Text    string // lines of that text; "" for a built-in English text
	Seed    uint64
	Samples int
}

// free marks a position without a fixed rune.
const free = '·'

// Strung is the reply to a [Pattern].
type Strung struct {
	Count     string  // number of strings that match and agree with Fixed
	Bits      float64 // log₂ of Count
	Entropy   float64 // entropy of the draws in bits
	Estimated bool    // whether Entropy is an estimate, the mean of −log₂ P over the draws
	States    int     // number of states of the automaton
	Samples   []string
	Alphabet  []string    // runes that can occur, in code point order
	Marginals [][]float64 // P(rune at the position), indexed by position and rune
	End       []float64   // P(the string has ended before the position); nil unless UpTo
	Digest    string
	MS        float64
}

// language is a compiled pattern.
type language struct {
	// one token per rune and, for padded strings, a last token for padding
	vocabulary text.Vocabulary
	automaton  *constraint.DFA
	path       *projection.PathProjection
	weights    []float32 // log-weights: −Inf for runes that Fixed excludes
}

func (q Pattern) compile(ctx context.Context, alphabet []rune) (*language, error) {
	l := &language{vocabulary: text.Runes(string(alphabet))}
	if q.UpTo {
		l.vocabulary.Padding = []int32{int32(len(alphabet))}
		l.vocabulary.Tokens = append(l.vocabulary.Tokens, "")
	}
	k := len(l.vocabulary.Tokens)
	var err error
	if l.automaton, err = text.Regexp(ctx, q.Pattern, l.vocabulary, constraint.Limits{States: 1 << 14, Bytes: 1 << 27}); err != nil {
		return nil, explain(err)
	}
	if l.path, err = (projection.Path{Language: l.automaton, Name: "the pattern"}).Compile(ctx, q.Length, k); err != nil {
		return nil, explain(err)
	}
	l.weights = make([]float32, q.Length*k)
	for i, r := range []rune(q.Fixed) {
		if r == free || i >= q.Length {
			continue
		}
		for t := range k {
			if t >= len(alphabet) || alphabet[t] != r {
				l.weights[i*k+t] = float32(math.Inf(-1))
			}
		}
	}
	return l, nil
}

// runes returns the alphabet of a pattern, sorted: printable ASCII and the other runes that
// occur in named.
func runes(named string) []rune {
	var a []rune
	for r := ' '; r <= '~'; r++ {
		a = append(a, r)
	}
	for _, r := range named {
		if r > '~' && r != free && r != utf8.RuneError {
			a = append(a, r)
		}
	}
	slices.Sort(a)
	return slices.Compact(a)
}

// narrow compiles the pattern over only the runes that occur in its strings, which makes sums
// over runes shorter. The language and the order of its strings do not change.
func (q Pattern) narrow(ctx context.Context) (*language, []rune, error) {
	alphabet := runes(q.Pattern + q.Fixed)
	l, err := q.compile(ctx, alphabet)
	if err != nil {
		return nil, nil, err
	}
	k := len(l.vocabulary.Tokens)
	m := make([]float64, q.Length*k)
	if err := l.path.LogMarginals(ctx, m, l.weights); err != nil {
		var infeasible *projection.InfeasibleError
		if errors.As(err, &infeasible) {
			return nil, nil, errors.New("no matching string agrees with the fixed characters: free one of them")
		}
		return nil, nil, explain(err)
	}
	var used []rune
	for t, r := range alphabet {
		for i := range q.Length {
			if !math.IsInf(m[i*k+t], -1) {
				used = append(used, r)
				break
			}
		}
	}
	l, err = q.compile(ctx, used)
	return l, used, err
}

func (q Pattern) check() error {
	if q.Model != "uniform" && q.Model != "text" {
		return fmt.Errorf("no such model: %q", q.Model)
	}
	return errors.Join(within("length", q.Length, 1, 64), within("samples", q.Samples, 1, 1000))
}

// Strings counts the matching strings, draws samples and computes the marginals.
func Strings(ctx context.Context, q Pattern) (*Strung, error) {
	began := time.Now()
	if err := q.check(); err != nil {
		return nil, err
	}
	l, alphabet, err := q.narrow(ctx)
	if err != nil {
		return nil, err
	}
	n, err := l.path.Count(ctx, l.weights)
	if err != nil {
		return nil, explain(err)
	}
	r := &Strung{Count: n.String(), States: l.automaton.States()}
	logZ, err := l.path.LogZ(ctx, l.weights)
	if err != nil {
		return nil, explain(err)
	}
	r.Bits = logZ / math.Ln2

	x, k := make([]int32, q.Samples*q.Length), len(l.vocabulary.Tokens)
	source := sampler.NewStream(q.Seed, 0)
	marginals := l.path.Marginals
	if q.Model == "uniform" {
		if _, err := l.path.Sample(ctx, x, l.weights, source); err != nil {
			return nil, explain(err)
		}
		h, err := l.path.Entropy(ctx, l.weights)
		if err != nil {
			return nil, explain(err)
		}
		r.Entropy = h / math.Ln2
	} else {
		p, err := q.prior(ctx, l, alphabet)
		if err != nil {
			return nil, err
		}
		marginals, r.Estimated = p.Marginals, true
		if r.Entropy, err = drawEach(ctx, p, x, l.weights, source); err != nil {
			return nil, err
		}
	}
	for s := range q.Samples {
		r.Samples = append(r.Samples, l.vocabulary.Text(x[s*q.Length:(s+1)*q.Length]))
	}
	r.Digest = digest(x)

	m := make([]float64, q.Length*k)
	if err := marginals(ctx, m, l.weights); err != nil {
		return nil, explain(err)
	}
	for _, a := range alphabet {
		r.Alphabet = append(r.Alphabet, string(a))
	}
	for i := range q.Length {
		r.Marginals = append(r.Marginals, m[i*k:i*k+len(alphabet)])
		if q.UpTo {
			r.End = append(r.End, m[i*k+k-1])
		}
	}
	r.MS = milliseconds(began)
	return r, nil
}

// prior returns the distribution of the text model given the pattern.
func (q Pattern) prior(ctx context.Context, l *language, alphabet []rune) (*prior.Conditional, error) {
	lines := letters.English
	if strings.TrimSpace(q.Text) != "" {
		lines = strings.Split(q.Text, "\n")
	}
	hmm := letters.Learn(lines, alphabet, letters.Fine, float64(max(2, q.Length*2/3)))
	if !q.UpTo { // no end
		hmm = letters.WithoutEnd(hmm)
	}
	p, err := prior.Path{HMM: hmm, Language: l.automaton, Name: "the pattern", Limit: 1 << 25}.Compile(ctx, q.Length, len(l.vocabulary.Tokens))
	return p, explain(err)
}

// drawEach fills x with draws. It returns the mean of −log₂ P over the draws, an estimate of the
// entropy in bits.
func drawEach(ctx context.Context, p *prior.Conditional, x []int32, weights []float32, source *sampler.Stream) (bits float64, err error) {
	sites, _ := p.Shape()
	logs := make([]float64, len(x)/sites)
	if _, err := p.Sample(ctx, x, weights, source); err != nil {
		return 0, explain(err)
	}
	if err := p.LogProbs(ctx, logs, x, weights); err != nil {
		return 0, explain(err)
	}
	for _, log := range logs {
		bits -= log / math.Ln2 / float64(len(logs))
	}
	return bits, nil
}
