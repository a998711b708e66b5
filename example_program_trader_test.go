package gibbsite_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint/series"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// Bars of open, high, low and close, of which two are missing: they are drawn
// given those around them, in cents, with prices in order to the last bit.
func Example_trader() {
	const length, history = 8, 400
	r, log := rand.New(rand.NewPCG(1, 1)), 0.0
	var bars []float64
	for range history {
		open := log
		log += 0.01*r.NormFloat64() - 0.02*log
		high, low := max(open, log)+0.004*r.ExpFloat64(), min(open, log)-0.004*r.ExpFloat64()
		for _, p := range []float64{open, high, low, log} {
			bars = append(bars, math.Round(1e4*math.Exp(p))/100)
		}
	}
	last := bars[len(bars)-4*length:] // the file ends with a gap of two bars, two before its end
	for i := 16; i < 24; i++ {
		last[i] = math.NaN()
	}

	shape := series.Shape{Length: length, Channels: 4, Shift: []float64{100, 100, 100, 100}, Scale: []float64{5, 5, 5, 5}}
	var windows []float32
	for t := range history - 2*length {
		for _, p := range bars[4*t : 4*(t+length)] {
			windows = append(windows, float32((p-100)/5))
		}
	}
	want := series.NewBuilder(shape)
	want.OHLC(0, 1, 2, 3)
	want.Impute(last) // what is not NaN stays
	model := check(denoise.NewWindows(windows, 4*length, denoise.WindowsConfig{Bandwidth: 0.1}))
	d := check(diffusion.New(context.Background(), model, diffusion.Gaussian{Recompute: true},
		diffusion.Config{Steps: 50, Seed: 1, Projector: proximal.Projector{Set: check(want.Build())}}))
	x := make([]float32, 4*length)
	if err := d.Sample(context.Background(), x); err != nil {
		panic(err)
	}
	filled := shape.Raw(x)[16:24]
	moved, err := series.Prices{Open: 0, High: 1, Low: 2, Close: 3, Tick: 0.01}.Finish(filled, 4, 0.02)
	fmt.Printf("%.0f %v %v\n", filled, moved < 0.01, err)
	// Output: [106 107 104 105 104 106 103 106] true <nil>
}
