package constraint

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// fields splits x at separators.
func fields(x, separators []int32) [][]int32 {
	var out [][]int32
	inside := false
	for _, t := range x {
		switch {
		case slices.Contains(separators, t):
			inside = false
		case inside:
			out[len(out)-1] = append(out[len(out)-1], t)
		default:
			inside = true
			out = append(out, []int32{t})
		}
	}
	return out
}

// fits reports whether there is an n-th word and it is ok.
func fits(words [][]int32, n int, ok func([]int32) bool) bool {
	if n < 0 {
		n += len(words) + 1
	}
	return n >= 1 && n <= len(words) && ok(words[n-1])
}

func TestWordAt(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		levels := rapid.IntRange(3, 4).Draw(rt, "levels")
		separators := [][]int32{{0}, {0, 2}, {2, 9}}[rapid.IntRange(0, 2).Draw(rt, "separators")]
		token := rapid.Int32Range(0, 4).Filter(func(t int32) bool { return !slices.Contains(separators, t) })
		words := rapid.SliceOfN(rapid.SliceOfN(token, 1, 3), 1, 3).Draw(rt, "words")
		n := rapid.SampledFrom([]int{1, 2, 3, -1, -2, -3}).Draw(rt, "n")
		a, err := WordAt(words, n, separators)
		require.NoError(rt, err)
		requireLanguage(rt, a, levels, 6, func(x []int32) bool {
			return fits(fields(x, separators), n, func(f []int32) bool {
				return slices.ContainsFunc(words, func(w []int32) bool { return slices.Equal(w, f) })
			})
		})
	})
}

func TestWordAtErrors(t *testing.T) {
	var argument *ArgumentError
	var limit *LimitError
	one := [][]int32{{1}}
	for name, build := range map[string]func() (Automaton, error){
		"zero":       func() (Automaton, error) { return WordAt(one, 0, nil) },
		"separator":  func() (Automaton, error) { return WordAt(one, 1, []int32{-1}) },
		"empty word": func() (Automaton, error) { return WordAt([][]int32{{}}, 1, nil) },
		"in a word":  func() (Automaton, error) { return WordAt(one, 1, []int32{1}) },
		"negative":   func() (Automaton, error) { return WordAt([][]int32{{-1}}, 1, nil) },
	} {
		_, err := build()
		require.ErrorAs(t, err, &argument, name)
	}
	_, err := WordAt(one, -17, nil)
	require.ErrorAs(t, err, &limit)
	_, err = WordAt(one, math.MaxInt, nil)
	require.ErrorAs(t, err, &limit)
	_, err = WordAt(nil, 1, nil)
	require.ErrorIs(t, err, ErrInfeasible)
}
