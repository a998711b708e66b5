package lagrange_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/projection/lagrange"
)

// At most one of three bits may be 1. The projection moves the rows of one
// sample of a batch; multipliers are kept by sample, so that the next step of a
// diffusion begins where this one ended.
func ExampleProjection() {
	ctx := context.Background()
	atMostOne := constraint.Count{Levels: []int32{1}, Max: 1}.Linear(3, 2)
	bound, err := lagrange.Projector{Constraint: atMostOne}.Bind(ctx, 3, 2, 2)
	if err != nil {
		panic(err)
	}
	p := bound.(*lagrange.Projection)
	v := []float32{ // log-weights: all three bits would rather be 1
		0, 0.5,
		0, 3,
		0, 0.5,
	}
	violation, err := p.Project(ctx, 1, v, 1, 0.9, rand.NewPCG(1, 1))
	if err != nil {
		panic(err)
	}
	for i := range 3 {
		fmt.Print(v[2*i+1] > v[2*i], " ")
	}
	fmt.Println(violation <= 0)
	p.Copy(0, 1) // a particle that was resampled takes its multipliers along
	// Output: false true false true
}
