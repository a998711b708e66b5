package diffusiontest_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/diffusiontest"
)

// coins predicts three independent tokens 0 or 1, of which 1 has probability 1/4. Level 2 is the
// mask. What is not masked is known.
type coins struct{}

func (coins) Shape() (sites, levels int) { return 3, 3 }
func (coins) MaskLevel() int32           { return 2 }

func (coins) Denoise(_ context.Context, v []float32, q energy.Noised[int32]) error {
	if n := q.States(3); len(v) != 9*n {
		panic("coins: len(v) is not 9 a state")
	}
	never := float32(math.Inf(-1))
	for i, token := range q.X {
		row := v[3*i : 3*i+3]
		row[0], row[1], row[2] = float32(math.Log(0.75)), float32(math.Log(0.25)), never
		if token != 2 {
			row[0], row[1] = never, never
			row[token] = 0
		}
	}
	return nil
}

// Three lines check a denoiser of your own. In a test, the middle one is t.Fatal(err).
func Example() {
	if err := diffusiontest.TestDenoiser(context.Background(), coins{}, diffusiontest.DenoiserOptions{}); err != nil {
		log.Fatal(err)
	}

	fmt.Println("the denoiser obeys every law")
	// Output:
	// the denoiser obeys every law
}

// With the probabilities of x_0, predictions are compared with exact ones.
func ExampleTestDenoiser() {
	joint := make([]float64, 27) // of the state x at x[0] + 3·x[1] + 9·x[2]
	for k := range 8 {
		x := []int{k & 1, k >> 1 & 1, k >> 2}
		joint[x[0]+3*x[1]+9*x[2]] = math.Pow(0.25, float64(x[0]+x[1]+x[2])) * math.Pow(0.75, float64(3-x[0]-x[1]-x[2]))
	}
	o := diffusiontest.DenoiserOptions{Joint: joint}
	fmt.Println(diffusiontest.TestDenoiser(context.Background(), coins{}, o))

	joint[0], joint[1] = joint[1], joint[0] // now 000 is as rare as 100 was
	fmt.Println(diffusiontest.TestDenoiser(context.Background(), coins{}, o) == nil)
	// Output:
	// <nil>
	// false
}
