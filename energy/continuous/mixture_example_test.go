package continuous_test

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy/continuous"
)

// A mixture of two Gaussians, tilted towards larger values of the first
// coordinate.
func ExampleMixture_Tilt() {
	m, err := continuous.NewDiagonal([]float64{1, 1}, []float64{-2, 0, 2, 0}, []float64{1, 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	tilted, logZ := m.Tilt([]float64{0.5, 0})
	mean := make([]float64, 2)
	tilted.Mean(mean)
	fmt.Printf("%.4f %.4f\n", mean, logZ)
	// Output: [2.0232 0.0000] 0.5588
}
