package sampler

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
)

// hashed digests states, so that runs can be compared and kept as a line.
func hashed(x []int32) uint64 {
	b := make([]byte, 4*len(x))
	for i, l := range x {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(l))
	}
	return crc64.Checksum(b, crc64.MakeTable(crc64.ECMA))
}

// everyMethod lists a setting of each method that fits two-level models.
func everyMethod() []Method {
	return []Method{
		DULA{}, DMALA{}, DMALA{StepSize: 1}, Gibbs{}, Gibbs{Scan: Random}, Metropolis{}, GWG{}, GWG{Flips: 3}, BlockGibbs{Blocks: [][]int{{0, 1, 2}, {3, 4}}},
		LocallyBalanced{Balance: Barker}, LocallyBalanced{Balance: Min, Exact: true},
		HammingBall{Block: 3}, Paths{}, Paths{Length: 2, Balance: Min},
		DLMC{}, DLMC{StepSize: 0.5, Balance: Max}, Cyclical{}, Cyclical{StepSize: 2, Period: 5},
		Tempering{Rungs: 3}, Tempering{Base: Gibbs{}, Betas: []float64{1, 0.5}},
	}
}

func run(t *testing.T, m energy.Model, method Method, cfg Config, n int) *Chains {
	t.Helper()
	c, err := NewChains(m, method, cfg)
	require.NoError(t, err)
	require.NoError(t, c.Run(context.Background(), n))
	return c
}

func TestResultsDoNotDependOnWorkers(t *testing.T) {
	m := newQuadratic(9, 1)
	for _, method := range everyMethod() {
		want := hashed(run(t, m, method, Config{Chains: 100, Seed: 3, Warmup: 20, Workers: 1}, 30).x)
		for _, workers := range []int{2, 7} {
			for _, procs := range []int{1, 2} {
				was := runtime.GOMAXPROCS(procs)
				got := hashed(run(t, m, method, Config{Chains: 100, Seed: 3, Warmup: 20, Workers: workers}, 30).x)
				runtime.GOMAXPROCS(was)
				assert.Equal(t, want, got, "%T, %d workers, GOMAXPROCS %d", method, workers, procs)
			}
		}
		other := hashed(run(t, m, method, Config{Chains: 100, Seed: 4, Warmup: 20}, 30).x)
		assert.NotEqual(t, want, other)
	}
}

// TestTrajectoryGolden keeps the promise that a seed gives the same states in
// every release, on every machine and instruction set.
func TestTrajectoryGolden(t *testing.T) {
	ising, err := energy.NewIsing(energy.Lattice{5, 5}, 0.2, 0.2)
	require.NoError(t, err)
	three := newRugged(4, 3, 1, 0.5, 2)
	var b strings.Builder
	for _, m := range []energy.Model{ising, three} {
		for n, method := range everyMethod() {
			if g, ok := method.(GWG); ok && g.Flips > 1 && m == energy.Model(three) {
				continue
			}
			if g, ok := method.(BlockGibbs); ok && g.Blocks != nil && m == energy.Model(three) {
				method = BlockGibbs{Blocks: [][]int{{0, 3}, {1}}}
			}
			c := run(t, m, method, Config{Chains: 40, Seed: 1, Warmup: 50}, 50)
			fmt.Fprintf(&b, "%T %d %T: %016x\n", m, n, method, hashed(c.x))
		}
	}
	golden(t, "trajectory.golden", b.String())
}

func TestCheckpointResumesToTheSameBits(t *testing.T) {
	for _, method := range everyMethod() {
		checkResume(t, newQuadratic(9, 1), method)
	}
}

// checkResume holds 50 draws against the same in two parts with a checkpoint
// between them, at the start and after 13.
func checkResume(t *testing.T, m energy.Model, method Method) {
	t.Helper()
	for _, at := range []int{0, 13} {
		cfg := Config{Chains: 40, Seed: 3, Warmup: 20, Thin: 2}
		want := run(t, m, method, cfg, 50)

		first, err := NewChains(m, method, cfg)
		require.NoError(t, err)
		if at > 0 {
			require.NoError(t, first.Run(context.Background(), at))
		}
		var file bytes.Buffer
		require.NoError(t, first.Save(&file))

		second, err := NewChains(m, method, Config{Chains: 40, Seed: 99, Warmup: 20, Thin: 2, Workers: 1})
		require.NoError(t, err)
		require.NoError(t, second.Load(&file))
		assert.Equal(t, at, second.Len())
		require.NoError(t, second.Run(context.Background(), 50-at))
		assert.Equal(t, hashed(want.x), hashed(second.x), "%T saved after %d draws", method, at)
		assert.Equal(t, want.StepSizes(), second.StepSizes())
		assert.Equal(t, want.Stats(), second.Stats())
	}
}

// Warm-up that is interrupted, saved and resumed ends like one that is not.
func TestCheckpointWithinWarmup(t *testing.T) {
	m := newQuadratic(9, 1)
	cfg := Config{Chains: 40, Seed: 3, Warmup: 400}
	want := run(t, m, DMALA{}, cfg, 5)

	ctx, cancel := context.WithCancel(context.Background())
	cfg.Progress = func(done, total int) {
		if done > 50 {
			cancel()
		}
	}
	first, err := NewChains(m, DMALA{}, cfg)
	require.NoError(t, err)
	require.ErrorIs(t, first.Run(ctx, 5), context.Canceled)
	require.Less(t, first.blocks[0].steps, 400)
	require.Equal(t, first.blocks[0].steps, first.blocks[1].steps)
	var file bytes.Buffer
	require.NoError(t, first.Save(&file))
	second, err := NewChains(m, DMALA{}, cfg)
	require.NoError(t, err)
	require.NoError(t, second.Load(&file))
	require.NoError(t, second.Run(context.Background(), 5))
	assert.Equal(t, hashed(want.x), hashed(second.x))
	assert.Equal(t, want.StepSizes(), second.StepSizes())
}

func TestLoadRefusesWhatIsNotItsOwn(t *testing.T) {
	m := newQuadratic(5, 1)
	cfg := Config{Chains: 3, Warmup: 10}
	var file bytes.Buffer
	require.NoError(t, run(t, m, Gibbs{}, cfg, 5).Save(&file))
	good := file.Bytes()

	fresh := func(m energy.Model, method Method, cfg Config) *Chains {
		c, err := NewChains(m, method, cfg)
		require.NoError(t, err)
		return c
	}
	load := func(c *Chains, b []byte) error {
		before := slices.Clone(c.x)
		err := c.Load(bytes.NewReader(b))
		if err != nil {
			assert.Equal(t, before, c.x, "a refused load leaves the chains alone")
		}
		return err
	}
	assert.NoError(t, load(fresh(m, Gibbs{}, cfg), good))
	assert.ErrorContains(t, load(fresh(m, DMALA{}, cfg), good), "of another shape")
	assert.ErrorContains(t, load(fresh(m, Gibbs{}, Config{Chains: 4, Warmup: 10}), good), "of another shape")
	assert.ErrorContains(t, load(fresh(newQuadratic(5, 2), Gibbs{}, cfg), good), "not the same model")
	assert.ErrorContains(t, load(fresh(m, Gibbs{}, cfg), []byte("hello, this is no checkpoint")), "not a checkpoint")
	assert.ErrorContains(t, load(fresh(m, Gibbs{}, cfg), nil), "reading the head")
	for n := range good {
		require.Error(t, load(fresh(m, Gibbs{}, cfg), good[:n]), "cut at %d", n)
	}
	for i := range good {
		b := slices.Clone(good)
		b[i] ^= 0x40
		require.Error(t, load(fresh(m, Gibbs{}, cfg), b), "byte %d changed", i)
	}
}

func TestCancelledRunsGoOn(t *testing.T) {
	m := newQuadratic(9, 1)
	want := run(t, m, DMALA{}, Config{Chains: 200, Warmup: -1}, 400)

	ctx, cancel := context.WithCancel(context.Background())
	var seen atomic.Int64
	cfg := Config{Chains: 200, Warmup: -1, Observe: func(chain, draw int, x []int32, info *Info) {
		if seen.Add(1) == 200*100 {
			cancel()
		}
	}}
	c, err := NewChains(m, DMALA{}, cfg)
	require.NoError(t, err)
	require.ErrorIs(t, c.Run(ctx, 400), context.Canceled)
	require.ErrorIs(t, c.Err(), context.Canceled)
	require.Less(t, c.Len(), 400)
	assert.EqualValues(t, 200*c.Len(), seen.Load(), "every chain stops at the same draw")
	require.NoError(t, c.Run(context.Background(), 400-c.Len()))
	assert.NoError(t, c.Err())
	assert.Equal(t, hashed(want.x), hashed(c.x))
}

func TestDrawsYieldsWhatRunObserves(t *testing.T) {
	m := newQuadratic(4, 1)
	var ran [][]int32
	run(t, m, Gibbs{}, Config{Chains: 1, Warmup: 5, Thin: 3, Observe: func(_, draw int, x []int32, _ *Info) {
		require.Equal(t, len(ran), draw)
		ran = append(ran, slices.Clone(x))
	}}, 20)
	c, err := NewChains(m, Gibbs{}, Config{Chains: 1, Warmup: 5, Thin: 3})
	require.NoError(t, err)
	var drawn [][]int32
	for x := range c.Draws(context.Background(), 20) {
		drawn = append(drawn, slices.Clone(x))
	}
	require.NoError(t, c.Err())
	assert.Equal(t, ran, drawn)
	for range c.Draws(context.Background(), 10) {
		break
	}
	assert.Equal(t, 21, c.Len(), "leaving the loop stops the chains")
}

func TestConfigErrors(t *testing.T) {
	m := newQuadratic(4, 1)
	for want, cfg := range map[string]Config{
		"Config.Chains = -1, want ≥ 0":                   {Chains: -1},
		"Config.Warmup = -2, want ≥ -1":                  {Warmup: -2},
		"Config.Thin = -1, want ≥ 0":                     {Thin: -1},
		"Config.Workers = -1, want ≥ 0":                  {Workers: -1},
		"len(Config.Init) = 3, want 4 (one state) or 16": {Init: make([]int32, 3)},
		"Config.Init[1] = 2, want 0 … 1":                 {Init: []int32{0, 2, 0, 0}},
	} {
		_, err := NewChains(m, Gibbs{}, cfg)
		assert.ErrorContains(t, err, want)
	}
	_, err := NewChains(nil, Gibbs{}, Config{})
	assert.ErrorContains(t, err, "model = nil")
	_, err = NewChains(m, nil, Config{})
	assert.ErrorContains(t, err, "method = nil")
	c, err := NewChains(m, Gibbs{}, Config{})
	require.NoError(t, err)
	assert.ErrorContains(t, c.Run(context.Background(), -1), "n = -1, want ≥ 0")
	for want, method := range map[string]Method{
		"StepSize = -1":                                    DMALA{StepSize: -1},
		"DULA: StepSize = NaN":                             DULA{StepSize: math.NaN()},
		"Target = 1, want within (0, 1)":                   DMALA{Target: 1},
		"len(Preconditioner) = 2, want 4":                  DMALA{Preconditioner: []float32{1, 1}},
		"Preconditioner[2] = 0, want":                      DULA{Preconditioner: []float32{1, 1, 0, 1}},
		"Window = -1, want ≥ 0":                            DULA{Window: -1},
		"needs an energy.Stochastic":                       DULA{Minibatch: true},
		"Scan = Scan(7)":                                   Gibbs{Scan: 7},
		"needs an energy.Graphical":                        Gibbs{Scan: Chromatic},
		"needs an energy.Bipartite":                        BlockGibbs{},
		"Blocks[0] has site 4, want 0 … 3":                 BlockGibbs{Blocks: [][]int{{4}}},
		"Blocks[1] has site 1 twice":                       BlockGibbs{Blocks: [][]int{{0}, {1, 1}}},
		"Metropolis: Updates = -3, want ≥ 0":               Metropolis{Updates: -3},
		"GWG: Flips = -1, want ≥ 0":                        GWG{Flips: -1},
		"LocallyBalanced: Balance = Balance(4), want Sqrt": LocallyBalanced{Balance: 4},
		"HammingBall: Block = 5, want 1 … 4":               HammingBall{Block: 5},
		"HammingBall: Block = -1, want 1 … 4":              HammingBall{Block: -1},
		"HammingBall: Radius = 3, want 1 … 2":              HammingBall{Block: 2, Radius: 3},
		"HammingBall: Updates = -1, want ≥ 0":              HammingBall{Updates: -1},
		"Paths: Length = 5, want 1 … 4":                    Paths{Length: 5},
		"Paths: Target = 2, want within":                   Paths{Target: 2},
		"Paths: Balance = Balance(-1), want":               Paths{Balance: -1},
		"DLMC: StepSize = -1, want":                        DLMC{StepSize: -1},
		"DLMC: Target = -1, want within":                   DLMC{Target: -1},
		"DLMC: Balance = Balance(5), want":                 DLMC{Balance: 5},
		"Cyclical: StepSize = -2, want":                    Cyclical{StepSize: -2},
		"Cyclical: MinStep = 1, want 0 … StepSize = 0":     Cyclical{MinStep: 1},
		"Cyclical: Balance = 0.4, want ½ … 1":              Cyclical{Balance: 0.4},
		"Cyclical: Period = -1, want ≥ 0":                  Cyclical{Period: -1},
		"Cyclical: Target = 3, want within":                Cyclical{Target: 3},
		"Cyclical: Window = -1, want ≥ 0":                  Cyclical{Window: -1},
		"Tempering: Rungs = 1, want ≥ 2":                   Tempering{Rungs: 1},
		"Tempering: Rungs = 3 with Betas":                  Tempering{Rungs: 3, Betas: []float64{1, 0}},
		"Tempering: len(Betas) = 1, want ≥ 2":              Tempering{Betas: []float64{1}},
		"Tempering: Betas[0] = 0.9, want 1":                Tempering{Betas: []float64{.9, .5}},
		"Tempering: Betas[2] = 0.5, want within [0, 0.5)":  Tempering{Betas: []float64{1, .5, .5}},
		"Gibbs: Scan = Scan(8)":                            Tempering{Base: Gibbs{Scan: 8}},
	} {
		_, err := NewChains(m, method, Config{})
		assert.ErrorContains(t, err, want)
	}
	wide := newQuadratic(20, 1)
	_, err = NewChains(wide, BlockGibbs{Blocks: [][]int{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}}, Config{})
	assert.ErrorContains(t, err, "want levels^sites ≤ 65536")
	_, err = NewChains(wide, HammingBall{Block: 20, Radius: 9}, Config{})
	assert.ErrorContains(t, err, "a ball of more than 65536 states")
}

func TestInit(t *testing.T) {
	m := newQuadratic(3, 1)
	one, err := NewChains(m, Gibbs{}, Config{Chains: 2, Init: []int32{0, 1, 1}})
	require.NoError(t, err)
	assert.Equal(t, []int32{0, 1, 1, 0, 1, 1}, one.States())
	each, err := NewChains(m, Gibbs{}, Config{Chains: 2, Init: []int32{0, 1, 1, 1, 0, 0}})
	require.NoError(t, err)
	assert.Equal(t, []int32{0, 1, 1, 1, 0, 0}, each.States())
}

func TestObserversAndStats(t *testing.T) {
	m := newQuadratic(3, 1)
	a, b := 0, 0
	count := func(n *int) Observer { return func(int, int, []int32, *Info) { *n++ } }
	c := run(t, m, Metropolis{}, Config{Chains: 2, Warmup: 4, Workers: 1, Observe: Observers(count(&a), count(&b))}, 10)
	assert.Equal(t, []int{20, 20}, []int{a, b})
	s := c.Stats()
	assert.Equal(t, 20, s.Steps)
	assert.True(t, s.Accept > 0 && s.Accept <= 1 && s.Moved > 0 && s.Moved <= 3, "%+v", s)
	assert.Len(t, c.Info(), 2)
	assert.Nil(t, c.StepSizes())
}

func TestSaveReportsWriteErrors(t *testing.T) {
	c := run(t, newQuadratic(3, 1), Gibbs{}, Config{}, 1)
	assert.ErrorContains(t, c.Save(failing{}), "disk full")
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }
