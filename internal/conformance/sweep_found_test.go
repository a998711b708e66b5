package conformance_test

import (
	"context"
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual/fit"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/neural/layer"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Sizes that no memory holds are errors which name them. A sweep found these.
func TestSizesBeyondMemoryAreRefused(t *testing.T) {
	ctx := context.Background()
	ising := exact.Must(model.NewIsing(model.Lattice{3}, 0.2, 0))
	chains := exact.Must(sampler.NewChains(context.Background(), ising, mcmc.Gibbs{}, sampler.Config{}))
	learner := exact.Must(exact.Must(model.NewIndependent(make([]float64, 6), 2)).Learn())
	masked := exact.Must(denoise.NewIndependent(exact.Must(model.NewIndependent(make([]float64, 6), 2)), denoise.Absorbing))
	for name, c := range map[string]func(n int) error{
		"AISConfig.Stages": func(n int) error {
			_, err := anneal.NewAIS(ising, mcmc.Gibbs{}, anneal.AISConfig{Stages: n})
			return err
		},
		"AISConfig.Chains": func(n int) error {
			_, err := anneal.NewAIS(ising, mcmc.Gibbs{}, anneal.AISConfig{Chains: n})
			return err
		},
		"SteppingStoneConfig.Stages": func(n int) error {
			_, err := anneal.NewSteppingStone(ising, mcmc.Gibbs{}, anneal.SteppingStoneConfig{Stages: n})
			return err
		},
		"Period": func(n int) error { _, err := mcmc.Cyclical{Period: n}.Kernel(ctx, ising, 1); return err },
		"Rungs":  func(n int) error { _, err := mcmc.Tempering{Rungs: n}.Kernel(ctx, ising, 1); return err },
		"Batch": func(n int) error {
			_, err := diffusion.New(ctx, masked, diffusion.Masked{Mask: 2}, diffusion.Config{Batch: n})
			return err
		},
		"Count": func(n int) error {
			_, err := diagnose.NewTally(diagnose.TallyConfig{Chains: n, Draws: 1}, func([]int32) float64 { return 0 })
			return err
		},
		"Buffer": func(n int) error {
			_, err := fit.Persistent{Buffer: n}.Bind(ctx, learner, make([]int32, 3), chains)
			return err
		},
	} {
		for _, n := range []int{math.MaxInt, math.MaxInt - 1, math.MaxInt/2 + 2, math.MaxInt / 4} {
			assert.ErrorContains(t, c(n), name, "%d", n)
		}
	}
}

// Arguments that fit nothing are named where an index would fail.
func TestArgumentsOfMethodsAreChecked(t *testing.T) {
	ising := exact.Must(model.NewIsing(model.Lattice{3}, 0.2, 0))
	rbm := exact.Must(model.NewRBM([]float32{1, 2}, []float32{0}, []float32{0, 1}))
	row := []constraint.Row{{Index: []int32{4}, Value: []float64{1}}}
	words := exact.Must(constraint.Contains([]int32{1, 0}, []int32{1, 1}))
	for want, call := range map[string]func(){
		"model: site = -1":       func() { ising.Conditional(make([]float64, 2), -1, make([]int32, 3)) },
		"model: site = 2":        func() { rbm.Conditional(make([]float64, 2), 2, make([]int32, 2)) },
		"constraint: state = -7": func() { words.Next(-7, 0) },
		"constraint: Linear: A[0].Index[0] = 4": func() {
			constraint.Linear{A: row, B: []float64{0}}.Pull(make([]float32, 2), make([]float32, 2), []float64{1})
		},
		"layer: Residual: Kept = nil, ": func() { layer.Residual{}.Forward(nil, nil, nil) },
		"layer: Residual: Kept = nil":   func() { layer.Residual{}.Backward(nil, layer.Residual{}, nil, nil) },
		"constraint: len(Lower) = 0":    func() { constraint.Slabs{A: row, Upper: []float64{1}}.Pull(nil, nil, []float64{1}) },
	} {
		func() {
			defer func() { assert.Contains(t, recover(), want) }()
			call()
		}()
	}
	require.NotPanics(t, func() {
		energy.Func{Sites: math.MaxInt, Levels: 2, E: func([]int32) float64 { return 0 }}.Energy(nil, nil)
	})
}
