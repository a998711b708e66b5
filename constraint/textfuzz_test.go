package constraint

import (
	"context"
	"errors"
	"testing"
)

// FuzzVocabulary lifts the language of all texts to any vocabulary.
func FuzzVocabulary(f *testing.F) {
	f.Add([]byte("ab"), []byte{0}, 1)
	f.Fuzz(func(t *testing.T, a, b []byte, states int) {
		special := func(data []byte) (x []int32) {
			for _, b := range data {
				x = append(x, int32(int8(b)))
			}
			return x
		}
		v := Vocabulary{Tokens: []string{string(a), string(b), "x"}, Forbidden: special(a), Padding: special(b)}
		_, err := Lift(context.Background(), Any{}, v, Limits{States: states % 1000})
		var argument *ArgumentError
		var limit *LimitError
		if err != nil && !errors.Is(err, ErrInfeasible) && !errors.As(err, &argument) && !errors.As(err, &limit) {
			t.Fatalf("%T: %v", err, err)
		}
	})
}
