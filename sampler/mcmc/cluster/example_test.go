package cluster_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/cluster"
)

func ExampleSwendsenWang() {
	// A ferromagnet well below its critical temperature, K = 0.6: single flips
	// would take ages from one sign of the magnetisation to the other.
	m, err := model.NewIsing(model.Lattice{16, 16}, 0.6, 0)
	if err != nil {
		log.Fatal(err)
	}
	mag, err := diagnose.Record(context.Background(), m, cluster.SwendsenWang{}, sampler.Config{Chains: 8, Seed: 1, Warmup: 100}, 500, energy.Magnetization)
	if err != nil {
		log.Fatal(err)
	}
	row := mag.Summary().Rows[0]
	fmt.Printf("mean spin is 0 within 4 standard errors: %v, R-hat < 1.01: %v\n", row.Mean.Value < 4*row.MCSE.Value && -row.Mean.Value < 4*row.MCSE.Value, row.RHat.Value < 1.01)
	// Output: mean spin is 0 within 4 standard errors: true, R-hat < 1.01: true
}

func ExampleWolff() {
	// The Potts model of three levels at its transition, J = log(1 + √3).
	m, err := model.NewPotts(model.Lattice{12, 12}, 3, 1.00505, nil)
	if err != nil {
		log.Fatal(err)
	}
	level0 := func(x []int32) float64 {
		n := 0.0
		for _, l := range x {
			if l == 0 {
				n++
			}
		}
		return n / float64(len(x))
	}
	share, err := diagnose.Record(context.Background(), m, cluster.Wolff{Updates: 4}, sampler.Config{Chains: 8, Seed: 1, Warmup: 100}, 500, level0)
	if err != nil {
		log.Fatal(err)
	}
	row := share.Summary().Rows[0]
	fmt.Printf("every level has a third: %v\n", row.Mean.Value-1./3 < 4*row.MCSE.Value && 1./3-row.Mean.Value < 4*row.MCSE.Value)
	// Output: every level has a third: true
}

func ExampleHoudayer() {
	// A glass of couplings ±1 on a lattice of two dimensions, at low temperature:
	// tempering with a pair of replicas at every temperature.
	var edges []model.Edge
	const side = 6
	for i := range side {
		for j := range side {
			sign := func(k int) float64 { return float64(1 - 2*((i*7+j*3+k*(i*j+1))%5%2)) }
			at := i*side + j
			edges = append(edges, model.Edge{I: at, J: i*side + (j+1)%side, W: sign(1)}, model.Edge{I: at, J: (i+1)%side*side + j, W: sign(2)})
		}
	}
	graph, err := model.NewGraph(side*side, edges)
	if err != nil {
		log.Fatal(err)
	}
	m, err := model.NewIsing(graph, 1.2, 0)
	if err != nil {
		log.Fatal(err)
	}
	method := mcmc.Tempering{Base: cluster.Houdayer{}, Rungs: 6}
	mag, err := diagnose.Record(context.Background(), m, method, sampler.Config{Chains: 4, Seed: 1, Warmup: 200}, 500, energy.Magnetization)
	if err != nil {
		log.Fatal(err)
	}
	row := mag.Summary().Rows[0]
	fmt.Printf("mean spin is 0 within 4 standard errors: %v\n", row.Mean.Value < 4*row.MCSE.Value && -row.Mean.Value < 4*row.MCSE.Value)
	// Output: mean spin is 0 within 4 standard errors: true
}
