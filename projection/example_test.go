package projection_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/projection"
)

// Draw codes of two letters and two digits, jointly, from weights that would
// rather have letters everywhere.
func ExampleExact_Draw() {
	ctx := context.Background()
	code, err := constraint.Regexp(ctx, `[ab]{2}[01]{2}`, constraint.Runes("ab01"), constraint.Limits{})
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
	logZ, err := e.Draw(x, v, rand.NewPCG(1, 1))
	if err != nil {
		panic(err)
	}
	fmt.Println(e.Accepts(x))
	fmt.Printf("%.6f = %.6f\n", logZ, 2*math.Log(math.Exp(2)+math.E)+2*math.Log(2))
	// Output:
	// true
	// 6.012818 = 6.012818
}

// A sequence that is known already gives way to the nearest one that is not,
// and what is committed is known from then on.
func ExampleNovel() {
	known := new(constraint.Lexicon)
	known.Add([]int32{1, 1, 1})
	s, err := projection.Novel{Seen: known}.Compile(context.Background(), 3, 2)
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
		if err := s.Commit(x, v, nil); err != nil {
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
func ExampleLexical_LogProb() {
	known := new(constraint.Lexicon)
	for _, x := range [][]int32{{0, 0}, {0, 1}, {1, 0}} {
		known.Add(x)
	}
	p, err := projection.Novel{Seen: known}.Bind(2, 3, 1)
	if err != nil {
		panic(err)
	}
	novel := p.(*projection.Lexical)
	logProb, err := novel.LogProb(make([]float32, 2*3)) // nine sequences, all alike
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.4f\n", math.Exp(logProb))
	// Output:
	// 0.6667
}

// Where a constraint cannot be met, the error says which and where.
func ExampleInfeasibleError() {
	two := constraint.Count{Levels: []int32{1}, Min: 2, Max: 2}
	e, err := projection.Path{Language: two, Name: "two ones"}.Compile(context.Background(), 3, 2)
	if err != nil {
		panic(err)
	}
	never := float32(math.Inf(-1))
	_, err = e.LogZ([]float32{
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

// A score that nobody could write as a language: the sum of two digits' cosines.
// The derivative leads, and what comes out is the nearest distribution whose
// likeliest digits score at most −1.
func ExampleKL() {
	score := constraint.Score{
		F: func(v []float32) float64 {
			sum := 0.0
			for i, p := range v {
				sum += math.Cos(float64(i%10)) * float64(p)
			}
			return sum
		},
		Gradient: func(dst, v []float32, w float64) {
			for i := range dst {
				dst[i] += float32(w * math.Cos(float64(i%10)))
			}
		},
		Threshold: -1,
	}
	p, err := projection.KL{Constraint: score}.Compile(context.Background(), 2, 10)
	if err != nil {
		panic(err)
	}
	v := make([]float32, 2*10)
	v[0], v[10+5] = 2, 1 // 0 and 5 lead: cos 0 + cos 5 = 1.28
	x := make([]int32, 2)
	divergence, violation, err := p.Nearest(context.Background(), x, v, rand.NewPCG(1, 1))
	if err != nil {
		panic(err)
	}
	fmt.Println(x, violation <= 0)
	fmt.Printf("%.3f nats away\n", divergence)
	// Output:
	// [3 9] true
	// 0.203 nats away
}
