package constraint

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

// typed fails the test unless err is nil or one of the errors of the package.
func typed(t *testing.T, err error) bool {
	t.Helper()
	var argument *ArgumentError
	var limit *LimitError
	if err != nil && !errors.Is(err, ErrInfeasible) && !errors.As(err, &argument) && !errors.As(err, &limit) {
		t.Fatalf("%T: %v", err, err)
	}
	return err == nil
}

// signed reads the bytes as numbers −128…127.
func signed(data []byte) []int32 {
	x := make([]int32, len(data))
	for i, b := range data {
		x[i] = int32(int8(b))
	}
	return x
}

func FuzzNewDFA(f *testing.F) {
	f.Add(2, []byte{0, 1, 255, 1}, []byte{0, 1})
	f.Add(0, []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, levels int, next, accepting []byte) {
		final := make([]bool, len(accepting))
		for i, b := range accepting {
			final[i] = b&1 != 0
		}
		table := signed(next)
		d, err := NewDFA(t.Context(), levels, table, final)
		if !typed(t, err) || d.States() > 50 || levels > 50 {
			return
		}
		exact.Minimal(t, d)
		exact.Sequences(min(levels, 3), 4, func(x []int32) {
			require.Equal(t, walk(table, final, levels, x), Accepts(d, x))
		})
	})
}

func FuzzLexicon(f *testing.F) {
	f.Add([]byte("abc\nab\nbc\n\nabcbc\nbcbc"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var l Lexicon
		in := map[string]bool{}
		var word []int32
		for _, b := range append(data, '\n') {
			if b != '\n' {
				word = append(word, int32(b))
				continue
			}
			require.Equal(t, !in[fmt.Sprint(word)], l.Add(word))
			in[fmt.Sprint(word)] = true
			word = word[:0]
		}
		require.Equal(t, len(in), l.Len())
		requireConsistent(t, &l)
		n := 0
		for x := range l.All() {
			require.True(t, in[fmt.Sprint(x)])
			n++
		}
		require.Equal(t, len(in), n)
		d, err := Compile(context.Background(), &l, 256, Limits{})
		require.NoError(t, err)
		require.Equal(t, l.Nodes(), d.States())
	})
}

func FuzzArguments(f *testing.F) {
	f.Add(3, []byte{1, 2}, []byte{0}, -1, 5)
	f.Fuzz(func(t *testing.T, n int, a, b []byte, lower, upper int) {
		x, y := signed(a), signed(b)
		w := make([]int, len(a))
		for i := range w {
			w[i] = int(x[i])
		}
		_, err := NewMask(n%1000, [][]int32{x, nil, y})
		typed(t, err)
		_, err = NewSum(w, lower, upper)
		typed(t, err)
		_, err = NewSiteSum([][]int{w, w}, lower, upper)
		typed(t, err)
		_, err = NewResidue(w, n, lower, upper)
		typed(t, err)
		_, err = NewSiteResidue([][]int{w, w}, n, lower)
		typed(t, err)
		_, err = WordAt([][]int32{x}, n, y)
		typed(t, err)
		_, err = Contains(x, y)
		typed(t, err)
		typed(t, Count{Levels: x, Min: lower, Max: upper}.Validate())
		typed(t, Linear{A: []Row{{Index: x, Value: make([]float64, len(b))}}, B: []float64{1}, Levels: upper}.Validate(n))
	})
}
