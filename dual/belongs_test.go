package dual_test

import (
	"context"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/stretchr/testify/require"
)

// Chains on the base, or on another Lagrangian of the same problem, draw whatever
// the multipliers are, and are refused. Chains on the target, or on a model around
// it, are not.
func TestWrongModel(t *testing.T) {
	lag := ring(t, 1)
	around := energy.Func{Sites: 10, Levels: 2, E: func(x []int32) float64 {
		e := make([]float64, 1)
		lag.Energy(e, x)
		return e[0]
	}}
	for _, c := range []struct {
		name  string
		model energy.Model
		wrong bool
	}{{"base", lag.Base(), true}, {"another", ring(t, 1), true}, {"target", lag, false}, {"around", around, false}} {
		chains := exact.Must(sampler.NewChains(context.Background(), c.model, mcmc.Gibbs{}, sampler.Config{Seed: 1}))
		_, err := dual.NewInference(context.Background(), lag, chains, dual.Config{Start: []float64{1, 0}})
		if c.wrong {
			require.ErrorContains(t, err, "runs on another model", c.name)
		} else {
			require.NoError(t, err, c.name)
			require.Equal(t, []float64{1, 0}, lag.Lambda())
		}
	}
}
