package text_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/projection"
)

// Lines of exactly eight words of a list, the last of which is "mat", over tokens that
// end one word and begin another.
func ExampleWordCount() {
	ctx := context.Background()
	vocabulary := text.Vocabulary{
		Tokens:  []string{"the", " cat", " s", "at", " on the", " m", " and", " old", " dog s", "lept", "<pad>"},
		Padding: []int32{10},
	}
	none := constraint.Limits{}
	eight, err := text.WordCount(ctx, vocabulary, none, text.Range{Min: 8, Max: 8}, " ")
	if err != nil {
		panic(err)
	}
	last, err := text.WordAt(ctx, vocabulary, none, -1, " ", "mat")
	if err != nil {
		panic(err)
	}
	known, err := text.Words(ctx, vocabulary, none, " ", "the", "cat", "sat", "on", "mat", "and", "old", "dog", "slept")
	if err != nil {
		panic(err)
	}
	language, err := constraint.Intersect(eight, last, known)
	if err != nil {
		panic(err)
	}
	const sites = 10
	path, err := projection.Path{Language: language}.Compile(ctx, sites, len(vocabulary.Tokens))
	if err != nil {
		panic(err)
	}
	x, v := make([]int32, sites), make([]float32, sites*len(vocabulary.Tokens))
	v[0] = 5 // "the" first, the others alike
	for seed := range uint64(3) {
		if _, err := path.Draw(ctx, x, v, rand.NewPCG(seed, 0)); err != nil {
			panic(err)
		}
		fmt.Printf("%q\n", vocabulary.Text(x))
	}
	// Output:
	// "the and and slept old and cat mat"
	// "the slept slept old cat on the mat"
	// "the and mat cat old old old mat"
}

// Every word is one of a list, however it is cut into tokens.
func ExampleWords() {
	vocabulary := text.Vocabulary{Tokens: []string{"to be", " or", " no", "t", " to", " b", "e"}}
	words, err := text.Words(context.Background(), vocabulary, constraint.Limits{}, " ", "to", "be", "or", "not")
	if err != nil {
		panic(err)
	}
	for _, x := range [][]int32{{0, 1, 2, 3, 4, 5, 6}, {0, 1, 2}, {0, 5, 6, 3}} {
		fmt.Printf("%q %v\n", vocabulary.Text(x), constraint.Accepts(words, x))
	}
	// Output:
	// "to be or not to be" true
	// "to be or no" false
	// "to be bet" false
}

// Two complete sentences: a number is none, and neither is what a quote closes.
func ExampleSentences() {
	two, err := text.Sentences(context.Background(), text.Bytes(), constraint.Limits{}, text.Range{Min: 2, Max: 2}, ".!?")
	if err != nil {
		panic(err)
	}
	for _, s := range []string{"It is 3.14. Why?", `He said "Go." And went.`, "It is 3.14.", "One. Two"} {
		var x []int32
		for _, b := range []byte(s) {
			x = append(x, int32(b))
		}
		fmt.Printf("%q %v\n", s, constraint.Accepts(two, x))
	}
	// Output:
	// "It is 3.14. Why?" true
	// "He said \"Go.\" And went." true
	// "It is 3.14." false
	// "One. Two" false
}

// Ranges as builders take them.
func ExampleRange() {
	fmt.Println(text.Range{Min: 2, Max: constraint.Unbounded}, text.Range{Max: 3}, text.Range{Min: 8, Max: 8}, text.Range{})
	vocabulary := text.Runes("ab ")
	short, err := text.WordLengths(context.Background(), vocabulary, constraint.Limits{}, text.Range{Max: 2}, " ")
	if err != nil {
		panic(err)
	}
	fmt.Println(constraint.Accepts(short, []int32{0, 1, 2, 0}), constraint.Accepts(short, []int32{0, 1, 0}))
	// Output:
	// ≥ 2 0…3 8 0
	// true false
}
