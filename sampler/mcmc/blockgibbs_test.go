package mcmc

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// layers is a bipartite model whose visible log-odds are given.
type layers struct{ field []float32 }

func (m layers) Shape() (sites, levels int) { return len(m.field), 2 }

func (m layers) Energy(e []float64, x []int32) {
	clear(e)
	for s := range e {
		for i, f := range m.field {
			if f > math.MaxFloat32 && x[s*len(m.field)+i] == 0 {
				e[s] = math.Inf(1)
			}
		}
	}
}

func (m layers) Hidden() int { return 1 }

func (m layers) HiddenField(f []float32, _ []int32) { clear(f) }

func (m layers) VisibleField(f []float32, _ []int32) {
	for ; len(f) > 0; f = f[len(m.field):] {
		copy(f, m.field)
	}
}

// A site that is fixed at 1 has log-odds +Inf and is 1 whatever the random
// words are: they decide against a threshold of 1 − 2⁻²⁴ once in
// 2²⁴ draws, and the state would have probability zero (with this seed at step 30).
func TestBlockGibbsKeepsFixedSites(t *testing.T) {
	const chains, sites, steps = 32, 1 << 12, 1 << 6
	m := layers{make([]float32, sites)}
	for i := range m.field {
		m.field[i] = float32(math.Inf(1))
	}
	init := make([]int32, sites)
	for i := range init {
		init[i] = 1
	}
	c, err := sampler.NewChains(context.Background(), m, BlockGibbs{}, sampler.Config{Chains: chains, Seed: 4, Warmup: -1, Init: init})
	require.NoError(t, err)
	require.NoError(t, c.Run(context.Background(), steps))
	assert.NotContains(t, c.States(), int32(0))
}

// Log-odds that are NaN stop the run instead of counting as 0.
func TestBlockGibbsStopsAtNaN(t *testing.T) {
	c, err := sampler.NewChains(context.Background(), layers{[]float32{0, float32(math.NaN())}}, BlockGibbs{}, sampler.Config{Chains: 2})
	require.NoError(t, err)
	require.ErrorIs(t, c.Run(context.Background(), 1), sampler.ErrNaN)
}

// Block Gibbs on a clamped machine is block Gibbs given the fixed units.
func TestBlockGibbsOnClamp(t *testing.T) {
	m, err := model.NewRBM([]float32{1, -2, 0.5, 1, 1, -1}, []float32{0.1, -0.2}, []float32{0.3, 0, -0.4})
	require.NoError(t, err)
	fixed, err := energy.Clamp(m, map[int]int32{0: 1, 2: 0})
	require.NoError(t, err)
	up := 0
	c, err := sampler.NewChains(context.Background(), fixed, BlockGibbs{}, sampler.Config{Chains: 32, Seed: 1, Warmup: 10})
	require.NoError(t, err)
	const draws = 2000
	for x := range c.Draws(context.Background(), draws) {
		for ; len(x) > 0; x = x[3:] {
			require.Equal(t, []int32{1, 0}, []int32{x[0], x[2]})
			up += int(x[1])
		}
	}
	require.NoError(t, c.Err())
	e, err := energy.Enumerate(context.Background(), fixed, func(x []int32) float64 { return float64(x[1]) })
	require.NoError(t, err)
	// Two sweeps of a free unit are nearly independent: five standard errors of
	// independent draws, widened by the factor 2, err with probability < 1e-6.
	p, n := e.Means[0], float64(32*draws)
	assert.InDelta(t, p, float64(up)/n, 2*5*math.Sqrt(p*(1-p)/n))
}
