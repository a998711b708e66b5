package unlearn_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/gibbsite-go/gibbsite/dual"
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

// The distribution that multipliers stand for, and how far it is from both.
func ExampleProblem_Law() {
	q, away := []float64{0.4, 0.3, 0.2, 0.1}, []float64{0.1, 0.2, 0.3, 0.4}
	for _, lambda := range []float64{0, 0.2} {
		p, err := fourStates().Law(unlearn.ReverseKL, []float64{lambda})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("λ = %.1f: %.2f, KL(p‖q) = %.3f, KL(p‖q₁) = %.3f\n", lambda, p, unlearn.KL(p, q), unlearn.KL(p, away))
	}
	// Output:
	// λ = 0.0: [0.40 0.30 0.20 0.10], KL(p‖q) = 0.000, KL(p‖q₁) = 0.456
	// λ = 0.2: [0.49 0.29 0.16 0.06], KL(p‖q) = 0.024, KL(p‖q₁) = 0.674
}

// Dual ascent, step by step, on its way to what Solve finds at once.
func ExampleProblem_Ascend() {
	ctx, b := context.Background(), []float64{0.8}
	path, err := fourStates().Ascend(ctx, unlearn.ReverseKL, b, dual.Ascent{Step: dual.Constant(0.3)}, nil, math.Inf(1), 50)
	if err != nil {
		log.Fatal(err)
	}
	s, err := fourStates().Solve(ctx, unlearn.ReverseKL, b)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("λ = %.3f, %.3f … %.3f, and λ* = %.3f\n", path[0], path[1], path[49], s.Lambda[0])
	// Output:
	// λ = 0.103, 0.177 … 0.281, and λ* = 0.281
}

// No multiplier leads beyond the critical bound, but there is an optimum there: it is far
// from q, on states that q₁ hardly has.
func ExampleProblem_Global() {
	u, err := unlearn.New([]float64{0.7, 0.25, 0.05}, []float64{0.2, 0.75, 0.05})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("critical: %.3f\n", u.Critical())
	for _, b := range []float64{1, 2.2} {
		s, err := u.Global(b)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("KL(p‖q₁) ≥ %v: p = %.3f, cost %.3f\n", b, s.P, s.Cost)
	}
	// Output:
	// critical: 1.609
	// KL(p‖q₁) ≥ 1: p = [0.849 0.115 0.036], cost 0.063
	// KL(p‖q₁) ≥ 2.2: p = [0.207 0.000 0.793], cost 1.941
}

// Multipliers from a sample of q and the ratios q₁/q at its draws alone: p_λ need not be
// known, nor sampled.
func ExampleFromRatios() {
	var ratios []float64 // of ten draws that are like q
	for _, of := range []struct {
		draws int
		ratio float64
	}{{4, 0.1 / 0.4}, {3, 0.2 / 0.3}, {2, 0.3 / 0.2}, {1, 0.4 / 0.1}} {
		for range of.draws {
			ratios = append(ratios, of.ratio)
		}
	}
	u, err := unlearn.FromRatios(ratios)
	if err != nil {
		log.Fatal(err)
	}
	s, err := u.Solve(context.Background(), unlearn.LikelihoodRatio, []float64{0.3})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("λ = %.2f\n", s.Lambda[0]) // as in the example of Solution
	// Output: λ = 4.24
}
