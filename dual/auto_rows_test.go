package dual_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

// Free coins in four parts of twelve. Two bounds are on the event that all of a part are
// up, whose probability is 2⁻¹², at least .2; one on the share of a part, at least .998; and
// one on that of the last part, at least .6.
const part = 12

var hardStar = []float64{math.Log(0.25 * 4095), math.Log(0.25 * 4095), part * math.Log(499), part * math.Log(1.5)}

func hardRows(t testing.TB) *dual.Lagrangian {
	of := func(k int, f func(up float64) float64) energy.Model {
		return energy.Func{Sites: 4 * part, Levels: 2, E: func(x []int32) float64 {
			up := 0.0
			for _, v := range x[k*part : (k+1)*part] {
				up += float64(v)
			}
			return f(up / part)
		}}
	}
	all, share := math.Floor, func(up float64) float64 { return up }
	return exact.Must(dual.NewLagrangian(exact.Must(model.NewIsing(model.Lattice{4 * part}, 0, 0)),
		dual.AtLeast(of(0, all), 0.2), dual.AtLeast(of(1, all), 0.2), dual.AtLeast(of(2, share), 0.998), dual.AtLeast(of(3, share), 0.6)))
}

// draws fills x with independent draws at λ.
func draws(r *rand.Rand, lambda []float64, x []int32) {
	for at := 0; at < len(x); at += part {
		k := at / part % 4
		coins := x[at : at+part]
		if k < 2 {
			event := 1 / (1 + 4095*math.Exp(-lambda[k]))
			all := r.Float64() < event
			for up := all; ; {
				n := 0
				for i := range coins {
					coins[i] = 1
					if !up {
						coins[i] = int32(r.IntN(2))
					}
					n += int(coins[i])
				}
				if (n == part) == all {
					break
				}
			}
			continue
		}
		up := 1 / (1 + math.Exp(-lambda[k]/part))
		for i := range coins {
			coins[i] = 0
			if r.Float64() < up {
				coins[i] = 1
			}
		}
	}
}

// crowded is a million coins of which at most 40 % shall be up: 200 standard deviations away.
type crowded struct{ coin }

func (c *crowded) Violation(g []float64, x []int32) {
	for s, v := range x {
		g[s] = float64(v) - 4e5
	}
}

func (c *crowded) Run(_ context.Context, _ int) error {
	p := c.up(c.lambda)
	for s := range c.x {
		c.x[s] = int32(1e6*p + math.Sqrt(1e6*p*(1-p))*c.r.NormFloat64())
	}
	return nil
}

// A bound far outside of what draws show is reached in steps of their spread.
func TestFarBound(t *testing.T) {
	c := &crowded{coin{scale: 1, x: make([]int32, 64), r: rand.New(rand.NewPCG(4, 7))}}
	inf := exact.Must(dual.NewInference[int32](ctx, c, c, dual.Config{}))
	require.NoError(t, inf.Run(ctx, 2000))
	require.InEpsilon(t, math.Log(1.5), inf.Average()[0], 0.01)
}

// Rows whose curvature changes by orders of magnitude on the way to λ*, side by side, by
// independent draws and by chains that need thousands of sweeps to find an event.
func TestHardRows(t *testing.T) {
	exact.SkipUnderRace(t)
	lag := hardRows(t)
	r := rand.New(rand.NewPCG(1, 9))
	var now []float64
	p := exact.Must(dual.NewResampler(4*part, 64, func(_ context.Context, x []int32) error {
		draws(r, now, x)
		return nil
	}))
	inf := exact.Must(dual.NewInference(ctx, lag, p, dual.Config{}))
	for inf.Len() < 200 {
		now = inf.Lambda()
		require.NoError(t, inf.Run(ctx, 1))
	}
	t.Logf("draws %.4g, want %.4g", inf.Average(), hardStar)
	for j, star := range hardStar {
		require.InEpsilon(t, star, inf.Average()[j], 0.03, j)
	}
	if testing.Short() {
		return
	}
	chains := loop(t, lag, 1, 1, dual.Config{})
	require.NoError(t, chains.Run(ctx, 2000))
	t.Logf("chains %.4g, want %.4g", chains.Average(), hardStar)
	for j, star := range hardStar {
		require.InEpsilon(t, star, chains.Average()[j], 0.1, j)
	}
}
