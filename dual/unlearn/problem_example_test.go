package unlearn_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gibbsite-go/gibbsite/dual/unlearn"
)

// fourStates is a distribution on four states and one to move away from.
func fourStates() *unlearn.Problem {
	u, err := unlearn.New([]float64{0.4, 0.3, 0.2, 0.1}, []float64{0.1, 0.2, 0.3, 0.4})
	if err != nil {
		log.Fatal(err)
	}
	return u
}

// At most 0.3 times as much of the other distribution shall be left.
func ExampleSolution() {
	s, err := fourStates().Solve(context.Background(), unlearn.LikelihoodRatio, []float64{0.3})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("p = %.2f at λ = %.2f\n", s.P, s.Lambda[0])
	fmt.Printf("E[q₁/q] = %.2f, KL(p‖q) = %.2f\n", s.Value[0], s.Cost)
	// Output:
	// p = [0.88 0.11 0.00 0.00] at λ = 4.24
	// E[q₁/q] = 0.30, KL(p‖q) = 0.58
}

// The points of a curve tell which formulation forgets as much for less.
func ExamplePoint() {
	points, err := fourStates().TradeOff(context.Background(), []float64{0.6},
		unlearn.ReverseKL, unlearn.ForwardKL, unlearn.LikelihoodRatio)
	if err != nil {
		log.Fatal(err)
	}
	cheapest := points[0]
	for _, p := range points {
		if p.KL < cheapest.KL {
			cheapest = p
		}
	}
	fmt.Printf("%v leaves %.1f for %.3f nats\n", cheapest.Formulation, cheapest.Unlearned, cheapest.KL)
	// Output: likelihood-ratio leaves 0.6 for 0.093 nats
}
