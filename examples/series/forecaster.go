package main

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
)

// Shape and training of the transformer that forecasts, with about 4 000 weights.
const (
	forecastWidth  = 16
	forecastHeads  = 2
	forecastBlocks = 1
	forecastSteps  = 600
	forecastRate   = 1e-2
	forecastBatch  = 32
)

// attend is [forecast] by a transformer that is trained on windows for a number of steps. At every row it predicts the
// change to the next row of all channels, from this row, those before and their changes. As for [forecast], the
// first rows of a window are not tested.
func attend(ctx context.Context, windows, test []float32, length, n, steps int, seed uint64) (mae, stderr float64, err error) {
	shape := neural.Config{
		Length: length - 1, Channels: 2 * n, Outputs: n, Width: forecastWidth, Heads: forecastHeads, Blocks: forecastBlocks,
		Positions: true, Block: 1, // a row attends to none after it
	}
	net, err := neural.New(shape, rand.NewPCG(seed, 32))
	if err != nil {
		return 0, 0, err
	}
	x, target := changes(windows, length, n)
	t, err := train.NewPairs(net, &train.Pairs{X: x, Target: target}, train.Config{
		Steps: steps, Batch: forecastBatch, Rate: forecastRate, Decay: decay, Seed: seed,
	})
	if err != nil {
		return 0, 0, err
	}
	if err := t.Run(ctx, steps); err != nil {
		return 0, 0, err
	}
	x, target = changes(test, length, n)
	count := len(test) / length / n
	pass, y := t.Average().NewPass(count), make([]float32, len(target))
	pass.Forward(neural.Input{Reals: x})
	pass.Output(y, nil)
	var each []float64
	first := (min(memory, length-1) - 1) * n
	for sites := (length - 1) * n; len(y) > 0; y, target = y[sites:], target[sites:] {
		sum := 0.0
		for i := first; i < sites; i++ {
			sum += math.Abs(float64(y[i]) - float64(target[i]))
		}
		each = append(each, sum/float64(sites-first))
	}
	mae, stderr = meanError(each)
	return mae, stderr, nil
}

// changes returns, for all rows of windows but the last, the row with the change to it, and the
// change to the next row. The change to the first row of a window is 0.
func changes(windows []float32, length, n int) (x, target []float32) {
	for sites := length * n; len(windows) > 0; windows = windows[sites:] {
		last := windows[:n]
		for at := n; at < sites; at += n {
			row := windows[at-n : at]
			x = append(x, row...)
			for c, v := range row {
				x = append(x, v-last[c])
				target = append(target, windows[at+c]-v)
			}
			last = row
		}
	}
	return x, target
}
