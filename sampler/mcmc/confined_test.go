package mcmc

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// languages pairs models with languages of every kind: fixed and bounded counts,
// no two ones in a row (independent sets of a path), masks, and a modulus.
func languages(t *testing.T) map[string]struct {
	model  energy.Model
	within constraint.Automaton
} {
	mask, err := constraint.NewMask(3, [][]int32{{0, 2}, nil, {1}, {0, 1}})
	require.NoError(t, err)
	apart, err := constraint.Avoids([]int32{1, 1})
	require.NoError(t, err)
	mod, err := constraint.NewResidue([]int{0, 1, 2}, 3, 1)
	require.NoError(t, err)
	both, err := constraint.Intersect(mask, constraint.Count{Levels: []int32{1}, Max: 2})
	require.NoError(t, err)
	lib := exact.Library(t)
	type pair = struct {
		model  energy.Model
		within constraint.Automaton
	}
	return map[string]pair{
		"ising/exactly-4":   {lib["ising"], constraint.Count{Levels: []int32{1}, Min: 4, Max: 4}},
		"rugged/2-to-3":     {exact.NewRugged(6, 2, 1, 0.5, 1), constraint.Count{Levels: []int32{1}, Min: 2, Max: 3}},
		"rugged/apart":      {exact.NewRugged(8, 2, 1, 0.5, 7), apart},
		"3-levels/modulus":  {exact.NewRugged(4, 3, 1, 0.5, 2), mod},
		"3-levels/mask":     {exact.NewRugged(4, 3, 1, 0.5, 2), both},
		"ordinal/count":     {exact.Ordinal{Rugged: exact.NewRugged(3, 5, 1, 0.5, 3)}, constraint.Count{Levels: []int32{0, 4}, Min: 1, Max: 2}},
		"two-value/exactly": {exact.Ordinal{Rugged: exact.NewRugged(5, 2, 1, 0.5, 4)}, constraint.Count{Levels: []int32{0}, Min: 2, Max: 2}},
		"3-holes/count":     {exact.NewRugged(4, 3, 1, 0.5, 6).Holed(), constraint.Count{Levels: []int32{2}, Min: 1, Max: constraint.Unbounded}},
	}
}

// restricted returns the law of the model given the language.
func restricted(m energy.Model, a constraint.Automaton) []float64 {
	p, _ := exact.Law(m)
	sites, levels := m.Shape()
	total := 0.0
	for k, x := range exact.States(sites, levels) {
		if !constraint.Accepts(a, x) {
			p[k] = 0
		}
		total += p[k]
	}
	for k := range p {
		p[k] /= total
	}
	return p
}

func TestDMALAWithinALanguageIsExact(t *testing.T) {
	exact.SkipUnderRace(t)
	for name, c := range languages(t) {
		t.Run(name, func(t *testing.T) {
			pi := restricted(c.model, c.within)
			sites, levels := c.model.Shape()
			method := DMALA{StepSize: 0.6, Within: c.within}
			p := transition(t, exact.Must(method.Kernel(context.Background(), c.model, 1)), sites, levels)
			assert.LessOrEqual(t, p.RowError(), 1e-12)
			assert.LessOrEqual(t, p.MaxDiff(pi), 1e-12)
			assert.LessOrEqual(t, p.DetailedBalance(pi), 1e-12)
			if testing.Short() && name != "rugged/apart" {
				return
			}
			exact.Transitions(t, sweeptest.Observed(t, c.model, method, 640, 5), p, exact.Rate)
		})
	}
}

// Leaving the normalisers out of the ratio gives another law wherever they
// depend on the state.
func TestForgettingTheNormaliserIsFoundOut(t *testing.T) {
	exact.SkipUnderRace(t)
	apart, err := constraint.Avoids([]int32{1, 1})
	require.NoError(t, err)
	m := exact.NewRugged(6, 2, 1, 0.5, 7)
	pi := restricted(m, apart)
	k := exact.Must(DMALA{StepSize: 0.6, Within: apart}.Kernel(context.Background(), m, 1)).(*hastings)
	all := exact.States(6, 2)
	broken := exact.NewMatrix(len(all), func(x int, dst []float64) {
		if sweeptest.Stuck(k, all[x], x, dst) {
			return
		}
		c := k.proposal.(*confined)
		for y := range dst {
			if y == x || pi[y] == 0 {
				continue
			}
			load(k.proposal, k.next, all[y], all[x])
			forth := k.proposal.current(all[y], all[x], 0)
			back := k.proposal.logProb(all[x], all[y], 0)
			wrong := (back + c.loaded[0].run.LogZ()) - (forth + c.now[0].run.LogZ())
			dst[y] = math.Exp(forth) * min(1, math.Exp(k.e[0]-k.next[0]+wrong))
		}
		sweeptest.Stay(dst, x)
	})
	assert.Greater(t, broken.MaxDiff(pi), 1e-4)
}

func TestDULAWithinALanguageNeverLeaves(t *testing.T) {
	for name, c := range languages(t) {
		if name == "3-holes/count" {
			continue // DULA stops at states without probability
		}
		runs.Run(t, c.model, DULA{StepSize: 0.6, Within: c.within}, sampler.Config{Chains: 40, Warmup: -1, Workers: 1, Observe: func(_, _ int, x []int32, _ *sampler.Info) {
			require.True(t, constraint.Accepts(c.within, x), "%s: %v", name, x)
		}}, 50)
	}
}

func TestInitialStatesAreUniformInTheLanguage(t *testing.T) {
	m := energy.Func{Sites: 6, Levels: 2, E: func(x []int32) float64 { return 3 * float64(x[0]) }}
	up := constraint.Count{Levels: []int32{1}, Min: 2, Max: 2}
	c, err := sampler.NewChains(context.Background(), m, DMALA{Within: up}, sampler.Config{Chains: 6000})
	require.NoError(t, err)
	counts := make([]int, 64)
	exact.Tally(counts, c.States(), 6, 2)
	flat := energy.Func{Sites: 6, Levels: 2, E: func([]int32) float64 { return 0 }}
	exact.Counts(t, counts, restricted(flat, up), exact.Rate)
}

// Fixed sites and a language together: initial states satisfy both.
func TestWithinOnAClampedModel(t *testing.T) {
	m, err := energy.Clamp(exact.NewRugged(6, 2, 1, 0, 1), map[int]int32{0: 1, 3: 0})
	require.NoError(t, err)
	up := constraint.Count{Levels: []int32{1}, Min: 3, Max: 3}
	runs.Run(t, m, DMALA{Within: up}, sampler.Config{Chains: 20, Warmup: 30, Workers: 1, Observe: func(_, _ int, x []int32, _ *sampler.Info) {
		require.True(t, x[0] == 1 && x[3] == 0 && constraint.Accepts(up, x))
	}}, 30)
	_, err = sampler.NewChains(context.Background(), m, DMALA{Within: constraint.Count{Levels: []int32{1}, Min: 6, Max: constraint.Unbounded}}, sampler.Config{})
	assert.ErrorIs(t, err, constraint.ErrInfeasible, "site 3 is fixed at 0")
}

func TestWithinErrors(t *testing.T) {
	m := exact.NewRugged(4, 2, 1, 0, 1)
	_, err := sampler.NewChains(context.Background(), m, DMALA{Within: constraint.Count{Levels: []int32{1}, Min: 5, Max: constraint.Unbounded}}, sampler.Config{})
	assert.ErrorIs(t, err, constraint.ErrInfeasible)
	assert.ErrorContains(t, err, "DMALA: Within")
	_, err = sampler.NewChains(context.Background(), m, DULA{Within: constraint.Any{}, Window: 1}, sampler.Config{})
	assert.ErrorContains(t, err, "Window = 1 with Within")

	up := constraint.Count{Levels: []int32{1}, Min: 2, Max: 2}
	init := make([]int32, 40*4)
	for s := range 40 {
		copy(init[4*s:], []int32{1, 0, 1, 0})
	}
	init[4*37] = 0
	c, err := sampler.NewChains(context.Background(), m, DMALA{Within: up}, sampler.Config{Chains: 40, Init: init})
	require.NoError(t, err)
	err = c.Run(context.Background(), 1)
	var start *sampler.StartError
	require.True(t, errors.As(err, &start))
	assert.Equal(t, 37, start.Chain)
	assert.ErrorContains(t, err, "chain 37: the initial state is not in")
}

func TestWithinAdaptsResumesAndAllocatesNothing(t *testing.T) {
	m := exact.NewQuadratic(9, 1)
	up := constraint.Count{Levels: []int32{1}, Min: 3, Max: 5}
	k := exact.Must(DMALA{Within: up}.Kernel(context.Background(), m, 8))
	x := make([]int32, 8*9)
	info, streams := make([]sampler.Info, 8), make([]sampler.Stream, 8)
	for s := range 8 {
		copy(x[9*s:], []int32{1, 1, 1})
	}
	require.NoError(t, k.Reset(sampler.Control{}, x))
	for range 50 {
		k.Step(sampler.Control{}, info, x, streams) // the trellis grows its scratch
	}
	if !exact.Race {
		assert.Zero(t, testing.AllocsPerRun(50, func() { k.Step(sampler.Control{}, info, x, streams) }))
	}
	runs.Resume(t, m, DMALA{Within: up})
}
