package gibbsite_test

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// Parallel chains on the 4×4 torus of Zhang, Liu and Liu 2022, beside the exact
// answer.
func Example() {
	ctx := context.Background()
	m, err := model.NewIsing(model.Lattice{4, 4}, 0.2, 0.2)
	if err != nil {
		panic(err)
	}
	mag := diagnose.NewTrace(energy.Magnetization).Name("mag")
	ch, err := sampler.NewChains(ctx, m, mcmc.DMALA{}, sampler.Config{Chains: 64, Seed: 1, Observe: mag.Observe})
	if err != nil {
		panic(err)
	}
	if err := ch.Run(ctx, 5000); err != nil {
		panic(err)
	}
	fmt.Println(mag.Summary())
	exact, err := energy.Enumerate(ctx, m, energy.Magnetization)
	if err != nil {
		panic(err)
	}
	row := mag.Summary().Rows[0]
	off := math.Abs(row.Mean.Value - exact.Means[0])
	fmt.Println("within three standard errors of the exact mean:", off < 3*row.MCSE.Value)
	// Output:
	// 64 chains × 5000 draws, acceptance 0.5688, 2.41 moves per step
	//
	//        Mean      MCSE  StdDev      5%  50%  95%  ESS_bulk  ESS_tail  R_hat
	// mag  0.4805  0.002351   0.335  -0.125  0.5    1     19108     42229  1.003
	//
	// within three standard errors of the exact mean: true
}

// Chains, their draws and a summary in one line; and a tempered run, whose rungs
// together give every temperature between.
func Example_record() {
	ctx := context.Background()
	m, err := model.NewIsing(model.Lattice{8, 8}, 0.5, 0)
	if err != nil {
		panic(err)
	}
	mag, err := diagnose.Record(ctx, m, mcmc.Gibbs{}, sampler.Config{Seed: 1}, 1000, energy.Magnetization)
	if err != nil {
		panic(err)
	}
	e, err := mag.Row("energy")
	fmt.Printf("energy %.0f %v\n", e.Mean.Value, err)

	all := diagnose.NewReplicas(energy.Magnetization).Name("mag")
	ch, err := sampler.NewChains(ctx, m, mcmc.Tempering{Base: mcmc.Gibbs{}}, sampler.Config{Seed: 1, Observe: all.Observe})
	if err != nil {
		panic(err)
	}
	if err := ch.Run(ctx, 2000); err != nil {
		panic(err)
	}
	w, err := all.Reweight()
	if err != nil {
		panic(err)
	}
	heat, err := w.HeatCapacity(0.2, 0.5, 0.8)
	fmt.Printf("%.0f %.0f %.0f %v\n", heat[0].Value, heat[1].Value, heat[2].Value, err)
	// Output:
	// energy -56 <nil>
	// 1 11 71 <nil>
}

// An energy of one's own is a closure: ten dimers on a ring of twenty sites that
// like to be in the same state as their partner and unlike their neighbour.
func Example_ownEnergy() {
	ctx := context.Background()
	m := energy.Func{Sites: 20, Levels: 2, E: func(x []int32) float64 {
		e := 0.0
		for i := 0; i < 20; i += 2 {
			e -= float64(1 - (x[i] ^ x[i+1]))      // partners agree
			e -= float64(x[i+1]^x[(i+2)%20]) * 0.5 // neighbours differ
		}
		return e
	}}
	ch, err := sampler.NewChains(ctx, m, mcmc.Gibbs{}, sampler.Config{Seed: 1})
	if err != nil {
		panic(err)
	}
	agree := 0
	for x := range ch.Draws(ctx, 500) {
		for i := 0; i < len(x); i += 2 {
			if x[i] == x[i+1] {
				agree++
			}
		}
	}
	// A free pair agrees with odds e : 1, that is 73 % of the time.
	fmt.Printf("partners agree in %d %% of the draws\n", 100*agree/(500*4*10))
	// Output: partners agree in 72 % of the draws
}

// check returns v and panics on an error, which is what the programs of the
// example_program_… files do with theirs.
func check[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
