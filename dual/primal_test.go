package dual_test

import (
	"context"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/langevin"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/stretchr/testify/require"
)

var (
	_ dual.Primal[int32]    = (*sampler.Chains)(nil)
	_ dual.Primal[float32]  = (*langevin.Chains)(nil)
	_ dual.Primal[int32]    = (*dual.Resampler[int32])(nil)
	_ dual.Counter          = (*sampler.Chains)(nil)
	_ dual.Energetic[int32] = (*sampler.Chains)(nil)
	_ dual.Saver            = (*sampler.Chains)(nil)
	_ dual.Prover           = (*dual.Lagrangian)(nil)
	_ dual.Enumerable       = (*dual.Lagrangian)(nil)
)

// Chains that are given states go on as those that have them; another length or
// level is refused and changes nothing.
func TestSetStates(t *testing.T) {
	chains := func() dual.Primal[int32] {
		return exact.Must(sampler.NewChains(context.Background(), ring(t, 1), mcmc.Gibbs{}, sampler.Config{Chains: 3, Seed: 4, Warmup: -1}))
	}
	a, b := chains(), chains()
	x := make([]int32, 30)
	x[7] = 1
	require.NoError(t, a.SetStates(x))
	require.Equal(t, x, a.States())
	copy(b.States(), x)
	require.NoError(t, b.Reset())
	require.NoError(t, a.Run(ctx, 5))
	require.NoError(t, b.Run(ctx, 5))
	require.Equal(t, b.States(), a.States())
	require.NotEqual(t, x, a.States())
	require.Equal(t, int32(1), x[7], "a copy")

	before := append([]int32{}, a.States()...)
	require.ErrorContains(t, a.SetStates(x[:20]), "len(x) = 20, want 30")
	x[3] = 2
	require.Error(t, a.SetStates(x))
	require.Equal(t, before, a.States())
}

func TestResampler(t *testing.T) {
	r := exact.Must(dual.NewResampler(2, 2, func(_ context.Context, x []int32) error {
		for i := range x {
			x[i] = int32(i)
		}
		return nil
	}))
	require.NoError(t, r.SetStates([]int32{5, 6, 7, 8}))
	require.Equal(t, []int32{5, 6, 7, 8}, r.States())
	require.Error(t, r.SetStates([]int32{1}))
	require.NoError(t, r.Reset())
	require.NoError(t, r.Run(ctx, 2))
	require.Equal(t, []int32{0, 1, 2, 3}, r.States())
	require.Equal(t, 2, r.Len())
	require.Error(t, exact.Error(dual.NewResampler[int32](2, 2, nil)))
	require.Error(t, exact.Error(dual.NewResampler(0, 2, func(context.Context, []int32) error { return nil })))
}
