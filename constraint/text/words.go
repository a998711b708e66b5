package text

import (
	"context"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// Contains compiles the language of the token sequences whose text contains
// every one of the strings, however it is cut into tokens. Errors are those of
// [constraint.Contains] and [Lift].
func Contains(ctx context.Context, v Vocabulary, limits constraint.Limits, words ...string) (*constraint.DFA, error) {
	a, err := constraint.Contains(bytesOf(words)...)
	if err != nil {
		return nil, err
	}
	return Lift(ctx, a, v, limits)
}

// Avoids compiles the language of the token sequences whose text contains
// none of the strings, however it is cut into tokens. Errors are those of
// [constraint.Avoids] and [Lift].
func Avoids(ctx context.Context, v Vocabulary, limits constraint.Limits, words ...string) (*constraint.DFA, error) {
	a, err := constraint.Avoids(bytesOf(words)...)
	if err != nil {
		return nil, err
	}
	return Lift(ctx, a, v, limits)
}

// WordAt compiles the language of the token sequences whose n-th word is one of words. A
// word is a longest run of bytes other than those of separators; how the text is cut into
// tokens does not matter. Errors are those of [constraint.WordAt] and [Lift].
func WordAt(ctx context.Context, v Vocabulary, limits constraint.Limits, n int, separators string, words ...string) (*constraint.DFA, error) {
	a, err := constraint.WordAt(bytesOf(words), n, bytesOf([]string{separators})[0])
	if err != nil {
		return nil, err
	}
	return Lift(ctx, a, v, limits)
}

// bytesOf returns the words as sequences of bytes.
func bytesOf(words []string) [][]int32 {
	out := make([][]int32, len(words))
	for i, s := range words {
		out[i] = make([]int32, len(s))
		for j := range len(s) {
			out[i][j] = int32(s[j])
		}
	}
	return out
}
