package energy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
)

func TestNeighborCorrelation(t *testing.T) {
	corr, err := energy.NeighborCorrelation(energy.FreeLattice{4})
	require.NoError(t, err)
	require.Equal(t, 1.0/3, corr([]int32{0, 0, 1, 1}))
	require.PanicsWithValue(t, "energy: len(x) = 3, want 4", func() { corr(make([]int32, 3)) })
	_, err = energy.NeighborCorrelation(nil)
	require.EqualError(t, err, "energy: NeighborCorrelation: no topology")
	_, err = energy.NeighborCorrelation(energy.Lattice{1})
	require.EqualError(t, err, "energy: NeighborCorrelation: the topology has no edges")
	_, err = energy.NeighborCorrelation(energy.Lattice{})
	require.Error(t, err)
}
