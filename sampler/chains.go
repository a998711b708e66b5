package sampler

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Chains runs Markov chains of one method on one model.
type Chains = Runner[int32]

// NewChains returns chains of the method on the model, ready to run.
//
// Errors: a nil model or method, a Config field out of range, a method that does
// not fit the model. An initial state without probability is reported by the
// first Run.
func NewChains(ctx context.Context, m energy.Model, method Method, cfg Config) (*Chains, error) {
	t, err := newTokens(m, method)
	if err != nil {
		return nil, err
	}
	for i, l := range cfg.Init {
		if l < 0 || int(l) >= t.levels {
			return nil, fmt.Errorf("sampler: Config.Init[%d] = %d, want 0 … %d", i, l, t.levels-1)
		}
	}
	return NewRunner(ctx, System[int32](t), cfg, cfg.Init, cfg.Observe)
}

// Retarget gives chains of tokens another target of the same shape: new kernels
// of the method, which have nothing tuned: the warm-up of Config is over, so call Warm
// if they should tune themselves for it. States, random streams and counts stay. On an
// error, as while another call is under way, nothing changes but the error of a start, as by Reset.
func Retarget(ctx context.Context, c *Chains, m energy.Model) error {
	if c == nil {
		return fmt.Errorf("sampler: Retarget: chains = nil")
	}
	old, ok := c.system.(*tokens)
	if !ok {
		return fmt.Errorf("sampler: Retarget: the chains are not those of NewChains")
	}
	if _, _, err := check.Shape("sampler: Retarget", m, 1, BlockSize); err != nil {
		return err
	}
	if sites, levels := m.Shape(); sites != old.sites || levels != old.levels {
		return fmt.Errorf("sampler: Retarget: the model has %d sites × %d levels, want %d × %d", sites, levels, old.sites, old.levels)
	}
	t := *old
	t.model = m
	return c.change("Retarget", func() error {
		before := c.blocks
		if err := c.newKernels(ctx, System[int32](&t)); err != nil {
			return err
		}
		for i := range c.blocks {
			b := &c.blocks[i]
			b.steps, b.stats = before[i].steps, before[i].stats
		}
		c.system, c.draws = &t, nil
		return c.restart()
	})
}
