package cluster

import (
	"context"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/stretchr/testify/require"
)

// A step of many clusters that stops on its way, also through a checkpoint, ends with
// the bits of one that does not; a damaged checkpoint is refused.
func TestWolffStopsAndGoesOn(t *testing.T) {
	const side, chains = 12, 3
	m := exact.Must(model.NewIsing(model.Lattice{side, side}, 0.44, 0))
	w := Wolff{Updates: 3000}
	begin := func() (sampler.Kernel, []int32, []sampler.Stream) {
		k := exact.Must(w.Kernel(context.Background(), m, chains))
		x := make([]int32, chains*side*side)
		require.NoError(t, k.Reset(x))
		r := make([]sampler.Stream, chains)
		for s := range r {
			r[s].Seed(5, uint64(s))
		}
		return k, x, r
	}
	want := make([]sampler.Info, chains)
	k, x, r := begin()
	k.Step(want, x, r)

	got := make([]sampler.Info, chains)
	k, y, q := begin()
	stops := 0
	for !k.(*wolff).StepUntil(func() bool { stops++; return true }, got, y, q) {
		b, err := k.AppendBinary(nil)
		require.NoError(t, err)
		next := exact.Must(w.Kernel(context.Background(), m, chains))
		require.NoError(t, next.Reset(y))
		require.Error(t, next.UnmarshalBinary(b[:len(b)-1]))
		require.Error(t, next.UnmarshalBinary(append([]byte{9}, b[1:]...)), "chain 9")
		require.NoError(t, next.UnmarshalBinary(b))
		k = next
	}
	require.Greater(t, stops, 5)
	require.Equal(t, x, y)
	require.Equal(t, want, got)
	require.Equal(t, r, q)
}
