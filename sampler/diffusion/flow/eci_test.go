package flow_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection/newton"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/flow"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// The clock makes Mix rounds at every point of the grid, and states are v and noise in
// the shares of the time: noise that was kept, or drawn anew after Resample rounds.
func TestRounds(t *testing.T) {
	for _, p := range []flow.ECI{{}, {Mix: 3}, {Mix: 2, Resample: 3}, {Mix: 3, Resample: -1}} {
		mix := max(1, p.Mix)
		steps := exact.Must(p.Bind(context.Background(), 2, 1))
		assert.Equal(t, 4*mix, steps.(diffusion.Clocked).MaxSteps(4))
		r := sampler.NewStream(1, 1)
		x := make([]float32, 2)
		steps.Prior(x, r)
		began, v := x[0], []float32{3, -4}
		now := 1.0
		last := float64(began)
		for k := range 4 * mix {
			s := steps.Next(x, now, k, 4, r)
			assert.Equal(t, 1-float64((k+1)/mix)/4, s, "%+v, round %d", p, k)
			require.NoError(t, steps.Reverse(x, v, v, now, s, r))
			size := math.Hypot(1-s, s)
			if s > 0 {
				e := (float64(x[0])*size - (1-s)*3) / s
				fresh := p.Resample == 0 || p.Resample > 0 && (k+1)%p.Resample == 0
				assert.Equal(t, fresh, math.Abs(e-last) > 1e-5, "%+v, round %d: ε = %v after %v", p, k, e, last)
				last = e
			}
			now = s
		}
		assert.Equal(t, v, x)
		assert.Zero(t, now)
	}
	assert.Equal(t, math.MaxInt, exact.Must(flow.ECI{Mix: 3}.Bind(context.Background(), 1, 1)).(diffusion.Clocked).MaxSteps(math.MaxInt/2))
}

func TestErrors(t *testing.T) {
	bind := func(p flow.ECI, sites, levels int) error {
		return exact.Error(p.Bind(context.Background(), sites, levels))
	}
	assert.EqualError(t, bind(flow.ECI{}, 0, 1), "flow: ECI: Bind: sites = 0, levels = 1, want ≥ 1 and 1")
	assert.EqualError(t, bind(flow.ECI{}, 3, 2), "flow: ECI: Bind: sites = 3, levels = 2, want ≥ 1 and 1")
	assert.EqualError(t, bind(flow.ECI{Mix: -1}, 3, 1), "flow: ECI: Mix = -1, Resample = 0, want 0 … 1048576 and ≥ −1")
	assert.EqualError(t, bind(flow.ECI{Resample: -2}, 3, 1), "flow: ECI: Mix = 0, Resample = -2, want 0 … 1048576 and ≥ −1")
	assert.ErrorContains(t, bind(flow.ECI{Schedule: noise.LinearBeta{From: 2}}, 3, 1), "noise: LinearBeta")
	bad := energy.DenoiserFunc[float32]{Sites: 2, Levels: 1, F: func(_ context.Context, v []float32, _ energy.Noised[float32]) error {
		v[0], v[1] = 0, float32(math.NaN())
		return nil
	}}
	d, err := diffusion.New(context.Background(), bad, flow.ECI{}, diffusion.Config{Steps: 2})
	require.NoError(t, err)
	var not *diffusion.PredictionError
	require.True(t, errors.As(d.Sample(context.Background(), make([]float32, 2)), &not))
	assert.Equal(t, 1, not.Site)
}

// conserved is a linear and a curved equation: Σz = 1, Σz² = 6.
type conserved struct{}

func (conserved) Len() int { return 2 }

func (conserved) Eval(g, z []float64) {
	g[0], g[1] = -1, -6
	for _, x := range z {
		g[0] += x
		g[1] += x * x
	}
}

func (conserved) Gradient(dst []float64, j int, z []float64) {
	for i, x := range z {
		dst[i] = 1
		if j == 1 {
			dst[i] = 2 * x
		}
	}
}

var _ constraint.Curved = conserved{}

// By every form of the flow samples keep equations, linear and curved, to the rounding of
// their float32 numbers; in float64 the projection keeps them to 1e-9. A flow without a
// projector does not.
func TestSamplesKeepEquations(t *testing.T) {
	const n, sites = 20, 6
	cov := make([]float64, sites*sites)
	for i := range sites {
		for j := range sites {
			cov[i*sites+j] = math.Pow(0.8, math.Abs(float64(i-j)))
		}
	}
	model := exact.Must(denoise.NewGaussian(make([]float64, sites), cov))
	onto := newton.Projector{Equations: conserved{}}
	solver := exact.Must(onto.Compile(sites))
	worst := func(p diffusion.Process[float32], projector diffusion.Projector) (worst float64) {
		left := 0.0
		d, err := diffusion.New(context.Background(), model, p, diffusion.Config{Steps: 8, Seed: 2, Workers: 1, Projector: projector,
			Observe: func(s *diffusion.Snapshot) {
				if s.To == 0 {
					left = max(left, s.Violation)
				}
			}})
		require.NoError(t, err)
		x := make([]float32, n*sites)
		require.NoError(t, d.Sample(context.Background(), x))
		assert.LessOrEqual(t, left, 1e-9)
		g, z := make([]float64, 2), make([]float64, sites)
		for k := range n {
			for i := range z {
				z[i] = float64(x[k*sites+i])
			}
			conserved{}.Eval(g, z)
			worst = max(worst, math.Abs(g[0]), math.Abs(g[1]))
			require.NoError(t, solver.Solve(z, z))
			conserved{}.Eval(g, z)
			require.LessOrEqual(t, max(math.Abs(g[0]), math.Abs(g[1])), 1e-9)
		}
		return worst
	}
	for _, p := range []diffusion.Process[float32]{flow.ECI{}, flow.ECI{Resample: -1}, flow.ECI{Mix: 2}, diffusion.Gaussian{Schedule: noise.Straight{}}} {
		assert.Less(t, worst(p, onto), 3e-6, "%+v", p)
		assert.Greater(t, worst(p, nil), 0.1, "%+v without a projector", p)
	}
}
