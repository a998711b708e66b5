package projection_test

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/projection"
)

// A form with two blanks: a word of three letters between two free sites.
func ExampleSpans() {
	ctx := context.Background()
	word, err := constraint.Contains([]int32{1, 1})
	if err != nil {
		panic(err)
	}
	p, err := projection.Spans{{From: 1, To: 4, Path: projection.Path{Language: word}}}.Compile(ctx, 5, 2)
	if err != nil {
		panic(err)
	}
	logZ, err := p.LogZ(ctx, nil) // of 2⁵ sequences
	if err != nil {
		panic(err)
	}
	sites, levels := p.Shape()
	fmt.Printf("%.0f of %.0f\n", math.Exp(logZ), math.Pow(float64(levels), float64(sites)))
	// Output: 12 of 32
}

// Sums over one blank: how likely its language is, whatever stands elsewhere.
func ExampleSpansProjection_Span() {
	ctx := context.Background()
	equal, err := constraint.NewDFA(ctx, 2, []int32{1, 2, 1, -1, -1, 2}, []bool{false, true, true})
	if err != nil {
		panic(err)
	}
	blank := projection.Span{From: 2, To: 5, Path: projection.Path{Language: equal}}
	p, err := projection.Spans{blank}.Compile(ctx, 5, 2)
	if err != nil {
		panic(err)
	}
	n, err := p.Span(0).Count(ctx, nil)
	fmt.Println(n, err)
	// Output: 2 <nil>
}
