package energy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
)

func TestMagnetization(t *testing.T) {
	require.Equal(t, 0.0, energy.Magnetization([]int32{0, 1, 1, 0}))
	require.Equal(t, -1.0, energy.Magnetization([]int32{0, 0}))
	require.Equal(t, 1.0/3, energy.Magnetization([]int32{1, 1, 0}))
}
