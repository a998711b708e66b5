package diffusion

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// conditionedLaw returns the law of x_0 when every step draws the clean sample
// jointly under the language and then steps, site by site, given that draw.
func conditionedLaw(m *joint, c *language, p Steps[int32], steps int, given func(p Steps[int32], t, s float64) stepLaw) []float64 {
	_, levels := m.Shape()
	law := make([]float64, exact.Size(m.sites, levels))
	if m.masked {
		law[len(law)-1] = 1
	} else {
		for k := range law {
			law[k] = 1 / float64(len(law))
		}
	}
	t := 1.0
	x, x0 := make([]int32, m.sites), make([]int32, m.sites)
	for n := range steps {
		s := p.Next(nil, t, n, steps, nil)
		next := make([]float64, len(law))
		for k, w := range law {
			if w == 0 {
				continue
			}
			exact.State(x, k, levels)
			rows := m.posterior(x, p.Alpha(t), nil)
			clean := make([]float64, len(law))
			for j := range clean {
				exact.State(x0, j, levels)
				clean[j] = 1
				for i, l := range x0 {
					clean[j] *= rows[i*levels+int(l)]
				}
			}
			clean, _ = c.restrict(clean)
			for j, q := range clean {
				if q == 0 {
					continue
				}
				exact.State(x0, j, levels)
				dist := []float64{w * q}
				for i, l := range x {
					hot := make([]float64, levels)
					hot[x0[i]] = 1
					wider := make([]float64, 0, len(dist)*levels)
					for _, b := range given(p, t, s)(l, hot) {
						for _, a := range dist {
							wider = append(wider, a*b)
						}
					}
					dist = wider
				}
				for z, v := range dist {
					next[z] += v
				}
			}
		}
		law, t = next, s
	}
	return law
}

func TestConditionedStepsFollowTheirExactLaw(t *testing.T) {
	exact.SkipRepeated(t)
	for _, c := range gridLaws {
		t.Run(c.name, func(t *testing.T) {
			m := newJoint(3, 2, c.masked, 5)
			if !c.masked {
				m.tokens, m.p = 3, newJoint(3, 3, false, 6).p
			}
			_, levels := m.Shape()
			even := evenSum(3, levels)
			if c.masked {
				even = newLanguage(3, 3, func(x []int32) bool { return x[0]+x[1]+x[2] != 1 && x[0] != 2 && x[1] != 2 && x[2] != 2 })
			}
			bound, err := c.process.Bind(context.Background(), 3, levels)
			require.NoError(t, err)
			for _, steps := range []int{1, 3, 8} {
				law := conditionedLaw(m, even, bound, steps, c.step)
				counts := sampleDiffusion(t, m, c.process, Config{Steps: steps, Seed: uint64(steps), Projector: even, Workers: 1}, 15_000)
				exact.Counts(t, counts, law, exact.Rate)
			}
		})
	}
}

func TestConditionedSamplesAreFeasible(t *testing.T) {
	m := newJoint(4, 3, true, 2)
	even := evenSum(4, 4)
	for name, c := range map[string]struct {
		p         Process[int32]
		projector Projector
		decode    Decoding
	}{
		"joint":         {Masked{Mask: 3}, even, DecodeLast},
		"joint/first":   {Masked{Mask: 3, FirstHitting: true}, even, DecodeLast},
		"joint/remask":  {Remask{Mask: 3, Rule: RemaskConfidence, Eta: 0.5}, even, DecodeLast},
		"joint/ordered": {Ordered{Mask: 3, Block: 2}, even, DecodeLast},
		"greedy":        {Masked{Mask: 3}, onlyProjects{even}, DecodeGreedy},
		"last":          {Masked{Mask: 3}, onlyProjects{even}, DecodeLast},
		"drawer/greedy": {Masked{Mask: 3}, even, DecodeGreedy},
	} {
		resets, violations := even.resets.Load(), 0.0
		steps := 6
		if name == "last" {
			steps = 1 // rows drawn before the last step may contradict each other
		}
		cfg := Config{Steps: steps, Projector: c.projector, Decode: c.decode, Workers: 1, Observe: func(s *Snapshot) {
			assert.True(t, s.Projected)
			violations += s.Violation
		}}
		d, err := New(context.Background(), m, c.p, cfg)
		require.NoError(t, err)
		x := make([]int32, 4*200)
		require.NoError(t, d.Sample(context.Background(), x), name)
		for k, n := range tally(x, 4, 4) {
			assert.True(t, n == 0 || even.allowed[k], name)
		}
		assert.Equal(t, resets+200, even.resets.Load())
		assert.Equal(t, d.drawer == nil, violations > 0)
	}
}

func TestProjectionStartsAndSkips(t *testing.T) {
	m := newJoint(4, 3, false, 2)
	even := evenSum(4, 3)
	var projected []int
	cfg := Config{Steps: 10, Batch: 1, Projector: even, ProjectStart: 0.65, ProjectEvery: 4, Observe: func(s *Snapshot) {
		if s.Projected {
			projected = append(projected, s.Step)
		}
	}}
	d, err := New(context.Background(), m, Uniform{}, cfg)
	require.NoError(t, err)
	x := make([]int32, 4)
	require.NoError(t, d.Sample(context.Background(), x))
	assert.Equal(t, []int{4, 8, 9}, projected)
	assert.True(t, even.allowed[exact.Index(x, 3)])

	cold := Config{Steps: 10, Batch: 1, Projector: onlyProjects{even}, ColdStart: true, Decode: DecodeRows}
	even.resets.Store(0)
	d, err = New(context.Background(), m, Uniform{}, cold)
	require.NoError(t, err)
	require.NoError(t, d.Sample(context.Background(), x))
	assert.EqualValues(t, 11, even.resets.Load())
}

func TestZeroSupportIsInfeasible(t *testing.T) {
	exact.SkipRepeated(t)
	// p = ½{00,11}, C = {01,11}: once the first token shows as 0 nothing is left.
	m := &joint{sites: 2, tokens: 2, masked: true, p: []float64{0.5, 0, 0, 0.5}}
	c := newLanguage(2, 3, func(x []int32) bool { return x[1] == 1 && x[0] != 2 })
	cfg := Config{Projector: c, Clamp: []int32{0, -1}}
	d, err := New(context.Background(), m, Masked{Mask: 2, FirstHitting: true}, cfg)
	require.NoError(t, err)
	require.ErrorIs(t, d.Sample(context.Background(), make([]int32, 2)), constraint.ErrInfeasible)

	// Without the clamp that state is met with probability ¼ in each run.
	cfg.Clamp = nil
	failed, n := 0, 4000
	for seed := range uint64(n) {
		cfg.Seed, cfg.Batch = seed, 1
		d, err := New(context.Background(), m, Masked{Mask: 2, FirstHitting: true}, cfg)
		require.NoError(t, err)
		x := make([]int32, 2)
		if err := d.Sample(context.Background(), x); err != nil {
			require.ErrorIs(t, err, constraint.ErrInfeasible)
			failed++
		} else {
			assert.Equal(t, []int32{1, 1}, x)
		}
	}
	exact.Counts(t, []int{failed, n - failed}, []float64{0.25, 0.75}, exact.Rate)

	// Particles put the weight on those that live.
	p, err := NewParticles(context.Background(), m, Masked{Mask: 2, FirstHitting: true}, ParticlesConfig{Config: Config{Projector: c}})
	require.NoError(t, err)
	x := make([]int32, 2*50)
	require.NoError(t, p.Sample(context.Background(), x))
	for _, l := range x {
		assert.EqualValues(t, 1, l)
	}
	p, err = NewParticles(context.Background(), m, Masked{Mask: 2}, ParticlesConfig{Config: Config{Projector: c, Clamp: []int32{0, -1}}})
	require.NoError(t, err)
	err = p.Sample(context.Background(), x)
	require.ErrorIs(t, err, constraint.ErrInfeasible)
	assert.ErrorContains(t, err, "diffusion: Particles: sample 0")
}

// book accepts every sequence once.
type book struct {
	*language
	seen map[int]bool
}

func (b book) Bind(context.Context, int, int, int) (Projection, error) { return b, nil }

func (b book) Commit(_ context.Context, x []int32, v []float32, _ rand.Source) error {
	k := exact.Index(x, b.levels)
	if b.seen[k] || len(v) != b.sites*b.levels {
		return constraint.ErrInfeasible
	}
	b.seen[k] = true
	return nil
}

func TestCommitRefusesAndSamplesAreDrawnAgain(t *testing.T) {
	m := newJoint(3, 2, true, 2)
	for i, l := range m.p {
		m.p[i] = math.Sqrt(l) // no sequence is too rare
	}
	for _, batch := range []int{1, 3, 8} {
		b := book{newLanguage(3, 3, func(x []int32) bool { return x[0] != 2 && x[1] != 2 && x[2] != 2 }), map[int]bool{}}
		d, err := New(context.Background(), m, Masked{Mask: 2, FirstHitting: true}, Config{Projector: b, Batch: batch, Retries: 10_000})
		require.NoError(t, err)
		x := make([]int32, 8*3)
		require.NoError(t, d.Sample(context.Background(), x))
		assert.Len(t, b.seen, 8)
		for _, n := range tally(x, 3, 3) {
			assert.LessOrEqual(t, n, 1)
		}
		d.cfg.Retries = 3
		err = d.Sample(context.Background(), x[:3])
		require.ErrorIs(t, err, constraint.ErrInfeasible)
		assert.ErrorContains(t, err, "sample 8 refused 4 times, Retries = 3")
	}
	failing := errors.New("disk full")
	d, err := New(context.Background(), m, Masked{Mask: 2}, Config{Projector: full{evenSum(3, 3), failing}, Batch: 2})
	require.NoError(t, err)
	assert.ErrorIs(t, d.Sample(context.Background(), make([]int32, 6)), failing)
}

// full fails to commit.
type full struct {
	*language
	err error
}

func (f full) Bind(context.Context, int, int, int) (Projection, error)       { return f, nil }
func (f full) Commit(context.Context, []int32, []float32, rand.Source) error { return f.err }
