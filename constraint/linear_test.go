package constraint

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	_ Smooth = Linear{}
	_ Smooth = Score{}
	_ Set    = Linear{}
	_ Set    = Score{}
	_ Set    = Count{}
	_ Set    = (*Sum)(nil)

	_ Tabled  = (*DFA)(nil)
	_ Classed = (*Lexicon)(nil)
	_ Classed = (*Intersection)(nil)
)

// requirePull checks Pull against differences of Value, exact for functions of
// second degree up to rounding.
func requirePull(t *testing.T, s Smooth, v []float32) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	w := make([]float64, s.Len())
	for j := range w {
		w[j] = r.NormFloat64()
	}
	weighted := func(v []float32) float64 {
		g := make([]float64, s.Len())
		s.Value(g, v)
		sum := 0.0
		for j := range g {
			sum += w[j] * g[j]
		}
		return sum
	}
	dst := make([]float32, len(v))
	for i := range dst {
		dst[i] = float32(i)
	}
	s.Pull(dst, v, w)
	const h = 1.0 / 64 // a power of two: v ± h is exact
	for i := range v {
		up, down := append([]float32(nil), v...), append([]float32(nil), v...)
		up[i] += h
		down[i] -= h
		want := (weighted(up) - weighted(down)) / (2 * h)
		// Half an ulp of float32 per inequality and of the result.
		require.InDelta(t, want, float64(dst[i])-float64(i), float64(len(w)+1)*math.Ldexp(math.Abs(want)+float64(i)+8, -24))
	}
}

func TestLinearOnReals(t *testing.T) {
	l := Linear{A: Rows([]float64{1, 0, -2, 0, 3, 0, 0.5, 0.5, 0.5}, 3), B: []float64{1, -1, 4}}
	require.NoError(t, l.Validate(3))
	g := make([]float64, 3)
	l.Value(g, []float32{1, 2, 3})
	require.Equal(t, []float64{1 - 6 - 1, 6 + 1, 3 - 4}, g)
	requirePull(t, l, []float32{0.5, -1.25, 2})
	batch := make([]float64, 6)
	l.Violation(batch, []int32{1, 2, 3, 0, 0, 0})
	require.Equal(t, []float64{-6, 7, -1, -1, 1, -4}, batch)
	require.Len(t, l.A[0].Index, 2, "zeros are dropped")

	v, dst, w := []float32{1, 2, 3}, make([]float32, 3), []float64{1, 0, 2}
	x := []int32{1, 2, 3}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		l.Value(g, v)
		l.Pull(dst, v, w)
		l.Violation(g, x)
	}))
}

func TestLinearOnTokensIsTheLanguage(t *testing.T) {
	count := Count{Levels: []int32{1, 2}, Min: 2, Max: 3}
	free, err := NewSum([]int{0, 2, -1}, -1, 4)
	require.NoError(t, err)
	fixed, err := NewSiteSum([][]int{{1, 2}, {0, 0, 3}, {1}, {5, 1, 0}}, math.MinInt, 7)
	require.NoError(t, err)
	for _, c := range []interface {
		Set
		Automaton
		Linear(sites, levels int) Linear
	}{count, free, fixed} {
		l := c.Linear(4, 3)
		require.NoError(t, l.Validate(12))
		require.Equal(t, c.Len(), l.Len())
		one, g, h := make([]float32, 12), make([]float64, l.Len()), make([]float64, l.Len())
		exact.Sequences(3, 4, func(x []int32) {
			if len(x) != 4 || c == Set(fixed) && (x[0] == 2 || x[2] != 0) {
				return
			}
			clear(one)
			for i, token := range x {
				one[i*3+int(token)] = 1
			}
			l.Value(g, one)
			l.Violation(h, x)
			require.Equal(t, g, h)
			c.Violation(h, x)
			require.Equal(t, g, h)
			ok := true
			for _, v := range g {
				ok = ok && v <= 0
			}
			require.Equal(t, Accepts(c, x), ok)
		})
		requirePull(t, l, one)
	}
	require.Panics(t, func() { fixed.Linear(3, 3) })
}

func TestLinearErrors(t *testing.T) {
	row := func(i int32, v float64) []Row { return []Row{{[]int32{i}, []float64{v}}} }
	var argument *ArgumentError
	for name, l := range map[string]Linear{
		"levels":  {Levels: -1},
		"table":   {Levels: 3},
		"len(B)":  {A: row(0, 1)},
		"values":  {A: []Row{{Index: []int32{0}}}, B: []float64{0}},
		"index":   {A: row(4, 1), B: []float64{0}},
		"below":   {A: row(-1, 1), B: []float64{0}},
		"NaN":     {A: row(0, math.NaN()), B: []float64{0}},
		"Inf":     {A: row(0, math.Inf(1)), B: []float64{0}},
		"NaN B":   {A: row(0, 1), B: []float64{math.NaN()}},
		"−Inf B":  {A: row(0, 1), B: []float64{math.Inf(-1)}},
		"too few": {B: []float64{1}},
	} {
		require.ErrorAs(t, l.Validate(4), &argument, name)
	}
	require.ErrorIs(t, Linear{A: row(0, 0), B: []float64{-1}}.Validate(4), ErrInfeasible)
	require.NoError(t, Linear{A: row(3, 1), B: []float64{math.Inf(1)}}.Validate(4))
	require.Panics(t, func() { Rows(make([]float64, 5), 3) })
	require.Panics(t, func() { Rows(nil, 0) })
	l := Linear{A: row(0, 1), B: []float64{0}}
	require.PanicsWithValue(t, "constraint: len(g) = 2, want 1", func() { l.Value(make([]float64, 2), make([]float32, 1)) })
	require.Panics(t, func() { l.Pull(make([]float32, 1), make([]float32, 2), make([]float64, 1)) })
	require.Panics(t, func() { l.Pull(make([]float32, 1), make([]float32, 1), nil) })
}

func TestScore(t *testing.T) {
	s := Score{
		F: func(v []float32) float64 {
			sum := 0.0
			for _, u := range v {
				sum += float64(u) * float64(u)
			}
			return sum
		},
		Gradient: func(dst, v []float32, w float64) {
			for i, u := range v {
				dst[i] += float32(2 * w * float64(u))
			}
		},
		Threshold: 5,
		Decide:    func(x []int32) float64 { return float64(len(x)) },
	}
	require.NoError(t, s.Validate())
	require.Equal(t, 1, s.Len())
	g := make([]float64, 2)
	s.Value(g[:1], []float32{1, 2})
	require.Equal(t, 0.0, g[0])
	requirePull(t, s, []float32{0.25, -1, 3})
	s.Violation(g, make([]int32, 14))
	require.Equal(t, []float64{2, 2}, g)
	one := s
	s.DecideAll = func(dst []float64, x []int32) {
		for i := range dst {
			dst[i] = float64(10*(i+1) + len(x)/len(dst))
		}
	}
	s.Violation(g, make([]int32, 14))
	require.Equal(t, []float64{12, 22}, g, "asked about both at once, in place of Decide")
	s.Violation(nil, nil)
	require.Panics(t, func() { s.Violation(g, make([]int32, 3)) })
	require.NoError(t, Score{DecideAll: s.DecideAll}.Validate())
	require.True(t, Score{DecideAll: s.DecideAll}.Decides())
	require.Panics(t, func() { Score{F: s.F}.Violation(g, make([]int32, 2)) })
	s = one

	var argument *ArgumentError
	require.ErrorAs(t, Score{}.Validate(), &argument)
	require.ErrorAs(t, Score{F: s.F}.Validate(), &argument)
	require.ErrorAs(t, Score{Decide: s.Decide, Threshold: math.NaN()}.Validate(), &argument)
	require.NoError(t, Score{Decide: s.Decide}.Validate())
	require.Panics(t, func() { s.Value(g, nil) })
	require.Panics(t, func() { s.Pull(nil, []float32{1}, g[:1]) })
	require.Panics(t, func() { s.Pull(nil, nil, g) })
	s.Decide = nil
	require.PanicsWithValue(t, "constraint: Score.Violation: Decide = nil, want a function", func() { s.Violation(g, nil) })
}

func TestSlabs(t *testing.T) {
	inf := math.Inf(1)
	s := Slabs{
		A:     []Row{{Index: []int32{0, 1}, Value: []float64{1, -2}}, {Index: []int32{1}, Value: []float64{1}}},
		Lower: []float64{-1, -inf}, Upper: []float64{2, 0.5},
	}
	assert.NoError(t, s.Validate(2))
	assert.Equal(t, 2, s.Len())
	g := make([]float64, 2)
	s.Value(g, []float32{4, 0.25}) // 3.5 and 0.25
	assert.Equal(t, []float64{1.5, -0.25}, g)
	s.Value(g, []float32{-4, 1}) // -6 and 1
	assert.Equal(t, []float64{5, 0.5}, g)
	dst := make([]float32, 2)
	s.Pull(dst, []float32{-4, 1}, []float64{2, 3})
	assert.Equal(t, []float32{-2, 4 + 3}, dst)
	clear(dst)
	s.Pull(dst, []float32{4, 0}, []float64{1, 0})
	assert.Equal(t, []float32{1, -2}, dst)
	assert.PanicsWithValue(t, "constraint: len(g) = 1, want 2", func() { s.Value(g[:1], dst) })

	for want, spoil := range map[string]func(s *Slabs){
		"len(Lower), len(Upper) = 1, 2, want len(A) = 2": func(s *Slabs) { s.Lower = s.Lower[:1] },
		"A[1].Index[0] = 2, want 0…1":                    func(s *Slabs) { s.A = []Row{s.A[0], {Index: []int32{2}, Value: []float64{1}}} },
		"Lower[0] = NaN":                                 func(s *Slabs) { s.Lower = []float64{math.NaN(), 0} },
		"Upper[1] = -Inf":                                func(s *Slabs) { s.Upper = []float64{3, -inf} },
		"row 0 is 3 ≤ … ≤ 2":                             func(s *Slabs) { s.Lower = []float64{3, 0} },
	} {
		bad := s
		spoil(&bad)
		assert.ErrorContains(t, bad.Validate(2), want)
	}
	l := Linear{A: s.A, B: []float64{1, 2}}.Slabs()
	assert.NoError(t, l.Validate(2))
	assert.Equal(t, []float64{-inf, -inf}, l.Lower)
}
