package dual_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// On average three of twenty sites may be up, where the base model alone has
// about ten.
func Example() {
	ctx := context.Background()
	base, err := model.NewIsing(model.Lattice{20}, 0.1, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	lag, err := dual.NewLagrangian(base, constraint.Count{Levels: []int32{1}, Max: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	chains, err := sampler.NewChains(context.Background(), lag, mcmc.Gibbs{}, sampler.Config{Chains: 64, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	inf, err := dual.NewInference(context.Background(), lag, chains, dual.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := inf.Solve(ctx, 5000, 0.1); err != nil {
		fmt.Println(err)
		return
	}
	c := inf.Certificate()
	fmt.Printf("multiplier %.1f, holds: %v\n", c.Lambda[0], c.Holds(0.1))

	exact, err := dual.Solve(ctx, lag)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("exactly %.4f\n", exact.Lambda[0])
	// Output:
	// multiplier 1.5, holds: true
	// exactly 1.4693
}

// Statistics are models too: a mean spin of 0.5 at least.
func ExampleAtLeast() {
	base, _ := model.NewIsing(model.Lattice{3, 3}, 0.2, 0)
	mean := dual.Statistic(energy.Magnetization)
	lag, err := dual.NewLagrangian(base, dual.AtLeast(mean, 0.5))
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := dual.Solve(context.Background(), lag)
	fmt.Printf("%.4f %v\n", s.Lambda[0], err)
	// Output: 1.9810 <nil>
}

// Constraints that contradict each other are reported with a certificate: a
// combination that every state violates.
func ExampleDivergedError() {
	base, _ := model.NewIsing(model.Lattice{4}, 0.2, 0)
	lag, _ := dual.NewLagrangian(base,
		constraint.Count{Levels: []int32{1}, Min: 3, Max: constraint.Unbounded},
		constraint.Count{Levels: []int32{1}, Max: 2},
	)
	_, err := dual.Solve(context.Background(), lag)
	var diverged *dual.DivergedError
	if errors.As(err, &diverged) {
		fmt.Printf("%.2f %.2f\n", diverged.Direction, diverged.Margin)
	}
	// Output: [0.50 0.50] 0.50
}
