package diagnose

import (
	"context"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Record runs chains of the method on the model for a number of draws after their
// warm-up and returns the trace of the functions f:
//
//	mag, err := diagnose.Record(ctx, m, mcmc.Gibbs{}, sampler.Config{Seed: 1}, 1000, energy.Magnetization)
//
// It is [NewTrace], [sampler.NewChains] and Run in one, and cfg.Observe is called
// too. Errors are theirs; with an error of Run comes the trace of the draws
// before it.
func Record(ctx context.Context, m energy.Model, method sampler.Method, cfg sampler.Config, draws int, f ...func(x []int32) float64) (*Trace, error) {
	t := NewTrace(f...)
	cfg.Observe = sampler.Observer(t.Observe).And(cfg.Observe)
	ch, err := sampler.NewChains(ctx, m, method, cfg)
	if err != nil {
		return nil, err
	}
	return t, ch.Run(ctx, draws)
}
