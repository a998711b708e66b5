package anneal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/session"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// stopping is a model that ends a context at its nth evaluation.
type stopping struct {
	*model.Ising
	left *atomic.Int64
	stop *context.CancelFunc
}

func (s stopping) Energy(e []float64, x []int32) {
	if s.left.Add(-1) == 0 {
		(*s.stop)()
	}
	s.Ising.Energy(e, x)
}

// resumable is a run of this package that goes on to its end.
type resumable struct {
	save func(io.Writer) error
	load func(context.Context, io.Reader) error
	run  func(context.Context) (any, error)
}

type annealed struct {
	x []int32
	e []float64
}

func resumables(m energy.Model, workers int) map[string]func() resumable {
	return map[string]func() resumable{
		"anneal": func() resumable {
			a := exact.Must(New(context.Background(), m, mcmc.DMALA{StepSize: 0.4}, Config{Chains: 36, Seed: 5, Workers: workers, Stages: 7}))
			return resumable{a.Save, a.Load, func(ctx context.Context) (any, error) {
				err := a.Run(ctx, 40-a.Len())
				return annealed{append([]int32(nil), a.x...), append([]float64(nil), a.e...)}, err
			}}
		},
		"ais": func() resumable {
			a := exact.Must(NewAIS(m, mcmc.Gibbs{}, AISConfig{Chains: 70, Seed: 5, Workers: workers, Stages: 9, Moves: 2}))
			return resumable{a.Save, a.Load, func(ctx context.Context) (any, error) { return a.Run(ctx) }}
		},
		"populations": func() resumable {
			a := exact.Must(NewAIS(m, mcmc.Metropolis{}, AISConfig{Population: 40, Chains: 120, Seed: 5, Workers: workers, Stages: 9}))
			return resumable{a.Save, a.Load, func(ctx context.Context) (any, error) { return a.Run(ctx) }}
		},
		"stones": func() resumable {
			a := exact.Must(NewSteppingStone(m, mcmc.DMALA{}, SteppingStoneConfig{Chains: 34, Seed: 5, Workers: workers, Stages: 4, Warmup: 9, Draws: 12}))
			return resumable{a.Save, a.Load, func(ctx context.Context) (any, error) { return a.Run(ctx) }}
		},
	}
}

// A run that stops anywhere and goes on from its checkpoint in a new runner, with
// another number of workers, ends with the bits of one that does not stop.
func TestRunsResume(t *testing.T) {
	ising := exact.Must(model.NewIsing(model.Lattice{3, 3}, 0.3, 0.1))
	var left atomic.Int64
	stop := context.CancelFunc(func() {})
	m := stopping{ising, &left, &stop}
	for name, begin := range resumables(m, 2) {
		left.Store(0)
		want, err := begin().run(context.Background())
		require.NoError(t, err)
		total := -left.Load()
		require.Greater(t, total, int64(20), name)
		stops := 0
		for at := int64(1); at < total; at += 1 + total/23 {
			ctx, cancel := context.WithCancel(context.Background())
			stop = cancel
			r := begin()
			left.Store(at)
			got, err := r.run(ctx)
			left.Store(0)
			if errors.Is(err, context.Canceled) {
				stops++
				var file bytes.Buffer
				require.NoError(t, r.save(&file))
				fresh := resumables(ising, 1)[name]()
				if name == "anneal" { // the checkpoint knows the wrapper by its energies alone
					fresh = resumables(m, 1)[name]()
				}
				require.NoError(t, fresh.load(context.Background(), &file), "%s stopped at evaluation %d", name, at)
				got, err = fresh.run(context.Background())
				require.NoError(t, err)
				here, err := r.run(context.Background())
				require.NoError(t, err)
				assert.Equal(t, want, here, "%s went on in place", name)
			}
			require.NoError(t, err)
			assert.Equal(t, want, got, "%s stopped at evaluation %d", name, at)
		}
		assert.Greater(t, stops, 5, name)
	}
}

// Checkpoint files appear while a run goes on, and a run that finds one at any
// time ends with the same bits.
func TestCheckpointFiles(t *testing.T) {
	m := exact.Must(model.NewIsing(model.Lattice{3, 3}, 0.3, 0.1))
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "run")
	seen := map[string]int{}
	watch := func(name string, load func(context.Context, string) error, at func() int) {
		t.Helper()
		require.NoError(t, load(context.Background(), path))
		seen[name] = at()
		require.NoError(t, os.Remove(path))
		require.NoError(t, load(context.Background(), path), "the generation before")
		assert.Less(t, at(), seen[name], name)
		require.NoError(t, os.Remove(path+".old"))
	}
	{
		cfg := AISConfig{Chains: 40, Stages: 9}
		want := exact.Must(AIS(ctx, m, mcmc.Gibbs{}, cfg))
		cfg.Checkpoint.Path, cfg.Checkpoint.Every = path, 2
		assert.Equal(t, want, exact.Must(AIS(ctx, m, mcmc.Gibbs{}, cfg)))
		again := exact.Must(NewAIS(m, mcmc.Gibbs{}, AISConfig{Chains: 40, Stages: 9}))
		watch("ais", again.LoadFile, again.Stage)
		assert.Equal(t, 8, again.Stage())
		assert.Equal(t, want, exact.Must(again.Run(ctx)))
	}
	{
		cfg := SteppingStoneConfig{Chains: 4, Stages: 3, Draws: 10, Warmup: 5}
		want := exact.Must(SteppingStone(ctx, m, mcmc.DMALA{}, cfg))
		cfg.Checkpoint.Path, cfg.Checkpoint.Every = path, 4
		assert.Equal(t, want, exact.Must(SteppingStone(ctx, m, mcmc.DMALA{}, cfg)))
		again := exact.Must(NewSteppingStone(m, mcmc.DMALA{}, SteppingStoneConfig{Chains: 4, Stages: 3, Draws: 10, Warmup: 5}))
		watch("stones", again.LoadFile, again.made)
		assert.Equal(t, 26, again.made())
		assert.Equal(t, want, exact.Must(again.Run(ctx)))
	}
	{
		cfg := Config{Stages: 5}
		a := exact.Must(New(context.Background(), m, mcmc.Metropolis{}, cfg))
		require.NoError(t, a.Run(ctx, 50))
		cfg.Checkpoint.Path, cfg.Checkpoint.Every = path, 12
		b := exact.Must(New(context.Background(), m, mcmc.Metropolis{}, cfg))
		require.NoError(t, b.Run(ctx, 50))
		c := exact.Must(New(context.Background(), m, mcmc.Metropolis{}, Config{Stages: 5}))
		watch("anneal", c.LoadFile, func() int { return c.chains.Len() })
		assert.Equal(t, 48, c.chains.Len())
		assert.ErrorContains(t, c.Run(ctx, 3), "n = 3, want ≤ 2, what is left of a pass of 50 steps")
		require.NoError(t, c.Run(ctx, 2))
		assert.Equal(t, a.x, c.x)
		assert.Equal(t, a.chains.States(), c.chains.States())
	}
	nowhere := AISConfig{}
	nowhere.Checkpoint.Path = filepath.Join(path, "no", "folder")
	_, err := AIS(ctx, m, mcmc.Gibbs{}, nowhere)
	assert.ErrorContains(t, err, "Run: Config.Checkpoint: ", "a file that cannot be written ends the run")
}

// Parts of a run have the bits of the whole, and their results make up its own.
func TestPartsOfARun(t *testing.T) {
	m := exact.NewRugged(4, 3, 1, 0.5, 6).Holed()
	ctx := context.Background()
	size := session.Block(100)
	whole := exact.Must(AIS(ctx, m, mcmc.Metropolis{}, AISConfig{Chains: 100, Stages: 8}))
	stones := SteppingStoneConfig{Chains: 100, Stages: 3, Warmup: 5, Draws: 8}
	wantStones := exact.Must(SteppingStone(ctx, m, mcmc.Metropolis{}, stones))
	var weights []*AISResult
	var parts []*SteppingStoneRunner
	for first := 0; first < 100; first += 2 * size {
		count := min(2*size, 100-first)
		p := exact.Must(AIS(ctx, m, mcmc.Metropolis{}, AISConfig{Chains: 100, Stages: 8, First: first, Count: count}))
		assert.Equal(t, whole.LogWeights[first:first+count], p.LogWeights)
		assert.Equal(t, whole.States[4*first:4*(first+count)], p.States)
		weights = append(weights, p)

		stones.First, stones.Count = first, count
		s := exact.Must(NewSteppingStone(m, mcmc.Metropolis{}, stones))
		_, err := parts0(parts).Join(append(parts, s)[1:]...)
		assert.ErrorContains(t, err, "has finished 0 of 3 stages")
		exact.Must(s.Run(ctx))
		parts = append(parts, s)
	}
	all, err := weights[0].Join(weights[1:]...)
	require.NoError(t, err)
	assert.Equal(t, whole.LogZ, all.LogZ)
	assert.Equal(t, whole.ESS, all.ESS)
	assert.Equal(t, whole.LogWeights, all.LogWeights)
	assert.Equal(t, whole.States, all.States)
	assert.Equal(t, whole, exact.Must(whole.Join()))
	assert.Equal(t, wantStones, exact.Must(parts[0].Join(parts[1:]...)))

	for want, join := range map[string]func() (*AISResult, error){
		"the parts end with chain":   func() (*AISResult, error) { return weights[0].Join() },
		"part 0 begins with chain":   func() (*AISResult, error) { return weights[1].Join(weights[0]) },
		"part 1 begins with chain 0": func() (*AISResult, error) { return weights[0].Join(weights...) },
		"part 1 = nil":               func() (*AISResult, error) { return weights[0].Join(nil) },
		"AISConfig.Seed is 0 in the chec": func() (*AISResult, error) {
			return weights[0].Join(exact.Must(AIS(ctx, m, mcmc.Metropolis{}, AISConfig{Chains: 100, Stages: 8, Seed: 1, First: 2 * size})))
		},
		"part 1 is no part of a run": func() (*AISResult, error) {
			fake := *weights[1]
			fake.run.settings = nil
			return weights[0].Join(&fake)
		},
	} {
		_, err := join()
		assert.ErrorContains(t, err, want)
	}
	for want, cfg := range map[string]AISConfig{
		"AISConfig.First = -1, want 0 … 99 (":         {First: -1},
		"AISConfig.First = 100, want 0 … 99 (":        {First: 100},
		"AISConfig.First = 1, want a multiple of th":  {First: 1},
		"AISConfig.Count = 101 from chain 0 on, want": {Count: 101},
		"AISConfig.Count = 1, want a multiple of th":  {Count: 1},
	} {
		cfg.Chains = 100
		_, err := NewAIS(m, mcmc.Gibbs{}, cfg)
		assert.ErrorContains(t, err, want)
	}
}

func parts0(p []*SteppingStoneRunner) *SteppingStoneRunner {
	if len(p) > 0 {
		return p[0]
	}
	return exact.Must(NewSteppingStone(exact.NewQuadratic(3, 1), mcmc.Gibbs{}, SteppingStoneConfig{Stages: 3}))
}

// Parts of an annealing find what their chains find in the whole.
func TestPartsOfAnnealing(t *testing.T) {
	m := exact.NewQuadratic(12, 4)
	ctx := context.Background()
	cfg := Config{Chains: 70, Stages: 5, Seed: 2}
	whole := exact.Must(New(context.Background(), m, mcmc.Metropolis{}, cfg))
	require.NoError(t, whole.Run(ctx, 20))
	var e []float64
	var x []int32
	for k := range 3 {
		a := exact.Must(New(context.Background(), m, mcmc.Metropolis{}, exact.Must(cfg.Part(k, 3))))
		require.NoError(t, a.Run(ctx, 20))
		e, x = append(e, a.e...), append(x, a.x...)
	}
	assert.Equal(t, whole.e, e)
	assert.Equal(t, whole.x, x)
	_, err := cfg.Part(3, 3)
	assert.Error(t, err)
	ais, stones := exact.Must(AISConfig{}.Part(1, 2)), exact.Must(SteppingStoneConfig{}.Part(0, 1))
	assert.Equal(t, [4]int{64, 32, 32, 8}, [4]int{ais.Chains, ais.First, ais.Count, stones.Count})
}

// A part whose chains all begin at states of probability zero is no error: the
// whole run may have others.
func TestDeadPart(t *testing.T) {
	// One state in eight has probability: some blocks of few chains have none.
	holes := energy.Func{Sites: 9, Levels: 2, E: func(x []int32) float64 {
		if x[0]+x[1]+x[2]+x[3]+x[4]+x[5]+x[6] > 0 {
			return math.Inf(1)
		}
		return float64(x[7])
	}}
	ctx := context.Background()
	size := session.Block(128)
	dead := 0
	var parts []*AISResult
	for first := 0; first < 128; first += size {
		p := exact.Must(AIS(ctx, holes, mcmc.Metropolis{}, AISConfig{Chains: 128, Stages: 4, First: first, Count: size}))
		if math.IsInf(p.Value, -1) {
			assert.Zero(t, p.ESS)
			dead++
		}
		parts = append(parts, p)
	}
	require.Positive(t, dead)
	require.Less(t, dead, len(parts))
	whole := exact.Must(AIS(ctx, holes, mcmc.Metropolis{}, AISConfig{Chains: 128, Stages: 4}))
	assert.Equal(t, whole.LogZ, exact.Must(parts[0].Join(parts[1:]...)).LogZ)
}

// Two runs at a time are refused, and the first goes on unharmed.
func TestOneRunAtATime(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	var armed atomic.Bool
	waiting := func(x []int32) float64 {
		if armed.CompareAndSwap(true, false) {
			close(entered)
			<-release
		}
		return float64(x[0])
	}
	m := energy.Func{Sites: 3, Levels: 2, E: waiting}
	for name, begin := range resumables(m, 2) {
		entered, release = make(chan struct{}), make(chan struct{})
		r := begin()
		done := make(chan error)
		armed.Store(true)
		go func() { _, err := r.run(context.Background()); done <- err }()
		<-entered
		_, err := r.run(context.Background())
		assert.ErrorContains(t, err, "another call of this run is under way, want one at a time", name)
		close(release)
		require.NoError(t, <-done)

		var none context.Context
		_, err = r.run(none)
		assert.ErrorContains(t, err, "ctx = nil", name)
	}
}

// A panic in the model leaves a run that can go on to the same bits.
func TestPanicsLeaveRunsUsable(t *testing.T) {
	ising := exact.Must(model.NewIsing(model.Lattice{3, 3}, 0.3, 0.1))
	var left atomic.Int64
	stop := context.CancelFunc(func() { panic("in the model") })
	m := stopping{ising, &left, &stop}
	begin := resumables(m, 2)["ais"]
	want := exact.Must(begin().run(context.Background()))
	r := begin()
	left.Store(9)
	assert.Panics(t, func() { _, _ = r.run(context.Background()) })
	assert.Equal(t, want, exact.Must(r.run(context.Background())))
}

// What is loaded is in the domain of the model.
func TestLoadChecksTokens(t *testing.T) {
	m := exact.NewQuadratic(4, 1)
	a := exact.Must(NewAIS(m, mcmc.Gibbs{}, AISConfig{}))
	a.x[3] = 2
	var file bytes.Buffer
	require.NoError(t, a.Save(&file))
	b := exact.Must(NewAIS(m, mcmc.Gibbs{}, AISConfig{}))
	assert.ErrorContains(t, b.Load(context.Background(), &file), "token 3 = 2, want 0 … 1")
	assert.ErrorContains(t, b.Load(context.Background(), nil), "Load: r = nil")
	assert.ErrorContains(t, b.Save(nil), "Save: w = nil")
}

// Annealing within a language loads only what is in it.
func TestAnnealLoadsWithinItsLanguage(t *testing.T) {
	m := exact.NewQuadratic(6, 1)
	within := constraint.Count{Levels: []int32{1}, Min: 3, Max: 3}
	a := exact.Must(New(context.Background(), m, mcmc.PairGibbs{Within: within}, Config{Init: []int32{1, 1, 1, 0, 0, 0}, Stages: 3}))
	require.NoError(t, a.Run(context.Background(), 10))
	var file bytes.Buffer
	require.NoError(t, a.Save(&file))
	other := exact.Must(New(context.Background(), m, mcmc.PairGibbs{Within: constraint.Count{Levels: []int32{1}, Min: 2, Max: 3}}, Config{Init: []int32{1, 1, 1, 0, 0, 0}, Stages: 3}))
	assert.ErrorContains(t, other.Load(context.Background(), bytes.NewReader(file.Bytes())), "pair-gibbs.Within")
	a.chains.States()[0] = 1 - a.chains.States()[0]
	file.Reset()
	require.NoError(t, a.Save(&file))
	fresh := exact.Must(New(context.Background(), m, mcmc.PairGibbs{Within: within}, Config{Init: []int32{1, 1, 1, 0, 0, 0}, Stages: 3}))
	var start *sampler.StartError
	assert.ErrorAs(t, fresh.Load(context.Background(), &file), &start)
}

// The estimates have the same bits on every processor.
func TestAISGoldenBits(t *testing.T) {
	m := exact.Must(model.NewIsing(model.Lattice{3, 3}, 0.3, 0.1))
	res := exact.Must(AIS(context.Background(), m, mcmc.Gibbs{Scan: mcmc.Systematic}, AISConfig{Chains: 100, Seed: 2, Stages: 12}))
	assert.Equal(t, []float64{7.5010558445050775, 0.07778118138917939, 62.54138263021726}, []float64{res.Value, res.StdErr, res.ESS})
	z := exact.Must(SteppingStone(context.Background(), m, mcmc.Gibbs{Scan: mcmc.Systematic}, SteppingStoneConfig{Chains: 3, Stages: 3, Warmup: 3, Draws: 10}))
	assert.Equal(t, 7.325604102752722, z.Value)
}
