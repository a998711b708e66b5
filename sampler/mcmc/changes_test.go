package mcmc

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// afresh and layered hide that their models are incremental, incremental that its model
// has a field for proposals.
type (
	incremental struct{ energy.Incremental }
	afresh      struct{ energy.Binary }
	layered     struct{ energy.Bipartite }
)

// withProposals is a model that has no field but the one for proposals.
type withProposals struct{ Proposing }

func (p withProposals) Field(e []float64, h []float32, x []int32) {
	p.ProposalFrom(e, h, make([]float64, len(e)*p.CacheLen()), x, nil, nil)
}

// Chains that evaluate changes take the steps of chains that evaluate states,
// and go on from a checkpoint to the same bits.
func TestChangesLeadWhereStatesLead(t *testing.T) {
	exact.SkipUnderRace(t)
	rbm := exact.RBM(t)
	ctx := context.Background()
	for _, method := range []sampler.Method{DMALA{}, DMALA{StepSize: 0.7}, DULA{}, Cyclical{StepSize: 2, Period: 5}, Tempering{Base: DMALA{}, Rungs: 3}, BlockGibbs{}} {
		cfg := sampler.Config{Chains: 40, Seed: 9, Warmup: 30}
		m, slow := energy.Model(rbm), energy.Model(afresh{rbm})
		switch method.(type) {
		case DMALA:
			slow = afresh{withProposals{rbm}}
		case Tempering: // scaled models have none, the coldest has
			m = incremental{rbm}
		case BlockGibbs:
			slow = layered{rbm}
		}
		whole := runs.Run(t, m, method, cfg, 400)
		plain := runs.Run(t, slow, method, cfg, 400)
		assert.Equal(t, plain.States(), whole.States(), "%T", method)
		assert.Equal(t, reported(plain), reported(whole), "%T", method)

		half := runs.Run(t, m, method, cfg, 150)
		var b bytes.Buffer
		require.NoError(t, half.Save(&b))
		loaded, err := sampler.NewChains(context.Background(), m, method, cfg)
		require.NoError(t, err)
		require.NoError(t, loaded.Load(context.Background(), &b))
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
		assert.Zero(t, testing.AllocsPerRun(20, func() { k.Step(sampler.Control{}, info, x, streams) }), "%T", method)
	}
}

// A checkpoint from before DMALA had a field of its own for such a model is refused: its
// first step would mix the two.
func TestCheckpointsOfAnotherFieldAreRefused(t *testing.T) {
	m := exact.Must(model.NewRBM([]float32{1, -2, 0.5, 0.25, 1, 1}, []float32{0.1, 0.2}, []float32{0, 0.1, -0.3}))
	x := make([]int32, 3)
	cheap, plain := exact.Must(DMALA{}.Kernel(context.Background(), m, 1)), exact.Must(DMALA{}.Kernel(context.Background(), m, 1))
	require.NoError(t, cheap.Reset(sampler.Control{}, x))
	b := exact.Must(cheap.AppendBinary(nil))
	require.NoError(t, cheap.UnmarshalBinary(b))
	plain.(*hastings).proposal.(*flips).cheap = false
	require.NoError(t, plain.Reset(sampler.Control{}, x))
	old := exact.Must(plain.AppendBinary(nil))
	require.Len(t, old, len(b)-8)
	assert.ErrorContains(t, cheap.UnmarshalBinary(append(old, make([]byte, 8)...)), "another field of such a model")
}
