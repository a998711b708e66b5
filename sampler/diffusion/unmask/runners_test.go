package unmask_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/unmask"
)

var stream = sampler.NewStream(3, 1)

// some is the language of an odd number of ones, but not one at the end alone.
func some(t *testing.T) (projection.Path, func(x []int32) bool) {
	t.Helper()
	// States: even, odd; a mask is no token.
	dfa, err := constraint.NewDFA(t.Context(), 2, []int32{0, 1, 1, 2, 2, 1}, []bool{false, true, false})
	require.NoError(t, err)
	return projection.Path{Language: dfa}, func(x []int32) bool {
		ones := 0
		for _, l := range x {
			ones += int(l)
		}
		return ones%2 == 1
	}
}

// given returns law restricted to the language, and the probability of that.
func given(m *joint, law []float64, in func(x []int32) bool) ([]float64, float64) {
	x, sum := make([]int32, m.sites), 0.0
	out := make([]float64, len(law))
	for k, w := range law {
		if exact.State(x, k, m.tokens); in(x) {
			out[k] = w
			sum += w
		}
	}
	for k := range out {
		out[k] /= sum
	}
	return out, sum
}

// oneByOne is what the sampler draws from, exact predictions or not.
func (m *joint) oneByOne() []float64 {
	return m.law(m.sites, func(x []int32, _ int) []outcome { return m.random(x, m.hidden(x, 0, m.sites), 1) })
}

// TestRejectionFollowsTheConditional: with right and with wrong predictions the
// accepted paths follow p(·|C) and their weights estimate P(C); paths accepted
// without a look at their weights must not.
func TestRejectionFollowsTheConditional(t *testing.T) {
	exact.SkipRepeated(t)
	ctx := context.Background()
	path, in := some(t)
	for _, wrong := range []float64{0, 1.5} {
		m := newJoint(4, 2, 3)
		m.wrong = wrong
		law, pc := given(m, m.oneByOne(), in)
		run := func(cfg unmask.RejectionConfig) (*unmask.Rejection, []int) {
			cfg.Seed, cfg.Projector = 6, path
			r, err := unmask.NewRejection(ctx, m, diffusion.Masked{Mask: 2, FirstHitting: true}, cfg)
			require.NoError(t, err)
			x := make([]int32, testDraws*m.sites)
			require.NoError(t, r.Sample(ctx, x))
			require.Equal(t, testDraws, r.Len())
			counts := make([]int, len(m.p))
			exact.Tally(counts, x, m.sites, m.tokens)
			return r, counts
		}
		r, counts := run(unmask.RejectionConfig{Excess: 3e-3, Tuning: 2000})
		exact.Counts(t, counts, law, testRate)
		logP, se := r.LogProb()
		require.InDelta(t, 1, math.Exp(logP)/pc, 6.5*se)
		require.LessOrEqual(t, r.Excess(), 3e-3)
		require.Less(t, r.Predictions(), testDraws*m.sites*8)
		plain := draws(t, m, diffusion.Masked{Mask: 2, FirstHitting: true}, diffusion.Config{Seed: 6, Projector: path}, testDraws)
		require.Less(t, exact.PValue(plain, law), testRate)
	}
}

// TestRejectionIsReproducible: calls and batches change no sample.
func TestRejectionIsReproducible(t *testing.T) {
	ctx := context.Background()
	m := newJoint(4, 2, 3)
	path, _ := some(t)
	var want []int32
	for _, batch := range []int{1, 7, 64} {
		r, err := unmask.NewRejection(ctx, m, unmask.Scheduled{Mask: 2}, unmask.RejectionConfig{Config: unmask.Config{Seed: 2, Batch: batch, Projector: path}, Tuning: 50})
		require.NoError(t, err)
		require.True(t, math.IsNaN(r.Excess()))
		logP, _ := r.LogProb()
		require.True(t, math.IsNaN(logP))
		x := make([]int32, 20*m.sites)
		require.NoError(t, r.Sample(ctx, x[:8*m.sites]))
		require.NoError(t, r.Sample(ctx, x[8*m.sites:]))
		if want == nil {
			want = x
		}
		require.Equal(t, want, x)
	}
}

// TestBacktrackTendsToTheConditional: the complete states that a walk meets follow
// p(·|C) after enough of them, not at first.
func TestBacktrackTendsToTheConditional(t *testing.T) {
	exact.SkipRepeated(t)
	ctx := context.Background()
	path, in := some(t)
	for _, wrong := range []float64{0, 1.5} {
		m := newJoint(4, 2, 3)
		m.wrong = wrong
		law, _ := given(m, m.oneByOne(), in)
		run := func(visits int) []int {
			b, err := unmask.NewBacktrack(ctx, m, unmask.BacktrackConfig{Config: unmask.Config{Seed: 6, Projector: path}, Mask: 2, Visits: visits})
			require.NoError(t, err)
			x := make([]int32, testDraws/4*m.sites)
			require.NoError(t, b.Sample(ctx, x))
			require.Equal(t, testDraws/4, b.Len())
			require.Positive(t, b.Predictions())
			counts := make([]int, len(m.p))
			exact.Tally(counts, x, m.sites, m.tokens)
			return counts
		}
		exact.Counts(t, run(25), law, testRate)
		require.Less(t, exact.PValue(run(1), law), testRate)
	}
}

// TestBacktrackIsReproducible: calls and batches change no sample, and all are in
// the language.
func TestBacktrackIsReproducible(t *testing.T) {
	ctx := context.Background()
	m := newJoint(4, 2, 3)
	path, in := some(t)
	var want []int32
	for _, batch := range []int{1, 5} {
		b, err := unmask.NewBacktrack(ctx, m, unmask.BacktrackConfig{Config: unmask.Config{Seed: 2, Batch: batch, Projector: path}, Mask: 2})
		require.NoError(t, err)
		x := make([]int32, 20*m.sites)
		require.NoError(t, b.Sample(ctx, x[:8*m.sites]))
		require.NoError(t, b.Sample(ctx, x[8*m.sites:]))
		if want == nil {
			want = x
		}
		require.Equal(t, want, x)
		for s := range 20 {
			require.True(t, in(x[s*m.sites:(s+1)*m.sites]))
		}
	}
}

func TestRunnerErrors(t *testing.T) {
	ctx := context.Background()
	m := newJoint(4, 2, 3)
	path, _ := some(t)
	hit := diffusion.Masked{Mask: 2, FirstHitting: true}
	good := unmask.RejectionConfig{Config: unmask.Config{Projector: path}}
	for want, change := range map[string]func(c *unmask.RejectionConfig){
		"Steps = -1, want ≥ 0":           func(c *unmask.RejectionConfig) { c.Steps = -1 },
		"Tuning = -1, want ≥ 0":          func(c *unmask.RejectionConfig) { c.Tuning = -1 },
		"Trials = -1, want ≥ 0":          func(c *unmask.RejectionConfig) { c.Trials = -1 },
		"Excess = 1, want in (0, 1)":     func(c *unmask.RejectionConfig) { c.Excess = 1 },
		"Batch = -1, want ≥ 0":           func(c *unmask.RejectionConfig) { c.Batch = -1 },
		"Projector = nil, want one that": func(c *unmask.RejectionConfig) { c.Projector = nil },
	} {
		c := good
		change(&c)
		_, err := unmask.NewRejection(ctx, m, hit, c)
		require.ErrorContains(t, err, want)
	}
	_, err := unmask.NewRejection(ctx, nil, hit, good)
	require.ErrorContains(t, err, "model = nil")
	_, err = unmask.NewRejection(ctx, m, nil, good)
	require.ErrorContains(t, err, "process = nil")
	_, err = unmask.NewRejection(ctx, m, unmask.Planned{Mask: 2}, good)
	require.ErrorContains(t, err, "cannot be weighed")
	_, err = unmask.NewRejection(ctx, m, unmask.Scheduled{Mask: 7}, good)
	require.ErrorContains(t, err, "Mask = 7")

	walk := unmask.BacktrackConfig{Config: unmask.Config{Projector: path}, Mask: 2}
	led := diffusion.ClassifierFree{Conditional: m, Unconditional: m, Scale: 1, AtPosterior: true}
	_, err = unmask.NewRejection(ctx, led, hit, good)
	require.ErrorContains(t, err, "unmask: NewRejection: the model is guided at the posterior")
	_, err = unmask.NewBacktrack(ctx, led, walk)
	require.ErrorContains(t, err, "unmask: NewBacktrack: the model is guided at the posterior")
	for want, change := range map[string]func(c *unmask.BacktrackConfig){
		"Visits = -1": func(c *unmask.BacktrackConfig) { c.Visits = -1 },
		"Moves = -1":  func(c *unmask.BacktrackConfig) { c.Moves = -1 },
		"Mask = 5":    func(c *unmask.BacktrackConfig) { c.Mask = 5 },
		"Batch = -1":  func(c *unmask.BacktrackConfig) { c.Batch = -1 },
	} {
		c := walk
		change(&c)
		_, err := unmask.NewBacktrack(ctx, m, c)
		require.ErrorContains(t, err, want)
	}
	walk.Moves = 3
	b, err := unmask.NewBacktrack(ctx, m, walk)
	require.NoError(t, err)
	require.ErrorIs(t, b.Sample(ctx, make([]int32, 4)), constraint.ErrInfeasible)
	require.Panics(t, func() { _ = b.Sample(ctx, make([]int32, 3)) })

	// A distribution that the language excludes, and contexts that are over.
	none := newJoint(4, 2, 3)
	for k := range none.p {
		none.p[k] = 0
	}
	none.p[0] = 1
	r, err := unmask.NewRejection(ctx, none, hit, unmask.RejectionConfig{Config: unmask.Config{Projector: path}, Tuning: 3})
	require.NoError(t, err)
	require.ErrorIs(t, r.Sample(ctx, make([]int32, 4)), constraint.ErrInfeasible)
	require.Panics(t, func() { _ = r.Sample(ctx, make([]int32, 3)) })
	walk.Moves = 0
	b, err = unmask.NewBacktrack(ctx, none, walk)
	require.NoError(t, err)
	require.ErrorIs(t, b.Sample(ctx, make([]int32, 4)), constraint.ErrInfeasible)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, b.Sample(gone, make([]int32, 4)), context.Canceled)
	require.ErrorIs(t, r.Sample(gone, make([]int32, 4)), context.Canceled)
	none.p[0] = math.NaN()
	require.Error(t, b.Sample(ctx, make([]int32, 4)))
	require.Error(t, r.Sample(ctx, make([]int32, 4)))
}

// TestProcessesKeepLanguages: every process with a projection ends in the language.
func TestProcessesKeepLanguages(t *testing.T) {
	m := newJoint(4, 2, 3)
	path, in := some(t)
	for _, p := range []diffusion.Process[int32]{
		unmask.Scheduled{Mask: 2, Counts: []int{2, 1, 1}}, unmask.EntropyBound{Mask: 2, Bound: 0.4}, unmask.Threshold{Mask: 2, Edit: 0.9, Reveal: 0.6},
		unmask.Planned{Mask: 2, Noise: 1}, unmask.Blocks{Mask: 2, Size: 2, Steps: 1},
	} {
		counts := draws(t, m, p, diffusion.Config{Steps: 3, Projector: path}, 300)
		x := make([]int32, m.sites)
		for k, n := range counts {
			if exact.State(x, k, m.tokens); n > 0 {
				require.True(t, in(x), "%T", p)
			}
		}
	}
	for _, p := range []diffusion.Process[int32]{unmask.EntropyBound{Mask: 2, Bound: 0.4}, unmask.Blocks{Mask: 2, Size: 2}} {
		f, err := diffusion.NewParticles(context.Background(), m, p, diffusion.ParticlesConfig{Config: diffusion.Config{Projector: path}, Particles: 4})
		require.NoError(t, err)
		require.NoError(t, f.Sample(context.Background(), make([]int32, 8)))
	}
}

// TestRejectionKeepsItsExcess: what is asked for is kept, by a longer tuning run, or
// there is an error of its type.
func TestRejectionKeepsItsExcess(t *testing.T) {
	exact.SkipUnderRace(t)
	ctx := context.Background()
	path, in := some(t)
	kept, refused := 0, 0
	for seed := range uint64(6) {
		m := newJoint(4, 2, seed)
		m.wrong = float64(seed % 4)
		law, _ := given(m, m.oneByOne(), in)
		for _, tuning := range []int{2, 16, 512} {
			const n = 1000
			r, err := unmask.NewRejection(ctx, m, diffusion.Masked{Mask: 2, FirstHitting: true}, unmask.RejectionConfig{
				Config: unmask.Config{Seed: seed, Projector: path}, Tuning: tuning})
			require.NoError(t, err)
			x := make([]int32, n*m.sites)
			var over *unmask.ExcessError
			if err := r.Sample(ctx, x); err != nil {
				require.ErrorAs(t, err, &over)
				require.Greater(t, over.Excess, 0.001)
				require.Equal(t, over.Made, r.Len() == n)
				require.ErrorContains(t, err, "want ≤ 0.00")
				refused++
				continue
			}
			kept++
			require.LessOrEqual(t, r.Excess(), 0.002)
			counts := make([]int, len(m.p))
			exact.Tally(counts, x, m.sites, m.tokens)
			apart := 0.0
			for k, c := range counts {
				apart += max(0, law[k]-float64(c)/n)
			}
			require.Less(t, apart, 0.002+0.12, "seed %d, tuning %d", seed, tuning)
		}
	}
	require.Greater(t, kept, 9)
	require.Equal(t, 18, kept+refused)

	// A tuning run that may not be long enough.
	m, short := newJoint(4, 2, 1), 0
	m.wrong = 1.5
	for seed := range uint64(20) {
		r, err := unmask.NewRejection(ctx, m, diffusion.Masked{Mask: 2}, unmask.RejectionConfig{
			Config: unmask.Config{Projector: path, Seed: seed}, Excess: 1e-12, Tuning: 2, Trials: 2})
		require.NoError(t, err)
		var over *unmask.ExcessError
		if errors.As(r.Sample(ctx, make([]int32, 4)), &over) && !over.Made {
			short++
			require.Zero(t, r.Len())
			require.Equal(t, 2, over.Paths)
			require.ErrorContains(t, over, "raise Trials or Excess")
		}
	}
	require.Greater(t, short, 3)
}

// TestRunnersOfPredictionsWithZeros: the two likeliest tokens of every row, which other
// states rule out.
func TestRunnersOfPredictionsWithZeros(t *testing.T) {
	exact.SkipRepeated(t)
	ctx := context.Background()
	const sites, levels, mask, n = 3, 4, 3, 3000
	hit := diffusion.Masked{Mask: mask, FirstHitting: true}
	for seed := range uint64(4) {
		model := denoise.Tempered{Denoiser: newJoint(sites, mask, seed), TopK: 2, Without: []int32{mask}}
		rows := func(x []int32) []float32 {
			v := make([]float32, sites*levels)
			require.NoError(t, model.Denoise(ctx, v, energy.Noised[int32]{X: x, Time: []float64{1}, Alpha: []float64{0}}))
			return v
		}
		law := make([]float64, exact.Size(sites, levels))
		law[len(law)-1] = 1
		for left := sites; left > 0; left-- {
			next := make([]float64, len(law))
			for k, w := range law {
				x := make([]int32, sites)
				if exact.State(x, k, levels); w == 0 {
					continue
				}
				v := rows(x)
				for i, l := range x {
					if l != mask {
						continue
					}
					sum := 0.0
					for _, l := range v[i*levels : (i+1)*levels] {
						sum += math.Exp(float64(l))
					}
					for token := range int32(mask) {
						x[i] = token
						next[exact.Index(x, levels)] += w / float64(left) * math.Exp(float64(v[i*levels+int(token)])) / sum
					}
					x[i] = mask
				}
			}
			law = next
		}
		// The second likeliest sequences: the first prediction rules some of them out.
		start := rows([]int32{mask, mask, mask})
		path, pc := projection.Path{Language: constraint.Count{Levels: []int32{0}, Min: 1, Max: 1}}, 0.0
		x, hidden := make([]int32, sites), 0.0
		for k := range law {
			exact.State(x, k, levels)
			zeros, out := 0, false
			for i, l := range x {
				if l == 0 {
					zeros++
				}
				out = out || math.IsInf(float64(start[i*levels+int(l)]), -1)
			}
			if zeros != 1 {
				law[k] = 0
			} else if pc += law[k]; out {
				hidden += law[k]
			}
		}
		require.Positive(t, hidden)
		for k := range law {
			law[k] /= pc
		}
		r, err := unmask.NewRejection(ctx, model, hit, unmask.RejectionConfig{Config: unmask.Config{Seed: seed, Projector: path}, Excess: 0.01})
		require.NoError(t, err)
		y := make([]int32, sites*n)
		require.NoError(t, r.Sample(ctx, y))
		counts := make([]int, len(law))
		exact.Tally(counts, y, sites, levels)
		exact.Counts(t, counts, law, testRate)
		logP, se := r.LogProb()
		require.InDelta(t, 1, math.Exp(logP)/pc, 6.5*se)

		b, err := unmask.NewBacktrack(ctx, model, unmask.BacktrackConfig{Config: unmask.Config{Seed: seed, Projector: path}, Mask: mask, Visits: 30})
		require.NoError(t, err)
		y = y[:sites*n/3]
		require.NoError(t, b.Sample(ctx, y))
		clear(counts)
		exact.Tally(counts, y, sites, levels)
		exact.Counts(t, counts, law, testRate)
	}
}
