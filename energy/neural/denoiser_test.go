package neural

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

func noised[S energy.Site](x []S, sites int, t, alpha float64) energy.Noised[S] {
	n := len(x) / sites
	return energy.Noised[S]{X: x, Time: slices.Repeat([]float64{t}, n), Alpha: slices.Repeat([]float64{alpha}, n),
		Sample: make([]int, n), Src: make([]rand.Source, n)}
}

// tokenDenoisers is every denoiser of tokens over one network.
func tokenDenoisers(t *testing.T, net *Transformer, mask int32, opt Options) map[string]energy.Denoiser[int32] {
	all := map[string]energy.Denoiser[int32]{
		"masked":  exact.Must(NewMasked(net, mask, opt)),
		"uniform": exact.Must(NewUniform(net, false, opt)),
		"ratio":   exact.Must(NewRatio(net, mask, opt)),
	}
	if !opt.TimeFree {
		all["ratio/uniform"] = exact.Must(NewRatio(net, -1, opt))
	}
	return all
}

func TestPredictionsAreTheNetworks(t *testing.T) {
	ctx := context.Background()
	net := randomNet(t, shapes["conditioned"], 1)
	cfg := net.Config()
	const n, mask, alpha = 7, 3, 0.4
	in := randomInput(cfg, n, 9)
	ref := newReference(net)
	for i := range in.Level {
		in.Level[i] = -math.Log(alpha)
	}
	logits := ref.batch(in)
	v := make([]float32, len(logits))
	q := noised(in.Tokens, cfg.Length, 0.6, alpha)

	for _, name := range []string{"masked", "ratio"} {
		d := tokenDenoisers(t, net, mask, Options{})[name]
		require.NoError(t, d.Denoise(ctx, v, q))
		for i, l := range in.Tokens {
			for k := range cfg.Levels {
				got := float64(v[i*cfg.Levels+k])
				switch {
				case l != mask && int(l) == k:
					assert.Zero(t, got)
				case l != mask || k == mask:
					assert.True(t, math.IsInf(got, -1), "%s %d %d", name, i, k)
				default:
					assert.InDelta(t, logits[i*cfg.Levels+k], got, 1e-5)
				}
			}
		}
		sites, levels := d.Shape()
		assert.Equal(t, []int{5, 4}, []int{sites, levels})
		assert.False(t, energy.TimeFree(d) || energy.LeaveOneOut(d))
	}

	d := exact.Must(NewUniform(net, false, Options{Workers: 1}))
	assert.True(t, energy.LeaveOneOut(d))
	assert.False(t, energy.LeaveOneOut(exact.Must(NewUniform(net, true, Options{}))) || energy.TimeFree(d))
	q.Clean = make([]bool, len(q.X))
	q.Clean[4] = true
	require.NoError(t, d.Denoise(ctx, v, q))
	assert.LessOrEqual(t, farthest(v[:4*4], logits[:4*4]), 1e-5)
	for k := range 4 {
		assert.Equal(t, int32(k) == in.Tokens[4], v[4*4+k] == 0)
	}
	assert.LessOrEqual(t, farthest(v[5*4:], logits[5*4:]), 1e-5)
}

// Scores of a known distribution under uniform noise give its posteriors.
// A call by hand needs no numbers of samples and no random numbers.
func TestDenoiseByHand(t *testing.T) {
	net := randomNet(t, shapes["conditioned"], 1)
	x := []int32{0, 3, 1, 3, 2}
	for name, d := range tokenDenoisers(t, net, 3, Options{}) {
		want, got := make([]float32, 5*net.Config().Levels), make([]float32, 5*net.Config().Levels)
		require.NoError(t, d.Denoise(t.Context(), want, noised(x, 5, 0.6, 0.4)))
		require.NoError(t, d.Denoise(t.Context(), got, energy.Noised[int32]{X: x, Time: []float64{0.6}, Alpha: []float64{0.4}}))
		assert.Equal(t, want, got, name)
	}
}

func TestScoresBecomePosteriors(t *testing.T) {
	const sites, levels, alpha = 3, 4, 0.35
	sigma := -math.Log(alpha)
	r := rand.New(rand.NewPCG(1, 1))
	p := make([]float64, exact.Size(sites, levels))
	for k := range p {
		p[k] = math.Exp(2 * r.NormFloat64())
	}
	corrupt := func(from, to int32) float64 {
		if from == to {
			return alpha + (1-alpha)/levels
		}
		return (1 - alpha) / levels
	}
	x0, x := make([]int32, sites), []int32{2, 0, 2}
	// marginal is p_t(y), or with l ≥ 0 its part with x_0,i = l and site i unseen.
	marginal := func(y []int32, i int, l int32) float64 {
		sum := 0.0
		for k, w := range p {
			exact.State(x0, k, levels)
			for j := range y {
				if l >= 0 && j == i {
					if x0[j] != l {
						w = 0
					}
					continue
				}
				w *= corrupt(x0[j], y[j])
			}
			sum += w
		}
		return sum
	}
	v, want := make([]float32, sites*levels), make([]float64, sites*levels)
	for i := range x {
		total := 0.0
		for l := range levels {
			y := slices.Clone(x)
			y[i] = int32(l)
			v[i*levels+l] = float32(math.Log(marginal(y, -1, -1) / marginal(x, -1, -1))) // not scaled by e^σ − 1
			want[i*levels+l] = marginal(x, i, int32(l))
			total += want[i*levels+l]
		}
		for l := range levels {
			want[i*levels+l] /= total
		}
		v[i*levels+int(x[i])] = 17 // what the network says of the token itself does not matter
	}
	fromScores(v, x, nil, sigma, alpha)
	for i := range v {
		assert.InDelta(t, want[i], math.Exp(float64(v[i])), 2e-6)
	}
	fromScores(v, x, []bool{false, true, false}, sigma, alpha)
	assert.Equal(t, []float32{0, -inf, -inf, -inf}, v[4:8])
}

func TestReals(t *testing.T) {
	ctx := context.Background()
	net := randomNet(t, shapes["reals"], 1)
	const n = 2
	in := randomInput(net.Config(), n, 9)
	in.Level = []float64{250, 250}
	want := newReference(net).batch(in)
	d := exact.Must(NewReals(net, Options{}))
	sites, levels := d.Shape()
	assert.Equal(t, []int{6, 1}, []int{sites, levels})
	assert.False(t, energy.TimeFree(d))
	v := make([]float32, len(want))
	q := noised(in.Reals, sites, 0.25, 0.36)
	require.NoError(t, d.Denoise(ctx, v, q))
	assert.LessOrEqual(t, farthest(v, want), 1e-5)

	q.Clean = make([]bool, len(q.X))
	q.Clean[1] = true
	for i, e := range want { // the noise that the network sees
		want[i] = (float64(in.Reals[i]) - 0.8*e) / 0.6
	}
	want[1] = float64(in.Reals[1])
	require.NoError(t, energy.NoisePredictor{Denoiser: d}.Denoise(ctx, v, q))
	assert.LessOrEqual(t, farthest(v, want), 1e-5)
}

func TestDenoisersDoNotDependOnWorkersAndDoNotAllocate(t *testing.T) {
	ctx := context.Background()
	cfg := shapes["conditioned"]
	cfg.Length = 64 // 8 states a chunk
	net := randomNet(t, cfg, 2)
	in := randomInput(cfg, 21, 3)
	q := noised(in.Tokens, cfg.Length, 0.5, 0.3)
	for name := range tokenDenoisers(t, net, 3, Options{}) {
		var want []float32
		for _, workers := range []int{1, 2, 7} {
			d := tokenDenoisers(t, net, 3, Options{Workers: workers})[name]
			v := make([]float32, len(q.X)*cfg.Levels)
			require.NoError(t, d.Denoise(ctx, v, q))
			if want == nil {
				want = v
			}
			assert.Equal(t, want, v, "%s, %d workers", name, workers)
			if !exact.Race {
				exact.Steady(t, name, func() { _ = d.Denoise(ctx, v, q) })
			}
			runtime.KeepAlive(d)
		}
	}
}

func TestTimeFree(t *testing.T) {
	ctx := context.Background()
	net := randomNet(t, shapes["conditioned"], 1)
	in := randomInput(net.Config(), 2, 9)
	v, w := make([]float32, len(in.Tokens)*4), make([]float32, len(in.Tokens)*4)
	d := exact.Must(NewMasked(net, 0, Options{TimeFree: true}))
	assert.True(t, d.TimeFree())
	require.NoError(t, d.Denoise(ctx, v, noised(in.Tokens, 5, 0.5, 0.5)))
	require.NoError(t, d.Denoise(ctx, w, noised(in.Tokens, 5, 1, 0)))
	assert.Equal(t, v, w)
	level := exact.Must(NewMasked(net, 0, Options{Level: func(t, _ float64) float64 { return t - 0.5 }}))
	require.NoError(t, level.Denoise(ctx, w, noised(in.Tokens, 5, 0.5, 0.3)))
	assert.Equal(t, v, w)
	assert.True(t, exact.Must(NewUniform(randomNet(t, shapes["plain"], 1), true, Options{})).TimeFree())
}

func TestDenoiserErrors(t *testing.T) {
	ctx := context.Background()
	net, reals := randomNet(t, shapes["conditioned"], 1), randomNet(t, shapes["reals"], 1)
	for want, err := range map[string]error{
		"neural: NewMasked: net is nil":                                                            exact.Error(NewMasked(nil, 0, Options{})),
		"neural: NewMasked: mask = 4, want 0 … 3":                                                  exact.Error(NewMasked(net, 4, Options{})),
		"neural: NewRatio: mask = -2, want 0 … 3":                                                  exact.Error(NewRatio(net, -2, Options{})),
		"neural: NewRatio: net is nil":                                                             exact.Error(NewRatio(nil, -1, Options{})),
		"neural: NewRatio: a network that does not see the time has no scores under uniform noise": exact.Error(NewRatio(net, -1, Options{TimeFree: true})),
		"neural: NewUniform: net has 0 levels and 2 outputs, want as many and ≥ 1":                 exact.Error(NewUniform(reals, true, Options{})),
		"neural: NewReals: net has 0 channels and 4 outputs, want as many and ≥ 1":                 exact.Error(NewReals(net, Options{})),
		"neural: NewReals: net is nil":                                                             exact.Error(NewReals(nil, Options{})),
	} {
		assert.EqualError(t, err, want)
	}
	d := exact.Must(NewMasked(net, 3, Options{}))
	v := make([]float32, 20)
	q := noised([]int32{3, 0, 1, 2, 3}, 5, 1, 0)
	assert.EqualError(t, d.Denoise(ctx, v, q), "neural: Masked: state 0: Level(t = 1, α = 0) = +Inf, want a finite number")
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	assert.ErrorIs(t, d.Denoise(cancelled, v, q), context.Canceled)
	assert.PanicsWithValue(t, "neural: len(v) = 19, want 20", func() { _ = d.Denoise(ctx, v[:19], q) })
	bad := net.Clone()
	bad.Weights()[0] = float32(math.NaN())
	for name, d := range tokenDenoisers(t, bad, 3, Options{}) {
		q := noised([]int32{1, 3, 3, 3, 1, 0, 1, 2, 3, 1}, 5, 0.5, 0.5)
		assert.ErrorContains(t, d.Denoise(ctx, make([]float32, 40), q), "state 1: the network's results add up to NaN, want finite numbers", name)
	}
}
