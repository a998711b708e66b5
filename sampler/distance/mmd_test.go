package distance

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func coins(n, sites int, p float64, seed uint64) []int32 {
	r, x := rand.New(rand.NewPCG(seed, 1)), make([]int32, n*sites)
	for i := range x {
		if r.Float64() < p {
			x[i] = 1
		}
	}
	return x
}

// For independent coins the discrepancy is known: E k(x, y) is the product over sites of
// 1 − d + d·e^(−1/sites), d the probability that two levels differ.
func TestMMD(t *testing.T) {
	const sites, p, q = 4, 0.5, 0.8
	k := func(d float64) float64 { return math.Pow(1-d+d*math.Exp(-1.0/sites), sites) }
	want := k(2*p*(1-p)) + k(2*q*(1-q)) - 2*k(p*(1-q)+q*(1-p))
	for _, c := range []struct{ q, want float64 }{{q, want}, {p, 0}} {
		const runs = 400
		sum, squares := 0.0, 0.0
		for seed := range uint64(runs) {
			v, err := MMD(coins(40, sites, p, 2*seed), coins(60, sites, c.q, 2*seed+1), sites)
			require.NoError(t, err)
			sum, squares = sum+v/runs, squares+v*v/runs
		}
		se := math.Sqrt((squares - sum*sum) / (runs - 1))
		// A normal tail of 1e-6; the biased twin is off by (1 − mean k)(1/n + 1/m).
		assert.InDelta(t, c.want, sum, 5*se)
		assert.Greater(t, (1-k(0.5))*(1.0/40+1.0/60), 5*se)
	}
	_, err := MMD(make([]int32, 8), make([]int32, 4), 4)
	require.ErrorContains(t, err, "sample 1 has 4 entries, want a multiple of 4, at least two rows")
	_, err = MMD(nil, nil, 0)
	require.ErrorContains(t, err, "sites = 0, want ≥ 1")
}

// Two samples of three states each.
func ExampleMMD() {
	a := []int32{0, 0, 0, 1, 1, 1}
	b := []int32{1, 1, 1, 1, 0, 1}
	v, err := MMD(a, b, 2)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.4f\n", v)
	// Output: -0.1046
}
