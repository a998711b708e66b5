package diffusion_test

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint/series"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// Series with a given mean and a given place of their maximum, in raw units, by
// three methods.
func ExampleSeries() {
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
	for _, method := range []diffusion.SeriesMethod{diffusion.ByCPS, diffusion.ByPDM, diffusion.Unconstrained} {
		d, err := diffusion.New(model, diffusion.Series{
			Method: method, Projector: proximal.Projector{Set: set},
		}, diffusion.Config{Steps: 50, Seed: 1})
		if err != nil {
			fmt.Println(err)
			return
		}
		x := make([]float32, 100*length)
		if err := d.Sample(context.Background(), x); err != nil {
			fmt.Println(err)
			return
		}
		_, worst := diffusion.SeriesViolation(set, x, length)
		fmt.Println(method, worst <= 1e-6)
	}
	// Output:
	// cps true
	// pdm true
	// unconstrained false
}
