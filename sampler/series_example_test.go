package sampler_test

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Series with a given mean and a given place of their maximum, in raw units, by
// three methods.
func ExampleSeries() {
	const length = 24
	b := constraint.NewSeriesBuilder(constraint.SeriesShape{
		Length: length, Channels: 1, Shift: []float64{20}, Scale: []float64{4},
	})
	b.Mean(0, 21)
	b.ArgMax(0, 15)
	set, err := b.Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	model, err := energy.NewAutoregressive(length, energy.ARChannel{Coef: []float64{0.9}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, method := range []sampler.SeriesMethod{sampler.ByCPS, sampler.ByPDM, sampler.Unconstrained} {
		d, err := sampler.NewDiffusion(model, sampler.Series{
			Method: method, Projector: projection.ProximalProjector{Set: set},
		}, sampler.DiffusionConfig{Steps: 50, Seed: 1})
		if err != nil {
			fmt.Println(err)
			return
		}
		x := make([]float32, 100*length)
		if err := d.Sample(context.Background(), x); err != nil {
			fmt.Println(err)
			return
		}
		_, worst := sampler.SeriesViolation(set, x, length)
		fmt.Println(method, worst <= 1e-6)
	}
	// Output:
	// cps true
	// pdm true
	// unconstrained false
}
