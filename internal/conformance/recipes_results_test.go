package conformance_test

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/series"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/fit"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/lagrange"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// runChain runs a method for a few draws: the states, the statistics and the name
// that checkpoints know it by.
func runChain(t *testing.T, form any) []any {
	return runMethod(t, form.(sampler.Method))
}

func runMethod(t *testing.T, m sampler.Method) []any {
	c := newChains(t, m)
	require.NoError(t, c.Run(context.Background(), 12))
	result := []any{slices.Clone(c.States()), c.Stats(), c.StepSizes(), len(mcmc.Ladders(c))}
	if named, ok := m.(sampler.Named); ok {
		result = append(result, named.Name())
	}
	return result
}

// A checkpoint does not know in which form its method was handed over, nor in
// which form the method's own fields were.
func TestRecipesShareCheckpoints(t *testing.T) {
	two := constraint.Count{Levels: []int32{1}, Min: 2, Max: 5}
	pairs := []recipe{
		{"DMALA.Within", []any{mcmc.DMALA{Within: two}, &mcmc.DMALA{Within: &two}}},
		{"PairGibbs.Within", []any{mcmc.PairGibbs{Within: two}, mcmc.PairGibbs{Within: &two}}},
		{"Tempering.Base", []any{mcmc.Tempering{Rungs: 3, Base: mcmc.Gibbs{}}, mcmc.Tempering{Rungs: 3, Base: &mcmc.Gibbs{}}}},
	}
	for _, r := range append(methodForms(), pairs...) {
		t.Run(r.name, func(t *testing.T) {
			value, pointer := r.forms[0].(sampler.Method), r.forms[1].(sampler.Method)
			require.NoError(t, newChains(t, pointer).Load(t.Context(), savedChains(t, value)))
			require.NoError(t, newChains(t, value).Load(t.Context(), savedChains(t, pointer)))
		})
	}
	three := constraint.Count{Levels: []int32{1}, Min: 3, Max: 3}
	require.Error(t, newChains(t, mcmc.DMALA{Within: &three}).Load(t.Context(), savedChains(t, mcmc.DMALA{Within: &two})), "another language")

	// Compiled languages count by what they accept.
	compiled := func(c constraint.Count) *constraint.DFA {
		return exact.Must(constraint.Compile(context.Background(), c, 2, constraint.Limits{}))
	}
	many := compiled(constraint.Count{Levels: []int32{1}, Min: 5, Max: constraint.Unbounded})
	require.ErrorContains(t, newChains(t, mcmc.PairGibbs{Within: compiled(three)}).Load(t.Context(), savedChains(t, mcmc.PairGibbs{Within: many})), "Within")
	require.ErrorContains(t, newChains(t, mcmc.DMALA{Within: compiled(three)}).Load(t.Context(), savedChains(t, mcmc.DMALA{Within: many})), "Within")
}

func newChains(t *testing.T, m sampler.Method) *sampler.Chains {
	ising := exact.Must(model.NewIsing(model.Lattice{9}, 0.4, 0.1))
	c, err := sampler.NewChains(context.Background(), ising, m, sampler.Config{Chains: 8, Seed: 5, Warmup: 16})
	require.NoError(t, err)
	return c
}

// savedChains returns a checkpoint of a short run.
func savedChains(t *testing.T, m sampler.Method) *bytes.Buffer {
	c := newChains(t, m)
	require.NoError(t, c.Run(context.Background(), 2))
	b := new(bytes.Buffer)
	require.NoError(t, c.Save(b))
	return b
}

// useLanguage decides sequences, is compiled, complemented and intersected, holds a
// kernel, and is projected onto.
func useLanguage(t *testing.T, form any) []any {
	a := form.(constraint.Automaton)
	both := exact.Must(constraint.Intersect(a, constraint.Any{}, constraint.Count{Levels: []int32{0}, Min: 1, Max: constraint.Unbounded}))
	other := constraint.Complement(constraint.Complement(a))
	var result []any
	for _, x := range exact.States(9, 2) {
		result = append(result, constraint.Accepts(a, x), constraint.Accepts(both, x), constraint.Accepts(other, x))
	}
	rest, mask := constraint.Split(a)
	next, classes := exact.Must(constraint.Compile(context.Background(), a, 2, constraint.Limits{})).Table()
	result = append(result, mask, constraint.Accepts(rest, make([]int32, 9)), next, classes, len(both.Parts()))
	result = append(result, resultOf(t, projection.Path{Language: a}, 9, 2)...)
	for _, m := range []sampler.Method{mcmc.PairGibbs{Within: a}, mcmc.DMALA{Within: a}} {
		result = append(result, runMethod(t, m)...)
	}
	return result
}

// useSet measures sequences.
func useSet(_ *testing.T, form any) []any {
	s := form.(constraint.Set)
	result := []any{s.Len()}
	for _, x := range exact.States(9, 2)[:64] {
		g := make([]float64, s.Len())
		s.Violation(g, x)
		result = append(result, g)
	}
	return result
}

// expectedOnesScore bounds the expected number of ones.
func expectedOnesScore() constraint.Score {
	return constraint.Score{
		F: func(v []float32) float64 {
			sum := 0.0
			for i := 1; i < len(v); i += 2 {
				sum += float64(v[i])
			}
			return sum
		},
		Gradient: func(dst, _ []float32, w float64) {
			for i := 1; i < len(dst); i += 2 {
				dst[i] += float32(w)
			}
		},
		Decide: func(x []int32) float64 {
			sum := 0.0
			for _, l := range x {
				sum += float64(l)
			}
			return sum
		},
		Threshold: 2,
	}
}

// useSmooth leads a search.
func useSmooth(t *testing.T, form any) []any {
	return resultOf(t, lagrange.Projector{Constraint: form.(constraint.Smooth), Inner: 3}, 9, 2)
}

func useProjector(t *testing.T, form any) []any {
	return resultOf(t, form.(diffusion.Projector), 9, 2)
}

// resultOf binds a projector and projects one table three times, each as often
// committed as the projection allows.
func resultOf(t *testing.T, p diffusion.Projector, sites, levels int) []any {
	bound, err := p.Bind(context.Background(), sites, levels, 1)
	require.NoError(t, err)
	var result []any
	src := rand.NewPCG(7, 7)
	for k := range 3 {
		v := make([]float32, sites*levels)
		for i := range v {
			v[i] = float32(math.Sin(float64(i*i + k)))
		}
		worst, err := bound.Project(context.Background(), 0, v, 0.5, 0.4, src)
		require.NoError(t, err)
		result = append(result, worst, slices.Clone(v))
		if c, ok := bound.(diffusion.Committer); ok {
			x := make([]int32, sites)
			for i := range x {
				if v[i*levels+1] > v[i*levels] {
					x[i] = 1
				}
			}
			result = append(result, x, c.Commit(t.Context(), x, v, src) == nil)
		}
		if d, ok := bound.(diffusion.Drawer); ok {
			x := make([]int32, sites)
			logZ, err := d.Draw(t.Context(), x, v, src)
			require.NoError(t, err)
			result = append(result, logZ, x)
		}
	}
	return result
}

// limitedSeries is a system of linear rows on a series of nine.
func limitedSeries() *series.System {
	b := series.NewBuilder(series.Shape{Length: 9, Channels: 1})
	b.Mean(0, 0.25)
	b.ArgMax(0, 4)
	return exact.Must(b.Build())
}

// useLinear projects a series: onto a set, with the work that it took, or with a
// projector.
func useLinear(t *testing.T, form any) []any {
	if p, ok := form.(diffusion.Projector); ok {
		return resultOf(t, p, 9, 1)
	}
	solver, err := proximal.Projector{Set: form.(constraint.Smooth)}.Compile(context.Background(), 9)
	require.NoError(t, err)
	z, v := make([]float64, 9), []float64{1, -2, 0.5, 3, 1, -1, 0.25, 2, -0.5}
	cert, err := solver.Solve(z, v)
	require.NoError(t, err)
	return []any{z, cert}
}

// useRule moves two multipliers by five batches.
func useRule(t *testing.T, form any) []any {
	u, err := form.(dual.Rule).Bind(context.Background(), 2)
	require.NoError(t, err)
	lambda := []float64{0.5, 0}
	var result []any
	for step := range 5 {
		require.NoError(t, u.Update(lambda, &dual.Batch{
			Step: step, States: 8, Beta: 1, Mean: []float64{0.3, -0.1}, Cov: []float64{1, 0.2, 0.2, 2}, Max: math.Inf(1),
		}))
		result = append(result, slices.Clone(lambda))
	}
	return append(result, exact.Must(u.AppendBinary(nil)))
}

// useObjective fits a small model by an objective.
func useObjective(t *testing.T, form any) []any {
	m := exact.Must(model.NewDenseQuadratic(2, make([]float64, 4), model.Polynomial{}))
	p := exact.Must(m.Learn())
	chains := exact.Must(sampler.NewChains(context.Background(), p, mcmc.Gibbs{}, sampler.Config{Chains: 4, Warmup: -1}))
	f := exact.Must(fit.New(context.Background(), p, []int32{0, 0, 1, 1, 1, 0, 1, 1}, fit.Config{Objective: form.(fit.Objective), Chains: chains}))
	require.NoError(t, f.Run(context.Background(), 5))
	return []any{f.Params(), chains.States()}
}

// useSchedule asks a schedule as a process does, after Resolve.
func useSchedule(_ *testing.T, form any) []any {
	s := exact.Must(noise.Resolve("test", form.(noise.Schedule)))
	var result []any
	for k := range 17 {
		a := s.Alpha(float64(k) / 16)
		result = append(result, a, s.Time(a))
	}
	return result
}

// neighbourDenoiser predicts a token from those beside it, of nine sites and three
// levels of which the last may be the mask.
type neighbourDenoiser[S energy.Site] struct{ levels int }

func (n neighbourDenoiser[S]) Shape() (sites, levels int) { return 9, n.levels }

func (n neighbourDenoiser[S]) Denoise(_ context.Context, v []float32, q energy.Noised[S]) error {
	for i, x := range q.X {
		for l := range n.levels {
			v[i*n.levels+l] = float32(math.Sin(float64(i%9+3*l))) + 0.1*float32(x)
		}
	}
	return nil
}

func useProcess(t *testing.T, form any) []any {
	return resultOfSampling[int32](t, neighbourDenoiser[int32]{3}, form.(diffusion.Process[int32]))
}

func useRealProcess(t *testing.T, form any) []any {
	return resultOfSampling[float32](t, neighbourDenoiser[float32]{1}, form.(diffusion.Process[float32]))
}

// resultOfSampling runs a reverse process for a few steps.
func resultOfSampling[S energy.Site](t *testing.T, d energy.Denoiser[S], p diffusion.Process[S]) []any {
	r, err := diffusion.New(context.Background(), d, p, diffusion.Config{Steps: 6, Seed: 4})
	require.NoError(t, err)
	x := make([]S, 4*9)
	require.NoError(t, r.Sample(context.Background(), x))
	return []any{x}
}
