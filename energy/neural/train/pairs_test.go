package train

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sums are pairs of two numbers and a level, and what a network of one output should
// make of them: their sum where the level is 0, their difference where it is 500.
func sums(rows int) *Pairs {
	r := rand.New(rand.NewPCG(4, 5))
	p := new(Pairs)
	for i := range rows {
		a, b := float32(r.NormFloat64()), float32(r.NormFloat64())
		sign := float32(1 - 2*(i%2))
		p.X = append(p.X, a, b)
		p.Level = append(p.Level, float64(500*(i%2)))
		p.Target = append(p.Target, a+float32(sign*b))
	}
	return p
}

var adder = neural.Config{Length: 1, Channels: 2, Outputs: 1, Width: 16, Heads: 1, Blocks: 1, Hidden: 32, Cond: 16}

// A network learns both. Without the level it learns neither: half of the variance of
// the target, 1, is left.
func TestPairsAreLearned(t *testing.T) {
	exact.SkipUnderRace(t)
	learn := func(p *Pairs) float64 {
		net := network(t, adder, 1)
		tr, err := NewPairs(net, p, Config{Steps: 300, Batch: 64, Rate: 1e-2, Seed: 3})
		require.NoError(t, err)
		require.NoError(t, tr.Run(context.Background(), 300))
		return tr.Loss()
	}
	p := sums(512)
	assert.Less(t, learn(p), 0.05)
	p.Level = nil
	assert.Greater(t, learn(p), 0.5)
}

// Pairs that change between Runs are what the next Run learns from, and a training
// that was saved goes on to the same bits with them.
func TestPairsMayChangeBetweenRuns(t *testing.T) {
	ctx := context.Background()
	start := func(workers int) (*neural.Transformer, *Pairs, *Trainer) {
		net, p := network(t, adder, 1), sums(40)
		return net, p, exact.Must(NewPairs(net, p, Config{Steps: 12, Batch: 13, Seed: 3, Workers: workers}))
	}
	change := func(p *Pairs) {
		for i := range p.Target {
			p.Target[i] = -p.Target[i]
		}
	}
	net, p, tr := start(1)
	require.NoError(t, tr.Run(ctx, 5))
	change(p)
	require.NoError(t, tr.Run(ctx, 7))

	_, _, first := start(3)
	require.NoError(t, first.Run(ctx, 5))
	var file bytes.Buffer
	require.NoError(t, first.Save(&file))
	other, p, second := start(2)
	change(p)
	require.NoError(t, second.Load(context.Background(), &file))
	require.NoError(t, second.Run(ctx, 7))
	assert.Equal(t, net.Weights(), other.Weights())

	still, _, third := start(1)
	require.NoError(t, third.Run(ctx, 12))
	assert.NotEqual(t, net.Weights(), still.Weights())
}

func TestErrorsOfPairs(t *testing.T) {
	net, good := network(t, adder, 1), Config{Steps: 10}
	with := func(edit func(p *Pairs)) error {
		p := sums(3)
		edit(p)
		return exact.Error(NewPairs(net, p, good))
	}
	for want, err := range map[string]error{
		"train: Steps = 0, want ≥ 1":                                           exact.Error(NewPairs(net, sums(3), Config{})),
		"train: NewPairs: network set = false and pairs set = true, want both": exact.Error(NewPairs(nil, sums(3), good)),
		"train: NewPairs: network set = true and pairs set = false, want both": exact.Error(NewPairs(net, nil, good)),
		"train: NewPairs: the network has 0 channels, want ≥ 1":                exact.Error(NewPairs(network(t, tiny, 1), sums(3), good)),
		"train: NewPairs: len(X) = 0, want a positive multiple of 2":           with(func(p *Pairs) { p.X = nil }),
		"train: NewPairs: len(X) = 5, want a positive multiple of 2":           with(func(p *Pairs) { p.X = p.X[:5] }),
		"train: NewPairs: len(Target) = 2, want 3":                             with(func(p *Pairs) { p.Target = p.Target[:2] }),
		"train: NewPairs: len(Level) = 1, want 3 or none":                      with(func(p *Pairs) { p.Level = p.Level[:1] }),
		"train: NewPairs: X[1] = NaN, want a finite number":                    with(func(p *Pairs) { p.X[1] = float32(math.NaN()) }),
		"train: NewPairs: Target[2] = +Inf, want a finite number":              with(func(p *Pairs) { p.Target[2] = float32(math.Inf(1)) }),
		"train: NewPairs: Level[0] = -Inf, want a finite number":               with(func(p *Pairs) { p.Level[0] = math.Inf(-1) }),
	} {
		assert.EqualError(t, err, want)
	}
	p := sums(3)
	tr := exact.Must(NewPairs(net, p, good))
	p.Target[0], p.Target[1], p.Target[2] = float32(math.NaN()), float32(math.NaN()), float32(math.NaN())
	assert.ErrorContains(t, tr.Run(context.Background(), 1), "step 0: loss = NaN")
}
