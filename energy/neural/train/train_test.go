package train

import (
	"bytes"
	"context"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

const (
	sites  = 3
	tokens = 3
	mask   = tokens
)

var tiny = neural.Config{Length: sites, Levels: tokens + 1, Width: 16, Heads: 2, Blocks: 2, Hidden: 32, Positions: true}

// joint returns a random distribution over tokens^sites whose sites depend on
// each other, as data with multiplicities, and its entropy.
func joint() (data []int32, p []float64, entropy float64) {
	r := rand.New(rand.NewPCG(5, 5))
	x := make([]int32, sites)
	count := make([]int, exact.Size(sites, tokens))
	p = make([]float64, len(count))
	for k := range count {
		count[k] = int(20 * math.Exp(r.NormFloat64()))
		exact.State(x, k, tokens)
		for range count[k] {
			data = append(data, x...)
		}
	}
	for k, c := range count {
		if p[k] = float64(c*sites) / float64(len(data)); c > 0 {
			entropy -= p[k] * math.Log(p[k])
		}
	}
	return data, p, entropy
}

func network(t testing.TB, cfg neural.Config, seed uint64) *neural.Transformer {
	net, err := neural.New(cfg, rand.NewPCG(seed, 7))
	require.NoError(t, err)
	return net
}

// bound is the objective of Masked over p by enumeration of all sets of masks.
func bound(net *neural.Transformer, p []float64) float64 {
	pass := net.NewPass(1)
	y := make([]float32, sites*(tokens+1))
	x, seen := make([]int32, sites), make([]int32, sites)
	sum := 0.0
	for k, w := range p {
		exact.State(x, k, tokens)
		for set := uint(1); set < 1<<sites; set++ {
			n := bits.OnesCount(set)
			copy(seen, x)
			for i := range x {
				if set>>i&1 > 0 {
					seen[i] = mask
				}
			}
			pass.Forward(neural.Input{Tokens: seen})
			pass.Output(y, nil)
			sets := float64(sites)
			if n == sites {
				sets = 1
			}
			for i, l := range x {
				if set>>i&1 == 0 {
					continue
				}
				z := 0.0
				for _, v := range y[i*(tokens+1) : (i+1)*(tokens+1)] {
					z += math.Exp(float64(v))
				}
				sum += w / sets / float64(n) * (math.Log(z) - float64(y[i*(tokens+1)+int(l)]))
			}
		}
	}
	return sum
}

func TestMaskedLearnsADistribution(t *testing.T) {
	exact.SkipUnderRace(t)
	data, p, entropy := joint()
	net := network(t, tiny, 1)
	tr, err := New(net, Masked{mask}, data, Config{Steps: 1500, Seed: 2, Rate: 3e-3, Average: 0.99})
	require.NoError(t, err)
	before := bound(net, p)
	require.NoError(t, tr.Run(context.Background(), 1500))
	after := bound(tr.Average(), p)
	assert.Greater(t, after, entropy, "a bound")
	assert.Less(t, after-entropy, 0.02, "entropy %.4f, bound %.4f, before %.4f", entropy, after, before)
	assert.Greater(t, before-entropy, 0.5)

	// The estimate of the bound agrees with it.
	mean, se, err := Evaluate(context.Background(), tr.Average(), Masked{mask}, data, 8, 3, 2)
	require.NoError(t, err)
	assert.InDelta(t, after, mean, 5*se, "standard error %v", se)
	again, _, err := Evaluate(context.Background(), tr.Average(), Masked{mask}, data, 8, 3, 1)
	require.NoError(t, err)
	assert.Equal(t, mean, again, "workers")
}

func TestWorkersAndCheckpointsKeepTheBits(t *testing.T) {
	ctx := context.Background()
	data, _, _ := joint()
	cfg := Config{Steps: 20, Batch: 13, Shards: 4, Seed: 3, Decay: 0.01, Workers: 1}
	conditioned := tiny
	conditioned.Cond = 4
	conditioned.Levels = tokens
	for name, c := range map[string]struct {
		net       neural.Config
		objective Objective
	}{"masked": {tiny, Masked{mask}}, "noisy": {conditioned, Noisy{tokens}}} {
		t.Run(name, func(t *testing.T) {
			start := func(workers int) (*neural.Transformer, *Trainer) {
				cfg.Workers = workers
				net := network(t, c.net, 4)
				tr, err := New(net, c.objective, data, cfg)
				require.NoError(t, err)
				return net, tr
			}
			net, tr := start(1)
			require.NoError(t, tr.Run(ctx, 20))
			assert.Equal(t, 20, tr.Step())
			for _, workers := range []int{2, 7} {
				other, o := start(workers)
				require.NoError(t, o.Run(ctx, 20))
				assert.Equal(t, net.Weights(), other.Weights(), "%d workers", workers)
				assert.Equal(t, tr.Loss(), o.Loss())
			}
			for _, at := range []int{0, 7} {
				_, first := start(2)
				require.NoError(t, first.Run(ctx, at))
				var file bytes.Buffer
				require.NoError(t, first.Save(&file))
				other, second := start(1)
				require.NoError(t, second.Load(&file))
				assert.Equal(t, at, second.Step())
				require.NoError(t, second.Run(ctx, 20-at))
				assert.Equal(t, net.Weights(), other.Weights(), "resumed after %d steps", at)
				assert.Equal(t, tr.Average().Weights(), second.Average().Weights())
			}
			cfg.Shards = 3 // another order of sums: the comparison can fail
			other, o := start(1)
			require.NoError(t, o.Run(ctx, 20))
			assert.NotEqual(t, net.Weights(), other.Weights())
			cfg.Shards = 4
		})
	}
}
