package sampler

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// afresh and layered hide that their models are incremental.
type (
	afresh  struct{ energy.Binary }
	layered struct{ energy.Bipartite }
)

// Chains that evaluate changes take the steps of chains that evaluate states,
// and go on from a checkpoint to the same bits.
func TestChangesLeadWhereStatesLead(t *testing.T) {
	m := exact.RBM(t)
	ctx := context.Background()
	for _, method := range []Method{DMALA{}, DMALA{StepSize: 0.7}, DULA{}, Cyclical{StepSize: 2, Period: 5}, Tempering{Base: DMALA{}, Rungs: 3}, BlockGibbs{}} {
		cfg := Config{Chains: 40, Seed: 9, Warmup: 30}
		whole := run(t, m, method, cfg, 400)
		slow := energy.Model(afresh{m})
		if _, ok := method.(BlockGibbs); ok {
			slow = layered{m}
		}
		plain := run(t, slow, method, cfg, 400)
		assert.Equal(t, plain.States(), whole.States(), "%T", method)
		assert.Equal(t, plain.Info(), whole.Info(), "%T", method)

		half := run(t, m, method, cfg, 150)
		var b bytes.Buffer
		require.NoError(t, half.Save(&b))
		loaded, err := NewChains(m, method, cfg)
		require.NoError(t, err)
		require.NoError(t, loaded.Load(&b))
		require.NoError(t, loaded.Run(ctx, 250))
		require.NoError(t, half.Run(ctx, 250))
		assert.Equal(t, whole.States(), loaded.States(), "%T", method)
		assert.Equal(t, whole.States(), half.States(), "%T", method)
	}
}

func TestChangesAllocateNothing(t *testing.T) {
	exact.SkipUnderRace(t)
	for _, method := range []Method{DMALA{}, BlockGibbs{}} {
		c := run(t, exact.RBM(t), method, Config{Chains: 8, Workers: 1, Warmup: 10}, 10)
		k, streams := c.Kernels()[0], make([]Stream, 8)
		assert.Zero(t, testing.AllocsPerRun(20, func() { k.Step(c.Info(), c.States(), streams) }), "%T", method)
	}
}
