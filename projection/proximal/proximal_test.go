package proximal_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/exact"

	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// far returns the largest difference of two vectors.
func far(a, b []float64) float64 {
	worst := 0.0
	for i := range a {
		if e := math.Abs(a[i] - b[i]); !(e <= worst) {
			worst = e
		}
	}
	return worst
}

// Random systems of every kind, in penalty and hard form, against the interior
// point oracle. Both are good to 1e-10 there; the test asks for 1e-9.
func TestProximalAgainstInteriorPoints(t *testing.T) {
	exact.SkipUnderRace(t)
	systems := []system{
		{n: 3, m: 1}, {n: 5, m: 10}, {n: 10, m: 10, dependent: true},
		{n: 30, m: 40}, {n: 30, m: 40, dependent: true}, {n: 30, m: 60, degenerate: true},
		{n: 30, m: 40, infeasible: true}, {n: 60, m: 300, dependent: true, degenerate: true},
		{n: 40, m: 60, width: 40}, {n: 100, m: 60, width: 1}, {n: 100, m: 30, width: 2},
		{n: 80, m: 300, dependent: true, infeasible: true}, {n: 60, m: 100, degenerate: true, infeasible: true},
	}
	if !testing.Short() {
		systems = append(systems, system{n: 150, m: 2000}, system{n: 600, m: 300, dependent: true})
	}
	for k, c := range systems {
		rng := rand.New(rand.NewPCG(uint64(k), 3))
		set, v := c.random(rng)
		for _, gamma := range []float64{0.2, 2, 100, math.Inf(1)} {
			if c.infeasible && math.IsInf(gamma, 1) {
				continue
			}
			t.Run(fmt.Sprintf("%d/%+v/gamma=%v", k, c, gamma), func(t *testing.T) {
				solver, err := proximal.Projector{Set: set, Soften: true}.Compile(t.Context(), c.n)
				require.NoError(t, err)
				z := make([]float64, c.n)
				cert, err := solver.Penalised(z, v, gamma)
				require.NoError(t, err)
				kappa := gamma / 2
				if math.IsInf(gamma, 1) {
					assert.LessOrEqual(t, cert.Violation, 1e-9)
					assert.False(t, cert.Contradiction)
					// The hard form is the penalty form for a weight above its
					// multipliers. If these were too small, the test would fail.
					y := make([]float64, len(set.A))
					solver.Multipliers(y)
					kappa = 1
					for _, v := range y {
						kappa = max(kappa, 1.5*math.Abs(v))
					}
				}
				want := interior(v, set, kappa)
				assert.LessOrEqual(t, far(z, want), 1e-9, "%+v", cert)
				assert.LessOrEqual(t, math.Abs(cert.Gap), 1e-10*float64(c.m)*max(1, kappa))
			})
		}
	}
}
