package neural

import (
	"context"

	"github.com/gibbsite-go/gibbsite/energy"
)

// Masked is the denoiser of masked diffusion (MDLM; Sahoo et al. 2024, §3.2.3):
// the network's results are log-weights of masked tokens, the mask has none
// (zero masking probability) and tokens that show are certain (carry-over).
// Only the results of masked positions are computed.
//
// It is safe for concurrent use; calls wait for each other, as all workers serve
// one. Nothing allocates once the largest batch has been seen.
type Masked struct{ engine *engine[int32] }

// NewMasked returns the denoiser of a network one of whose levels is the mask.
// The error says that net is nil, one of reals or without a result for each
// level, or that mask is not a level.
func NewMasked(net *Transformer, mask int32, opt Options) (*Masked, error) {
	e, err := maskedEngine("Masked", net, mask, opt)
	if err != nil {
		return nil, err
	}
	d := &Masked{e}
	start(d, e)
	return d, nil
}

// Shape returns Length and Levels of the network.
func (d *Masked) Shape() (sites, levels int) { return d.engine.shape() }

// TimeFree reports whether predictions depend on the tokens alone.
func (d *Masked) TimeFree() bool { return d.engine.timeFree() }

// MaskLevel implements [energy.Masking].
func (d *Masked) MaskLevel() int32 { return d.engine.mask }

// Denoise implements [energy.Denoiser]. The error names a state whose noise
// level or results are not finite. A token out of range panics.
func (d *Masked) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	return d.engine.denoise(ctx, v, q)
}
