package conformance_test

import (
	"bytes"
	"context"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/constraint/series"
	"github.com/gibbsite-go/gibbsite/constraint/sorted"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/fit"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/lagrange"
	"github.com/gibbsite-go/gibbsite/projection/newton"
	"github.com/gibbsite-go/gibbsite/projection/novelty"
	"github.com/gibbsite-go/gibbsite/projection/prior"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/unmask"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/auto"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/cluster"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/momentum"
)

// recipe is a type that a user writes as a literal, or a language or set, in every
// form in which it can be handed over: the value, a pointer to it and a struct
// that embeds it.
type recipe struct {
	name  string // package.Type
	forms []any
}

// form lists the value, a pointer and what embeds it.
func form[T any](name string, v T, wrapped any) recipe {
	return recipe{name, []any{v, &v, wrapped}}
}

// pointerForm is form for types that a constructor returns a pointer to.
func pointerForm(name string, p, wrapped any) recipe {
	return recipe{name, []any{p, wrapped}}
}

// circleEquation is the equation ‖z‖² = 4.
type circleEquation struct{}

func (circleEquation) Len() int { return 1 }

func (circleEquation) Eval(g, z []float64) {
	g[0] = -4
	for _, x := range z {
		g[0] += x * x
	}
}

func (circleEquation) Gradient(dst []float64, _ int, z []float64) {
	for i, x := range z {
		dst[i] = 2 * x
	}
}

// Every kind of recipe, by what is done with it.
var recipeKinds = map[string]struct {
	recipes func() []recipe
	result  func(*testing.T, any) []any // what must be the same
}{
	"method":    {methodForms, runChain},
	"language":  {languageForms, useLanguage},
	"set":       {setForms, useSet},
	"smooth":    {smoothForms, useSmooth},
	"projector": {projectorForms, useProjector},
	"linear":    {linearForms, useLinear},
	"rule":      {ruleForms, useRule},
	"objective": {objectiveForms, useObjective},
	"schedule":  {scheduleForms, useSchedule},
	"process":   {processForms, useProcess},
	"reals":     {realProcessForms, useRealProcess},
}

func methodForms() []recipe {
	block := mcmc.BlockGibbs{Blocks: [][]int{{0, 1, 2}, {3, 4}}}
	two := constraint.Count{Levels: []int32{1}, Min: 2, Max: 5}
	within := mcmc.DMALA{Within: two}
	tried := auto.Method{Candidates: []sampler.Method{mcmc.DMALA{StepSize: 0.3}, &mcmc.Gibbs{}}}
	return []recipe{
		form("sampler/mcmc.BlockGibbs", block, struct{ mcmc.BlockGibbs }{block}),
		form("sampler/mcmc.Cyclical", mcmc.Cyclical{}, struct{ mcmc.Cyclical }{}),
		form("sampler/mcmc.DLMC", mcmc.DLMC{}, struct{ mcmc.DLMC }{}),
		form("sampler/mcmc.DMALA", mcmc.DMALA{}, struct{ mcmc.DMALA }{}),
		form("sampler/mcmc.DMALA", within, &struct{ mcmc.DMALA }{within}),
		form("sampler/mcmc.DMAPS", mcmc.DMAPS{}, struct{ mcmc.DMAPS }{}),
		form("sampler/mcmc.DULA", mcmc.DULA{}, struct{ mcmc.DULA }{}),
		form("sampler/mcmc.DUPS", mcmc.DUPS{}, struct{ mcmc.DUPS }{}),
		form("sampler/mcmc.GWG", mcmc.GWG{}, struct{ mcmc.GWG }{}),
		form("sampler/mcmc.Gibbs", mcmc.Gibbs{}, struct{ mcmc.Gibbs }{}),
		form("sampler/mcmc.HammingBall", mcmc.HammingBall{Block: 3}, struct{ mcmc.HammingBall }{mcmc.HammingBall{Block: 3}}),
		form("sampler/mcmc.LocallyBalanced", mcmc.LocallyBalanced{}, struct{ mcmc.LocallyBalanced }{}),
		form("sampler/mcmc.Metropolis", mcmc.Metropolis{}, struct{ mcmc.Metropolis }{}),
		form("sampler/mcmc.PairGibbs", mcmc.PairGibbs{}, struct{ mcmc.PairGibbs }{}),
		form("sampler/mcmc.Paths", mcmc.Paths{}, struct{ mcmc.Paths }{}),
		form("sampler/mcmc.Swap", mcmc.Swap{}, struct{ mcmc.Swap }{}),
		form("sampler/mcmc/auto.Method", tried, struct{ auto.Method }{tried}),
		form("sampler/mcmc/cluster.Houdayer", cluster.Houdayer{}, struct{ cluster.Houdayer }{}),
		form("sampler/mcmc/cluster.SwendsenWang", cluster.SwendsenWang{}, struct{ cluster.SwendsenWang }{}),
		form("sampler/mcmc/cluster.Wolff", cluster.Wolff{}, struct{ cluster.Wolff }{}),
		form("sampler/mcmc/momentum.DHAMS", momentum.DHAMS{}, struct{ momentum.DHAMS }{}),
		form("sampler/mcmc/momentum.PDHAMS", momentum.PDHAMS{}, struct{ momentum.PDHAMS }{}),
		form("sampler/mcmc.Tempering", mcmc.Tempering{Rungs: 3}, struct{ mcmc.Tempering }{mcmc.Tempering{Rungs: 3}}),
	}
}

func languageForms() []recipe {
	ctx := context.Background()
	count := constraint.Count{Levels: []int32{1}, Min: 2, Max: 4}
	mask := exact.Must(constraint.NewMask(2, [][]int32{nil, {0}, nil, {1}}))
	dfa := exact.Must(constraint.Compile(ctx, constraint.Count{Levels: []int32{1}, Min: 5, Max: constraint.Unbounded}, 2, constraint.Limits{}))
	both := exact.Must(constraint.Intersect(count, mask))
	residue := exact.Must(constraint.NewResidue([]int{1, 2}, 3, 0))
	sum := exact.Must(constraint.NewSum([]int{1, 3}, 10, 20))
	lexicon := new(constraint.Lexicon)
	lexicon.Add([]int32{0, 1, 0, 1, 1, 0, 0, 1, 0})
	lexicon.Add([]int32{1, 1, 0, 0, 1, 0, 1, 1, 0})
	ends := exact.Must(exact.Must(grammar.Parse(ctx, `s = ("a" | "b") s | "ab"`, constraint.Limits{})).Over(ctx, text.Runes("ab")))
	file := onDisk(slices.Values([][]int32{{1, 0, 1, 0, 1, 0, 1, 0, 0}, {0, 1, 1, 0, 1, 0, 0, 0, 1}}))
	layered := sorted.Layered{Base: onDisk(slices.Values([][]int32{{0, 0, 1, 1, 1, 0, 0, 1, 1}})), Top: new(constraint.Lexicon)}
	layered.Add([]int32{1, 1, 1, 0, 0, 0, 1, 0, 0})
	return []recipe{
		pointerForm("constraint/sorted.Lexicon", file, struct{ *sorted.Lexicon }{file}),
		form("constraint/sorted.Layered", layered, struct{ sorted.Layered }{layered}),
		pointerForm("constraint/grammar.Language", ends, struct{ *grammar.Language }{ends}),
		form("constraint.Any", constraint.Any{}, struct{ constraint.Any }{}),
		form("constraint.Count", count, struct{ constraint.Count }{count}),
		pointerForm("constraint.DFA", dfa, struct{ *constraint.DFA }{dfa}),
		pointerForm("constraint.Intersection", both, struct{ *constraint.Intersection }{both}),
		pointerForm("constraint.Lexicon", lexicon, struct{ *constraint.Lexicon }{lexicon}),
		pointerForm("constraint.Mask", mask, struct{ *constraint.Mask }{mask}),
		pointerForm("constraint.Residue", residue, struct{ *constraint.Residue }{residue}),
		pointerForm("constraint.Sum", sum, struct{ *constraint.Sum }{sum}),
	}
}

// onDisk writes a lexicon and maps it.
func onDisk(all iter.Seq[[]int32]) *sorted.Lexicon {
	dir := exact.Must(os.MkdirTemp("", "sorted"))
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "lexicon")
	exact.Must(sorted.Build(context.Background(), path, 2, all))
	return exact.Must(sorted.Open(path))
}

func setForms() []recipe {
	count := constraint.Count{Levels: []int32{1}, Min: 2, Max: 4}
	sum := exact.Must(constraint.NewSum([]int{1, 3}, 10, 20))
	linear := constraint.Linear{A: constraint.Rows([]float64{1, 0, 1, 0, 0, 0, 0, 0, 1}, 9), B: []float64{1}}
	score := expectedOnesScore()
	return []recipe{
		form("constraint.Count", count, struct{ constraint.Count }{count}),
		form("constraint.Linear", linear, struct{ constraint.Linear }{linear}),
		form("constraint.Score", score, struct{ constraint.Score }{score}),
		pointerForm("constraint.Sum", sum, struct{ *constraint.Sum }{sum}),
	}
}

func smoothForms() []recipe {
	linear := constraint.Count{Levels: []int32{1}, Max: 3}.Linear(9, 2)
	score := expectedOnesScore()
	return []recipe{
		form("constraint.Linear", linear, struct{ constraint.Linear }{linear}),
		form("constraint.Score", score, struct{ constraint.Score }{score}),
	}
}

func projectorForms() []recipe {
	path := projection.Path{Language: constraint.Count{Levels: []int32{1}, Min: 2, Max: 2}}
	search := lagrange.Projector{Constraint: expectedOnesScore(), Path: path, Inner: 3}
	known := novelty.Projector{Path: path}
	chain := prior.Path{HMM: prior.Markov([]float64{.5, .5}, []float64{.9, .1, .2, .8}), Language: path.Language}
	return []recipe{
		form("projection.Path", path, struct{ projection.Path }{path}),
		form("projection/prior.Path", chain, struct{ prior.Path }{chain}),
		form("projection/lagrange.Projector", search, struct{ lagrange.Projector }{search}),
		form("projection/novelty.Projector", known, struct{ novelty.Projector }{known}),
	}
}

func linearForms() []recipe {
	linear := constraint.Linear{A: constraint.Rows([]float64{1, 1, 1, 1, 1, 1, 1, 1, 1}, 9), B: []float64{-1}}
	slabs := constraint.Slabs{A: linear.A, Lower: []float64{3}, Upper: []float64{4}}
	prox := proximal.Projector{Set: slabs}
	onto := newton.Projector{Equations: circleEquation{}}
	return []recipe{
		form("constraint.Linear", linear, struct{ constraint.Linear }{linear}),
		form("constraint.Slabs", slabs, struct{ constraint.Slabs }{slabs}),
		pointerForm("constraint/series.System", limitedSeries(), struct{ *series.System }{limitedSeries()}),
		form("projection/newton.Projector", onto, struct{ newton.Projector }{onto}),
		form("projection/proximal.Projector", prox, struct{ proximal.Projector }{prox}),
	}
}

func ruleForms() []recipe {
	return []recipe{
		form("dual.Ascent", dual.Ascent{}, struct{ dual.Ascent }{}),
		form("dual.Decay", dual.Decay{Rate: 0.1}, struct{ dual.Decay }{dual.Decay{Rate: 0.1}}),
		form("dual.Auto", dual.Auto{}, struct{ dual.Auto }{}),
		form("dual.Extragradient", dual.Extragradient{}, struct{ dual.Extragradient }{}),
		form("dual.AdaGrad", dual.AdaGrad{}, struct{ dual.AdaGrad }{}),
		form("dual.PI", dual.PI{Proportional: 0.5}, struct{ dual.PI }{dual.PI{Proportional: 0.5}}),
	}
}

func objectiveForms() []recipe {
	return []recipe{
		form("dual/fit.Contrastive", fit.Contrastive{Draws: 2}, struct{ fit.Contrastive }{fit.Contrastive{Draws: 2}}),
		form("dual/fit.Exact", fit.Exact{}, struct{ fit.Exact }{}),
		form("dual/fit.Persistent", fit.Persistent{Buffer: 8}, struct{ fit.Persistent }{fit.Persistent{Buffer: 8}}),
		form("dual/fit.Pseudo", fit.Pseudo{}, struct{ fit.Pseudo }{}),
	}
}

func scheduleForms() []recipe {
	return []recipe{
		form("sampler/diffusion/noise.Cosine", noise.Cosine{}, struct{ noise.Cosine }{}),
		form("sampler/diffusion/noise.CosineBar", noise.CosineBar{}, struct{ noise.CosineBar }{}),
		form("sampler/diffusion/noise.CosineSquared", noise.CosineSquared{}, struct{ noise.CosineSquared }{}),
		form("sampler/diffusion/noise.GeometricSigma", noise.GeometricSigma{}, struct{ noise.GeometricSigma }{}),
		form("sampler/diffusion/noise.LinearBeta", noise.LinearBeta{}, struct{ noise.LinearBeta }{}),
		form("sampler/diffusion/noise.LinearSigma", noise.LinearSigma{}, struct{ noise.LinearSigma }{}),
		form("sampler/diffusion/noise.LogLinear", noise.LogLinear{}, struct{ noise.LogLinear }{}),
		form("sampler/diffusion/noise.PolynomialSNR", noise.PolynomialSNR{}, struct{ noise.PolynomialSNR }{}),
		form("sampler/diffusion/noise.Straight", noise.Straight{}, struct{ noise.Straight }{}),
		form("sampler/diffusion/noise.SigmoidBar", noise.SigmoidBar{}, struct{ noise.SigmoidBar }{}),
	}
}

func processForms() []recipe {
	masked, ordered, remask := diffusion.Masked{Mask: 2}, diffusion.Ordered{Mask: 2}, diffusion.Remask{Mask: 2}
	hitting := diffusion.Masked{Mask: 2, FirstHitting: true}
	scheduled, bound := unmask.Scheduled{Mask: 2, Counts: []int{2, 3, 4}}, unmask.EntropyBound{Mask: 2, Bound: 1}
	sure, planned, blocks := unmask.Threshold{Mask: 2, Edit: 0.6}, unmask.Planned{Mask: 2, Noise: 1}, unmask.Blocks{Mask: 2, Size: 4}
	return []recipe{
		form("sampler/diffusion/unmask.Scheduled", scheduled, struct{ unmask.Scheduled }{scheduled}),
		form("sampler/diffusion/unmask.EntropyBound", bound, struct{ unmask.EntropyBound }{bound}),
		form("sampler/diffusion/unmask.Threshold", sure, struct{ unmask.Threshold }{sure}),
		form("sampler/diffusion/unmask.Planned", planned, struct{ unmask.Planned }{planned}),
		form("sampler/diffusion/unmask.Blocks", blocks, struct{ unmask.Blocks }{blocks}),
		form("sampler/diffusion.Masked", masked, struct{ diffusion.Masked }{masked}),
		form("sampler/diffusion.Masked", hitting, struct{ diffusion.Masked }{hitting}),
		form("sampler/diffusion.Ordered", ordered, struct{ diffusion.Ordered }{ordered}),
		form("sampler/diffusion.Remask", remask, struct{ diffusion.Remask }{remask}),
		form("sampler/diffusion.Uniform", diffusion.Uniform{}, struct{ diffusion.Uniform }{}),
	}
}

func realProcessForms() []recipe {
	led := diffusion.Penalised{Set: limitedSeries()}
	eci, moved := diffusion.ECI{Mix: 2}, diffusion.Corrected{Moves: 2}
	return []recipe{
		form("sampler/diffusion.Corrected", moved, struct{ diffusion.Corrected }{moved}),
		form("sampler/diffusion.ECI", eci, struct{ diffusion.ECI }{eci}),
		form("sampler/diffusion.Gaussian", diffusion.Gaussian{}, struct{ diffusion.Gaussian }{}),
		form("sampler/diffusion.Penalised", led, struct{ diffusion.Penalised }{led}),
	}
}

// A pointer to a recipe, and a type that embeds one, mean what the value means:
// the same bits of a short run, the same projection, the same decisions.
func TestRecipesInEveryForm(t *testing.T) {
	for kind, k := range recipeKinds {
		var earlier [][]any
		for _, r := range k.recipes() {
			t.Run(kind+"/"+r.name, func(t *testing.T) {
				want := k.result(t, r.forms[0])
				for _, e := range earlier {
					require.False(t, reflect.DeepEqual(e, want), "what is compared does not tell recipes apart")
				}
				earlier = append(earlier, want)
				for _, other := range r.forms[1:] {
					got := k.result(t, other)
					require.Len(t, got, len(want), "%T", other)
					for i := range want {
						require.Equal(t, want[i], got[i], "%T, result %d", other, i)
					}
				}
			})
		}
	}
}

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

// neighbourDenoiser predicts a token from those next to it, of nine sites and three
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
