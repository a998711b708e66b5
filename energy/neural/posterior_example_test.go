package neural_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// Exclusive or, which two hidden units of weights ±1 can tell: draws of all weights,
// and the mean of their predictions.
func ExamplePosterior() {
	x := []float32{-1, -1, -1, 1, 1, -1, 1, 1}
	m, err := neural.NewPosterior(x, []float32{0, 1, 1, 0}, 6, 40, 0)
	if err != nil {
		log.Fatal(err)
	}
	chains, err := sampler.NewChains(context.Background(), m, mcmc.DMALA{}, sampler.Config{Chains: 32, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	if err := chains.Run(context.Background(), 200); err != nil {
		log.Fatal(err)
	}
	n, _ := m.Shape()
	p, mean := make([]float32, 4), make([]float32, 4)
	for states := chains.States(); len(states) > 0; states = states[n:] {
		m.Predict(p, states[:n], x)
		for i, v := range p {
			mean[i] += v / 32
		}
	}
	for _, v := range mean {
		fmt.Println(v > 0.5)
	}
	// Output:
	// false
	// true
	// true
	// false
}
