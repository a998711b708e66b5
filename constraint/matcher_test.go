package constraint

import (
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// occurs reports whether word is a run of consecutive tokens of x.
func occurs(x, word []int32) bool {
	for i := 0; i+len(word) <= len(x); i++ {
		if slices.Equal(x[i:i+len(word)], word) {
			return true
		}
	}
	return false
}

func TestWords(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		levels := rapid.IntRange(2, 3).Draw(rt, "levels")
		draw := rapid.SliceOfN(rapid.Int32Range(0, int32(levels)), 1, 4) // one level that never occurs
		words := rapid.SliceOfN(draw, 0, 5).Draw(rt, "words")
		count := func(x []int32) int {
			n := 0
			for _, w := range words {
				if occurs(x, w) {
					n++
				}
			}
			return n
		}
		some, err := ContainsAny(words...)
		require.NoError(rt, err)
		requireLanguage(rt, some, levels, 6, func(x []int32) bool { return count(x) > 0 })
		none, err := Avoids(words...)
		require.NoError(rt, err)
		requireLanguage(rt, none, levels, 6, func(x []int32) bool { return count(x) == 0 })
		all, err := Contains(words...)
		require.NoError(rt, err)
		requireLanguage(rt, all, levels, 6, func(x []int32) bool { return count(x) == len(words) })
	})
}

func TestManyWords(t *testing.T) {
	// Every word of 8 tokens over 2 levels, and nested ones: bits of the sets
	// wrap around at 32.
	var words [][]int32
	exact.Sequences(2, 8, func(x []int32) {
		if len(x) == 8 {
			words = append(words, slices.Clone(x))
		}
	})
	a, err := Avoids(words...)
	require.NoError(t, err)
	requireLanguage(t, a, 2, 10, func(x []int32) bool { return len(x) < 8 })
	a, err = ContainsAny(append(words[100:140], []int32{0, 1, 1, 0})...)
	require.NoError(t, err)
	exact.Accepts(t, a, 2, 10, func(x []int32) bool {
		return occurs(x, []int32{0, 1, 1, 0}) || slices.ContainsFunc(words[100:140], func(w []int32) bool { return occurs(x, w) })
	})
}

func TestWordsErrors(t *testing.T) {
	var argument *ArgumentError
	_, err := Avoids([]int32{1}, nil)
	require.ErrorAs(t, err, &argument)
	_, err = ContainsAny([]int32{-1})
	require.ErrorAs(t, err, &argument)
	_, err = Contains([]int32{1 << 24})
	require.ErrorAs(t, err, &argument)
	require.ErrorContains(t, err, "constraint: Contains: a token = 16777216")
	var limit *LimitError
	_, err = Contains(make([][]int32, 21)...)
	require.ErrorAs(t, err, &limit)
	long := make([]int32, 9000)
	for i := range long {
		long[i] = int32(i)
	}
	_, err = Avoids(long)
	require.ErrorAs(t, err, &limit)
}
