package mcmc

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// withTorusFrom sets the number of sites from which on tori are bits.
func withTorusFrom(t testing.TB, sites int) {
	old := sweep.FewestSites
	sweep.FewestSites = sites
	t.Cleanup(func() { sweep.FewestSites = old })
}

// ways are the settings of methods whose proposals are bits on a torus.
func ways() map[string]sampler.Method {
	all := map[string]sampler.Method{"exact": DMALA{StepSize: 0.5, Exact: true}, "tiny": DMALA{StepSize: 1e-4}}
	for _, b := range balances() {
		all["DMALA "+b.String()] = DMALA{StepSize: 0.7, Balance: b}
		all["DLMC "+b.String()] = DLMC{StepSize: 0.4, Balance: b}
	}
	return all
}

// What proposes on bits, given the fields of five sites, is what proposes on numbers.
func TestFlipLawOfFiveSites(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	fields := []float32{-1.5, -0.3, 0, 0.7, 2.1}
	for name, l := range map[string]langevin{
		"sqrt": {alpha: 0.7}, "barker": {alpha: 0.7, balance: Barker}, "min": {alpha: 2, balance: Min}, "max": {alpha: 1e-4, balance: Max},
		"jumps": {alpha: 0.4, jumps: true}, "jumps of barker": {alpha: 0.4, jumps: true, balance: Barker},
	} {
		five, all := newFlipLaw(5, l), newFlipLaw(40, l)
		for v := range int32(2) {
			for alpha := range 2 {
				five.SetStep(l.alpha + float64(alpha))
				all.SetStep(l.alpha + float64(alpha))
				var want [5]int32
				five.Thresholds(want[:], fields, slices.Repeat([]int32{v}, 5))
				h, got := make([]float32, 80), make([]int32, 80)
				at := make([]int, 80)
				for i := range h {
					at[i] = r.IntN(5)
					h[i] = fields[at[i]]
				}
				all.Thresholds(got, h, slices.Repeat([]int32{v}, 80))
				for i := range got {
					require.Equal(t, want[at[i]], got[i], name)
				}
			}
		}
	}
}

func TestTorusLangevinIsUsedWhereItApplies(t *testing.T) {
	withTorusFrom(t, 64)
	scaled, err := energy.Scale(sweeptest.Chequered(t, 8, 8), 0.5)
	require.NoError(t, err)
	for n, c := range []struct {
		m      energy.Model
		method sampler.Method
		fast   bool
	}{
		{sweeptest.Chequered(t, 8, 8), DMALA{}, true},
		{scaled, DMALA{Balance: Max, Exact: true}, true},
		{scaled, DLMC{}, true},
		{sweeptest.Chequered(t, 6, 10), DMALA{}, false}, // too small
		{sweeptest.Chequered(t, 8, 9), DMALA{}, true},
		{sweeptest.Chequered(t, 27, 3), DLMC{}, true},
		{sweeptest.Chequered(t, 2, 40), DLMC{}, false},
		{sweeptest.Chequered(t, 8, 8), DULA{}, false},
		{sweeptest.Chequered(t, 8, 8), Cyclical{}, false},
		{sweeptest.Chequered(t, 8, 8), DMALA{Preconditioner: slices.Repeat([]float32{1}, 64)}, false},
		{sweeptest.Chequered(t, 8, 8), DMALA{Window: 1}, false},
	} {
		assert.Equal(t, c.fast, sweeptest.EngineOf(exact.Must(c.method.Kernel(context.Background(), c.m, 1))) == "torusLangevin", "case %d", n)
	}
	for want, method := range map[string]sampler.Method{
		"Window = -1":              DMALA{Window: -1},
		"Balance = Balance(9)":     DMALA{Balance: 9},
		"StepSize = -1":            DLMC{StepSize: -1},
		"chains = 33, want 1 … 32": DMALA{},
	} {
		_, err := method.Kernel(context.Background(), sweeptest.Chequered(t, 8, 8), 33)
		if !strings.Contains(want, "33") {
			_, err = method.Kernel(context.Background(), sweeptest.Chequered(t, 8, 8), 1)
		}
		assert.ErrorContains(t, err, want)
	}
}

// Methods resume on bits, adapt to their targets there, and refuse what the kernel of numbers
// has saved.
func TestTorusLangevinAdapts(t *testing.T) {
	exact.SkipUnderRace(t)
	withTorusFrom(t, 0)
	small, m := sweeptest.Chequered(t, 4, 6), sweeptest.Chequered(t, 8, 8)
	for name, method := range ways() {
		runs.Resume(t, small, method)
		bits := exact.Must(method.Kernel(context.Background(), small, 4))
		sweep.FewestSites = math.MaxInt
		numbers := exact.Must(method.Kernel(context.Background(), small, 4))
		sweep.FewestSites = 0
		require.NoError(t, numbers.Reset(sampler.Control{}, make([]int32, 4*24)))
		old, err := numbers.AppendBinary(nil)
		require.NoError(t, err)
		assert.ErrorContains(t, bits.UnmarshalBinary(old), "the kernel that DMALA and DLMC had", name)
	}
	for _, method := range []sampler.Method{DMALA{}, DLMC{Balance: Min}} {
		runs.Resume(t, small, method)
		c := runs.Run(t, m, method, sampler.Config{Chains: 32, Seed: 1, Warmup: 600}, 300)
		assert.InDelta(t, 0.574, c.Stats().Accept, 0.05)
	}
}

// TestTorusLangevinGolden: a seed gives the same states in every version.
func TestTorusLangevinGolden(t *testing.T) {
	m := sweeptest.Chequered(t, 18, 30)
	var b strings.Builder
	for _, method := range []sampler.Method{DMALA{}, DLMC{}, DMALA{Balance: Max}} {
		for _, g := range []sampler.Generator{sampler.Philox4x32, sampler.ARS4x32} {
			c := runs.Run(t, m, method, sampler.Config{Chains: 3, Seed: 5, Warmup: 60, Generator: g}, 20)
			fmt.Fprintf(&b, "%T %v %016x\n", method, g, runs.Hash(c.States()))
		}
	}
	exact.Golden(t, "testdata/toruslangevin.golden", b.String())
}

// BenchmarkTorusLangevin steps chains of DMALA as bits and as numbers, with states that
// are read after each step and with such that are not.
func BenchmarkTorusLangevin(b *testing.B) {
	for _, side := range []int{8, 10, 12, 14, 16, 20, 24, 50, 256} {
		for _, chains := range []int{1, sampler.BlockSize} {
			for _, g := range []sampler.Generator{sampler.Philox4x32, sampler.ARS4x32} {
				for _, how := range []string{"numbers", "bits", "deferred"} {
					b.Run(fmt.Sprintf("side=%d/chains=%d/%v/%s", side, chains, g, how), func(b *testing.B) {
						m, err := model.NewIsing(model.Lattice{side, side}, 0.1, 0.05)
						require.NoError(b, err)
						fewest := sweep.FewestSites
						sweep.FewestSites = map[string]int{"numbers": 1 << 30}[how]
						k := exact.Must(DMALA{StepSize: 0.2}.Kernel(context.Background(), m, chains))
						sweep.FewestSites = fewest
						sites := side * side
						x, info, streams := make([]int32, chains*sites), make([]sampler.Info, chains), make([]sampler.Stream, chains)
						for s := range streams {
							require.NoError(b, streams[s].SeedOf(g, 0, uint64(s)))
						}
						require.NoError(b, k.Reset(sampler.Control{}, x))
						ctl := sampler.Control{Unread: how == "deferred"}
						for range 20 {
							k.Step(ctl, info, x, streams)
						}
						for b.Loop() {
							k.Step(ctl, info, x, streams)
						}
						b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(chains*sites), "ns/site")
						b.ReportMetric(info[0].Accept, "accept")
					})
				}
			}
		}
	}
}
