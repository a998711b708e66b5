package text

import (
	"context"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

// TestBothWaysOfLifting compares the functions of tokens with the walk state by
// state, on random automata, vocabularies and paddings.
func TestBothWaysOfLifting(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 1))
	ctx := context.Background()
	cases := 1000
	if testing.Short() {
		cases = 200
	}
	lifted := 0
	for range cases {
		states := 1 + r.IntN(6)
		next, accepting := make([]int32, 256*states), make([]bool, states)
		for i := range next {
			next[i] = -1
			if b := i % 256; b >= 'a' && b < 'd' && r.IntN(3) > 0 {
				next[i] = int32(r.IntN(states))
			}
		}
		for s := range accepting {
			accepting[s] = r.IntN(3) == 0
		}
		bytes, err := constraint.NewDFA(t.Context(), 256, next, accepting)
		if err != nil {
			continue // empty
		}
		var v Vocabulary
		for range 1 + r.IntN(9) {
			text := make([]byte, 1+r.IntN(4))
			for i := range text {
				text[i] = 'a' + byte(r.IntN(4))
			}
			v.Tokens = append(v.Tokens, string(text))
		}
		for range r.IntN(3) {
			v.Padding = append(v.Padding, int32(len(v.Tokens)))
			v.Tokens = append(v.Tokens, "")
		}
		p, err := prepare(v)
		require.NoError(t, err)
		once, err := liftOnce(ctx, "Lift", bytes, p.trie, len(p.text), p.padding, constraint.Limits{}, mostPairs)
		require.NoError(t, err)
		rows, err := liftRows(ctx, "Lift", bytes, p, constraint.Limits{})
		require.NoError(t, err)
		want, err := constraint.Compile(ctx, rows, len(v.Tokens), constraint.Limits{})
		got, other := constraint.Compile(ctx, once, len(v.Tokens), constraint.Limits{})
		require.Equal(t, err, other)
		require.Equal(t, want, got)
		if err == nil {
			lifted++
			exact.Minimal(t, got)
		}
		none, err := liftOnce(ctx, "Lift", bytes, p.trie, len(p.text), p.padding, constraint.Limits{}, 0)
		require.NoError(t, err)
		require.Nil(t, none, "too many functions: the other way")
	}
	require.Greater(t, lifted, cases/4)
}

// TestDeadMultiByteRunes: bytes that begin runes which no match goes on with make no
// states, so that 2¹⁶ states of the pattern are 2¹⁶ states of bytes.
func TestDeadMultiByteRunes(t *testing.T) {
	if testing.Short() {
		t.Skip("2¹⁶ states")
	}
	pattern := `[ab]*a[ab]{15}`
	d, err := Regexp(t.Context(), pattern, Bytes(), constraint.Limits{})
	require.NoError(t, err)
	require.Equal(t, 1<<16, d.States())
	want := regexp.MustCompile(`\A(?:` + pattern + `)\z`)
	r := rand.New(rand.NewPCG(62, 1))
	for range 1000 {
		x := make([]int32, 14+r.IntN(8))
		text := ""
		for i := range x {
			x[i] = 'a' + int32(r.IntN(2))
			text += string(rune(x[i]))
		}
		require.Equal(t, want.MatchString(text), constraint.Accepts(d, x))
	}
}

// TestVocabulariesAreKeptByContent: changing a vocabulary that is kept changes what
// is compiled, and no more than a few are kept.
func TestVocabulariesAreKeptByContent(t *testing.T) {
	v := generatedVocabulary(2 * keptTokens)
	first, err := prepare(v)
	require.NoError(t, err)
	same, err := prepare(Vocabulary{Tokens: slices.Clone(v.Tokens)})
	require.NoError(t, err)
	require.Same(t, first, same)
	d, err := Regexp(t.Context(), `x`, v, constraint.Limits{})
	require.NoError(t, err)
	v.Tokens['x'], v.Tokens['y'] = "y", "x"
	e, err := Regexp(t.Context(), `x`, v, constraint.Limits{})
	require.NoError(t, err)
	require.True(t, constraint.Accepts(d, []int32{'x'}))
	require.True(t, constraint.Accepts(e, []int32{'y'}))
	require.False(t, constraint.Accepts(e, []int32{'x'}))
	for i := range 2 * keptVocabularies {
		v.Padding = []int32{int32(i)}
		_, err := prepare(v)
		require.NoError(t, err)
	}
	require.Len(t, kept.list, keptVocabularies)
	require.Equal(t, v.Padding, kept.list[0].vocabulary.Padding)
	small, err := prepare(Runes("ab"))
	require.NoError(t, err)
	require.NotContains(t, kept.list, small)
}

// TestPreparedVocabularyIsNotSortedAgain: a second pattern over a large vocabulary
// allocates less than its sorted texts take.
func TestPreparedVocabularyIsNotSortedAgain(t *testing.T) {
	v := generatedVocabulary(32768)
	allocated := func() uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Regexp(t.Context(), `[0-9]{3}`, v, constraint.Limits{})
		require.NoError(t, err)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	first := allocated()
	require.Less(t, allocated(), first/2)
}

func TestCache(t *testing.T) {
	c := Cache{Most: 2}
	v := Runes("abc")
	get := func(pattern string, v Vocabulary) *constraint.DFA {
		d, err := c.Regexp(t.Context(), pattern, v, constraint.Limits{})
		require.NoError(t, err)
		require.Equal(t, `Regexp("`+pattern+`")`, d.String())
		return d
	}
	a := get("a", v)
	require.Same(t, a, get("a", Runes("abc")))
	require.NotSame(t, a, get("a", Runes("acb")), "another vocabulary")
	require.Same(t, a, get("a", v))
	get("b", v) // "a" over acb was not asked for the longest
	require.Equal(t, 2, c.Len())
	require.Same(t, a, get("a", v))
	_, err := c.Regexp(t.Context(), "(", v, constraint.Limits{})
	var bad *PatternError
	require.ErrorAs(t, err, &bad)
	_, err = c.Regexp(t.Context(), "a", Vocabulary{}, constraint.Limits{})
	require.Error(t, err)
	require.Equal(t, 2, c.Len())
	_, err = (&Cache{Most: -1}).Regexp(t.Context(), "a", v, constraint.Limits{})
	require.ErrorContains(t, err, "Most = -1, want ≥ 0")
	// Tokens whose texts run together are distinguished.
	p, err := prepare(Vocabulary{Tokens: []string{"ab", "c"}})
	require.NoError(t, err)
	q, err := prepare(Vocabulary{Tokens: []string{"a", "bc"}})
	require.NoError(t, err)
	require.NotEqual(t, p.hash(), q.hash())
}
