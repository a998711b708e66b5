package dual_test

import (
	"fmt"
	"log"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/stretchr/testify/require"
)

// The limit against sums of exact binomial coefficients, and known closed forms.
func TestUpperBound(t *testing.T) {
	tail := func(hits, n int, p float64) float64 {
		sum, q := new(big.Float).SetPrec(400), new(big.Float).SetPrec(400).Sub(big.NewFloat(1), big.NewFloat(p))
		for i := range hits + 1 {
			v := new(big.Float).SetPrec(400).SetInt(new(big.Int).Binomial(int64(n), int64(i)))
			for range i {
				v.Mul(v, big.NewFloat(p))
			}
			for range n - i {
				v.Mul(v, q)
			}
			sum.Add(sum, v)
		}
		f, _ := sum.Float64()
		return f
	}
	for _, c := range [][2]int{{0, 1}, {0, 500}, {1, 2}, {3, 40}, {39, 40}, {250, 500}, {499, 500}, {40, 3000}} {
		for _, delta := range []float64{1e-6, 0.01, 0.05, 0.5, 0.99} {
			p, err := dual.UpperBound(c[0], c[1], delta)
			require.NoError(t, err)
			require.InEpsilon(t, delta, tail(c[0], c[1], p), 1e-7, "%v at %v: %v", c, delta, p)
		}
	}
	p, err := dual.UpperBound(0, 1000, 0.05)
	require.NoError(t, err)
	require.InDelta(t, 1-math.Pow(0.05, 1e-3), p, 1e-14)
	p, err = dual.UpperBound(7, 7, 0.05)
	require.NoError(t, err)
	require.Equal(t, 1.0, p)
	p, err = dual.UpperBound(500_000, 1_000_000, 0.01)
	require.NoError(t, err)
	require.InDelta(t, 0.5+2.326*0.0005, p, 5e-6)
}

// The limit is below the truth in a share δ of experiments at most.
func TestUpperBoundCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const trials, n, p, delta = 4000, 200, 0.03, 0.05
	low := 0
	for range trials {
		hits := 0
		for range n {
			if r.Float64() < p {
				hits++
			}
		}
		u, err := dual.UpperBound(hits, n, delta)
		require.NoError(t, err)
		if u < p {
			low++
		}
	}
	require.LessOrEqual(t, float64(low), delta*trials+4.9*math.Sqrt(trials*delta*(1-delta)))
	require.Positive(t, low, "a limit that is never too low is not the least one")
}

func TestUpperBoundErrors(t *testing.T) {
	for _, c := range []struct {
		hits, n int
		delta   float64
	}{{0, 0, 0.05}, {-1, 5, 0.05}, {6, 5, 0.05}, {1, 5, 0}, {1, 5, 1}, {1, 5, math.NaN()}} {
		_, err := dual.UpperBound(c.hits, c.n, c.delta)
		require.ErrorContains(t, err, "want 0 ≤ hits ≤ n")
	}
}

// None of 3000 samples had what was to be forgotten.
func ExampleUpperBound() {
	for _, hits := range []int{0, 30} {
		p, err := dual.UpperBound(hits, 3000, 0.05)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d of 3000: at most %.4f with 95 %% confidence\n", hits, p)
	}
	// Output:
	// 0 of 3000: at most 0.0010 with 95 % confidence
	// 30 of 3000: at most 0.0135 with 95 % confidence
}
