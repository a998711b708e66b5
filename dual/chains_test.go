package dual_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// level is a target of one real x with the row x ≤ 0, whatever λ is.
type level struct{}

func (level) Len() int                  { return 1 }
func (level) Sites() int                { return 1 }
func (level) Beta() float64             { return 1 }
func (level) SetLambda([]float64) error { return nil }
func (level) Violation(g []float64, x []float32) {
	for k, v := range x {
		g[k] = float64(v)
	}
}

// wander is a primal of that target: stationary chains around one of two wells at ±depth,
// autoregressive within it, that change the well with a probability.
type wander struct {
	r                  *rand.Rand
	x, well            []float32
	memory, depth, hop float64
}

func newWander(seed uint64, chains int, memory, depth, hop float64) *wander {
	w := &wander{r: rand.New(rand.NewPCG(seed, 3)), x: make([]float32, chains), well: make([]float32, chains), memory: memory, depth: depth, hop: hop}
	for k := range w.x {
		w.well[k] = float32(math.Copysign(depth, w.r.Float64()-0.5))
		w.x[k] = w.well[k] + float32(w.r.NormFloat64())
	}
	return w
}

func (w *wander) Run(_ context.Context, n int) error {
	for range n {
		for k, v := range w.x {
			in := w.memory*float64(v-w.well[k]) + math.Sqrt(1-w.memory*w.memory)*w.r.NormFloat64()
			if w.r.Float64() < w.hop {
				w.well[k] = -w.well[k]
			}
			w.x[k] = w.well[k] + float32(in)
		}
	}
	return nil
}

func (w *wander) Reset() error                { return nil }
func (w *wander) States() []float32           { return w.x }
func (w *wander) SetStates(x []float32) error { copy(w.x, x); return nil }

// The truth lies within two standard errors in 93 % of runs, or the certificate tells that
// chains disagree; where chains mix it hardly ever does, and where they are stuck always.
func TestCertificateCoverage(t *testing.T) {
	exact.SkipRepeated(t)
	const runs = 400
	for _, c := range []struct {
		chains             int
		memory, depth, hop float64
		draws              int
		mixes              bool
	}{
		{64, 0, 0, 0, 20, true}, {64, 0.5, 0, 0, 400, true}, {16, 0.8, 0, 0, 1000, true}, {8, 0.9, 0, 0, 4000, true}, {4, 0, 0, 0, 400, true},
		{1, 0.5, 0, 0, 2000, true}, {64, 0.99, 0, 0, 400, false}, {16, 0, 3, 0.01, 400, false}, {64, 0, 5, 1e-4, 400, false}, {64, 0, 5, 0, 100, false},
	} {
		covered, refused := 0, 0
		for seed := range uint64(runs) {
			inf := exact.Must(dual.NewInference(ctx, level{}, newWander(seed, c.chains, c.memory, c.depth, c.hop), dual.Config{}))
			cert := exact.Must(inf.Certify(ctx, nil, 0, c.draws))
			if !cert.Converged() {
				require.False(t, cert.Holds(math.Inf(1)))
				require.Contains(t, cert.String(), "not converged")
				refused++
				continue
			}
			if math.Abs(cert.Violation[0]) <= 2*cert.ViolationSE[0] {
				covered++
			}
		}
		t.Logf("%+v: %d of %d covered, %d not converged", c, covered, runs, refused)
		// 93 % less the deviation of 400 runs, 1.3 %.
		require.GreaterOrEqual(t, float64(covered), (0.93-0.013)*float64(runs-refused), "%+v", c)
		if c.mixes {
			require.LessOrEqual(t, refused, runs/50, "%+v", c)
		}
		if c.hop == 0 && c.depth > 0 {
			require.Equal(t, runs, refused)
		}
	}
}

// The certificate of the trajectory knows too, and so does one from a file.
func TestTrajectoryOfStuckChains(t *testing.T) {
	for _, hop := range []float64{0, 0.5} {
		inf := exact.Must(dual.NewInference(ctx, level{}, newWander(5, 64, 0, 3, hop), dual.Config{Max: new(0.5)}))
		err := inf.Run(ctx, 300)
		cert := inf.Certificate()
		require.Equal(t, hop > 0, cert.Converged(), cert)
		var file bytes.Buffer
		var again dual.Certificate
		require.NoError(t, gob.NewEncoder(&file).Encode(cert))
		require.NoError(t, gob.NewDecoder(&file).Decode(&again))
		require.Equal(t, hop > 0, again.Converged(), "also from a program's own checkpoint")
		require.Equal(t, hop > 0, cert.RHat[0] < 1.01)
		if hop == 0 {
			require.Greater(t, cert.ViolationSE[0], 0.3, "3/√64")
			require.Less(t, cert.ESS[0], 80.0)
			require.ErrorContains(t, err, "at its bound Max = 0.5")
			err = inf.Solve(ctx, 300, 1e-6)
			require.ErrorContains(t, err, "row 0 has the mean")
			require.ErrorContains(t, err, "its chains disagree")
			continue
		}
		require.NoError(t, err)
	}
	up := exact.Must(dual.NewInference(ctx, level{}, &wander{r: rand.New(rand.NewPCG(1, 1)), x: []float32{1, 2}, well: []float32{1, 1}}, dual.Config{Max: new(0.5)}))
	require.ErrorContains(t, up.Solve(ctx, 600, 1e-6), "which is at its bound Max = 0.5")
	require.Contains(t, up.Certificate().String(), "λ of row 0 is at its bound Max = 0.5")
}
