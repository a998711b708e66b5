package projection

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/problem"
)

// TestMoments: log-probabilities, means of sums and entropies against the list of
// all sequences, on random problems.
func TestMoments(t *testing.T) {
	cases := 2000
	if testing.Short() {
		cases = 300
	}
	r := rand.New(rand.NewPCG(72, 1))
	solved := 0
	for range cases {
		p := problem.New(t, r, 200)
		for i := range p.V { // of a size at which a float64 has digits left
			p.V[i] = float32(math.Max(float64(p.V[i]), -50))
		}
		language := p.Brute()
		e, err := Path{Language: p.Language}.Compile(t.Context(), p.Sites, p.Levels)
		if len(language) == 0 {
			problem.Infeasible[*InfeasibleError](t, err)
			continue
		}
		require.NoError(t, err)
		f := make([]float64, len(p.V))
		for i := range f {
			f[i] = r.NormFloat64()
		}
		logZ := problem.LogSum(language)
		mean, entropy := 0.0, 0.0
		in := map[string]bool{}
		for _, s := range language {
			in[problem.Spell(s.X)] = true
			got, err := e.LogProb(t.Context(), s.X, p.V)
			require.NoError(t, err)
			problem.Near(t, s.Weight-logZ, got, 1e-10)
			sum := 0.0
			for i, l := range s.X {
				sum += f[i*p.Levels+int(l)]
			}
			mean += math.Exp(s.Weight-logZ) * sum
			entropy -= math.Exp(s.Weight-logZ) * (s.Weight - logZ)
		}
		got, err := e.Mean(t.Context(), f, p.V)
		require.NoError(t, err)
		require.InDelta(t, mean, got, 1e-9)
		got, err = e.Entropy(t.Context(), p.V)
		require.NoError(t, err)
		require.InDelta(t, entropy, got, 1e-9)
		exact.Sequences(p.Levels, p.Sites, func(x []int32) {
			if len(x) == p.Sites && !in[problem.Spell(x)] {
				got, err := e.LogProb(t.Context(), x, p.V)
				require.NoError(t, err)
				require.True(t, math.IsInf(got, -1))
			}
		})
		solved++
	}
	require.Greater(t, solved, cases/4)
}

// TestEntropyOfLargeWeights: a constant added to the weights of a site, however large,
// changes nothing.
func TestEntropyOfLargeWeights(t *testing.T) {
	even, err := constraint.NewDFA(t.Context(), 2, []int32{0, 1, 1, 0}, []bool{true, false})
	require.NoError(t, err)
	e, err := Path{Language: even}.Compile(t.Context(), 3, 2)
	require.NoError(t, err)
	got, err := e.Entropy(t.Context(), []float32{1 << 20, 1 << 20, -1 << 20, -1 << 20, 1 << 20, 1 << 20})
	require.NoError(t, err)
	require.InDelta(t, math.Log(4), got, 1e-8)
	v := []float32{float32(math.NaN()), 0, 0, 0, 0, 0}
	var weight *WeightError
	_, err = e.Entropy(t.Context(), v)
	require.ErrorAs(t, err, &weight)
	_, err = e.Mean(t.Context(), make([]float64, 6), v)
	require.ErrorAs(t, err, &weight)
	_, err = e.LogProb(t.Context(), []int32{1, 1, 0}, v)
	require.ErrorAs(t, err, &weight)
	require.PanicsWithValue(t, "projection: token = 2, want 0 … 1", func() { e.LogProb(t.Context(), []int32{2, 0, 0}, make([]float32, 6)) })
}
