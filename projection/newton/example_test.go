package newton_test

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/projection/newton"
)

// power is the equation z_0² + z_1² = 25.
type power struct{}

func (power) Len() int                                   { return 1 }
func (power) Eval(g, z []float64)                        { g[0] = z[0]*z[0] + z[1]*z[1] - 25 }
func (power) Gradient(dst []float64, _ int, z []float64) { dst[0], dst[1] = 2*z[0], 2*z[1] }

// The nearest point of a circle.
func ExampleProjector() {
	s, err := newton.Projector{Equations: power{}}.Compile(2)
	if err != nil {
		panic(err)
	}
	z := make([]float64, 2)
	err = s.Solve(z, []float64{6, 8})
	fmt.Printf("%.6f %v\n", z, err)
	// Output: [3.000000 4.000000] <nil>
}

// One step only comes near.
func ExampleSolver() {
	s, err := newton.Projector{Equations: power{}}.Compile(2)
	if err != nil {
		panic(err)
	}
	z := make([]float64, 2)
	residual, err := s.Step(z, []float64{6, 8})
	fmt.Printf("%.4f %v %v\n", z, residual, err)
	// Output: [3.7500 5.0000] 75 <nil>
}

// For a runner.
func ExampleProjector_Bind() {
	p, err := newton.Projector{Equations: power{}}.Bind(context.Background(), 2, 1, 1)
	if err != nil {
		panic(err)
	}
	v := []float32{6, 8}
	_, err = p.Project(context.Background(), 0, v, 0.1, 0, nil)
	fmt.Println(v, err)
	// Output: [3 4] <nil>
}

// A looser tolerance ends sooner.
func ExampleProjector_tolerance() {
	s, err := newton.Projector{Equations: power{}, Tolerance: 0.5}.Compile(2)
	if err != nil {
		panic(err)
	}
	z := make([]float64, 2)
	err = s.Solve(z, []float64{6, 8})
	fmt.Printf("%.4f %v\n", z, err)
	// Output:
	// [3.0000 4.0000] <nil>
}
