package lagrange

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection"
)

// atLeast asks for n tokens of level 1 or above, by a stand-in that believes in
// one of them too many and a judge that knows.
func atLeast(n float64, optimism float64) constraint.Score {
	return constraint.Score{
		F: func(v []float32) float64 {
			sum := 0.0
			for i := 0; i < len(v); i += 3 {
				sum -= float64(v[i+1]) + float64(v[i+2])
			}
			return sum - optimism
		},
		Gradient: func(dst, v []float32, w float64) {
			for i := 0; i < len(v); i += 3 {
				dst[i+1] -= float32(w)
				dst[i+2] -= float32(w)
			}
		},
		Threshold: -n,
		Decide: func(x []int32) float64 {
			sum := 0.0
			for _, l := range x {
				if l > 0 {
					sum--
				}
			}
			return sum
		},
	}
}

// tilted are rows in which level 0 leads, by less at later sites.
func tilted(sites int) []float32 {
	v := make([]float32, sites*3)
	for i := range sites {
		v[i*3] = 3 - 2*float32(i)/float32(sites)
	}
	return v
}

func TestKLFindsTheCheapestTokens(t *testing.T) {
	const sites = 8
	a, err := Projector{Constraint: atLeast(3, 0)}.Compile(t.Context(), sites, 3)
	require.NoError(t, err)
	exact, err := projection.Path{Language: constraint.Count{Levels: []int32{1, 2}, Min: 3, Max: constraint.Unbounded}, Margin: defaultLead}.Compile(t.Context(), sites, 3)
	require.NoError(t, err)
	v, w := tilted(sites), tilted(sites)
	x, y := make([]int32, sites), make([]int32, sites)
	kl, violation, err := a.Nearest(t.Context(), x, v, rand.NewPCG(1, 1))
	require.NoError(t, err)
	least, err := exact.Nearest(t.Context(), y, w)
	require.NoError(t, err)
	assert.LessOrEqual(t, violation, 0.0)
	assert.LessOrEqual(t, kl, 1.1*least)

	// The result decodes to x, and projecting it again changes nothing.
	s := newSearch(&a.target)
	require.NoError(t, s.load(v))
	assert.Equal(t, x, s.first)
	again := slices.Clone(v)
	kl, _, err = a.Nearest(t.Context(), x, again, rand.NewPCG(9, 9))
	require.NoError(t, err)
	assert.Zero(t, kl)
	assert.Equal(t, v, again)
}

// A stand-in that is satisfied long before the judge leads there all the same,
// because what it says is raised by the violation that is left.
func TestKLWithAnOptimisticStandIn(t *testing.T) {
	const sites = 8
	for _, optimism := range []float64{1, 4, 20} {
		a, err := Projector{Constraint: atLeast(5, optimism), Outer: 200}.Compile(t.Context(), sites, 3)
		require.NoError(t, err)
		for seed := range uint64(10) {
			x := make([]int32, sites)
			_, violation, err := a.Nearest(t.Context(), x, tilted(sites), rand.NewPCG(seed, 1))
			require.NoError(t, err)
			assert.LessOrEqual(t, violation, 0.0)
		}
	}
}

// A judge of its own may have more inequalities than what leads.
func TestKLWithASeparateJudge(t *testing.T) {
	const sites = 6
	lead := atLeast(4, 2)
	lead.Decide = nil
	judge := constraint.Count{Levels: []int32{1, 2}, Min: 4, Max: 5}
	a, err := Projector{Constraint: lead, Judge: judge}.Compile(t.Context(), sites, 3)
	require.NoError(t, err)
	x := make([]int32, sites)
	_, _, err = a.Nearest(t.Context(), x, tilted(sites), rand.NewPCG(1, 1))
	require.NoError(t, err)
	assert.True(t, constraint.Accepts(judge, x))

	// Without Decide and without a judge, F at one-hot rows decides.
	a, err = Projector{Constraint: atLeast(4, 0), Judge: oneHot{atLeast(4, 0), sites, 3}}.Compile(t.Context(), sites, 3)
	require.NoError(t, err)
	b, err := Projector{Constraint: func() constraint.Smooth { s := atLeast(4, 0); s.Decide = nil; return s }()}.Compile(t.Context(), sites, 3)
	require.NoError(t, err)
	y := make([]int32, sites)
	_, _, err = a.Nearest(t.Context(), x, tilted(sites), rand.NewPCG(1, 1))
	require.NoError(t, err)
	_, _, err = b.Nearest(t.Context(), y, tilted(sites), rand.NewPCG(1, 1))
	require.NoError(t, err)
	assert.Equal(t, x, y)
}

// A language in addition to the score holds too, and decides what is cheap.
func TestKLWithinALanguage(t *testing.T) {
	const sites = 8
	twos := constraint.Count{Levels: []int32{2}, Min: 2, Max: 2}
	a, err := Projector{Constraint: atLeast(4, 0), Path: projection.Path{Language: twos}}.Compile(t.Context(), sites, 3)
	require.NoError(t, err)
	both, err := constraint.Intersect(twos, constraint.Count{Levels: []int32{1, 2}, Min: 4, Max: constraint.Unbounded})
	require.NoError(t, err)
	exact, err := projection.Path{Language: both, Margin: defaultLead}.Compile(t.Context(), sites, 3)
	require.NoError(t, err)
	for seed := range uint64(10) {
		v, x := tilted(sites), make([]int32, sites)
		kl, _, err := a.Nearest(t.Context(), x, v, rand.NewPCG(seed, 1))
		require.NoError(t, err)
		assert.True(t, constraint.Accepts(both, x), "%v", x)
		w, y := tilted(sites), make([]int32, sites)
		least, err := exact.Nearest(t.Context(), y, w)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, kl, least-1e-9)
		assert.LessOrEqual(t, kl, 1.5*least)
	}
}

// What cannot be satisfied ends with the best there is.
func TestKLThatDoesNotConverge(t *testing.T) {
	const sites = 5
	p, err := Projector{Constraint: atLeast(7, 0), Outer: 3 * loopsPerStart}.Bind(t.Context(), sites, 3, 2)
	require.NoError(t, err)
	v := tilted(sites)
	violation, err := p.Project(t.Context(), 1, v, 1, .5, rand.NewPCG(1, 1))
	var not *projection.NotConverged
	require.ErrorAs(t, err, &not)
	assert.Equal(t, 2.0, violation)
	assert.Equal(t, &projection.NotConverged{Method: "lagrange: constraint.Score", Residual: 2, Iterations: 3 * loopsPerStart}, not)
	for i := range sites {
		assert.Less(t, v[i*3], max(v[i*3+1], v[i*3+2]), "all five are above 0")
	}
	a := p.(*Projection)
	assert.Positive(t, a.lambda[1])
	a.Copy(0, 1)
	assert.Equal(t, a.lambda[1], a.lambda[0])
	a.Reset(1)
	assert.Zero(t, a.lambda[1])

	// With a tolerance of two it does.
	p, err = Projector{Constraint: atLeast(7, 0), Tolerance: 2}.Bind(t.Context(), sites, 3, 1)
	require.NoError(t, err)
	violation, err = p.Project(t.Context(), 0, tilted(sites), 1, .5, rand.NewPCG(1, 1))
	require.NoError(t, err)
	assert.Equal(t, 2.0, violation)
}

// Multipliers of the step before save loops.
func TestKLBeginsWithTheMultipliersItHad(t *testing.T) {
	const sites = 8
	p, err := Projector{Constraint: atLeast(6, 0), Step: .05}.Bind(t.Context(), sites, 3, 1)
	require.NoError(t, err)
	a := p.(*Projection)
	loops := func(lambda []float64) int {
		s := newSearch(&a.target)
		require.NoError(t, s.load(tilted(sites)))
		copy(s.loss.lambda, lambda)
		n, err := s.run(t.Context(), rand.NewPCG(1, 1))
		require.NoError(t, err)
		return n
	}
	cold := loops(a.lambda)
	_, err = p.Project(t.Context(), 0, tilted(sites), 1, .5, rand.NewPCG(1, 1))
	require.NoError(t, err)
	assert.Less(t, loops(a.lambda), cold)
}

func TestKLKeepsMasks(t *testing.T) {
	const sites = 4
	v := tilted(sites)
	for i := range sites {
		v[i*3+2] = float32(math.Inf(-1))
	}
	v[1] = float32(math.Inf(-1)) // site 0 is known
	a, err := Projector{Constraint: atLeast(3, 0)}.Compile(t.Context(), sites, 3)
	require.NoError(t, err)
	x := make([]int32, sites)
	_, _, err = a.Nearest(t.Context(), x, v, rand.NewPCG(1, 1))
	require.NoError(t, err)
	assert.Equal(t, []int32{0, 1, 1, 1}, x)
	assert.True(t, math.IsInf(float64(v[1]), -1) && math.IsInf(float64(v[5]), -1))
}

func TestKLAllocatesNothing(t *testing.T) {
	if exact.Race {
		t.Skip("the detector makes pools allocate")
	}
	const sites = 8
	twos := constraint.Count{Levels: []int32{2}, Min: 2, Max: 2}
	for _, recipe := range []Projector{
		{Constraint: atLeast(4, 0)},
		{Constraint: atLeast(4, 0), Path: projection.Path{Language: twos}},
		{Constraint: constraint.Count{Levels: []int32{1}, Min: 5, Max: constraint.Unbounded}.Linear(sites, 3)},
	} {
		p, err := recipe.Bind(t.Context(), sites, 3, 1)
		require.NoError(t, err)
		table, v, src := tilted(sites), tilted(sites), rand.NewPCG(1, 1)
		assert.Zero(t, testing.AllocsPerRun(20, func() {
			copy(v, table)
			if _, err := p.Project(context.Background(), 0, v, 1, .5, src); err != nil {
				t.Fatal(err)
			}
		}))
	}
}

func TestKLErrors(t *testing.T) {
	good := atLeast(2, 0)
	nan := good
	nan.F = func([]float32) float64 { return math.NaN() }
	blind := good
	blind.Decide = func([]int32) float64 { return math.NaN() }
	bare := constraint.Score{Decide: good.Decide}
	for want, recipe := range map[string]Projector{
		"Constraint is nil":              {},
		"Score without derivatives":      {Constraint: bare},
		"Gradient":                       {Constraint: constraint.Score{F: good.F}},
		"Tolerance = -1":                 {Constraint: good, Tolerance: -1},
		"Step = -1":                      {Constraint: good, Step: -1},
		"Step = 1e-60":                   {Constraint: good, Step: 1e-60},
		"Temperature = +Inf, want > 0":   {Constraint: good, Temperature: math.Inf(1)},
		"Path.Margin = 0.5":              {Constraint: good, Path: projection.Path{Margin: .5}},
		"Inner = -1":                     {Constraint: good, Inner: -1},
		"Outer = -1":                     {Constraint: good, Outer: -1},
		"Path.Divergence = reverse":      {Constraint: good, Path: projection.Path{Divergence: projection.Reverse}},
		"Path.Revive = true":             {Constraint: good, Path: projection.Path{Revive: true}},
		"Constraint.Len() = 0":           {Constraint: constraint.Linear{Levels: 3}},
		"Judge.Len() = 0":                {Constraint: good, Judge: constraint.Linear{Levels: 3}},
		"no sequence satisfies":          {Constraint: good, Path: projection.Path{Language: constraint.Count{Levels: []int32{1}, Min: 9, Max: constraint.Unbounded}}},
		"the constraint is [NaN]":        {Constraint: nan},
		"the violation of [0 0 0] is Na": {Constraint: blind},
	} {
		p, err := recipe.Bind(t.Context(), 3, 3, 1)
		if err == nil {
			_, err = p.Project(t.Context(), 0, tilted(3), 1, .5, rand.NewPCG(1, 1))
		}
		assert.ErrorContains(t, err, want)
	}
	_, err := Projector{Constraint: good}.Bind(t.Context(), 3, 3, 0)
	assert.ErrorContains(t, err, "samples = 0")

	p, err := Projector{Constraint: good, Path: projection.Path{Name: "two"}}.Bind(t.Context(), 3, 3, 1)
	require.NoError(t, err)
	v := tilted(3)
	v[4] = float32(math.NaN())
	_, err = p.Project(t.Context(), 0, v, 1, .5, rand.NewPCG(1, 1))
	var weight *projection.WeightError
	require.ErrorAs(t, err, &weight)
	assert.Equal(t, 1, weight.Site)
	for i := range 3 {
		v[3+i] = float32(math.Inf(-1))
	}
	_, err = p.Project(t.Context(), 0, v, 1, .5, rand.NewPCG(1, 1))
	assert.ErrorContains(t, err, "two at site 1: no sequence satisfies the constraint")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Project(ctx, 0, tilted(3), 1, .5, rand.NewPCG(1, 1))
	assert.True(t, errors.Is(err, context.Canceled))
	sites, levels := p.(*Projection).Shape()
	assert.Equal(t, [2]int{3, 3}, [2]int{sites, levels})
	assert.PanicsWithValue(t, "lagrange: len(v) = 8, want 9", func() {
		_, _ = p.Project(t.Context(), 0, make([]float32, 8), 1, .5, nil)
	})
	assert.PanicsWithValue(t, "lagrange: sample = 1, want one of 1", func() {
		_, _ = p.Project(t.Context(), 1, v, 1, .5, nil)
	})
}
