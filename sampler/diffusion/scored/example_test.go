package scored_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/scored"
)

// walk is a chain of eight tokens out of three that tends to stay where it is.
func walk() energy.Denoiser[int32] {
	chain, err := model.NewMarkov(8, 3, 1, []float64{.5, .3, .2}, []float64{.8, .1, .1, .1, .8, .1, .1, .1, .8})
	if err != nil {
		log.Fatal(err)
	}
	d, err := denoise.NewMarkov(chain, denoise.Absorbing)
	if err != nil {
		log.Fatal(err)
	}
	return d
}

// restless asks for at least five changes of the token, as a black box.
func restless() constraint.Score {
	return constraint.Score{Threshold: -5, Decide: func(x []int32) float64 {
		changes := 0
		for i := 1; i < len(x); i++ {
			if x[i] != x[i-1] {
				changes++
			}
		}
		return -float64(changes)
	}}
}

func ExampleRunner() {
	process := diffusion.Masked{Mask: 3, FirstHitting: true}
	r, err := scored.New(context.Background(), walk(), process, scored.Config{Judge: restless(), Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	x := make([]int32, 100*8)
	err = r.Sample(context.Background(), x)
	var failed diffusion.SampleErrors
	if err != nil && !errors.As(err, &failed) {
		log.Fatal(err)
	}
	fmt.Println(100-failed.Failed(), "of 100")
	// Output: 100 of 100
}

func ExampleReport() {
	// Nine changes cannot be had in eight tokens: every sample fails.
	judge := restless()
	judge.Threshold = -9
	process := diffusion.Masked{Mask: 3, FirstHitting: true}
	r, err := scored.New(context.Background(), walk(), process, scored.Config{Judge: judge, Rounds: 10})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Sample(context.Background(), make([]int32, 2*8)))
	for _, report := range r.Reports() {
		fmt.Println(report.Rounds, report.Violation)
	}
	// Output:
	// scored: violation = 2 after 10 tries, want ≤ 0; scored: violation = 3 after 10 tries, want ≤ 0 (2 of 2 samples failed)
	// 10 2
	// 10 3
}

func ExampleNotConverged() {
	judge := restless()
	judge.Threshold = -9
	process := diffusion.Masked{Mask: 3, FirstHitting: true}
	r, err := scored.New(context.Background(), walk(), process, scored.Config{Judge: judge, Rounds: 10})
	if err != nil {
		log.Fatal(err)
	}
	err = r.Sample(context.Background(), make([]int32, 8))
	var not *scored.NotConverged
	fmt.Println(errors.As(err, &not), not.Tries)
	// Output: true 10
}

func ExampleExact() {
	process := diffusion.Masked{Mask: 3, FirstHitting: true}
	e, err := scored.NewExact(context.Background(), walk(), process, scored.ExactConfig{Config: scored.Config{Judge: restless(), Seed: 1}})
	if err != nil {
		log.Fatal(err)
	}
	if err := e.Sample(context.Background(), make([]int32, 100*8)); err != nil {
		log.Fatal(err)
	}
	logP, stderr := e.LogProb()
	_, bound := e.Excess()
	// The number of changes is binomial: 7 tries at .2.
	p := 21*math.Pow(.2, 5)*.64 + 7*math.Pow(.2, 6)*.8 + math.Pow(.2, 7)
	fmt.Println(math.Abs(math.Exp(logP)-p) < 3*stderr*p, bound < .05)
	// Output: true true
}

func ExamplePotential() {
	process := diffusion.Masked{Mask: 3, FirstHitting: true}
	score := scored.Potential{Score: restless(), Temperature: 1}
	d, err := diffusion.NewParticles(context.Background(), walk(), process, diffusion.ParticlesConfig{
		Config: diffusion.Config{Seed: 1}, Particles: 256, Potential: score.Log,
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := d.Sample(context.Background(), make([]int32, 20*8)); err != nil {
		log.Fatal(err)
	}
	logP, stderr := d.LogProb()
	// E[e^(changes−5)] of the same binomial number.
	want := math.Exp(-5) * math.Pow(.8+.2*math.E, 7)
	fmt.Println(math.Abs(math.Exp(logP)-want) < 3*stderr*want)
	// Output: true
}
