package mcmc

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// afresh and layered hide that their models are incremental.
type (
	afresh  struct{ energy.Binary }
	layered struct{ energy.Bipartite }
)

// Chains that evaluate changes take the steps of chains that evaluate states,
// and go on from a checkpoint to the same bits.
func TestChangesLeadWhereStatesLead(t *testing.T) {
	exact.SkipUnderRace(t)
	m := exact.RBM(t)
	ctx := context.Background()
	for _, method := range []sampler.Method{DMALA{}, DMALA{StepSize: 0.7}, DULA{}, Cyclical{StepSize: 2, Period: 5}, Tempering{Base: DMALA{}, Rungs: 3}, BlockGibbs{}} {
		cfg := sampler.Config{Chains: 40, Seed: 9, Warmup: 30}
		whole := runs.Run(t, m, method, cfg, 400)
		slow := energy.Model(afresh{m})
		if _, ok := method.(BlockGibbs); ok {
			slow = layered{m}
		}
		plain := runs.Run(t, slow, method, cfg, 400)
		assert.Equal(t, plain.States(), whole.States(), "%T", method)
		assert.Equal(t, reported(plain), reported(whole), "%T", method)

		half := runs.Run(t, m, method, cfg, 150)
		var b bytes.Buffer
		require.NoError(t, half.Save(&b))
		loaded, err := sampler.NewChains(m, method, cfg)
		require.NoError(t, err)
		require.NoError(t, loaded.Load(&b))
		require.NoError(t, loaded.Run(ctx, 250))
		require.NoError(t, half.Run(ctx, 250))
		assert.Equal(t, whole.States(), loaded.States(), "%T", method)
		assert.Equal(t, whole.States(), half.States(), "%T", method)
	}
}

// reported is what the last step said, but for what shows the kernel itself.
func reported(c *sampler.Chains) []sampler.Info {
	info := slices.Clone(c.Info())
	for s := range info {
		info[s].Rungs = nil
	}
	return info
}

func TestChangesAllocateNothing(t *testing.T) {
	exact.SkipUnderRace(t)
	for _, method := range []sampler.Method{DMALA{}, BlockGibbs{}} {
		c := runs.Run(t, exact.RBM(t), method, sampler.Config{Chains: 8, Workers: 1, Warmup: 10}, 10)
		k, n := c.Kernels()[0], sampler.Config{Chains: 8}.Block()
		info, x, streams := c.Info()[:n], c.States()[:n*len(c.States())/8], make([]sampler.Stream, n)
		assert.Zero(t, testing.AllocsPerRun(20, func() { k.Step(info, x, streams) }), "%T", method)
	}
}
