package unmask

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// Config is what the runners of this package share.
type Config struct {
	Seed  uint64 // path or walk i draws from stream (Seed, i)
	Batch int    // paths or walks under way together; 0: as many as fit in 256 MiB, at most 64; never changes results
	Meta  any    // conditioning for the denoiser, passed through

	// Projector is the language: its projection must be a diffusion.Drawer.
	Projector diffusion.Projector
}

// model is a denoiser beside a language.
type model struct {
	energy.Denoiser[int32]
	sites, levels int
	meta          any
	drawer        diffusion.Drawer

	x      []int32 // states of a batch
	t, a   []float64
	sample []int
	src    []rand.Source
	lse    []float64
	rows   int // states that have been predicted
}

const defaultTables = 1 << 28 // bytes of predictions

// newModel checks what a runner is given. tables is the number of predictions
// that a path keeps.
func newModel(ctx context.Context, who string, d energy.Denoiser[int32], cfg *Config, tables func(sites int) int) (*model, error) {
	if err := check.Given("unmask: "+who, "model", d); err != nil {
		return nil, err
	}
	if check.Nil(cfg.Projector) {
		return nil, fmt.Errorf("unmask: %s: Projector = nil, want one that can draw", who)
	}
	if cfg.Batch < 0 {
		return nil, fmt.Errorf("unmask: %s: Batch = %d, want ≥ 0", who, cfg.Batch)
	}
	sites, levels := d.Shape()
	if sites < 1 || levels < 2 {
		return nil, fmt.Errorf("unmask: %s: the model has %d sites and %d levels, want ≥ 1 and ≥ 2", who, sites, levels)
	}
	if cfg.Batch == 0 {
		cfg.Batch = min(max(1, defaultTables/4/sites/levels/tables(sites)), 64)
	}
	p, err := cfg.Projector.Bind(ctx, sites, levels, 1)
	if err != nil {
		return nil, err
	}
	drawer, ok := p.(diffusion.Drawer)
	if !ok {
		return nil, fmt.Errorf("unmask: %s: the projection is a %T, want a diffusion.Drawer", who, p)
	}
	if _, ok := p.(diffusion.Committer); ok {
		return nil, fmt.Errorf("unmask: %s: the projection %T has a memory, which weights do not know", who, p)
	}
	n := cfg.Batch
	return &model{
		Denoiser: d, sites: sites, levels: levels, meta: cfg.Meta, drawer: drawer,
		x: make([]int32, n*sites), t: make([]float64, n), a: make([]float64, n),
		sample: make([]int, n), src: make([]rand.Source, n), lse: make([]float64, sites),
	}, nil
}

// predict asks for n states that have been put into the slices of m.
func (m *model) predict(ctx context.Context, v []float32, n int) error {
	m.rows += n
	return m.Denoise(ctx, v[:n*m.sites*m.levels], energy.Noised[int32]{
		X: m.x[:n*m.sites], Time: m.t[:n], Alpha: m.a[:n], Sample: m.sample[:n], Src: m.src[:n], Meta: m.meta,
	})
}

// normalise returns what log Z_C = z is for the normalised rows of v.
func (m *model) normalise(z float64, v []float32) float64 {
	simd.LogSumExp(m.lse, v, m.levels)
	for _, l := range m.lse {
		z -= l
	}
	return z
}
