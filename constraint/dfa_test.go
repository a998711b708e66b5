package constraint

import (
	"context"
	"errors"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawDFA draws a random table and returns it with its own table walker.
func drawTable(t *rapid.T, levels int) (next []int32, accepting []bool) {
	states := rapid.IntRange(1, 7).Draw(t, "states")
	next = rapid.SliceOfN(rapid.Int32Range(-1, int32(states-1)), states*levels, states*levels).Draw(t, "next")
	accepting = rapid.SliceOfN(rapid.Bool(), states, states).Draw(t, "accepting")
	return next, accepting
}

func walk(next []int32, accepting []bool, levels int, x []int32) bool {
	s := int32(0)
	for _, token := range x {
		if s = next[int(s)*levels+int(token)]; s < 0 {
			return false
		}
	}
	return accepting[s]
}

func TestNewDFAKeepsTheLanguageAndIsMinimal(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		levels := rapid.IntRange(1, 3).Draw(rt, "levels")
		next, accepting := drawTable(rt, levels)
		d, err := NewDFA(t.Context(), levels, next, accepting)
		// Two automata with n states that agree up to length 2n agree.
		want := func(x []int32) bool { return walk(next, accepting, levels, x) }
		if err != nil {
			require.ErrorIs(rt, err, ErrInfeasible)
			exact.Sequences(levels, 6, func(x []int32) { require.False(rt, want(x)) })
			return
		}
		exact.Accepts(rt, d, levels, 7, want)
		exact.Minimal(rt, d)
		requireClasses(rt, d, levels+1)
		again, err := NewDFA(t.Context(), levels, expand(d), d.table.Final)
		require.NoError(rt, err)
		require.Equal(rt, d, again, "the form is canonical")
	})
}

// expand returns the table of d with one column per token.
func expand(d *DFA) []int32 {
	var next []int32
	for s := range d.States() {
		for token := range int32(d.Levels()) {
			next = append(next, int32(d.Next(s, token)))
		}
	}
	return next
}

func TestDFARefusesUnknownTokens(t *testing.T) {
	d, err := NewDFA(t.Context(), 2, []int32{0, -1}, []bool{true})
	require.NoError(t, err)
	require.Equal(t, 0, d.Next(0, 0))
	for _, token := range []int32{1, 2, -1} {
		require.Equal(t, -1, d.Next(0, token))
	}
	require.Equal(t, 2, d.Levels())
	next, classes := d.Table()
	require.Equal(t, []int32{0, -1}, next)
	require.Equal(t, 2, classes)
	of, n := d.Classes(4)
	require.Equal(t, []int32{0, 1, 2, 2}, of)
	require.Equal(t, 3, n)
}

func TestNewDFAArguments(t *testing.T) {
	for name, build := range map[string]func() (*DFA, error){
		"levels":   func() (*DFA, error) { return NewDFA(t.Context(), 0, nil, []bool{true}) },
		"states":   func() (*DFA, error) { return NewDFA(t.Context(), 1, nil, nil) },
		"short":    func() (*DFA, error) { return NewDFA(t.Context(), 2, []int32{0, 0, 0}, []bool{true}) },
		"too far":  func() (*DFA, error) { return NewDFA(t.Context(), 1, []int32{1}, []bool{true}) },
		"negative": func() (*DFA, error) { return NewDFA(t.Context(), 1, []int32{-2}, []bool{true}) },
	} {
		d, err := build()
		require.Nil(t, d, name)
		var argument *ArgumentError
		require.ErrorAs(t, err, &argument, name)
		require.Contains(t, err.Error(), "constraint: NewDFA: ")
	}
	_, err := NewDFA(t.Context(), 1, []int32{0}, []bool{false})
	require.ErrorIs(t, err, ErrInfeasible)
	require.EqualError(t, err, "constraint: NewDFA: the language is empty: no sequence satisfies the constraint")
}

// plain hides what an automaton knows about classes.
type plain struct{ Automaton }

func TestCompile(t *testing.T) {
	c := Count{Levels: []int32{1}, Min: 2, Max: 4}
	want := func(x []int32) bool { n := occurrences(x, 1); return n >= 2 && n <= 4 }
	requireLanguage(t, plain{c}, 3, 7, want)

	d, err := Compile(context.Background(), c, 3, Limits{})
	require.NoError(t, err)
	require.Equal(t, 5, d.States())
	same, err := Compile(context.Background(), d, 3, Limits{})
	require.NoError(t, err)
	require.Same(t, d, same)
	e, err := Compile(context.Background(), plain{c}, 3, Limits{})
	require.NoError(t, err)
	require.Equal(t, d, e)
}

// rows is a table of one's own, with a state that is not reached.
type rows struct{ Automaton }

func (rows) Classes(levels int) ([]int32, int) { return []int32{0, 1, 0}[:levels], 2 }
func (rows) Table() ([]int32, int)             { return []int32{0, 1, 1, -1, 2, 0}, 2 }
func (rows) Levels() int                       { return 3 }
func (rows) Accepting(state int) bool          { return state == 1 }
func (rows) Next(int, int32) int               { panic("explored") }

func TestCompileReadsTables(t *testing.T) {
	d, err := Compile(context.Background(), rows{}, 3, Limits{})
	require.NoError(t, err)
	requireLanguage(t, d, 3, 6, func(x []int32) bool {
		return occurrences(x, 1) == 1
	})
	require.Equal(t, 2, d.States())
	_, err = Compile(context.Background(), rows{}, 3, Limits{States: 2})
	require.Equal(t, &LimitError{"Compile: states", 3, 2}, err)
	next, _ := rows{}.Table()
	require.Equal(t, []int32{0, 1, 1, -1, 2, 0}, next, "not modified")
}

func TestCompileErrors(t *testing.T) {
	ctx := context.Background()
	var argument *ArgumentError
	_, err := Compile(ctx, Any{}, 0, Limits{})
	require.ErrorAs(t, err, &argument)
	_, err = Compile(ctx, Any{}, 1, Limits{States: -1})
	require.ErrorAs(t, err, &argument)
	_, err = Compile(ctx, Any{}, 1, Limits{Bytes: -1})
	require.ErrorAs(t, err, &argument)

	c := Count{Levels: []int32{0}, Min: 999, Max: 999}
	var limit *LimitError
	_, err = Compile(ctx, c, 2, Limits{States: 999})
	require.ErrorAs(t, err, &limit)
	require.Equal(t, LimitError{"Compile: states", 1000, 999}, *limit)
	_, err = Compile(ctx, c, 2, Limits{Bytes: 71999})
	require.ErrorAs(t, err, &limit)
	require.Equal(t, LimitError{"Compile: bytes", 72000, 71999}, *limit)
	_, err = Compile(ctx, c, 2, Limits{States: 1000, Bytes: 72000})
	require.NoError(t, err)

	stop := errors.New("stop")
	cancelled, cancel := context.WithCancelCause(ctx)
	cancel(stop)
	_, err = Compile(cancelled, c, 2, Limits{})
	require.ErrorIs(t, err, stop)

	_, err = Compile(ctx, Count{Levels: []int32{0}, Min: 3, Max: 2}, 2, Limits{})
	require.ErrorIs(t, err, ErrInfeasible)
}

func BenchmarkDFANext(b *testing.B) {
	d, err := Compile(context.Background(), Count{Levels: []int32{1, 2, 3}, Min: 10, Max: Unbounded}, 32768, Limits{})
	if err != nil {
		b.Fatal(err)
	}
	s, token := 0, int32(0)
	for b.Loop() {
		s = d.Next(s, token)
		token = (token + 97) & 32767
	}
}
