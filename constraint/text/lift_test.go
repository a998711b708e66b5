package text

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// paddedText takes a sequence apart; ok is false if a special token is where it
// must not be.
func paddedText(v Vocabulary, x []int32) (s string, ok bool) {
	n := len(x)
	for n > 0 && slices.Contains(v.Padding, x[n-1]) {
		n--
	}
	for _, token := range x[:n] {
		if slices.Contains(v.Padding, token) || slices.Contains(v.Forbidden, token) {
			return "", false
		}
		s += v.Tokens[token]
	}
	return s, true
}

func TestRegexpWithPaddingAndForbiddenTokens(t *testing.T) {
	v := Vocabulary{Tokens: []string{"", "a", "ab", "b", "a", ""}, Forbidden: []int32{4}, Padding: []int32{0, 5, 0}}
	for _, pattern := range []string{`a*`, `ab*a`, `(ab)*`, `b|ab+`, ``} {
		want := regexp.MustCompile(`\A(?:` + pattern + `)\z`)
		d, err := Regexp(context.Background(), pattern, v, constraint.Limits{})
		require.NoError(t, err)
		exact.Accepts(t, d, len(v.Tokens), 5, func(x []int32) bool {
			s, ok := paddedText(v, x)
			return ok && want.MatchString(s)
		})
		exact.Minimal(t, d)
		of, _ := d.Classes(len(v.Tokens))
		require.Equal(t, of[0], of[5])
	}
	require.Equal(t, "aab", v.Text([]int32{1, 4, 2, 0, 5}))
}

func TestLift(t *testing.T) {
	// Any byte automaton will do, here "an even number of a".
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(rt, "tokens")
		v := Vocabulary{Tokens: rapid.SliceOfN(rapid.StringMatching(`[abc]{1,4}`), n, n).Draw(rt, "texts")}
		d, err := Lift(context.Background(), parity{}, v, constraint.Limits{})
		require.NoError(rt, err)
		exact.Accepts(rt, d, n, 4, func(x []int32) bool {
			count := 0
			for _, b := range v.Text(x) {
				if b == 'a' {
					count++
				}
			}
			return count%2 == 0
		})
		exact.Minimal(rt, d)
	})
}

// parity accepts texts with an even number of the byte a.
type parity struct{}

func (parity) States() int          { return 2 }
func (parity) Start() int           { return 0 }
func (parity) Accepting(s int) bool { return s == 0 }
func (parity) Next(s int, b int32) int {
	if b == 'a' {
		return 1 - s
	}
	return s
}

func TestLiftErrors(t *testing.T) {
	ctx := context.Background()
	for name, v := range map[string]Vocabulary{
		"no tokens":      {},
		"empty":          {Tokens: []string{"a", ""}},
		"forbidden":      {Tokens: []string{"a"}, Forbidden: []int32{1}},
		"padding":        {Tokens: []string{"a"}, Padding: []int32{-1}},
		"contradictory":  {Tokens: []string{"a", ""}, Padding: []int32{1}, Forbidden: []int32{1}},
		"forbidden only": {Tokens: []string{"a"}, Forbidden: []int32{0, 2}},
	} {
		var argument *constraint.ArgumentError
		_, err := Lift(ctx, constraint.Any{}, v, constraint.Limits{})
		require.ErrorAs(t, err, &argument, name)
		_, err = Regexp(ctx, `a`, v, constraint.Limits{})
		require.ErrorAs(t, err, &argument, name)
	}
	_, err := Lift(ctx, constraint.Any{}, Runes("a"), constraint.Limits{States: -1})
	require.Error(t, err)
	_, err = Lift(ctx, parity{}, Runes("a"), constraint.Limits{States: 1})
	var limit *constraint.LimitError
	require.ErrorAs(t, err, &limit)
	// Nothing but the empty text can be spelled.
	d, err := Lift(ctx, parity{}, Vocabulary{Tokens: []string{"x"}, Forbidden: []int32{0}}, constraint.Limits{})
	require.NoError(t, err)
	require.Equal(t, 1, d.States())
	require.True(t, constraint.Accepts(d, nil))

	// The byte automaton fits the limits, the lifted one does not.
	bytes, err := constraint.Compile(ctx, parity{}, 256, constraint.Limits{})
	require.NoError(t, err)
	_, err = Lift(ctx, bytes, Runes("ab"), constraint.Limits{States: 1})
	require.ErrorAs(t, err, &limit)
	require.Equal(t, "Lift: states", limit.What)
	stop := errors.New("stop")
	cancelled, cancel := context.WithCancelCause(ctx)
	cancel(stop)
	_, err = Lift(cancelled, bytes, Runes("ab"), constraint.Limits{})
	require.ErrorIs(t, err, stop)
}

// TestColumns compares the classes and the table with one column per token.
func TestColumns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		levels := rapid.IntRange(1, 8).Draw(rt, "levels")
		c := newColumns(levels)
		rows := rapid.IntRange(1, 6).Draw(rt, "rows")
		var want [][]int32
		for range rows {
			row := rapid.SliceOfN(rapid.Int32Range(-1, 2), levels, levels).Draw(rt, "row")
			want = append(want, row)
			var tokens, targets []int32
			for _, token := range rapid.Permutation(automata.Identity(levels)).Draw(rt, "order") {
				if row[token] >= 0 {
					tokens, targets = append(tokens, token), append(targets, row[token])
				}
			}
			c.add(tokens, targets)
			require.LessOrEqual(rt, len(c.col), levels)
		}
		tab := c.table(make([]bool, rows))
		for r, row := range want {
			for token, to := range row {
				require.Equal(rt, int(to), tab.Next(r, int32(token)))
			}
		}
		for k, n := range c.size {
			count := 0
			for _, class := range c.of {
				if int(class) == k {
					count++
				}
			}
			require.Equal(rt, count, int(n))
		}
		for k, column := range c.col {
			for _, other := range c.col[:k] {
				require.NotEqual(rt, other, column, "classes are as coarse as they can be")
			}
		}
	})
}

// TestLiftOfALargeVocabulary walks random texts through a vocabulary of the
// size of a language model's.
func TestLiftOfALargeVocabulary(t *testing.T) {
	v := generatedVocabulary(32768)
	want := regexp.MustCompile(`\A(?:[A-Za-z ]+[0-9]{2,5}(-[a-f]+)?)\z`)
	d, err := Regexp(context.Background(), `[A-Za-z ]+[0-9]{2,5}(-[a-f]+)?`, v, constraint.Limits{})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	of, n := d.Classes(32768)
	byClass := make([][]int32, n)
	for token, c := range of {
		byClass[c] = append(byClass[c], int32(token))
	}
	accepted := 0
	for range 2000 {
		// Choose classes, not tokens, so that long prefixes stay alive.
		var x []int32
		for s := 0; s >= 0 && len(x) < 12; {
			token := byClass[r.IntN(n)]
			x = append(x, token[r.IntN(len(token))])
			s = d.Next(s, x[len(x)-1])
			ok := s >= 0 && d.Accepting(s)
			require.Equal(t, want.MatchString(v.Text(x)), ok, "%q", v.Text(x))
			if ok {
				accepted++
			}
		}
	}
	require.Greater(t, accepted, 100)
}

// generatedVocabulary makes words of letters, digits and signs, some with a
// leading space, and all single bytes, as byte-pair encodings do.
func generatedVocabulary(n int) Vocabulary {
	r := rand.New(rand.NewPCG(7, 11))
	v := Bytes()
	syllables := []string{"a", "e", "in", "on", "er", "th", "st", "re", "é", "ü", "ing", "qu", "日", "本", "1", "20", "99", "-", "_", "Co"}
	seen := map[string]bool{}
	for len(v.Tokens) < n {
		s := ""
		if r.IntN(2) == 0 {
			s = " "
		}
		for range 1 + r.IntN(5) {
			s += syllables[r.IntN(len(syllables))]
		}
		if !seen[s] {
			seen[s] = true
			v.Tokens = append(v.Tokens, s)
		}
	}
	return v
}

func BenchmarkRegexp(b *testing.B) {
	v := generatedVocabulary(32768)
	for name, pattern := range map[string]string{
		"plate": `[A-Z]{2}[0-9]{4}(-[0-9])?`,
		"words": `([A-Za-z]+ ){3,8}[a-z]+`,
		"any":   `.{0,40}`,
		"class": `[\p{L}\p{N} ,.!?-]*`,
	} {
		b.Run(fmt.Sprintf("pattern=%s/V=32768", name), func(b *testing.B) {
			var d *constraint.DFA
			for b.Loop() {
				var err error
				if d, err = Regexp(context.Background(), pattern, v, constraint.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(d.States()), "states")
			_, classes := d.Table()
			b.ReportMetric(float64(classes), "classes")
		})
	}
}
