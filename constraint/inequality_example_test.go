package constraint_test

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// A series that ends at least as high as it starts: v_0 − v_3 ≤ 0. Rows makes
// the same sparse row from a dense matrix.
func ExampleRow() {
	rise := constraint.Row{Index: []int32{0, 3}, Value: []float64{1, -1}}
	fmt.Println(constraint.Rows([]float64{1, 0, 0, -1}, 4)[0])

	g := make([]float64, 1)
	constraint.Linear{A: []constraint.Row{rise}, B: []float64{0}}.Value(g, []float32{2, 5, 1, 3})
	fmt.Println(g)
	// Output:
	// {[0 3] [1 -1]}
	// [-1]
}

// Two sites choose one of three products with prices 1, 2 and 4, for at most 5
// together. The rows apply to probabilities, where they bound the expected
// price, and to tokens, which stand for their one-hot tables.
func ExampleLinear() {
	budget := constraint.Linear{
		A:      constraint.Rows([]float64{1, 2, 4, 1, 2, 4}, 6),
		B:      []float64{5},
		Levels: 3,
	}
	g := make([]float64, 1)
	budget.Value(g, []float32{0.5, 0.5, 0, 0, 0, 1})
	fmt.Println("expected:", g)
	for _, x := range [][]int32{{0, 2}, {2, 2}} {
		budget.Violation(g, x)
		fmt.Println(x, g)
	}
	// Output:
	// expected: [0.5]
	// [0 2] [0]
	// [2 2] [3]
}

// At most one site may differ from its left neighbour. Decide judges tokens; F
// is the expected number of changes, which has a derivative and leads a search.
func ExampleScore() {
	changes := constraint.Score{
		F: func(v []float32) float64 { // v[i] = P(x_i = 1)
			sum := 0.0
			for i := 1; i < len(v); i++ {
				a, b := float64(v[i-1]), float64(v[i])
				sum += float64(a*(1-b)) + float64((1-a)*b)
			}
			return sum
		},
		Gradient: func(dst, v []float32, weight float64) {
			for i := 1; i < len(v); i++ {
				dst[i-1] += float32(weight * (1 - 2*float64(v[i])))
				dst[i] += float32(weight * (1 - 2*float64(v[i-1])))
			}
		},
		Decide: func(x []int32) float64 {
			n := 0.0
			for i := 1; i < len(x); i++ {
				n += math.Abs(float64(x[i] - x[i-1]))
			}
			return n
		},
		Threshold: 1,
	}
	g := make([]float64, 1)
	changes.Violation(g, []int32{0, 1, 0, 0})
	fmt.Println("decided:", g)
	v, slope := []float32{0, 0.5, 0, 0}, make([]float32, 4)
	changes.Value(g, v)
	changes.Pull(slope, v, []float64{1})
	fmt.Println("expected:", g, "slope:", slope)
	// Output:
	// decided: [1]
	// expected: [0] slope: [0 2 1 1]
}

// Temperatures at three times: the first is 20, and no step exceeds 2 in either
// direction.
func ExampleSlabs() {
	s := constraint.Slabs{
		A:     constraint.Rows([]float64{1, 0, 0, -1, 1, 0, 0, -1, 1}, 3),
		Lower: []float64{20, -2, -2},
		Upper: []float64{20, 2, 2},
	}
	if err := s.Validate(3); err != nil {
		panic(err)
	}
	g := make([]float64, 3)
	s.Value(g, []float32{20, 21, 24})
	fmt.Println(g)
	// Output: [0 -1 1]
}
