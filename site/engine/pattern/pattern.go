// Package pattern is the tab of the playground that counts and draws strings matching a regular
// expression.
package pattern

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/prior"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/site/engine"
	"github.com/gibbsite-go/gibbsite/site/engine/letters"
)

// Pattern requests random strings that match a regular expression.
type Pattern struct {
	Pattern string // regular expression
	Length  int    // number of characters
	UpTo    bool   // whether shorter strings are allowed as well
	Fixed   string // one rune per position, · where the position is free
	Model   string // "uniform", or "text" for a distribution learned from the lines of Text
	// text from which the model "text" is learned; "" for a built-in English text
	Text    string
	Seed    uint64
	Samples int
}

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
	Digest    string      // hash of the samples
	MS        float64     // time of the call in milliseconds
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
		return nil, engine.Explain(err)
	}
	if l.path, err = (projection.Path{Language: l.automaton, Name: "the pattern"}).Compile(ctx, q.Length, k); err != nil {
		return nil, engine.Explain(err)
	}
	l.weights = make([]float32, q.Length*k)
	for i, r := range []rune(q.Fixed) {
		if r == letters.Free || i >= q.Length {
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

// narrow compiles the pattern over only the runes that occur in its strings, which makes sums
// over runes shorter. The language and the order of its strings do not change.
func (q Pattern) narrow(ctx context.Context) (*language, []rune, error) {
	alphabet := letters.Runes(q.Pattern + q.Fixed)
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
		return nil, nil, engine.Explain(err)
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
	return errors.Join(engine.Within("length", q.Length, 1, 64), engine.Within("samples", q.Samples, 1, 1000))
}

// Tab registers the calls that count and draw strings matching a regular expression.
func Tab(e *engine.Engine) {
	engine.Handle(e, "strings", Strings)
	engine.HandleProgram(e, "strings", Pattern.program)
}

// Strings counts the strings that match a pattern, draws random ones, and computes the probability
// of every rune at every position.
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
		return nil, engine.Explain(err)
	}
	r := &Strung{Count: n.String(), States: l.automaton.States()}
	logZ, err := l.path.LogZ(ctx, l.weights)
	if err != nil {
		return nil, engine.Explain(err)
	}
	r.Bits = logZ / math.Ln2

	x, k := make([]int32, q.Samples*q.Length), len(l.vocabulary.Tokens)
	source := sampler.NewStream(q.Seed, 0)
	marginals := l.path.Marginals
	if q.Model == "uniform" {
		if _, err := l.path.Sample(ctx, x, l.weights, source); err != nil {
			return nil, engine.Explain(err)
		}
		h, err := l.path.Entropy(ctx, l.weights)
		if err != nil {
			return nil, engine.Explain(err)
		}
		r.Entropy = h / math.Ln2
	} else {
		p, err := q.prior(ctx, l, alphabet)
		if err != nil {
			return nil, err
		}
		marginals, r.Estimated = p.Marginals, true
		if r.Entropy, err = letters.Draw(ctx, p, x, l.weights, source); err != nil {
			return nil, err
		}
	}
	for s := range q.Samples {
		r.Samples = append(r.Samples, l.vocabulary.Text(x[s*q.Length:(s+1)*q.Length]))
	}
	r.Digest = engine.Digest(x)

	m := make([]float64, q.Length*k)
	if err := marginals(ctx, m, l.weights); err != nil {
		return nil, engine.Explain(err)
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
	r.MS = engine.Milliseconds(began)
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
	return p, engine.Explain(err)
}

func (q Pattern) program(ctx context.Context) (*engine.Source, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	_, alphabet, err := q.narrow(ctx)
	if err != nil {
		return nil, err
	}
	p := &engine.Source{}
	p.Use("constraint", "constraint/text", "projection", "sampler")
	p.Add("\tconst length = %d\n\talphabet := []rune(%q)\n\tv := text.Runes(string(alphabet))", q.Length, string(alphabet))
	if q.UpTo {
		p.Add(`
	v.Padding = []int32{int32(len(alphabet))} // fills up shorter strings
	v.Tokens = append(v.Tokens, "")`)
	}
	p.Add(`
	language, err := text.Regexp(ctx, %q, v, constraint.Limits{})
	check
	p, err := projection.Path{Language: language}.Compile(ctx, length, len(v.Tokens))
	check
	weights := make([]float32, length*len(v.Tokens)) // 0: all alike`, q.Pattern)
	if strings.Trim(q.Fixed, string(letters.Free)) != "" {
		p.Use(".math")
		p.Add(`
	// A character that is fixed forbids all others there; · is free.
	for i, fixed := range []rune(%q) {
		for t, token := range v.Tokens {
			if i < length && fixed != '·' && token != string(fixed) {
				weights[i*len(v.Tokens)+t] = float32(math.Inf(-1))
			}
		}
	}`, q.Fixed)
	}
	p.Add(`
	n, err := p.Count(ctx, weights)
	check
	fmt.Println(n, "strings")
	source := sampler.NewStream(%d, 0)`, q.Seed)
	from := "p"
	if q.Model == "text" {
		from = "c"
		letters.AddTo(p)
		lines, model := "English", "Learn(lines, alphabet, Fine, float64(max(2, length*2/3)))"
		if strings.TrimSpace(q.Text) != "" {
			lines = fmt.Sprintf(`strings.Split(%q, "\n")`, q.Text)
		}
		if !q.UpTo {
			model = "WithoutEnd(" + model + ")"
		}
		p.Add(`
	lines := %s
	model := %s
	c, err := prior.Path{HMM: model, Language: language, Limit: 1 << 25}.Compile(ctx, length, len(v.Tokens))
	check`, lines, model)
	}
	p.Add(`
	x := make([]int32, length)
	for range %d {
		_, err := %s.Draw(ctx, x, weights, source)
		check
		fmt.Printf("%%q\n", v.Text(x))
	}`, q.Samples, from)
	return p, nil
}
