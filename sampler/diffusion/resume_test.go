package diffusion_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/novelty"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

var background = context.Background()

// stopping is a denoiser that ends a context at its nth prediction.
type stopping[S energy.Site] struct {
	energy.Denoiser[S]
	left *atomic.Int64
	stop *context.CancelFunc
}

func (s stopping[S]) As(target any) bool { return energy.AsInto(s.Denoiser, target) }

func (s stopping[S]) Denoise(ctx context.Context, v []float32, q energy.Noised[S]) error {
	if s.left.Add(-1) == 0 {
		(*s.stop)()
	}
	return s.Denoiser.Denoise(ctx, v, q)
}

func letters(t *testing.T, c denoise.Corruption) energy.Denoiser[int32] {
	t.Helper()
	chain := exact.Must(model.NewMarkov(5, 3, 1, []float64{.2, .3, .5}, []float64{.6, .3, .1, .2, .5, .3, .3, .3, .4}))
	return exact.Must(denoise.NewMarkov(chain, c))
}

var twoOnes = constraint.Count{Levels: []int32{1}, Min: 2, Max: 3}

// within is a language of letters without the mask.
func within() constraint.Automaton {
	return exact.Must(constraint.Intersect(twoOnes, constraint.Count{Levels: []int32{3}, Max: 0}))
}

// run is a runner of tokens or of reals.
type run[S energy.Site] interface {
	Sample(ctx context.Context, x []S) error
	SaveFile(path string) error
	LoadFile(ctx context.Context, path string) error
	Len() int
}

func known(words ...[]int32) *constraint.Lexicon {
	l := new(constraint.Lexicon)
	for _, w := range words {
		l.Add(w)
	}
	return l
}

// token returns the runs of tokens by name. Nothing may be shared between two.
func token(t *testing.T) map[string]func(wrap func(energy.Denoiser[int32]) energy.Denoiser[int32], cfg diffusion.Config) run[int32] {
	plain := func(p diffusion.Process[int32], c denoise.Corruption, edit func(*diffusion.Config)) func(func(energy.Denoiser[int32]) energy.Denoiser[int32], diffusion.Config) run[int32] {
		return func(wrap func(energy.Denoiser[int32]) energy.Denoiser[int32], cfg diffusion.Config) run[int32] {
			edit(&cfg)
			return exact.Must(diffusion.New(background, wrap(letters(t, c)), p, cfg))
		}
	}
	none := func(*diffusion.Config) {}
	return map[string]func(func(energy.Denoiser[int32]) energy.Denoiser[int32], diffusion.Config) run[int32]{
		"masked":        plain(diffusion.Masked{Mask: 3}, denoise.Absorbing, none),
		"first hitting": plain(diffusion.Masked{Mask: 3, FirstHitting: true}, denoise.Absorbing, none),
		"uniform":       plain(diffusion.Uniform{}, denoise.Noisy, none),
		"remask": plain(diffusion.Remask{Mask: 3}, denoise.Absorbing, func(c *diffusion.Config) {
			c.Projector = projection.Path{Language: within()}
		}),
		"novel": plain(diffusion.Masked{Mask: 3}, denoise.Absorbing, func(c *diffusion.Config) {
			c.Projector = novelty.Projector{Seen: known([]int32{1, 1, 0, 0, 0}), Path: projection.Path{Language: within()}}
		}),
		"particles": func(wrap func(energy.Denoiser[int32]) energy.Denoiser[int32], cfg diffusion.Config) run[int32] {
			cfg.Projector = projection.Path{Language: within()}
			return exact.Must(diffusion.NewParticles(background, wrap(letters(t, denoise.Absorbing)), diffusion.Masked{Mask: 3}, diffusion.ParticlesConfig{Config: cfg, Particles: 5}))
		},
	}
}

func same(d energy.Denoiser[int32]) energy.Denoiser[int32] { return d }

// said is what a run has drawn, and its estimate if it has one.
func said(r run[int32], x []int32) string {
	if p, ok := r.(*diffusion.Particles); ok {
		logP, se := p.LogProb()
		return fmt.Sprint(x, math.Float64bits(logP), math.Float64bits(se), p.Len())
	}
	return fmt.Sprint(x, r.Len())
}

// A generation that stops anywhere and begins again with its checkpoint file ends
// with the bits of one that does not stop.
func TestSamplesResume(t *testing.T) {
	const sites, samples = 5, 23
	var left atomic.Int64
	stop := context.CancelFunc(func() {})
	wrap := func(d energy.Denoiser[int32]) energy.Denoiser[int32] { return stopping[int32]{d, &left, &stop} }
	for name, begin := range token(t) {
		cfg := diffusion.Config{Steps: 6, Batch: 4, Seed: 3, Workers: 2}
		x := make([]int32, samples*sites)
		left.Store(0)
		r := begin(wrap, cfg)
		require.NoError(t, r.Sample(background, x))
		want, total := said(r, x), -left.Load()
		for at := int64(1); at <= total; at += 3 {
			cfg.Checkpoint.Path, cfg.Checkpoint.Every = filepath.Join(t.TempDir(), "run"), int(at%9)
			cfg.Workers = 1 + int(at)%3
			ctx, cancel := context.WithCancel(background)
			stop = cancel
			r := begin(wrap, cfg)
			left.Store(at)
			clear(x)
			require.ErrorIs(t, r.Sample(ctx, x), context.Canceled, name)
			made := r.Len()
			require.NoError(t, r.Sample(background, x[made*sites:]), "%s goes on in place", name)
			assert.Equal(t, want, said(r, x), name)

			again := begin(same, cfg)
			err := again.LoadFile(context.Background(), cfg.Checkpoint.Path)
			require.NoError(t, err)
			require.Zero(t, again.Len())
			clear(x)
			for from := 0; from < samples; from += 7 { // in other calls than before
				require.NoError(t, again.Sample(background, x[from*sites:min(from+7, samples)*sites]))
			}
			assert.Equal(t, want, said(again, x), "%s stopped at prediction %d with %d samples", name, at, made)
			if at > 9 {
				require.NoError(t, os.WriteFile(cfg.Checkpoint.Path, []byte("lost"), 0o600))
				older := begin(same, cfg)
				require.NoError(t, older.LoadFile(context.Background(), cfg.Checkpoint.Path))
				clear(x)
				require.NoError(t, older.Sample(background, x))
				assert.Equal(t, want, said(older, x), "%s from the generation before", name)
			}
		}
	}
}

// The parts of a run have the bits of the whole; a memory refuses them.
func TestPartsOfSamples(t *testing.T) {
	const sites, samples = 5, 12
	for name, begin := range token(t) {
		cfg := diffusion.Config{Steps: 6, Batch: 4, Seed: 3}
		whole := make([]int32, samples*sites)
		r := begin(same, cfg)
		require.NoError(t, r.Sample(background, whole))
		if name == "novel" {
			cfg.First = 1
			cfg.Projector = novelty.Projector{Path: projection.Path{Language: within()}}
			_, err := diffusion.New(background, letters(t, denoise.Absorbing), diffusion.Masked{Mask: 3}, cfg)
			assert.ErrorContains(t, err, "Config.First = 1, want 0: the projection *novelty.CorpusProjection remembers")
			continue
		}
		var parts []*diffusion.Particles
		x := make([]int32, samples*sites)
		for k, part := range [][2]int{{0, 5}, {5, 1}, {6, 6}} {
			cfg.First, cfg.Count, cfg.Workers, cfg.Batch = part[0], part[1], 1+k, 2+k
			p := begin(same, cfg)
			require.NoError(t, p.Sample(background, x[part[0]*sites:(part[0]+part[1])*sites]))
			assert.ErrorContains(t, p.Sample(background, x[:sites]), "1 samples, want ≤ 0 (Config.Count =", name)
			if q, ok := p.(*diffusion.Particles); ok {
				parts = append(parts, q)
			}
		}
		assert.Equal(t, whole, x, name)
		if len(parts) == 0 {
			continue
		}
		_, _, before := parts[0].Len(), parts[1].Len(), said(parts[0], nil)
		assert.ErrorContains(t, parts[0].Join(parts[2]), "part 0 begins with sample 6, want 5")
		assert.ErrorContains(t, parts[0].Join(nil), "part 0 = nil")
		assert.Equal(t, before, said(parts[0], nil))
	}
}

// Joined particles say what the whole says.
func TestJoinedParticles(t *testing.T) {
	const sites, samples = 5, 12
	begin := token(t)["particles"]
	cfg := diffusion.Config{Steps: 6, Batch: 4, Seed: 3}
	x := make([]int32, samples*sites)
	whole := begin(same, cfg).(*diffusion.Particles)
	require.NoError(t, whole.Sample(background, x))
	var parts []*diffusion.Particles
	for _, part := range [][2]int{{0, 5}, {5, 1}, {6, 6}} {
		cfg.First, cfg.Count = part[0], part[1]
		p := begin(same, cfg).(*diffusion.Particles)
		require.NoError(t, p.Sample(background, x[:part[1]*sites]))
		parts = append(parts, p)
	}
	cfg.Seed = 4
	cfg.First, cfg.Count = 5, 0
	assert.ErrorContains(t, parts[0].Join(begin(same, cfg).(*diffusion.Particles)), "Config.Seed is 3 in the checkpoint and 4 here")
	require.NoError(t, parts[0].Join(parts[1:]...))
	wantP, wantSE := whole.LogProb()
	gotP, gotSE := parts[0].LogProb()
	assert.Equal(t, [2]float64{wantP, wantSE}, [2]float64{gotP, gotSE})
	assert.ErrorContains(t, parts[0].Sample(background, nil), "Sample after Join")
}

// Reals resume, too, and Fill knows what it was given.
func TestFilledSamplesResume(t *testing.T) {
	mixture := exact.Must(denoise.NewGaussian([]float64{1, 2}, []float64{1, .5, .5, 2}))
	nan := float32(math.NaN())
	given := []float32{1, nan, nan, nan, 2, 3, nan, 4}
	cfg := diffusion.Config{Steps: 8, Batch: 2}
	want := append([]float32(nil), given...)
	require.NoError(t, exact.Must(diffusion.New(background, mixture, diffusion.Gaussian{}, cfg)).Fill(background, want))

	cfg.Checkpoint.Path = filepath.Join(t.TempDir(), "run")
	first := exact.Must(diffusion.New(background, mixture, diffusion.Gaussian{}, cfg))
	require.NoError(t, first.Fill(background, append([]float32(nil), given[:4]...)))
	again := exact.Must(diffusion.New(background, mixture, diffusion.Gaussian{}, cfg))
	require.NoError(t, again.LoadFile(context.Background(), cfg.Checkpoint.Path))
	other := append([]float32(nil), given...)
	other[3] = 1
	assert.ErrorContains(t, again.Fill(background, other), "sample 1 was clamped to other values when the checkpoint was saved")
	assert.ErrorContains(t, again.Sample(background, make([]float32, 4)), "sample 0 was clamped to other values")
	got := append([]float32(nil), given...)
	require.NoError(t, again.Fill(background, got))
	assert.Equal(t, want, got)
}

// The estimate of particles and its error have the same bits on every processor.
func TestParticlesGoldenBits(t *testing.T) {
	p := token(t)["particles"](same, diffusion.Config{Steps: 6, Batch: 4, Seed: 3}).(*diffusion.Particles)
	require.NoError(t, p.Sample(background, make([]int32, 5*40)))
	logP, se := p.LogProb()
	assert.Equal(t, []float64{-0.7325426432709534, 0.013143924148619004}, []float64{logP, se})
}
