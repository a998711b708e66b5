package gibbsite_test

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// The Ising model from T = 1.8 to 3.2: magnetisation, heat capacity and Binder's
// cumulant of two sizes at every temperature, from one tempered run each.
func Example_physicist() {
	const coldest, hottest = 1.8, 3.2
	var temps, betas, ladder []float64
	for t := coldest; t < hottest; t += 0.028 { // 50 temperatures
		temps, betas = append(temps, t), append(betas, coldest/t)
	}
	for j := range 10 { // 10 rungs
		ladder = append(ladder, 1+float64(j)/9*(coldest/hottest-1))
	}
	curves := func(side int) (m, c, u []diagnose.Average) {
		ising := check(model.NewIsing(model.Lattice{side, side}, 1/coldest, 0))
		abs := func(x []int32) float64 { return math.Abs(energy.Magnetization(x)) }
		all := diagnose.NewReplicas(abs).Name("m")
		chains := check(sampler.NewChains(context.Background(), ising, mcmc.Tempering{Base: mcmc.Gibbs{}, Betas: ladder},
			sampler.Config{Seed: 1, Thin: 5, Observe: all.Observe}))
		if err := chains.Run(context.Background(), 1000); err != nil {
			panic(err)
		}
		w := check(all.Reweight())
		return check(w.Mean("m", betas...)), check(w.HeatCapacity(betas...)), check(w.Binder("m", betas...))
	}
	m, c, u := curves(12)
	_, _, small := curves(8)
	peak, cross := 0, 0
	for i := range temps {
		if c[i].Value > c[peak].Value {
			peak = i
		}
		if u[i].Value > small[i].Value {
			cross = i
		}
	}
	fmt.Printf("T = 1.8: |m| = %.2f ± %.2f\n", m[0].Value, m[0].SE)
	fmt.Printf("heat capacity per spin peaks at T = %.1f: %.1f\n", temps[peak], c[peak].Value/144)
	fmt.Printf("cumulants cross at T = %.1f\n", temps[cross])
	// Output:
	// T = 1.8: |m| = 0.96 ± 0.00
	// heat capacity per spin peaks at T = 2.3: 1.4
	// cumulants cross at T = 2.2
}
