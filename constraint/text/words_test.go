package text

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

func TestWordsInText(t *testing.T) {
	ctx := context.Background()
	v := Vocabulary{Tokens: []string{"a", "b", "ab", "ba", "abb", ""}, Padding: []int32{5}}
	words := []string{"aba", "bb"}
	none, err := Avoids(ctx, v, constraint.Limits{}, words...)
	require.NoError(t, err)
	all, err := Contains(ctx, v, constraint.Limits{}, words...)
	require.NoError(t, err)
	count := func(s string) int {
		n := 0
		for _, w := range words {
			if strings.Contains(s, w) {
				n++
			}
		}
		return n
	}
	exact.Accepts(t, none, 6, 5, func(x []int32) bool { s, ok := paddedText(v, x); return ok && count(s) == 0 })
	exact.Accepts(t, all, 6, 5, func(x []int32) bool { s, ok := paddedText(v, x); return ok && count(s) == 2 })
	exact.Minimal(t, all)

	var argument *constraint.ArgumentError
	_, err = Avoids(ctx, v, constraint.Limits{}, "")
	require.ErrorAs(t, err, &argument)
	_, err = Contains(ctx, v, constraint.Limits{}, "")
	require.ErrorAs(t, err, &argument)
	_, err = Contains(ctx, v, constraint.Limits{}, "c")
	require.ErrorIs(t, err, constraint.ErrInfeasible)
}

func TestTextWordAt(t *testing.T) {
	v := Vocabulary{Tokens: []string{"a", " b", "b", " ", "a,", "ab"}}
	words := []string{"ab", "b"}
	for _, n := range []int{1, 2, -1, -2} {
		d, err := WordAt(context.Background(), v, constraint.Limits{}, n, " ,", words...)
		require.NoError(t, err)
		exact.Accepts(t, d, len(v.Tokens), 4, func(x []int32) bool {
			f := strings.FieldsFunc(v.Text(x), func(r rune) bool { return r == ' ' || r == ',' })
			i := n - 1
			if n < 0 {
				i = len(f) + n
			}
			return i >= 0 && i < len(f) && slices.Contains(words, f[i])
		})
		exact.Minimal(t, d)
	}
	var argument *constraint.ArgumentError
	_, err := WordAt(context.Background(), v, constraint.Limits{}, 1, " ", "a b")
	require.ErrorAs(t, err, &argument)
}
