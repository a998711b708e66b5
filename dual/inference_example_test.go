package dual_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// threeOfTen is primal–dual inference of at most three of ten spins up.
func threeOfTen(rule dual.Rule) *dual.Inference[int32] {
	lag := tenSpins()
	chains, err := sampler.NewChains(context.Background(), lag, mcmc.Gibbs{}, sampler.Config{Chains: 64, Seed: 1, Warmup: -1})
	if err != nil {
		log.Fatal(err)
	}
	inf, err := dual.NewInference(context.Background(), lag, chains, dual.Config{Rule: rule})
	if err != nil {
		log.Fatal(err)
	}
	return inf
}

// Multipliers move while chains run. Their average approaches λ* = 0.47; single
// iterates keep moving about it.
func ExampleInference() {
	inf := threeOfTen(nil)
	for range 3 {
		if err := inf.Run(context.Background(), 500); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("after %d steps: λ̄ = %.3f\n", inf.Len(), inf.Average()[0])
	}
	// Output:
	// after 500 steps: λ̄ = 0.470
	// after 1000 steps: λ̄ = 0.470
	// after 1500 steps: λ̄ = 0.472
}

// A certificate of fixed multipliers bounds how far the result is from the
// optimum.
func ExampleCertificate() {
	ctx := context.Background()
	inf := threeOfTen(nil)
	if err := inf.Run(ctx, 1000); err != nil {
		log.Fatal(err)
	}
	c, err := inf.Certify(ctx, nil, 50, 2000)
	if err != nil {
		log.Fatal(err)
	}
	gap, se := c.Gap()
	fmt.Printf("violation %.3f ± %.3f, gap %.3f ± %.3f\n", c.Violation[0], c.ViolationSE[0], gap, se)
	fmt.Println("holds within 0.1:", c.Holds(0.1))
	// Output:
	// violation 0.008 ± 0.009, gap -0.004 ± 0.004
	// holds within 0.1: true
}

// Solve says when its steps did not suffice; what the loop has found so far is
// not lost.
func ExampleNotConverged() {
	ctx := context.Background()
	inf := threeOfTen(dual.Ascent{Step: dual.Constant(0.001)}) // far too careful
	err := inf.Solve(ctx, 300, 0.1)
	var not *dual.NotConverged
	if errors.As(err, &not) {
		fmt.Printf("after %d steps the residual is %.1f\n", not.Steps, not.Certificate.Residual())
	}
	// Output: after 300 steps the residual is 0.9
}

// Resampler makes a primal of any sampler without a state between draws: here
// of independent spins, each up with the probability that the multiplier says.
func ExampleResampler() {
	free := energy.Func{Sites: 10, Levels: 2, E: func(x []int32) float64 { return 0 }}
	lag, err := dual.NewLagrangian(free, constraint.Count{Levels: []int32{1}, Max: 3})
	if err != nil {
		log.Fatal(err)
	}
	r := sampler.NewStream(1, 0)
	p, err := dual.NewResampler(10, 256, func(ctx context.Context, x []int32) error {
		up := 1 / (1 + math.Exp(lag.Lambda()[0]))
		for i := range x {
			x[i] = 0
			if r.Float64() < up {
				x[i] = 1
			}
		}
		return ctx.Err()
	})
	if err != nil {
		log.Fatal(err)
	}
	inf, err := dual.NewInference(context.Background(), lag, p, dual.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := inf.Run(context.Background(), 1000); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("λ̄ = %.2f, exactly %.2f\n", inf.Average()[0], math.Log(7.0/3))
	// Output: λ̄ = 0.85, exactly 0.85
}

// log Z along a straight path of multipliers, by sampling alone: what a model too
// large to enumerate needs for its dual value.
func ExamplePath() {
	ctx := context.Background()
	lag := tenSpins()
	chains, err := sampler.NewChains(context.Background(), lag, mcmc.Gibbs{}, sampler.Config{Chains: 64, Seed: 1, Warmup: -1})
	if err != nil {
		log.Fatal(err)
	}
	rise, se, err := dual.Thermodynamic(ctx, lag, chains, []float64{0.5}, dual.Path{Points: 9})
	if err != nil {
		log.Fatal(err)
	}
	before, err := lag.Dual(ctx, []float64{0})
	if err != nil {
		log.Fatal(err)
	}
	after, err := lag.Dual(ctx, []float64{0.5})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("log Z(0.5) − log Z(0) = %.3f ± %.3f, exactly %.3f\n", rise, se, before-after)
	// Output: log Z(0.5) − log Z(0) = -0.456 ± 0.004, exactly -0.455
}

// A loop that goes on from a file, with its chains, comes to the same bits as one in a
// single run.
func ExampleInference_SaveFile() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "dual")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "loop")
	whole, first, second := threeOfTen(nil), threeOfTen(nil), threeOfTen(nil)
	if err := whole.Run(ctx, 100); err != nil {
		log.Fatal(err)
	}
	if err := first.Run(ctx, 60); err != nil {
		log.Fatal(err)
	}
	if err := first.SaveFile(path); err != nil {
		log.Fatal(err)
	}
	if err := second.LoadFile(ctx, path); err != nil {
		log.Fatal(err)
	}
	if err := second.Run(ctx, 40); err != nil {
		log.Fatal(err)
	}
	fmt.Println(second.Len(), slices.Equal(second.Average(), whole.Average()))
	// Output: 100 true
}
