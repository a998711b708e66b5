package diffusion

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// The last step is projected wherever projections start, so a sample meets the constraint
// or has an error.
func TestTheLastStepIsInsideWhateverTheStart(t *testing.T) {
	exact.SkipRepeated(t)
	ctx := context.Background()
	masked, free := newJoint(3, 2, true, 3), newJoint(3, 3, false, 3)
	for name, c := range map[string]struct {
		m *joint
		p Process[int32]
	}{
		"masked": {masked, Masked{Mask: 2}}, "first hitting": {masked, Masked{Mask: 2, FirstHitting: true}},
		"remask": {masked, Remask{Mask: 2, Eta: 0.3}}, "loop": {masked, Remask{Mask: 2, Rule: RemaskLoop}},
		"confidence": {masked, Remask{Mask: 2, Rule: RemaskConfidence, Eta: 0.3}},
		"ordered":    {masked, Ordered{Mask: 2}}, "blocks": {masked, Ordered{Mask: 2, Block: 1}}, "uniform": {free, Uniform{}},
	} {
		_, levels := c.m.Shape()
		odd := newLanguage(3, levels, func(x []int32) bool {
			return x[0]%2+x[1]%2+x[2]%2 == 1 && (!c.m.masked || max(x[0], x[1], x[2]) < 2)
		})
		for _, steps := range []int{1, 2, 3, 8, 128} {
			for _, start := range []float64{1e-9, 0.007, 0.1, 0.5, 0.99, 1} {
				for _, every := range []int{-1, 1, 3} {
					for _, clamp := range [][]int32{nil, {-1, 1, -1}} {
						what := fmt.Sprint(name, steps, start, every, clamp)
						d, err := New(ctx, c.m, c.p, Config{Steps: steps, ProjectStart: start, ProjectEvery: every, Projector: odd, Clamp: clamp, Workers: 1})
						require.NoError(t, err)
						const n = 40
						x := make([]int32, 3*n)
						var each SampleErrors
						if err := d.Sample(ctx, x); err != nil {
							require.ErrorAs(t, err, &each, what)
						}
						good := 0
						for k := range n {
							if each != nil && each[k] != nil {
								require.ErrorIs(t, each[k], constraint.ErrInfeasible)
								continue
							}
							good++
							y := x[3*k : 3*k+3]
							require.True(t, odd.allowed[exact.Index(y, levels)], "%s: %v", what, y)
						}
						if c.p == (Uniform{}) {
							assert.Equal(t, n, good, what)
						}
					}
				}
			}
		}
	}
}

// Where nothing is left of the signal at time 1, a step from there has no 0/0.
func TestStepsFromPureNoiseHaveNumbers(t *testing.T) {
	ctx := context.Background()
	none := noise.LogLinear{Epsilon: -1}
	x := []int32{1, 2, 2}
	m := newJoint(3, 2, true, 4)
	for name, p := range map[string]Process[int32]{
		"masked": Masked{Mask: 2, Schedule: none}, "cap": Remask{Mask: 2, Schedule: none},
		"rescale": Remask{Mask: 2, Schedule: none, Rule: RemaskRescale}, "loop": Remask{Mask: 2, Schedule: none, Rule: RemaskLoop},
		"confidence": Remask{Mask: 2, Schedule: none, Rule: RemaskConfidence}, "uniform": Uniform{Schedule: none},
		"nothing for a while": Uniform{Schedule: late{}},
	} {
		b, err := p.Bind(ctx, 3, 3)
		require.NoError(t, err)
		for _, s := range []float64{0, 0.25, 0.75} {
			v, post := m.logs(x, 0, nil), make([]float32, 9)
			b.(Factorised).Posterior(post, v, x, 1, s)
			for i := range x {
				sum := 0.0
				for _, w := range post[3*i : 3*i+3] {
					sum += math.Exp(float64(w))
				}
				assert.InDelta(t, 1, sum, 1e-6, "%s, site %d, to %v", name, i, s)
			}
		}
		if name == "nothing for a while" {
			continue
		}
		g := ClassifierFree{Conditional: m, Unconditional: m, Scale: 2, AtPosterior: true}
		model := energy.Denoiser[int32](g)
		if name == "uniform" {
			u := newJoint(3, 3, false, 4)
			model = ClassifierFree{Conditional: u, Unconditional: u, Scale: 2, AtPosterior: true}
		}
		for _, steps := range []int{1, 2, 3} {
			d, err := New(ctx, model, p, Config{Steps: steps, Clamp: []int32{1, -1, -1}})
			require.NoError(t, err)
			require.NoError(t, d.Sample(ctx, make([]int32, 3*50)), "%s, %d steps", name, steps)
		}
	}
}

// late is a schedule without signal in the second half.
type late struct{ noise.LogLinear }

func (late) Alpha(t float64) float64 { return max(0, 1-2*t) }
