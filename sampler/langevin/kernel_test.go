package langevin

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

func TestLangevinAllocates(t *testing.T) {
	if exact.Race || testing.CoverMode() != "" {
		t.Skip("instrumentation allocates")
	}
	m, err := continuous.NewDiagonal([]float64{1, 1}, []float64{0, 0, 0, 1, 1, 1}, []float64{1, 2})
	require.NoError(t, err)
	l, err := New(context.Background(), m, Config{Chains: 8})
	require.NoError(t, err)
	require.NoError(t, l.Reset())
	k, streams := l.Kernels()[0], make([]sampler.Stream, 2)
	require.Zero(t, testing.AllocsPerRun(100, func() { k.Step(sampler.Control{}, l.Info()[:2], l.States()[:6], streams) }))
}
