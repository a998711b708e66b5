package sampler_test

import (
	"bytes"
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/auto"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/cluster"
)

// wrapped moves chains as another method does.
type wrapped struct{ base sampler.Method }

func (w wrapped) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	k, err := w.base.Kernel(ctx, m, chains)
	return &wrappedKernel{k}, err
}

type wrappedKernel struct{ sampler.Kernel }

func (w *wrappedKernel) Unwrap() sampler.Kernel { return w.Kernel }

var _ sampler.Wrapper[int32] = (*wrappedKernel)(nil)

// A wrapper that embeds a kernel and unwraps to it is found to be all that the kernel is:
// runs have the same bits, step sizes and steps that blocks make together.
func TestWrappersForward(t *testing.T) {
	ising := exact.Must(model.NewIsing(model.Lattice{5, 5}, 0.2, 0.1))
	for _, method := range []sampler.Method{mcmc.Gibbs{}, mcmc.DMALA{}, mcmc.PairGibbs{}} {
		cfg := sampler.Config{Chains: 96, Warmup: 60, Workers: 1}
		a := exact.Must(sampler.NewChains(t.Context(), ising, method, cfg))
		b := exact.Must(sampler.NewChains(t.Context(), ising, wrapped{wrapped{method}}, cfg))
		require.NoError(t, a.Run(t.Context(), 40))
		require.NoError(t, b.Run(t.Context(), 40))
		assert.Equal(t, a.States(), b.States(), "%T", method)
		assert.Equal(t, a.Stats(), b.Stats(), "%T", method)
		assert.Equal(t, a.StepSizes(), b.StepSizes(), "%T", method)
		inside, outside := a.Kernels()[0], b.Kernels()[0]
		_, companion := sampler.As[sampler.Companion](inside)
		_, wraps := sampler.As[sampler.Companion](outside)
		assert.Equal(t, companion, wraps, "%T", method)
		_, costed := sampler.As[sampler.Costed](outside)
		assert.True(t, costed, "%T", method)
		_, itself := sampler.As[*wrappedKernel](outside)
		assert.True(t, itself)
	}
	_, ok := sampler.As[sampler.Tuned](sampler.Kernel(&wrappedKernel{}))
	assert.False(t, ok, "it wraps nothing")
}

// A kernel with a Base goes on to the same bits after a Load, also within others.
func TestBaseKernelsResume(t *testing.T) {
	ising := exact.Must(model.NewIsing(model.Lattice{4, 4}, 0.2, 0.1))
	for _, method := range []sampler.Method{
		independence{}, mcmc.Tempering{Base: independence{}, Rungs: 3}, cluster.Houdayer{Base: independence{}},
		auto.Method{Candidates: []sampler.Method{priced{}, mcmc.Gibbs{}}}, auto.Method{Candidates: []sampler.Method{mcmc.Metropolis{}, priced{}}},
	} {
		for _, warmup := range []int{-1, 150} {
			cfg := sampler.Config{Chains: 40, Warmup: warmup, Seed: 3}
			whole := exact.Must(sampler.NewChains(t.Context(), ising, method, cfg))
			require.NoError(t, whole.Run(t.Context(), 30))
			first := exact.Must(sampler.NewChains(t.Context(), ising, method, cfg))
			require.NoError(t, first.Run(t.Context(), 13))
			var file bytes.Buffer
			require.NoError(t, first.Save(&file))
			second := exact.Must(sampler.NewChains(t.Context(), ising, method, cfg))
			require.NoError(t, second.Load(t.Context(), &file))
			require.NoError(t, second.Run(t.Context(), 17))
			assert.Equal(t, whole.States(), second.States(), "%T", method)
			assert.Equal(t, whole.Stats(), second.Stats(), "%T", method)
		}
	}
	assert.ErrorContains(t, (&sampler.Base{}).UnmarshalBinary([]byte{1}), "1 bytes")
}

// priced is independence for auto.
type priced struct{ independence }

func (p priced) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	k, err := p.independence.Kernel(ctx, m, chains)
	return &pricedKernel{k.(*coins)}, err
}

type pricedKernel struct{ *coins }

func (*pricedKernel) Cost([]sampler.Info) float64 { return 1 }

// counting kernels say that they made so many steps.
type counting struct{ done int }

func (c counting) Kernel(context.Context, energy.Model, int) (sampler.Kernel, error) {
	return &countingKernel{done: c.done}, nil
}

type countingKernel struct {
	sampler.Base
	done int
}

func (*countingKernel) Reset(sampler.Control, []int32) error { return nil }

func (k *countingKernel) Step(sampler.Control, []sampler.Info, []int32, []sampler.Stream) int {
	return k.done
}

// A kernel that forgets to say that it made its step ends the run, and does not hang it.
func TestWrongCountsOfStepsAreErrors(t *testing.T) {
	for _, done := range []int{-1, 0, 2} {
		c := exact.Must(sampler.NewChains(t.Context(), exact.NewQuadratic(3, 1), counting{done}, sampler.Config{}))
		assert.ErrorContains(t, c.Run(t.Context(), 3), "Step made")
	}
	c := exact.Must(sampler.NewChains(t.Context(), exact.NewQuadratic(3, 1), counting{1}, sampler.Config{}))
	assert.NoError(t, c.Run(t.Context(), 3))
}

// What a kernel keeps comes back, each number as it was; anything of another length is
// refused before it changes something.
func TestBaseKeeps(t *testing.T) {
	type kept struct {
		sampler.Base
		at     int
		step   float64
		counts []int
		x      []int32
		v      []float32
		e      []float64
	}
	build := func() *kept {
		k := &kept{counts: make([]int, 2), x: make([]int32, 3), v: make([]float32, 1), e: make([]float64, 2)}
		k.Keep(&k.at, &k.step, k.counts)
		k.Keep(k.x, k.v, k.e)
		return k
	}
	k := build()
	k.at, k.step = -3, 0.25
	copy(k.counts, []int{7, math.MinInt})
	copy(k.x, []int32{1, -1, math.MaxInt32})
	copy(k.v, []float32{1.5})
	copy(k.e, []float64{math.Inf(1), -0.1})
	image := exact.Must(k.AppendBinary([]byte("before")))[len("before"):]
	other := build()
	require.NoError(t, other.UnmarshalBinary(image))
	assert.Equal(t, []any{k.at, k.step, k.counts, k.x, k.v, k.e}, []any{other.at, other.step, other.counts, other.x, other.v, other.e})
	blank := build()
	for _, bad := range [][]byte{nil, image[1:], append(slices.Clone(image), 0)} {
		assert.ErrorContains(t, blank.UnmarshalBinary(bad), "of a kernel that keeps")
	}
	assert.Zero(t, blank.at)
	assert.PanicsWithValue(t, "sampler: Base.Keep: v[1] is a string, want *int, *float64, []int, []int32, []float32 or []float64", func() { k.Keep(k.e, "e") })
}
