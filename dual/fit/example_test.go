package fit_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual/fit"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// answers are fourteen rows of three sites: the first two mostly agree.
var answers = []int32{
	0, 0, 0, 0, 0, 0, 0, 0, 0,
	1, 1, 1, 1, 1, 1, 1, 1, 1,
	0, 0, 1, 0, 0, 1,
	1, 1, 0, 1, 1, 0,
	0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 1,
}

// machine is a Boltzmann machine of three sites without couplings, to be learned.
func machine() energy.Parametric {
	m, err := model.NewDenseQuadratic(3, make([]float64, 9), model.Polynomial{})
	if err != nil {
		log.Fatal(err)
	}
	p, err := m.Learn()
	if err != nil {
		log.Fatal(err)
	}
	return p
}

// From a matrix of samples to a model that is fitted to them, and samples of it.
func Example() {
	ctx := context.Background()
	m, err := model.NewDenseQuadratic(3, make([]float64, 9), model.Polynomial{})
	if err != nil {
		log.Fatal(err)
	}
	p, err := m.Learn()
	if err != nil {
		log.Fatal(err)
	}
	chains, err := sampler.NewChains(context.Background(), p, mcmc.Gibbs{}, sampler.Config{Chains: 256, Seed: 1, Warmup: -1})
	if err != nil {
		log.Fatal(err)
	}
	f, err := fit.New(context.Background(), p, answers, fit.Config{Chains: chains})
	if err != nil {
		log.Fatal(err)
	}
	if err := f.Run(ctx, 1000); err != nil {
		log.Fatal(err)
	}
	agree, x := 0, chains.States()
	for s := 0; s < len(x); s += 3 {
		if x[s] == x[s+1] {
			agree++
		}
	}
	fmt.Printf("the first two sites agree in 10 of 14 rows and %.0f of 14 samples\n", 14*float64(agree)/256)
	// Output: the first two sites agree in 10 of 14 rows and 10 of 14 samples
}

// A small model needs no chains: its moments are those of the data.
func ExampleFit() {
	p := machine()
	f, err := fit.New(context.Background(), p, answers, fit.Config{Objective: fit.Exact{}})
	if err != nil {
		log.Fatal(err)
	}
	met, err := f.Solve(context.Background(), 20000, 0.001)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(met, math.Round(10*f.Params()[0])/10) // A_01: the energy of agreement in 1
	// Output: true -1.8
}

// Persistent chains, 64 of them at a time from a buffer of 500 states.
func ExamplePersistent() {
	p := machine()
	chains, err := sampler.NewChains(context.Background(), p, mcmc.Gibbs{}, sampler.Config{Chains: 64, Warmup: -1})
	if err != nil {
		log.Fatal(err)
	}
	f, err := fit.New(context.Background(), p, answers, fit.Config{Objective: fit.Persistent{Buffer: 500}, Chains: chains})
	if err != nil {
		log.Fatal(err)
	}
	if err := f.Run(context.Background(), 1000); err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.Average()[0] < -1)
	// Output: true
}

// Contrastive divergence with ten draws.
func ExampleContrastive() {
	p := machine()
	chains, err := sampler.NewChains(context.Background(), p, mcmc.Gibbs{}, sampler.Config{Chains: 64, Warmup: -1})
	if err != nil {
		log.Fatal(err)
	}
	f, err := fit.New(context.Background(), p, answers, fit.Config{Objective: fit.Contrastive{Draws: 10}, Chains: chains})
	if err != nil {
		log.Fatal(err)
	}
	if err := f.Run(context.Background(), 1000); err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.Average()[0] < -1)
	// Output: true
}

// The pseudo-likelihood with an ℓ1 penalty: couplings that the data do not need are 0.
func ExamplePseudo() {
	f, err := fit.New(context.Background(), machine(), answers, fit.Config{Objective: fit.Pseudo{}, L1: 0.05})
	if err != nil {
		log.Fatal(err)
	}
	if err := f.Run(context.Background(), 2000); err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.Params()[0] < -0.2, f.Report().NonZero < 6)
	// Output: true true
}

// Maximum likelihood by the sum over all eight states.
func ExampleExact() {
	p := machine()
	f, err := fit.New(context.Background(), p, answers, fit.Config{Objective: fit.Exact{}, L2: 0.1})
	if err != nil {
		log.Fatal(err)
	}
	if err := f.Run(context.Background(), 3000); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f\n", f.Params()[0])
	// Output: -0.5
}

// How far the moments are from those of the data.
func ExampleReport() {
	f, err := fit.New(context.Background(), machine(), answers, fit.Config{Objective: fit.Exact{}})
	if err != nil {
		log.Fatal(err)
	}
	if err := f.Run(context.Background(), 16); err != nil {
		log.Fatal(err)
	}
	r := f.Report()
	fmt.Println(r.Steps, r.Window, r.NonZero, r.Residual > 0.01)
	// Output: 16 16 6 true
}

// The log-likelihood of the data under a model whose sites are fair coins.
func ExampleCertificate() {
	c, err := fit.Certify(context.Background(), machine(), answers, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c)
	// Output: log-likelihood -2.0794 ± 0 nats a state (14 states; log Z = 2.0794 ± 0)
}

// A fit that goes on from a file, with its chains, comes to the same bits as one in a
// single run. Persistent chains begin at the data, or where they are: Cold.
func ExampleFit_SaveFile() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "fit")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "fit")
	persistent := func() *fit.Fit {
		p := machine()
		chains, err := sampler.NewChains(ctx, p, mcmc.Gibbs{}, sampler.Config{Chains: 64, Warmup: -1})
		if err != nil {
			log.Fatal(err)
		}
		f, err := fit.New(ctx, p, answers, fit.Config{Objective: fit.Persistent{Cold: true}, Chains: chains})
		if err != nil {
			log.Fatal(err)
		}
		return f
	}
	whole, first, second := persistent(), persistent(), persistent()
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
	fmt.Println(second.Len(), slices.Equal(second.Params(), whole.Params()))
	// Output: 100 true
}

// The way of a parameter, step by step.
func ExampleConfig() {
	f, err := fit.New(context.Background(), machine(), answers, fit.Config{
		Objective: fit.Exact{},
		Observe: func(step int, theta, gradient []float64) {
			if step%10 == 0 {
				fmt.Printf("step %d: θ_0 = %.2f, gradient before %.2f\n", step, theta[0], gradient[0])
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := f.Run(context.Background(), 21); err != nil {
		log.Fatal(err)
	}
	// Output:
	// step 0: θ_0 = -0.10, gradient before 0.11
	// step 10: θ_0 = -0.51, gradient before 0.06
	// step 20: θ_0 = -0.75, gradient before 0.05
}
