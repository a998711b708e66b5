package novelty_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/projection/novelty"
)

// Two sequences are the same if they are permutations of each other, as Key
// says. A sample that is known already becomes the nearest one that is not.
func ExampleProjection() {
	sorted := func(x []int32) string { return fmt.Sprint(slices.Sorted(slices.Values(x))) }
	bound, err := novelty.Projector{Key: sorted}.Bind(context.Background(), 2, 3, 1)
	if err != nil {
		panic(err)
	}
	p := bound.(*novelty.Projection)
	v := []float32{
		0, 4, 2,
		5, 1, 2,
	}
	for _, x := range [][]int32{{1, 0}, {0, 1}, {1, 0}} {
		if err := p.Commit(context.Background(), x, v, nil); err != nil {
			panic(err)
		}
		fmt.Println(x)
	}
	// Output:
	// [1 0]
	// [2 0]
	// [1 2]
}

// The nearest new sequence by the sum of gaps, with its cost. The set grows by hand.
func ExampleProjection_Nearest() {
	spelled := func(x []int32) string { return fmt.Sprint(x) }
	bound, err := novelty.Projector{Key: spelled, Gap: true}.Bind(context.Background(), 2, 2, 1)
	if err != nil {
		panic(err)
	}
	p := bound.(*novelty.Projection)
	p.Seen().Add([]int32{1, 1})
	x := make([]int32, 2)
	cost, err := p.Nearest(context.Background(), x, []float32{0, 3, 0, 1})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%v %.4f\n", x, cost)
	// Output:
	// [1 0] 0.4621
}

// Sampling without replacement: four sequences of two bits, all different, and no fifth.
func ExampleCorpusProjection_Sample() {
	corpus := &constraint.Lexicon{}
	bound, err := novelty.Projector{Seen: corpus, Trials: 8}.Bind(context.Background(), 2, 2, 1)
	if err != nil {
		panic(err)
	}
	p := bound.(*novelty.CorpusProjection)
	x := make([]int32, 5*2)
	made, err := p.Sample(context.Background(), x, nil, rand.NewPCG(1, 2))
	fmt.Println(made, errors.Is(err, constraint.ErrInfeasible))
	for x := range corpus.All() {
		fmt.Print(x, " ")
	}
	// Output:
	// 4 true
	// [0 0] [0 1] [1 0] [1 1]
}
