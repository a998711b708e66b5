package text_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
)

// A number plate over tokens of one and two characters: every way to cut the
// text into tokens is in the language.
func ExampleRegexp() {
	vocabulary := text.Vocabulary{Tokens: []string{"A", "B", "AB", "1", "2", "12", "-", "<pad>"}, Padding: []int32{7}}
	plate, err := text.Regexp(context.Background(), `[A-Z]{2}[0-9]{3}(-[0-9])?`, vocabulary, constraint.Limits{})
	if err != nil {
		panic(err)
	}
	for _, x := range [][]int32{{2, 5, 3, 7, 7}, {0, 1, 3, 5, 7}, {0, 1, 5, 3, 6}, {2, 5, 7, 3, 7}} {
		fmt.Printf("%q %v\n", vocabulary.Text(x), constraint.Accepts(plate, x))
	}
	_, classes := plate.Classes(len(vocabulary.Tokens))
	fmt.Println(plate.States(), "states,", classes, "classes")
	// Output:
	// "AB121" true
	// "AB112" true
	// "AB121-" false
	// "AB121" false
	// 8 states, 6 classes
}

func ExampleRegexp_errors() {
	vocabulary := text.Runes("ab")
	var pattern *text.PatternError
	_, err := text.Regexp(context.Background(), `a(b`, vocabulary, constraint.Limits{})
	fmt.Println(errors.As(err, &pattern), pattern.Err)
	_, err = text.Regexp(context.Background(), `a+c`, vocabulary, constraint.Limits{})
	fmt.Println(errors.Is(err, constraint.ErrInfeasible))
	var limit *constraint.LimitError
	_, err = text.Regexp(context.Background(), `(a|b)*a(a|b){40}`, vocabulary, constraint.Limits{States: 1000})
	fmt.Println(errors.As(err, &limit), limit.What, limit.Bound)
	// Output:
	// true error parsing regexp: missing closing ): `a(b`
	// true
	// true Regexp: states 1000
}

// No restriction site may occur, whatever the tokens it is cut into.
func ExampleAvoids() {
	codons := text.Vocabulary{}
	for _, a := range "ACGT" {
		for _, b := range "ACGT" {
			for _, c := range "ACGT" {
				codons.Tokens = append(codons.Tokens, string([]rune{a, b, c}))
			}
		}
	}
	avoid, err := text.Avoids(context.Background(), codons, constraint.Limits{}, "GAATTC", "GGATCC")
	if err != nil {
		panic(err)
	}
	encode := func(dna string) (x []int32) {
		for i := 0; i < len(dna); i += 3 {
			n := 0
			for _, base := range dna[i : i+3] {
				n = 4*n + strings.IndexRune("ACGT", base)
			}
			x = append(x, int32(n))
		}
		return x
	}
	fmt.Println(constraint.Accepts(avoid, encode("ATGAATTCA")), constraint.Accepts(avoid, encode("ATGAATTTA")))
	// Output: false true
}

// The second word is "cat" or "dog", and the last one "sat".
func ExampleWordAt() {
	ctx := context.Background()
	vocabulary := text.Vocabulary{Tokens: []string{"the", " cat", " d", "og", " s", "at", " on", "set"}}
	second, err := text.WordAt(ctx, vocabulary, constraint.Limits{}, 2, " ", "cat", "dog")
	if err != nil {
		panic(err)
	}
	last, err := text.WordAt(ctx, vocabulary, constraint.Limits{}, -1, " ", "sat")
	if err != nil {
		panic(err)
	}
	language, err := constraint.Intersect(second, last)
	if err != nil {
		panic(err)
	}
	for _, x := range [][]int32{{0, 2, 3, 4, 5}, {0, 1, 4, 5}, {0, 4, 5}, {0, 1, 4, 5, 6}} {
		fmt.Printf("%q %v\n", vocabulary.Text(x), constraint.Accepts(language, x))
	}
	// Output:
	// "the dog sat" true
	// "the cat sat" true
	// "the sat" false
	// "the cat sat on" false
}

// A vocabulary with a mask token, which never occurs in a text, and a padding
// token, which may only follow a complete one.
func ExampleVocabulary() {
	vocabulary := text.Vocabulary{
		Tokens:    []string{"re", "do", "ing", "<mask>", "<pad>"},
		Forbidden: []int32{3},
		Padding:   []int32{4},
	}
	anything, err := text.Regexp(context.Background(), `.*`, vocabulary, constraint.Limits{})
	if err != nil {
		panic(err)
	}
	for _, x := range [][]int32{{0, 1, 2, 4}, {1, 2, 4, 4}, {0, 3, 2, 4}, {1, 4, 2, 4}} {
		fmt.Printf("%q %v\n", vocabulary.Text(x), constraint.Accepts(anything, x))
	}
	// Output:
	// "redoing" true
	// "doing" true
	// "reing" false
	// "doing" false
}

// A server that is asked for the same patterns again keeps them.
func ExampleCache() {
	var patterns text.Cache
	for range 3 {
		d, err := patterns.Regexp(context.Background(), `a+b`, text.Runes("ab"), constraint.Limits{})
		if err != nil {
			panic(err)
		}
		fmt.Println(d, d.States(), patterns.Len())
	}
	// Output:
	// Regexp("a+b") 3 1
	// Regexp("a+b") 3 1
	// Regexp("a+b") 3 1
}

// An automaton over bytes reads the text of tokens, however it is cut into them.
func ExampleLift() {
	vocabulary := text.Vocabulary{Tokens: []string{"a", "b", "ab", "ba"}}
	even, err := constraint.NewDFA(context.Background(), 256, evenBytes(), []bool{true, false})
	if err != nil {
		panic(err)
	}
	lifted, err := text.Lift(context.Background(), even, vocabulary, constraint.Limits{})
	if err != nil {
		panic(err)
	}
	for _, x := range [][]int32{{0, 1}, {0, 2}, {0, 2, 1}} {
		fmt.Printf("%q %v\n", vocabulary.Text(x), constraint.Accepts(lifted, x))
	}
	// Output:
	// "ab" true
	// "aab" false
	// "aabb" true
}

// evenBytes is the table of the texts of an even number of bytes.
func evenBytes() []int32 {
	next := make([]int32, 2*256)
	for b := range 256 {
		next[b] = 1
	}
	return next
}

// Texts that hold both words. A cache of one pattern forgets the one before.
func ExampleContains() {
	vocabulary := text.Runes("abc ")
	both, err := text.Contains(context.Background(), vocabulary, constraint.Limits{}, "ab", "bc")
	if err != nil {
		panic(err)
	}
	for _, x := range [][]int32{{0, 1, 3, 1, 2}, {0, 1, 2}, {0, 1, 3, 0, 1}} {
		fmt.Printf("%q %v\n", vocabulary.Text(x), constraint.Accepts(both, x))
	}
	c := text.Cache{Most: 1}
	for _, pattern := range []string{"a+", "b+", "a+"} {
		a, err := c.Regexp(context.Background(), pattern, vocabulary, constraint.Limits{})
		fmt.Println(pattern, a.States(), err)
	}
	// Output:
	// "ab bc" true
	// "abc" true
	// "ab ab" false
	// a+ 2 <nil>
	// b+ 2 <nil>
	// a+ 2 <nil>
}
