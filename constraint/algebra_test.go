package constraint

import (
	"context"
	"errors"
	"math/bits"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawLanguage draws an automaton together with an independent predicate.
func drawLanguage(t *rapid.T, levels int) (Automaton, func(x []int32) bool) {
	switch rapid.IntRange(0, 3).Draw(t, "language") {
	case 0:
		low := rapid.IntRange(0, 3).Draw(t, "min")
		return Count{Levels: []int32{1}, Min: low, Max: low + 1}, func(x []int32) bool {
			n := occurrences(x, 1)
			return low <= n && n <= low+1
		}
	case 1:
		return Any{}, func([]int32) bool { return true }
	}
	next, accepting := drawTable(t, levels)
	want := func(x []int32) bool { return walk(next, accepting, levels, x) }
	d, err := NewDFA(t.Context(), levels, next, accepting)
	if err != nil {
		return Complement(Any{}), want
	}
	return d, want
}

func TestSetAlgebra(t *testing.T) {
	const levels, length = 2, 6
	rapid.Check(t, func(rt *rapid.T) {
		a, inA := drawLanguage(rt, levels)
		b, inB := drawLanguage(rt, levels)
		c, inC := drawLanguage(rt, levels)
		union, err := Union(a, b, c)
		require.NoError(rt, err)
		requireLanguage(rt, union, levels, length, func(x []int32) bool { return inA(x) || inB(x) || inC(x) })
		both, err := Intersect(a, b, c)
		require.NoError(rt, err)
		requireLanguage(rt, both, levels, length, func(x []int32) bool { return inA(x) && inB(x) && inC(x) })
		requireLanguage(rt, Complement(a), levels, length, func(x []int32) bool { return !inA(x) })
		require.Equal(rt, a, Complement(Complement(a)))

		// De Morgan, as equality of canonical tables.
		outside, err := Intersect(Complement(a), Complement(b), Complement(c))
		require.NoError(rt, err)
		d, errD := Compile(context.Background(), outside, levels, Limits{})
		e, errE := Compile(context.Background(), Complement(union), levels, Limits{})
		require.Equal(rt, errD == nil, errE == nil)
		require.Equal(rt, d, e)
	})
}

func TestUnionOfNothingAndOfOne(t *testing.T) {
	u, err := Union()
	require.NoError(t, err)
	requireLanguage(t, u, 2, 4, func([]int32) bool { return false })
	u, err = Union(Count{Levels: []int32{1}, Min: 2, Max: Unbounded})
	require.NoError(t, err)
	requireLanguage(t, u, 2, 5, func(x []int32) bool { return occurrences(x, 1) >= 2 })
}

func TestUnionTooLarge(t *testing.T) {
	var parts []Automaton
	for range bits.UintSize/30 + 1 {
		parts = append(parts, Count{Levels: []int32{0}, Min: 1 << 30, Max: Unbounded})
	}
	_, err := Union(parts...)
	var limit *LimitError
	require.ErrorAs(t, err, &limit)
}

func TestConcat(t *testing.T) {
	const levels, length = 2, 6
	rapid.Check(t, func(rt *rapid.T) {
		var parts []Automaton
		var in []func(x []int32) bool
		for range rapid.IntRange(0, 3).Draw(rt, "parts") {
			a, inA := drawLanguage(rt, levels)
			parts, in = append(parts, a), append(in, inA)
		}
		var cut func(in []func(x []int32) bool, x []int32) bool
		cut = func(in []func(x []int32) bool, x []int32) bool {
			if len(in) == 0 {
				return len(x) == 0
			}
			for i := range len(x) + 1 {
				if in[0](x[:i]) && cut(in[1:], x[i:]) {
					return true
				}
			}
			return false
		}
		d, err := Concat(context.Background(), levels, Limits{}, parts...)
		if err != nil {
			require.ErrorIs(rt, err, ErrInfeasible)
			exact.Sequences(levels, length, func(x []int32) { require.False(rt, cut(in, x)) })
			return
		}
		requireLanguage(rt, d, levels, length, func(x []int32) bool { return cut(in, x) })
	})
}

func TestConcatErrors(t *testing.T) {
	ctx := context.Background()
	var argument *ArgumentError
	_, err := Concat(ctx, 0, Limits{})
	require.ErrorAs(t, err, &argument)
	_, err = Concat(ctx, 1, Limits{States: -1})
	require.ErrorAs(t, err, &argument)
	_, err = Concat(ctx, 2, Limits{}, Complement(Any{}), Any{})
	require.ErrorIs(t, err, ErrInfeasible)
	// The n-th token from the end needs 2ⁿ states.
	one := Count{Levels: []int32{1}, Min: 1, Max: 1}
	two := Count{Levels: []int32{0, 1}, Min: 41, Max: 41}
	ending, err := Intersect(two, plain{beginsWith{1}})
	require.NoError(t, err)
	var limit *LimitError
	_, err = Concat(ctx, 2, Limits{States: 5000}, Any{}, ending)
	require.ErrorAs(t, err, &limit)
	require.Equal(t, LimitError{"Concat: states", limit.Value, 5000}, *limit)
	_, err = Concat(ctx, 2, Limits{Bytes: 100_000}, Any{}, ending)
	require.ErrorAs(t, err, &limit)
	stop := errors.New("stop")
	cancelled, cancel := context.WithCancelCause(ctx)
	cancel(stop)
	d, err := Compile(ctx, one, 2, Limits{})
	require.NoError(t, err)
	_, err = Concat(cancelled, 2, Limits{}, Any{}, d)
	require.ErrorIs(t, err, stop)
}

// beginsWith accepts sequences that begin with a token.
type beginsWith struct{ token int32 }

func (beginsWith) States() int          { return 2 }
func (beginsWith) Start() int           { return 0 }
func (beginsWith) Accepting(s int) bool { return s == 1 }
func (b beginsWith) Next(s int, t int32) int {
	if s == 0 && t != b.token {
		return -1
	}
	return 1
}
