package text

import (
	"context"
	"errors"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
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
		_, err := Lift(context.Background(), constraint.Any{}, v, constraint.Limits{States: states % 1000})
		var argument *constraint.ArgumentError
		var limit *constraint.LimitError
		if err != nil && !errors.Is(err, constraint.ErrInfeasible) && !errors.As(err, &argument) && !errors.As(err, &limit) {
			t.Fatalf("%T: %v", err, err)
		}
	})
}
