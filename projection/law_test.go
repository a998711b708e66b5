package projection

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// TestDrawLaw tests the joint law of draws on 60 random problems at a rate of
// false alarms of 1e-6 in all. The twin draws site by site from the marginals
// of the constrained law, so that only dependence between sites is wrong, and
// must be caught.
func TestDrawLaw(t *testing.T) {
	const problems, draws = 60, 3000
	r := rand.New(rand.NewPCG(21, 1))
	caught := 0
	for n := 0; n < problems; {
		p := newProblem(t, r, 300)
		for i := range p.v {
			p.v[i] = float32(math.Max(-3, math.Min(3, float64(p.v[i]))))
		}
		language := p.brute()
		if len(language) < 3 {
			continue
		}
		n++
		e, err := p.path.Compile(context.Background(), p.sites, p.levels)
		require.NoError(t, err)
		cell := map[string]int{}
		law := make([]float64, len(language)+1) // the last: outside
		logZ := logSum(language)
		for i, s := range language {
			cell[spell(s.x)] = i
			law[i] = math.Exp(s.weight - logZ)
		}
		count, twin := make([]int, len(law)), make([]int, len(law))
		x := make([]int32, draws*p.sites)
		_, err = e.Sample(x, p.v, r)
		require.NoError(t, err)
		m := make([]float64, len(p.v))
		require.NoError(t, e.Marginals(m, p.v))
		y := make([]int32, p.sites)
		tally := func(c []int, x []int32) {
			i, ok := cell[spell(x)]
			if !ok {
				i = len(language)
			}
			c[i]++
		}
		for ; len(x) > 0; x = x[p.sites:] {
			tally(count, x[:p.sites])
			for i := range y {
				u := r.Float64()
				for y[i] = 0; int(y[i]) < p.levels-1; y[i]++ {
					if u -= math.Exp(m[i*p.levels+int(y[i])]); u < 0 {
						break
					}
				}
			}
			tally(twin, y)
		}
		exact.Counts(t, count, law, 1e-6/problems)
		if exact.PValue(twin, law) < 1e-6/problems {
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
		p := newProblem(t, r, 300)
		for i := range p.v {
			p.v[i] = float32(math.Max(-3, math.Min(3, float64(p.v[i]))))
		}
		language := p.brute()
		e, err := p.path.Compile(context.Background(), p.sites, p.levels)
		if err != nil || len(language) < 2 {
			continue
		}
		x := make([]int32, p.sites)
		p.path.Divergence = Reverse
		twin, err := p.path.Compile(context.Background(), p.sites, p.levels)
		require.NoError(t, err)
		right, err := e.Nearest(x, append([]float32(nil), p.v...))
		require.NoError(t, err)
		wrong, err := twin.Nearest(x, append([]float32(nil), p.v...))
		require.NoError(t, err)
		if math.Abs(right-wrong) > 1e-9 {
			wrongCost++
		}
		logZ, err := e.LogZ(p.v)
		require.NoError(t, err)
		if math.Abs(logZ-logSum(language[1:])) > 1e-10 {
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
		p := newProblem(t, r, 300)
		language := p.brute()
		if len(language) == 0 {
			continue
		}
		only := language[r.IntN(len(language))].x
		for i := range p.v {
			p.v[i] = 0
			if int32(i%p.levels) == only[i/p.levels] && p.levels > 1 {
				p.v[i] = -1e4
			}
		}
		e, err := p.path.Compile(context.Background(), p.sites, p.levels)
		require.NoError(t, err)
		logZ, err := e.LogZ(p.v)
		require.NoError(t, err)
		near(t, logSum(p.brute()), logZ, 1e-10)
		x := make([]int32, p.sites)
		_, err = e.Draw(x, p.v, r)
		require.NoError(t, err)
		require.True(t, e.Accepts(x))
	}
}
