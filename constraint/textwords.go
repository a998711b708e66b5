package constraint

import "context"

// ContainsText compiles the language of the token sequences whose text contains
// every one of the strings, however it is cut into tokens. Errors are those of
// [Contains] and [Lift].
func ContainsText(ctx context.Context, v Vocabulary, limits Limits, words ...string) (*DFA, error) {
	a, err := Contains(bytesOf(words)...)
	if err != nil {
		return nil, err
	}
	return Lift(ctx, a, v, limits)
}

// AvoidsText compiles the language of the token sequences whose text contains
// none of the strings, however it is cut into tokens. Errors are those of
// [Avoids] and [Lift].
func AvoidsText(ctx context.Context, v Vocabulary, limits Limits, words ...string) (*DFA, error) {
	a, err := Avoids(bytesOf(words)...)
	if err != nil {
		return nil, err
	}
	return Lift(ctx, a, v, limits)
}

// TextWordAt compiles the language of the token sequences whose text has one of
// the words as its n-th, where words are longest runs of bytes other than those
// of separators; how the text is cut into tokens does not matter. Errors are
// those of [WordAt] and [Lift].
func TextWordAt(ctx context.Context, v Vocabulary, limits Limits, n int, separators string, words ...string) (*DFA, error) {
	a, err := WordAt(bytesOf(words), n, bytesOf([]string{separators})[0])
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
