package proximal_test

import (
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// market returns features of a random series of six channels of 96 steps as
// rows, and the series: per channel the mean, the mean change, where the
// largest and the smallest value are, both values, and the values at five
// times; and, if ohlc, the order of the prices of the first four channels.
// These are 66 or 450 constraints.
func market(rng *rand.Rand, ohlc bool) (constraint.Slabs, []float64) { return window(rng, 96, ohlc) }

// window is market for a length that 4 divides.
func window(rng *rand.Rand, length int, ohlc bool) (constraint.Slabs, []float64) {
	const channels, tau = 6, 0.005
	x := make([]float64, length*channels)
	for c := range channels {
		v := 0.0
		for i := range length {
			v = 0.95*v + 0.3*rng.NormFloat64()
			x[i*channels+c] = v
		}
	}
	if ohlc {
		for i := range length {
			p := x[i*channels : i*channels+4]
			high, low := max(p[0], p[3]), min(p[0], p[3])
			p[1], p[2] = high+0.1*rng.Float64(), low-0.1*rng.Float64()
		}
	}
	var s constraint.Slabs
	add := func(lo, hi float64, r constraint.Row) {
		s.A, s.Lower, s.Upper = append(s.A, r), append(s.Lower, lo), append(s.Upper, hi)
	}
	less := func(i, j int) { // x_i ≤ x_j
		add(math.Inf(-1), 0, constraint.Row{Index: []int32{int32(i), int32(j)}, Value: []float64{1, -1}})
	}
	for c := range channels {
		at := func(i int) int { return i*channels + c }
		var mean constraint.Row
		sum, top, low := 0.0, 0, 0
		for i := range length {
			mean.Index, mean.Value = append(mean.Index, int32(at(i))), append(mean.Value, 1/float64(length))
			sum += x[at(i)] / float64(length)
			if x[at(i)] > x[at(top)] {
				top = i
			}
			if x[at(i)] < x[at(low)] {
				low = i
			}
		}
		add(sum-tau, sum+tau, mean)
		change := (x[at(length-1)] - x[at(0)]) / float64(length-1)
		add(change-tau, change+tau, constraint.Row{Index: []int32{int32(at(length - 1)), int32(at(0))}, Value: []float64{1 / float64(length-1), -1 / float64(length-1)}})
		for i := range length {
			if i != top {
				less(at(i), at(top))
			}
			if i != low {
				less(at(low), at(i))
			}
		}
		for _, i := range []int{top, low, 0, length/4 - 1, length/2 - 1, length*3/4 - 1, length - 1} {
			add(x[at(i)]-tau, x[at(i)]+tau, constraint.Row{Index: []int32{int32(at(i))}, Value: []float64{1}})
		}
	}
	if ohlc {
		for i := range length {
			o := i * channels
			less(o, o+1)
			less(o+3, o+1)
			less(o+2, o)
			less(o+2, o+3)
		}
	}
	return s, x
}
