package momentum

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Steps that stop on their way, also through a checkpoint, end with the bits of those
// that do not.
func TestStepsStopAndGoOn(t *testing.T) {
	defer func(n int) { sweep.PollWork = n }(sweep.PollWork)
	sweep.PollWork = 1
	ising := exact.Must(model.NewIsing(model.Lattice{4, 4}, 0.1, 0))
	for name, c := range map[string]struct {
		m      energy.Model
		method sampler.Method
	}{
		"two levels": {ising, DHAMS{StepSize: 0.7, Persistence: 0.8}},
		"parts":      {exact.Must(model.NewIsing(model.Lattice{260, 260}, 0.1, 0)), DHAMS{StepSize: 0.02, Persistence: 0.8}},
		"ordinal":    {exact.NewQuadratic(6, 1), DHAMS{StepSize: 0.5, Persistence: 0.8, Relaxation: 0.5, Correction: 0.1}},
		"curved":     {exact.NewQuadratic(6, 1), PDHAMS{}},
	} {
		t.Run(name, func(t *testing.T) {
			testStops(t, c.m, c.method, false)
			testStops(t, c.m, c.method, true)
		})
	}
}

func testStops(t *testing.T, m energy.Model, method sampler.Method, saved bool) {
	const chains, steps = 3, 3
	sites, _ := m.Shape()
	begin := func() (*kernel, []int32, []sampler.Stream) {
		k := exact.Must(method.Kernel(context.Background(), m, chains)).(*kernel)
		x, r := make([]int32, chains*sites), make([]sampler.Stream, chains)
		for s := range r {
			r[s].Seed(5, uint64(s))
		}
		require.NoError(t, k.Reset(sampler.Control{}, x))
		return k, x, r
	}
	want, got := make([]sampler.Info, chains), make([]sampler.Info, chains)
	k, x, r := begin()
	j, y, q := begin()
	stops := 0
	for step := range steps {
		k.Step(sampler.Control{}, want, x, r)
		asked, most := 0, 0
		for j.Step(sampler.Control{Stop: func() bool { asked++; stops++; return !saved || asked > most }}, got, y, q) == 0 {
			if asked, most = 0, most+1; !saved {
				continue
			}
			b, err := j.AppendBinary(nil)
			require.NoError(t, err)
			j, _, _ = begin()
			require.NoError(t, j.Reset(sampler.Control{}, y))
			require.NoError(t, j.UnmarshalBinary(b))
		}
		require.True(t, slices.Equal(x, y), "states of step %d", step)
		require.True(t, slices.Equal(k.u, j.u), "momentum of step %d", step)
		require.Equal(t, want, got, step)
		require.Equal(t, r, q, step)
	}
	require.Greater(t, stops, 10*steps, "questions")
	require.True(t, sites > 100 || slices.Contains(x, 1), "no site moved") // large states hardly do
}
