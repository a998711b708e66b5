package anneal_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// torus is the 4×4 Ising torus, small enough to know its exact sums.
func torus() (m *model.Ising, exact energy.Enumeration) {
	m, err := model.NewIsing(model.Lattice{4, 4}, 0.2, 0.2)
	if err != nil {
		log.Fatal(err)
	}
	exact, err = energy.Enumerate(context.Background(), m, energy.Magnetization)
	if err != nil {
		log.Fatal(err)
	}
	return m, exact
}

func ExampleAIS() {
	m, exact := torus()
	res, err := anneal.AIS(context.Background(), m, mcmc.Gibbs{}, anneal.AISConfig{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("log Z = %.2f ± %.2f, exactly %.2f\n", res.Value, res.StdErr, exact.LogZ)
	// Output: log Z = 12.62 ± 0.02, exactly 12.60
}

// The ends of the chains are weighted draws of the model: with w = exp(log w),
// Σ w·f(x) / Σ w estimates the mean of f.
func ExampleAISResult() {
	m, exact := torus()
	res, err := anneal.AIS(context.Background(), m, mcmc.Gibbs{}, anneal.AISConfig{Chains: 1000, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	mean, total := 0.0, 0.0
	for s, logw := range res.LogWeights {
		w := math.Exp(logw - res.Value)
		mean += w * energy.Magnetization(res.States[16*s:16*(s+1)])
		total += w
	}
	fmt.Printf("%.0f of 1000 chains count\n", res.ESS)
	fmt.Printf("mean spin %.2f, exactly %.2f\n", mean/total, exact.Means[0])
	// Output:
	// 968 of 1000 chains count
	// mean spin 0.48, exactly 0.48
}

func ExampleSteppingStone() {
	m, exact := torus()
	z, err := anneal.SteppingStone(context.Background(), m, mcmc.Gibbs{}, anneal.SteppingStoneConfig{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("log Z = %.2f ± %.2f, exactly %.2f\n", z.Value, z.StdErr, exact.LogZ)
	// Output: log Z = 12.61 ± 0.01, exactly 12.60
}

// Two models that explain a state are compared by their evidence
// log p(x) = −E(x) − log Z, whose error is that of log Z.
func ExampleLogZ() {
	x := []int32{1, 1, 1, 1, 0, 0, 0, 0} // two domains
	for _, coupling := range []float64{0, 0.5} {
		m, err := model.NewIsing(model.Lattice{8}, coupling, 0)
		if err != nil {
			log.Fatal(err)
		}
		var z anneal.LogZ
		if z, err = anneal.SteppingStone(context.Background(), m, mcmc.Gibbs{}, anneal.SteppingStoneConfig{Seed: 1}); err != nil {
			log.Fatal(err)
		}
		e := make([]float64, 1)
		m.Energy(e, x)
		fmt.Printf("coupling %.1f: log p(x) = %.3f ± %.3f\n", coupling, -e[0]-z.Value, z.StdErr)
	}
	// Output:
	// coupling 0.0: log p(x) = -5.545 ± 0.000
	// coupling 0.5: log p(x) = -4.517 ± 0.004
}
