package diffusion_test

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint/series"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
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
