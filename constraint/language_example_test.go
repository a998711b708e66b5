package constraint_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// Sequences that begin with token 1 and end with token 2, whatever is between.
func ExampleAny() {
	first, last := new(constraint.Lexicon), new(constraint.Lexicon)
	first.Add([]int32{1})
	last.Add([]int32{2})
	language, err := constraint.Concat(context.Background(), 3, constraint.Limits{}, first, constraint.Any{}, last)
	if err != nil {
		panic(err)
	}
	for _, x := range [][]int32{{1, 2}, {1, 0, 0, 2}, {1}, {2, 0, 1}} {
		fmt.Println(x, constraint.Accepts(language, x))
	}
	// Output:
	// [1 2] true
	// [1 0 0 2] true
	// [1] false
	// [2 0 1] false
}

// An even number of ones, written twice: as a table that counts modulo 4 and as
// a residue. Minimal automata are unique, so the two tables are equal.
func ExampleDFA() {
	table, err := constraint.NewDFA(context.Background(), 2, []int32{
		0, 1,
		1, 2,
		2, 3,
		3, 0,
	}, []bool{true, false, true, false})
	if err != nil {
		panic(err)
	}
	parity, err := constraint.NewResidue([]int{0, 1}, 2, 0)
	if err != nil {
		panic(err)
	}
	compiled, err := constraint.Compile(context.Background(), parity, 2, constraint.Limits{})
	if err != nil {
		panic(err)
	}
	a, _ := table.Table()
	b, _ := compiled.Table()
	fmt.Println(table.States(), "states:", a, slices.Equal(a, b))
	// Output: 2 states: [0 1 1 0] true
}

// Dice rolls with at least one six, a total of at most 12 and no two ones in a
// row. Level l is the face l+1. No table is built: the state is the tuple of the
// parts' states.
func ExampleIntersection() {
	total, err := constraint.NewSum([]int{1, 2, 3, 4, 5, 6}, math.MinInt, 12)
	if err != nil {
		panic(err)
	}
	noTwoOnes, err := constraint.Avoids([]int32{0, 0})
	if err != nil {
		panic(err)
	}
	rolls, err := constraint.Intersect(constraint.Count{Levels: []int32{5}, Min: 1, Max: constraint.Unbounded}, total, noTwoOnes)
	if err != nil {
		panic(err)
	}
	for _, x := range [][]int32{{5, 0, 4}, {5, 5, 0}, {0, 0, 5}, {1, 2, 3}} {
		fmt.Println(x, constraint.Accepts(rolls, x))
	}
	fmt.Println(len(rolls.Parts()), "parts, at most", rolls.States(), "states")
	// Output:
	// [5 0 4] true
	// [5 5 0] false
	// [0 0 5] false
	// [1 2 3] false
	// 3 parts, at most 104 states
}

// Whether the k-th token from the end is a one takes 2^k states to know. Limits
// stop the compilation before memory is gone.
func ExampleLimits() {
	limits := constraint.Limits{States: 1000}
	one := new(constraint.Lexicon)
	one.Add([]int32{1})
	for _, k := range []int{4, 40} {
		free := make([][]int, k-1) // exactly k−1 tokens, whatever they are
		for i := range free {
			free[i] = []int{0, 0}
		}
		ending, err := constraint.NewSiteSum(free, 0, 0)
		if err != nil {
			panic(err)
		}
		language, err := constraint.Concat(context.Background(), 2, limits, constraint.Any{}, one, ending)
		if limit := new(constraint.LimitError); errors.As(err, &limit) {
			fmt.Printf("k = %d: more than %d states\n", k, limit.Bound)
			continue
		}
		fmt.Printf("k = %d: %d states\n", k, language.States())
	}
	// Output:
	// k = 4: 16 states
	// k = 40: more than 1000 states
}

// A crossword pattern over three letters: the first is a or b, the second is
// free, the third is c. A model's log-weights take the mask directly.
func ExampleMask() {
	pattern, err := constraint.NewMask(3, [][]int32{{0, 1}, nil, {2}})
	if err != nil {
		panic(err)
	}
	fmt.Println(constraint.Accepts(pattern, []int32{1, 0, 2}), constraint.Accepts(pattern, []int32{2, 0, 2}))
	w := make([]float32, 3*3)
	pattern.Apply(w)
	fmt.Println(w)
	// Output:
	// true false
	// [0 0 -Inf 0 0 0 -Inf -Inf 0]
}

// Decimal numbers that are divisible by three: their digit sum is 0 modulo 3.
func ExampleResidue() {
	divisible, err := constraint.NewResidue([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 3, 0)
	if err != nil {
		panic(err)
	}
	_, classes := divisible.Classes(10)
	fmt.Println(divisible.States(), "states,", classes, "classes of digits")
	for _, x := range [][]int32{{4, 1, 1}, {4, 1, 2}} {
		fmt.Println(x, constraint.Accepts(divisible, x))
	}
	// Output:
	// 3 states, 3 classes of digits
	// [4 1 1] true
	// [4 1 2] false
}

// Coins of 5, 10 and 25 that come to exactly 30. As a Set the sum says by how
// much it is missed, below and above.
func ExampleSum() {
	coins, err := constraint.NewSum([]int{5, 10, 25}, 30, 30)
	if err != nil {
		panic(err)
	}
	g := make([]float64, coins.Len())
	for _, x := range [][]int32{{2, 0}, {1, 1, 1}, {0, 1}} {
		coins.Violation(g, x)
		fmt.Println(x, constraint.Accepts(coins, x), g)
	}
	// Output:
	// [2 0] true [0 0]
	// [1 1 1] true [0 0]
	// [0 1] false [15 -15]
}

// A language in a file, read where limits are wanted for files of any origin.
func ExampleReadDFA() {
	ctx := context.Background()
	divisible, err := constraint.NewResidue([]int{0, 1, 2}, 5, 0) // digits that sum to 0, 5, 10 …
	if err != nil {
		panic(err)
	}
	table, err := constraint.Compile(ctx, divisible, 3, constraint.Limits{})
	if err != nil {
		panic(err)
	}
	file, err := table.MarshalBinary()
	if err != nil {
		panic(err)
	}
	read, err := constraint.ReadDFA(ctx, file, constraint.Limits{})
	fmt.Println(constraint.Accepts(read, []int32{2, 2, 1}), constraint.Accepts(read, []int32{2, 2}), err)
	_, err = constraint.ReadDFA(ctx, file, constraint.Limits{States: 3})
	var limit *constraint.LimitError
	fmt.Println(errors.As(err, &limit))
	// Output:
	// true false <nil>
	// true
}
