package continuous_test

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy/continuous"
)

// Two normal numbers with correlation 0.8. The first is known to be 2; of the
// second there is only noise (ᾱ = 0), so its posterior mean is its conditional
// mean, 0.8·2.
func ExampleConditional() {
	m, err := continuous.NewMixture([]float64{1}, [][]float64{{0, 0}}, [][]float64{{1, 0.8, 0.8, 1}})
	if err != nil {
		panic(err)
	}
	given, err := m.Given([]bool{true, false})
	if err != nil {
		panic(err)
	}
	v := make([]float32, 2)
	given.Posterior(v, []float32{2, -0.3}, []float64{0}, nil)
	fmt.Printf("%.3f\n", v)
	// Output: [2.000 1.600]
}

// The half-space x_0 + x_1 ≥ 1 as an energy that is ≤ 0 where it holds: the
// form in which a constraint g(x) ≤ 0 enters a Lagrangian.
func ExampleLinear() {
	g, err := continuous.NewLinear([]float64{-1, -1}, 1)
	if err != nil {
		panic(err)
	}
	e := make([]float64, 2)
	g.Energy(e, []float32{0.5, 0, 2, 1})
	fmt.Println(e)
	// Output: [0.5 -2]
}

// ½xᵀAx + bᵀx with A = diag(1, 4) and b = (−1, 0) is the Gaussian with mean
// −A⁻¹b = (1, 0): the score points there.
func ExampleQuadratic() {
	m, err := continuous.NewQuadratic([]float64{1, 0, 0, 4}, []float64{-1, 0}, 0)
	if err != nil {
		panic(err)
	}
	s := make([]float32, 4)
	m.Score(s, []float32{1, 0, 3, -1})
	fmt.Println(s)
	// Output: [0 0 -2 4]
}

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
