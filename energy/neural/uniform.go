package neural

import (
	"context"

	"github.com/gibbsite-go/gibbsite/energy"
)

// Uniform is the denoiser of uniform diffusion (UDLM; Schiff et al. 2025). The
// network's results are log-weights of each token given the others
// ([energy.LeaveOneOut]), as the objective of UDLM has them, whose reverse step
// plugs the prediction into the posterior; or, with posterior set, given all of
// x_t, as cross-entropy training has them.
//
// It is safe for concurrent use; calls wait for each other, as all workers serve
// one. Nothing allocates once the largest batch has been seen.
type Uniform struct {
	engine    *engine[int32]
	posterior bool
}

// NewUniform returns the denoiser of a network. The error says that net is nil,
// one of reals or without a result for each level.
func NewUniform(net *Transformer, posterior bool, opt Options) (*Uniform, error) {
	if err := tokens("NewUniform", net); err != nil {
		return nil, err
	}
	if opt.Level == nil {
		opt.Level = noise
	}
	e := &engine[int32]{name: "Uniform", net: net, opt: opt, finish: keepClean}
	d := &Uniform{e, posterior}
	start(d, e)
	return d, nil
}

// keepClean makes clean tokens certain.
func keepClean(v []float32, x []int32, clean []bool, _, _ float64) {
	levels := len(v) / len(x)
	for i, known := range clean {
		if known {
			certain(v[i*levels:(i+1)*levels], x[i])
		}
	}
}

// Shape returns Length and Levels of the network.
func (d *Uniform) Shape() (sites, levels int) { return d.engine.shape() }

// TimeFree reports whether predictions depend on the tokens alone.
func (d *Uniform) TimeFree() bool { return d.engine.timeFree() }

// LeaveOneOut reports whether predictions leave their site out.
func (d *Uniform) LeaveOneOut() bool { return !d.posterior }

// MaskLevel returns −1: see [energy.Masking].
func (d *Uniform) MaskLevel() int32 { return -1 }

// Denoise implements [energy.Denoiser], with the errors of [Masked.Denoise].
func (d *Uniform) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	return d.engine.denoise(ctx, v, q)
}
