package continuous_test

import (
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

func TestTerms(t *testing.T) {
	l, err := continuous.NewLinear([]float64{1, -2}, 0.5)
	require.NoError(t, err)
	q, err := continuous.NewQuadratic([]float64{2, 1, 1, 4}, []float64{1, -1}, 3)
	require.NoError(t, err)
	x := []float32{1, 2, -0.5, 3}
	e := make([]float64, 2)
	l.Energy(e, x)
	require.Equal(t, []float64{-2.5, -6}, e)
	q.Energy(e, x)
	require.Equal(t, []float64{1 + 2 + 8 + 1 - 2 + 3, 0.25 - 1.5 + 18 - 0.5 - 3 + 3}, e)
	for _, m := range []energy.Scored{l, q} {
		require.Equal(t, 2, m.Sites())
		exact.Score(t, m, x)
		require.Panics(t, func() { m.Energy(e, x[:3]) })
		require.Panics(t, func() { m.Score(make([]float32, 3), x) })
	}
	require.Equal(t, []float64{1, -2}, l.Slope())
}

func TestTermsRefuse(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, err := range []error{
		second(continuous.NewLinear(nil, 0)), second(continuous.NewLinear([]float64{nan}, 0)), second(continuous.NewLinear([]float64{1}, inf)),
		second(continuous.NewQuadratic(nil, nil, 0)), second(continuous.NewQuadratic([]float64{1, 2}, nil, 0)),
		second(continuous.NewQuadratic([]float64{1}, []float64{1, 2}, 0)), second(continuous.NewQuadratic([]float64{nan}, nil, 0)),
		second(continuous.NewQuadratic([]float64{1}, []float64{inf}, 0)), second(continuous.NewQuadratic([]float64{1}, nil, nan)),
		second(continuous.NewQuadratic([]float64{1, 2, 3, 4}, nil, 0)),
	} {
		require.Error(t, err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestGaussianMixtureAllocates(t *testing.T) {
	if testing.CoverMode() != "" || exact.Race {
		t.Skip("instrumentation allocates")
	}
	m := mix(t)
	x, v, e, alpha, tilt := make([]float32, 8), make([]float32, 8), make([]float64, 4), []float64{0.5, 0.5, 0.2, 0.1}, []float64{1, 2}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		m.Energy(e, x)
		m.Score(v, x)
		m.Posterior(v, x, alpha, tilt)
	}))
}
