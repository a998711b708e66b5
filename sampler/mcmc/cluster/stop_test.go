package cluster

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// A step that stops on its way, also through a checkpoint, ends with the bits of one
// that does not; a damaged checkpoint is refused.
func TestStepsStopAndGoOn(t *testing.T) {
	small := exact.Must(model.NewIsing(model.Lattice{12, 12}, 0.44, 0))
	field := exact.Must(model.NewIsing(model.Lattice{260, 260}, 0.44, 0.01))
	unequal := exact.Must(model.NewPotts(model.Lattice{260, 260}, 3, -0.9, nil))
	for name, c := range map[string]struct {
		m      energy.Model
		method sampler.Method
	}{
		"Wolff":                      {small, Wolff{Updates: 3000}},
		"SwendsenWang":               {field, SwendsenWang{}},
		"SwendsenWang joins unequal": {unequal, SwendsenWang{}},
	} {
		t.Run(name, func(t *testing.T) {
			testStop(t, c.m, c.method, false)
			testStop(t, c.m, c.method, true)
		})
	}
}

func testStop(t *testing.T, m energy.Model, w sampler.Method, saved bool) {
	const chains = 3
	sites, _ := m.Shape()
	begin := func() (sampler.Kernel, []int32, []sampler.Stream) {
		k := exact.Must(w.Kernel(context.Background(), m, chains))
		x := make([]int32, chains*sites)
		require.NoError(t, k.Reset(sampler.Control{}, x))
		r := make([]sampler.Stream, chains)
		for s := range r {
			r[s].Seed(5, uint64(s))
		}
		return k, x, r
	}
	want := make([]sampler.Info, chains)
	k, x, r := begin()
	k.Step(sampler.Control{}, want, x, r)

	got := make([]sampler.Info, chains)
	k, y, q := begin()
	stops := 0
	// Every other question stops the step: a chain that begins again comes further.
	stop := func() bool { stops++; return !saved || stops%2 == 0 }
	for k.Step(sampler.Control{Stop: stop}, got, y, q) == 0 {
		if !saved {
			continue
		}
		b, err := k.AppendBinary(nil)
		require.NoError(t, err)
		next := exact.Must(w.Kernel(context.Background(), m, chains))
		require.NoError(t, next.Reset(sampler.Control{}, y))
		if len(b) > 0 {
			require.Error(t, next.UnmarshalBinary(b[:len(b)-1]))
			bad := slices.Clone(b)
			bad[4+8*chains] = 9
			require.ErrorContains(t, next.UnmarshalBinary(bad), "chain of a stopped step = 9")
		}
		require.NoError(t, next.UnmarshalBinary(b))
		k = next
	}
	require.GreaterOrEqual(t, stops, 3)
	require.Equal(t, x, y)
	require.Equal(t, want, got)
	require.Equal(t, r, q)
}
