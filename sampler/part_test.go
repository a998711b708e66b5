package sampler_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"math"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/langevin"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// book digests the draws of every chain of a run; chains of one block write to
// their own entries.
type book [][sha256.Size]byte

func (b book) note(chain, draw int, x any, info *sampler.Info) {
	var page bytes.Buffer
	_, _ = page.Write(b[chain][:])
	_ = binary.Write(&page, binary.LittleEndian, int64(draw))
	_ = binary.Write(&page, binary.LittleEndian, x)
	_ = binary.Write(&page, binary.LittleEndian, math.Float64bits(info.Energy))
	b[chain] = sha256.Sum256(page.Bytes())
}

// machine makes chains of some part of a run.
type machine[S energy.Site] struct {
	build func(part sampler.Config, observe func(chain, draw int, x []S, info *sampler.Info)) (*sampler.Runner[S], error)
	chain int // of the whole run
}

// digest runs n parts with the given workers, each saved and loaded after stop
// draws, and digests all draws, final states and step sizes.
func (m machine[S]) digest(t *testing.T, n, workers, stop int) [sha256.Size]byte {
	t.Helper()
	const draws = 5
	b := make(book, m.chain)
	observe := func(chain, draw int, x []S, info *sampler.Info) { b.note(chain, draw, x, info) }
	var end, sizes bytes.Buffer
	for k := range n {
		part := exact.Must(sampler.Config{Chains: m.chain, Seed: 7, Warmup: 8, Workers: workers}.Part(k, n))
		c := exact.Must(m.build(part, observe))
		if stop > 0 {
			require.NoError(t, c.Run(t.Context(), stop))
			var file bytes.Buffer
			require.NoError(t, c.Save(&file))
			c = exact.Must(m.build(part, observe))
			require.NoError(t, c.Load(context.Background(), &file))
		}
		for x := range c.Draws(t.Context(), draws-stop) {
			require.Equal(t, len(c.States()), len(x))
		}
		require.NoError(t, c.Err())
		require.NoError(t, binary.Write(&end, binary.LittleEndian, c.States()))
		require.NoError(t, binary.Write(&sizes, binary.LittleEndian, c.StepSizes()))
	}
	require.NoError(t, binary.Write(&end, binary.LittleEndian, b))
	return sha256.Sum256(append(end.Bytes(), sizes.Bytes()...))
}

// held holds every way of cutting the run against the whole.
func (m machine[S]) held(t *testing.T) [sha256.Size]byte {
	t.Helper()
	want := m.digest(t, 1, 1, 0)
	for _, n := range []int{1, 2, 7, 100} {
		for _, workers := range []int{1, 3} {
			assert.Equal(t, want, m.digest(t, n, workers, 0), "%d parts, %d workers", n, workers)
		}
		assert.Equal(t, want, m.digest(t, n, 2, 2), "%d parts, with checkpoints", n)
	}
	return want
}

func tokensOf(m energy.Model, method sampler.Method) machine[int32] {
	return machine[int32]{chain: 101*sampler.BlockSize - 7, build: func(part sampler.Config, observe func(chain, draw int, x []int32, info *sampler.Info)) (*sampler.Chains, error) {
		part.Observe = observe
		return sampler.NewChains(context.Background(), m, method, part)
	}}
}

// Parts of a run give the bits of the whole, adaptation and checkpoints
// included, whatever their number and that of the workers.
func TestPartsAreTheWhole(t *testing.T) {
	m := exact.NewQuadratic(4, 1)
	want := tokensOf(m, mcmc.DMALA{}).held(t)

	// The same number of chains in runs of their own is another run.
	apart := tokensOf(m, mcmc.DMALA{})
	build := apart.build
	apart.build = func(part sampler.Config, observe func(chain, draw int, x []int32, info *sampler.Info)) (*sampler.Chains, error) {
		first := part.First
		part.Chains, part.First, part.Count = part.Count, 0, 0
		return build(part, func(chain, draw int, x []int32, info *sampler.Info) { observe(first+chain, draw, x, info) })
	}
	assert.NotEqual(t, want, apart.digest(t, 2, 1, 0), "streams begin anew in every part")

	target := exact.Must(continuous.NewQuadratic([]float64{1, 0.3, 0.3, 2}, nil, 0))
	machine[float32]{chain: 101*sampler.BlockSize - 7, build: func(part sampler.Config, observe func(chain, draw int, x []float32, info *sampler.Info)) (*langevin.Chains, error) {
		return langevin.New(context.Background(), target, langevin.Config{Chains: part.Chains, First: part.First, Count: part.Count,
			Seed: part.Seed, Warmup: part.Warmup, Workers: part.Workers, Observe: observe})
	}}.held(t)
}

// Parts begin and end with blocks, cover the run once and are nearly equal.
func TestPartsCoverTheRun(t *testing.T) {
	for _, chains := range []int{0, 1, 4, 31, 32, 33, 64, 65, 100, 1000, 1 << 20, math.MaxInt - 1} {
		cfg := sampler.Config{Chains: chains}
		if chains == 0 {
			chains = 4
		}
		block := cfg.Block()
		blocks := (chains-1)/block + 1
		for _, n := range []int{1, 2, 3, 7, 100} {
			if n > blocks {
				continue
			}
			next := 0
			for k := range n {
				part := exact.Must(cfg.Part(k, n))
				require.Equal(t, next, part.First, "%d chains, part %d of %d", chains, k, n)
				require.Zero(t, part.First%block)
				require.GreaterOrEqual(t, (part.Count-1)/block+1, blocks/n)
				require.LessOrEqual(t, (part.Count-1)/block+1, (blocks-1)/n+1)
				next += part.Count
			}
			require.Equal(t, chains, next)
		}
	}
	l := exact.Must(langevin.Config{Chains: 1000, StepSize: 0.5}.Part(2, 3))
	s := exact.Must(sampler.Config{Chains: 1000}.Part(2, 3))
	assert.Equal(t, []int{s.Chains, s.First, s.Count}, []int{l.Chains, l.First, l.Count})
	assert.Equal(t, sampler.Config{Chains: 1000}.Block(), langevin.Config{Chains: 1000}.Block())
	assert.Equal(t, 0.5, l.StepSize)
}

func TestBadParts(t *testing.T) {
	m := exact.NewQuadratic(3, 1)
	require.Equal(t, 32, sampler.Config{Chains: 1000}.Block())
	for want, cfg := range map[string]sampler.Config{
		"sampler: Config.First = -1, want 0 … 3 (Chains = 4)":                                        {First: -1},
		"sampler: Config.Count = -1 from chain 0 on, want 0 … 4 of 4 chains":                         {Count: -1},
		"sampler: Config.First = 7, want a multiple of the block of 32":                              {Chains: 1000, First: 7},
		"sampler: Config.First = 1000, want 0 … 999 (Chains = 1000)":                                 {Chains: 1000, First: 1000},
		"sampler: Config.First = 4, want 0 … 3 (Chains = 4)":                                         {First: 4},
		"sampler: Config.Count = 33, want a multiple of the block of 32, or all 968 chains to the e": {Chains: 1000, First: 32, Count: 33},
		"sampler: Config.Count = 992 from chain 32 on, want 0 … 968 of 1000 chains":                  {Chains: 1000, First: 32, Count: 992},
		"sampler: len(Config.Init) = 3000, want 3 (one state) or 96 (one per chain)":                 {Chains: 1000, First: 32, Count: 32, Init: make([]int32, 3000)},
	} {
		_, err := sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, cfg)
		assert.ErrorContains(t, err, want)
	}
	for want, f := range map[string]func() (sampler.Config, error){
		"n = 0, want 1 … 32 (1000 chains in blocks of 32)":  func() (sampler.Config, error) { return sampler.Config{Chains: 1000}.Part(0, 0) },
		"n = 33, want 1 … 32 (1000 chains in blocks of 32)": func() (sampler.Config, error) { return sampler.Config{Chains: 1000}.Part(0, 33) },
		"k = 3, want 0 … 2":                                 func() (sampler.Config, error) { return sampler.Config{Chains: 1000}.Part(3, 3) },
		"k = -1, want 0 … 2":                                func() (sampler.Config, error) { return sampler.Config{Chains: 1000}.Part(-1, 3) },
		"Chains = -4, want ≥ 0":                             func() (sampler.Config, error) { return sampler.Config{Chains: -4}.Part(0, 1) },
		"First = 32 and Count = 0, want 0: the con":         func() (sampler.Config, error) { return sampler.Config{Chains: 100, First: 32}.Part(0, 1) },
	} {
		_, err := f()
		assert.ErrorContains(t, err, want)
	}
}

var large = flag.Bool("large", false, "run 10⁶ chains in TestPartsMemory")

// A loop over parts takes the memory of one part, also where it goes on from the files that
// it left; with -large it runs 10⁶ chains of 25 sites and 96 steps, and logs the peak of the
// process:
//
//	go test ./sampler -run PartsMemory -large -v
func TestPartsMemory(t *testing.T) {
	exact.SkipUnderRace(t)
	chains, parts := 6400, 10
	if *large {
		chains, parts = 1_000_000, 100
	}
	m := exact.Must(model.NewIsing(model.Lattice{5, 5}, 0.2, 0.2))
	heap := func() uint64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	dir := t.TempDir()
	before, most, sum := heap(), uint64(0), 0
	began := time.Now()
	for _, draws := range []int{32, 64} {
		for k := range parts {
			part := exact.Must(sampler.Config{Chains: chains, Seed: 1, Warmup: 32, Workers: 2}.Part(k, parts))
			part.Checkpoint.Path = filepath.Join(dir, strconv.Itoa(k))
			c := exact.Must(sampler.NewChains(t.Context(), m, mcmc.DMALA{}, part))
			if draws > 32 {
				require.NoError(t, c.LoadFile(t.Context(), part.Checkpoint.Path))
			}
			require.NoError(t, c.Run(t.Context(), draws-c.Len()))
			most = max(most, heap()-before)
			sum += len(c.States())
			runtime.KeepAlive(c)
		}
	}
	require.Equal(t, 2*25*chains, sum)
	of := float64(most) / (float64(chains) / float64(parts))
	t.Logf("%d chains in %d parts: %d B at most, %.0f B a chain of one part; %v; process peak %s", chains, parts, most, of, time.Since(began), peak())
	assert.Less(t, of, 2000., "a part takes its states, streams, infos and kernels")
}

// What names a chain names it by its number in the run, and the checkpoint of a
// part is refused by another.
func TestPartsKnowTheirPlace(t *testing.T) {
	m := energy.Func{Sites: 2, Levels: 2, E: func(x []int32) float64 {
		if x[0] == 1 {
			return math.Inf(1)
		}
		return 0
	}}
	cfg := sampler.Config{Chains: 128, First: 64, Count: 32, Warmup: -1, Init: []int32{0, 1}}
	tr := diagnose.NewTrace(func(x []int32) float64 { return float64(x[1]) })
	cfg.Observe = func(chain, draw int, x []int32, info *sampler.Info) {
		tr.Observe(chain-64, draw, x, info)
	}
	c := exact.Must(sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, cfg))
	require.NoError(t, c.Run(context.Background(), 3))
	assert.Equal(t, 3, tr.Len())
	assert.Equal(t, 32, tr.Chains())

	var file bytes.Buffer
	require.NoError(t, c.Save(&file))
	load := func(first, count int) error {
		other := cfg
		other.First, other.Count, other.Observe = first, count, nil
		return exact.Must(sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, other)).Load(context.Background(), bytes.NewReader(file.Bytes()))
	}
	assert.NoError(t, load(64, 32))
	assert.ErrorContains(t, load(32, 32), "Config.First is 64 in the checkpoint and 32 here")
	assert.ErrorContains(t, load(64, 0), "Config.Count is 32 in the checkpoint and 64 here")

	c.States()[3*2] = 1
	var start *sampler.StartError
	require.ErrorAs(t, c.Reset(), &start)
	assert.Equal(t, 67, start.Chain)
	c.States()[3*2] = 5
	assert.ErrorContains(t, c.Reset(), "level of site 0 of chain 67 = 5")
	x := make([]int32, 64)
	x[5] = -1
	assert.ErrorContains(t, c.SetStates(x), "level of site 1 of chain 66 = -1")
}

// In blocks of a given size the chains of a run do not depend on how many there are.
func TestGrowth(t *testing.T) {
	m := exact.Must(model.NewIsing(model.FreeLattice{7, 10}, 0.3, 0.1))
	grows(t, m)
	grows(t, exact.NewQuadratic(9, 1))
	require.NotEqual(t, 4, sampler.Config{Chains: 100}.Block())
	part := exact.Must(sampler.Config{Chains: 100, BlockChains: 4}.Part(1, 5))
	require.Equal(t, [2]int{20, 20}, [2]int{part.First, part.Count})
	_, err := sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{BlockChains: 33})
	require.ErrorContains(t, err, "sampler: Config.BlockChains = 33, want 0 … 32")
	_, err = sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{BlockChains: -1})
	require.ErrorContains(t, err, "BlockChains")
}

// grows requires that the first chains of large runs are those of a run of few.
func grows(t *testing.T, m energy.Model) {
	t.Helper()
	const few = 20
	sites, _ := m.Shape()
	for _, method := range []sampler.Method{mcmc.Gibbs{}, mcmc.Metropolis{}, mcmc.GWG{}, mcmc.DMALA{}} {
		draw := func(chains, block int) []int32 {
			ch := exact.Must(sampler.NewChains(context.Background(), m, method, sampler.Config{Chains: chains, BlockChains: block, Seed: 5, Warmup: 30}))
			require.NoError(t, ch.Run(context.Background(), 5))
			return ch.States()[:few*sites]
		}
		for _, block := range []int{1, 4, 10} {
			want := draw(few, block)
			for _, chains := range []int{21, 64, 100, 200} {
				if exact.Race && chains > 64 {
					break
				}
				require.Equal(t, want, draw(chains, block), "%T, %d chains in blocks of %d", method, chains, block)
			}
		}
	}
}
