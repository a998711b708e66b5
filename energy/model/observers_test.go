package model_test

import (
	"fmt"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/stretchr/testify/require"
)

func TestNeighborCorrelation(t *testing.T) {
	corr, err := model.NeighborCorrelation(model.FreeLattice{4})
	require.NoError(t, err)
	require.Equal(t, 1.0/3, corr([]int32{0, 0, 1, 1}))
	require.PanicsWithValue(t, "model: len(x) = 3, want 4", func() { corr(make([]int32, 3)) })
	_, err = model.NeighborCorrelation(nil)
	require.EqualError(t, err, "model: NeighborCorrelation: no topology")
	_, err = model.NeighborCorrelation(model.Lattice{1})
	require.EqualError(t, err, "model: NeighborCorrelation: the topology has no edges")
	_, err = model.NeighborCorrelation(model.Lattice{})
	require.Error(t, err)
}

func ExampleNeighborCorrelation() {
	corr, err := model.NeighborCorrelation(model.Lattice{2, 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(corr([]int32{1, 1, 0, 0}), energy.Magnetization([]int32{1, 1, 1, 0}))
	// Output: 0 0.5
}
