package pdi_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// settled runs a diffusion of 100 samples of a standard normal variable under a constraint, and
// returns the warning.
func settled(o pdi.GibbsOptions, c dual.Constraint[float32]) (warning string, err error) {
	ctx := context.Background()
	base := exact.Must(continuous.NewDiagonal([]float64{1}, []float64{0}, []float64{1}))
	d := exact.Must(pdi.New(ctx, exact.Must(pdi.NewGibbsScore(exact.Must(dual.NewRealLagrangian(base, 1, c)), o)), pdi.Config{}))
	r := exact.Must(diffusion.New(ctx, d, diffusion.Process[float32](diffusion.Gaussian{Eta: 1, Wide: true, Schedule: noise.CosineBar{}}), diffusion.Config{Steps: 60, Batch: 100, Seed: 1}))
	err = r.Sample(ctx, make([]float32, 100))
	return d.Warning(), err
}

// A constraint that no multiplier changes is reported, and so are predictions without bound. The
// paper's estimate of the score makes such predictions here.
func TestSettle(t *testing.T) {
	guess := pdi.GibbsOptions{Center: []float64{0}, Spread: []float64{1}}
	one := energy.RealFunc{Dim: 1, E: func([]float32) float64 { return 1 }, Grad: func(g, _ []float32) { g[0] = 0 }}
	x := exact.Must(continuous.NewLinear([]float64{1}, 0))
	w, err := settled(guess, dual.AtMost[float32](one, 0.5).Named("load", "", 0))
	require.NoError(t, err)
	require.Contains(t, w, "the last predictions violate load by 0.5")
	w, err = settled(guess, dual.AtLeast[float32](x, 1))
	require.NoError(t, err)
	require.Empty(t, w)
	_, err = settled(pdi.GibbsOptions{Score: true}, dual.AtLeast[float32](x, 1))
	require.ErrorContains(t, err, "the predictions have diverged")
}
