package neural_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/scored"
)

// Guidance by networks follows the chain rule of the networks: at weight 1 a token is
// drawn with p(x_i | seen)·p(y | seen, x_i), a classifier-free one of weight 2 with
// p(x_i | seen, y)²/p(x_i | seen).
func TestGuidanceFollowsTheNetworks(t *testing.T) {
	exact.SkipUnderRace(t)
	if testing.Short() {
		t.Skip("draws many samples")
	}
	const mask = tokens
	r := rand.New(rand.NewPCG(8, 2))
	random := func(cfg neural.Config) *neural.Transformer {
		cfg.Length, cfg.Levels, cfg.Width, cfg.Heads, cfg.Blocks, cfg.Positions = sites, tokens+1, 8, 2, 1, true
		net := exact.Must(neural.New(cfg, r))
		for i := range net.Weights() {
			net.Weights()[i] += float32(0.4 * r.NormFloat64())
		}
		return net
	}
	net := random(neural.Config{Cond: 4, Classes: 2})
	opt := neural.Options{TimeFree: true}
	free := exact.Must(neural.NewMasked(net, mask, opt))
	given := exact.Must(neural.NewMasked(exact.Must(net.Given(1)), mask, opt))
	judge := random(neural.Config{Outputs: 2})
	classifier := exact.Must(neural.NewClassifier(judge, 1, mask, neural.ClassifierConfig{TimeFree: true}))

	// law is that of tokens shown one at a time, in any order, by rows.
	law := func(row func(seen []int32, i int) []float64) []float64 {
		p := make([]float64, exact.Size(sites, tokens))
		x := make([]int32, sites)
		var from func(seen []int32) float64
		from = func(seen []int32) float64 {
			left, sum := 0, 0.0
			for i, l := range seen {
				if l == mask {
					left++
					next := slices.Clone(seen)
					next[i] = x[i]
					sum += row(seen, i)[x[i]] * from(next)
				}
			}
			if left == 0 {
				return 1
			}
			return sum / float64(left)
		}
		for k := range p {
			exact.State(x, k, tokens)
			p[k] = from([]int32{mask, mask, mask})
		}
		return p
	}
	normal := func(p []float64) []float64 {
		sum := 0.0
		for _, v := range p {
			sum += v
		}
		for l := range p {
			p[l] /= sum
		}
		return p
	}
	one := make([]float64, 1)
	led := law(func(seen []int32, i int) []float64 {
		p := predict(t, free, seen, 0.5, 0.5)[i*(tokens+1) : i*(tokens+1)+tokens]
		y := slices.Clone(seen)
		for l := range p {
			y[i] = int32(l)
			require.NoError(t, classifier.LogProb(one, y, 0))
			p[l] *= math.Exp(one[0])
		}
		return normal(p)
	})
	leaning := law(func(seen []int32, i int) []float64 {
		p := predict(t, given, seen, 0.5, 0.5)[i*(tokens+1) : i*(tokens+1)+tokens]
		for l, q := range predict(t, free, seen, 0.5, 0.5)[i*(tokens+1) : i*(tokens+1)+tokens] {
			p[l] *= p[l] / q
		}
		return normal(p)
	})
	hitting := diffusion.Masked{Mask: mask, FirstHitting: true}
	counts := sample(t, diffusion.ClassifierGuided{Denoiser: free, Classifier: classifier, Scale: 1}, hitting, 0)
	exact.Counts(t, counts, led, exact.Rate)
	assert.Less(t, exact.PValue(counts, leaning), exact.Rate)
	plain := law(func(seen []int32, i int) []float64 {
		return predict(t, free, seen, 0.5, 0.5)[i*(tokens+1) : i*(tokens+1)+tokens]
	})
	assert.Less(t, exact.PValue(counts, plain), exact.Rate, "the classifier matters")
	counts = sample(t, diffusion.ClassifierFree{Conditional: given, Unconditional: free, Scale: 2}, hitting, 0)
	exact.Counts(t, counts, leaning, exact.Rate)
	assert.Less(t, exact.PValue(counts, plain), exact.Rate)
}

// A learned score that is wrong costs rounds, not feasibility: a look-ahead that it
// leads ends where the judge says.
func TestScorerLeadsALookAhead(t *testing.T) {
	const mask = tokens
	r := rand.New(rand.NewPCG(8, 3))
	net := exact.Must(neural.New(neural.Config{Length: sites, Levels: tokens + 1, Outputs: 1, Width: 8, Heads: 2, Blocks: 1, Positions: true}, r))
	for i := range net.Weights() {
		net.Weights()[i] += float32(0.4 * r.NormFloat64())
	}
	s := exact.Must(neural.NewScorer(net))
	free := exact.Must(neural.NewMasked(fixed(t, tokens+1), mask, neural.Options{TimeFree: true}))
	sum := func(x []int32) float64 { return float64(x[0] + x[1] + x[2]) }
	run, err := scored.New(t.Context(), free, diffusion.Masked{Mask: mask, FirstHitting: true}, scored.Config{
		Judge: constraint.Score{Threshold: 1, Decide: sum}, Guide: constraint.Score{Threshold: 0, DecideAll: s.Scores}, Seed: 3,
	})
	require.NoError(t, err)
	x := make([]int32, 50*sites)
	require.NoError(t, run.Sample(t.Context(), x))
	for i := range 50 {
		assert.LessOrEqual(t, sum(x[i*sites:]), 1.0)
	}
}
