package distance

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// EnergyScore returns how well a forecast, given by samples × sites draws, meets
// the series truth that happened,
//
//	E‖X − truth‖ − ½·E‖X − X′‖,
//
// by the mean over samples and over pairs of different ones, which is unbiased
// (Gneiting and Raftery 2007, section 4.2). The score is proper: its expectation
// is least for the distribution that truth is drawn from, where distances to
// truth alone are least for a forecast without spread. Less is better. It costs
// samples²·sites/2 operations.
//
// The error says that there are fewer than two samples. It panics unless len(truth)
// = sites and sites divides len(samples).
func EnergyScore(samples, truth []float32, sites int) (float64, error) {
	check.Len("distance", "truth", len(truth), sites)
	n := check.Rows("distance", "samples", len(samples), sites)
	if n < 2 {
		return 0, fmt.Errorf("distance: EnergyScore: %d samples, want ≥ 2", n)
	}
	miss, spread := 0.0, 0.0
	for i := range n {
		x := samples[i*sites : (i+1)*sites]
		miss += euclid(x, truth)
		for k := range i {
			spread += euclid(x, samples[k*sites:(k+1)*sites])
		}
	}
	return miss/float64(n) - spread/float64(n)/float64(n-1), nil
}

// euclid returns ‖x − y‖.
func euclid(x, y []float32) float64 {
	sum := 0.0
	for i, v := range x {
		d := float64(v) - float64(y[i])
		sum += float64(d * d)
	}
	return math.Sqrt(sum)
}
