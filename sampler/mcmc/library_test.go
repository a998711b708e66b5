package mcmc

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/sampler"
)

func TestKernelsOnLibraryModels(t *testing.T) {
	exact.SkipRepeated(t)
	for space, m := range exact.Library(t) {
		pi, _ := exact.Law(m)
		sites, levels := m.Shape()
		for name, method := range map[string]sampler.Method{
			"DMALA": DMALA{StepSize: 0.7}, "GWG": GWG{}, "BlockGibbs": BlockGibbs{},
			"LB-exact": LocallyBalanced{Balance: Barker, Exact: true}, "HammingBall": HammingBall{Block: 2, Radius: 1, Updates: 1},
		} {
			if _, bipartite := energy.As[energy.Bipartite](m); name == "BlockGibbs" && !bipartite {
				continue
			}
			t.Run(name+"/"+space, func(t *testing.T) {
				p := transition(t, exact.Must(method.Kernel(context.Background(), m, 1)), sites, levels)
				tol := 1e-12
				if name == "BlockGibbs" {
					tol = 1e-7 // its probabilities are float32
				}
				assert.LessOrEqual(t, p.RowError(), tol)
				assert.LessOrEqual(t, p.MaxDiff(pi), tol)
				assert.LessOrEqual(t, p.DetailedBalance(pi), tol)
				exact.Transitions(t, sweeptest.Observed(t, m, method, sweeptest.Many(96), 3), p, exact.Rate)
			})
		}
	}
}

// A long run on cached differences visits states as often as it should: the
// caches are kept up to date, over several refreshes.
func TestCachedGibbsInTheLongRun(t *testing.T) {
	m := exact.Library(t)["glass"]
	pi, _ := exact.Law(m)
	counts := make([]int, len(pi))
	const thin = 25 // far beyond the autocorrelation time of this model
	runs.Run(t, m, Gibbs{Scan: Chromatic}, sampler.Config{Chains: 16, Seed: 2, Workers: 1, Thin: thin, Observe: func(_, _ int, x []int32, info *sampler.Info) {
		exact.Tally(counts, x, 6, 2)
		e := make([]float64, 1)
		m.Energy(e, x)
		require.InDelta(t, e[0], info.Energy, 1e-9)
	}}, 400)
	exact.Counts(t, counts, pi, exact.Rate)
}

// noisy estimates the table of its model with an unbiased coin.
type noisy struct{ *exact.Quadratic }

func (m noisy) Estimate(g []float32, x []int32, src []rand.Source) {
	sites, _ := m.Shape()
	e, h := make([]float64, len(src)), make([]float32, len(x))
	m.Field(e, h, x)
	for i, l := range x {
		coin := float32(src[i/sites].Uint64()>>63)*2 - 1
		if len(g) == len(x) {
			g[i] = h[i] + coin*float32(1-2*l)
			continue
		}
		g[2*i+int(l)] = 0
		g[2*i+1-int(l)] = h[i]*float32(1-2*l) + coin
	}
}

// With a table that is off by ±1 with equal odds, a site flips with the mean of
// the two probabilities.
func TestMinibatch(t *testing.T) {
	m := noisy{exact.NewQuadratic(3, 1)}
	const alpha = 0.8
	method := DULA{StepSize: alpha, Minibatch: true}
	all := exact.States(3, 2)
	p := exact.NewMatrix(8, func(x int, dst []float64) {
		for y := range dst {
			dst[y] = 1
			for i, l := range all[x] {
				delta := 2 * m.Force(i, all[x]) * float64(2*l-1)
				flip := 0.0
				for _, coin := range []float64{-1, 1} {
					flip += 0.5 / (1 + math.Exp((delta+coin)/2+1/(2*alpha)))
				}
				if all[x][i] == all[y][i] {
					flip = 1 - flip
				}
				dst[y] *= flip
			}
		}
	})
	exact.Transitions(t, sweeptest.Observed(t, m, method, 6400, 5), p, exact.Rate)
	c := runs.Run(t, m, method, sampler.Config{Warmup: -1}, 5)
	assert.True(t, math.IsNaN(c.Info()[0].Energy))
	_, err := DULA{Minibatch: true, Window: 1}.Kernel(context.Background(), threeLevelEstimates{exact.NewRugged(2, 5, 1, 0, 1)}, 1)
	assert.ErrorContains(t, err, "estimates have no windows")
}

type threeLevelEstimates struct{ *exact.Rugged }

func (m threeLevelEstimates) Estimate(g []float32, x []int32, _ []rand.Source) {
	sites, _ := m.Shape()
	m.Gradient(make([]float64, len(x)/sites), g, x)
}

// On more than two levels an estimate without noise is the table itself.
func TestMinibatchOfCategories(t *testing.T) {
	m := threeLevelEstimates{exact.NewRugged(3, 3, 1, 0.5, 1)}
	p := transition(t, exact.Must(DULA{StepSize: 1}.Kernel(context.Background(), m, 1)), 3, 3)
	exact.Transitions(t, sweeptest.Observed(t, m, DULA{StepSize: 1, Minibatch: true}, 640, 5), p, exact.Rate)
}
