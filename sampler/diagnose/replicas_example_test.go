package diagnose_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// replicas tempers a 6×6 Ising torus at β J = 0.5 and above in temperature.
func replicas() *diagnose.Replicas {
	m, err := model.NewIsing(model.Lattice{6, 6}, 0.5, 0)
	if err != nil {
		log.Fatal(err)
	}
	all := diagnose.NewReplicas(func(x []int32) float64 { return math.Abs(energy.Magnetization(x)) }).Name("m")
	ch, err := sampler.NewChains(context.Background(), m, mcmc.Tempering{Base: mcmc.Gibbs{}, Betas: []float64{1, 0.8, 0.6, 0.3}},
		sampler.Config{Seed: 1, Observe: all.Observe})
	if err != nil {
		log.Fatal(err)
	}
	if err := ch.Run(context.Background(), 2000); err != nil {
		log.Fatal(err)
	}
	return all
}

// Every rung has a trace of its own.
func ExampleReplicas() {
	all := replicas()
	for j := range all.Len() {
		row, err := all.Rung(j).Row("m")
		fmt.Printf("rung %d: |m| = %.1f %v\n", j, row.Mean.Value, err)
	}
	// Output:
	// rung 0: |m| = 0.9 <nil>
	// rung 1: |m| = 0.7 <nil>
	// rung 2: |m| = 0.4 <nil>
	// rung 3: |m| = 0.2 <nil>
}

// All rungs together give every temperature between.
func ExampleReweighting() {
	w, err := replicas().Reweight()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("draws at", w.Betas())
	betas := []float64{0.9, 0.7, 0.5}
	heat, err := w.HeatCapacity(betas...)
	if err != nil {
		log.Fatal(err)
	}
	m := func(_ float64, values []float64) float64 { return values[0] }
	square := func(_ float64, values []float64) float64 { return values[0] * values[0] }
	susceptibility, err := w.Function(betas, func(mean []float64) float64 { return mean[1] - mean[0]*mean[0] }, m, square)
	if err != nil {
		log.Fatal(err)
	}
	logz, err := w.LogZ(betas...)
	if err != nil {
		log.Fatal(err)
	}
	for i, beta := range betas {
		fmt.Printf("β = %.1f: C/n = %.1f, Var |m| = %.2f, log Z(β)/Z(0.3) = %.0f\n", beta, heat[i].Value/36, susceptibility[i].Value, logz[i].Value)
	}
	// Output:
	// draws at [1 0.8 0.6 0.3]
	// β = 0.9: C/n = 0.9, Var |m| = 0.04, log Z(β)/Z(0.3) = 9
	// β = 0.7: C/n = 0.7, Var |m| = 0.07, log Z(β)/Z(0.3) = 4
	// β = 0.5: C/n = 0.2, Var |m| = 0.04, log Z(β)/Z(0.3) = 2
}

// An average comes with its standard error and with how many draws say something
// about its temperature.
func ExampleAverage() {
	w, err := replicas().Reweight()
	if err != nil {
		log.Fatal(err)
	}
	m, err := w.Mean("m", 0.7)
	fmt.Printf("%.1f, error below .02: %v, more than 1000 draws: %v %v\n", m[0].Value, m[0].SE < 0.02, m[0].ESS > 1000, err)
	// Output: 0.5, error below .02: true, more than 1000 draws: true <nil>
}
