package diffusion_test

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint/series"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/projection/newton"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/distance"
)

// Series with a given mean and a given place of their maximum, in raw units, by
// the methods of Config.ProjectState.
func ExampleGaussian() {
	const length = 24
	b := series.NewBuilder(series.Shape{
		Length: length, Channels: 1, Shift: []float64{20}, Scale: []float64{4},
	})
	b.Mean(0, 21)
	b.ArgMax(0, 15)
	set, err := b.Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	model, err := denoise.NewAutoregressive(length, denoise.Channel{Coef: []float64{0.9}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	near := proximal.Projector{Set: set}
	for _, method := range []struct {
		name   string
		config diffusion.Config
	}{
		{"constrained posterior sampling", diffusion.Config{Projector: near}},
		{"projected diffusion models", diffusion.Config{Projector: near, ProjectState: true}},
		{"PRODIGY", diffusion.Config{Projector: near, ProjectState: true, ProjectPower: 1}},
		{"COP-FT", diffusion.Config{Projector: near, ProjectState: true, ProjectEvery: -1}},
		{"unconstrained", diffusion.Config{}},
	} {
		method.config.Steps, method.config.Seed = 50, 1
		d, err := diffusion.New(ctx, model, diffusion.Gaussian{}, method.config)
		if err != nil {
			fmt.Println(err)
			return
		}
		x := make([]float32, 100*length)
		if err := d.Sample(ctx, x); err != nil {
			fmt.Println(err)
			return
		}
		_, worst := distance.Violation(set, x, length)
		fmt.Println(method.name, worst <= 1e-6)
	}
	// Output:
	// constrained posterior sampling true
	// projected diffusion models true
	// PRODIGY true
	// COP-FT true
	// unconstrained false
}

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
	d, err := diffusion.New(ctx, model, diffusion.ECI{}, diffusion.Config{Steps: 20, Seed: 1, Projector: newton.Projector{Equations: disc{}}})
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
