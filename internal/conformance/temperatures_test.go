package conformance_test

import (
	"context"
	"flag"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

var temperatures = flag.Int("temperatures", 0, "TestTemperatures: side of the lattice; 0 means skip")

// TestTemperatures compares one tempered run with separate runs at 50
// temperatures across the transition of the Ising model:
//
//	go test ./internal/conformance -run TestTemperatures -temperatures 24 -v
//
// |m|, the heat capacity and Binder's cumulant agree within 3 standard errors but
// for what chance allows, at a fifth of the cost or less; the log gives the
// figures. All run on one goroutine, and the cost is the time of the process on
// processors, so that others on the machine do not count.
func TestTemperatures(t *testing.T) {
	side := *temperatures
	if side == 0 {
		t.Skip("-temperatures 0")
	}
	const (
		many, rungs        = 50, 10
		coldest, hottest   = 1.8, 3.2
		chains, thin, draw = 4, 5, 4000
	)
	ctx := context.Background()
	m, err := model.NewIsing(model.Lattice{side, side}, 1/coldest, 0)
	require.NoError(t, err)
	spread := func(n int) []float64 { // β relative to the coldest, evenly spaced
		b := make([]float64, n)
		for i := range b {
			b[i] = 1 + (coldest/hottest-1)*float64(i)/float64(n-1)
		}
		return b
	}
	betas := spread(many)
	abs := func(x []int32) float64 { return math.Abs(energy.Magnetization(x)) }

	start := exact.CPU()
	all := diagnose.NewReplicas(abs).Name("m")
	ch, err := sampler.NewChains(context.Background(), m, mcmc.Tempering{Base: mcmc.Gibbs{}, Betas: spread(rungs)},
		sampler.Config{Chains: chains, Seed: 101, Thin: thin, Workers: 1, Observe: all.Observe})
	require.NoError(t, err)
	require.NoError(t, ch.Run(ctx, draw*2/5))
	w, err := all.Reweight()
	require.NoError(t, err)
	mag, err := w.Mean("m", betas...)
	require.NoError(t, err)
	heat, err := w.HeatCapacity(betas...)
	require.NoError(t, err)
	binder, err := w.Binder("m", betas...)
	require.NoError(t, err)
	tempered := exact.CPU() - start

	var separate time.Duration
	within, worst, gain, n := 0, 0.0, 0.0, 0
	for i, beta := range betas {
		start = exact.CPU()
		one := diagnose.NewReplicas(abs).Name("m")
		hot, err := energy.Scale(m, beta)
		require.NoError(t, err)
		ch, err := sampler.NewChains(context.Background(), hot, mcmc.Gibbs{}, sampler.Config{Chains: chains, Seed: uint64(102 + i), Thin: thin, Workers: 1,
			Observe: func(chain, draw int, x []int32, info *sampler.Info) {
				one.Observe(chain, draw, x, &sampler.Info{Rungs: oneRung{info.Energy, x}})
			}})
		require.NoError(t, err)
		require.NoError(t, ch.Run(ctx, draw))
		plain, err := one.Reweight() // the mean and the errors of a single temperature
		require.NoError(t, err)
		a, err := plain.Mean("m", 1)
		require.NoError(t, err)
		c, err := plain.HeatCapacity(1)
		require.NoError(t, err)
		u, err := plain.Binder("m", 1)
		require.NoError(t, err)
		separate += exact.CPU() - start
		for k, pair := range [][2]diagnose.Average{{mag[i], a[0]}, {heat[i], c[0]}, {binder[i], u[0]}} {
			z := math.Abs(pair[0].Value-pair[1].Value) / math.Hypot(pair[0].SE, pair[1].SE)
			worst = max(worst, z)
			if z < 3 {
				within++
			}
			gain += 2 * math.Log(pair[1].SE/pair[0].SE)
			n++
			if i%10 == 0 {
				t.Logf("T = %.3f %s: tempered %.5f ± %.5f, separate %.5f ± %.5f",
					coldest/beta, []string{"|m|", "C", "U"}[k], pair[0].Value, pair[0].SE, pair[1].Value, pair[1].SE)
			}
		}
	}
	cost := tempered.Seconds() / separate.Seconds()
	t.Logf("side %d: %d of %d figures within 3 standard errors of each other, the worst at %.1f", side, within, n, worst)
	t.Logf("cost %.2f s of processors against %.2f s: %.3f; variance × cost of the separate runs over that of the tempered one: %.1f",
		tempered.Seconds(), separate.Seconds(), cost, math.Exp(gain/float64(n))/cost)
	// Neighbouring temperatures of one run err together: 4 of 150 beyond 3
	// standard errors, which 0.4 are expected to be.
	assert.GreaterOrEqual(t, within, n-4)
	assert.LessOrEqual(t, cost, 0.2)
}

// oneRung is a ladder of one rung.
type oneRung struct {
	e float64
	x []int32
}

func (oneRung) Len() int { return 1 }

func (s oneRung) Rung(int) (beta, energy float64, x []int32) { return 1, s.e, s.x }
