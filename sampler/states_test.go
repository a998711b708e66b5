package sampler_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// States can be set, as copies, and runs go on from them; wrong ones change
// nothing.
func TestSetStates(t *testing.T) {
	c := runs.Run(t, exact.NewQuadratic(3, 1), mcmc.Gibbs{}, sampler.Config{Chains: 2, Warmup: 5}, 5)
	x := []int32{0, 1, 0, 1, 1, 1}
	require.NoError(t, c.SetStates(x))
	x[0] = 1
	assert.Equal(t, []int32{0, 1, 0, 1, 1, 1}, c.States())
	require.ErrorContains(t, c.SetStates(x[:3]), "len(x) = 3, want 6 (2 chains of 3 sites)")
	require.ErrorContains(t, c.SetStates([]int32{0, 1, 0, 1, 2, 1}), "level of site 1 of chain 1 = 2, want 0 … 1")
	assert.Equal(t, []int32{0, 1, 0, 1, 1, 1}, c.States())
	require.NoError(t, c.Run(t.Context(), 3))
	assert.Equal(t, 8, c.Len())
}

// Chains that get another target sample it, from where they are.
func TestRetarget(t *testing.T) {
	const chains = 4000
	first, second := exact.NewRugged(2, 3, 1, 0, 1), exact.NewRugged(2, 3, 1, 0, 2)
	c := runs.Run(t, first, mcmc.Gibbs{}, sampler.Config{Chains: chains, Warmup: -1}, 30)
	require.NoError(t, sampler.Retarget(t.Context(), c, second))
	require.NoError(t, c.Run(t.Context(), 30))
	assert.Equal(t, 60, c.Len())
	counts := make([]int, 9)
	for s := 0; s < len(c.States()); s += 2 {
		counts[exact.Index(c.States()[s:s+2], 3)]++
	}
	pi, _ := exact.Law(second)
	exact.Counts(t, counts, pi, exact.Rate)
	old, _ := exact.Law(first)
	assert.Less(t, exact.PValue(counts, old), exact.Rate, "the old target is another")

	require.ErrorContains(t, sampler.Retarget(t.Context(), nil, second), "chains = nil")
	require.ErrorContains(t, sampler.Retarget(t.Context(), c, nil), "model = nil")
	require.ErrorContains(t, sampler.Retarget(t.Context(), c, exact.NewRugged(3, 3, 1, 0, 1)), "3 sites × 3 levels, want 2 × 3")
	flat := runs.Run(t, first, mcmc.DMALA{}, sampler.Config{Warmup: -1}, 1)
	var start *sampler.StartError
	gone := energy.Func{Sites: 2, Levels: 3, E: func([]int32) float64 { return math.Inf(1) }}
	require.ErrorAs(t, sampler.Retarget(t.Context(), flat, gone), &start)
	require.ErrorContains(t, start, "the state has probability zero")
}

// Either side of And may be nil.
func TestAndCallsBoth(t *testing.T) {
	var calls []int
	note := func(k int) sampler.Observer {
		return func(int, int, []int32, *sampler.Info) { calls = append(calls, k) }
	}
	for _, o := range []sampler.Observer{note(1).And(note(2)), note(3).And(nil), sampler.Observer(nil).And(note(4))} {
		o(0, 0, nil, nil)
	}
	assert.Equal(t, []int{1, 2, 3, 4}, calls)
	assert.Nil(t, sampler.Observer(nil).And(nil))
}

func TestStartErrors(t *testing.T) {
	require.NoError(t, sampler.CheckStart([]float64{1, -3}))
	for v, want := range map[float64]string{
		math.Inf(1):  "chain 1: energy of the initial state = +Inf, want a finite number: the state has probability zero",
		math.Inf(-1): "chain 1: energy of the initial state = -Inf, want a finite number: the model cannot evaluate",
	} {
		err := sampler.CheckStart([]float64{0, v})
		var start *sampler.StartError
		require.ErrorAs(t, err, &start)
		require.Equal(t, 1, start.Chain)
		require.ErrorContains(t, err, want)
	}
	require.ErrorContains(t, &sampler.StartError{Chain: 3, Constraint: "even"}, "chain 3: the initial state is not in even")
}

// Models that leave states without probability repair their random starts.
func TestRandomStartsAreRepaired(t *testing.T) {
	m := exact.Must(model.NewMarkov(6, 2, 1, []float64{1, 0}, []float64{0.5, 0.5, 0, 1}))
	c := exact.Must(sampler.NewChains(context.Background(), m, mcmc.Metropolis{}, sampler.Config{Chains: 50}))
	e := make([]float64, 50)
	m.Energy(e, c.States())
	for _, v := range e {
		require.False(t, math.IsInf(v, 0))
	}
}

// A chain that cannot go on is not saved, and a failing kernel's error names it.
func TestFailedChainsAreNotSaved(t *testing.T) {
	fails := energy.Func{Sites: 2, Levels: 2, E: func(x []int32) float64 {
		if x[0] == 1 {
			return math.NaN()
		}
		return 0
	}}
	c := exact.Must(sampler.NewChains(context.Background(), fails, mcmc.Gibbs{}, sampler.Config{Chains: 2, Warmup: -1, Init: []int32{0, 0}}))
	err := c.Run(context.Background(), 200)
	require.ErrorIs(t, err, sampler.ErrNaN)
	require.ErrorContains(t, c.Save(discard{}), "a chain has failed")
	broken := exact.Must(sampler.NewChains(context.Background(), fails, mcmc.Gibbs{}, sampler.Config{Chains: 2, Warmup: -1, Init: []int32{1, 0}}))
	var start *sampler.StartError
	require.ErrorAs(t, broken.Save(discard{}), &start, "chains that never started are reset first")
	ok := runs.Run(t, exact.NewQuadratic(3, 1), mcmc.Gibbs{}, sampler.Config{Warmup: -1}, 1)
	require.ErrorContains(t, ok.Save(nil), "w = nil")
	require.ErrorIs(t, ok.Save(discard{errFull}), errFull)
}

var errFull = errors.New("no space left")

// discard takes what is written, or fails.
type discard struct{ err error }

func (d discard) Write(b []byte) (int, error) { return len(b), d.err }
