package neural

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
)

// Reals is the denoiser of a network of reals whose results are the clean state;
// sites are Length × Channels. A network that predicts noise becomes a denoiser
// by
//
//	energy.NoisePredictor{Denoiser: reals}
//
// and one that predicts the velocity of a flow, as train.Flow has it, by a
// denoise.Velocity.
//
// It is safe for concurrent use; calls wait for each other, as all workers serve
// one. Nothing allocates once the largest batch has been seen.
type Reals struct{ engine *engine[float32] }

// NewReals returns the denoiser of a network. Level nil means 1000·t, the number
// of the step that networks of a thousand steps are shown. The error says that
// net is nil, one of tokens or without a result for each channel.
func NewReals(net *Transformer, opt Options) (*Reals, error) {
	switch {
	case net == nil:
		return nil, fmt.Errorf("neural: NewReals: net is nil")
	case net.cfg.Channels == 0 || net.cfg.Outputs != net.cfg.Channels:
		return nil, fmt.Errorf("neural: NewReals: net has %d channels and %d outputs, want as many and ≥ 1", net.cfg.Channels, net.cfg.Outputs)
	}
	if opt.Level == nil {
		opt.Level = func(t, _ float64) float64 { return 1000 * t }
	}
	e := &engine[float32]{name: "Reals", net: net, opt: opt}
	e.finish = func(v, x []float32, clean []bool, _, _ float64) {
		for i, known := range clean {
			if known {
				v[i] = x[i]
			}
		}
	}
	d := &Reals{e}
	start(d, e)
	return d, nil
}

// Shape returns Length × Channels and 1.
func (d *Reals) Shape() (sites, levels int) { return d.engine.shape() }

// TimeFree reports whether predictions depend on the state alone.
func (d *Reals) TimeFree() bool { return d.engine.timeFree() }

// Denoise implements [energy.Denoiser], with the errors of [Masked.Denoise].
func (d *Reals) Denoise(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	return d.engine.denoise(ctx, v, q)
}
