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

var ctx = context.Background()

// spoilt is a process that is broken in one way.
type spoilt struct {
	diffusion.Process[int32]
	broken string
}

func (p spoilt) Bind(ctx context.Context, sites, levels int) (diffusion.Steps[int32], error) {
	if p.broken == "any shape" {
		sites, levels = max(sites, 1), max(levels, 1)
		if sites > 1000 {
			sites = 1000
		}
		if levels > 1000 {
			levels = 3
		}
	}
	s, err := p.Process.Bind(ctx, sites, levels)
	if err != nil {
		return nil, err
	}
	all := s.(steps)
	return &spoiltSteps{all, p.broken, 0, 0}, nil
}

// steps are what Masked and Uniform have.
type steps interface {
	diffusion.Steps[int32]
	diffusion.Joint
	diffusion.Factorised
}

type spoiltSteps struct {
	steps
	broken string
	seen   int
	calls  int
}

func (s *spoiltSteps) Alpha(t float64) float64 {
	a := s.steps.Alpha(t)
	switch {
	case s.broken == "rises" && t > 0.5:
		return 1 - a
	case s.broken == "starts late":
		return a * 0.8
	}
	return a
}

func (s *spoiltSteps) Prior(x []int32, r *sampler.Stream) {
	s.steps.Prior(x, r)
	if s.broken == "prior" && r.Uint64()%4 == 0 {
		x[0] = 1
	}
}

func (s *spoiltSteps) Next(x []int32, t float64, step, steps int, r *sampler.Stream) float64 {
	switch s.broken {
	case "back in time":
		if step == 1 && steps > 5 {
			return min(1, t+0.1)
		}
	case "never ends":
		return max(t*0.9, 1e-6) * boolean(step < 3*steps)
	}
	return s.steps.Next(x, t, step, steps, r)
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (s *spoiltSteps) Reverse(x []int32, raw, v []float32, t, to float64, r *sampler.Stream) error {
	switch s.broken {
	case "marginals only": // the first step reveals everything, whatever the time
		to = 0
	case "flat": // rows are taken for half as certain
		for i := range v {
			v[i] /= 2
		}
	case "remembers":
		if s.calls++; s.calls%4 == 0 {
			r.Uint64()
		}
	case "keeps a mask":
		before := append([]int32(nil), x...)
		err := s.steps.Reverse(x, raw, v, t, to, r)
		if before[2] == 2 && to == 0 {
			x[2] = 2
		}
		return err
	case "late by a step":
		if to > 0 {
			to = (t + to) / 2
		}
	}
	return s.steps.Reverse(x, raw, v, t, to, r)
}

func (s *spoiltSteps) Condition(v []float32, x []int32, t float64, loo bool) {
	switch s.broken {
	case "no conversion":
		loo = false
	case "twice":
		s.steps.Condition(v, x, t, true)
	}
	s.steps.Condition(v, x, t, loo)
}

func (s *spoiltSteps) Renoise(x, x0 []int32, v []float32, t, to float64, r *sampler.Stream) {
	if s.broken == "renoise" {
		to = (t + to) / 2
	}
	s.steps.Renoise(x, x0, v, t, to, r)
}

func (s *spoiltSteps) Reweight(v []float32, xt, xs []int32, t, to float64) {
	s.steps.Reweight(v, xt, xs, t, to)
	if s.broken == "reweight" {
		for i := range v {
			v[i] *= 1.01
		}
	}
}

func (s *spoiltSteps) Posterior(dst, v []float32, x []int32, t, to float64) {
	s.steps.Posterior(dst, v, x, t, to)
	if s.broken == "posterior" {
		for i := range dst {
			dst[i] += float32(math.Ln2)
		}
	}
}

func TestProcessPasses(t *testing.T) {
	for _, p := range []diffusion.Process[int32]{
		spoilt{diffusion.Masked{Mask: 2}, ""}, spoilt{diffusion.Masked{Mask: 0}, ""}, spoilt{diffusion.Uniform{}, ""},
	} {
		require.NoError(t, diffusiontest.TestProcess(ctx, p, diffusiontest.ProcessOptions{}))
	}
}

func TestProcessFindsBrokenProcesses(t *testing.T) {
	masked, uniform := diffusion.Masked{Mask: 2}, diffusion.Uniform{}
	for _, c := range []struct {
		broken string
		of     diffusion.Process[int32]
		want   string
	}{
		{"any shape", masked, "bind: Bind(0, 3) returns no error"},
		{"rises", masked, "schedule: Alpha("},
		{"starts late", uniform, "schedule: Alpha(0) = 0.8"},
		{"prior", uniform, "prior: x_1 is not uniform"},
		{"back in time", masked, "step 1: the process goes from time"},
		{"never ends", masked, "the most that the process promises"},
		{"marginals only", masked, "distribution: 20000 samples of 3 steps"},
		{"marginals only", uniform, "distribution: 20000 samples of 3 steps"},
		{"flat", masked, "distribution: 20000 samples of 1 steps"},
		{"late by a step", uniform, "distribution: 20000 samples of 3 steps"},
		{"keeps a mask", masked, "distribution: sample "},
		{"no conversion", uniform, "leave-one-out: true"},
		{"twice", uniform, "distribution: "},
		{"renoise", masked, "renoise: "},
		{"renoise", uniform, "renoise: "},
		{"reweight", uniform, "reweight: "},
		{"posterior", masked, "posterior: "},
		{"remembers", masked, ": "},
	} {
		t.Run(fmt.Sprintf("%s/%T", c.broken, c.of), func(t *testing.T) {
			err := diffusiontest.TestProcess(ctx, spoilt{c.of, c.broken}, diffusiontest.ProcessOptions{})
			require.ErrorContains(t, err, "diffusiontest: ")
			require.ErrorContains(t, err, c.want)
		})
	}
	require.EqualError(t, diffusiontest.TestProcess(ctx, nil, diffusiontest.ProcessOptions{}), "diffusiontest: p = nil")
	// A process that does not converge must not say so.
	require.ErrorContains(t, diffusiontest.TestProcess(ctx, diffusion.Ordered{Mask: 2}, diffusiontest.ProcessOptions{Claim: diffusiontest.Exact}), "distribution: ")
}

// Three lines check a process of one's own.
func ExampleTestProcess() {
	err := diffusiontest.TestProcess(ctx, diffusion.Masked{Mask: 2}, diffusiontest.ProcessOptions{})
	fmt.Println(err)
	// Output: <nil>
}

// What first hitting claims is more than other processes do.
func ExampleProcessOptions() {
	p := diffusion.Masked{Mask: 2, FirstHitting: true}
	fmt.Println(diffusiontest.TestProcess(ctx, p, diffusiontest.ProcessOptions{Claim: diffusiontest.Exact}))
	// Output: <nil>
}
