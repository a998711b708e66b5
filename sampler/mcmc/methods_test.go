package mcmc

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// everyMethod lists a setting of each method that fits two-level models.
func everyMethod() []sampler.Method {
	return []sampler.Method{
		DULA{}, DMALA{}, DMALA{StepSize: 1}, Gibbs{}, Gibbs{Scan: Random}, Metropolis{}, GWG{}, GWG{Flips: 3}, BlockGibbs{Blocks: [][]int{{0, 1, 2}, {3, 4}}},
		LocallyBalanced{Balance: Barker}, LocallyBalanced{Balance: Min, Exact: true},
		HammingBall{Block: 3}, Paths{}, Paths{Length: 2, Balance: Min},
		DLMC{}, DLMC{StepSize: 0.5, Balance: Max}, Cyclical{}, Cyclical{StepSize: 2, Period: 5},
		Tempering{Rungs: 3}, Tempering{Base: Gibbs{}, Betas: []float64{1, 0.5}},
		DULA{StepSize: 1, Balance: Barker}, DMALA{Balance: Min, Exact: true}, DUPS{}, DMAPS{}, DMAPS{StepSize: 1, Exact: true},
	}
}

func TestResultsDoNotDependOnWorkers(t *testing.T) {
	m := exact.NewQuadratic(9, 1)
	all, warmup, draws := []int{2, 7}, 20, 30
	if exact.Race { // work is divided in every step alike
		all, warmup, draws = all[1:], 5, 8
	}
	for _, method := range everyMethod() {
		want := runs.Hash(runs.Run(t, m, method, sampler.Config{Chains: 100, Seed: 3, Warmup: warmup, Workers: 1}, draws).States())
		for _, workers := range all {
			for _, procs := range []int{1, 2} {
				was := runtime.GOMAXPROCS(procs)
				got := runs.Hash(runs.Run(t, m, method, sampler.Config{Chains: 100, Seed: 3, Warmup: warmup, Workers: workers}, draws).States())
				runtime.GOMAXPROCS(was)
				assert.Equal(t, want, got, "%T, %d workers, GOMAXPROCS %d", method, workers, procs)
			}
		}
		other := runs.Hash(runs.Run(t, m, method, sampler.Config{Chains: 100, Seed: 4, Warmup: warmup}, draws).States())
		assert.NotEqual(t, want, other)
	}
}

// TestTrajectoryGolden keeps the promise that a seed gives the same states in
// every release, on every machine and instruction set.
func TestTrajectoryGolden(t *testing.T) {
	exact.SkipUnderRace(t)
	ising, err := model.NewIsing(model.Lattice{5, 5}, 0.2, 0.2)
	require.NoError(t, err)
	three := exact.NewRugged(4, 3, 1, 0.5, 2)
	var b strings.Builder
	names := map[energy.Model]string{ising: "*energy.Ising", three: "*sampler.rugged"} // as the file has them
	for _, m := range []energy.Model{ising, three} {
		for n, method := range everyMethod() {
			if g, ok := method.(GWG); ok && g.Flips > 1 && m == energy.Model(three) {
				continue
			}
			if g, ok := method.(BlockGibbs); ok && g.Blocks != nil && m == energy.Model(three) {
				method = BlockGibbs{Blocks: [][]int{{0, 3}, {1}}}
			}
			c := runs.Run(t, m, method, sampler.Config{Chains: 40, Seed: 1, Warmup: 50}, 50)
			fmt.Fprintf(&b, "%s %d sampler.%s: %016x\n", names[m], n, reflect.TypeOf(method).Name(), runs.Hash(c.States()))
		}
	}
	exact.Golden(t, "testdata/trajectory.golden", b.String())
}

// TestRBMTrajectoryGolden: on an RBM, too, a seed gives the same states on every machine
// and instruction set, for methods whose sums have one order or none.
func TestRBMTrajectoryGolden(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	draw := func(n int, size int32) []float32 { // dyadic fractions, without arithmetic
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(r.Int32N(2*size+1)-size) / (1 << 16)
		}
		return v
	}
	const visible, hidden = 117, 71
	m := exact.Must(model.NewRBM(draw(visible*hidden, 1<<14), draw(hidden, 1<<15), draw(visible, 1<<15)))
	var b strings.Builder
	for n, method := range []sampler.Method{DMALA{}, DMALA{StepSize: 0.3}, BlockGibbs{}} {
		for _, chains := range []int{3, 100} {
			c := runs.Run(t, m, method, sampler.Config{Chains: chains, Seed: 1, Warmup: 20}, 30)
			fmt.Fprintf(&b, "%d %T, %d chains: %016x\n", n, method, chains, runs.Hash(c.States()))
		}
	}
	exact.Golden(t, "testdata/rbm.golden", b.String())
}

func TestCheckpointResumesToTheSameBits(t *testing.T) {
	exact.SkipUnderRace(t)
	for _, method := range everyMethod() {
		runs.Resume(t, exact.NewQuadratic(9, 1), method)
	}
}

func TestMethodErrors(t *testing.T) {
	m := exact.NewQuadratic(4, 1)
	for want, method := range map[string]sampler.Method{
		"StepSize = -1":                                    DMALA{StepSize: -1},
		"DULA: StepSize = NaN":                             DULA{StepSize: math.NaN()},
		"Target = 1, want within (0, 1)":                   DMALA{Target: 1},
		"len(Preconditioner) = 2, want 4":                  DMALA{Preconditioner: []float32{1, 1}},
		"Preconditioner[2] = 0, want":                      DULA{Preconditioner: []float32{1, 1, 0, 1}},
		"Window = -1, want ≥ 0":                            DULA{Window: -1},
		"want an energy.Stochastic one":                    DULA{Minibatch: true},
		"Scan = Scan(7)":                                   Gibbs{Scan: 7},
		"want an energy.Graphical one":                     Gibbs{Scan: Chromatic},
		"want an energy.Bipartite one":                     BlockGibbs{},
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
		"DMALA: Balance = Balance(4), want":                DMALA{Balance: 4},
		"DULA: Balance = Balance(-1), want":                DULA{Balance: -1},
		"DMALA: Exact with Window = 2":                     DMALA{Exact: true, Window: 2},
		"DUPS: StepSize = -1, want":                        DUPS{StepSize: -1},
		"DMAPS: StepSize = NaN, want":                      DMAPS{StepSize: math.NaN()},
		"DMAPS: Target = 1, want within (0, 1)":            DMAPS{Target: 1},
		"Cyclical: StepSize = -2, want":                    Cyclical{StepSize: -2},
		"Cyclical: MinStep = 1, want 0 … StepSize = 0":     Cyclical{MinStep: 1},
		"Cyclical: Balance = 0.4, want ½ … 1":              Cyclical{Balance: 0.4},
		"Cyclical: Period = -1, want 0 …":                  Cyclical{Period: -1},
		"Cyclical: Target = 3, want within":                Cyclical{Target: 3},
		"Cyclical: Window = -1, want ≥ 0":                  Cyclical{Window: -1},
		"Tempering: Rungs = 1, want 2 …":                   Tempering{Rungs: 1},
		"Tempering: Rungs = 3 with Betas":                  Tempering{Rungs: 3, Betas: []float64{1, 0}},
		"Tempering: len(Betas) = 1, want ≥ 2":              Tempering{Betas: []float64{1}},
		"Tempering: Betas[0] = 0.9, want 1":                Tempering{Betas: []float64{.9, .5}},
		"Tempering: Betas[2] = 0.5, want within [0, 0.5)":  Tempering{Betas: []float64{1, .5, .5}},
		"Gibbs: Scan = Scan(8)":                            Tempering{Base: Gibbs{Scan: 8}},
	} {
		_, err := sampler.NewChains(context.Background(), m, method, sampler.Config{})
		assert.ErrorContains(t, err, want)
	}
	wide := exact.NewQuadratic(20, 1)
	_, err := sampler.NewChains(context.Background(), wide, BlockGibbs{Blocks: [][]int{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}}, sampler.Config{})
	assert.ErrorContains(t, err, "want levels^sites ≤ 65536")
	_, err = sampler.NewChains(context.Background(), wide, HammingBall{Block: 20, Radius: 9}, sampler.Config{})
	assert.ErrorContains(t, err, "a ball of more than 65536 states")
}

// A checkpoint between Reset and the next step holds the energies of the states
// as they are, not of those before.
func TestSaveAfterReset(t *testing.T) {
	m := exact.NewQuadratic(5, 1)
	cfg := sampler.Config{Chains: 3, Warmup: 10}
	for _, method := range everyMethod() {
		c := runs.Run(t, m, method, cfg, 5)
		for i := range c.States() {
			c.States()[i] = 1 - c.States()[i]
		}
		require.NoError(t, c.Reset())
		var file bytes.Buffer
		require.NoError(t, c.Save(&file))
		second, err := sampler.NewChains(context.Background(), m, method, cfg)
		require.NoError(t, err)
		require.NoError(t, second.Load(context.Background(), &file), "%T", method)
		require.NoError(t, c.Run(context.Background(), 5))
		require.NoError(t, second.Run(context.Background(), 5))
		assert.Equal(t, c.States(), second.States(), "%T", method)
	}
}

func TestMetropolisIsChecked(t *testing.T) {
	ctx, rugged := context.Background(), exact.NewRugged(5, 2, 1, 0.5, 1)
	_, err := Metropolis{Scan: Systematic, Updates: 3}.Kernel(ctx, rugged, 1)
	require.ErrorContains(t, err, "Updates = 3, want 0 or 5")
	_, err = Metropolis{Scan: 9}.Kernel(ctx, rugged, 1)
	require.ErrorContains(t, err, "Scan = Scan(9)")
	_, err = Metropolis{Scan: Chromatic}.Kernel(ctx, rugged, 1)
	require.ErrorContains(t, err, "energy.Graphical")
}
