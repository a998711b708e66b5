package projection_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/projection"
)

// spans are two parts of six sites: one of sites 1 and 2, and one of sites 4 and 5, in
// another order.
func spans(t testing.TB) (projection.Spans, func(x []int32) bool) {
	equal, err := constraint.NewDFA(context.Background(), 3, []int32{1, 2, -1, 3, -1, -1, -1, 3, -1, -1, -1, -1}, []bool{false, false, false, true})
	require.NoError(t, err)
	last, err := constraint.Contains([]int32{2})
	require.NoError(t, err)
	return projection.Spans{
			{From: 4, To: 6, Path: projection.Path{Language: last, Name: "a two"}},
			{From: 1, To: 3, Path: projection.Path{Language: equal, Name: "equal"}},
		}, func(x []int32) bool {
			return x[1] == x[2] && x[1] < 2 && (x[4] == 2 || x[5] == 2)
		}
}

// Sums, draws and the likeliest sequence of spans are those of all sequences, one by one.
func TestSpansByEnumeration(t *testing.T) {
	ctx := context.Background()
	s, accepts := spans(t)
	p, err := s.Compile(ctx, 6, 3)
	require.NoError(t, err)
	src := rand.New(rand.NewPCG(1, 2))
	v := make([]float32, 18)
	for i := range v {
		v[i] = float32(src.NormFloat64())
	}
	z, best, marginals := 0.0, math.Inf(-1), make([]float64, 18)
	weights := map[[6]int32]float64{}
	var x [6]int32
	for n := range 729 {
		w := 0.0
		for i, k := 0, n; i < 6; i, k = i+1, k/3 {
			x[i] = int32(k % 3)
			w += float64(v[3*i+int(x[i])])
		}
		require.Equal(t, accepts(x[:]), p.Accepts(x[:]))
		if !accepts(x[:]) {
			continue
		}
		z += math.Exp(w)
		best = max(best, w)
		weights[x] = math.Exp(w)
		for i, l := range x {
			marginals[3*i+int(l)] += math.Exp(w)
		}
	}
	logZ, err := p.LogZ(ctx, v)
	require.NoError(t, err)
	assert.InDelta(t, math.Log(z), logZ, 1e-6)
	entropy := 0.0
	for _, w := range weights {
		entropy -= w / z * math.Log(w/z)
	}
	h, err := p.Entropy(ctx, v)
	require.NoError(t, err)
	assert.InDelta(t, entropy, h, 1e-5)
	w, err := p.MAP(ctx, x[:], v)
	require.NoError(t, err)
	assert.InDelta(t, best, w, 1e-5)
	assert.InDelta(t, math.Exp(best), weights[x], 1e-4)
	got := make([]float64, 18)
	require.NoError(t, p.Marginals(ctx, got, v))
	for i, m := range marginals {
		assert.InDelta(t, m/z, got[i], 1e-6)
	}
	const n = 20000
	count := map[[6]int32]float64{}
	for range n {
		logZ, err := p.Draw(ctx, x[:], v, src)
		require.NoError(t, err)
		require.InDelta(t, math.Log(z), logZ, 1e-6)
		require.True(t, accepts(x[:]))
		count[x]++
	}
	chi := 0.0
	for x, w := range weights {
		chi += (count[x] - n*w/z) * (count[x] - n*w/z) / (n * w / z)
	}
	free := float64(len(weights) - 1)
	assert.Less(t, chi, free+5*math.Sqrt(2*free)) // false in less than 1e-6 of all seeds

	// Given tokens stay, whatever their rows hold.
	given := [6]int32{2, -1, 1, -1, 0, -1}
	for i, l := range given {
		if l >= 0 {
			v[3*i] = float32(math.NaN())
		}
	}
	for range 50 {
		x = given
		_, err := p.DrawGiven(ctx, x[:], v, src)
		require.NoError(t, err)
		require.True(t, accepts(x[:]))
		require.Equal(t, [4]int32{2, 1, 1, 0}, [4]int32{x[0], x[1], x[2], x[4]})
	}
}

// The projection leaves free sites as they are and moves each span by itself.
func TestSpansProject(t *testing.T) {
	ctx := context.Background()
	s, accepts := spans(t)
	bound, err := s.Bind(ctx, 6, 3, 1)
	require.NoError(t, err)
	src := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		v := make([]float32, 18)
		for i := range v {
			v[i] = float32(src.NormFloat64())
		}
		before := append([]float32{}, v...)
		violation, err := bound.Project(ctx, 0, v, 1, .5, src)
		require.NoError(t, err)
		require.Zero(t, violation)
		require.Equal(t, before[:3], v[:3])
		require.Equal(t, before[9:12], v[9:12])
		var x [6]int32
		for i := range x {
			for l := range int32(3) {
				if v[3*i+int(l)] > v[3*i+int(x[i])]+1e-6 {
					x[i] = l
				}
			}
		}
		parts := bound.(*projection.SpansProjection)
		one, err := parts.Span(1).Nearest(ctx, x[1:3], before[3:9])
		require.NoError(t, err)
		require.GreaterOrEqual(t, one, 0.0)
		require.True(t, accepts([]int32{0, x[1], x[2], 0, x[4], x[5]}) || ties(v))
	}
}

// ties reports whether two tokens of a site share the lead.
func ties(v []float32) bool {
	for i := 0; i < len(v); i += 3 {
		a, b, c := v[i], v[i+1], v[i+2]
		top := max(a, b, c)
		n := 0
		for _, w := range []float32{a, b, c} {
			if top-w < 1e-5 {
				n++
			}
		}
		if n > 1 {
			return true
		}
	}
	return false
}

func TestSpansErrors(t *testing.T) {
	ctx := context.Background()
	s, _ := spans(t)
	with := func(i, from, to int) error {
		c := append(projection.Spans{}, s...)
		c[i].From, c[i].To = from, to
		_, err := c.Compile(ctx, 6, 3)
		return err
	}
	assert.ErrorContains(t, with(0, 2, 4), `span 0`)
	assert.ErrorContains(t, with(0, 4, 7), `sites 4 … 6`)
	assert.ErrorContains(t, with(1, -1, 3), `span 1`)
	assert.ErrorContains(t, with(1, 1, 1), `span 1`)
	err := with(1, 1, 4) // three tokens are never equal here
	assert.ErrorIs(t, err, constraint.ErrInfeasible)
	assert.ErrorContains(t, err, "span 1, equal")
	_, err = s.Bind(ctx, 6, 3, 0)
	assert.ErrorContains(t, err, "samples")

	p, err := s.Compile(ctx, 6, 3)
	require.NoError(t, err)
	v := make([]float32, 18)
	for l := range 3 {
		v[3*2+l] = float32(math.Inf(-1))
	}
	_, err = p.LogZ(ctx, v)
	var dead *projection.InfeasibleError
	require.ErrorAs(t, err, &dead)
	assert.Equal(t, "span 1, equal", dead.Constraint)
	assert.Equal(t, 2, dead.Site)
	clear(v)
	v[13] = float32(math.NaN())
	_, err = p.LogZ(ctx, v)
	var weight *projection.WeightError
	require.ErrorAs(t, err, &weight)
	assert.Equal(t, 4, weight.Site)
	assert.Equal(t, "a two, equal", p.String())
}
