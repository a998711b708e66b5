package constraint_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// A number plate over tokens of one and two characters: every way to cut the
// text into tokens is in the language.
func ExampleRegexp() {
	vocabulary := constraint.Vocabulary{Tokens: []string{"A", "B", "AB", "1", "2", "12", "-", "<pad>"}, Padding: []int32{7}}
	plate, err := constraint.Regexp(context.Background(), `[A-Z]{2}[0-9]{3}(-[0-9])?`, vocabulary, constraint.Limits{})
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
	vocabulary := constraint.Runes("ab")
	var pattern *constraint.PatternError
	_, err := constraint.Regexp(context.Background(), `a(b`, vocabulary, constraint.Limits{})
	fmt.Println(errors.As(err, &pattern), err)
	_, err = constraint.Regexp(context.Background(), `a+c`, vocabulary, constraint.Limits{})
	fmt.Println(errors.Is(err, constraint.ErrInfeasible), err)
	var limit *constraint.LimitError
	_, err = constraint.Regexp(context.Background(), `(a|b)*a(a|b){40}`, vocabulary, constraint.Limits{States: 1000})
	fmt.Println(errors.As(err, &limit), limit.What, limit.Bound)
	// Output:
	// true constraint: pattern "a(b": error parsing regexp: missing closing ): `a(b`
	// true constraint: Regexp: no token sequence spells a match of "a+c": no sequence satisfies the constraint
	// true Regexp: states 1000
}

func ExampleCount() {
	upOrDown := constraint.Count{Levels: []int32{1}, Min: 1, Max: 2}
	g := make([]float64, 2)
	for _, x := range [][]int32{{0, 0, 0}, {0, 1, 1}, {1, 1, 1}} {
		upOrDown.Violation(g, x)
		fmt.Println(x, constraint.Accepts(upOrDown, x), g)
	}
	// Output:
	// [0 0 0] false [1 -2]
	// [0 1 1] true [-1 0]
	// [1 1 1] false [-2 1]
}

// A mask is carried beside the rest of the language.
func ExampleSplit() {
	mask, err := constraint.NewMask(3, [][]int32{{0, 1}, nil, {2}})
	if err != nil {
		panic(err)
	}
	language, err := constraint.Intersect(mask, constraint.Count{Levels: []int32{1}, Min: 1})
	if err != nil {
		panic(err)
	}
	rest, beside := constraint.Split(language)
	fmt.Printf("%T, %d states; %v\n", rest, rest.States(), beside == mask)
	_, before := language.Classes(3)
	_, after := constraint.Classes(rest, 3)
	fmt.Println(before, "classes,", after, "without the mask")
	// Output:
	// constraint.Count, 2 states; true
	// 3 classes, 2 without the mask
}

// Novelty is the complement of a lexicon, and follows it.
func ExampleLexicon() {
	var known constraint.Lexicon
	novel := constraint.Complement(&known)
	x := []int32{3, 1, 4, 1, 5}
	fmt.Println(constraint.Accepts(novel, x), known.Add(x), constraint.Accepts(novel, x), known.Len())
	// Output: true true false 1
}

// No restriction site may occur, whatever the tokens it is cut into.
func ExampleAvoidsText() {
	codons := constraint.Vocabulary{}
	for _, a := range "ACGT" {
		for _, b := range "ACGT" {
			for _, c := range "ACGT" {
				codons.Tokens = append(codons.Tokens, string([]rune{a, b, c}))
			}
		}
	}
	avoid, err := constraint.AvoidsText(context.Background(), codons, constraint.Limits{}, "GAATTC", "GGATCC")
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
func ExampleTextWordAt() {
	ctx := context.Background()
	vocabulary := constraint.Vocabulary{Tokens: []string{"the", " cat", " d", "og", " s", "at", " on", "set"}}
	second, err := constraint.TextWordAt(ctx, vocabulary, constraint.Limits{}, 2, " ", "cat", "dog")
	if err != nil {
		panic(err)
	}
	last, err := constraint.TextWordAt(ctx, vocabulary, constraint.Limits{}, -1, " ", "sat")
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

// The check digits of a German account number: 18 digits after the country,
// whose first two weigh last, 1 modulo 97.
func ExampleNewSiteResidue() {
	// DE becomes 1314, at the end with the check digits: the weights of the
	// digits are the powers of ten of the rearranged number.
	weights := make([][]int, 20)
	power := 1
	digit := func(site int) {
		row := make([]int, 10)
		for d := range row {
			row[d] = d * power
		}
		weights[site] = row
		power = power * 10 % 97
	}
	digit(1)
	digit(0)
	power = power * 10000 % 97 // over 1314
	for site := 19; site >= 2; site-- {
		digit(site)
	}
	const country = 131400 % 97
	valid, err := constraint.NewSiteResidue(weights, 97, (1-country+97)%97)
	if err != nil {
		panic(err)
	}
	for _, iban := range []string{"89370400440532013000", "98370400440532013000"} {
		x := make([]int32, len(iban))
		for i, c := range iban {
			x[i] = c - '0'
		}
		fmt.Println("DE"+iban, constraint.Accepts(valid, x))
	}
	// Output:
	// DE89370400440532013000 true
	// DE98370400440532013000 false
}
