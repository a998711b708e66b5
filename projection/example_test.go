package projection_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/lagrange"
)

// Draw codes of two letters and two digits, jointly, from weights that would
// rather have letters everywhere.
func ExamplePathProjection_Draw() {
	ctx := context.Background()
	code, err := text.Regexp(ctx, `[ab]{2}[01]{2}`, text.Runes("ab01"), constraint.Limits{})
	if err != nil {
		panic(err)
	}
	e, err := projection.Path{Language: code}.Compile(ctx, 4, 4)
	if err != nil {
		panic(err)
	}
	v := make([]float32, 4*4)
	for i := range 4 {
		v[i*4], v[i*4+1] = 2, 1
	}
	x := make([]int32, 4)
	logZ, err := e.Draw(ctx, x, v, rand.NewPCG(1, 1))
	if err != nil {
		panic(err)
	}
	fmt.Println(e.Accepts(x))
	fmt.Printf("%.6f = %.6f\n", logZ, 2*math.Log(math.Exp(2)+math.E)+2*math.Log(2))
	// Output:
	// true
	// 6.012818 = 6.012818
}

// Where a constraint cannot be met, the error says which and where.
func ExampleInfeasibleError() {
	two := constraint.Count{Levels: []int32{1}, Min: 2, Max: 2}
	e, err := projection.Path{Language: two, Name: "two ones"}.Compile(context.Background(), 3, 2)
	if err != nil {
		panic(err)
	}
	never := float32(math.Inf(-1))
	_, err = e.LogZ(context.Background(), []float32{
		0, never,
		0, 0,
		0, never,
	})
	fmt.Println(err)
	fmt.Println(errors.Is(err, constraint.ErrInfeasible))
	// Output:
	// projection: two ones at site 2: no sequence satisfies the constraint
	// true
}

// A score that no sequence reaches: an iteration ends with the best there was and states
// how far that is from what was wanted.
func ExampleNotConverged() {
	ones := constraint.Score{
		F: func(v []float32) float64 { return float64(v[1]) + float64(v[3]) }, // P(x_0 = 1) + P(x_1 = 1)
		Gradient: func(dst, v []float32, weight float64) {
			dst[1] += float32(weight)
			dst[3] += float32(weight)
		},
		Threshold: -1,
	}
	p, err := lagrange.Projector{Constraint: ones, Outer: 5}.Compile(context.Background(), 2, 2)
	if err != nil {
		panic(err)
	}
	x := make([]int32, 2)
	_, _, err = p.Nearest(context.Background(), x, []float32{0, 1, 0, 1}, rand.NewPCG(1, 1))
	if late := new(projection.NotConverged); errors.As(err, &late) {
		fmt.Println(x, "violates by", late.Residual, "after", late.Iterations, "loops; want", late.Want)
	}
	// Output: [0 0] violates by 1 after 5 loops; want 0
}

// What is likely given the language: two of three sites are 1, the first one rather
// than the others. Shorter sequences are padded with 2.
func ExamplePathProjection() {
	ctx := context.Background()
	two := constraint.Count{Levels: []int32{1}, Min: 2, Max: 2}
	e, err := projection.Path{Language: two, Padded: true, Pad: 2}.Compile(ctx, 3, 3)
	if err != nil {
		panic(err)
	}
	v := make([]float32, 3*3)
	v[1] = 1
	best, err := e.KBest(ctx, v)
	if err != nil {
		panic(err)
	}
	for x, logWeight := range best {
		logP, err := e.LogProb(ctx, x, v)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%v %.0f %.4f\n", x, logWeight, math.Exp(logP))
	}
	p, logs := make([]float64, 3*3), make([]float64, 3*3)
	if err := errors.Join(e.Marginals(ctx, p, v), e.LogMarginals(ctx, logs, v)); err != nil {
		panic(err)
	}
	fmt.Printf("first site: %.4f, log %.4f\n", p[:3], logs[:3])
	entropy, err := e.Entropy(ctx, v)
	if err != nil {
		panic(err)
	}
	zeros, err := e.Mean(ctx, []float64{1, 0, 0, 1, 0, 0, 1, 0, 0}, v)
	if err != nil {
		panic(err)
	}
	fmt.Printf("entropy %.4f nats, zeros %.4f\n", entropy, zeros)
	// Output:
	// [1 0 1] 1 0.2969
	// [1 1 0] 1 0.2969
	// [1 1 2] 1 0.2969
	// [0 1 1] 0 0.1092
	// first site: [0.1092 0.8908 0.0000], log [-2.2143 -0.1157 -Inf]
	// entropy 1.3235 nats, zeros 0.7031
}
