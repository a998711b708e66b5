package twisted_test

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/twisted"
)

// Two numbers that are near (−1, 1) or near (1, −1), given that they differ by 2
// and the first is positive.
func ExampleSampler() {
	m, err := continuous.NewDiagonal([]float64{1, 3}, []float64{-1, 1, 1, -1}, []float64{0.1, 0.1})
	if err != nil {
		fmt.Println(err)
		return
	}
	model, err := denoise.NewMixture(m)
	if err != nil {
		fmt.Println(err)
		return
	}
	set := constraint.Slabs{
		A:     constraint.Rows([]float64{1, -1, 1, 0}, 2),
		Lower: []float64{2, 0}, Upper: []float64{2, 10},
	}
	s, err := twisted.New(context.Background(), model, set, twisted.Config{
		Schedule: noise.LinearBeta{To: 0.1, Steps: 200}, Steps: 20, Particles: 16, Seed: 1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := make([]float32, 3*2)
	err = s.Sample(context.Background(), x)
	for at := 0; at < len(x); at += 2 {
		fmt.Printf("%.3f %v\n", x[at]-x[at+1], x[at] > 0)
	}
	fmt.Println(err)
	// Output:
	// 2.000 true
	// 2.000 true
	// 2.000 true
	// <nil>
}
