package unmask_test

import (
	"cmp"
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/unmask"
)

const (
	testDraws = 10_000
	testRate  = 1e-6 / 20 // of each of at most 20 comparisons
)

// bounded is the step of EntropyBound, from its page.
func (m *joint) bounded(bound float64) func(x []int32, n int) []outcome {
	return func(x []int32, _ int) []outcome {
		sites := m.hidden(x, 0, m.sites)
		h := map[int]float64{}
		for _, i := range sites {
			h[i] = entropyOf(m.row(x, i))
		}
		slices.SortStableFunc(sites, func(i, j int) int { return cmp.Compare(h[i], h[j]) })
		n, sum := 0, 0.0
		for n < len(sites) && (n == 0 || sum <= bound) {
			sum += h[sites[n]]
			n++
		}
		return m.reveal(x, sites[:n])
	}
}

// confident is the step of Threshold.
func (m *joint) confident(reveal, edit float64) func(x []int32, n int) []outcome {
	return func(x []int32, _ int) (out []outcome) {
		sites := m.hidden(x, 0, m.sites)
		for _, o := range m.reveal(x, sites) {
			y := slices.Clone(x)
			best, first := -1.0, -1
			for _, i := range sites {
				c := m.row(x, i)[o.x[i]]
				if c > best {
					best, first = c, i
				}
				if c >= reveal {
					y[i] = o.x[i]
				}
			}
			if first >= 0 {
				y[first] = o.x[first]
			}
			for i, l := range x {
				if row := m.row(x, i); int(l) < m.tokens && edit > 0 {
					for k, w := range row {
						if w >= edit {
							y[i] = int32(k)
						}
					}
				}
			}
			out = append(out, outcome{y, o.p})
		}
		return out
	}
}

// ranked is the step of Planned without noise.
func (m *joint) ranked(steps int, keep float64) func(x []int32, n int) []outcome {
	return func(x []int32, n int) (out []outcome) {
		for _, o := range m.reveal(x, m.hidden(x, 0, m.sites)) {
			score, order := make([]float64, m.sites), make([]int, m.sites)
			for i := range order {
				order[i] = i
				score[i] = math.Log(m.row(x, i)[o.x[i]])
				if int(x[i]) < m.tokens {
					score[i] += keep
				}
			}
			slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(score[j], score[i]) })
			y := slices.Clone(o.x)
			for _, i := range order[(m.sites*(n+1)+steps-1)/steps:] {
				y[i] = int32(m.tokens)
			}
			out = append(out, outcome{y, o.p})
		}
		return out
	}
}

// TestLaws: every process follows the distribution that its page describes, by
// enumeration of its steps, and differs from the product of the marginals.
func TestLaws(t *testing.T) {
	exact.SkipRepeated(t)
	m := newJoint(4, 2, 3)
	others := *m
	others.self = false
	for name, c := range map[string]struct {
		m       *joint
		process diffusion.Process[int32]
		steps   int
		step    func(x []int32, n int) []outcome
		exact   bool // p itself
	}{
		"scheduled 1 a step": {m, unmask.Scheduled{Mask: 2}, 4, func(x []int32, _ int) []outcome { return m.random(x, m.hidden(x, 0, 4), 1) }, true},
		"scheduled 1, 2, 1": {m, unmask.Scheduled{Mask: 2, Counts: []int{1, 2, 1}}, 3, func(x []int32, n int) []outcome {
			return m.random(x, m.hidden(x, 0, 4), []int{1, 2, 1}[n])
		}, false},
		"scheduled, last takes the rest": {m, unmask.Scheduled{Mask: 2, Counts: []int{2, 1}}, 2, func(x []int32, n int) []outcome {
			return m.random(x, m.hidden(x, 0, 4), 2)
		}, false},
		"entropy 0":   {m, unmask.EntropyBound{Mask: 2}, 4, m.bounded(0), true},
		"entropy .5":  {m, unmask.EntropyBound{Mask: 2, Bound: 0.5}, 4, m.bounded(0.5), false},
		"entropy inf": {m, unmask.EntropyBound{Mask: 2, Bound: math.Inf(1)}, 1, m.bounded(math.Inf(1)), false},
		// With two tokens, the largest margin is the smallest entropy.
		"ordered by margin":  {m, diffusion.Ordered{Mask: 2, Score: diffusion.ScoreMargin}, 4, m.bounded(0), true},
		"ordered by entropy": {m, diffusion.Ordered{Mask: 2, Score: diffusion.ScoreEntropy}, 4, m.bounded(0), true},
		"threshold":          {m, unmask.Threshold{Mask: 2, Reveal: 0.7}, 4, m.confident(0.7, 0), false},
		"edits":              {&others, unmask.Threshold{Mask: 2, Reveal: 0.6, Edit: 0.7, Passes: 2}, 0, nil, false},
		"planned":            {m, unmask.Planned{Mask: 2, Keep: math.Inf(1)}, 2, m.ranked(2, math.Inf(1)), false},
		"replanned":          {&others, unmask.Planned{Mask: 2, Keep: 0.3}, 3, others.ranked(3, 0.3), false},
		"blocks 2":           {m, unmask.Blocks{Mask: 2, Size: 2}, 4, func(x []int32, n int) []outcome { return m.random(x, m.hidden(x, n/2*2, n/2*2+2), 1) }, true},
		"blocks 3, 2 a step": {m, unmask.Blocks{Mask: 2, Size: 3, Steps: 2}, 3, func(x []int32, n int) []outcome {
			from, to, k := 0, 3, 2
			if n == 2 {
				from, to = 3, 4
			}
			return m.random(x, m.hidden(x, from, to), k)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			law := c.m.editLaw(0.6, 0.7, 2)
			if c.step != nil {
				law = c.m.law(c.steps, c.step)
			}
			d := tv(law, m.p)
			if c.exact {
				require.Less(t, d, 1e-9)
			} else {
				require.Greater(t, d, 1e-3)
			}
			counts := draws(t, c.m, c.process, diffusion.Config{Steps: c.steps}, testDraws)
			exact.Counts(t, counts, law, testRate)
			twin := c.m.law(1, c.m.bounded(math.Inf(1)))
			if name != "entropy inf" {
				require.Less(t, exact.PValue(counts, twin), testRate)
			}
			t.Logf("TV to p %.4f", d)
		})
	}
}

// editLaw is the law of Threshold with edits and passes: the steps that a state
// takes depend on when its last mask went.
func (m *joint) editLaw(reveal, edit float64, passes int) []float64 {
	type at struct {
		k, passes int
	}
	levels := m.tokens + 1
	step := m.confident(reveal, edit)
	now := map[at]float64{{exact.Size(m.sites, levels) - 1, 0}: 1}
	law := make([]float64, len(m.p))
	x := make([]int32, m.sites)
	for len(now) > 0 {
		next := map[at]float64{}
		for a, w := range now {
			exact.State(x, a.k, levels)
			if len(m.hidden(x, 0, m.sites)) == 0 {
				if a.passes == passes {
					law[exact.Index(x, m.tokens)] += w
					continue
				}
				a.passes++
			}
			for _, o := range step(x, 0) {
				next[at{exact.Index(o.x, levels), a.passes}] += w * o.p
			}
		}
		now = next
	}
	return law
}

// TestEntropyBoundBoundsDivergence: KL(p‖q) ≤ Bound × mean steps, and it falls to
// nothing with the bound.
func TestEntropyBoundBoundsDivergence(t *testing.T) {
	for seed := range uint64(5) {
		m := newJoint(4, 2, 10+seed)
		for _, bound := range []float64{0.05, 0.3, 0.7, 1.5} {
			law := m.law(m.sites, m.bounded(bound))
			steps := 0.0
			var walk func(x []int32, p float64)
			walk = func(x []int32, p float64) {
				if len(m.hidden(x, 0, m.sites)) == 0 {
					return
				}
				steps += p
				for _, o := range m.bounded(bound)(x, 0) {
					walk(o.x, p*o.p)
				}
			}
			walk([]int32{2, 2, 2, 2}, 1)
			require.LessOrEqual(t, divergence(m.p, law), bound*steps+1e-12)
		}
	}
}

// exactCurve is the information curve by enumeration.
func (m *joint) exactCurve() unmask.Curve {
	c, count := make(unmask.Curve, m.sites), make([]float64, m.sites)
	x := make([]int32, m.sites)
	for bits := range 1 << m.sites {
		n := 0
		for i := range m.sites {
			n += bits >> i & 1
		}
		for i := range m.sites {
			if bits>>i&1 == 1 {
				continue
			}
			count[n]++
			for k, w := range m.p {
				exact.State(x, k, m.tokens)
				for j := range x {
					if bits>>j&1 == 0 {
						x[j] = int32(m.tokens)
					}
				}
				c[n] += w * entropyOf(m.row(x, i))
			}
		}
	}
	for n := range c {
		c[n] /= count[n]
	}
	return c
}

// orders calls f with all ways to reveal counts of the sites in turn.
func (m *joint) orders(counts []int, f func(sets [][]int)) {
	var go1 func(left []int, sets [][]int)
	go1 = func(left []int, sets [][]int) {
		if len(sets) == len(counts) {
			f(sets)
			return
		}
		subsets(left, counts[len(sets)], func(chosen []int) {
			var rest []int
			for _, i := range left {
				if !slices.Contains(chosen, i) {
					rest = append(rest, i)
				}
			}
			go1(rest, append(slices.Clone(sets), chosen))
		})
	}
	all := make([]int, m.sites)
	for i := range all {
		all[i] = i
	}
	go1(all, nil)
}

// TestCurve: the curve gives the divergence of every schedule exactly, its plan is
// the best of all, and the estimate from samples agrees.
func TestCurve(t *testing.T) {
	m := newJoint(4, 2, 7)
	c := m.exactCurve()
	schedules := [][]int{{4}, {1, 3}, {2, 2}, {3, 1}, {1, 1, 2}, {1, 2, 1}, {2, 1, 1}, {1, 1, 1, 1}}
	for _, counts := range schedules {
		sum, n := 0.0, 0.0
		m.orders(counts, func(sets [][]int) {
			law := m.law(len(sets), func(x []int32, k int) []outcome { return m.reveal(x, sets[k]) })
			sum += divergence(m.p, law)
			n++
		})
		require.InDelta(t, sum/n, c.Divergence(counts), 1e-12, counts)
	}
	for steps := 1; steps <= 4; steps++ {
		counts, kl, err := c.Plan(steps)
		require.NoError(t, err)
		require.InDelta(t, c.Divergence(counts), kl, 1e-12)
		for _, other := range schedules {
			if len(other) == steps {
				require.LessOrEqual(t, kl, c.Divergence(other)+1e-12)
			}
		}
	}
	_, _, err := c.Plan(5)
	require.EqualError(t, err, "unmask: Curve: steps = 5, want 1 … 4")
	require.Panics(t, func() { c.Divergence([]int{1, 2}) })
	require.Panics(t, func() { c.Divergence([]int{5}) })

	const samples = 4000
	d, err := diffusion.New(context.Background(), m, unmask.Scheduled{Mask: 2}, diffusion.Config{Seed: 8, Workers: 1})
	require.NoError(t, err)
	x := make([]int32, samples*m.sites)
	require.NoError(t, d.Sample(context.Background(), x))
	got, err := unmask.Information(context.Background(), m, 2, x, 1)
	require.NoError(t, err)
	for n := range c {
		// Entropies of two tokens lie in [0, log 2]: five standard errors.
		require.InDelta(t, c[n], got[n], 5*math.Ln2/2/math.Sqrt(samples))
	}
	require.Greater(t, got[0]-got[3], 0.05)
}

func TestProcessErrors(t *testing.T) {
	ctx := context.Background()
	for want, p := range map[string]diffusion.Process[int32]{
		"unmask: Scheduled: Mask = 3, want 0 … 2":             unmask.Scheduled{Mask: 3},
		"unmask: Scheduled: Counts[1] = 0, want ≥ 1":          unmask.Scheduled{Mask: 2, Counts: []int{1, 0}},
		"unmask: EntropyBound: Bound = -1, want ≥ 0":          unmask.EntropyBound{Mask: 2, Bound: -1},
		"unmask: EntropyBound: Bound = NaN, want ≥ 0":         unmask.EntropyBound{Mask: 2, Bound: math.NaN()},
		"unmask: EntropyBound: Mask = -1, want 0 … 2":         unmask.EntropyBound{Mask: -1},
		"unmask: Threshold: Reveal = 2, want in (0, 1]":       unmask.Threshold{Mask: 2, Reveal: 2},
		"unmask: Threshold: Edit = 0.4, want 0 or in (½, 1]":  unmask.Threshold{Mask: 2, Edit: 0.4},
		"unmask: Threshold: Passes = -1, want ≥ 0":            unmask.Threshold{Mask: 2, Passes: -1},
		"unmask: Threshold: Mask = 9, want 0 … 2":             unmask.Threshold{Mask: 9},
		"unmask: Planned: Keep = -Inf, want a number or +Inf": unmask.Planned{Mask: 2, Keep: math.Inf(-1)},
		"unmask: Planned: Noise = NaN, want finite and ≥ 0":   unmask.Planned{Mask: 2, Noise: math.NaN()},
		"unmask: Planned: Mask = 9, want 0 … 2":               unmask.Planned{Mask: 9},
		"unmask: Blocks: Size = -1, want ≥ 0":                 unmask.Blocks{Mask: 2, Size: -1},
		"unmask: Blocks: Steps = -1, want ≥ 0":                unmask.Blocks{Mask: 2, Steps: -1},
		"unmask: Blocks: Mask = 9, want 0 … 2":                unmask.Blocks{Mask: 9},
	} {
		_, err := p.Bind(ctx, 4, 3)
		require.EqualError(t, err, want)
	}
	_, err := unmask.Scheduled{}.Bind(ctx, 4, 1)
	require.ErrorContains(t, err, "levels = 1")
	m := newJoint(4, 2, 7)
	_, err = unmask.Information(ctx, nil, 2, []int32{0, 0, 0, 0}, 1)
	require.ErrorContains(t, err, "model = nil")
	_, err = unmask.Information(ctx, m, 2, []int32{0, 0, 0}, 1)
	require.ErrorContains(t, err, "len(x) = 3")
	_, err = unmask.Information(ctx, m, 2, []int32{0, 0, 2, 0}, 1)
	require.ErrorContains(t, err, "x[2] = 2")
	_, err = unmask.Information(ctx, m, 5, []int32{0, 0, 1, 0}, 1)
	require.ErrorContains(t, err, "Mask = 5")
	m.p[0] = math.NaN()
	_, err = unmask.Information(ctx, m, 2, []int32{0, 0, 1, 0}, 1)
	require.Error(t, err)
	for _, p := range []diffusion.Process[int32]{unmask.Scheduled{Mask: 2}, unmask.EntropyBound{Mask: 2}, unmask.Threshold{Mask: 2}, unmask.Planned{Mask: 2}, unmask.Blocks{Mask: 2}} {
		d, err := diffusion.New(ctx, m, p, diffusion.Config{})
		require.NoError(t, err)
		var bad *diffusion.PredictionError
		require.ErrorAs(t, d.Sample(ctx, make([]int32, 4)), &bad)
	}
}

// TestStepsDoNotAllocate: no process allocates in a step.
func TestStepsDoNotAllocate(t *testing.T) {
	exact.SkipUnderRace(t)
	for _, p := range []diffusion.Process[int32]{unmask.Scheduled{Mask: 2}, unmask.EntropyBound{Mask: 2}, unmask.Threshold{Mask: 2}, unmask.Planned{Mask: 2, Noise: 1}, unmask.Blocks{Mask: 2}} {
		s, err := p.Bind(context.Background(), 4, 3)
		require.NoError(t, err)
		x, v := []int32{2, 1, 2, 2}, make([]float32, 12)
		require.Zero(t, testing.AllocsPerRun(20, func() {
			copy(x, []int32{2, 1, 2, 2})
			at := s.Next(x, 1, 0, 4, stream)
			if err := s.Reverse(x, v, v, 1, at, stream); err != nil {
				panic(err)
			}
		}))
	}
}

// watched is a denoiser of three tokens, none of them certain, that records what it sees.
type watched struct {
	sites, mask int
	look        func(left int, t, alpha float64, meta any)
}

func (d *watched) Shape() (sites, levels int) { return d.sites, d.mask + 1 }

func (d *watched) Denoise(_ context.Context, v []float32, q energy.Noised[int32]) error {
	for s, t := range q.Time {
		left := 0
		for _, l := range q.X[s*d.sites : (s+1)*d.sites] {
			if int(l) == d.mask {
				left++
			}
		}
		d.look(left, t, q.Alpha[s], q.Meta)
	}
	for i := range v {
		v[i] = float32(i%(d.mask+1)) / 4
	}
	return nil
}

// A denoiser sees the time at which the schedule masks as many sites on average, and the
// conditioning of the run.
func TestTheDenoiserSeesTheTimeOfTheSchedule(t *testing.T) {
	const sites, mask = 5, 3
	set := projection.Path{Language: constraint.Count{Levels: []int32{1}, Max: sites}}
	for _, c := range []noise.Schedule{nil, noise.LogLinear{}, noise.Cosine{Epsilon: .1}} {
		config := unmask.Config{Projector: set, Meta: "a condition"}
		schedule := exact.Must(noise.Resolve("", c))
		asked := 0
		d := &watched{sites, mask, func(left int, at, alpha float64, meta any) {
			asked++
			require.Equal(t, schedule.Alpha(at), alpha)
			require.InDelta(t, float64(left)/sites*(1-schedule.Alpha(1)), 1-alpha, 1e-12)
			require.Equal(t, "a condition", meta)
		}}
		samplers := map[string]interface {
			Sample(ctx context.Context, x []int32) error
		}{
			"backtrack": exact.Must(unmask.NewBacktrack(t.Context(), d, unmask.BacktrackConfig{Config: config, Mask: mask, Schedule: c})),
			"rejection": exact.Must(unmask.NewRejection(t.Context(), d, unmask.Scheduled{Mask: mask, Schedule: c}, unmask.RejectionConfig{Config: config, Tuning: 8})),
		}
		for name, p := range map[string]diffusion.Process[int32]{
			"scheduled": unmask.Scheduled{Mask: mask, Schedule: c}, "blocks": unmask.Blocks{Mask: mask, Schedule: c, Size: 2},
			"entropy": unmask.EntropyBound{Mask: mask, Schedule: c}, "planned": unmask.Planned{Mask: mask, Schedule: c},
			"threshold": unmask.Threshold{Mask: mask, Schedule: c, Reveal: 1},
		} {
			samplers[name] = exact.Must(diffusion.New(t.Context(), d, p, diffusion.Config{Meta: config.Meta, Batch: 1, Steps: sites}))
		}
		for name, s := range samplers {
			asked = 0
			require.NoError(t, s.Sample(t.Context(), make([]int32, 2*sites)), name)
			require.Positive(t, asked, name)
		}
	}
}

// A greedy threshold takes the likeliest tokens, whatever the seed.
func TestGreedyThreshold(t *testing.T) {
	const sites, mask = 5, 3
	d := &watched{sites, mask, func(int, float64, float64, any) {}}
	for _, greedy := range []bool{true, false} {
		others := 0
		for seed := range uint64(20) {
			r := exact.Must(diffusion.New(t.Context(), d, unmask.Threshold{Mask: mask, Greedy: greedy}, diffusion.Config{Seed: seed}))
			x := make([]int32, sites)
			require.NoError(t, r.Sample(t.Context(), x))
			for _, l := range x {
				if l != mask-1 {
					others++
				}
			}
		}
		require.Equal(t, greedy, others == 0)
	}
}
