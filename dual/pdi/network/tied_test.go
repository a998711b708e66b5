package network_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/dual/pdi/network"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

// tiedTo is dual training for one bound.
func tiedTo(shift float64, workers int) network.Config {
	c := quick(1)
	c.Rounds, c.Chains, c.Bounds, c.Dual, c.Train.Workers = 16, 64, [][]float64{{shift}}, dual.Auto{}, workers
	return c
}

// optimum is the multiplier at which the exact mean of the first coordinate is 0.5 +
// shift, by bisection.
func optimum(shift float64) float64 {
	p := clusters(1, 0)
	low, high := 0.0, 20.0
	for range 60 {
		mid := (low + high) / 2
		mean := make([]float64, 2)
		p.Law([]float64{mid}).Mean(mean)
		if mean[0] < 0.5+shift {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// Dual training ends near the λ* that is known, its network predicts well there, and
// samples of it keep the bound; so not the first λ, which is the broken twin.
func TestDualTraining(t *testing.T) {
	exact.SkipRepeated(t)
	const shift = 0.4
	tr := exact.Must(network.New(context.Background(), clusters(1, 0), tiedTo(shift, 0)))
	require.NoError(t, tr.Run(t.Context(), 16))
	lambda, want := tr.Lambda(), optimum(shift)
	p := exact.Must(tr.Predictor(nil))
	t.Logf("λ = %.4f, λ* = %.4f; predictions %.4f apart", lambda, want, apart(t, p, lambda[0]))
	require.InEpsilon(t, want, lambda[0], 0.1)
	require.Less(t, apart(t, p, lambda[0]), 0.1)
	d := exact.Must(pdi.New(context.Background(), p, pdi.Config{Fixed: true, Start: lambda}))
	violation := 0.5 + shift - sample(t, d, 1024, 50)
	t.Logf("violation %.4f", violation)
	require.InDelta(t, 0, violation, 0.06)
	require.Empty(t, d.Warning())

	free := exact.Must(pdi.New(context.Background(), clusters(1, 0), pdi.Config{Fixed: true}))
	require.Greater(t, math.Abs(0.5+shift-sample(t, free, 1024, 50)), 0.3)
	require.ErrorContains(t, p.Outside([]float64{0}), "trained on")
	require.ErrorContains(t, exact.Error(tr.Predictor([]float64{0})), "shift = [0], want Config.Bounds[0] = [0.4]")
	exact.Must(tr.Predictor([]float64{shift}))
}

// Interrupted anywhere, saved and loaded, dual training comes to the same bits, λ and
// what its rule remembers included.
func TestDualTrainingResumes(t *testing.T) {
	cfg := func(workers int) network.Config {
		c := tiny(workers)
		c.Bounds, c.Dual = [][]float64{{0.4}}, dual.Auto{}
		return c
	}
	whole := exact.Must(network.New(context.Background(), estimated(), cfg(1)))
	require.Equal(t, []float64{0}, whole.Lambda())
	require.NoError(t, whole.Run(t.Context(), 4))
	require.Positive(t, whole.Lambda()[0])
	want := bits(t, whole)

	path := filepath.Join(t.TempDir(), "training")
	tr := exact.Must(network.New(context.Background(), estimated(), cfg(3)))
	stopped := 0
	for _, asked := range []int{0, 30, 75, 110, 200, 20, 1 << 30} {
		left := asked
		if err := tr.Run(ends{t.Context(), &left}, 4-tr.Round()); err != nil {
			stopped++
		}
		require.NoError(t, tr.SaveFile(path))
		tr = exact.Must(network.New(context.Background(), estimated(), cfg(2)))
		require.NoError(t, tr.LoadFile(context.Background(), path))
	}
	require.Equal(t, 6, stopped)
	require.Equal(t, want, bits(t, tr))
	require.Equal(t, whole.Lambda(), tr.Lambda())

	other := cfg(1)
	other.Dual = dual.Ascent{Step: dual.Constant(0.1)}
	require.ErrorContains(t, exact.Must(network.New(context.Background(), estimated(), other)).LoadFile(context.Background(), path), "Config.Dual")
	require.Error(t, exact.Must(network.New(context.Background(), estimated(), tiny(1))).LoadFile(context.Background(), path))
}

// refusing is a rule that binds nothing, and stuck one whose updater fails.
type (
	refusing struct{}
	stuck    struct{ dual.Updater }
)

func (refusing) Bind(context.Context, int) (dual.Updater, error) {
	return nil, errors.New("no multipliers today")
}

func (s stuck) Bind(context.Context, int) (dual.Updater, error) { return s, nil }
func (stuck) Update([]float64, *dual.Batch) error               { return errors.New("stuck") }
func (stuck) AppendBinary(b []byte) ([]byte, error)             { return b, nil }

func TestDualTrainingErrors(t *testing.T) {
	c := tiny(1)
	c.Dual = dual.Auto{}
	require.ErrorContains(t, exact.Error(network.New(context.Background(), clusters(1, 0), c)), "len(Config.Bounds) = 3, want 1 with Config.Dual")
	c.Bounds, c.Dual = nil, (*dual.Auto)(nil)
	require.ErrorContains(t, exact.Error(network.New(context.Background(), clusters(1, 0), c)), "Dual")
	c.Dual = refusing{}
	require.ErrorContains(t, exact.Error(network.New(context.Background(), clusters(1, 0), c)), "network: Config.Dual: no multipliers today")
	c.Dual = stuck{}
	require.ErrorContains(t, exact.Must(network.New(context.Background(), clusters(1, 0), c)).Run(t.Context(), 1), "network: round 0: stuck")
	require.Nil(t, exact.Must(network.New(context.Background(), clusters(1, 0), tiny(1))).Lambda())
}
