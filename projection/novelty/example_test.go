package novelty_test

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/projection/novelty"
)

// A sequence that is known already gives way to the nearest one that is not,
// and what is committed is known from then on.
func ExampleProjector() {
	known := new(constraint.Lexicon)
	known.Add([]int32{1, 1, 1})
	s, err := novelty.Projector{Seen: known}.Compile(context.Background(), 3, 2)
	if err != nil {
		panic(err)
	}
	v := []float32{ // ones are likely, least so at site 1
		0, 3,
		0, 1,
		0, 2,
	}
	for range 3 {
		x := []int32{1, 1, 1}
		if err := s.Commit(context.Background(), x, v, nil); err != nil {
			panic(err)
		}
		fmt.Println(x)
	}
	fmt.Println(known.Len(), "known")
	// Output:
	// [1 0 1]
	// [1 1 0]
	// [1 0 0]
	// 4 known
}

// The probability that a model's draw is new, without a draw.
func ExampleCorpusProjection_LogProb() {
	known := new(constraint.Lexicon)
	for _, x := range [][]int32{{0, 0}, {0, 1}, {1, 0}} {
		known.Add(x)
	}
	novel, err := novelty.Projector{Seen: known}.Compile(context.Background(), 2, 3)
	if err != nil {
		panic(err)
	}
	logProb, err := novel.LogProb(context.Background(), make([]float32, 2*3)) // nine sequences, all alike
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.4f\n", math.Exp(logProb))
	// Output:
	// 0.6667
}
