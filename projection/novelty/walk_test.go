package novelty

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/stretchr/testify/require"
)

// opaque is a corpus that does not list its transitions, oneByOne does so for one
// state at a time.
type (
	opaque   struct{ Corpus }
	oneByOne struct{ Sparse }
)

// TestCorpusThatListsNothing: the same sums whether transitions are listed or asked
// for token by token.
func TestCorpusThatListsNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(45, 1))
	all, levels := chemistry(r, 200, 12)
	lexicon := new(constraint.Lexicon)
	for _, x := range all {
		lexicon.Add(x)
	}
	var _ Crowded = lexicon
	listed, err := Projector{Seen: lexicon}.Compile(t.Context(), 12, levels)
	require.NoError(t, err)
	asked, err := Projector{Seen: opaque{lexicon}}.Compile(t.Context(), 12, levels)
	require.NoError(t, err)
	single, err := Projector{Seen: oneByOne{lexicon}}.Compile(t.Context(), 12, levels)
	require.NoError(t, err)
	for _, bonus := range []float64{1, 5, 9, 25} {
		for _, v := range predictions(r, all, levels, 3, bonus) {
			want, err := listed.LogProb(t.Context(), v)
			require.NoError(t, err)
			for _, s := range []*CorpusProjection{asked, single} {
				got, err := s.LogProb(t.Context(), v)
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
		}
	}
}

// TestNovelInAnUnlikelyLanguage: sequences of the language weigh e^−20000 compared with
// others, which must not drown them.
func TestNovelInAnUnlikelyLanguage(t *testing.T) {
	within, err := constraint.Contains([]int32{1, 1})
	require.NoError(t, err)
	lexicon := new(constraint.Lexicon)
	lexicon.Add([]int32{1, 1, 0})
	s, err := Projector{Seen: lexicon, Path: projection.Path{Language: within}}.Compile(t.Context(), 3, 2)
	require.NoError(t, err)
	v := []float32{0, -10000, 0, -10000, 0, -10000}
	got, err := s.LogProb(t.Context(), v) // of 110, 011 and 111
	require.NoError(t, err)
	require.InDelta(t, math.Log(0.5), got, 1e-11)
	x := make([]int32, 3)
	for range 20 {
		_, err := s.Draw(t.Context(), x, v, r20)
		require.NoError(t, err)
		require.Equal(t, []int32{0, 1, 1}, x)
	}
	lexicon.Add([]int32{0, 1, 1})
	got, err = s.LogProb(t.Context(), v) // 111 is left
	require.NoError(t, err)
	require.InDelta(t, -10000-math.Ln2, got, 1e-9)
	_, err = s.Draw(t.Context(), x, v, r20)
	require.NoError(t, err)
	require.Equal(t, []int32{1, 1, 1}, x)
}

var r20 = rand.NewPCG(20, 1)

// TestLimitOfTransitions: what is kept for the draws of a distribution of which
// nearly everything is known is bounded by the limit of the path.
func TestLimitOfTransitions(t *testing.T) {
	lexicon := new(constraint.Lexicon)
	lexicon.Add([]int32{0, 0, 0, 0})
	v := []float32{9, 0, 9, 0, 9, 0, 9, 0}
	for limit, fits := range map[int]bool{3: false, 4: true} {
		s, err := Projector{Seen: lexicon, Path: projection.Path{Limit: limit}}.Compile(t.Context(), 4, 2)
		require.NoError(t, err)
		_, err = s.LogProb(t.Context(), v)
		if fits {
			require.NoError(t, err)
			continue
		}
		var limited *constraint.LimitError
		require.ErrorAs(t, err, &limited)
		require.Equal(t, 3, limited.Bound)
	}
}

// TestLightest: what is left out weighs less than the bound, and is as much as fits.
func TestLightest(t *testing.T) {
	r := rand.New(rand.NewPCG(46, 1))
	for range 300 {
		var l lightest
		bits := 1 + r.IntN(60)
		l.begin(bits)
		out := 0.0
		for sites := 3; sites > 0; sites-- {
			logs := make([]float64, r.IntN(40))
			for i := range logs {
				logs[i] = -r.Float64() * 80
				l.weigh(binOfLog(logs[i]))
			}
			last := l.cut(sites)
			for _, x := range logs {
				if binOfLog(x) > last {
					out += math.Exp(x)
				}
			}
		}
		require.LessOrEqual(t, out, math.Ldexp(1, -bits))
	}
	var l lightest
	l.begin(2)
	for range 3 {
		l.weigh(4)
	}
	l.weigh(2000)
	require.Equal(t, 3, func() int { l.weigh(3); return l.cut(1) }(), "three sixteenths fit a quarter, the eighth does not")
	l.begin(2000)
	l.weigh(5000)
	require.Equal(t, math.MaxInt, l.cut(1), "beyond the last bin nothing is known")
}

// TestNovelInALanguageThatNests: balanced brackets of six tokens, ()()() and four
// others, while they become known one after the other.
func TestNovelInALanguageThatNests(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("the states of both together do not fit an int of 32 bits")
	}
	g, err := grammar.Parse(t.Context(), `s = ("(" s ")")*`, constraint.Limits{})
	require.NoError(t, err)
	brackets, err := g.Over(t.Context(), text.Runes("()"))
	require.NoError(t, err)
	lexicon := new(constraint.Lexicon)
	s, err := Projector{Seen: lexicon, Path: projection.Path{Language: brackets}, Trials: 1}.Compile(t.Context(), 6, 2)
	require.NoError(t, err)
	v := make([]float32, 12)
	x := make([]int32, 6)
	for known := range 5 {
		got, err := s.LogProb(t.Context(), v)
		require.NoError(t, err)
		require.InDelta(t, math.Log(float64(5-known)/5), got, 1e-12)
		logZ, err := s.LogZ(t.Context(), v)
		require.NoError(t, err)
		require.InDelta(t, math.Log(float64(5-known)), logZ, 1e-12)
		_, err = s.Draw(t.Context(), x, v, r20)
		require.NoError(t, err)
		require.True(t, lexicon.Add(x))
	}
	_, err = s.LogProb(t.Context(), v)
	require.ErrorIs(t, err, constraint.ErrInfeasible)
}

// TestSampleWithoutReplacement: pairs of draws from three sequences of the language,
// against the distribution of pairs without replacement, which the twin that draws
// twice does not have. The rate of false alarms is 1e-6.
func TestSampleWithoutReplacement(t *testing.T) {
	within := constraint.Count{Levels: []int32{1}, Min: 1, Max: 1}
	v := []float32{0, 0, 0, 1, 0, 2}
	p := []float64{1, math.E, math.E * math.E}
	total := p[0] + p[1] + p[2]
	want := make([]float64, 9)
	for i := range 3 {
		for j := range 3 {
			if i != j {
				want[3*i+j] = p[i] / total * p[j] / (total - p[i])
			}
		}
	}
	at := func(x []int32) int {
		for i, token := range x {
			if token == 1 {
				return i
			}
		}
		return -1
	}
	count, twin := make([]int, 9), make([]int, 9)
	r := rand.New(rand.NewPCG(47, 1))
	x := make([]int32, 12)
	for range 4000 {
		s, err := Projector{Path: projection.Path{Language: within}, Trials: 1}.Compile(t.Context(), 3, 2)
		require.NoError(t, err)
		n, err := s.Sample(t.Context(), x[:6], v, r)
		require.NoError(t, err)
		require.Equal(t, 2, n)
		count[3*at(x[:3])+at(x[3:6])]++
		_, err = s.within.Sample(t.Context(), x[:6], v, r)
		require.NoError(t, err)
		twin[3*at(x[:3])+at(x[3:6])]++
	}
	exact.Counts(t, count, want, 1e-6)
	require.Less(t, exact.PValue(twin, want), 1e-6)
	s, err := Projector{Path: projection.Path{Language: within}}.Compile(t.Context(), 3, 2)
	require.NoError(t, err)
	n, err := s.Sample(t.Context(), x, v, r)
	require.ErrorIs(t, err, constraint.ErrInfeasible)
	require.Equal(t, 3, n)
	require.Panics(t, func() { s.Sample(t.Context(), x[:4], v, r) })
}
