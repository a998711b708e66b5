package auto

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/cluster"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/momentum"
)

// pairs is a model whose Gibbs kernel keeps a table of every chain.
func pairs() energy.Model {
	edges := []model.Edge{{I: 0, J: 1, W: .8}, {I: 1, J: 2, W: -.6}, {I: 2, J: 3, W: .7}, {I: 0, J: 3, W: .5}}
	return exact.Must(model.NewQuadratic(4, edges, model.Polynomial{Values: []float32{-1, 1}, Linear: []float64{.3, 0, -.4, .2}}))
}

func three() Method {
	return Method{Candidates: []sampler.Method{mcmc.Gibbs{}, &mcmc.DMALA{}, struct{ mcmc.Paths }{}}}
}

// drive makes warm-up step after warm-up step with a kernel, and calls after each of
// them.
func drive(k sampler.Kernel, x []int32, r []sampler.Stream, from, to, of int, after func(k *kernel, step int)) {
	info := make([]sampler.Info, len(r))
	for step := from; step < to; step++ {
		k.Step(sampler.Control{}, info, x, r)
		if step < of {
			k.(sampler.Adaptive).Adapt(info, step, of)
		}
		if after != nil {
			after(inner(k), step)
		}
	}
}

func inner(k sampler.Kernel) *kernel {
	if s, ok := k.(*starting); ok {
		return s.kernel
	}
	return k.(*kernel)
}

func streams(seed uint64, n int) []sampler.Stream {
	r := make([]sampler.Stream, n)
	for i := range r {
		r[i].Seed(seed, uint64(i))
	}
	return r
}

// final counts where many chains stand after so many steps of a warm-up of 300, tries
// of all candidates among them.
func final(t *testing.T, method Method, m energy.Model, steps int, after func(k *kernel, step int)) []int {
	sites, _ := m.Shape()
	counts := make([]int, 16)
	for block := range 40 {
		x, r := make([]int32, 32*sites), streams(uint64(block), 32)
		for i := range x {
			x[i] = int32(r[i/sites].IntN(2))
		}
		k := exact.Must(method.Kernel(context.Background(), m, 32))
		require.NoError(t, k.Reset(sampler.Control{}, x))
		drive(k, x, r, 0, steps, 300, after)
		exact.Tally(counts, x, sites, 2)
	}
	return counts
}

// In the middle of the trials and after them chains have the distribution of the
// model, on 16 states, at a false-positive rate of 1e-6. A twin that does not show the
// states to the kernel whose turn it is fails, and so does one whose only candidate is
// biased.
func TestDistributionIsExact(t *testing.T) {
	m := pairs()
	p, _ := exact.Law(m)
	ends := []int{330, 100}
	if testing.Short() {
		ends = ends[1:] // in the first trial of Gibbs
	}
	for _, steps := range ends {
		exact.Counts(t, final(t, three(), m, steps, nil), p, exact.Rate)
	}
	forgetful := func(k *kernel, _ int) { k.behind = false }
	cached := three()
	cached.Candidates[0] = mcmc.Gibbs{Scan: mcmc.Random} // in order it keeps nothing of the states
	assert.Less(t, exact.PValue(final(t, cached, m, 100, forgetful), p), 1e-6)
	biased := Method{Candidates: []sampler.Method{costing{mcmc.DULA{StepSize: 2}}}}
	assert.Less(t, exact.PValue(final(t, biased, m, 60, nil), p), 1e-6)
}

// costing is a method of another name.
type costing struct{ sampler.Method }

// After warm-up a step is that of the kernel chosen, bit by bit, and of no other.
func TestTheChosenKernelMovesTheChains(t *testing.T) {
	m := pairs()
	c := runs.Run(t, m, three(), sampler.Config{Chains: 8, Seed: 5, Warmup: 300}, 1)
	for b, made := range c.Kernels() {
		k := inner(made)
		require.Equal(t, decided, k.phase)
		alone := exact.Must(k.now().method.Kernel(context.Background(), m, 2))
		x := append([]int32(nil), c.States()[b*8:(b+1)*8]...)
		require.NoError(t, alone.Reset(sampler.Control{}, x))
		require.NoError(t, alone.UnmarshalBinary(exact.Must(k.now().kernel.AppendBinary(nil))))
		y := append([]int32(nil), x...)
		require.NoError(t, k.Reset(sampler.Control{}, y))
		require.NoError(t, k.now().kernel.UnmarshalBinary(exact.Must(alone.AppendBinary(nil))))
		r, s := streams(9, 2), streams(9, 2)
		info := make([]sampler.Info, 2)
		for range 20 {
			alone.Step(sampler.Control{}, info, x, r)
			k.Step(sampler.Control{}, info, y, s)
			require.Equal(t, x, y)
		}
	}
}

// A checkpoint after any step of warm-up goes on to the same bits: states, tuning,
// choice.
func TestResumeAfterEveryStep(t *testing.T) {
	m, of := pairs(), 190
	begin := func() (sampler.Kernel, []int32, []sampler.Stream) {
		k := exact.Must(three().Kernel(context.Background(), m, 2))
		x := []int32{0, 1, 0, 1, 1, 1, 0, 0}
		require.NoError(t, k.Reset(sampler.Control{}, x))
		return k, x, streams(3, 2)
	}
	whole, want, r := begin()
	drive(whole, want, r, 0, of+10, of, nil)
	wanted := exact.Must(whole.AppendBinary(nil))
	phases := map[phase]bool{}
	for at := 0; at <= of+5; at++ {
		if testing.Short() && at%9 != 0 {
			continue
		}
		k, x, r := begin()
		drive(k, x, r, 0, at, of, nil)
		phases[inner(k).phase] = true
		saved := exact.Must(k.AppendBinary(nil))
		other, _, _ := begin()
		require.NoError(t, other.UnmarshalBinary(saved))
		again := exact.Must(other.AppendBinary(nil))
		require.Equal(t, saved, again, "step %d", at)
		drive(other, x, r, at, of+10, of, nil)
		require.Equal(t, want, x, "saved after %d steps", at)
		require.Equal(t, wanted, exact.Must(other.AppendBinary(nil)), "saved after %d steps", at)
		for _, n := range []int{0, 7, len(saved) / 2, len(saved) - 1} {
			require.Error(t, other.UnmarshalBinary(saved[:n]))
		}
	}
	require.Len(t, phases, 4)
	runs.Resume(t, m, three())
}

// Parts of a run and any number of workers give the bits and the choices of the whole.
func TestPartsAndWorkers(t *testing.T) {
	m := exact.Must(model.NewIsing(model.Lattice{4, 4}, .3, .1))
	cfg := sampler.Config{Chains: 64, Seed: 2, Warmup: 700, Workers: 1}
	whole := runs.Run(t, m, Method{}, cfg, 5)
	cfg.Workers = 3
	assert.Equal(t, whole.States(), runs.Run(t, m, Method{}, cfg, 5).States())
	part := runs.Run(t, m, Method{}, exact.Must(cfg.Part(1, 2)), 5)
	assert.Equal(t, whole.States()[32*16:], part.States())
	assert.Equal(t, Reports(whole)[1], Reports(part)[0])
}

// Candidates that do not fit are left out and named, as are those that warm-up has no
// space for.
func TestReports(t *testing.T) {
	potts := exact.Must(model.NewPotts(model.Lattice{4, 4}, 3, .5, nil))
	c := runs.Run(t, potts, Method{}, sampler.Config{Chains: 4, Seed: 1}, 1)
	for _, r := range Reports(c) {
		require.GreaterOrEqual(t, r.Chosen, 0)
		chosen := r.Candidates[r.Chosen]
		assert.Empty(t, chosen.Left)
		assert.Positive(t, chosen.Rate())
		for _, a := range r.Candidates {
			switch a.Name {
			case "dhams", "pdhams", "block-gibbs", "subgraph", "tempering":
				assert.NotEmpty(t, a.Left)
				assert.Zero(t, a.Rate())
			default:
				assert.Empty(t, a.Left)
				assert.Positive(t, a.Steps)
			}
		}
	}
	assert.Empty(t, c.Warnings())
	assert.Nil(t, Reports(nil))
	assert.Nil(t, Reports(runs.Run(t, potts, mcmc.Gibbs{}, sampler.Config{Warmup: -1}, 1)))
	waiting := exact.Must(sampler.NewChains(context.Background(), potts, Method{}, sampler.Config{}))
	assert.Equal(t, -1, Reports(waiting)[0].Chosen)
	for warmup, want := range map[int]string{
		-1:  "there was no warm-up to try candidates in: gibbs moves the chains without a trial",
		100: "too short to try 3 candidates, want ≥ 60 steps for each: gibbs moves",
		170: "too short to try more than 2 of 3 candidates",
	} {
		c := runs.Run(t, pairs(), three(), sampler.Config{Warmup: warmup}, 3)
		require.NotEmpty(t, c.Warnings(), warmup)
		assert.Contains(t, c.Warnings()[0], want)
		for _, r := range Reports(c) {
			require.GreaterOrEqual(t, r.Chosen, 0)
			assert.True(t, warmup > 0 == (r.Candidates[2].Left != ""))
		}
	}
}

// On a cold spin glass in a field whose graph is almost a tree, forests win.
func TestSparseGlass(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var edges []model.Edge
	for i := 1; i < 200; i++ {
		edges = append(edges, model.Edge{I: i, J: r.IntN(i), W: float64(1 - 2*r.IntN(2))})
	}
	edges = append(edges, model.Edge{I: 3, J: 190, W: 1}, model.Edge{I: 8, J: 150, W: -1})
	m := exact.Must(model.NewIsing(exact.Must(model.NewGraph(200, edges)), 2, 0.7))
	c := runs.Run(t, m, Method{}, sampler.Config{Chains: 8, Seed: 1, Warmup: 1000}, 1)
	report := Reports(c)[0]
	assert.Equal(t, "subgraph", report.Candidates[report.Chosen].Name)
}

// A count within which pairs move has three candidates, another language DMALA alone.
func TestWithin(t *testing.T) {
	m := exact.Must(model.NewIsing(model.Lattice{4, 4}, .2, 0))
	two := constraint.Count{Levels: []int32{1}, Min: 8, Max: 8}
	c := runs.Run(t, m, Method{Within: two}, sampler.Config{Warmup: 300}, 3)
	for i := range 4 {
		require.True(t, constraint.Accepts(two, c.States()[16*i:16*(i+1)]))
	}
	assert.Empty(t, Reports(c)[0].Candidates[2].Left)
	apart, err := constraint.Avoids([]int32{1, 1})
	require.NoError(t, err)
	c = runs.Run(t, m, Method{Within: apart}, sampler.Config{Warmup: 200}, 3)
	r := Reports(c)[0]
	assert.Equal(t, 0, r.Chosen)
	assert.Contains(t, r.Candidates[1].Left, "no count")
	open := constraint.Count{Levels: []int32{1}, Min: 2, Max: 8}
	assert.Contains(t, Reports(exact.Must(sampler.NewChains(context.Background(), m, Method{Within: open}, sampler.Config{})))[0].Candidates[2].Left, "leaves open")
	// Before and after the choice a start is one of the language, also of a kernel that
	// was dropped.
	k := exact.Must(Method{Within: two}.Kernel(context.Background(), m, 1)).(*starting)
	for range 2 {
		x := make([]int32, 16)
		require.NoError(t, k.Start(x, sampler.NewStream(1, 1)))
		require.True(t, constraint.Accepts(two, x))
		require.NoError(t, k.Reset(sampler.Control{}, x))
		k.decide(1)
	}
}

// stubborn kernels refuse every Reset after the first, silent ones do not count.
type stubborn struct{ silent bool }

func (s stubborn) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	k := exact.Must(mcmc.Metropolis{}.Kernel(ctx, m, chains))
	if s.silent {
		return struct{ sampler.Kernel }{k}, nil
	}
	return &once{Kernel: k}, nil
}

type once struct {
	sampler.Kernel
	resets int
}

var errStubborn = errors.New("no more")

func (k *once) Reset(ctl sampler.Control, x []int32) error {
	if k.resets++; k.resets > 1 {
		return errStubborn
	}
	return k.Kernel.Reset(ctl, x)
}

func (k *once) Cost([]sampler.Info) float64 { return 1 }

func TestCandidatesThatFail(t *testing.T) {
	m := pairs()
	c := runs.Run(t, m, Method{Candidates: []sampler.Method{mcmc.Gibbs{}, stubborn{}, stubborn{silent: true}, mcmc.DMALA{}}}, sampler.Config{Warmup: 400}, 3)
	for _, r := range Reports(c) {
		assert.Contains(t, r.Candidates[1].Left, "no more")
		assert.Contains(t, r.Candidates[2].Left, "want a sampler.Costed one")
		assert.NotEqual(t, 1, r.Chosen)
	}
	chains := exact.Must(sampler.NewChains(context.Background(), m, Method{Candidates: []sampler.Method{stubborn{}, stubborn{}}}, sampler.Config{Warmup: 400}))
	assert.ErrorIs(t, chains.Run(context.Background(), 1), errStubborn)
}

func TestRefusals(t *testing.T) {
	m := exact.Must(model.NewPotts(model.Lattice{3, 3}, 3, .5, nil))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	language := constraint.Count{Levels: []int32{1}, Max: 2}
	for want, a := range map[string]Method{
		"auto: Method: len(Candidates) = 0, want ≥ 1":                                              {Candidates: []sampler.Method{}},
		"auto: Method: len(Candidates) = 65, want ≤ 64":                                            {Candidates: make([]sampler.Method, 65)},
		"auto: Method: Candidates[1] = nil":                                                        {Candidates: []sampler.Method{mcmc.Gibbs{}, nil}},
		"auto: Method: Candidates[0] = (*mcmc.DMALA)(nil)":                                         {Candidates: []sampler.Method{(*mcmc.DMALA)(nil)}},
		"auto: Method: Within is set, and so are 1 Candidates":                                     {Candidates: []sampler.Method{mcmc.Gibbs{}}, Within: language},
		"auto: Method: Within = (*constraint.Count)(nil)":                                          {Within: (*constraint.Count)(nil)},
		"auto: Method: no candidate fits the model *model.Potts: Candidates[0]: momentum: DHAMS: ": {Candidates: []sampler.Method{momentum.DHAMS{}, mcmc.BlockGibbs{}}},
	} {
		_, err := a.Kernel(context.Background(), m, 2)
		assert.ErrorContains(t, err, want)
	}
	_, err := Method{Within: language}.Kernel(ctx, m, 2)
	assert.ErrorIs(t, err, context.Canceled)
	_, err = Method{}.Kernel(context.Background(), nil, 2)
	assert.ErrorContains(t, err, "model = nil")
}

func TestStepsAllocateNothing(t *testing.T) {
	m := exact.Must(model.NewIsing(model.Lattice{4, 4}, .3, .1))
	k := exact.Must(Method{}.Kernel(context.Background(), m, 2))
	x, r, info := make([]int32, 32), streams(1, 2), make([]sampler.Info, 2)
	require.NoError(t, k.Reset(sampler.Control{}, x))
	drive(k, x, r, 0, 400, 700, nil)
	require.Equal(t, trying, inner(k).phase)
	exact.Steady(t, "trial", func() { k.Step(sampler.Control{}, info, x, r) })
	drive(k, x, r, 400, 700, 700, nil)
	require.Equal(t, decided, inner(k).phase)
	exact.Steady(t, "chosen", func() { k.Step(sampler.Control{}, info, x, r) })
}

// Every kernel counts: positive, finite, and as much for each of more chains.
func TestEveryKernelCounts(t *testing.T) {
	count := constraint.Count{Levels: []int32{1}, Min: 2, Max: 3}
	blocks := mcmc.BlockGibbs{Blocks: [][]int{{0, 1}}}
	methods := []sampler.Method{
		mcmc.BlockGibbs{}, blocks, mcmc.Cyclical{}, mcmc.DLMC{}, mcmc.DMALA{}, mcmc.DMALA{Within: count}, mcmc.DMALA{Balance: mcmc.Barker, Exact: true}, mcmc.DMAPS{}, mcmc.DULA{}, mcmc.DUPS{}, mcmc.GWG{}, mcmc.Gibbs{},
		mcmc.Gibbs{Scan: mcmc.Random}, mcmc.HammingBall{}, mcmc.LocallyBalanced{}, mcmc.Metropolis{}, mcmc.Metropolis{Scan: mcmc.Systematic}, mcmc.PairGibbs{}, mcmc.Paths{},
		mcmc.Subgraph{}, mcmc.Subgraph{Width: 1}, mcmc.Swap{}, mcmc.Tempering{}, cluster.Houdayer{}, cluster.SwendsenWang{}, cluster.Wolff{}, momentum.DHAMS{}, momentum.PDHAMS{}, Method{},
	}
	for name, m := range exact.Library(t) {
		for _, method := range methods {
			k, err := method.Kernel(context.Background(), m, 2)
			if err != nil {
				continue
			}
			cost := k.(sampler.Costed).Cost
			one := cost([]sampler.Info{{Accept: 1, Moved: 3}})
			assert.True(t, one > 0 && !math.IsInf(one, 0), "%s: %T: %v", name, method, one)
			if _, ok := method.(mcmc.Tempering); !ok {
				assert.InEpsilon(t, 2*one, cost(make2()), 1e-12, "%s: %T", name, method)
			}
		}
	}
	silent := stubborn{silent: true}
	for _, method := range []sampler.Method{mcmc.Tempering{Base: silent}, cluster.Houdayer{Base: silent}} {
		k := exact.Must(method.Kernel(context.Background(), pairs(), 1))
		assert.True(t, math.IsNaN(k.(sampler.Costed).Cost(make([]sampler.Info, 1))))
	}
}

func make2() []sampler.Info { return []sampler.Info{{Accept: 1, Moved: 3}, {Accept: 1, Moved: 3}} }
