package gibbsite_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
)

// The pairwise model of 400 people's answers to five questions of yes or no: of
// all distributions with their means and correlations, that of most entropy.
func Example_survey() {
	people := strings.Fields(string(check(os.ReadFile("testdata/survey.csv"))))
	var rows dual.Bounds
	for k := range 25 {
		i, j, seen := k/5, k%5, 0 // i = j: those who say yes; else those who do to both
		both := energy.Func{Sites: 5, Levels: 2, E: func(x []int32) float64 { return float64(x[i] * x[j]) }}
		for _, p := range people {
			seen += int((p[2*i] - '0') * (p[2*j] - '0'))
		}
		rows = append(rows, dual.Bound{Models: []energy.Model{both}, Offset: -float64(seen) / 400, Equal: true})
	}
	lag := check(dual.NewLagrangian(energy.Func{Sites: 5, Levels: 2, E: func([]int32) float64 { return 0 }}, rows))
	fit := check(dual.Solve(context.Background(), lag)) // a pair has two equal rows, which share its coupling
	fmt.Printf("couplings of question 1 with 2 … 5: %.2f\n", []float64{-2 * fit.Lambda[1], -2 * fit.Lambda[2], -2 * fit.Lambda[3], -2 * fit.Lambda[4]})
	// Output: couplings of question 1 with 2 … 5: [1.16 0.28 -0.61 1.29]
}
