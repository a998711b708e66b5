package dual_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

// tilted is a mixture in two dimensions with one linear constraint as a
// Lagrangian, and its exact distribution by λ.
func tilted() (*dual.RealLagrangian, func(lambda float64) *continuous.Mixture) {
	m := exact.Must(continuous.NewDiagonal([]float64{1, 2}, []float64{-1, 0, 1, 0.5}, []float64{0.5, 0.8}))
	g := exact.Must(continuous.NewLinear([]float64{1, -1}, 0.2))
	return exact.Must(dual.NewRealLagrangian(m, 1, dual.AtMost(g, 0))), func(lambda float64) *continuous.Mixture {
		at, _ := m.Tilt([]float64{-lambda, lambda})
		return at
	}
}

// The Lagrangian's energy and score are sums of their parts.
func TestRealLagrangian(t *testing.T) {
	lag, at := tilted()
	require.NoError(t, lag.SetLambda([]float64{0.7}))
	require.Equal(t, []float64{0.7}, lag.Lambda())
	law := at(0.7)
	x := []float32{0.5, 1, -1, 2}
	e, want := make([]float64, 2), make([]float64, 2)
	lag.Energy(e, x)
	law.Energy(want, x)
	require.InDelta(t, want[1]-want[0], e[1]-e[0], 1e-12)
	s, wantS := make([]float32, 4), make([]float32, 4)
	lag.Score(s, x)
	law.Score(wantS, x)
	require.InDeltaSlice(t, wantS, s, 1e-5)
	g := make([]float64, 2)
	lag.Violation(g, x)
	require.InDeltaSlice(t, []float64{-0.3, -2.8}, g, 1e-12)
}

func TestRealLagrangianErrors(t *testing.T) {
	linear := exact.Must(continuous.NewLinear([]float64{1, -1}, 0.2))
	other := exact.Must(continuous.NewLinear([]float64{1}, 0))
	lag, _ := tilted()
	at := dual.AtMost(linear, 0)
	for _, err := range []error{
		exact.Error(dual.NewRealLagrangian(nil, 1, at)), exact.Error(dual.NewRealLagrangian(linear, 1)), exact.Error(dual.NewRealLagrangian(linear, 0, at)),
		exact.Error(dual.NewRealLagrangian(linear, 1, dual.AtMost[float32](nil, 0))), exact.Error(dual.NewRealLagrangian(linear, 1, dual.AtMost(other, 0))), exact.Error(dual.NewRealLagrangian(energy.RealFunc{}, 1, dual.AtMost(energy.RealFunc{}, 0))),
		exact.Error(dual.NewRealLagrangian(linear, 1, dual.AtMost(scoreless{}, 0))),
		lag.SetLambda([]float64{-1}), lag.SetLambda([]float64{math.NaN()}),
	} {
		require.Error(t, err)
	}
}

// Independent draws are judged with the errors of independent draws.
func TestJudge(t *testing.T) {
	p, at := tilted()
	// λ* by bisection on the exact mean.
	lo, hi, mean2 := 0.0, 10.0, make([]float64, 2)
	for range 100 {
		mid := (lo + hi) / 2
		if at(mid).Mean(mean2); mean2[0]-mean2[1]+0.2 > 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	star := []float64{lo}
	law, src := at(lo), rand.NewPCG(1, 9)
	x := make([]float32, 2*20000)
	for s := 0; s < len(x); s += 2 {
		law.Draw(x[s:s+2], src)
	}
	c := exact.Must(dual.Judge(p, star, x))
	require.LessOrEqual(t, math.Abs(c.Violation[0]), 4.9*c.ViolationSE[0])
	require.InDelta(t, star[0]*c.Violation[0], c.Slack[0], 1e-15)
	mean, squares := 0.0, 0.0
	for s := 0; s < len(x); s += 2 {
		g := float64(x[s]) - float64(x[s+1]) + 0.2
		mean += g / 20000
		squares += g * g / 20000
	}
	require.InDelta(t, math.Sqrt((squares-mean*mean)/20000), c.ViolationSE[0], 1e-6)
	// Draws of the base distribution violate the constraint, and it shows.
	base := at(0)
	for s := 0; s < len(x); s += 2 {
		base.Draw(x[s:s+2], src)
	}
	c = exact.Must(dual.Judge(p, star, x))
	require.Greater(t, c.Violation[0], 4.9*c.ViolationSE[0])
	for _, err := range []error{
		exact.Error(dual.Judge(p, star, x[:3])), exact.Error(dual.Judge(p, star, x[:2])), exact.Error(dual.Judge(p, nil, x)),
		exact.Error(dual.Judge(p, []float64{-1}, x)), exact.Error(dual.Judge(p, star, []float32{float32(math.NaN()), 1, 1, 1})),
	} {
		require.Error(t, err)
	}
}

// scoreless has energies of reals and no score.
type scoreless struct{}

func (scoreless) Energy(e []float64, _ []float32) { clear(e) }
