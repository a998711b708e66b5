package train

import (
	"bytes"
	"context"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"
	"time"

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
			pass.Forward(neural.Input{Tokens: seen, Level: make([]float64, 1)})
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
	exact.SkipRepeated(t)
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
				require.NoError(t, second.Load(context.Background(), &file))
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

func TestErrors(t *testing.T) {
	data, _, _ := joint()
	ctx := context.Background()
	net := network(t, tiny, 1)
	good := Config{Steps: 10}
	try := func(change func(c *Config)) error {
		c := good
		change(&c)
		_, err := New(net, Masked{mask}, data, c)
		return err
	}
	reals := network(t, neural.Config{Length: 1, Channels: 1, Width: 2, Heads: 1}, 1)
	for want, err := range map[string]error{
		"train: Steps = 0, want ≥ 1":                                          try(func(c *Config) { c.Steps = 0 }),
		"train: Batch = -1, Shards = 8, Workers = 1, want ≥ 1":                try(func(c *Config) { c.Batch, c.Workers = -1, 1 }),
		"train: Rate = -1, want > 0 and finite":                               try(func(c *Config) { c.Rate = -1 }),
		"train: Decay = -1, Clip = 1, want ≥ 0 and > 0":                       try(func(c *Config) { c.Decay = -1 }),
		"train: Average = 1, want 0 ≤ Average < 1":                            try(func(c *Config) { c.Average = 1 }),
		"train: objective is nil":                                             exact.Error(New(net, nil, data, good)),
		"train: Masked: Mask = 4, want 0 … 3":                                 exact.Error(New(net, Masked{4}, data, good)),
		"train: Noisy: Levels = 3, want 4, as the network has":                exact.Error(New(net, Noisy{3}, data, good)),
		"train: len(data) = 4, want a positive multiple of 3":                 exact.Error(New(net, Masked{mask}, data[:4], good)),
		"train: data[2] = -1, want 0 … 3":                                     exact.Error(New(net, Masked{mask}, []int32{0, 1, -1}, good)),
		"train: the network has 0 levels and 1 outputs, want as many and ≥ 1": exact.Error(New(reals, Masked{mask}, data, good)),
	} {
		assert.EqualError(t, err, want)
	}
	_, _, err := Evaluate(ctx, net, Masked{4}, data, 1, 1, 1)
	assert.EqualError(t, err, "train: Masked: Mask = 4, want 0 … 3")
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, _, err = Evaluate(cancelled, net, Masked{mask}, data, 1, 1, 0)
	assert.ErrorIs(t, err, context.Canceled)
	_, _, err = Evaluate(ctx, net, Masked{mask}, data, math.MaxInt, 1, 1)
	assert.ErrorContains(t, err, "want ≤ 1073741824")
	brief, stop := context.WithTimeout(ctx, time.Millisecond)
	defer stop()
	_, _, err = Evaluate(brief, net, Masked{mask}, data, mostDraws, 1, 1)
	assert.ErrorIs(t, err, context.DeadlineExceeded, "it ends between draws")
	_, _, err = Evaluate(ctx, net, Masked{mask}, data, 1, 1, math.MaxInt)
	assert.NoError(t, err)
	tr := exact.Must(New(net, Masked{mask}, data, good))
	assert.True(t, math.IsNaN(tr.Loss()))
	assert.ErrorIs(t, tr.Run(cancelled, 1), context.Canceled)

	// What is not finite stops the training before the weights change.
	net.Weights()[0] = float32(math.NaN())
	before := append([]float32(nil), net.Weights()[1:]...)
	for range 20 {
		if err = tr.Run(ctx, 1); err != nil {
			break
		}
	}
	assert.ErrorContains(t, err, "loss = NaN")
	assert.Equal(t, before, net.Weights()[1:])
}

// The rate rises for Warmup steps and falls along half a cosine to a hundredth.
func TestRate(t *testing.T) {
	c, err := Config{Steps: 100, Warmup: 9, Rate: 2}.resolve()
	require.NoError(t, err)
	assert.InDelta(t, 0.2, c.rate(0), 1e-12)
	assert.InDelta(t, 1.8, c.rate(8), 1e-12)
	assert.InDelta(t, 2, c.rate(9), 1e-12)
	assert.InDelta(t, 2*(0.01+0.99*0.5*(1+math.Cos(math.Pi*41/91))), c.rate(50), 1e-12)
	assert.InDelta(t, 0.02, c.rate(100), 1e-12)
	c.Warmup = -1
	assert.InDelta(t, 2, c.rate(0), 1e-12)
}

// One step of Adam is the step of its formulas, clipping and averaging included.
func TestAdam(t *testing.T) {
	cfg := exact.Must(Config{Steps: 10, Warmup: -1, Rate: 0.1, Decay: 0.5}.resolve())
	a := adam{make([]float32, 2), make([]float32, 2), []float32{1, -2}}
	w := []float32{1, -2}
	g := []float32{3, 4} // of norm 5: clipped to 0.6, 0.8
	a.update(w, g, strip{0, 1, true}, newStep(cfg, 0, 5))
	a.update(w, g, strip{1, 2, false}, newStep(cfg, 0, 5))
	assert.InDelta(t, 1-0.1*(1+0.5), w[0], 1e-6)
	assert.InDelta(t, -2-0.1, w[1], 1e-6)
	assert.InDeltaSlice(t, []float32{0.06, 0.08}, a.m, 1e-7)
	assert.InDeltaSlice(t, []float32{0.02 * 0.36, 0.02 * 0.64}, a.v, 1e-7)
	share := 2.0 / 11
	assert.InDelta(t, share+(1-share)*float64(w[0]), a.average[0], 1e-6)
}

// Masked hides each set of n positions equally often, n evenly.
func TestMaskedCorruption(t *testing.T) {
	const n = 40_000
	counts := make([]int, 1<<4)
	x, weight := make([]int32, 4), make([]float64, 4)
	r := rand.New(rand.NewPCG(1, 1))
	for range n {
		require.Zero(t, Masked{9}.Corrupt(x, weight, []int32{0, 1, 2, 3}, r.Float64(), r))
		set, hidden := 0, 0
		for i, l := range x {
			if l == 9 {
				set |= 1 << i
				hidden++
			}
		}
		for i, l := range x {
			require.Equal(t, l == 9, weight[i] == 4/float64(hidden))
			require.True(t, l == 9 || l == int32(i) && weight[i] == 0)
		}
		counts[set]++
	}
	p := make([]float64, len(counts))
	for set := 1; set < len(p); set++ {
		p[set] = []float64{0, 1. / 16, 1. / 24, 1. / 16, 1. / 4}[bits.OnesCount(uint(set))]
	}
	exact.Counts(t, counts, p, exact.Rate)
	p[1], p[3] = p[3], p[1] // the twin
	assert.Less(t, exact.PValue(counts, p), exact.Rate)
}

// Noisy replaces a token with probability u by any of the levels.
func TestNoisyCorruption(t *testing.T) {
	counts := make([]int, 3)
	x, weight := make([]int32, 1), make([]float64, 1)
	r := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		level := Noisy{3}.Corrupt(x, weight, []int32{1}, 0.5, r)
		require.InDelta(t, -math.Log(1-0.999*0.5), level, 1e-12)
		counts[x[0]]++
	}
	jump := 0.999 * 0.5 / 3
	exact.Counts(t, counts, []float64{jump, 1 - 2*jump, jump}, exact.Rate)
	assert.Less(t, exact.PValue(counts, []float64{0.25, 0.5, 0.25}), exact.Rate)
}
