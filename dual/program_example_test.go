package dual_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
)

// A whole program: ten lamps that are off, dim or bright and like to be as their
// neighbours are, with two named constraints on means. A price is what a unit more of the
// bound costs in energy.
func ExampleReport() {
	lamps := energy.Func{Sites: 10, Levels: 3, E: func(x []int32) (e float64) {
		for i, l := range x[1:] {
			e += 0.5 * float64((l-x[i])*(l-x[i]))
		}
		return e
	}}
	power := dual.Statistic(func(x []int32) (w float64) {
		for _, l := range x {
			w += 10 * float64(l)
		}
		return w
	})
	ends := dual.Statistic(func(x []int32) float64 { return float64(x[0] + x[9]) })
	lag, err := dual.NewLagrangian(lamps, dual.Between(power, 60, 80).Named("power", "W", 0.5), dual.AtLeast(ends, 2.5).Named("ends", "steps", 0.05))
	if err != nil {
		log.Fatal(err)
	}
	best, err := dual.Solve(context.Background(), lag)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(best.Report())
	// Output:
	// optimal, dual value -6.403092547
	// constraint  mean  ± se  wanted       λ          price       status
	// power       80    0     60 … 80 W    0.0343645  -0.0343645  binding
	// ends        2.5   0     ≥ 2.5 steps  1.03469    1.03469     binding
}
