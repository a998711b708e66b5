package diffusion

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

func sampleDiffusion(t *testing.T, m *joint, p Process[int32], cfg Config, n int) []int {
	t.Helper()
	d, err := New(context.Background(), m, p, cfg)
	require.NoError(t, err)
	x := make([]int32, n*m.sites)
	require.NoError(t, d.Sample(context.Background(), x))
	assert.Equal(t, n, d.Len())
	_, levels := m.Shape()
	return tally(x, m.sites, levels)
}

// laws of samplers with a time grid: the exact law at a number of steps by
// evolving the law of x_t through the states, masks included.
var gridLaws = []struct {
	name    string
	process Process[int32]
	masked  bool
	step    func(p Steps[int32], t, s float64) stepLaw
	vanish  float64 // TV to the target at 256 steps
}{
	{"masked", Masked{Mask: 2}, true, func(p Steps[int32], t, s float64) stepLaw {
		return maskedStep(2, p.Alpha(t), p.Alpha(s), 0)
	}, 0.01},
	{"masked/cosine", Masked{Mask: 2, Schedule: noise.Cosine{}}, true, func(p Steps[int32], t, s float64) stepLaw {
		return maskedStep(2, p.Alpha(t), p.Alpha(s), 0)
	}, 0.01},
	{"uniform", Uniform{Schedule: noise.LogLinear{Epsilon: -1}}, false, func(p Steps[int32], t, s float64) stepLaw {
		return uniformStep(p.Alpha(t), p.Alpha(s))
	}, 0.01},
	{"uniform/geometric", Uniform{Schedule: noise.GeometricSigma{Min: 1e-4}}, false, func(p Steps[int32], t, s float64) stepLaw {
		return uniformStep(p.Alpha(t), p.Alpha(s))
	}, 0.03},
	{"remask/cap", Remask{Mask: 2, Eta: 0.3}, true, func(p Steps[int32], t, s float64) stepLaw {
		return maskedStep(2, p.Alpha(t), p.Alpha(s), min(0.3, min(1, (1-p.Alpha(s))/p.Alpha(t))))
	}, 1},
	{"remask/rescale", Remask{Mask: 2, Rule: RemaskRescale, Eta: 0.1}, true, func(p Steps[int32], t, s float64) stepLaw {
		return maskedStep(2, p.Alpha(t), p.Alpha(s), 0.1*min(1, (1-p.Alpha(s))/p.Alpha(t)))
	}, 1},
	{"remask/loop", Remask{Mask: 2, Rule: RemaskLoop, Hold: 0.3}, true, func(p Steps[int32], t, s float64) stepLaw {
		sigma := 0.0
		if t == s {
			sigma = 0.02
		}
		return maskedStep(2, p.Alpha(t), p.Alpha(s), sigma)
	}, 0.02},
}

// gridLaw returns the law of x_0 after the given number of steps.
func gridLaw(m *joint, p Steps[int32], steps int, step func(p Steps[int32], t, s float64) stepLaw) []float64 {
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
	for k := range steps {
		s := p.Next(nil, t, k, steps, nil)
		law = m.evolve(law, p.Alpha(t), step(p, t, s))
		t = s
	}
	return law
}

func TestGridDiffusionsFollowTheirExactLaw(t *testing.T) {
	exact.SkipRepeated(t)
	exact.SkipUnderRace(t)
	for _, c := range gridLaws {
		t.Run(c.name, func(t *testing.T) {
			m := newJoint(3, 2, c.masked, 5)
			if !c.masked {
				m.tokens, m.p = 3, newJoint(3, 3, false, 6).p
			}
			_, levels := m.Shape()
			bound, err := c.process.Bind(context.Background(), 3, levels)
			require.NoError(t, err)
			target := m.target()
			all, n := []int{1, 2, 5, 16}, 40_000
			if exact.Race { // enumeration is what takes the time
				all, n = []int{1, 5}, 4000
			}
			for _, steps := range all {
				law := gridLaw(m, bound, steps, c.step)
				counts := sampleDiffusion(t, m, c.process, Config{Steps: steps, Seed: uint64(steps)}, n)
				exact.Counts(t, counts, law, exact.Rate)
				if steps == 1 && c.masked {
					// One step draws sites independently: that is not the joint.
					assert.Less(t, exact.PValue(counts, target), exact.Rate)
				}
			}
			few, many := tv(gridLaw(m, bound, 16, c.step), target), tv(gridLaw(m, bound, 256, c.step), target)
			assert.Less(t, many, c.vanish)
			if c.vanish < 1 {
				assert.Less(t, many, few/3, "TV %v at 16 steps, %v at 256", few, many)
			}
		})
	}
}

// With a constant number of expected remaskings per unit of time, remasking
// converges too.
func TestRemaskDiscretisationVanishes(t *testing.T) {
	m := newJoint(3, 2, true, 5)
	for _, rule := range []RemaskRule{RemaskCap, RemaskRescale} {
		last := 1.0
		for _, steps := range []int{16, 64, 256} {
			bound, err := Remask{Mask: 2, Rule: rule, Eta: 2 / float64(steps)}.Bind(context.Background(), 3, 3)
			require.NoError(t, err)
			law := gridLaw(m, bound, steps, func(p Steps[int32], t, s float64) stepLaw {
				top := min(1, (1-p.Alpha(s))/p.Alpha(t))
				sigma := min(2/float64(steps), top)
				if rule == RemaskRescale {
					sigma = 2 / float64(steps) * top
				}
				return maskedStep(2, p.Alpha(t), p.Alpha(s), sigma)
			})
			d := tv(law, m.target())
			assert.Less(t, d, last/3, "rule %d, %d steps", rule, steps)
			last = d
		}
		assert.Less(t, last, 0.01)
	}
}

func TestFirstHittingFollowsTheJoint(t *testing.T) {
	exact.SkipUnderRace(t)
	for i, c := range []noise.Schedule{nil, noise.Cosine{}, noise.CosineSquared{}, noise.LinearSigma{}, noise.GeometricSigma{}} {
		if exact.Race && i > 0 {
			break
		}
		n := 10_000
		if i == 0 || exact.Long() {
			n = 40_000
		}
		m := newJoint(4, 2, true, uint64(i))
		counts := sampleDiffusion(t, m, Masked{Mask: 2, Schedule: c, FirstHitting: true}, Config{Seed: 3}, n)
		exact.Counts(t, counts, m.target(), exact.Rate)
		assert.Equal(t, 4*n, m.rows, "one evaluation per token")
	}
	// A twin that matches every marginal but no dependence must fail.
	m := newJoint(4, 2, true, 0)
	m.marginal = true
	counts := sampleDiffusion(t, m, Masked{Mask: 2, FirstHitting: true}, Config{Seed: 3}, 40_000)
	assert.Less(t, exact.PValue(counts, m.target()), exact.Rate)
}

func TestUniformConvertsLeaveOneOutPredictions(t *testing.T) {
	exact.SkipUnderRace(t)
	m := newJoint(3, 3, false, 8)
	p, err := Uniform{}.Bind(context.Background(), 3, 3)
	require.NoError(t, err)
	law := gridLaw(m, p, 6, func(p Steps[int32], t, s float64) stepLaw { return uniformStep(p.Alpha(t), p.Alpha(s)) })
	m.loo, m.memo = true, nil
	exact.Counts(t, sampleDiffusion(t, m, Uniform{}, Config{Steps: 6}, 60_000), law, exact.Rate)

	// Taken for full posteriors, the same predictions give another law.
	counts := sampleDiffusion(t, m, noConversion{}, Config{Steps: 6}, 60_000)
	assert.Less(t, exact.PValue(counts, law), exact.Rate)
}

// noConversion forgets that predictions leave their site out.
type noConversion struct{ Uniform }

func (n noConversion) Bind(ctx context.Context, sites, levels int) (Steps[int32], error) {
	p, err := n.Uniform.Bind(ctx, sites, levels)
	return unconverted{p.(Joint), p}, err
}

type unconverted struct {
	Joint
	Steps[int32]
}

func (unconverted) Condition([]float32, []int32, float64, bool) {}

func TestPredictionsAreReusedWhileNothingChanges(t *testing.T) {
	const steps, n = 64, 500
	for _, timeFree := range []bool{false, true} {
		m := newJoint(4, 2, true, 3)
		m.timeFree = timeFree
		counts := sampleDiffusion(t, m, Masked{Mask: 2}, Config{Steps: steps, Seed: 9}, n)
		if timeFree {
			assert.LessOrEqual(t, m.rows, 5*n, "once for every state that it has")
		} else {
			assert.Equal(t, steps*n, m.rows)
		}
		m.timeFree = false
		assert.Equal(t, counts, sampleDiffusion(t, m, Masked{Mask: 2}, Config{Steps: steps, Seed: 9}, n))
	}
}

func TestWorkersAndBatchesDoNotChangeSamples(t *testing.T) {
	ctx := context.Background()
	for name, p := range map[string]Process[int32]{
		"masked": Masked{Mask: 3}, "first": Masked{Mask: 3, FirstHitting: true},
		"remask": Remask{Mask: 3, Rule: RemaskConfidence, Eta: 0.3}, "ordered": Ordered{Mask: 3, Block: 2},
	} {
		for _, timeFree := range []bool{false, true} {
			var want []int32
			for _, cfg := range []Config{{Workers: 1, Batch: 1}, {Workers: 4, Batch: 7}, {Workers: 2}} {
				cfg.Steps, cfg.Seed = 9, 5
				m := newJoint(4, 3, true, 3)
				m.timeFree = timeFree
				d, err := New(context.Background(), m, p, cfg)
				require.NoError(t, err)
				x := make([]int32, 100*4)
				require.NoError(t, d.Sample(ctx, x[:33*4]))
				require.NoError(t, d.Sample(ctx, x[33*4:]))
				if want == nil {
					want = x
				}
				assert.Equal(t, want, x, fmt.Sprint(name, cfg.Workers, cfg.Batch, timeFree))
			}
		}
	}
}
