package ground

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// glass is a spin glass on a torus: weights ±1, or normal ones if real.
func glass(side int, real bool, seed uint64) *model.Ising {
	r := rand.New(rand.NewPCG(seed, 1))
	var edges []model.Edge
	for i := range side * side {
		for _, j := range []int{i/side*side + (i+1)%side, (i + side) % (side * side)} {
			w := float64(2*r.IntN(2) - 1)
			if real {
				w = r.NormFloat64()
			}
			edges = append(edges, model.Edge{I: i, J: j, W: w})
		}
	}
	return exact.Must(model.NewIsing(exact.Must(model.NewGraph(side*side, edges)), 1, 0))
}

// hidden is a glass whose ground state is known: the sign of every weight w ≥ 1
// fits a random state. Its energy is −Σ|w|.
func hidden(side int, real bool) (m *model.Ising, least float64) {
	r := rand.New(rand.NewPCG(9, 9))
	s := make([]float64, side*side)
	for i := range s {
		s[i] = float64(2*r.IntN(2) - 1)
	}
	var edges []model.Edge
	for i := range s {
		for _, j := range []int{i/side*side + (i+1)%side, (i + side) % len(s)} {
			w := 1.0
			if real {
				w += r.ExpFloat64()
			}
			edges = append(edges, model.Edge{I: i, J: j, W: w * s[i] * s[j]})
			least -= w
		}
	}
	return exact.Must(model.NewIsing(exact.Must(model.NewGraph(len(s), edges)), 1, 0)), least
}

func smallest(m energy.Model) float64 {
	sites, levels := m.Shape()
	least, e := math.Inf(1), make([]float64, 1)
	for _, x := range exact.States(sites, levels) {
		m.Energy(e, x)
		least = min(least, e[0])
	}
	return least
}

func dense(n int) *model.Quadratic {
	r := rand.New(rand.NewPCG(5, 5))
	q := make([]float64, n*n)
	for i := range q {
		q[i] = r.NormFloat64()
	}
	return exact.Must(model.NewDenseQuadratic(n, q, model.Polynomial{Values: []float32{-1, 1}}))
}

func models(t *testing.T) map[string]energy.Model {
	lib := exact.Library(t)
	sparse := exact.Must(model.NewQuadratic(5, []model.Edge{{I: 0, J: 1, W: 2}, {I: 3, J: 1, W: -3}, {I: 2, J: 2, W: -1}, {I: 4, J: 3, W: 1}}, model.Polynomial{}))
	return map[string]energy.Model{
		"lattice": lib["ising"], "weights": lib["glass"], "dense": dense(9), "QUBO": sparse,
		"scaled": exact.Must(energy.Scale(sparse, 0.3)), "nothing": exact.Must(energy.Scale(sparse, 0)),
		"glass": glass(3, false, 1), "real glass": glass(3, true, 1), "huge": exact.Must(energy.Scale(dense(6), 1e300)), "tiny": exact.Must(energy.Scale(dense(6), 1e-300)),
		"one": exact.Must(model.NewIsing(model.FreeLattice{1}, 0, 2)),
	}
}

func TestFindsTheMinimum(t *testing.T) {
	for name, m := range models(t) {
		for _, chains := range []int{1, 3} {
			s, err := New(m, Config{Chains: chains, Sweeps: 3, Seed: 2})
			require.NoError(t, err, name)
			require.NoError(t, s.Run(context.Background(), 60))
			assert.Equal(t, 60, s.Len())
			x, e := s.Best()
			got := make([]float64, 1)
			m.Energy(got, x)
			assert.Equal(t, got[0], e, "%s: the energy of the state", name)
			assert.InEpsilon(t, smallest(m)-1e-300, e-1e-300, 1e-12, name)
		}
	}
}

// Domain walls of hidden ferromagnets of 900 spins are straightened out.
func TestFindsHiddenStates(t *testing.T) {
	for _, real := range []bool{false, true} {
		m, least := hidden(30, real)
		s := exact.Must(New(m, Config{Seed: 1, Stop: func(e float64) bool { return e <= least+1e-9 }}))
		require.NoError(t, s.Run(context.Background(), 200))
		_, e := s.Best()
		assert.InDelta(t, least, e, 1e-9)
		assert.Less(t, s.Len(), 200, "Stop ends the run")
	}
}

// What has been found at any interruption, saved and loaded then, is what is found in
// one piece, by any number of workers.
func TestStopsAndGoesOn(t *testing.T) {
	oldChunk, oldWork := chunk, pollWork
	defer func() { chunk, pollWork = oldChunk, oldWork }()
	for name, m := range map[string]energy.Model{"integers": glass(6, false, 3), "reals": glass(6, true, 3), "reduced": web(60, 2.5, 3, (*rand.Rand).NormFloat64)} {
		chunk, pollWork = oldChunk, oldWork
		whole := exact.Must(New(m, Config{Seed: 7, Sweeps: 5, Workers: 3}))
		require.NoError(t, whole.Run(context.Background(), 12))
		var want bytes.Buffer
		require.NoError(t, whole.Save(&want))

		chunk, pollWork = 5, 11
		pieces := exact.Must(New(m, Config{Seed: 7, Sweeps: 5, Workers: 1}))
		stops := 0
		for asked := 1; pieces.Len() < 12; asked++ {
			ctx := &countdown{Context: context.Background()}
			ctx.left.Store(int64(1 + asked%29))
			if err := pieces.Run(ctx, 12-pieces.Len()); err != nil {
				require.ErrorIs(t, err, context.Canceled)
				stops++
			}
			var file bytes.Buffer
			require.NoError(t, pieces.Save(&file))
			pieces = exact.Must(New(m, Config{Seed: 99, Sweeps: 5, Workers: 2}))
			require.NoError(t, pieces.Load(context.Background(), &file), name)
		}
		assert.Greater(t, stops, 50, "the test shows something")
		var got bytes.Buffer
		require.NoError(t, pieces.Save(&got))
		assert.Equal(t, want.Bytes(), got.Bytes(), name)
		assert.Equal(t, whole.Energies(), pieces.Energies())
	}
}

// countdown is a context that ends after it was asked so many times.
type countdown struct {
	context.Context
	left atomic.Int64
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

func TestRoundsGrow(t *testing.T) {
	s := exact.Must(New(glass(3, false, 1), Config{Sweeps: 10}))
	for k, want := range []int{10, 20, 10, 40, 10, 20, 10, 80} {
		s.rounds = k
		assert.Equal(t, want, s.sweeps())
	}
	s.rounds = 1<<20 - 1
	assert.Equal(t, 10<<10, s.sweeps())
}

func TestRefuses(t *testing.T) {
	m := glass(3, false, 1)
	for want, cfg := range map[string]Config{
		"Config.Chains = -1, want ≥ 0":           {Chains: -1},
		"Config.Workers = -2":                    {Workers: -2},
		"Config.Sweeps = 2000000, want ≤ 104857": {Sweeps: 2000000},
		"Config.Checkpoint.Every = -1": {Checkpoint: struct {
			Path  string
			Every int
		}{Every: -1}},
		"len(Config.Init) = 5, want 9 (one state) or 18": {Chains: 2, Init: make([]int32, 5)},
		"Config.Init[3] = 2, want 0 or 1":                {Init: []int32{0, 0, 0, 2, 0, 0, 0, 0, 0}},
	} {
		_, err := New(m, cfg)
		assert.ErrorContains(t, err, want)
	}
	_, err := New(nil, Config{})
	assert.ErrorContains(t, err, "model = nil")
	_, err = New(exact.Must(model.NewPotts(model.Lattice{3}, 3, 1, nil)), Config{})
	assert.ErrorContains(t, err, "*model.Potts, want one of pairs")
	_, err = New(exact.Must(model.NewIsing(model.FreeLattice{2}, 0, 3e307)), Config{})
	assert.ErrorContains(t, err, "want a finite number")
	s := exact.Must(New(m, Config{}))
	var none context.Context
	assert.ErrorContains(t, s.Run(none, 1), "ctx = nil")
	assert.ErrorContains(t, s.Run(context.Background(), -1), "n = -1")
	s.rounds = 5
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	assert.ErrorIs(t, s.Run(ended, math.MaxInt), context.Canceled, "a number of rounds beyond an int is none at all")
	assert.ErrorContains(t, s.Save(nil), "w = nil")
	assert.ErrorContains(t, s.Load(context.Background(), nil), "r = nil")
	var inside error
	s = exact.Must(New(m, Config{Progress: func(int, int) { inside = s.Run(context.Background(), 1) }}))
	require.NoError(t, s.Run(context.Background(), 1))
	assert.ErrorContains(t, inside, "another call of this run is under way")
}

func TestFiles(t *testing.T) {
	m := glass(4, false, 1)
	path := t.TempDir() + "/run"
	cfg := Config{Seed: 3}
	cfg.Checkpoint.Path, cfg.Checkpoint.Every = path, 2
	s := exact.Must(New(m, cfg))
	require.NoError(t, s.Run(context.Background(), 5))
	again := exact.Must(New(m, cfg))
	require.NoError(t, again.LoadFile(context.Background(), path))
	assert.Equal(t, 5, again.Len())
	other := exact.Must(New(m, Config{Chains: 5}))
	assert.ErrorContains(t, other.LoadFile(context.Background(), path), "Config.Chains")
	other = exact.Must(New(glass(4, false, 2), Config{}))
	assert.ErrorContains(t, other.LoadFile(context.Background(), path), "settings differ")
	var file bytes.Buffer
	require.NoError(t, s.Save(&file))
	for _, at := range []int{20, file.Len() / 2, file.Len() - 9} {
		damaged := bytes.Clone(file.Bytes())
		damaged[at] ^= 4
		before := again.Energies()
		assert.Error(t, again.Load(context.Background(), bytes.NewReader(damaged)))
		assert.Error(t, again.Load(context.Background(), bytes.NewReader(damaged[:at])))
		assert.Equal(t, before, again.Energies())
	}
	assert.ErrorContains(t, s.Save(failing{}), "full")
	cfg.Checkpoint.Path = t.TempDir() + "/none/run"
	s = exact.Must(New(m, cfg))
	assert.Error(t, s.Run(context.Background(), 5))
	require.NoError(t, s.SaveFile(path))
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestRoundsAllocateNothing(t *testing.T) {
	if exact.Race {
		t.Skip("allocations differ under the race detector")
	}
	for _, real := range []bool{false, true} {
		s := exact.Must(New(glass(8, real, 1), Config{Chains: 2}))
		require.NoError(t, s.Run(context.Background(), 20))
		assert.Zero(t, testing.AllocsPerRun(20, func() { s.seekers[0].round(nil, 8, false) }))
	}
}
