package anneal

import (
	"context"
	"math"
	"math/bits"
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

func minimum(m energy.Model) float64 {
	sites, levels := m.Shape()
	best, e := math.Inf(1), make([]float64, 1)
	for _, x := range exact.States(sites, levels) {
		m.Energy(e, x)
		best = min(best, e[0])
	}
	return best
}

func TestAnnealFindsTheMinimum(t *testing.T) {
	exact.SkipUnderRace(t)
	models := exact.Library(t)
	models["rugged"] = exact.NewRugged(6, 3, 2, 0.5, 8)
	models["holes"] = exact.NewRugged(9, 2, 2, 0.5, 8).Holed()
	for name, m := range models {
		for _, method := range []sampler.Method{mcmc.Metropolis{}, mcmc.Gibbs{}, mcmc.DMALA{StepSize: 0.5}, mcmc.GWG{}} {
			cfg := Config{Chains: 40, Seed: 1, Stages: 20}
			if name == "holes" {
				cfg.Init = feasible(m)
			}
			a, err := New(context.Background(), m, method, cfg)
			require.NoError(t, err)
			require.NoError(t, a.Run(context.Background(), 200), "%s %T", name, method)
			x, e := a.Best()
			got := make([]float64, 1)
			m.Energy(got, x)
			assert.Equal(t, got[0], e, "Best returns a state with the energy it names")
			assert.Equal(t, minimum(m), e, "%s %T", name, method)
		}
	}
}

func feasible(m energy.Model) []int32 {
	sites, levels := m.Shape()
	e := make([]float64, 1)
	for _, x := range exact.States(sites, levels) {
		if m.Energy(e, x); !math.IsInf(e[0], 1) {
			return x
		}
	}
	return nil
}

func TestAnnealDoesNotDependOnWorkers(t *testing.T) {
	m := exact.NewQuadratic(12, 4)
	var want []float64
	for _, workers := range []int{1, 2, 7} {
		a, err := New(context.Background(), m, mcmc.Metropolis{}, Config{Chains: 70, Seed: 5, Workers: workers, Schedule: Linear(0.1, 0.4), Stages: 7})
		require.NoError(t, err)
		require.NoError(t, a.Run(context.Background(), 20))
		got := append([]float64{float64(runs.Hash(a.x))}, a.Energies()...)
		if want == nil {
			want = got
		}
		assert.Equal(t, want, got)
	}
}

func TestAnnealKeepsItsBestWhenStopped(t *testing.T) {
	m := exact.NewQuadratic(12, 4)
	ctx, cancel := context.WithCancel(context.Background())
	a, err := New(context.Background(), m, mcmc.Metropolis{}, Config{Progress: func(done, total int) {
		if done >= total/2 {
			cancel()
		}
	}})
	require.NoError(t, err)
	start := append([]float64(nil), a.Energies()...)
	require.ErrorIs(t, a.Run(ctx, 400), context.Canceled)
	_, e := a.Best()
	assert.Less(t, e, start[0])
	assert.ErrorContains(t, a.Run(context.Background(), 400), "n = 400, want ≤ 200, what is left of a pass of 400 steps that has stopped at stage 100")
	assert.NoError(t, a.Run(context.Background(), 10), "some of what is left")
	assert.Equal(t, 210, a.Len())
	a.Reset()
	assert.NoError(t, a.Run(context.Background(), 10), "a stopped run can be given up")
}

func TestAnnealErrors(t *testing.T) {
	m := exact.NewQuadratic(4, 1)
	_, err := New(context.Background(), m, mcmc.Gibbs{}, Config{Stages: -1})
	assert.ErrorContains(t, err, "Stages = -1")
	_, err = New(context.Background(), m, mcmc.Gibbs{Scan: 9}, Config{})
	assert.ErrorContains(t, err, "Scan(9)")
	_, err = New(context.Background(), exact.Pocked(math.Inf(1)), mcmc.Gibbs{}, Config{Init: []int32{1, 1, 1, 0, 0}})
	var start *sampler.StartError
	assert.ErrorAs(t, err, &start)
	a, err := New(context.Background(), m, mcmc.Gibbs{}, Config{Schedule: func(float64) float64 { return math.NaN() }})
	require.NoError(t, err)
	assert.ErrorContains(t, a.Run(context.Background(), 10), "schedule")
	assert.ErrorContains(t, a.Run(context.Background(), -1), "n = -1")
}

func TestCooling(t *testing.T) {
	// Differences of a free spin in field h are ±2h.
	m, err := model.NewIsing(model.FreeLattice{6}, 0, 1.5)
	require.NoError(t, err)
	from, to, err := Cooling(m, 1)
	require.NoError(t, err)
	assert.InDelta(t, math.Log(2)/3, from, 1e-12)
	assert.InDelta(t, math.Log(600)/3, to, 1e-12)
	flat := energy.Func{Sites: 3, Levels: 2, E: func([]int32) float64 { return 7 }}
	from, to, err = Cooling(flat, 1)
	require.NoError(t, err)
	assert.Equal(t, []float64{1, 1}, []float64{from, to})
	_, _, err = Cooling(nil, 1)
	assert.ErrorContains(t, err, "model = nil")
}

// Independent sets of the graph of binary words that differ in fewer than four of eight places:
// a random set has dozens of conflicts per node, and a good one gains or loses single nodes.
func TestCoolingUnderPenalties(t *testing.T) {
	exact.SkipUnderRace(t)
	var q []model.Edge
	for i := range 256 {
		q = append(q, model.Edge{I: i, J: i, W: -1})
		for j := range i {
			if bits.OnesCount(uint(i^j)) < 4 {
				q = append(q, model.Edge{I: i, J: j, W: 10})
			}
		}
	}
	m, err := model.NewQuadratic(256, q, model.Polynomial{})
	require.NoError(t, err)
	_, to, err := Cooling(m, 1)
	require.NoError(t, err)
	assert.InDelta(t, math.Log(25600), to, 1e-9)
	a, err := New(t.Context(), m, mcmc.Metropolis{}, Config{Seed: 1, Workers: 1})
	require.NoError(t, err)
	require.NoError(t, a.Run(t.Context(), 500))
	_, e := a.Best()
	assert.Equal(t, -16.0, e, "A(8,4) = 16")
}

// At the end of the default schedule hardly any of 1024 free spins in a field is
// excited: none in 24 of 25 runs of 4 chains, of which this is one. Where each still
// was with probability 1 %, some forty were.
func TestCoolingEndsCold(t *testing.T) {
	m, err := model.NewIsing(model.FreeLattice{1024}, 0, 1)
	require.NoError(t, err)
	a, err := New(context.Background(), m, mcmc.Metropolis{}, Config{Seed: 1})
	require.NoError(t, err)
	require.NoError(t, a.Run(context.Background(), 200))
	for i, x := range a.chains.States() {
		require.Equal(t, int32(1), x, "spin %d of chain %d", i%1024, i/1024)
	}
}

func TestSchedules(t *testing.T) {
	for i, want := range []float64{0.1, 1, 10} {
		assert.InDelta(t, want, Geometric(0.1, 10)(float64(i)/2), 1e-12)
	}
	assert.InDelta(t, 3.5, Linear(2, 5)(0.5), 1e-12)
}
