package pdi_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// twoClusters is a mixture of two Gaussians in the plane and the inequality
// that the first coordinate is 0.5 or more.
func twoClusters() (*continuous.Mixture, *continuous.Linear) {
	base, err := continuous.NewDiagonal([]float64{2, 1}, []float64{-1, 0, 1.5, 0.5}, []float64{0.4, 0.3})
	if err != nil {
		log.Fatal(err)
	}
	atLeast, err := continuous.NewLinear([]float64{-1, 0}, 0.5) // 0.5 − x_0 ≤ 0
	if err != nil {
		log.Fatal(err)
	}
	return base, atLeast
}

// noised is one sample half way through a diffusion.
func noised(x ...float32) energy.Noised[float32] {
	return energy.Noised[float32]{X: x, Time: []float64{0.5}, Alpha: []float64{0.5}, Sample: []int{0},
		Src: []rand.Source{sampler.NewStream(1, 0)}}
}

// For a mixture under linear inequalities the optimum is known exactly: the
// multiplier shifts weight to the cluster on the right.
func ExampleMixture() {
	base, atLeast := twoClusters()
	p, err := pdi.NewMixture(base, 1, dual.AtMost(atLeast, 0))
	if err != nil {
		log.Fatal(err)
	}
	s, err := p.Solve(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("λ* = %.3f\n", s.Lambda[0])
	mean := make([]float64, 2)
	for k := range 2 {
		before, after := base.Component(k, mean), p.Law(s.Lambda).Component(k, mean)
		fmt.Printf("cluster %d: weight %.2f → %.2f, mean now %.2f\n", k, before, after, mean)
	}
	// Output:
	// λ* = 0.361
	// cluster 0: weight 0.67 → 0.45, mean now [-0.86 0.00]
	// cluster 1: weight 0.33 → 0.55, mean now [1.61 0.50]
}

// GibbsScore estimates what Mixture computes, from candidates and the energies
// alone: it takes any RealLagrangian.
func ExampleGibbsScore() {
	base, atLeast := twoClusters()
	exact, err := pdi.NewMixture(base, 1, dual.AtMost(atLeast, 0))
	if err != nil {
		log.Fatal(err)
	}
	lag, err := dual.NewRealLagrangian(base, 1, dual.AtMost(atLeast, 0))
	if err != nil {
		log.Fatal(err)
	}
	estimate, err := pdi.NewGibbsScore(lag, pdi.GibbsOptions{Candidates: 10000, Score: true})
	if err != nil {
		log.Fatal(err)
	}
	q, lambda := noised(0.2, 0.1), []float64{0.4}
	for _, p := range []pdi.Predictor{exact, estimate} {
		v := make([]float32, 2)
		if err := p.Predict(v, q.X, q.Alpha, lambda, q.Src); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.2f\n", v)
	}
	// Output:
	// [0.44 0.24]
	// [0.47 0.25]
}

// At high noise the candidates of the paper rarely hit where the distribution
// is. A Gaussian that resembles it (Center, Spread) gives better ones.
func ExampleGibbsOptions() {
	base, atLeast := twoClusters()
	lag, err := dual.NewRealLagrangian(base, 1, dual.AtMost(atLeast, 0))
	if err != nil {
		log.Fatal(err)
	}
	for _, o := range []pdi.GibbsOptions{
		{Candidates: 1000, Score: true},
		{Candidates: 1000, Center: []float64{0}, Spread: []float64{2}},
	} {
		p, err := pdi.NewGibbsScore(lag, o)
		if err != nil {
			log.Fatal(err)
		}
		v := make([]float32, 2)
		if err := p.Predict(v, []float32{0.2, 0.1}, []float64{0.01}, []float64{0}, noised().Src); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.0f of 1000 candidates count\n", p.Effective())
	}
	// Output:
	// 13 of 1000 candidates count
	// 416 of 1000 candidates count
}

// The penalty moves every prediction towards x_0 ≥ 0.5, by its weight times the
// violation and no further.
func ExampleGuided() {
	base, atLeast := twoClusters()
	exact, err := denoise.NewMixture(base)
	if err != nil {
		log.Fatal(err)
	}
	for _, weight := range []float64{0, 0.5} {
		d := pdi.Guided{Base: exact, Terms: []energy.Scored{atLeast}, Weight: weight}
		v := make([]float32, 2)
		if err := d.Denoise(context.Background(), v, noised(-1, 0)); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("weight %.1f: %.2f\n", weight, v)
	}
	// Output:
	// weight 0.0: [-1.08 0.01]
	// weight 0.5: [-0.29 0.01]
}

// The projection moves every prediction into the set, whether or not the
// average of the samples is there already.
func ExampleProjected() {
	base, _ := twoClusters()
	exact, err := denoise.NewMixture(base)
	if err != nil {
		log.Fatal(err)
	}
	d := pdi.Projected{Base: exact, Onto: func(x []float32) { x[0] = max(x[0], 0.5) }}
	for _, x0 := range []float32{-1, 1} {
		v := make([]float32, 2)
		if err := d.Denoise(context.Background(), v, noised(x0, 0)); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.2f\n", v)
	}
	// Output:
	// [0.50 0.01]
	// [1.12 0.31]
}

// Two ways to make few candidates count for more. On a Gaussian the control variate
// leaves no error, and pairs ±ε give the mean 0 that symmetry demands at x_t = 0.
func ExampleGibbsOptions_variance() {
	base, err := continuous.NewDiagonal([]float64{1}, []float64{0}, []float64{1})
	if err != nil {
		log.Fatal(err)
	}
	atLeast, err := continuous.NewLinear([]float64{-1}, 0.5) // 0.5 − x ≤ 0
	if err != nil {
		log.Fatal(err)
	}
	lag, err := dual.NewRealLagrangian(base, 1, dual.AtMost(atLeast, 0))
	if err != nil {
		log.Fatal(err)
	}
	for _, o := range []pdi.GibbsOptions{{Candidates: 4, Score: true}, {Candidates: 4, Antithetic: true, Score: true}, {Candidates: 4, Control: true}} {
		p, err := pdi.NewGibbsScore(lag, o)
		if err != nil {
			log.Fatal(err)
		}
		v, at := make([]float32, 2), []float64{0.5, 0.5}
		src := []rand.Source{sampler.NewStream(1, 0), sampler.NewStream(1, 0)}
		if err := p.Predict(v, []float32{0, 1}, at, []float64{0}, src); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("off by %.3f and %.3f\n", math.Abs(float64(v[0])), math.Abs(float64(v[1])-math.Sqrt(0.5)))
	}
	// Output:
	// off by 0.335 and 0.098
	// off by 0.000 and 0.026
	// off by 0.000 and 0.000
}

// Multipliers that one run has found, held fixed in the next: the baseline of a fixed λ̄.
func ExampleConfig() {
	base, atLeast := twoClusters()
	p, err := pdi.NewMixture(base, 1, dual.AtMost(atLeast, 0))
	if err != nil {
		log.Fatal(err)
	}
	violation := func(cfg pdi.Config) (*pdi.Denoiser, float64) {
		primalDual, err := pdi.New(context.Background(), p, cfg)
		if err != nil {
			log.Fatal(err)
		}
		d, err := diffusion.New(context.Background(), primalDual, diffusion.Process[float32](diffusion.Gaussian{Eta: 1, Wide: true, Schedule: noise.CosineBar{}}),
			diffusion.Config{Steps: 100, Batch: 1000, Seed: 1})
		if err != nil {
			log.Fatal(err)
		}
		x := make([]float32, 2*1000)
		if err := d.Sample(context.Background(), x); err != nil {
			log.Fatal(err)
		}
		c, err := dual.Judge(p, primalDual.Lambda(), x)
		if err != nil {
			log.Fatal(err)
		}
		return primalDual, c.Violation[0]
	}
	_, free := violation(pdi.Config{Fixed: true})
	moving, met := violation(pdi.Config{})
	_, fixed := violation(pdi.Config{Fixed: true, Start: moving.Average()})
	fmt.Printf("λ = 0: %.2f, moving: %.2f, at λ̄: %.2f\n", free, met, fixed)
	// Output: λ = 0: 0.74, moving: 0.00, at λ̄: -0.12
}

// The weights of a portfolio: none below 0, and 1 in all.
func ExampleSimplex() {
	w := []float32{0.8, 0.5, -0.1}
	pdi.Simplex(1)(w)
	fmt.Printf("%.2f\n", w)
	// Output: [0.65 0.35 0.00]
}
