package sampler

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

func TestLangevinAllocates(t *testing.T) {
	if exact.Race || testing.CoverMode() != "" {
		t.Skip("instrumentation allocates")
	}
	m, err := energy.NewGaussianMixture([]float64{1, 1}, []float64{0, 0, 0, 1, 1, 1}, []float64{1, 2})
	require.NoError(t, err)
	l, err := NewLangevin(m, LangevinConfig{})
	require.NoError(t, err)
	require.NoError(t, l.Reset())
	k, streams := l.Kernels()[0], make([]Stream, 4)
	require.Zero(t, testing.AllocsPerRun(100, func() { k.Step(l.Info(), l.States(), streams) }))
}
