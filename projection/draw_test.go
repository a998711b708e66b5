package projection

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/problem"
)

// TestDraw tests the joint distribution of draws on 60 random problems at a rate of
// false alarms of 1e-6 in all. The twin draws site by site from the marginals
// of the constrained distribution, so that only dependence between sites is wrong, and
// must be caught.
func TestDraw(t *testing.T) {
	const problems, draws = 60, 3000
	r := rand.New(rand.NewPCG(21, 1))
	caught := 0
	for n := 0; n < problems; {
		p := problem.New(t, r, 300)
		for i := range p.V {
			p.V[i] = float32(math.Max(-3, math.Min(3, float64(p.V[i]))))
		}
		language := p.Brute()
		if len(language) < 3 {
			continue
		}
		n++
		e, err := Path{Language: p.Language}.Compile(context.Background(), p.Sites, p.Levels)
		require.NoError(t, err)
		cell := map[string]int{}
		want := make([]float64, len(language)+1) // the last: outside
		logZ := problem.LogSum(language)
		for i, s := range language {
			cell[problem.Spell(s.X)] = i
			want[i] = math.Exp(s.Weight - logZ)
		}
		count, twin := make([]int, len(want)), make([]int, len(want))
		x := make([]int32, draws*p.Sites)
		_, err = e.Sample(t.Context(), x, p.V, r)
		require.NoError(t, err)
		m := make([]float64, len(p.V))
		require.NoError(t, e.LogMarginals(t.Context(), m, p.V))
		y := make([]int32, p.Sites)
		tally := func(c []int, x []int32) {
			i, ok := cell[problem.Spell(x)]
			if !ok {
				i = len(language)
			}
			c[i]++
		}
		for ; len(x) > 0; x = x[p.Sites:] {
			tally(count, x[:p.Sites])
			for i := range y {
				u := r.Float64()
				for y[i] = 0; int(y[i]) < p.Levels-1; y[i]++ {
					if u -= math.Exp(m[i*p.Levels+int(y[i])]); u < 0 {
						break
					}
				}
			}
			tally(twin, y)
		}
		exact.Counts(t, count, want, 1e-6/problems)
		if exact.PValue(twin, want) < 1e-6/problems {
			caught++
		}
	}
	require.Greater(t, caught, 10)
}

// TestBrokenTwins: the comparison of TestAgainstBruteForce notices a projection
// that minimises the wrong divergence and a normaliser of the wrong language.
func TestBrokenTwins(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 1))
	wrongCost, wrongSum := 0, 0
	for range 200 {
		p := problem.New(t, r, 300)
		for i := range p.V {
			p.V[i] = float32(math.Max(-3, math.Min(3, float64(p.V[i]))))
		}
		language := p.Brute()
		e, err := Path{Language: p.Language}.Compile(context.Background(), p.Sites, p.Levels)
		if err != nil || len(language) < 2 {
			continue
		}
		x := make([]int32, p.Sites)
		twin, err := Path{Language: p.Language, Divergence: Reverse}.Compile(context.Background(), p.Sites, p.Levels)
		require.NoError(t, err)
		right, err := e.Nearest(t.Context(), x, append([]float32(nil), p.V...))
		require.NoError(t, err)
		wrong, err := twin.Nearest(t.Context(), x, append([]float32(nil), p.V...))
		require.NoError(t, err)
		if math.Abs(right-wrong) > 1e-9 {
			wrongCost++
		}
		logZ, err := e.LogZ(t.Context(), p.V)
		require.NoError(t, err)
		if math.Abs(logZ-problem.LogSum(language[1:])) > 1e-10 {
			wrongSum++
		}
	}
	require.Greater(t, wrongCost, 20)
	require.Greater(t, wrongSum, 20)
}

// TestExtremeWeights: a sequence of weight e^−50000 is found, not refused.
func TestExtremeWeights(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 1))
	for range 200 {
		p := problem.New(t, r, 300)
		language := p.Brute()
		if len(language) == 0 {
			continue
		}
		only := language[r.IntN(len(language))].X
		for i := range p.V {
			p.V[i] = 0
			if int32(i%p.Levels) == only[i/p.Levels] && p.Levels > 1 {
				p.V[i] = -1e4
			}
		}
		e, err := Path{Language: p.Language}.Compile(context.Background(), p.Sites, p.Levels)
		require.NoError(t, err)
		logZ, err := e.LogZ(t.Context(), p.V)
		require.NoError(t, err)
		problem.Near(t, problem.LogSum(p.Brute()), logZ, 1e-10)
		x := make([]int32, p.Sites)
		_, err = e.Draw(t.Context(), x, p.V, r)
		require.NoError(t, err)
		require.True(t, e.Accepts(x))
	}
}
