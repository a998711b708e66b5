package unmask

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/slots"
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

// language checks what a runner is given, and binds its projector. tables is the number
// of predictions that a path keeps, 0 for one a site.
func language(ctx context.Context, who string, d energy.Denoiser[int32], cfg *Config, tables int) (drawer slots.Drawer, sites, levels int, err error) {
	if sites, levels, err = slots.Model(who, d); err != nil {
		return nil, 0, 0, err
	}
	switch {
	case levels < 2:
		return nil, 0, 0, fmt.Errorf("%s: the model has %d levels, want ≥ 2", who, levels)
	case check.Nil(cfg.Projector):
		return nil, 0, 0, fmt.Errorf("%s: Projector = nil, want one that can draw", who)
	case cfg.Batch < 0:
		return nil, 0, 0, fmt.Errorf("%s: Batch = %d, want ≥ 0", who, cfg.Batch)
	case tables == 0:
		tables = sites
	}
	if cfg.Batch == 0 {
		cfg.Batch = slots.Batch(sites * levels * tables)
	}
	p, err := cfg.Projector.Bind(ctx, sites, levels, 1)
	if err != nil {
		return nil, 0, 0, err
	}
	drawer, err = slots.DrawerOf(who, p)
	return drawer, sites, levels, err
}

// engine makes the slots of a runner.
func engine(d energy.Denoiser[int32], cfg Config, sites, levels int, steps func(i int) slots.Steps[int32]) *slots.Engine[int32] {
	e := slots.New(d, slots.Shape{Sites: sites, Levels: levels, Batch: cfg.Batch, Workers: 1}, steps)
	e.Meta = cfg.Meta
	return e
}

// samples returns how many samples fit in x, and panics unless they fill it.
func samples(x []int32, sites int) int { return check.Rows("unmask", "x", len(x), sites) }
