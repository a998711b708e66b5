package diffusion

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

func flat(sites, levels int) energy.DenoiserFunc[int32] {
	return energy.DenoiserFunc[int32]{Sites: sites, Levels: levels, F: func(_ context.Context, v []float32, _ energy.Noised[int32]) error {
		clear(v)
		return nil
	}}
}

func TestNoMaskSurvives(t *testing.T) {
	// The denoiser gives the mask as much weight as every token.
	for name, p := range map[string]Process[int32]{
		"log-linear": Masked{Mask: 1}, "cosine": Masked{Mask: 1, Schedule: noise.Cosine{}}, "squared": Masked{Mask: 1, Schedule: noise.CosineSquared{}},
		"linear": Masked{Mask: 1, Schedule: noise.LinearSigma{Min: 0.5}}, "geometric": Masked{Mask: 1, Schedule: noise.GeometricSigma{Min: 0.5}},
		"first": Masked{Mask: 1, FirstHitting: true}, "first/geometric": Masked{Mask: 1, FirstHitting: true, Schedule: noise.GeometricSigma{Min: 0.5}},
		"cap": Remask{Mask: 1, Eta: 1}, "rescale": Remask{Mask: 1, Rule: RemaskRescale, Eta: 1},
		"confidence": Remask{Mask: 1, Rule: RemaskConfidence, Eta: 1}, "loop": Remask{Mask: 1, Rule: RemaskLoop, Eta: 1},
		"ordered": Ordered{Mask: 1}, "blocks": Ordered{Mask: 1, Block: 3, Score: ScoreEntropy}, "greedy": Ordered{Mask: 1, Block: 30, Score: ScoreMargin, Greedy: true},
	} {
		for _, steps := range []int{1, 2, 3, 50} {
			d, err := New(context.Background(), flat(10, 3), p, Config{Steps: steps, Clamp: []int32{-1, 2, -1, -1, 0, -1, -1, -1, -1, 0}})
			require.NoError(t, err)
			x := make([]int32, 10*100)
			require.NoError(t, d.Sample(context.Background(), x))
			assert.NotContains(t, x, int32(1), name)
			for ; len(x) > 0; x = x[10:] {
				assert.Equal(t, []int32{2, 0, 0}, []int32{x[1], x[4], x[9]}, name)
			}
		}
	}
}

// givenLaw is the law of m given the tokens that are not −1.
func givenLaw(m *joint, given []int32) []float64 {
	p := m.target()
	_, levels := m.Shape()
	x := make([]int32, m.sites)
	sum := 0.0
	for k := range p {
		exact.State(x, k, levels)
		for i, l := range given {
			if l >= 0 && l != x[i] {
				p[k] = 0
			}
		}
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
	return p
}

func TestClampedSitesConditionTheRest(t *testing.T) {
	exact.SkipRepeated(t)
	given := []int32{-1, 1, -1}
	m := newJoint(3, 2, true, 5)
	counts := sampleDiffusion(t, m, Masked{Mask: 2, FirstHitting: true}, Config{Clamp: given}, 30_000)
	exact.Counts(t, counts, givenLaw(m, given), exact.Rate)

	// Under uniform corruption the denoiser must know what is clean. At 400
	// steps the discretisation (TV below 0.004) is far below what 1000 draws
	// can see; a denoiser that does not know it is 0.1 off.
	u := newJoint(3, 3, false, 6)
	cfg := Config{Clamp: given, Steps: 400, Workers: 1}
	exact.Counts(t, sampleDiffusion(t, u, Uniform{}, cfg, 1000), givenLaw(u, given), exact.Rate)
	deaf := energy.DenoiserFunc[int32]{Sites: 3, Levels: 3, F: func(ctx context.Context, v []float32, q energy.Noised[int32]) error {
		q.Clean = nil
		return u.Denoise(ctx, v, q)
	}}
	cfg.Steps = 100
	d, err := New(context.Background(), deaf, Uniform{}, cfg)
	require.NoError(t, err)
	x := make([]int32, 3*4000)
	require.NoError(t, d.Sample(context.Background(), x))
	assert.Less(t, exact.PValue(tally(x, 3, 3), givenLaw(u, given)), exact.Rate)
}

func TestFillCompletesRecords(t *testing.T) {
	m := newJoint(4, 3, true, 5)
	d, err := New(context.Background(), m, Masked{Mask: 3}, Config{Clamp: []int32{2, -1, -1, -1}})
	require.NoError(t, err)
	x := []int32{-1, 0, -1, 1, -1, -1, -1, -1, 2, 2, 1, 0}
	require.NoError(t, d.Fill(context.Background(), x))
	assert.Equal(t, []int32{2, 0, 1, 2, 2, 2, 1, 0}, []int32{x[0], x[1], x[3], x[4], x[8], x[9], x[10], x[11]})
	for _, l := range x {
		assert.True(t, l >= 0 && l < 3)
	}
	assert.ErrorContains(t, d.Fill(context.Background(), []int32{0, 3, 0, 0}), "site 1 = 3, which is the mask")
	assert.ErrorContains(t, d.Fill(context.Background(), []int32{0, 4, 0, 0}), "x[1] = 4, want < 4")
	assert.PanicsWithValue(t, "diffusion: len(x) = 3, want a multiple of 4", func() { _ = d.Sample(context.Background(), x[:3]) })
}

func TestDiffusionStopsAndGoesOn(t *testing.T) {
	m := newJoint(4, 3, true, 5)
	cfg := Config{Steps: 8, Batch: 5, Workers: 2}
	d, err := New(context.Background(), m, Masked{Mask: 3}, cfg)
	require.NoError(t, err)
	want := make([]int32, 20*4)
	require.NoError(t, d.Sample(context.Background(), want))

	ctx, cancel := context.WithCancel(context.Background())
	steps := 0
	cfg.Progress = func(done, total int) {
		assert.Equal(t, 160, total)
		steps++
		if done >= 60 { // in the second batch
			cancel()
		}
	}
	d, err = New(context.Background(), m, Masked{Mask: 3}, cfg)
	require.NoError(t, err)
	x := make([]int32, 20*4)
	require.ErrorIs(t, d.Sample(ctx, x), context.Canceled)
	require.Equal(t, 5, d.Len())
	d.cfg.Progress = nil
	require.NoError(t, d.Sample(context.Background(), x[5*4:]))
	assert.Equal(t, want, x)
	assert.Equal(t, 20, d.Len())
}

func TestObserverSeesEveryStep(t *testing.T) {
	var mu sync.Mutex
	last := map[int]Snapshot{}
	cfg := Config{Steps: 6, Workers: 3, Observe: func(s *Snapshot) {
		mu.Lock()
		defer mu.Unlock()
		before := last[s.Sample]
		if s.Step == 0 {
			before = Snapshot{To: 1, Step: -1}
		}
		assert.Equal(t, before.Step+1, s.Step)
		assert.Equal(t, before.To, s.From)
		assert.Len(t, s.X, 4)
		assert.Len(t, s.V, 12)
		last[s.Sample] = *s
	}}
	d, err := New(context.Background(), newJoint(4, 3, false, 5), Uniform{}, cfg)
	require.NoError(t, err)
	require.NoError(t, d.Sample(context.Background(), make([]int32, 9*4)))
	assert.Len(t, last, 9)
	for _, s := range last {
		assert.Zero(t, s.To)
		assert.Equal(t, 5, s.Step)
	}
}

func TestPredictionsWithoutWeightAreErrors(t *testing.T) {
	spoiled := func(w float64) energy.DenoiserFunc[int32] {
		return energy.DenoiserFunc[int32]{Sites: 3, Levels: 3, F: func(_ context.Context, v []float32, q energy.Noised[int32]) error {
			clear(v)
			for s := range q.Time {
				for l := range 3 {
					v[s*9+3+l] = float32(w)
				}
			}
			return nil
		}}
	}
	for _, p := range []Process[int32]{Masked{Mask: 2}, Uniform{}, Remask{Mask: 2}, Ordered{Mask: 2}, Ordered{Mask: 2, Greedy: true}} {
		for _, w := range []float64{math.Inf(-1), math.NaN()} {
			d, err := New(context.Background(), spoiled(w), p, Config{Steps: 1})
			require.NoError(t, err)
			err = d.Sample(context.Background(), make([]int32, 6))
			var bad *PredictionError
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, PredictionError{Site: 1, Empty: w < 0}, *bad)
			assert.Equal(t, w < 0, errors.Is(err, constraint.ErrInfeasible))
			assert.True(t, strings.HasPrefix(err.Error(), "diffusion: Runner: sample 0, step 0: the prediction for site 1"), err)
		}
	}
	broken := energy.DenoiserFunc[int32]{Sites: 3, Levels: 3, F: func(context.Context, []float32, energy.Noised[int32]) error { return errors.New("no model") }}
	d, err := New(context.Background(), broken, Uniform{}, Config{})
	require.NoError(t, err)
	assert.EqualError(t, d.Sample(context.Background(), make([]int32, 3)), "diffusion: Runner: denoiser at step 0: no model")
}

func TestNewRefuses(t *testing.T) {
	m := flat(3, 4)
	for want, c := range map[string]struct {
		p   Process[int32]
		cfg Config
	}{
		"process = nil":                             {},
		"Masked: Mask = 4, want 0 … 3":              {p: Masked{Mask: 4}},
		"Remask: Mask = -1, want 0 … 3":             {p: Remask{Mask: -1}},
		"Remask: Eta = 2, want in (0, 1]":           {p: Remask{Eta: 2}},
		"Remask: Rule = 9":                          {p: Remask{Rule: 9}},
		"Ordered: Score = 7":                        {p: Ordered{Score: 7}},
		"Ordered: Block = -1":                       {p: Ordered{Block: -1}},
		"Ordered: Mask = 7":                         {p: Ordered{Mask: 7}},
		"LogLinear: Epsilon = 1, want < 1":          {p: Masked{Schedule: noise.LogLinear{Epsilon: 1}}},
		"Cosine: Epsilon = 1":                       {p: Uniform{Schedule: noise.Cosine{Epsilon: 1}}},
		"CosineSquared: Epsilon = 3":                {p: Remask{Schedule: noise.CosineSquared{Epsilon: 3}}},
		"LinearSigma: Min = -1":                     {p: Ordered{Schedule: noise.LinearSigma{Min: -1}}},
		"GeometricSigma: Min = 21, Max = 20":        {p: Masked{Schedule: noise.GeometricSigma{Min: 21}}},
		"Schedule.Alpha(0) = 0.5, want 1":           {p: Masked{Schedule: lossy{}}},
		"Steps = -1, want ≥ 0":                      {p: Masked{}, cfg: Config{Steps: -1}},
		"Batch = -1":                                {p: Masked{}, cfg: Config{Batch: -1}},
		"Workers = -1":                              {p: Masked{}, cfg: Config{Workers: -1}},
		"ProjectStart = 2, want 0 … 1":              {p: Masked{}, cfg: Config{ProjectStart: 2}},
		"ProjectEvery = -2":                         {p: Masked{}, cfg: Config{ProjectEvery: -2}},
		"ProjectState is for reals":                 {p: Masked{}, cfg: Config{ProjectState: true, Projector: evenSum(3, 4)}},
		"ProjectPower = -1, want finite and ≥ 0":    {p: Masked{}, cfg: Config{ProjectPower: -1}},
		"ProjectPower = 2, want 0 without Project":  {p: Masked{}, cfg: Config{ProjectPower: 2}},
		"Retries = -2":                              {p: Masked{}, cfg: Config{Retries: -2}},
		"Decode = Decoding(9)":                      {p: Masked{}, cfg: Config{Decode: 9}},
		"Clamp = (2 entries), want 3 entries":       {p: Masked{}, cfg: Config{Clamp: make([]int32, 2)}},
		"ClampReal = (2 entries), want 3 entries":   {p: Masked{}, cfg: Config{ClampReal: make([]float32, 2)}},
		"ClampReal is for reals":                    {p: Masked{}, cfg: Config{ClampReal: make([]float32, 3)}},
		"Clamp[1] = 4, want -1 … 3":                 {p: Masked{}, cfg: Config{Clamp: []int32{-1, 4, 0}}},
		"clamped token of site 2 = 0, which is the": {p: Masked{}, cfg: Config{Clamp: []int32{-1, 3, 0}}},
	} {
		_, err := New(context.Background(), m, c.p, c.cfg)
		assert.ErrorContains(t, err, want)
	}
	_, err := New[int32](context.Background(), nil, Masked{}, Config{})
	assert.ErrorContains(t, err, "model = nil")
	_, err = New(context.Background(), flat(0, 3), Process[int32](Masked{}), Config{})
	assert.ErrorContains(t, err, "0 sites and 3 levels")
	_, err = New(context.Background(), flat(2, 1), Process[int32](Masked{}), Config{})
	assert.ErrorContains(t, err, "levels = 1, want ≥ 2")
}

// lossy loses half of its signal at once.
type lossy struct{}

func (lossy) Alpha(float64) float64 { return 0.5 }
func (lossy) Time(float64) float64  { return 0 }

func TestDiffusionStepsDoNotAllocate(t *testing.T) {
	if exact.Race {
		t.Skip("the race detector allocates")
	}
	for name, p := range map[string]Process[int32]{
		"masked": Masked{Mask: 3}, "first": Masked{Mask: 3, FirstHitting: true, Schedule: noise.Cosine{}}, "remask": Remask{Mask: 3, Rule: RemaskConfidence},
		"ordered": Ordered{Mask: 3}, "uniform": Uniform{Schedule: noise.GeometricSigma{}},
	} {
		for _, workers := range []int{1, 2} {
			allocs := func(steps, sites int) float64 {
				d, err := New(context.Background(), flat(sites, 4), p, Config{Steps: steps, Batch: 4, Workers: workers})
				require.NoError(t, err)
				x := make([]int32, 4*sites)
				return testing.AllocsPerRun(5, func() { _ = d.Sample(context.Background(), x) })
			}
			// More steps, or more sites for the clock of first hitting, cost
			// nothing; Sample itself starts workers, which may cost a few
			// allocations more or less. One per step would be 196.
			assert.InDelta(t, allocs(4, 8), allocs(200, 64), 20, "%s with %d workers", name, workers)
		}
	}
}

// A table of another length than x's is named, wherever one is read.
func TestTablesHaveOneLength(t *testing.T) {
	x, v, r := make([]int32, 4), make([]float32, 11), new(sampler.Stream)
	for name, p := range map[string]Process[int32]{"masked": Masked{}, "uniform": Uniform{}, "remask": Remask{}, "ordered": Ordered{Block: 2}} {
		p, err := p.Bind(t.Context(), 4, 3)
		require.NoError(t, err, name)
		const want = "diffusion: len(v) = 11, want 12"
		require.PanicsWithValue(t, want, func() { _ = p.Reverse(x, nil, v, 1, 0.5, r) }, name)
		if p, ok := p.(Joint); ok {
			require.PanicsWithValue(t, want, func() { p.Reweight(v, x, x, 1, 0.5) }, name)
		}
		if p, ok := p.(Renoiser); ok {
			require.PanicsWithValue(t, want, func() { p.Condition(v, x, 0.5, true) }, name)
		}
		if p, ok := p.(Factorised); ok {
			require.PanicsWithValue(t, want, func() { p.Posterior(make([]float32, 12), v, x, 1, 0.5) }, name)
		}
	}
}
