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

// dice returns what fills x with rolls of a fair die.
func dice(src rand.Source) func(ctx context.Context, x []int32) error {
	r := rand.New(src)
	return func(_ context.Context, x []int32) error {
		for k := range x {
			x[k] = int32(r.IntN(6)) + 1
		}
		return nil
	}
}

// Exact draws of a die that forgets its six: q is fair, q₁ always six, so
// r = q₁/q is 6 for a six and 0 otherwise.
func ExampleRejection() {
	roll := dice(sampler.NewStream(1, 0))
	accept := func(x []int32) float64 {
		r := 0.0
		if x[0] == 6 {
			r = 6
		}
		return unlearn.AcceptLikelihood([]float64{0.5}, []float64{r})
	}
	d, err := unlearn.NewRejection(1, 10000, roll, accept, 0, sampler.NewStream(1, 1))
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
	// Output: 1.0 % sixes, 84 % of all rolls kept
}

// The distribution of ForwardKL, (q − λq₁)/(1−λ), by rejection: a fair die that knows its
// six less. Nothing is left where λ is too large, and the sampler returns an error.
func ExampleAcceptForward() {
	for _, lambda := range []float64{0.1, 1.0 / 6, 0.5} {
		d, err := unlearn.NewRejection(1, 10000, dice(sampler.NewStream(1, 0)), func(x []int32) float64 {
			r := 0.0
			if x[0] == 6 {
				r = 6
			}
			return unlearn.AcceptForward([]float64{lambda}, []float64{r})
		}, 0, sampler.NewStream(1, 1))
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
	// 7.5 % sixes, 0.90 of all rolls kept
	// 0.0 % sixes, 0.83 of all rolls kept
	// λ is beyond the last distribution
}

// What is all but never accepted ends with an error that states how many draws were made.
func ExampleTrialsError() {
	never := func([]int32) float64 { return math.Inf(-1) }
	d, err := unlearn.NewRejection(1, 1, dice(sampler.NewStream(1, 0)), never, 50, sampler.NewStream(1, 1))
	if err != nil {
		log.Fatal(err)
	}
	err = d.Run(context.Background(), 1)
	var t *unlearn.TrialsError
	fmt.Println(errors.As(err, &t), t.Trials, t.Accepted)
	// Output: true 50 0
}
