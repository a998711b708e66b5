package gibbsite_test

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

// chain runs a method for a few draws: the states, the statistics and the name
// that checkpoints know it by.
func chain(t *testing.T, form any) []any {
	return chainOf(t, form.(sampler.Method))
}

func chainOf(t *testing.T, m sampler.Method) []any {
	c := chainsOf(t, m)
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
	for _, r := range append(methods(), pairs...) {
		t.Run(r.name, func(t *testing.T) {
			value, pointer := r.forms[0].(sampler.Method), r.forms[1].(sampler.Method)
			require.NoError(t, chainsOf(t, pointer).Load(saved(t, value)))
			require.NoError(t, chainsOf(t, value).Load(saved(t, pointer)))
		})
	}
	three := constraint.Count{Levels: []int32{1}, Min: 3, Max: 3}
	require.Error(t, chainsOf(t, mcmc.DMALA{Within: &three}).Load(saved(t, mcmc.DMALA{Within: &two})), "another language")

	// Compiled languages count by what they accept.
	compiled := func(c constraint.Count) *constraint.DFA {
		return exact.Must(constraint.Compile(context.Background(), c, 2, constraint.Limits{}))
	}
	many := compiled(constraint.Count{Levels: []int32{1}, Min: 5, Max: constraint.Unbounded})
	require.ErrorContains(t, chainsOf(t, mcmc.PairGibbs{Within: compiled(three)}).Load(saved(t, mcmc.PairGibbs{Within: many})), "Within")
	require.ErrorContains(t, chainsOf(t, mcmc.DMALA{Within: compiled(three)}).Load(saved(t, mcmc.DMALA{Within: many})), "Within")
}

func chainsOf(t *testing.T, m sampler.Method) *sampler.Chains {
	ising := exact.Must(model.NewIsing(model.Lattice{9}, 0.4, 0.1))
	c, err := sampler.NewChains(context.Background(), ising, m, sampler.Config{Chains: 8, Seed: 5, Warmup: 16})
	require.NoError(t, err)
	return c
}

// saved returns a checkpoint of a short run.
func saved(t *testing.T, m sampler.Method) *bytes.Buffer {
	c := chainsOf(t, m)
	require.NoError(t, c.Run(context.Background(), 2))
	b := new(bytes.Buffer)
	require.NoError(t, c.Save(b))
	return b
}

// language decides sequences, is compiled, complemented and intersected, holds a
// kernel, and is projected onto.
func language(t *testing.T, form any) []any {
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
	result = append(result, projected(t, projection.Path{Language: a}, 9, 2)...)
	for _, m := range []sampler.Method{mcmc.PairGibbs{Within: a}, mcmc.DMALA{Within: a}} {
		result = append(result, chainOf(t, m)...)
	}
	return result
}

// set measures sequences.
func set(_ *testing.T, form any) []any {
	s := form.(constraint.Set)
	result := []any{s.Len()}
	for _, x := range exact.States(9, 2)[:64] {
		g := make([]float64, s.Len())
		s.Violation(g, x)
		result = append(result, g)
	}
	return result
}

// expectedOnes bounds the expected number of ones.
func expectedOnes() constraint.Score {
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

// smooth leads a search.
func smooth(t *testing.T, form any) []any {
	return projected(t, lagrange.Projector{Constraint: form.(constraint.Smooth), Inner: 3}, 9, 2)
}

func project(t *testing.T, form any) []any {
	return projected(t, form.(diffusion.Projector), 9, 2)
}

// projected binds a projector and projects one table three times, each as often
// committed as the projection allows.
func projected(t *testing.T, p diffusion.Projector, sites, levels int) []any {
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

// limited is a system of linear rows on a series of nine.
func limited() *series.System {
	b := series.NewBuilder(series.Shape{Length: 9, Channels: 1})
	b.Mean(0, 0.25)
	b.ArgMax(0, 4)
	return exact.Must(b.Build())
}

// nearest projects a series: onto a set, with the work that it took, or with a
// projector.
func nearest(t *testing.T, form any) []any {
	if p, ok := form.(diffusion.Projector); ok {
		return projected(t, p, 9, 1)
	}
	solver, err := proximal.Projector{Set: form.(constraint.Smooth)}.Compile(context.Background(), 9)
	require.NoError(t, err)
	z, v := make([]float64, 9), []float64{1, -2, 0.5, 3, 1, -1, 0.25, 2, -0.5}
	cert, err := solver.Solve(z, v)
	require.NoError(t, err)
	return []any{z, cert}
}

// update moves two multipliers by five batches.
func update(t *testing.T, form any) []any {
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

// learn fits a small model by an objective.
func learn(t *testing.T, form any) []any {
	m := exact.Must(model.NewDenseQuadratic(2, make([]float64, 4), model.Polynomial{}))
	p := exact.Must(m.Learn())
	chains := exact.Must(sampler.NewChains(context.Background(), p, mcmc.Gibbs{}, sampler.Config{Chains: 4, Warmup: -1}))
	f := exact.Must(fit.New(context.Background(), p, []int32{0, 0, 1, 1, 1, 0, 1, 1}, fit.Config{Objective: form.(fit.Objective), Chains: chains}))
	require.NoError(t, f.Run(context.Background(), 5))
	return []any{f.Params(), chains.States()}
}

// levels asks a schedule as a process does, after Resolve.
func levels(_ *testing.T, form any) []any {
	s := exact.Must(noise.Resolve("test", form.(noise.Schedule)))
	var result []any
	for k := range 17 {
		a := s.Alpha(float64(k) / 16)
		result = append(result, a, s.Time(a))
	}
	return result
}

// neighbours predicts a token from those beside it, of nine sites and three
// levels of which the last may be the mask.
type neighbours[S energy.Site] struct{ levels int }

func (n neighbours[S]) Shape() (sites, levels int) { return 9, n.levels }

func (n neighbours[S]) Denoise(_ context.Context, v []float32, q energy.Noised[S]) error {
	for i, x := range q.X {
		for l := range n.levels {
			v[i*n.levels+l] = float32(math.Sin(float64(i%9+3*l))) + 0.1*float32(x)
		}
	}
	return nil
}

func tokens(t *testing.T, form any) []any {
	return sampled[int32](t, neighbours[int32]{3}, form.(diffusion.Process[int32]))
}

func reals(t *testing.T, form any) []any {
	return sampled[float32](t, neighbours[float32]{1}, form.(diffusion.Process[float32]))
}

// sampled runs a reverse process for a few steps.
func sampled[S energy.Site](t *testing.T, d energy.Denoiser[S], p diffusion.Process[S]) []any {
	r, err := diffusion.New(context.Background(), d, p, diffusion.Config{Steps: 6, Seed: 4})
	require.NoError(t, err)
	x := make([]S, 4*9)
	require.NoError(t, r.Sample(context.Background(), x))
	return []any{x}
}
