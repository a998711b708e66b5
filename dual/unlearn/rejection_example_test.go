package unlearn_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Exact draws of a die that forgets its six: q is fair, q₁ always six, so
// r = q₁/q is 6 for a six and 0 otherwise.
func ExampleRejection() {
	roll := func(x []int32, src rand.Source) error {
		x[0] = int32(rand.New(src).IntN(6)) + 1
		return nil
	}
	accept := func(x []int32) float64 {
		r := 0.0
		if x[0] == 6 {
			r = 6
		}
		return unlearn.AcceptLikelihood([]float64{0.5}, []float64{r})
	}
	sources := make([]rand.Source, 10000) // one per draw
	for k := range sources {
		sources[k] = sampler.NewStream(1, uint64(k))
	}
	d, err := unlearn.NewRejection(1, roll, accept, 0, sources...)
	if err != nil {
		log.Fatal(err)
	}
	if err := d.Run(context.Background(), 1); err != nil {
		log.Fatal(err)
	}
	sixes := 0
	for _, face := range d.States() {
		if face == 6 {
			sixes++
		}
	}
	// A six is kept with the probability e⁻³ = 0.05.
	fmt.Printf("%.1f %% sixes, %.0f %% of all rolls kept\n", float64(sixes)/100, 100*d.Acceptance())
	// Output: 0.9 % sixes, 84 % of all rolls kept
}
