package gibbsite_test

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// Rosters of five nurses and seven shifts: two nurses on every shift, always; no
// more than three shifts a nurse, on average, whatever they like better.
func Example_planner() {
	const nurses, shifts, fair = 5, 7, 3.0
	ctx := context.Background()
	at := func(shift, nurse int) int { return shift*nurses + nurse }
	dislike := energy.Func{Sites: shifts * nurses, Levels: 2, E: func(x []int32) float64 {
		e := 0.0
		for s := range shifts {
			for n := range nurses {
				e += float64(x[at(s, n)]) * 0.4 * float64(n) // the first likes to work, the last does not
			}
		}
		return e
	}}
	pair := check(constraint.Intersect(constraint.Count{Levels: []int32{1}, Min: 2, Max: 2}, constraint.Count{Levels: []int32{0, 1}, Min: nurses, Max: nurses}))
	var week []constraint.Automaton
	var limits dual.Bounds
	for range shifts {
		week = append(week, pair)
	}
	for n := range nurses {
		limits = append(limits, dual.AtMost(energy.Func{Sites: shifts * nurses, Levels: 2, E: func(x []int32) (worked float64) {
			for s := range shifts {
				worked += float64(x[at(s, n)])
			}
			return worked
		}}, fair))
	}
	rosters := check(constraint.Concat(ctx, 2, constraint.Limits{}, week...))
	lag := check(dual.NewLagrangian(dislike, limits))
	seen := diagnose.NewTrace().KeepMarginals(2)
	chains := check(sampler.NewChains(ctx, lag, mcmc.Swap{Within: rosters}, sampler.Config{Chains: 16, Seed: 1, Warmup: -1, Observe: seen.Observe}))
	fit := check(dual.NewInference(ctx, lag, chains, dual.Config{}))
	if err := fit.Solve(ctx, 4000, 0.1); err != nil {
		panic(err)
	}
	seen.Reset()
	proof := check(fit.Certify(ctx, fit.Average(), 100, 1000))
	first, _ := check(seen.Marginals()).At(0, 1)
	fmt.Printf("limits hold within 0.1: %v; nurse 1 works shift 1 in %.1f of the rosters\n", proof.Holds(0.1), first)
	// Output: limits hold within 0.1: true; nurse 1 works shift 1 in 0.4 of the rosters
}
