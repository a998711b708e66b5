package mcmc

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/sampler"
)

func constrained() []sampler.Method {
	three := constraint.Count{Levels: []int32{1}, Min: 3, Max: 3}
	return []sampler.Method{PairGibbs{Within: three}, DMALA{Within: three}, Tempering{Rungs: 3, Base: DMALA{Within: three}}}
}

// everyKernel lists the methods with a model, and those of kernels that this has not.
func everyKernel(t *testing.T) (all []sized) {
	m := exact.NewQuadratic(9, 1)
	for _, method := range append(everyMethod(), constrained()...) {
		all = append(all, sized{m, method})
	}
	dense := sweeptest.Complete(t, 9, 0.3, 0.1)
	return append(all, sized{dense, Gibbs{}}, sized{dense, Gibbs{Scan: Systematic}})
}

// A kernel that is given what a new one wrote is as new, whatever it did before.
func TestKernelsBecomeNew(t *testing.T) {
	const chains = 9
	for _, c := range everyKernel(t) {
		m, method := c.m, c.method
		k := exact.Must(method.Kernel(context.Background(), m, chains))
		fresh := exact.Must(k.AppendBinary(nil))
		x, y := make([]int32, chains*9), make([]int32, chains*9)
		streams, info := make([]sampler.Stream, chains), make([]sampler.Info, chains)
		for s := range streams {
			streams[s].Seed(5, uint64(s))
			for i := range 3 {
				x[s*9+i], y[s*9+8-i] = 1, 1
			}
		}
		require.NoError(t, k.Reset(sampler.Control{}, x), "%T", method)
		for step := range 20 {
			k.Step(sampler.Control{}, info, x, streams)
			if a, ok := k.(sampler.Adaptive); ok {
				a.Adapt(info, step, 20)
			}
		}
		require.NoError(t, k.UnmarshalBinary(fresh), "%T", method)
		assert.Equal(t, fresh, exact.Must(k.AppendBinary(nil)), "%T", method)
		require.NoError(t, k.Reset(sampler.Control{}, y), "%T", method)
		other := exact.Must(method.Kernel(context.Background(), m, chains))
		require.NoError(t, other.Reset(sampler.Control{}, y))
		assert.Equal(t, exact.Must(other.AppendBinary(nil)), exact.Must(k.AppendBinary(nil)), "%T %+v", method, method)
	}
}
