package sampler_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// independence is the recipe of a kernel that proposes fair coins.
type independence struct{}

func (independence) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	sites, levels := m.Shape()
	if levels != 2 {
		return nil, fmt.Errorf("independence: levels = %d, want 2", levels)
	}
	return &coins{model: m, y: make([]int32, chains*sites), e: make([]float64, chains), f: make([]float64, chains)}, nil
}

type coins struct {
	sampler.Base // of checkpoints: Reset makes all that Step reads
	model        energy.Model
	y            []int32
	e, f         []float64
}

func (k *coins) Reset(_ sampler.Control, x []int32) error { k.model.Energy(k.e, x); return nil }

func (k *coins) Step(_ sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) int {
	n := len(k.y) / len(info)
	for s := range info {
		for i := range n {
			k.y[s*n+i] = int32(r[s].IntN(2))
		}
	}
	k.model.Energy(k.f, k.y)
	for s := range info {
		a := math.Min(1, math.Exp(k.e[s]-k.f[s]))
		if r[s].Float64() < a {
			copy(x[s*n:(s+1)*n], k.y[s*n:])
			k.e[s] = k.f[s]
		}
		info[s] = sampler.Info{Energy: k.e[s], Accept: a}
	}
	return 1
}

// A kernel of one's own runs like those of package mcmc: independence proposes
// fair coins and accepts by the Metropolis rule.
func ExampleTransition() {
	ctx := context.Background()
	mag := diagnose.NewTrace(energy.Magnetization)
	ch, err := sampler.NewChains(context.Background(), ring(), independence{}, sampler.Config{Chains: 32, Seed: 1, Observe: mag.Observe})
	if err != nil {
		log.Fatal(err)
	}
	if err := ch.Run(ctx, 1000); err != nil {
		log.Fatal(err)
	}
	exact, err := energy.Enumerate(ctx, ring(), energy.Magnetization)
	if err != nil {
		log.Fatal(err)
	}
	row := mag.Summary().Rows[0]
	off := math.Abs(row.Mean.Value - exact.Means[0])
	fmt.Printf("exact %.3f, agrees: %t\n", exact.Means[0], off < 4*row.MCSE.Value)
	// Output: exact 0.180, agrees: true
}
