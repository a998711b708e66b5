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
