package mcmc

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
)

// aisLaw returns every weight that a chain can have on a path x_0 → x_1, by
// index x_0·n + x_1, and its probability, from the kernel's own matrix.
func aisLaw(t *testing.T, m energy.Model, method sampler.Method, beta float64) (logw, law []float64) {
	scaled, err := energy.Scale(m, beta)
	require.NoError(t, err)
	e := exact.Energies(m)
	p := matrixOf(t, method, scaled)
	n := len(e)
	for x := range n {
		for y := range n {
			q := p.At(x, y) / float64(n)
			w := math.Log(float64(n)) - beta*e[x] - (1-beta)*e[y]
			if math.IsInf(e[x], 1) {
				w = math.Inf(-1)
			}
			logw, law = append(logw, w), append(law, q)
		}
	}
	return logw, law
}

// TestAISWeights checks the exact law of the weights of a run of two stages, and
// that their mean is Z: with holes, the chains that begin in one have weight 0.
func TestAISWeights(t *testing.T) {
	const beta, chains = 0.4, 4000
	schedule := func(t float64) float64 { return []float64{0, beta, 1}[int(math.Round(2*t))] }
	for name, m := range map[string]energy.Model{
		"3-levels": exact.NewRugged(1, 3, 1, 0.5, 2),
		"binary":   exact.NewRugged(2, 2, 1, 0.5, 1),
		"holes":    exact.NewRugged(2, 3, 1, 0.5, 6).Holed(),
	} {
		for _, method := range []sampler.Method{Metropolis{Updates: 1}, DMALA{StepSize: 0.6}} {
			logw, law := aisLaw(t, m, method, beta)
			mean := 0.0
			for c, q := range law {
				if !math.IsInf(logw[c], -1) {
					mean += q * math.Exp(logw[c])
				}
			}
			_, logZ := exact.Law(m)
			require.InDelta(t, logZ, math.Log(mean), 1e-12, "%s: E[w] = Z", name)

			res, err := anneal.AIS(context.Background(), m, method, anneal.AISConfig{Chains: chains, Seed: 5, Stages: 2, Schedule: schedule})
			require.NoError(t, err)
			// Cells are the different weights; paths of the same weight share one.
			var cells, probs []float64
			cell := func(w float64) int {
				for c, v := range cells {
					if v == w || math.Abs(v-w) < 1e-9 {
						return c
					}
				}
				cells, probs = append(cells, w), append(probs, 0)
				return len(cells) - 1
			}
			for c, w := range logw {
				if law[c] > 0 {
					probs[cell(w)] += law[c]
				}
			}
			counts := make([]int, len(cells))
			for _, w := range res.LogWeights {
				c := cell(w)
				require.Less(t, c, len(counts), "%s: no path has weight %v", name, w)
				counts[c]++
			}
			exact.Counts(t, counts, probs, exact.Rate)

			// The twin weighs after the move with the old step: w(x_1) twice.
			twin := 0.0
			n := int(math.Sqrt(float64(len(law))))
			e := exact.Energies(m)
			for c, q := range law {
				if !math.IsInf(e[c%n], 1) {
					twin += q * math.Exp(math.Log(float64(n))-e[c%n])
				}
			}
			assert.Greater(t, math.Abs(math.Log(twin)-logZ), 1e-3, "%s: the twin is biased", name)
		}
	}
}
