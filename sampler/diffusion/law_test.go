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
}{
	{"masked", Masked{Mask: 2}, true, func(p Steps[int32], t, s float64) stepLaw {
		return maskedStep(2, p.Alpha(t), p.Alpha(s), 0)
	}},
	{"masked/cosine", Masked{Mask: 2, Schedule: noise.Cosine{}}, true, func(p Steps[int32], t, s float64) stepLaw {
		return maskedStep(2, p.Alpha(t), p.Alpha(s), 0)
	}},
	{"uniform", Uniform{Schedule: noise.LogLinear{Epsilon: -1}}, false, func(p Steps[int32], t, s float64) stepLaw {
		return uniformStep(p.Alpha(t), p.Alpha(s))
	}},
	{"uniform/geometric", Uniform{Schedule: noise.GeometricSigma{Min: 1e-4}}, false, func(p Steps[int32], t, s float64) stepLaw {
		return uniformStep(p.Alpha(t), p.Alpha(s))
	}},
	{"remask/cap", Remask{Mask: 2, Eta: 0.3}, true, func(p Steps[int32], t, s float64) stepLaw {
		return maskedStep(2, p.Alpha(t), p.Alpha(s), min(0.3, min(1, (1-p.Alpha(s))/p.Alpha(t))))
	}},
	{"remask/rescale", Remask{Mask: 2, Rule: RemaskRescale, Eta: 0.1}, true, func(p Steps[int32], t, s float64) stepLaw {
		return maskedStep(2, p.Alpha(t), p.Alpha(s), 0.1*min(1, (1-p.Alpha(s))/p.Alpha(t)))
	}},
	{"remask/loop", Remask{Mask: 2, Rule: RemaskLoop, Hold: 0.3}, true, func(p Steps[int32], t, s float64) stepLaw {
		sigma := 0.0
		if t == s {
			sigma = 0.02
		}
		return maskedStep(2, p.Alpha(t), p.Alpha(s), sigma)
	}},
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

// Whatever the schedule, one evaluation per token ends in the joint; diffusiontest looks
// at the schedule of the zero value.
func TestFirstHittingFollowsTheJoint(t *testing.T) {
	exact.SkipUnderRace(t)
	for i, c := range []noise.Schedule{noise.Cosine{}, noise.CosineSquared{}, noise.LinearSigma{}, noise.GeometricSigma{}} {
		const n = 10_000
		m := newJoint(4, 2, true, uint64(i+1))
		counts := sampleDiffusion(t, m, Masked{Mask: 2, Schedule: c, FirstHitting: true}, Config{Seed: 3}, n)
		exact.Counts(t, counts, m.target(), exact.Rate)
		assert.Equal(t, 4*n, m.rows)
	}
}

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

// Nor do predictions that are reused depend on workers and batches; diffusiontest looks at
// those that are not.
func TestWorkersAndBatchesDoNotChangeSamples(t *testing.T) {
	ctx := context.Background()
	for name, p := range map[string]Process[int32]{
		"masked": Masked{Mask: 3}, "first": Masked{Mask: 3, FirstHitting: true},
		"remask": Remask{Mask: 3, Rule: RemaskConfidence, Eta: 0.3}, "ordered": Ordered{Mask: 3, Block: 2},
	} {
		var want []int32
		for _, cfg := range []Config{{Workers: 1, Batch: 1}, {Workers: 4, Batch: 7}, {Workers: 2}} {
			cfg.Steps, cfg.Seed = 9, 5
			m := newJoint(4, 3, true, 3)
			m.timeFree = true
			d, err := New(ctx, m, p, cfg)
			require.NoError(t, err)
			x := make([]int32, 100*4)
			require.NoError(t, d.Sample(ctx, x[:33*4]))
			require.NoError(t, d.Sample(ctx, x[33*4:]))
			if want == nil {
				want = x
			}
			assert.Equal(t, want, x, fmt.Sprint(name, cfg.Workers, cfg.Batch))
		}
	}
}
