package unlearn_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
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

// The distribution of ForwardKL, (q − λq₁)/(1−λ), by rejection: a fair die that knows its
// six less. Nothing is left where λ is too large, and the sampler returns an error.
func ExampleAcceptForward() {
	roll := func(x []int32, src rand.Source) error {
		x[0] = int32(rand.New(src).IntN(6)) + 1
		return nil
	}
	sources := make([]rand.Source, 10000) // one per draw
	for _, lambda := range []float64{0.1, 1.0 / 6, 0.5} {
		for k := range sources {
			sources[k] = sampler.NewStream(1, uint64(k))
		}
		d, err := unlearn.NewRejection(1, roll, func(x []int32) float64 {
			r := 0.0
			if x[0] == 6 {
				r = 6
			}
			return unlearn.AcceptForward([]float64{lambda}, []float64{r})
		}, 0, sources...)
		if err != nil {
			log.Fatal(err)
		}
		if err := d.Run(context.Background(), 1); err != nil {
			fmt.Println("λ is beyond the last distribution")
			continue
		}
		sixes := 0
		for _, face := range d.States() {
			if face == 6 {
				sixes++
			}
		}
		fmt.Printf("%.1f %% sixes, %.2f of all rolls kept\n", float64(sixes)/100, d.Acceptance())
	}
	// Output:
	// 7.6 % sixes, 0.90 of all rolls kept
	// 0.0 % sixes, 0.83 of all rolls kept
	// λ is beyond the last distribution
}

// What is all but never accepted ends with an error that states how many draws were made.
func ExampleTrialsError() {
	flip := func(x []int32, src rand.Source) error {
		x[0] = int32(src.Uint64() >> 63)
		return nil
	}
	never := func([]int32) float64 { return math.Inf(-1) }
	d, err := unlearn.NewRejection(1, flip, never, 50, sampler.NewStream(1, 0))
	if err != nil {
		log.Fatal(err)
	}
	err = d.Run(context.Background(), 1)
	var t *unlearn.TrialsError
	fmt.Println(errors.As(err, &t), t.Trials, t.Accepted)
	// Output: true 50 0
}
