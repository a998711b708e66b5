package diffusion

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// The reference for what this package avoids: a masked step by Gumbel-max over
// tokens and mask with noise from float32 uniforms, which are multiples of 2⁻²⁴
// below 1, so that −log(−log u) never exceeds 16.6.

// gumbelChance is the probability, exact over the 2⁻²⁴ grid, that a token of
// weight w beats the mask of weight 1 in a float32 Gumbel race. Only the top of
// the grid matters: the token wins with noise e = −log u below the mask's noise
// times w.
func gumbelChance(w float64) float64 {
	const grid = 1 << 24
	p := 0.0
	// u = 1 − j/grid for the token, j = 1, 2, …: e_token = −log u. The mask's
	// noise must exceed e_token/w, of probability exp(−e_token/w).
	for j := 1; j < 1<<16; j++ {
		e := -math.Log1p(-float64(j) / grid)
		q := math.Exp(-e / w)
		p += q / grid
		if q < 1e-18 {
			break
		}
	}
	return p
}

func TestFloat32GumbelTruncationIsReproduced(t *testing.T) {
	exact.SkipUnderRace(t)
	// A weight with c = w·2²⁴ behaves like 1/(e^{1/c}−1) in place of c.
	for _, c := range []float64{0.1, 0.3, 1, 1.678, 3, 10, 100} {
		w := c / (1 << 24)
		assert.InEpsilon(t, 1/math.Expm1(1/c), gumbelChance(w)*(1<<24), 1e-4, "c = %v", c)
	}
	// Simulated, at c = 1.678 (w = 1e-7): conditioned on the token's noise being
	// in the top 2⁻¹⁰ of the grid, where all its wins are.
	const w, n = 1e-7, 4_000_000
	r := rand.New(rand.NewPCG(1, 2))
	wins := 0
	for range n {
		u := 1 - float32(1+r.IntN(1<<14))/(1<<24)
		mask := float32(1+r.IntN(1<<24-1)) / (1 << 24)
		token := -math.Log(-math.Log(float64(u))) + math.Log(w)
		if token > -math.Log(-math.Log(float64(mask))) {
			wins++
		}
	}
	exact.Counts(t, []int{wins, n - wins}, []float64{gumbelChance(w) * (1 << 10), 1 - gumbelChance(w)*(1<<10)}, exact.Rate)
	assert.Less(t, gumbelChance(w)/w, 0.75, "a quarter of the tail mass is gone")
}

// Rare tokens keep their mass here: at p = 1e-7 the tail of a vocabulary has its
// share of the draws.
func TestRareTokensKeepTheirMass(t *testing.T) {
	if testing.Short() || exact.Race || simd.Backend() == "purego" {
		t.Skip("reads 4e9 weights")
	}
	const rare, p, sites, rounds = 200_000, 1e-7, 8, 2500
	row := make([]float32, rare+2)
	for l := range rare {
		row[1+l] = float32(math.Log(p))
	}
	row[0] = float32(math.Log1p(-rare * p))
	row[rare+1] = 50 // the mask: taken out of the race, however likely
	v := slices.Repeat(row, sites)
	bound, err := Masked{Mask: rare + 1}.Bind(context.Background(), sites, rare+2)
	require.NoError(t, err)
	stream := sampler.NewStream(3, 3)
	counts := []int{0, 0}
	x := make([]int32, sites)
	for range rounds {
		bound.Prior(x, stream)
		require.NoError(t, bound.Reverse(x, v, v, 1, 0.5, stream))
		require.NoError(t, bound.Reverse(x, v, v, 0.5, 0, stream))
		for _, l := range x {
			counts[min(l, 1)]++
		}
	}
	const mass = rare * p
	exact.Counts(t, counts, []float64{1 - mass, mass}, exact.Rate)
	// The truncated race would have given this much, seen in as many draws.
	const c = p * (1 << 24)
	twin := mass / math.Expm1(1/c) / c
	assert.Less(t, exact.PValue(counts, []float64{1 - twin, twin}), exact.Rate)
}
