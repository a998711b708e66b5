package mcmc

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/generator"
)

// saved is a checkpoint of chains.
func saved(t *testing.T, c *sampler.Chains) []byte {
	var b bytes.Buffer
	require.NoError(t, c.Save(&b))
	return b.Bytes()
}

// Steps that nobody reads go to the bits of those that an observer reads one by one: states,
// what the last step reports, statistics and checkpoints, with blocks in turn and side by
// side, few and many workers, parts of a run, and observers from time to time.
func TestWordLeapIsSteps(t *testing.T) {
	ctx := context.Background()
	for name, m := range wordModels(t) {
		for _, chains := range []int{1, 5, 64, 300, 512, 1100} {
			for _, g := range []generator.Kind{generator.Philox4x32, generator.ARS4x32} {
				if testing.Short() && (g != generator.Philox4x32 || chains > 512) {
					continue
				}
				cfg := sampler.Config{Chains: chains, Seed: 5, Warmup: 3, Workers: 1, Generator: g}
				stepped := cfg
				stepped.Observe = func(int, int, []int32, *sampler.Info) {}
				one := exact.Must(sampler.NewChains(context.Background(), m, Gibbs{}, stepped))
				require.NoError(t, one.Run(ctx, 5))
				require.NoError(t, one.Run(ctx, 70))
				for _, workers := range []int{1, 2, 5} {
					leaping := cfg
					leaping.Workers = workers
					c := exact.Must(sampler.NewChains(context.Background(), m, Gibbs{}, leaping))
					require.NoError(t, c.Run(ctx, 5))
					require.NoError(t, c.Run(ctx, 70))
					require.Equal(t, one.States(), c.States(), "%s, %d chains, %d workers", name, chains, workers)
					require.Equal(t, one.Info(), c.Info(), "%s, %d chains", name, chains)
					require.Equal(t, one.Stats(), c.Stats(), "%s, %d chains", name, chains)
					require.Equal(t, saved(t, one), saved(t, c), "%s, %d chains", name, chains)
				}
				if chains < 64 {
					continue
				}
				part := exact.Must(cfg.Part(1, 2))
				c := exact.Must(sampler.NewChains(context.Background(), m, Gibbs{}, part))
				require.NoError(t, c.Run(ctx, 75))
				sites, _ := m.Shape()
				assert.Equal(t, one.States()[part.First*sites:], c.States(), name)
			}
		}
	}
}

// Observers that read some draws see what those that read all do.
func TestWordLeapBetweenDraws(t *testing.T) {
	m := wordModels(t)["glass"]
	for _, thin := range []int{5, 12} {
		seen := [2]map[[2]int][]int32{{}, {}}
		told := [2]map[[2]int]sampler.Info{{}, {}}
		for way := range 2 {
			cfg := sampler.Config{Chains: 290, Seed: 5, Warmup: 9, Workers: 1, Thin: thin}
			keep := func(chain, draw int, x []int32, info *sampler.Info) {
				seen[way][[2]int{chain, draw}] = slices.Clone(x)
				told[way][[2]int{chain, draw}] = *info
			}
			if cfg.Observe = keep; way == 1 {
				cfg.Thin = 1
				cfg.Observe = func(chain, draw int, x []int32, info *sampler.Info) {
					if (draw+1)%thin == 0 {
						keep(chain, draw/thin, x, info)
					}
				}
			}
			c := exact.Must(sampler.NewChains(context.Background(), m, Gibbs{}, cfg))
			require.NoError(t, c.Run(context.Background(), 10*thin/cfg.Thin))
		}
		require.Len(t, seen[0], 2900)
		assert.Equal(t, seen[1], seen[0])
		assert.Equal(t, told[1], told[0])
	}
}

// Runs that end anywhere go on to the same bits, and a block that is verified agrees.
func TestWordLeapStops(t *testing.T) {
	m := exact.Must(model.NewIsing(model.Lattice{9, 9}, 0.3, 0.1))
	cfg := sampler.Config{Chains: 512, Seed: 3, Warmup: -1, Workers: 2}
	whole := exact.Must(sampler.NewChains(context.Background(), m, Gibbs{}, cfg))
	require.NoError(t, whole.Run(context.Background(), 6000))
	c := exact.Must(sampler.NewChains(context.Background(), m, Gibbs{}, cfg))
	old := pollWork
	pollWork = 1 << 12
	defer func() { pollWork = old }()
	stops := 0
	for c.Len() < 6000 {
		ctx, cancel := context.WithCancel(context.Background())
		go cancel()
		if err := c.Run(ctx, 6000-c.Len()); err != nil {
			require.ErrorIs(t, err, context.Canceled)
			stops++
		}
		cancel()
	}
	assert.Positive(t, stops)
	assert.Equal(t, whole.States(), c.States())
	assert.Equal(t, saved(t, whole), saved(t, c))

	require.NoError(t, whole.Reset())
	require.NoError(t, whole.Run(context.Background(), 10))
	assert.Equal(t, whole.Len(), 6010)
}

// Leaps allocate nothing, and are refused where a step is under way.
func TestWordLeapAlone(t *testing.T) {
	m := exact.Must(model.NewIsing(model.Lattice{5, 5}, 0.2, 0.2))
	for _, blocks := range []int{1, 9, 16} {
		kernels, x, r := make([]sampler.Kernel, blocks), make([][]int32, blocks), make([][]sampler.Stream, blocks)
		for b := range blocks {
			k := wordKernel(t, m, 32)
			x[b], r[b], kernels[b] = make([]int32, 25*32), make([]sampler.Stream, 32), k
			for s := range r[b] {
				r[b][s] = *sampler.NewStream(1, uint64(32*b+s))
			}
			require.NoError(t, k.Reset(sampler.Control{}, x[b]))
		}
		lead, info := kernels[0].(*wordGibbs), make([]sampler.Info, 32)
		var company []sampler.Block
		for b := 1; b < blocks; b++ {
			company = append(company, sampler.Block{Kernel: kernels[b], Info: make([]sampler.Info, 32), X: x[b], R: r[b]})
		}
		leap := func(stop func() bool, n int) int {
			return lead.Step(sampler.Control{Steps: n, Stop: stop, Unread: true, Company: company}, info, x[0], r[0])
		}
		require.Equal(t, 7, leap(nil, 7))
		if !exact.Race {
			assert.Zero(t, testing.AllocsPerRun(20, func() { leap(nil, 7) }))
		}
		assert.Equal(t, 1, leap(func() bool { return true }, 1))
		old := pollWork
		pollWork = 1
		assert.Equal(t, 1, leap(func() bool { return true }, 9))
		require.Zero(t, lead.Step(sampler.Control{Stop: func() bool { return true }}, make([]sampler.Info, 32), x[0], r[0]))
		pollWork = old
		want := 0
		if blocks == 1 {
			want = 1 // the rest of the step
		}
		assert.Equal(t, want, leap(nil, 7))
	}
	large := wordKernel(t, exact.Must(model.NewIsing(model.Lattice{65, 65}, 0.2, 0.2)), 32)
	assert.Zero(t, large.Company(16), "the sites of a large graph take longer than what is told of them")
	many := wordKernel(t, exact.Must(model.NewIsing(model.Lattice{61, 67}, 0.2, 0.2)), 32)
	assert.Positive(t, many.Company(16))
	many.share(2)
	assert.Zero(t, many.Company(16))
}

// BenchmarkWordLeap is a step of several blocks of chains that nobody reads, by
// Run.
func BenchmarkWordLeap(b *testing.B) {
	for name, m := range map[string]energy.Model{
		"torus=5":  exact.Must(model.NewIsing(model.Lattice{5, 5}, 0.2, 0.2)),
		"torus=30": exact.Must(model.NewIsing(model.Lattice{30, 30}, 0.2, 0.2)),
		"torus=60": exact.Must(model.NewIsing(model.Lattice{60, 60}, 0.2, 0.2)),
	} {
		for _, g := range []generator.Kind{generator.Philox4x32, generator.ARS4x32} {
			for _, chains := range []int{32, 64, 128, 256, 512} {
				b.Run(fmt.Sprintf("%s/%v/chains=%d", name, g, chains), func(b *testing.B) {
					sites, _ := m.Shape()
					c := exact.Must(sampler.NewChains(context.Background(), m, Gibbs{}, sampler.Config{Chains: chains, Workers: 1, Generator: g}))
					ctx := context.Background()
					require.NoError(b, c.Run(ctx, 1))
					b.ResetTimer()
					require.NoError(b, c.Run(ctx, b.N))
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*chains*sites), "ns/site")
				})
			}
		}
	}
}
