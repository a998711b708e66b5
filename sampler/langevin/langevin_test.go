package langevin_test

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/langevin"
)

// wells is a mixture in two dimensions that is not Gaussian at all.
func wells(t testing.TB) *continuous.Mixture {
	m, err := continuous.NewDiagonal([]float64{2, 1}, []float64{-1, 0, 1.5, 0.5}, []float64{0.4, 0.3})
	require.NoError(t, err)
	return m
}

// Chains that start from exact draws stay there, at a step size that rejects a
// good part; the unadjusted twin does not.
func TestLangevinInvariance(t *testing.T) {
	const chains = 20000
	m := wells(t)
	src := rand.NewPCG(3, 4)
	init := make([]float32, 2*chains)
	for at := 0; at < len(init); at += 2 {
		m.Draw(init[at:at+2], src)
	}
	law := exact.Binned(func(x float64) float64 {
		return 2.0/3*distuv.Normal{Mu: -1, Sigma: math.Sqrt(0.4)}.CDF(x) + 1.0/3*distuv.Normal{Mu: 1.5, Sigma: math.Sqrt(0.3)}.CDF(x)
	})
	exact.Counts(t, exact.Bins(init, 2), law, 1e-6)
	run := func(cfg langevin.Config) *langevin.Chains {
		cfg.Chains, cfg.Seed, cfg.Warmup, cfg.StepSize, cfg.Init = chains, 7, -1, 0.3, init
		l, err := langevin.New(context.Background(), m, cfg)
		require.NoError(t, err)
		require.NoError(t, l.Run(context.Background(), 8))
		return l
	}
	l := run(langevin.Config{})
	exact.Counts(t, exact.Bins(l.States(), 2), law, 1e-6)
	require.Less(t, l.Stats().Accept, 0.8)
	require.Greater(t, l.Stats().Accept, 0.3)
	require.Less(t, exact.PValue(exact.Bins(run(langevin.Config{Unadjusted: true}).States(), 2), law), 1e-6)
}

// On N(0, 1) the unadjusted chain has the stationary distribution
// N(0, 1/(1 − h/2)).
func TestLangevinUnadjusted(t *testing.T) {
	exact.SkipUnderRace(t)
	const chains, h = 20000, 0.5
	m, err := continuous.NewQuadratic([]float64{1}, nil, 0)
	require.NoError(t, err)
	l, err := langevin.New(context.Background(), m, langevin.Config{Unadjusted: true, StepSize: h, Chains: chains, Seed: 1})
	require.NoError(t, err)
	require.NoError(t, l.Run(context.Background(), 1)) // after 1000 steps of warm-up
	normal := func(v float64) []float64 {
		return exact.Binned(distuv.Normal{Mu: 0, Sigma: math.Sqrt(v)}.CDF)
	}
	exact.Counts(t, exact.Bins(l.States(), 1), normal(1/(1-h/2)), 1e-6)
	require.Less(t, exact.PValue(exact.Bins(l.States(), 1), normal(1)), 1e-6)
	require.Equal(t, []float64{h}, l.StepSizes()[:1])
}

// Tuning reaches its target from the default, per block.
func TestLangevinTunes(t *testing.T) {
	m, err := continuous.NewDiagonal([]float64{1}, make([]float64, 20), []float64{0.01})
	require.NoError(t, err)
	tr, observe := diagnose.RealTrace(func(x []float32) float64 { return float64(x[3]) })
	l, err := langevin.New(context.Background(), m, langevin.Config{Chains: 64, Observe: observe})
	require.NoError(t, err)
	require.NoError(t, l.Run(context.Background(), 500))
	require.InDelta(t, 0.574, l.Stats().Accept, 0.03, "32 chains × 500 warm-up steps per block")
	require.Len(t, l.StepSizes(), 2)
	require.Equal(t, 500, l.Len())
	draws, err := tr.Values("f1")
	require.NoError(t, err)
	mcse, err := diagnose.MCSEMean(draws)
	require.NoError(t, err)
	mean := 0.0
	for _, c := range draws {
		for _, v := range c {
			mean += v / 64 / 500
		}
	}
	require.LessOrEqual(t, math.Abs(mean), 4.9*mcse)
	require.Contains(t, []int{0, 20}, l.Info()[0].Moved)
}

func TestLangevinWorkersAndResume(t *testing.T) {
	m := wells(t)
	build := func(workers int, cfg langevin.Config) *langevin.Chains {
		cfg.Chains, cfg.Seed, cfg.Workers = 70, 5, workers
		l, err := langevin.New(context.Background(), m, cfg)
		require.NoError(t, err)
		return l
	}
	for _, cfg := range []langevin.Config{{Warmup: 40}, {StepSize: 0.1, Unadjusted: true, Warmup: -1, Thin: 2, Project: func(x []float32) {
		for i := range x {
			x[i] = max(x[i], 0)
		}
	}}} {
		whole, many := build(1, cfg), build(7, cfg)
		require.NoError(t, whole.Run(context.Background(), 60))
		require.NoError(t, many.Run(context.Background(), 60))
		require.Equal(t, whole.States(), many.States())
		half := build(2, cfg)
		require.NoError(t, half.Run(context.Background(), 25))
		var b bytes.Buffer
		require.NoError(t, half.Save(&b))
		saved := bytes.Clone(b.Bytes())
		next := build(3, cfg)
		require.NoError(t, next.Load(context.Background(), &b))
		require.Equal(t, half.States(), next.States())
		require.NoError(t, next.Run(context.Background(), 35))
		require.Equal(t, whole.States(), next.States())
		require.Equal(t, whole.Stats(), next.Stats())
		require.Equal(t, 60, next.Len())
		for _, bad := range [][]byte{nil, saved[:30], saved[:len(saved)-1], append([]byte("x"), saved...), flip(saved, 21), flip(saved, 40), flip(saved, len(saved)-20)} {
			require.Error(t, build(1, cfg).Load(t.Context(), bytes.NewReader(bad)))
		}
		other := cfg
		other.Thin = 3
		require.ErrorContains(t, build(1, other).Load(t.Context(), bytes.NewReader(saved)), "Thin")
	}
	start := build(1, langevin.Config{StepSize: 0.1, Unadjusted: true, Project: func(x []float32) { x[0] = 2 }})
	require.Equal(t, float32(2), start.States()[0], "the start is projected")
}

// flip returns b with a bit of one byte changed.
func flip(b []byte, at int) []byte {
	c := bytes.Clone(b)
	c[at] ^= 1
	return c
}

func TestLangevinFailures(t *testing.T) {
	cliff := energy.RealFunc{Dim: 1, E: func(x []float32) float64 {
		switch {
		case x[0] > 1:
			return math.NaN()
		case x[0] < -1:
			return math.Inf(1)
		}
		return 0
	}, Grad: func(g, x []float32) { g[0] = 0 }}
	l, err := langevin.New(context.Background(), cliff, langevin.Config{Init: []float32{0}, StepSize: 0.2, Warmup: -1, Chains: 8})
	require.NoError(t, err)
	require.NoError(t, l.Run(context.Background(), 500))
	require.Positive(t, l.Stats().Invalid)
	for _, x := range l.States() {
		require.LessOrEqual(t, math.Abs(float64(x)), 1.0)
	}
	for _, bad := range []struct {
		energy, score float64
		is            error
		text          string
	}{{math.NaN(), 0, sampler.ErrNaN, "energy NaN"}, {math.Inf(1), 0, sampler.ErrZero, "energy +Inf"}, {0, math.Inf(1), sampler.ErrNaN, "the score is not finite"}} {
		outside := func(x []float32, v float64) float64 {
			if math.Abs(float64(x[0])) > 1 {
				return v
			}
			return 0
		}
		m := energy.RealFunc{Dim: 1, E: func(x []float32) float64 { return outside(x, bad.energy) }, Grad: func(g, x []float32) { g[0] = float32(outside(x, bad.score)) }}
		l, err = langevin.New(context.Background(), m, langevin.Config{Init: []float32{0}, StepSize: 0.2, Warmup: -1, Unadjusted: true})
		require.NoError(t, err)
		err = l.Run(context.Background(), 500)
		require.ErrorIs(t, err, bad.is)
		require.ErrorContains(t, err, bad.text)
		require.ErrorContains(t, err, "lower StepSize")
	}
	require.Error(t, l.Save(&bytes.Buffer{}))
	require.NoError(t, l.Reset(), "the last states are fine")
	stop, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, l.Run(stop, 1), context.Canceled)
	require.Error(t, l.Run(context.Background(), -1))

	var start *sampler.StartError
	l, err = langevin.New(context.Background(), cliff, langevin.Config{Init: []float32{5}})
	require.NoError(t, err)
	require.ErrorAs(t, l.Run(context.Background(), 1), &start)
	require.ErrorAs(t, l.Save(&bytes.Buffer{}), &start)
	steep := energy.RealFunc{Dim: 1, E: func([]float32) float64 { return 0 }, Grad: func(g, x []float32) { g[0] = float32(math.Inf(1)) }}
	l, err = langevin.New(context.Background(), steep, langevin.Config{})
	require.NoError(t, err)
	require.ErrorAs(t, l.Run(context.Background(), 1), &start)
	for _, cfg := range []langevin.Config{
		{StepSize: -1}, {StepSize: math.NaN()}, {Target: 1}, {Unadjusted: true}, {Project: func([]float32) {}}, {Chains: -1},
		{Warmup: -2}, {Thin: -1}, {Workers: -1}, {Init: []float32{1, 2}},
	} {
		_, err := langevin.New(context.Background(), cliff, cfg)
		require.Error(t, err, "%+v", cfg)
	}
	_, err = langevin.New(context.Background(), nil, langevin.Config{})
	require.Error(t, err)
	_, err = langevin.New(context.Background(), energy.RealFunc{}, langevin.Config{})
	require.Error(t, err)
}

func BenchmarkLangevin(b *testing.B) {
	means := make([]float64, 12*30)
	for i := range means {
		means[i] = float64(i%7) - 3
	}
	w, v := make([]float64, 12), make([]float64, 12)
	for k := range w {
		w[k], v[k] = 1, 0.5
	}
	m, err := continuous.NewDiagonal(w, means, v)
	require.NoError(b, err)
	l, err := langevin.New(context.Background(), m, langevin.Config{Chains: 64, StepSize: 0.05, Warmup: -1, Workers: 1})
	require.NoError(b, err)
	for b.Loop() {
		require.NoError(b, l.Run(context.Background(), 1))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*64*30), "ns/site")
}

// A checkpoint whose body is anything at all, with length and checksum right, is
// refused or gives chains that run.
func FuzzLoadChains(f *testing.F) {
	target := exact.Must(continuous.NewDiagonal([]float64{1}, []float64{0, 1}, []float64{1, 2}))
	cfg := langevin.Config{Chains: 3, Warmup: 2}
	var file bytes.Buffer
	c := exact.Must(langevin.New(context.Background(), target, cfg))
	require.NoError(f, c.Run(context.Background(), 3))
	require.NoError(f, c.Save(&file))
	for _, edits := range exact.MangleSeeds() {
		f.Add(edits)
	}
	f.Fuzz(func(t *testing.T, edits []byte) {
		c := exact.Must(langevin.New(context.Background(), target, cfg))
		if c.Load(context.Background(), bytes.NewReader(exact.Mangle(file.Bytes(), edits))) == nil {
			_ = c.Run(context.Background(), 2)
		}
	})
}
