package unlearn_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

// Several concepts with a multiplier each never cost more than with one weight for all of
// them, the least that meets all bounds (Khalafi, Ribeiro and Ding 2026, Fig. 6 and Table 4):
// 160 random problems of two to four concepts of unlike sizes and bounds.
func TestEqualWeights(t *testing.T) {
	var saved []float64
	for seed := range uint64(160) {
		r := rand.New(rand.NewPCG(seed, 48))
		n, rows := 2+r.IntN(3), 300
		has, bounds := make([][]float64, n), make([]float64, n)
		for j := range has {
			part, share := 0.05+0.5*r.Float64(), 0.0
			for range rows {
				v := 0.0
				if r.Float64() < part {
					v = 1
				}
				has[j], share = append(has[j], v), share+v/float64(rows)
			}
			bounds[j] = share * (0.05 + 0.9*r.Float64())
		}
		s, err := exact.Must(unlearn.FromRatios(has...)).Solve(t.Context(), unlearn.LikelihoodRatio, bounds)
		require.NoError(t, err)
		// One weight for all of them, in arithmetic of its own.
		law := func(l float64) (p []float64, met bool) {
			sum := 0.0
			for k := range rows {
				w := 1.0
				for j := range has {
					w *= math.Exp(-l * has[j][k])
				}
				p, sum = append(p, w), sum+w
			}
			share := make([]float64, n)
			for k := range p {
				p[k] /= sum
				for j := range has {
					share[j] += p[k] * has[j][k]
				}
			}
			for j, b := range bounds {
				if share[j] > b {
					return p, false
				}
			}
			return p, true
		}
		low, high := 0.0, 60.0
		_, met := law(high)
		require.True(t, met)
		for range 60 {
			if l := (low + high) / 2; met {
				if _, ok := law(l); ok {
					high = l
				} else {
					low = l
				}
			}
		}
		p, _ := law(high)
		equal := 0.0
		for _, v := range p {
			if v > 0 {
				equal += v * math.Log(v*float64(rows))
			}
		}
		require.LessOrEqual(t, s.Cost, equal+1e-9, "seed %d, bounds %v", seed, bounds)
		saved = append(saved, 1-s.Cost/equal)
	}
	slices.Sort(saved)
	t.Logf("saved: median %.0f %%, least %.1f %%, most %.0f %%", 100*saved[80], 100*saved[0], 100*saved[159])
	require.Greater(t, saved[80], 0.05, "a multiplier each is of use")
}
