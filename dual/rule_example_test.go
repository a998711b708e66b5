package dual_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gibbsite-go/gibbsite/dual"
)

// steps prints the multipliers that a rule goes through on a made-up problem,
// whose mean violation is (2 − λ)/2.
func steps(rule dual.Rule, n int) {
	u, err := rule.Bind(context.Background(), 1)
	if err != nil {
		log.Fatal(err)
	}
	lambda := []float64{0}
	b := dual.Batch{States: 64, Beta: 1, Mean: []float64{0}, Cov: []float64{0.5}, Max: 10}
	path := make([]float64, n)
	for b.Step = range n {
		b.Mean[0] = 0.5 * (2 - lambda[0])
		if err := u.Update(lambda, &b); err != nil {
			log.Fatal(err)
		}
		path[b.Step] = lambda[0]
	}
	fmt.Printf("%.2f\n", path)
}

// A constant step has to suit the problem: where the violation falls by ½ per
// unit of λ, steps of 4 swing between 0 and twice the answer.
func ExampleAscent() {
	steps(dual.Ascent{Step: dual.Constant(0.5)}, 6)
	steps(dual.Ascent{Step: dual.Constant(4)}, 6)
	// Output:
	// [0.50 0.88 1.16 1.37 1.53 1.64]
	// [4.00 0.00 4.00 0.00 4.00 0.00]
}

// Auto takes the curvature of the dual function from the covariance of the
// batches; its steps are at most two standard deviations of g long.
func ExampleAuto() {
	steps(dual.Auto{}, 6)
	// Output: [1.88 1.96 1.98 1.99 2.00 2.00]
}

// Every other step is taken back: the next one starts where it did, with the
// gradient found ahead.
func ExampleExtragradient() {
	steps(dual.Extragradient{Step: dual.Constant(1)}, 8)
	// Output: [1.00 0.50 1.25 0.88 1.44 1.16 1.58 1.37]
}

// AdaGrad divides by the gradients met so far.
func ExampleAdaGrad() {
	steps(dual.AdaGrad{}, 6)
	// Output: [1.41 1.81 1.94 1.98 1.99 2.00]
}

// The proportional term answers a change of the violation before the integral
// has: here it damps.
func ExamplePI() {
	steps(dual.PI{Integral: dual.Constant(0.5), Proportional: -1}, 6) // the same as Ascent
	steps(dual.PI{Integral: dual.Constant(0.5)}, 6)
	// Output:
	// [0.50 0.88 1.16 1.37 1.53 1.64]
	// [0.50 0.75 1.00 1.19 1.34 1.47]
}

// Decay keeps multipliers below where the constraint is met, and from growing
// without bound where it never is.
func ExampleDecay() {
	ascent := dual.Ascent{Step: dual.Constant(1)}
	steps(ascent, 8)
	steps(dual.Decay{Rule: ascent, Rate: 0.1}, 8)
	// Output:
	// [1.00 1.50 1.75 1.88 1.94 1.97 1.98 1.99]
	// [1.00 1.40 1.56 1.62 1.65 1.66 1.66 1.67]
}

// Batch is what a rule knows of the samples. Measure fills it from their
// violations: here three samples with two inequalities each.
func ExampleBatch() {
	b := dual.Batch{States: 3, Beta: 1, Mean: make([]float64, 2)}
	err := b.Measure([]float64{
		1, -1,
		2, -1,
		3, -4,
	})
	if err != nil {
		log.Fatal(err)
	}
	c := make([]float64, 4)
	b.Covariance(c)
	fmt.Println("mean", b.Mean)
	fmt.Println("covariance", c)
	// Output:
	// mean [2 -2]
	// covariance [1 -1.5 -1.5 3]
}
