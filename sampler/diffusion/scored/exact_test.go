package scored_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/scored"
)

const inconsistent = .6 // the power of rows that fit no joint distribution

func hitting(p *problem) diffusion.Masked {
	return diffusion.Masked{Mask: int32(p.levels), FirstHitting: true}
}

// counts of samples by exact.Index.
func (p *problem) counts(x []int32) []int {
	n := make([]int, len(p.law))
	for ; len(x) > 0; x = x[p.sites:] {
		n[exact.Index(x[:p.sites], p.levels)]++
	}
	return n
}

// errorsOf returns the errors of the n samples of a call that returned err, nil for
// those that were made, and fails if err is of the call itself.
func errorsOf(t *testing.T, n int, err error) diffusion.SampleErrors {
	t.Helper()
	each := make(diffusion.SampleErrors, n)
	if err != nil {
		require.ErrorAs(t, err, &each)
		require.Len(t, each, n)
	}
	return each
}

// requireFeasible fails unless err is nil and the judge accepts every sample.
func requireFeasible(t *testing.T, p *problem, err error, x []int32) {
	t.Helper()
	require.NoError(t, err)
	for i := range len(x) / p.sites {
		require.LessOrEqual(t, p.judge.score(x[i*p.sites:(i+1)*p.sites]), p.judge.tau)
	}
}

// Guided rejection draws from the distribution of the denoiser given the set, on
// problems that can be listed; the last of them has a denoiser that is
// inconsistent. The default, whose paths are not weighed, is the twin that is
// distinguished. With -long the distance is that of exact draws, within a tenth.
func TestExact(t *testing.T) {
	exact.SkipRepeated(t)
	problems, draws, quantiles := 2, 500, []float64{.1, .01}
	if exact.Long() {
		problems, draws, quantiles = 14, 1500, []float64{.5, .1, .01}
	}
	for _, q := range quantiles {
		var tv, twin, noise, calls, tuning, least float64
		differs := false
		for k := range problems {
			power := 1.0
			if k == problems-1 {
				power = inconsistent
			}
			p := newProblem(t, uint64(k+1), 6, 5, q, power, true)
			s, err := scored.NewExact(t.Context(), p.denoiser, hitting(p), scored.ExactConfig{Config: scored.Config{Judge: p.judge, Seed: 3}})
			require.NoError(t, err)
			x := make([]int32, draws*p.sites)
			requireFeasible(t, p, s.Sample(t.Context(), x), x)
			exact.Counts(t, p.counts(x), p.law, exact.Rate/10)
			made := 0
			for _, v := range s.Reports() {
				made += v.Predictions
			}
			tv, noise = tv+p.variation(x), noise+p.noise(draws)
			calls += float64(made) / float64(draws)
			tuning += float64(p.calls-made) / float64(draws)

			lead, err := scored.New(t.Context(), p.denoiser, hitting(p), scored.Config{Judge: p.judge, Seed: 3})
			require.NoError(t, err)
			p.calls = 0
			requireFeasible(t, p, lead.Sample(t.Context(), x), x)
			twin += p.variation(x)
			least += float64(p.calls) / float64(draws)
			differs = differs || exact.PValue(p.counts(x), p.law) < exact.Rate
		}
		n := float64(problems)
		t.Logf("%4.1f %%: exact %.3f × exact draws %.3f, %.1f predictions (rejection %.0f) and %.1f for the tuning run; default %.3f × exact draws, %.1f predictions",
			100*q, tv/noise, noise/n, calls/n, 6/q, tuning/n, twin/noise, least/n)
		assert.LessOrEqual(t, calls/n, 60.0)
		if q == .01 {
			assert.True(t, differs, "the default is not exact: the test cannot fail")
		}
		if exact.Long() {
			assert.LessOrEqual(t, tv, 1.1*noise)
		}
	}
}

// The evidence is that of the list, within its error, and the reported bound on
// the excess holds on many more paths.
func TestEvidenceAndExcess(t *testing.T) {
	exact.SkipRepeated(t)
	problems, more, quantiles := 2, 200, []float64{.01}
	if exact.Long() {
		problems, more, quantiles = 20, 1000, []float64{.5, .1, .01}
	}
	const bound = 4.9 // 1e-6, two-sided, were the estimates normal
	within, all := 0, 0
	for _, q := range quantiles {
		for k := range problems {
			power := 1.0
			if k%5 == 4 {
				power = inconsistent
			}
			p := newProblem(t, uint64(50+k), 6, 5, q, power, true)
			s, err := scored.NewExact(t.Context(), p.denoiser, hitting(p), scored.ExactConfig{Config: scored.Config{Judge: p.judge, Seed: 8}})
			require.NoError(t, err)
			err = s.Sample(t.Context(), make([]int32, 300*p.sites))
			require.NoError(t, err)
			logP, stderr := s.LogProb()
			z := (math.Exp(logP)/p.share - 1) / stderr
			assert.Less(t, math.Abs(z), bound, "P = %v, estimated %v", p.share, math.Exp(logP))
			all++
			if math.Abs(z) <= 3 {
				within++
			}
			share, most := s.Excess()
			err = s.Sample(t.Context(), make([]int32, more*p.sites))
			require.NoError(t, err)
			after, _ := s.Excess()
			assert.LessOrEqual(t, share, most)
			assert.LessOrEqual(t, after, most, "of %d samples more", more)
		}
	}
	t.Logf("%d of %d estimates within 3 standard errors", within, all)
	if exact.Long() {
		assert.GreaterOrEqual(t, within, all-1)
	}
}

// Longer strings take fewer predictions than rejection by as much.
func TestExactOnLongerStrings(t *testing.T) {
	exact.SkipRepeated(t)
	draws, problems, tuning, vocabularies := 5, 1, 64, []int{5}
	if exact.Long() {
		draws, problems, tuning, vocabularies = 100, 3, 0, []int{5, 40}
	}
	for _, levels := range vocabularies {
		calls := 0.0
		for k := range problems {
			p := newProblem(t, uint64(k+1), 16, levels, .01, 1, false)
			s, err := scored.NewExact(t.Context(), p.denoiser, hitting(p), scored.ExactConfig{Config: scored.Config{Judge: p.judge, Seed: 3}, Tuning: tuning})
			require.NoError(t, err)
			x := make([]int32, draws*p.sites)
			requireFeasible(t, p, s.Sample(t.Context(), x), x)
			for _, v := range s.Reports() {
				calls += float64(v.Predictions) / float64(draws*problems)
			}
			share, most := s.Excess()
			logP, stderr := s.LogProb()
			t.Logf("V %d: excess %.4f ≤ %.4f, P %.4f ± %.1f %%", levels, share, most, math.Exp(logP), 100*stderr)
		}
		t.Logf("V %d: %.0f predictions (rejection 1600)", levels, calls)
		assert.LessOrEqual(t, calls, 350.0)
	}
}

// Samples share predictions for states that show at most one token, and no others;
// that changes no bit. With clamped sites it is the same.
func TestSharedPredictionsChangeNothing(t *testing.T) {
	exact.SkipRepeated(t)
	const n = 40
	for _, clamp := range [][]int32{nil, {-1, 3, -1, -1, 0, -1}} {
		free := 6
		if clamp != nil {
			free = 4
		}
		draw := func(timeFree bool, batch int) (x []int32, v []scored.Report, calls int) {
			p := newProblem(t, 3, 6, 5, .1, 1, true)
			d := energy.DenoiserFunc[int32]{Sites: 6, Levels: 6, IgnoresTime: timeFree, F: p.denoiser.Denoise}
			p.calls = 0
			s, err := scored.NewExact(t.Context(), d, hitting(p), scored.ExactConfig{
				Config: scored.Config{Judge: p.judge, Seed: 3, Batch: batch, Clamp: clamp, Completions: 16}, Tuning: 100,
			})
			require.NoError(t, err)
			x = make([]int32, n*6)
			require.NoError(t, s.Sample(t.Context(), x))
			return x, s.Reports(), p.calls
		}
		want, own, all := draw(false, 1)
		for _, batch := range []int{1, 16} {
			x, v, calls := draw(true, batch)
			require.Equal(t, want, x)
			paths, counted := 0, 0
			for i := range v {
				require.Equal(t, own[i].Paths, v[i].Paths)
				require.Equal(t, free*v[i].Paths, own[i].Predictions)
				require.Equal(t, (free-2)*v[i].Paths, v[i].Predictions)
				paths, counted = paths+v[i].Paths, counted+v[i].Predictions
			}
			require.Equal(t, free*(paths+100), all)
			shared := calls - counted - 100*(free-2)
			assert.LessOrEqual(t, shared, 1+5*free+batch, "one for all masks, one for each token, and some that are asked for together")
		}
	}
}
