package diffusiontest_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/diffusiontest"
)

// drifting is DDIM that is broken in one way.
type drifting struct{ broken string }

type driftingSteps struct {
	diffusion.Steps[float32]
	broken string
}

func (p drifting) Bind(ctx context.Context, sites, levels int) (diffusion.Steps[float32], error) {
	s, err := diffusion.Gaussian{Eta: 0.5}.Bind(ctx, sites, levels)
	return driftingSteps{s, p.broken}, err
}

func (s driftingSteps) Prior(x []float32, r *sampler.Stream) {
	s.Steps.Prior(x, r)
	switch s.broken {
	case "narrow prior":
		for i := range x {
			x[i] *= 0.9
		}
	case "tied prior":
		x[1] = (x[0] + x[1]) / math.Sqrt2
	}
}

func (s driftingSteps) Reverse(x, raw, v []float32, t, to float64, r *sampler.Stream) error {
	switch s.broken {
	case "shifted":
		v[0] += 0.1
	case "late noise":
		if to > 0 {
			to = (t + to) / 2
		}
	case "tied":
		x[0] += 0.2 * x[1]
	}
	return s.Steps.Reverse(x, raw, v, t, to, r)
}

// halfDDIM is the step of DDIM with η = ½.
func halfDDIM(at, as float64) (keep, clean, noise float64) {
	if as < 1 {
		noise = 0.5 * math.Sqrt((1-as)/(1-at)) * math.Sqrt(1-at/as)
	}
	keep = math.Sqrt(max(0, 1-as-noise*noise)) / math.Sqrt(1-at)
	return keep, math.Sqrt(as) - keep*math.Sqrt(at), noise
}

func TestRealProcess(t *testing.T) {
	o := diffusiontest.RealOptions{Step: halfDDIM, Distance: 0.05}
	require.NoError(t, diffusiontest.TestRealProcess(ctx, drifting{}, o))
	for broken, want := range map[string]string{
		"narrow prior": "prior: x_1",
		"tied prior":   "prior: x_1: ",
		"shifted":      "distribution: ",
		"late noise":   "distribution: ",
		"tied":         "distribution: ",
	} {
		require.ErrorContains(t, diffusiontest.TestRealProcess(ctx, drifting{broken}, o), want)
	}
	other := o
	other.Step = func(at, as float64) (float64, float64, float64) { return 0, math.Sqrt(as), math.Sqrt(1 - as) }
	require.ErrorContains(t, diffusiontest.TestRealProcess(ctx, drifting{}, other), "distribution: ")
}

// DDIM without noise keeps what the step before predicted of it.
func ExampleRealOptions() {
	step := func(at, as float64) (keep, clean, noise float64) {
		keep = math.Sqrt(1-as) / math.Sqrt(1-at)
		return keep, math.Sqrt(as) - keep*math.Sqrt(at), 0
	}
	fmt.Println(diffusiontest.TestRealProcess(ctx, diffusion.Gaussian{}, diffusiontest.RealOptions{Step: step}))
	// Output: <nil>
}
