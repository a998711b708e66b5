package flow_test

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/projection/newton"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/flow"
)

// disc is the equation z_0² + z_1² = 4.
type disc struct{}

func (disc) Len() int                                   { return 1 }
func (disc) Eval(g, z []float64)                        { g[0] = z[0]*z[0] + z[1]*z[1] - 4 }
func (disc) Gradient(dst []float64, _ int, z []float64) { dst[0], dst[1] = 2*z[0], 2*z[1] }

// Points of a circle, from a flow that knows two normal numbers.
func ExampleECI() {
	ctx := context.Background()
	model, err := denoise.NewGaussian([]float64{1, 0}, []float64{1, 0, 0, 0.01})
	if err != nil {
		panic(err)
	}
	d, err := diffusion.New(ctx, model, flow.ECI{}, diffusion.Config{Steps: 20, Seed: 1, Projector: newton.Projector{Equations: disc{}}})
	if err != nil {
		panic(err)
	}
	x := make([]float32, 2*3)
	err = d.Sample(ctx, x)
	for i := 0; i < len(x); i += 2 {
		fmt.Printf("%.4f ", x[i]*x[i]+x[i+1]*x[i+1])
	}
	fmt.Println(err)
	// Output: 4.0000 4.0000 4.0000 <nil>
}
