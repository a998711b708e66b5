package unlearn_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
)

// A model of aligned spins moves away from one whose spins are up. At λ > 0 the
// product of experts is a model like any other, whose spins are down.
func ExampleExperts() {
	q, err := model.NewIsing(model.Lattice{8}, 0.3, 0)
	if err != nil {
		log.Fatal(err)
	}
	up, err := model.NewIsing(model.Lattice{8}, 0, 1)
	if err != nil {
		log.Fatal(err)
	}
	enumerate := func(m energy.Model) energy.Enumeration {
		sum, err := energy.Enumerate(context.Background(), m, energy.Magnetization)
		if err != nil {
			log.Fatal(err)
		}
		return sum
	}
	p, err := unlearn.NewExperts(q, []energy.Model{up}, []float64{2}, func(m energy.Model) (float64, error) {
		return enumerate(m).LogZ, nil
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, lambda := range []float64{0, 0.1, 0.2} {
		if err := p.SetLambda([]float64{lambda}); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("λ = %.1f: mean spin %.2f\n", lambda, enumerate(p).Means[0])
	}
	// Output:
	// λ = 0.0: mean spin 0.00
	// λ = 0.1: mean spin -0.21
	// λ = 0.2: mean spin -0.47
}

// The same by DiscreteSafe, whose optimum exists for every bound that can be met: a
// Lagrangian of q with the mean of log q/q₁ bounded from below.
func ExampleLogRatio() {
	ctx := context.Background()
	q, err := model.NewIsing(model.Lattice{8}, 0.3, 0)
	if err != nil {
		log.Fatal(err)
	}
	up, err := model.NewIsing(model.Lattice{8}, 0, 1)
	if err != nil {
		log.Fatal(err)
	}
	sum := func(m energy.Model) energy.Enumeration {
		sum, err := energy.Enumerate(ctx, m, energy.Magnetization)
		if err != nil {
			log.Fatal(err)
		}
		return sum
	}
	lag, err := dual.NewLagrangian(q, unlearn.LogRatio(q, up, sum(q).LogZ, sum(up).LogZ, 8))
	if err != nil {
		log.Fatal(err)
	}
	s, err := dual.Solve(ctx, lag)
	if err != nil {
		log.Fatal(err)
	}
	if err := lag.SetLambda(s.Lambda); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("λ = %.3f, mean spin %.2f, log q/q₁ above its bound by %.3f\n", s.Lambda[0], sum(lag).Means[0], max(0, -s.Violation[0]))
	// Output:
	// λ = 0.249, mean spin -0.47, log q/q₁ above its bound by 0.000
}
