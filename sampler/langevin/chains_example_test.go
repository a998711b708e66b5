package langevin_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/langevin"
)

// MALA on a mixture of two Gaussians in the plane.
func ExampleChains() {
	m, err := continuous.NewDiagonal([]float64{2, 1}, []float64{-1, 0, 1.5, 0.5}, []float64{0.4, 0.3})
	if err != nil {
		log.Fatal(err)
	}
	trace, observe := diagnose.RealTrace(func(x []float32) float64 { return float64(x[0]) })
	l, err := langevin.New(context.Background(), m, langevin.Config{Chains: 32, Seed: 1, Observe: observe})
	if err != nil {
		log.Fatal(err)
	}
	if err := l.Run(context.Background(), 10000); err != nil {
		log.Fatal(err)
	}
	r := trace.Summary().Rows[0]
	fmt.Printf("acceptance %.1f, R-hat %.2f\n", l.Stats().Accept, r.RHat.Value)
	fmt.Printf("mean %.2f ± %.2f, exactly %.2f\n", r.Mean.Value, r.MCSE.Value, (2*-1+1*1.5)/3)
	// Output:
	// acceptance 0.6, R-hat 1.00
	// mean -0.19 ± 0.02, exactly -0.17
}
