package projection

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/problem"
)

// drawer and projector are what package sampler asks for.
type drawer interface {
	Draw(ctx context.Context, x0 []int32, v []float32, src rand.Source) (logZ float64, err error)
	LogZ(ctx context.Context, v []float32) (float64, error)
}

type projector interface {
	Bind(ctx context.Context, sites, levels, samples int) (Projection, error)
}

var (
	_ projector = Path{}
	_ drawer    = (*PathProjection)(nil)
)

// two is the language of sequences with exactly two ones.
var two = constraint.Count{Levels: []int32{1}, Min: 2, Max: 2}

func ExamplePath_Compile() {
	e, err := Path{Language: two}.Compile(context.Background(), 4, 2)
	if err != nil {
		panic(err)
	}
	v := make([]float32, 4*2) // fair coins
	logZ, err := e.LogZ(context.Background(), v)
	if err != nil {
		panic(err)
	}
	n, err := e.Count(context.Background(), nil)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%v of 16 sequences have two ones; log Z = log %.0f\n", n, math.Exp(logZ))
	v[1*2+1] = 3 // site 1 is likely to be 1
	best, err := e.KBest(context.Background(), v)
	if err != nil {
		panic(err)
	}
	for x, w := range best {
		fmt.Println(x, w)
	}
	// Output:
	// 6 of 16 sequences have two ones; log Z = log 6
	// [0 1 0 1] 3
	// [0 1 1 0] 3
	// [1 1 0 0] 3
	// [0 0 1 1] 0
	// [1 0 0 1] 0
	// [1 0 1 0] 0
}

func ExamplePathProjection_Nearest() {
	// Three coins that favour 1, to be projected until their mode has two ones.
	e, err := Path{Language: two}.Compile(context.Background(), 3, 2)
	if err != nil {
		panic(err)
	}
	v := []float32{
		float32(math.Log(.2)), float32(math.Log(.8)),
		float32(math.Log(.4)), float32(math.Log(.6)),
		float32(math.Log(.1)), float32(math.Log(.9)),
	}
	x := make([]int32, 3)
	kl, err := e.Nearest(context.Background(), x, v)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%v, %.4f nats away\n", x, kl)
	for i := range x {
		fmt.Printf("%.2f %.2f\n", math.Exp(float64(v[2*i])), math.Exp(float64(v[2*i+1])))
	}
	// Output:
	// [1 0 1], 0.0201 nats away
	// 0.20 0.80
	// 0.50 0.50
	// 0.10 0.90
}

func TestPathErrors(t *testing.T) {
	for want, p := range map[string]Path{
		"Language is nil": {},
		"Margin = 0.5":    {Language: two, Margin: .5},
		"Margin = NaN":    {Language: two, Margin: math.NaN()},
		"Divergence(2)":   {Language: two, Divergence: 2},
		"Revive":          {Language: two, Divergence: Reverse, Revive: true},
		"padding token":   {Language: two, Padded: true, Pad: 9},
	} {
		_, err := p.Bind(context.Background(), 3, 2, 1)
		require.ErrorContains(t, err, want)
	}
	_, err := Path{Language: two}.Bind(context.Background(), 3, 2, 0)
	require.ErrorContains(t, err, "samples = 0")
	_, err = Path{Language: two}.Bind(context.Background(), 0, 2, 1)
	require.ErrorContains(t, err, "sites = 0")

	_, err = Path{Language: two, Name: "two ones"}.Bind(context.Background(), 1, 2, 1)
	require.EqualError(t, err, "projection: two ones at site 1: no sequence satisfies the constraint")
	problem.Infeasible[*InfeasibleError](t, err)

	odd, err := constraint.NewDFA(t.Context(), 2, []int32{1, 1, 0, 0}, []bool{false, true})
	require.NoError(t, err)
	both, err := constraint.Intersect(two, odd)
	require.NoError(t, err)
	_, err = Path{Language: both}.Bind(context.Background(), 2, 2, 1)
	require.EqualError(t, err, "projection: Count{Levels:[1] Min:2 Max:2} ∩ constraint.DFA at site 2: no sequence satisfies the constraint (constraint.DFA by itself)")

	_, err = Path{Language: two, Limit: 2}.Bind(context.Background(), 5, 2, 1)
	var limit *constraint.LimitError
	require.ErrorAs(t, err, &limit)
	require.Equal(t, 2, limit.Bound)

	gone, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = Path{Language: two}.Compile(gone, 5, 2)
	require.ErrorIs(t, err, context.Canceled)

	e, err := Path{Language: two}.Compile(context.Background(), 3, 2)
	require.NoError(t, err)
	sites, levels := e.Shape()
	require.Equal(t, []int{3, 2}, []int{sites, levels})
	_, err = e.Project(gone, 0, make([]float32, 6), 1, 0, nil)
	require.ErrorIs(t, err, context.Canceled)
	v := make([]float32, 6)
	v[3] = float32(math.NaN())
	var weight *WeightError
	_, err = e.Project(context.Background(), 0, v, 1, 0, nil)
	require.ErrorAs(t, err, &weight)
	require.Equal(t, []int{1, 1}, []int{weight.Site, weight.Level})
	_, err = e.LogZ(t.Context(), v)
	require.ErrorAs(t, err, &weight)
	require.ErrorContains(t, err, "Count{")
	require.PanicsWithValue(t, "projection: len(v) = 5, want 6", func() { _, _ = e.LogZ(t.Context(), v[:5]) })
	require.PanicsWithValue(t, "projection: len(dst) = 4, want a multiple of 3", func() { _, _ = e.Sample(t.Context(), make([]int32, 4), v, nil) })

	inf := float32(math.Inf(-1))
	_, err = e.LogZ(t.Context(), []float32{0, inf, 0, 0, 0, inf})
	var dead *InfeasibleError
	require.ErrorAs(t, err, &dead)
	require.Equal(t, 2, dead.Site, "site 1 must be 1, then site 2 cannot be")
	_, err = e.Nearest(t.Context(), make([]int32, 3), []float32{0, inf, inf, inf, 0, inf})
	require.ErrorAs(t, err, &dead)
	require.Equal(t, 1, dead.Site)
}

func TestDivergenceString(t *testing.T) {
	require.Equal(t, "forward reverse Divergence(7)", fmt.Sprintf("%v %v %v", Forward, Reverse, Divergence(7)))
	for _, d := range []Divergence{Forward, Reverse} {
		text, err := d.MarshalText()
		require.NoError(t, err)
		back := 1 - d
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, d, back)
	}
	_, err := Divergence(2).MarshalText()
	require.ErrorContains(t, err, "divergence = 2")
}

// TestPadded: sequences of up to four letters, exactly two of them ones, then
// token 2. C(2,2)+C(3,2)+C(4,2) = 10.
func TestPadded(t *testing.T) {
	e, err := Path{Language: two, Padded: true, Pad: 2}.Compile(context.Background(), 4, 3)
	require.NoError(t, err)
	require.Equal(t, int64(10), exact.Must(e.Count(t.Context(), nil)).Int64())
	require.True(t, e.Accepts([]int32{1, 1, 2, 2}))
	require.False(t, e.Accepts([]int32{1, 2, 1, 2}))
}

// TestExactNoAllocation: after the first round nothing allocates.
func TestExactNoAllocation(t *testing.T) {
	for _, d := range []Divergence{Forward, Reverse} {
		e, err := Path{Language: two, Divergence: d}.Compile(context.Background(), 8, 5)
		require.NoError(t, err)
		r := rand.New(rand.NewPCG(31, 1))
		v, w, m := make([]float32, 40), make([]float32, 40), make([]float64, 40)
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		x := make([]int32, 8)
		src := rand.NewPCG(1, 1)
		ctx := context.Background()
		round := func() {
			_, err1 := e.Draw(ctx, x, v, src)
			_, err2 := e.LogZ(ctx, v)
			_, err3 := e.MAP(ctx, x, v)
			err4 := e.Marginals(ctx, m, v)
			copy(w, v)
			_, err5 := e.Project(ctx, 0, w, 1, 0, src)
			copy(w, v)
			_, err6 := e.Nearest(ctx, x, w)
			for _, err := range [...]error{err1, err2, err3, err4, err5, err6} {
				if err != nil {
					panic(err)
				}
			}
		}
		round()
		require.Zero(t, testing.AllocsPerRun(20, round))
	}
}

// TestExactConcurrent: one PathProjection serves many goroutines with the same results.
func TestExactConcurrent(t *testing.T) {
	e, err := Path{Language: two}.Compile(context.Background(), 8, 5)
	require.NoError(t, err)
	v := make([]float32, 40)
	want, err := e.LogZ(t.Context(), v)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			x := make([]int32, 8)
			src := rand.NewPCG(uint64(i), 1)
			for range 50 {
				got, err := e.Draw(t.Context(), x, v, src)
				if err != nil || got != want || !e.Accepts(x) {
					t.Error(err, got, x)
				}
			}
		})
	}
	wg.Wait()
}

// LogZ and marginals keep their precision over large classes of tokens, which draws add up in
// float32: over 64 sites, these were off by 7e-7.
func TestSumsOfLargeClassesAreExact(t *testing.T) {
	const sites, levels = 64, 3000
	src := rand.New(rand.NewPCG(1, 1))
	v := make([]float32, sites*levels)
	for i := range v {
		v[i] = float32(4 * src.NormFloat64())
	}
	total, even := 0.0, make([]float64, sites)
	for i := range sites {
		sum := 0.0
		for l, w := range v[i*levels : (i+1)*levels] {
			sum += math.Exp(float64(w))
			if l%2 == 0 {
				even[i] += math.Exp(float64(w))
			}
		}
		total += math.Log(sum)
		even[i] /= sum
	}
	all, err := Path{Language: constraint.Any{}}.Compile(t.Context(), sites, levels)
	require.NoError(t, err)
	got, err := all.LogZ(t.Context(), v)
	require.NoError(t, err)
	assert.InDelta(t, total, got, sites*1e-12)
	x := make([]int32, sites)
	drawn, err := all.Draw(t.Context(), x, v, rand.NewPCG(1, 2))
	require.NoError(t, err)
	assert.InDelta(t, total, drawn, 1e-5)
	again, err := all.LogZ(t.Context(), v) // after a draw, which keeps sums of unchanged rows
	require.NoError(t, err)
	assert.Equal(t, got, again)
	p := make([]float64, len(v))
	require.NoError(t, all.Marginals(t.Context(), p, v))
	for i := range sites {
		sum := 0.0
		for l := 0; l < levels; l += 2 {
			sum += p[i*levels+l]
		}
		assert.InDelta(t, even[i], sum, 1e-12)
	}
}
