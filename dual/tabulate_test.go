package dual_test

import (
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

func TestTabulate(t *testing.T) {
	q := exact.Must(model.NewIsing(model.Lattice{6}, 0.4, 0))
	p, z, err := dual.Tabulate(ctx, q)
	require.NoError(t, err)
	want, wantZ := exact.Law(q)
	require.InDeltaSlice(t, want, p, 1e-15)
	require.InDelta(t, wantZ, z, 1e-12)
	_, _, err = dual.Tabulate(ctx, nil)
	require.Error(t, err)
	_, _, err = dual.Tabulate(ctx, energy.Func{Sites: 30, Levels: 2, E: func([]int32) float64 { return 0 }})
	require.ErrorContains(t, err, "30 sites")
	for _, e := range []float64{math.Inf(1), math.NaN(), math.Inf(-1)} {
		_, _, err = dual.Tabulate(ctx, energy.Func{Sites: 1, Levels: 2, E: func([]int32) float64 { return e }})
		require.Error(t, err)
	}
}
