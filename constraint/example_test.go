package constraint_test

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint"
)

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

// A mask is carried separately from the rest of the language.
func ExampleSplit() {
	mask, err := constraint.NewMask(3, [][]int32{{0, 1}, nil, {2}})
	if err != nil {
		panic(err)
	}
	language, err := constraint.Intersect(mask, constraint.Count{Levels: []int32{1}, Min: 1, Max: constraint.Unbounded})
	if err != nil {
		panic(err)
	}
	rest, split := constraint.Split(language)
	fmt.Printf("%T, %d states; %v\n", rest, rest.States(), split == mask)
	_, before := language.Classes(3)
	_, after := rest.(constraint.Classed).Classes(3)
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
