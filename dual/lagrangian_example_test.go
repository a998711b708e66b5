package dual_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/model"
)

// tenSpins is a ring of ten spins and the wish that at most three are up.
func tenSpins() *dual.Lagrangian {
	base, err := model.NewIsing(model.Lattice{10}, 0.3, 0)
	if err != nil {
		log.Fatal(err)
	}
	lag, err := dual.NewLagrangian(base, constraint.Count{Levels: []int32{1}, Max: 3})
	if err != nil {
		log.Fatal(err)
	}
	return lag
}

// A Lagrangian is a model like any other. The larger its multiplier, the fewer
// spins are up.
func ExampleLagrangian() {
	up := func(x []int32) (n float64) {
		for _, l := range x {
			n += float64(l)
		}
		return n
	}
	lag := tenSpins()
	for _, lambda := range []float64{0, 0.25, 0.5} {
		if err := lag.SetLambda([]float64{lambda}); err != nil {
			log.Fatal(err)
		}
		exact, err := energy.Enumerate(context.Background(), lag, up)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("λ = %.2f: %.2f up\n", lambda, exact.Means[0])
	}
	// Output:
	// λ = 0.00: 5.00 up
	// λ = 0.25: 3.89 up
	// λ = 0.50: 2.91 up
}

// The exact optimum of a problem that can be enumerated, to compare a sampled
// one with.
func ExampleSolution() {
	s, err := dual.Solve(context.Background(), tenSpins())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("λ* = %.4f, dual value %.4f, met with equality: %t\n", s.Lambda[0], s.Dual, s.Violation[0] > -1e-9)
	// Output: λ* = 0.4746, dual value -6.9188, met with equality: true
}

// A Constraint is linear in the energies of any models. Here the mean of the first
// spin must be at least that of the last.
func ExampleConstraint() {
	base := energy.Func{Sites: 3, Levels: 2, E: func(x []int32) float64 { return float64(x[0]) - float64(x[2]) }}
	site := func(i int) dual.Energetic[int32] {
		return dual.Statistic(func(x []int32) float64 { return float64(x[i]) })
	}
	order := dual.Constraint[int32]{ // x_2 − x_0 ≤ 0
		Name: "order", Of: []dual.Energetic[int32]{site(2), site(0)}, Coef: []float64{1, -1}, Low: math.Inf(-1), High: 0,
	}
	lag, err := dual.NewLagrangian(base, order)
	if err != nil {
		log.Fatal(err)
	}
	s, err := dual.Solve(context.Background(), lag)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("λ* = %.2f\n", s.Lambda[0])
	// Output: λ* = 1.00
}

// On reals, inequalities are energies with scores. A linear term moves the mean
// of a standard normal coordinate by −λ·slope.
func ExampleRealLagrangian() {
	base, err := continuous.NewDiagonal([]float64{1}, []float64{0, 0}, []float64{1})
	if err != nil {
		log.Fatal(err)
	}
	atLeastOne, err := continuous.NewLinear([]float64{-1, 0}, 1) // 1 − x_0 ≤ 0
	if err != nil {
		log.Fatal(err)
	}
	lag, err := dual.NewRealLagrangian(base, 1, dual.AtMost(atLeastOne, 0))
	if err != nil {
		log.Fatal(err)
	}
	score := make([]float32, 2)
	for _, lambda := range []float64{0, 1} {
		if err := lag.SetLambda([]float64{lambda}); err != nil {
			log.Fatal(err)
		}
		lag.Score(score, []float32{1, 0})
		fmt.Println("λ =", lambda, "score at (1, 0):", score) // 0 at the mean
	}
	// Output:
	// λ = 0 score at (1, 0): [-1 0]
	// λ = 1 score at (1, 0): [0 0]
}

// The mean of f0, the energy of the base, under a constraint and without it: fewer spins
// up agree more.
func ExampleLagrangian_Base() {
	ctx, lag := context.Background(), tenSpins()
	f0 := func(x []int32) float64 {
		var e [1]float64
		lag.Base().Energy(e[:], x)
		return e[0]
	}
	s, err := dual.Solve(ctx, lag)
	if err != nil {
		log.Fatal(err)
	}
	for _, lambda := range [][]float64{{0}, s.Lambda} {
		if err := lag.SetLambda(lambda); err != nil {
			log.Fatal(err)
		}
		mean, err := energy.Enumerate(ctx, lag, f0)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("λ = %.2f: mean of f0 %.3f\n", lambda, mean.Means[0])
	}
	// Output:
	// λ = [0.00]: mean of f0 -0.874
	// λ = [0.47]: mean of f0 -1.145
}

// A report has a line for each constraint, with its shadow price.
func ExampleLine() {
	s, err := dual.Solve(context.Background(), tenSpins())
	if err != nil {
		log.Fatal(err)
	}
	var line dual.Line
	for _, line = range s.Report().Constraints {
		fmt.Printf("value %.3f ≤ %.3f, price %.3f\n", line.Value, line.High, line.Price)
	}
	// Output: value 3.000 ≤ 3.000, price -0.475
}
