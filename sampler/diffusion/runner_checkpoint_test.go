package diffusion_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/novelty"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// What cannot be saved or loaded is refused, and says why.
func TestCheckpointsAreRefused(t *testing.T) {
	masked := diffusion.Masked{Mask: 3}
	cfg := diffusion.Config{Steps: 4}
	plain := exact.Must(diffusion.New(background, letters(t, denoise.Absorbing), masked, cfg))
	assert.ErrorContains(t, plain.Save(new(bytes.Buffer)), `Config.Checkpoint.Path = "", want a path`)
	assert.ErrorContains(t, plain.Load(context.Background(), new(bytes.Buffer)), `Config.Checkpoint.Path = "", want a path`)

	cfg.Checkpoint.Path = filepath.Join(t.TempDir(), "run")
	begin := func() *diffusion.Runner[int32] {
		return exact.Must(diffusion.New(background, letters(t, denoise.Absorbing), masked, cfg))
	}
	r := begin()
	assert.ErrorContains(t, r.Save(nil), "w = nil")
	assert.ErrorContains(t, r.Load(context.Background(), nil), "r = nil")
	var none context.Context
	assert.ErrorContains(t, r.Sample(none, nil), "ctx = nil")
	require.NoError(t, r.Sample(background, make([]int32, 10)))
	assert.ErrorContains(t, r.LoadFile(context.Background(), cfg.Checkpoint.Path), "the runner has 2 samples, want a new one")
	var file bytes.Buffer
	require.NoError(t, r.Save(&file))
	fresh := begin()
	require.NoError(t, fresh.Load(context.Background(), &file))
	require.NoError(t, fresh.Sample(background, make([]int32, 15)))
	assert.Equal(t, 3, fresh.Len())

	bad := cfg
	bad.Checkpoint.Path = filepath.Join(cfg.Checkpoint.Path, "no", "folder")
	lost := exact.Must(diffusion.New(background, letters(t, denoise.Absorbing), masked, bad))
	assert.ErrorContains(t, lost.Sample(background, make([]int32, 5)), "Config.Checkpoint: ")

	bad = cfg
	bad.Projector = forgetful{}
	_, err := diffusion.New(background, letters(t, denoise.Absorbing), masked, bad)
	assert.ErrorContains(t, err, "it has a memory and no Recall")
	for want, edit := range map[string]func(*diffusion.Config){
		"Config.First = -1, want ≥ 0":            func(c *diffusion.Config) { c.First = -1 },
		"Config.Count = -1, want 0 … ":           func(c *diffusion.Config) { c.Count = -1 },
		"Config.Checkpoint.Every = -1, want ≥ 0": func(c *diffusion.Config) { c.Checkpoint.Every = -1 },
	} {
		bad := cfg
		edit(&bad)
		_, err := diffusion.New(background, letters(t, denoise.Absorbing), masked, bad)
		assert.ErrorContains(t, err, want)
	}
	far := cfg
	far.First = math.MaxInt
	last := exact.Must(diffusion.New(background, letters(t, denoise.Absorbing), masked, far))
	assert.ErrorContains(t, last.Sample(background, make([]int32, 5)), "1 samples, want ≤ 0 (Config.First =")
	_, err = diffusion.NewParticles(background, letters(t, denoise.Absorbing), masked, diffusion.ParticlesConfig{Config: func() diffusion.Config {
		far.Projector = projection.Path{Language: within()}
		return far
	}()})
	assert.ErrorContains(t, err, "of 64 particles each, want ≤")

	// The set of a novelty that knows a sample already cannot recall it.
	novel := cfg
	words := known()
	novel.Projector = novelty.Projector{Seen: words, Path: projection.Path{Language: within()}}
	maker := exact.Must(diffusion.New(background, letters(t, denoise.Absorbing), masked, novel))
	x := make([]int32, 10)
	require.NoError(t, maker.Sample(background, x))
	novel.Projector = novelty.Projector{Seen: words, Path: projection.Path{Language: within()}}
	knows := exact.Must(diffusion.New(background, letters(t, denoise.Absorbing), masked, novel))
	assert.ErrorContains(t, knows.LoadFile(context.Background(), cfg.Checkpoint.Path), "novelty.Projector.Seen")
}

// forgetful is a projection with a memory that cannot recall.
type forgetful struct{ projection.Path }

func (f forgetful) Bind(ctx context.Context, sites, levels, samples int) (diffusion.Projection, error) {
	p, err := projection.Path{Language: within()}.Bind(ctx, sites, levels, samples)
	return forgets{p}, err
}

type forgets struct{ diffusion.Projection }

func (forgets) Commit(_ context.Context, x []int32, v []float32, src rand.Source) error { return nil }

// A refused load leaves the runner as it was.
func TestRefusedLoadsChangeNothing(t *testing.T) {
	cfg := diffusion.Config{Steps: 4}
	cfg.Checkpoint.Path = filepath.Join(t.TempDir(), "run")
	for name, begin := range token(t) {
		maker := begin(same, cfg)
		require.NoError(t, maker.Sample(background, make([]int32, 10)))
		b := exact.Must(os.ReadFile(cfg.Checkpoint.Path))
		require.NoError(t, os.WriteFile(cfg.Checkpoint.Path, b[:len(b)-3], 0o600))
		_ = os.Remove(cfg.Checkpoint.Path + ".old")
		r := begin(same, cfg)
		require.ErrorContains(t, r.LoadFile(context.Background(), cfg.Checkpoint.Path), "reading the body", name)
		x, y := make([]int32, 15), make([]int32, 15)
		require.NoError(t, r.Sample(background, x))
		require.NoError(t, begin(same, cfg).Sample(background, y))
		assert.Equal(t, y, x, name)
	}
}

// amnesiac is a projection that cannot recall.
type amnesiac struct{ diffusion.Projection }

func (amnesiac) Commit(context.Context, []int32, []float32, rand.Source) error { return nil }
func (amnesiac) Recall([]int32) error                                          { return fmt.Errorf("forgotten") }

type forgetting struct{}

func (forgetting) Bind(ctx context.Context, sites, levels, samples int) (diffusion.Projection, error) {
	p, err := projection.Path{Language: within()}.Bind(ctx, sites, levels, samples)
	return amnesiac{p}, err
}

func TestBrokenRecallEndsTheRunner(t *testing.T) {
	cfg := diffusion.Config{Steps: 4, Projector: forgetting{}}
	cfg.Checkpoint.Path = filepath.Join(t.TempDir(), "run")
	begin := func() *diffusion.Runner[int32] {
		return exact.Must(diffusion.New(background, letters(t, denoise.Absorbing), diffusion.Masked{Mask: 3}, cfg))
	}
	require.NoError(t, begin().Sample(background, make([]int32, 10)))
	r := begin()
	assert.ErrorContains(t, r.LoadFile(context.Background(), cfg.Checkpoint.Path), "sample 0: forgotten")
	assert.ErrorContains(t, r.Sample(background, make([]int32, 5)), "the runner cannot be used: its projection did not recall a checkpoint")
	assert.ErrorContains(t, r.LoadFile(context.Background(), cfg.Checkpoint.Path), "the runner cannot be used")
}

// A conditioning of any size is distinguished from others and does not fill the file.
func TestCheckpointsWithLargeMeta(t *testing.T) {
	cfg := diffusion.Config{Steps: 2}
	cfg.Checkpoint.Path = filepath.Join(t.TempDir(), "run")
	load := func(meta any) error {
		cfg.Meta = meta
		return token(t)["masked"](same, cfg).LoadFile(context.Background(), cfg.Checkpoint.Path)
	}
	meta := func(last float64) []float64 { return append(make([]float64, 300_000), last) }
	cfg.Meta = meta(1)
	require.NoError(t, token(t)["masked"](same, cfg).Sample(background, make([]int32, 5)))
	require.Less(t, exact.Must(os.Stat(cfg.Checkpoint.Path)).Size(), int64(20_000))
	require.NoError(t, load(meta(1)))
	assert.ErrorContains(t, load(meta(1+1e-9)), "Config.Meta")
	assert.ErrorContains(t, load(nil), "Config.Meta")
	assert.ErrorContains(t, load(&cfg), "Config.Meta")
}

// Two calls at a time are refused.
func TestOneSampleCallAtATime(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	var armed atomic.Bool
	armed.Store(true)
	wrap := func(d energy.Denoiser[int32]) energy.Denoiser[int32] {
		return energy.DenoiserFunc[int32]{Sites: 5, Levels: 4, F: func(ctx context.Context, v []float32, q energy.Noised[int32]) error {
			if armed.CompareAndSwap(true, false) {
				close(entered)
				<-release
			}
			return d.Denoise(ctx, v, q)
		}}
	}
	for _, name := range []string{"masked", "particles"} {
		entered, release = make(chan struct{}), make(chan struct{})
		armed.Store(true)
		r := token(t)[name](wrap, diffusion.Config{Steps: 4})
		done := make(chan error)
		go func() { done <- r.Sample(background, make([]int32, 5)) }()
		<-entered
		assert.ErrorContains(t, r.Sample(background, make([]int32, 5)), "another call of this run is under way, want one at a time")
		close(release)
		require.NoError(t, <-done)
	}
}

// A file that is asked for is one to go on from.
func TestSaveFile(t *testing.T) {
	for name, begin := range token(t) {
		cfg := diffusion.Config{Steps: 4, Batch: 2}
		cfg.Checkpoint.Path = filepath.Join(t.TempDir(), "run")
		r, x := begin(same, cfg), make([]int32, 25)
		require.NoError(t, r.Sample(background, x), name)
		path := filepath.Join(t.TempDir(), "other")
		switch r := r.(type) {
		case *diffusion.Runner[int32]:
			require.NoError(t, r.SaveFile(path), name)
		case *diffusion.Particles:
			require.NoError(t, r.SaveFile(path), name)
		}
		again, y := begin(same, cfg), make([]int32, 25)
		require.NoError(t, again.LoadFile(background, path), name)
		require.NoError(t, again.Sample(background, y), name)
		require.Equal(t, said(r, x), said(again, y), name)
	}
}

// The outputs of a network depend on the processor in about the fifth digit. A checkpoint accepts such
// differences, but no other network.
func TestCheckpointAcceptsRounding(t *testing.T) {
	masked := diffusion.Masked{Mask: 3}
	cfg := diffusion.Config{Steps: 4}
	cfg.Checkpoint.Path = filepath.Join(t.TempDir(), "run")
	begin := func(factor float32) *diffusion.Runner[int32] {
		inner := letters(t, denoise.Absorbing)
		f := func(ctx context.Context, v []float32, q energy.Noised[int32]) error {
			err := inner.Denoise(ctx, v, q)
			for i := 0; i < len(v); i += 3 {
				v[i] *= factor
			}
			return err
		}
		sites, levels := inner.Shape()
		network := energy.DenoiserFunc[int32]{Sites: sites, Levels: levels, F: f}
		return exact.Must(diffusion.New(background, network, masked, cfg))
	}
	r := begin(1)
	require.NoError(t, r.Sample(background, make([]int32, 10)))
	var file bytes.Buffer
	require.NoError(t, r.Save(&file))
	require.NoError(t, begin(1+2e-5).Load(background, bytes.NewReader(file.Bytes())))
	require.ErrorContains(t, begin(1.01).Load(background, bytes.NewReader(file.Bytes())), "predictions for test states")
}
