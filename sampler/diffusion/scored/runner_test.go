package scored_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/novelty"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/scored"
)

// sampler is what both have in common.
type sampler interface {
	Sample(ctx context.Context, x []int32) error
	Reports() []scored.Report
	Len() int
}

func both(t *testing.T, p *problem, cfg scored.Config) map[string]sampler {
	lead, err := scored.New(t.Context(), p.denoiser, hitting(p), cfg)
	require.NoError(t, err)
	guided, err := scored.NewExact(t.Context(), p.denoiser, hitting(p), scored.ExactConfig{Config: cfg, Tuning: 32})
	require.NoError(t, err)
	return map[string]sampler{"runner": lead, "exact": guided}
}

// A sample is a function of its number and the seed, whatever shares its batch,
// whoever does the work and whichever part of a run it belongs to.
func TestBatchWorkersAndPartsChangeNothing(t *testing.T) {
	const n = 12
	p := newProblem(t, 3, 5, 4, .1, 1, true)
	want := map[string][]int32{}
	reports := map[string][]scored.Report{}
	for _, cfg := range []scored.Config{{}, {Batch: 1}, {Batch: 5, Workers: 3}, {First: 4, Workers: 2}} {
		cfg.Judge, cfg.Seed, cfg.Completions = p.judge, 9, 8
		for name, s := range both(t, p, cfg) {
			x := make([]int32, (n-cfg.First)*p.sites)
			require.NoError(t, s.Sample(t.Context(), x))
			require.Equal(t, n, s.Len())
			if want[name] == nil {
				want[name], reports[name] = x, s.Reports()
			}
			require.Equal(t, want[name][cfg.First*p.sites:], x, "%s, %+v", name, cfg)
			require.Equal(t, reports[name][cfg.First:], s.Reports(), "%s, %+v", name, cfg)
		}
	}
}

// The denoiser gets the conditioning of the run.
func TestMetaIsPassedThrough(t *testing.T) {
	p, asked := newProblem(t, 3, 5, 4, .5, 1, true), 0
	inner := p.denoiser
	p.denoiser = energy.DenoiserFunc[int32]{Sites: 5, Levels: 5, F: func(ctx context.Context, v []float32, q energy.Noised[int32]) error {
		asked++
		require.Equal(t, "a condition", q.Meta)
		return inner.Denoise(ctx, v, q)
	}}
	for name, s := range both(t, p, scored.Config{Judge: p.judge, Meta: "a condition"}) {
		asked = 0
		require.NoError(t, s.Sample(t.Context(), make([]int32, 5)), name)
		require.Positive(t, asked, name)
	}
}

// Whatever fails for a sample is its own: 500 asked for are 500 entries.
func TestErrorsBelongToTheirSample(t *testing.T) {
	p := newProblem(t, 3, 5, 4, .5, 1, true)
	broken := errors.New("no prediction")
	inner := p.denoiser
	failing := energy.DenoiserFunc[int32]{Sites: 5, Levels: 5, F: func(ctx context.Context, v []float32, q energy.Noised[int32]) error {
		for _, s := range q.Sample {
			if s%7 == 3 {
				return broken
			}
		}
		return inner.Denoise(ctx, v, q)
	}}
	judge := constraint.Score{DecideAll: func(dst []float64, x []int32) {
		p.judge.Violation(dst, x)
		for s := range dst {
			if x[s*5] == 2 && x[s*5+4] == 1 {
				dst[s] = math.NaN()
			}
		}
	}}
	s, err := scored.New(t.Context(), failing, hitting(p), scored.Config{Judge: judge, Completions: 1})
	require.NoError(t, err)
	const n = 500
	x := make([]int32, n*5)
	each := errorsOf(t, n, s.Sample(t.Context(), x))
	good, nan := 0, 0
	for i, err := range each {
		switch {
		case i%7 == 3:
			require.ErrorIs(t, err, broken)
			require.Equal(t, []int32{-1, -1, -1, -1, -1}, x[i*5:(i+1)*5])
		case err != nil:
			require.ErrorContains(t, err, "is NaN")
			nan++
		default:
			require.LessOrEqual(t, p.judge.score(x[i*5:(i+1)*5]), p.judge.tau)
			good++
		}
	}
	assert.Positive(t, nan)
	assert.Greater(t, good, n/4)

	never := constraint.Score{Decide: func([]int32) float64 { return 1 }}
	for name, s := range both(t, p, scored.Config{Judge: never, Completions: 1, Rounds: 3}) {
		for _, err := range errorsOf(t, 10, s.Sample(t.Context(), make([]int32, 10*5))) {
			var not *scored.NotConverged
			require.ErrorAs(t, err, &not, name)
			require.Equal(t, 1.0, not.Violation)
			require.ErrorContains(t, err, "want ≤ 0")
		}
		require.Equal(t, 10, s.Len())
	}
}

func TestPathsAreBounded(t *testing.T) {
	p := newProblem(t, 3, 5, 4, .01, 1, true)
	s, err := scored.NewExact(t.Context(), p.denoiser, hitting(p), scored.ExactConfig{Config: scored.Config{Judge: p.judge, Completions: 8}, Paths: 1})
	require.NoError(t, err)
	failed := errorsOf(t, 50, s.Sample(t.Context(), make([]int32, 50*5))).Failed()
	for _, v := range s.Reports() {
		require.Equal(t, 1, v.Paths)
	}
	assert.Greater(t, failed, 10)
}

func TestACancelledCallLeavesNothingHalfDone(t *testing.T) {
	p := newProblem(t, 3, 5, 4, .1, 1, true)
	cfg := scored.Config{Judge: p.judge, Completions: 8, Batch: 4}
	whole := both(t, p, cfg)
	for name, s := range both(t, p, cfg) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		x := make([]int32, 20*5)
		err := s.Sample(ctx, x)
		require.ErrorIs(t, err, context.Canceled)
		require.False(t, errors.As(err, new(diffusion.SampleErrors)))
		require.Len(t, s.Reports(), 20)
		require.True(t, math.IsNaN(s.Reports()[19].Violation))
		require.Zero(t, s.Len())
		require.NoError(t, s.Sample(t.Context(), x))
		want := make([]int32, len(x))
		require.NoError(t, whole[name].Sample(t.Context(), want))
		require.Equal(t, want, x, name)
	}
}

// Within a language completions are joint draws; guided rejection is exact for few
// levels, which are all candidates, and for many, of which some are drawn.
func TestWithinALanguage(t *testing.T) {
	for _, size := range [][2]int{{5, 4}, {3, 20}} {
		sites, levels := size[0], size[1]
		p := newProblem(t, 6, sites, levels, .6, 1, true)
		var low []int32
		for l := range levels / 2 {
			low = append(low, int32(l))
		}
		lang := constraint.Count{Levels: low, Min: 2, Max: 3}
		total := 0.0
		for i, x := range exact.States(sites, levels) {
			n := 0
			for _, l := range x {
				if int(l) < levels/2 {
					n++
				}
			}
			if n < 2 || n > 3 {
				p.law[i] = 0
			}
			total += p.law[i]
		}
		for i := range p.law {
			p.law[i] /= total
		}
		require.Greater(t, p.share*total, .05)
		cfg := scored.Config{Judge: p.judge, Within: projection.Path{Language: lang}, Completions: 16, Seed: 2}
		const n = 300
		for _, c := range []struct {
			name string
			make func() (sampler, error)
		}{
			{"runner", func() (sampler, error) { return scored.New(t.Context(), p.denoiser, hitting(p), cfg) }},
			{"exact", func() (sampler, error) {
				return scored.NewExact(t.Context(), p.denoiser, hitting(p), scored.ExactConfig{Config: cfg})
			}},
		} {
			s, err := c.make()
			require.NoError(t, err)
			x := make([]int32, n*sites)
			requireFeasible(t, p, s.Sample(t.Context(), x), x)
			for i := range n {
				require.True(t, constraint.Accepts(lang, x[i*sites:(i+1)*sites]))
			}
			value := exact.PValue(p.counts(x), p.law)
			t.Logf("%v, %s: p = %.2g", size, c.name, value)
			if c.name == "runner" {
				continue
			}
			assert.Greater(t, value, exact.Rate/2)
			logP, stderr := s.(*scored.Exact).LogProb()
			assert.Less(t, math.Abs(math.Exp(logP)/(p.share*total)-1)/stderr, 4.9)
		}
	}
}

// A language that leaves nothing is the error of every sample.
func TestLanguageOutOfReach(t *testing.T) {
	p := newProblem(t, 3, 5, 4, .5, 1, true)
	inner := p.denoiser
	p.denoiser = energy.DenoiserFunc[int32]{Sites: 5, Levels: 5, IgnoresTime: true, F: func(ctx context.Context, v []float32, q energy.Noised[int32]) error {
		err := inner.Denoise(ctx, v, q)
		for i := 0; i < len(v); i += 5 {
			v[i] = float32(math.Inf(-1)) // never 0
		}
		return err
	}}
	lang := constraint.Count{Levels: []int32{0}, Min: 1, Max: 9}
	for name, s := range both(t, p, scored.Config{Judge: p.judge, Completions: 2, Within: projection.Path{Language: lang}}) {
		for _, err := range errorsOf(t, 3, s.Sample(t.Context(), make([]int32, 3*5))) {
			require.ErrorIs(t, err, constraint.ErrInfeasible, name)
		}
	}
}

func TestClampedTokensStay(t *testing.T) {
	p := newProblem(t, 3, 5, 4, .5, 1, true)
	clamp := []int32{-1, 2, -1, -1, 0}
	for name, s := range both(t, p, scored.Config{Judge: p.judge, Completions: 4, Clamp: clamp}) {
		x := make([]int32, 20*5)
		for i, err := range errorsOf(t, 20, s.Sample(t.Context(), x)) {
			if err == nil {
				require.LessOrEqual(t, p.judge.score(x[i*5:(i+1)*5]), p.judge.tau)
			}
			require.Equal(t, int32(2), x[i*5+1], name)
			require.Equal(t, int32(0), x[i*5+4], name)
		}
	}
	// Nothing is free: the judge has the last word.
	all := []int32{1, 2, 3, 0, 0}
	for _, s := range both(t, p, scored.Config{Judge: constraint.Score{Decide: func([]int32) float64 { return -1 }}, Clamp: all}) {
		x := make([]int32, 5)
		require.NoError(t, s.Sample(t.Context(), x))
		require.Equal(t, all, x)
	}
}

// A denoiser that wants the time gets one that fits, also for tokens that were taken
// back.
func TestTimesFitTheMasks(t *testing.T) {
	p := newProblem(t, 5, 6, 5, .01, 1, true)
	inner := p.denoiser
	timed := energy.DenoiserFunc[int32]{Sites: 6, Levels: 6, F: func(ctx context.Context, v []float32, q energy.Noised[int32]) error {
		for s, at := range q.Time {
			masks := 0
			for _, l := range q.X[s*6 : (s+1)*6] {
				if l == 5 {
					masks++
				}
			}
			if !(at > 0 && at <= 1) || masks < 6 && at == 1 {
				return errors.New("no such time")
			}
		}
		return inner.Denoise(ctx, v, q)
	}}
	mended := 0
	for _, of := range masked {
		s, err := scored.New(t.Context(), timed, of.process(5), scored.Config{Judge: p.judge, Completions: 1, Steps: 8})
		require.NoError(t, err)
		x := make([]int32, 40*6)
		requireFeasible(t, p, s.Sample(t.Context(), x), x)
		for _, v := range s.Reports() {
			mended += v.Rounds
		}
	}
	assert.Positive(t, mended)
}

func TestBadSettings(t *testing.T) {
	p := newProblem(t, 3, 5, 4, .5, 1, true)
	good := scored.Config{Judge: p.judge}
	bad := func(want string, change func(c *scored.Config)) {
		t.Helper()
		c := good
		change(&c)
		_, err := scored.New(t.Context(), p.denoiser, hitting(p), c)
		require.ErrorContains(t, err, want)
	}
	bad("Config.Judge = <nil>, want a set", func(c *scored.Config) { c.Judge = nil })
	bad("Config.Judge", func(c *scored.Config) { c.Judge = (*mlp)(nil) })
	bad("Config.Guide = nil *scored_test.mlp", func(c *scored.Config) { c.Guide = (*mlp)(nil) })
	bad("Config.Judge: constraint: Score: F", func(c *scored.Config) { c.Judge = constraint.Score{} })
	bad("judges no sequences", func(c *scored.Config) {
		c.Judge = constraint.Score{F: func([]float32) float64 { return 0 }, Gradient: func(_, _ []float32, _ float64) {}}
	})
	bad("Judge.Len() = 0", func(c *scored.Config) { c.Judge = constraint.Linear{} })
	bad("Rounds = -2, want ≥ -1", func(c *scored.Config) { c.Rounds = -2 })
	bad("Candidates = -1, want ≥ 0", func(c *scored.Config) { c.Candidates = -1 })
	bad("First = -1, want ≥ 0", func(c *scored.Config) { c.First = -1 })
	bad("Clamp = (2 entries), want 5", func(c *scored.Config) { c.Clamp = make([]int32, 2) })
	bad("Clamp[1] = 7, want -1 … 4", func(c *scored.Config) { c.Clamp = []int32{0, 7, 0, 0, 0} })
	bad("Clamp[2] = 4, which is the mask", func(c *scored.Config) { c.Clamp = []int32{0, 0, 4, 0, 0} })
	bad("has a memory", func(c *scored.Config) {
		c.Within = &novelty.Projector{}
	})
	for _, c := range []struct {
		want    string
		model   energy.Denoiser[int32]
		process diffusion.Process[int32]
		cfg     scored.ExactConfig
	}{
		{"model = nil", nil, hitting(p), scored.ExactConfig{}},
		{"process = nil", p.denoiser, nil, scored.ExactConfig{}},
		{"has no masks", p.denoiser, diffusion.Uniform{}, scored.ExactConfig{}},
		{"no diffusion.Joint", p.denoiser, diffusion.Remask{Mask: 4}, scored.ExactConfig{}},
		{"Mask = 9", p.denoiser, diffusion.Masked{Mask: 9}, scored.ExactConfig{}},
		{"Tuning = -1", p.denoiser, hitting(p), scored.ExactConfig{Tuning: -1}},
		{"Excess = 1.5", p.denoiser, hitting(p), scored.ExactConfig{Excess: 1.5}},
	} {
		c.cfg.Config = good
		_, err := scored.NewExact(t.Context(), c.model, c.process, c.cfg)
		require.ErrorContains(t, err, c.want)
	}
	s, err := scored.New(t.Context(), p.denoiser, hitting(p), good)
	require.NoError(t, err)
	require.Panics(t, func() { _ = s.Sample(t.Context(), make([]int32, 7)) })
}

func TestPotential(t *testing.T) {
	set := constraint.Score{Decide: func(x []int32) float64 { return []float64{-1, 2, math.NaN(), math.Inf(-1)}[x[0]] }}
	x, times := []int32{0, 1, 2, 3, 1}, []float64{0, 0, 0, 0, .5}
	got := make([]float64, 5)
	scored.Potential{Score: set}.Log(got, x, times)
	require.Equal(t, []float64{0, math.Inf(-1)}, got[:2])
	require.True(t, math.IsNaN(got[2]))
	require.Equal(t, []float64{0, 0}, got[3:])
	scored.Potential{Score: set, Temperature: 2, Value: func(logG []float64, _ []int32, _ []float64) {
		for i := range logG {
			logG[i] = 7
		}
	}}.Log(got, x, times)
	require.Equal(t, []float64{.5, -1}, got[:2])
	require.True(t, math.IsNaN(got[2]))
	require.Equal(t, []float64{math.Inf(1), 7}, got[3:])

	require.ErrorContains(t, scored.Potential{}.Validate(), "Score = nil")
	require.ErrorContains(t, scored.Potential{Score: set, Temperature: -1}.Validate(), "Temperature = -1")
	require.Panics(t, func() { scored.Potential{}.Log(got, x, times) })
}
