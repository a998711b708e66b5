package lagrange_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/projection/lagrange"
)

// A score that nobody could write as a language: the sum of two digits' cosines.
// The derivative leads, and what comes out is the nearest distribution whose
// likeliest digits score at most −1.
func ExampleProjector() {
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
	p, err := lagrange.Projector{Constraint: score}.Compile(context.Background(), 2, 10)
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
	// [3 3] true
	// 0.203 nats away
}

// What leads need not be what decides. Here a surrogate that is cheap to differentiate
// counts a token as soon as it is likely, a judge counts the tokens that are decoded, and
// one token too many is none. Long steps and hard draws suit a surrogate like this.
func ExampleProjector_judge() {
	few := constraint.Count{Levels: []int32{1}, Max: 1}
	p, err := lagrange.Projector{
		Constraint: constraint.Score{
			F: func(v []float32) (sum float64) { // over sites, of the share of 1
				for i := 1; i < len(v); i += 2 {
					sum += float64(v[i])
				}
				return sum
			},
			Gradient: func(dst, v []float32, w float64) {
				for i := 1; i < len(dst); i += 2 {
					dst[i] += float32(w)
				}
			},
			Threshold: 1.5,
		},
		Judge: few, Tolerance: 1,
		Step: 1, Temperature: 0.5,
	}.Compile(context.Background(), 4, 2)
	if err != nil {
		panic(err)
	}
	v := []float32{0, 2, 0, 0.5, 0, 3, 0, 1} // all four sites prefer 1
	x := make([]int32, 4)
	_, violation, err := p.Nearest(context.Background(), x, v, rand.NewPCG(1, 1))
	if err != nil {
		panic(err)
	}
	fmt.Println(x, "violation", violation)
	// Output: [1 0 1 0] violation 1
}
