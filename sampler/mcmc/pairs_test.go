package mcmc

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// pairMatrix is the matrix of one update of PairGibbs.
func pairMatrix(k *pairGibbs, all [][]int32) *exact.Matrix {
	pairs := float64(k.Sites * (k.Sites - 1) / 2)
	return exact.NewMatrix(len(all), func(x int, dst []float64) {
		if sweeptest.Stuck(k, all[x], x, dst) {
			return
		}
		k.begin(all[x])
		y := make([]int32, k.Sites)
		for j := range k.Sites {
			for i := range j {
				copy(y, all[x])
				for c, p := range sweeptest.Conditional(sweep.HeatBath, k.w, k.joint(0, i, j, all[x])) {
					y[i], y[j] = int32(c/k.Levels), int32(c%k.Levels)
					dst[exact.Index(y, k.Levels)] += p / pairs
				}
			}
		}
	})
}

// swapMatrix is the matrix of one update of Swap.
func swapMatrix(t *testing.T, k *swap, all [][]int32) *exact.Matrix {
	return exact.NewMatrix(len(all), func(x int, dst []float64) {
		if sweeptest.Stuck(k, all[x], x, dst) {
			return
		}
		k.begin(all[x])
		pairs := 0
		for j := range k.Sites {
			for i := range j {
				if all[x][i] == all[x][j] {
					continue
				}
				pairs++
				y := append([]int32(nil), all[x]...)
				y[i], y[j] = y[j], y[i]
				_, a, ok := k.judge(0, i, j, all[x])
				require.True(t, ok)
				dst[exact.Index(y, k.Levels)] += a
			}
		}
		for y := range dst {
			dst[y] /= float64(max(1, pairs))
		}
		sweeptest.Stay(dst, x)
	})
}

// hardcore is the hard-core gas on a periodic square: occupied sites weigh
// z > 0, and neighbours exclude each other. It has no caches.
func hardcore(side int, z float64) energy.Func {
	return energy.Func{Sites: side * side, Levels: 2, E: func(x []int32) float64 {
		e := 0.0
		for i, l := range x {
			right, down := i/side*side+(i+1)%side, (i+side)%(side*side)
			if l == 1 && (x[right] == 1 || x[down] == 1) {
				return math.Inf(1)
			}
			e -= float64(l) * math.Log(z)
		}
		return e
	}}
}

// pairMethods are the kernels that move two sites, and blocks, in a language.
func pairMethods(a constraint.Automaton) map[string]sampler.Method {
	return map[string]sampler.Method{
		"PairGibbs":   PairGibbs{Within: a, Updates: 1},
		"PairGibbs-2": PairGibbs{Within: a, Updates: 2},
		"Swap":        Swap{Within: a, Updates: 1},
		"Swap-3":      Swap{Within: a, Updates: 3},
		"BlockGibbs":  BlockGibbs{Blocks: [][]int{{0, 2}, {1, 2}}, Within: a},
	}
}

// settings of a model and a language under which pairs move.
type confinement struct {
	model  energy.Model
	within constraint.Automaton
}

func confinements(t *testing.T) map[string]confinement {
	all := map[string]confinement{}
	for name, c := range languages(t) {
		all[name] = confinement(c)
	}
	lib := exact.Library(t)
	apart, err := constraint.Avoids([]int32{1, 1})
	require.NoError(t, err)
	two := constraint.Count{Levels: []int32{1}, Min: 2, Max: 2}
	apart2, err := constraint.Intersect(apart, two)
	require.NoError(t, err)
	all["glass/two-apart"] = confinement{lib["glass"], apart2}
	all["potts/count"] = confinement{lib["potts"], constraint.Count{Levels: []int32{0}, Min: 1, Max: 3}}
	all["hardcore/two"] = confinement{hardcore(3, 2), two}
	all["rugged/all"] = confinement{exact.NewRugged(5, 2, 1, 0, 8), constraint.Any{}}
	return all
}

func TestPairsWithinALanguageAreExact(t *testing.T) {
	exact.SkipRepeated(t)
	for name, c := range confinements(t) {
		pi := restricted(c.model, c.within)
		sites, levels := c.model.Shape()
		for kind, method := range pairMethods(c.within) {
			t.Run(kind+"/"+name, func(t *testing.T) {
				p := transition(t, exact.Must(method.Kernel(context.Background(), c.model, 1)), sites, levels)
				assert.LessOrEqual(t, p.RowError(), 1e-12)
				assert.LessOrEqual(t, p.MaxDiff(pi), 1e-12)
				if kind != "BlockGibbs" { // which visits its blocks in order
					assert.LessOrEqual(t, p.DetailedBalance(pi), 1e-12)
				}
				exact.Transitions(t, sweeptest.Observed(t, c.model, method, sweeptest.Many(128), 9), p, exact.Rate)
			})
		}
	}
}

// Without a language the kernels are exact on all states.
func TestPairsWithoutALanguage(t *testing.T) {
	exact.SkipRepeated(t)
	for name, m := range exact.Library(t) {
		pi, _ := exact.Law(m)
		sites, levels := m.Shape()
		for _, method := range []sampler.Method{PairGibbs{Updates: 1}, Swap{Updates: 1}} {
			if sites > 6 {
				continue // large matrices, and nothing new
			}
			p := transition(t, exact.Must(method.Kernel(context.Background(), m, 1)), sites, levels)
			assert.LessOrEqual(t, p.DetailedBalance(pi), 1e-12, "%T on %s", method, name)
		}
	}
}

// Kernels that forget the language, the energies or the Metropolis step must be
// found out.
func TestBrokenPairsAreFoundOut(t *testing.T) {
	exact.SkipUnderRace(t)
	up := constraint.Count{Levels: []int32{1}, Min: 2, Max: 3}
	m := exact.NewRugged(6, 2, 1, 0, 1)
	pi := restricted(m, up)
	free := transition(t, exact.Must(PairGibbs{Updates: 1}.Kernel(context.Background(), m, 1)), 6, 2)
	assert.Greater(t, free.MaxDiff(pi), 1e-3, "pairs that leave the language")

	flat := exact.NewRugged(6, 2, 0, 0, 1)
	blind := transition(t, exact.Must(PairGibbs{Within: up, Updates: 1}.Kernel(context.Background(), flat, 1)), 6, 2)
	assert.Greater(t, blind.MaxDiff(pi), 1e-3, "pairs that do not weigh energies")

	eager := transition(t, exact.Must(Swap{Within: up, Updates: 1}.Kernel(context.Background(), flat, 1)), 6, 2)
	assert.Greater(t, eager.MaxDiff(pi), 1e-3, "exchanges that are never rejected")

	right := transition(t, exact.Must(Swap{Within: up, Updates: 1}.Kernel(context.Background(), m, 1)), 6, 2)
	v, _ := exact.TransitionsPValue(sweeptest.Observed(t, flat, Swap{Within: up, Updates: 1}, 640, 9), right)
	assert.Less(t, v, exact.Rate, "draws tell, too")
}

// parts returns how many classes of states of positive probability the kernel
// does not connect.
func parts(p *exact.Matrix, pi []float64) int {
	n, seen := 0, make([]bool, len(pi))
	for x := range pi {
		if pi[x] == 0 || seen[x] {
			continue
		}
		n++
		seen[x] = true
		for queue := []int{x}; len(queue) > 0; queue = queue[1:] {
			for y, q := range p.Row(queue[0]) {
				if q > 0 && !seen[y] {
					seen[y] = true
					queue = append(queue, y)
				}
			}
		}
	}
	return n
}

// What the documentation says of irreducibility, on all states of small spaces.
func TestPairsReachWhatIsDocumented(t *testing.T) {
	exact.SkipUnderRace(t)
	apart, err := constraint.Avoids([]int32{1, 1})
	require.NoError(t, err)
	count := func(low, high int) constraint.Automaton {
		return constraint.Count{Levels: []int32{1}, Min: low, Max: high}
	}
	both := func(a, b constraint.Automaton) constraint.Automaton {
		i, err := constraint.Intersect(a, b)
		require.NoError(t, err)
		return i
	}
	mask, err := constraint.NewMask(3, [][]int32{{0, 1}, {1, 2}, nil, {0, 2}})
	require.NoError(t, err)
	twins, err := constraint.NewDFA(t.Context(), 2, []int32{1, 2, 1, -1, -1, 2}, []bool{false, true, true})
	require.NoError(t, err)
	const undocumented = -1
	// Swap has one part for each way to divide the sites among the levels.
	for name, c := range map[string]struct {
		sites, levels int
		within        constraint.Automaton
		pairs, swaps  int // parts
	}{
		"fixed count":        {7, 2, count(3, 3), 1, 1},
		"window":             {6, 2, count(2, 4), 1, 3},
		"window of levels":   {4, 3, constraint.Count{Levels: []int32{0, 2}, Min: 1, Max: 2}, 1, 5},
		"mask and count":     {4, 3, both(mask, count(2, 2)), 1, undocumented},
		"apart":              {7, 2, apart, 1, 5},
		"three apart":        {8, 2, both(apart, count(3, 3)), 1, 1},
		"all or nothing":     {3, 2, twins, 2, 2},
		"everything, nobody": {4, 2, constraint.Any{}, 1, 5},
	} {
		m := exact.NewRugged(c.sites, c.levels, 1, 0, 3)
		pi := restricted(m, c.within)
		p := transition(t, exact.Must(PairGibbs{Within: c.within, Updates: 1}.Kernel(context.Background(), m, 1)), c.sites, c.levels)
		assert.Equal(t, c.pairs, parts(p, pi), "PairGibbs, %s", name)
		if c.swaps == undocumented {
			continue
		}
		p = transition(t, exact.Must(Swap{Within: c.within, Updates: 1}.Kernel(context.Background(), m, 1)), c.sites, c.levels)
		assert.Equal(t, c.swaps, parts(p, pi), "Swap, %s", name)
	}
}

func TestPairsStayInsideAndStartThere(t *testing.T) {
	exact.SkipUnderRace(t)
	for name, c := range confinements(t) {
		for kind, method := range pairMethods(c.within) {
			k := exact.Must(method.Kernel(context.Background(), c.model, 1)).(sampler.Starter)
			sites, _ := c.model.Shape()
			x := make([]int32, sites)
			require.NoError(t, k.Start(x, sampler.NewStream(1, 2)))
			assert.True(t, constraint.Accepts(c.within, x), "%s: %s starts at %v", name, kind, x)
		}
		for kind, method := range pairMethods(c.within) {
			runs.Run(t, c.model, method, sampler.Config{Chains: 40, Seed: 2, Warmup: -1, Workers: 1, Observe: func(_, _ int, x []int32, _ *sampler.Info) {
				require.True(t, constraint.Accepts(c.within, x), "%s: %s went to %v", name, kind, x)
			}}, 30)
		}
	}
}

// Replica exchange starts where its base kernels can.
func TestTemperingWithinALanguage(t *testing.T) {
	exact.SkipRepeated(t)
	up := constraint.Count{Levels: []int32{1}, Min: 4, Max: 4}
	for _, base := range []sampler.Method{PairGibbs{Within: up}, DMALA{Within: up}, Gibbs{}} {
		c := runs.Run(t, exact.NewQuadratic(9, 1), Tempering{Base: base, Rungs: 3}, sampler.Config{Chains: 40}, 20)
		for s := 0; s < len(c.States()); s += 9 {
			_, free := base.(Gibbs)
			require.True(t, free || constraint.Accepts(up, c.States()[s:s+9]), "%T", base)
		}
	}
}

func TestPairErrors(t *testing.T) {
	m := exact.NewRugged(4, 2, 1, 0, 1)
	for want, method := range map[string]sampler.Method{
		"PairGibbs: Updates = -1": PairGibbs{Updates: -1},
		"Swap: Updates = -2":      Swap{Updates: -2},
		"needs Blocks":            BlockGibbs{Within: constraint.Any{}},
	} {
		_, err := method.Kernel(context.Background(), m, 1)
		assert.ErrorContains(t, err, want)
	}
	_, err := Swap{}.Kernel(context.Background(), exact.NewRugged(1, 2, 1, 0, 1), 1)
	assert.ErrorContains(t, err, "Swap: sites = 1, want ≥ 2")
	never := constraint.Count{Levels: []int32{1}, Min: 5, Max: constraint.Unbounded}
	for name, method := range pairMethods(never) {
		_, err := method.Kernel(context.Background(), m, 1)
		assert.ErrorIs(t, err, constraint.ErrInfeasible, name)
	}
	for name, method := range pairMethods(constraint.Count{Levels: []int32{1}, Min: 2, Max: 2}) {
		c, err := sampler.NewChains(context.Background(), m, method, sampler.Config{Init: make([]int32, 4)})
		require.NoError(t, err)
		var start *sampler.StartError
		require.ErrorAs(t, c.Run(context.Background(), 1), &start, name)
		assert.NotEmpty(t, start.Constraint)
	}
}

// Energies that are NaN: Metropolis rejects and counts them, Gibbs stops.
func TestPairsMeetNaN(t *testing.T) {
	m := exact.Pocked(math.NaN())
	zero := make([]int32, 5)
	zero[0] = 1
	c, err := sampler.NewChains(context.Background(), m, PairGibbs{}, sampler.Config{Init: zero})
	require.NoError(t, err)
	require.ErrorIs(t, c.Run(context.Background(), 50), sampler.ErrNaN)
	half := energy.Func{Sites: 3, Levels: 2, E: func(x []int32) float64 {
		if x[0] == 1 {
			return math.NaN()
		}
		return 0
	}}
	s := runs.Run(t, half, Swap{}, sampler.Config{Init: []int32{0, 1, 0}}, 50)
	assert.Positive(t, s.Stats().Invalid)
	for i := 0; i < len(s.States()); i += 3 {
		assert.Zero(t, s.States()[i])
	}
}

func TestPairsResumeAndAllocateNothing(t *testing.T) {
	up := constraint.Count{Levels: []int32{1}, Min: 3, Max: 5}
	for name, method := range pairMethods(up) {
		for _, m := range []energy.Model{exact.NewQuadratic(9, 1), exact.Library(t)["ising"]} { // without a cache, and with one
			k := exact.Must(method.Kernel(context.Background(), m, 8))
			x := make([]int32, 8*9)
			info, streams := make([]sampler.Info, 8), make([]sampler.Stream, 8)
			for s := range 8 {
				copy(x[9*s:], []int32{1, 1, 1})
			}
			require.NoError(t, k.Reset(sampler.Control{}, x))
			if !exact.Race {
				assert.Zero(t, testing.AllocsPerRun(50, func() { k.Step(sampler.Control{}, info, x, streams) }), name)
			}
		}
		runs.Resume(t, exact.NewQuadratic(9, 1), method)
	}
}

// A seed gives the same states in every release, on every machine.
func TestPairsGolden(t *testing.T) {
	var b strings.Builder
	ising, potts := exact.Library(t)["ising"], exact.Library(t)["potts"]
	for i, m := range []energy.Model{ising, potts, exact.NewRugged(6, 2, 1, 0, 1)} {
		for _, kind := range []string{"PairGibbs", "Swap", "BlockGibbs"} {
			method := pairMethods(constraint.Count{Levels: []int32{1}, Min: 2, Max: 3})[kind]
			c := runs.Run(t, m, method, sampler.Config{Chains: 40, Seed: 1, Warmup: -1}, 50)
			fmt.Fprintf(&b, "%d %s: %016x\n", i, kind, runs.Hash(c.States()))
		}
	}
	exact.Golden(t, "testdata/pairs.golden", b.String())
}

// Kernels that hold the magnetisation of a torus at zero, per site and chain.
func BenchmarkWithin(b *testing.B) {
	for _, side := range []int{8, 32} {
		m, err := model.NewIsing(model.Lattice{side, side}, 0.3, 0)
		if err != nil {
			b.Fatal(err)
		}
		n := side * side
		half := constraint.Count{Levels: []int32{1}, Min: n / 2, Max: n / 2}
		for _, method := range []sampler.Method{DMALA{StepSize: 0.2, Within: half}, PairGibbs{Within: half}, Swap{Within: half}} {
			b.Run(fmt.Sprintf("%T/%d", method, n), func(b *testing.B) {
				const chains = 8
				k := exact.Must(method.Kernel(context.Background(), m, chains))
				x, info, r := make([]int32, chains*n), make([]sampler.Info, chains), make([]sampler.Stream, chains)
				for s := range r {
					r[s] = *sampler.NewStream(1, uint64(s))
					if err := k.(sampler.Starter).Start(x[s*n:(s+1)*n], &r[s]); err != nil {
						b.Fatal(err)
					}
				}
				if err := k.Reset(sampler.Control{}, x); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					k.Step(sampler.Control{}, info, x, r)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*chains*n), "ns/site")
			})
		}
	}
}

// wrapped embeds a count, as a user's own type does.
type wrapped struct{ constraint.Count }

// TestCountByPointerAndInside checks that a count by value, by pointer, inside
// another type and with a mask are all seen as the count that they are, and
// that chains do not tell them apart.
func TestCountByPointerAndInside(t *testing.T) {
	m := exact.NewRugged(5, 3, 1, 0.5, 3)
	for _, c := range []constraint.Count{
		{Levels: []int32{1, 2, 1, 9}, Min: 1, Max: 3},
		{Levels: []int32{0}, Min: 2, Max: constraint.Unbounded},
		{Levels: []int32{2}, Max: 0},
	} {
		mask, err := constraint.NewMask(3, [][]int32{{0, 1}})
		require.NoError(t, err)
		both, err := constraint.Intersect(mask, &c)
		require.NoError(t, err)
		want := newCounted(c, 3)
		require.NotNil(t, want)
		require.Equal(t, max(c.Min, 0), want.min)
		require.Equal(t, c.Max, want.max)
		require.Equal(t, want, newCounted(&c, 3))
		require.Equal(t, want, newCounted(wrapped{c}, 3))
		require.Equal(t, want, newCounted(&wrapped{c}, 3))
		masked := newCounted(both, 3)
		require.Same(t, mask, masked.mask)
		require.Equal(t, want.in, masked.in)

		var runs [][]int32
		for _, language := range []constraint.Automaton{c, &c, wrapped{c}} {
			ch, err := sampler.NewChains(context.Background(), m, PairGibbs{Within: language}, sampler.Config{Chains: 3, Seed: 4})
			require.NoError(t, err)
			require.NoError(t, ch.Run(t.Context(), 40))
			runs = append(runs, ch.States())
		}
		require.Equal(t, runs[0], runs[1])
		require.Equal(t, runs[0], runs[2])
	}
	require.Nil(t, newCounted(constraint.Any{}, 3))
}
