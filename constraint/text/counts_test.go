package text

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// spanning has tokens that end words and begin others, parts of runes, runes of
// three bytes that separate, and padding.
var spanning = Vocabulary{
	Tokens:  []string{"a", "b c", " ", "c —", "\xc3", "\xa9 a", ".\"", "! b", "<pad>"},
	Padding: []int32{8},
}

// ranges has every form of a range.
var ranges = []Range{{Max: constraint.Unbounded}, {Min: 2, Max: constraint.Unbounded}, {Max: 2}, {Min: 2, Max: 2}, {Min: 1, Max: 3}, {}, {Min: -5, Max: 1}, {Min: 4, Max: constraint.Unbounded}}

// in is what a range says, by the words of its documentation.
func (r Range) in(n int) bool {
	return r.Min <= n && n <= r.Max
}

// wordsOf splits a text by package strings.
func wordsOf(s, separators string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(separators, r) })
}

// sentencesOf counts sentences by the fields of the text, and reports whether the
// last is complete.
func sentencesOf(s, ends string) (n int, whole bool) {
	whole = true
	for _, field := range strings.Fields(s) {
		if whole {
			n++
		}
		tail := field[len(strings.TrimRight(field, ends+closing)):]
		whole = strings.ContainsAny(tail, ends)
	}
	return n, whole
}

// TestCountsOfTexts compares every builder with package strings on all sequences of
// at most four tokens, however words, runes and sentences are cut into tokens.
func TestCountsOfTexts(t *testing.T) {
	const length = 4
	ctx := t.Context()
	list := []string{"a", "bc", "c", "é", "cc", "éa"}
	for _, r := range ranges {
		builders := map[string]struct {
			build func() (*constraint.DFA, error)
			want  func(s string) bool
		}{
			"words": {
				func() (*constraint.DFA, error) { return WordCount(ctx, spanning, constraint.Limits{}, r, " —") },
				func(s string) bool { return r.in(len(wordsOf(s, " —"))) },
			},
			"characters": {
				func() (*constraint.DFA, error) { return Characters(ctx, spanning, constraint.Limits{}, r) },
				func(s string) bool { return r.in(utf8.RuneCountInString(s)) },
			},
			"sentences": {
				func() (*constraint.DFA, error) { return Sentences(ctx, spanning, constraint.Limits{}, r, ".!") },
				func(s string) bool { n, whole := sentencesOf(s, ".!"); return whole && r.in(n) },
			},
			"lengths": {
				func() (*constraint.DFA, error) { return WordLengths(ctx, spanning, constraint.Limits{}, r, " .—") },
				func(s string) bool {
					for _, w := range wordsOf(s, " .—") {
						if !r.in(utf8.RuneCountInString(w)) {
							return false
						}
					}
					return true
				},
			},
			"list": {
				func() (*constraint.DFA, error) { return Words(ctx, spanning, constraint.Limits{}, " .—\"!", list...) },
				func(s string) bool {
					for _, w := range wordsOf(s, " .—\"!") {
						if !slices.Contains(list, w) {
							return false
						}
					}
					return true
				},
			},
		}
		for name, b := range builders {
			d, err := b.build()
			require.NoError(t, err, "%s %v", name, r)
			exact.Accepts(t, d, len(spanning.Tokens), length, func(x []int32) bool {
				s, ok := paddedText(spanning, x)
				return ok && utf8.ValidString(s) && b.want(s)
			})
			exact.Minimal(t, d)
			if t.Failed() {
				t.Fatalf("%s %v", name, r)
			}
		}
	}
}

// TestBrokenTwinsOfCounts: the judge of TestCountsOfTexts tells the builders from
// those that count bytes in place of runes, or tokens in place of words.
func TestBrokenTwinsOfCounts(t *testing.T) {
	r := Range{Min: 3, Max: 3}
	runes, err := Characters(t.Context(), spanning, constraint.Limits{}, r)
	require.NoError(t, err)
	words, err := WordCount(t.Context(), spanning, constraint.Limits{}, r, " —")
	require.NoError(t, err)
	bytes, tokens := 0, 0
	exact.Sequences(len(spanning.Tokens), 3, func(x []int32) {
		s, ok := paddedText(spanning, x)
		if !ok || !utf8.ValidString(s) {
			return
		}
		if constraint.Accepts(runes, x) != r.in(len(s)) {
			bytes++
		}
		if constraint.Accepts(words, x) != r.in(len(x)) {
			tokens++
		}
	})
	require.Positive(t, bytes)
	require.Positive(t, tokens)
}

// TestCountsOfRandomTexts cuts long texts into tokens at random.
func TestCountsOfRandomTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 1))
	pieces := []string{"on", "e", " two", " ", ", ", "three ", "é", "日本", "。", ". ", "?!", ") ", "\n", "4.5"}
	v := Vocabulary{Tokens: pieces}
	const separators = " ,.?!)\n。"
	n := Range{Min: 10, Max: 20}
	words, err := WordCount(t.Context(), v, constraint.Limits{}, n, separators)
	require.NoError(t, err)
	characters, err := Characters(t.Context(), v, constraint.Limits{}, Range{Min: 60, Max: 90})
	require.NoError(t, err)
	sentences, err := Sentences(t.Context(), v, constraint.Limits{}, Range{Min: 2, Max: 5}, ".?!。")
	require.NoError(t, err)
	lengths, err := WordLengths(t.Context(), v, constraint.Limits{}, Range{Max: 9}, separators)
	require.NoError(t, err)
	inside := make([]int, 4)
	for range 3000 {
		x := make([]int32, 10+r.IntN(40))
		for i := range x {
			x[i] = r.Int32N(int32(len(pieces)))
		}
		s := v.Text(x)
		longest := 0
		for _, w := range wordsOf(s, separators) {
			longest = max(longest, utf8.RuneCountInString(w))
		}
		whole, complete := sentencesOf(s, ".?!。")
		for i, c := range []struct {
			d    *constraint.DFA
			want bool
		}{
			{words, n.in(len(wordsOf(s, separators)))},
			{characters, Range{Min: 60, Max: 90}.in(utf8.RuneCountInString(s))},
			{sentences, complete && Range{Min: 2, Max: 5}.in(whole)},
			{lengths, longest <= 9},
		} {
			require.Equal(t, c.want, constraint.Accepts(c.d, x), "%v of %q", c.d, s)
			if c.want {
				inside[i]++
			}
		}
	}
	for i, n := range inside {
		require.Greater(t, n, 10, "language %d", i)
		require.Less(t, n, 2990, "language %d", i)
	}
}

// TestCountsThatAreRefused: errors name the function, the argument and its value.
func TestCountsThatAreRefused(t *testing.T) {
	ctx, v := t.Context(), Runes("ab .")
	build := func(f func(r Range, s string) (*constraint.DFA, error), r Range, s string) error {
		_, err := f(r, s)
		return err
	}
	word := func(r Range, s string) (*constraint.DFA, error) { return WordCount(ctx, v, constraint.Limits{}, r, s) }
	runes := func(r Range, _ string) (*constraint.DFA, error) { return Characters(ctx, v, constraint.Limits{}, r) }
	sentence := func(r Range, s string) (*constraint.DFA, error) {
		return Sentences(ctx, v, constraint.Limits{}, r, s)
	}
	length := func(r Range, s string) (*constraint.DFA, error) {
		return WordLengths(ctx, v, constraint.Limits{}, r, s)
	}
	list := func(_ Range, s string) (*constraint.DFA, error) {
		return Words(ctx, v, constraint.Limits{}, " ", strings.Split(s, "|")...)
	}
	var argument *constraint.ArgumentError
	for name, f := range map[string]func(r Range, s string) (*constraint.DFA, error){
		"WordCount": word, "Characters": runes, "Sentences": sentence, "WordLengths": length,
	} {
		err := build(f, Range{Max: -1}, ".")
		require.ErrorAs(t, err, &argument, name)
		assert.ErrorContains(t, err, name)
		assert.ErrorContains(t, err, "Max = -1, want ≥ 0")
		err = build(f, Range{Min: 3, Max: 2}, ".")
		require.ErrorIs(t, err, constraint.ErrInfeasible)
		assert.ErrorContains(t, err, name+": Min = 3, want ≤ Max = 2")
		var limit *constraint.LimitError
		require.ErrorAs(t, build(f, Range{Min: math.MaxInt, Max: constraint.Unbounded}, "."), &limit, name)
		require.ErrorAs(t, build(f, Range{Min: 1 << 20, Max: constraint.Unbounded}, "."), &limit, name)
	}
	for _, f := range []func(r Range, s string) (*constraint.DFA, error){word, sentence, length, list} {
		require.ErrorAs(t, build(f, Range{}, "\xff"), &argument)
		assert.ErrorContains(t, argument, `"\xff", want UTF-8`)
	}
	require.ErrorAs(t, build(list, Range{}, ""), &argument)
	assert.ErrorContains(t, argument, `list[0] = "", want a word without separators`)
	require.ErrorAs(t, build(list, Range{}, "a|b a"), &argument)
	assert.ErrorContains(t, argument, `list[1] = "b a", want a word without separators`)
	_, err := Words(ctx, v, constraint.Limits{}, "\xff", "a")
	require.ErrorAs(t, err, &argument)
	_, err = Words(ctx, v, constraint.Limits{}, " ")
	require.ErrorAs(t, err, &argument)
	for _, ends := range []string{"", ". "} {
		require.ErrorAs(t, build(sentence, Range{}, ends), &argument)
		assert.ErrorContains(t, argument, "want runes that are no white space")
	}
	require.ErrorIs(t, build(sentence, Range{Min: 1, Max: constraint.Unbounded}, "!"), constraint.ErrInfeasible)
	_, err = WordCount(ctx, Vocabulary{}, constraint.Limits{}, Range{}, " ")
	require.ErrorAs(t, err, &argument)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = WordCount(ended, v, constraint.Limits{}, Range{}, " ")
	require.ErrorIs(t, err, context.Canceled)
}

// TestRangeInWords: what a language is called.
func TestRangeInWords(t *testing.T) {
	want := []string{"≥ 0", "≥ 2", "0…2", "2", "1…3", "0", "0…1", "≥ 4"}
	for i, r := range ranges {
		assert.Equal(t, want[i], r.String())
	}
	d, err := WordCount(t.Context(), Runes("a "), constraint.Limits{}, Range{Min: 8, Max: 8}, " ")
	require.NoError(t, err)
	assert.Equal(t, `WordCount(8, " ")`, d.String())
}

// TestWhiteSpace has the runes of package unicode.
func TestWhiteSpace(t *testing.T) {
	all := whiteSpace()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if strings.ContainsRune(all, r) != unicode.IsSpace(r) {
			t.Fatalf("%U", r)
		}
	}
}
