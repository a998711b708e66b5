package neural

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Masked is the denoiser of masked diffusion (MDLM; Sahoo et al. 2024, §3.2.3): the
// network's results are log-weights for masked positions, where the mask itself has
// probability zero; unmasked tokens are their own prediction (carry-over). Only the
// results of masked positions are computed.
//
// It is safe for concurrent use. Concurrent calls run one after another, because all
// workers serve one call. Calls allocate nothing once the largest batch has been seen.
type Masked struct{ engine *engine[int32] }

// NewMasked returns the denoiser of a network one of whose levels is the mask. It returns an
// error if net is nil, is a network of reals or does not have one result per level, or if mask is
// not a level.
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

// Uniform is the denoiser of uniform diffusion (UDLM; Schiff et al. 2025). The
// network's results are log-weights of each token given the others
// ([energy.LeaveOneOut]), as trained by the objective of UDLM, whose reverse step puts
// the prediction into the posterior; or, with posterior set, given all of x_t, as
// trained by cross-entropy.
//
// It is safe for concurrent use. Concurrent calls run one after another, because all
// workers serve one call. Calls allocate nothing once the largest batch has been seen.
type Uniform struct {
	engine    *engine[int32]
	posterior bool
}

// NewUniform returns the denoiser of a network. It returns an error if net is nil, is a network
// of reals or does not have one result per level.
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

// LeaveOneOut reports whether predictions exclude the site itself.
func (d *Uniform) LeaveOneOut() bool { return !d.posterior }

// MaskLevel returns −1: see [energy.Masking].
func (d *Uniform) MaskLevel() int32 { return -1 }

// Denoise implements [energy.Denoiser], with the errors of [Masked.Denoise].
func (d *Uniform) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	return d.engine.denoise(ctx, v, q)
}

// Ratio is the denoiser of a score-entropy network (SEDD; Lou, Meng and Ermon
// 2024), whose result f estimates the logarithm of the concrete score
// s_i(y) = p_t(x with x_i = y)/p_t(x). At y = x_i it is 0, and the network's result is
// ignored.
//
// With a mask, s_i(y) = p(x_0,i = y | x)·α/(1−α) at masked sites: the score is proportional to
// the posterior. A constant factor in the scores does not matter, because a row of log-weights is
// defined up to a constant. The public code divides by such a factor, (e^σ − 1)(V − 1) with V
// levels, if its configuration says scale_by_sigma. Without a mask, log s(y) = f(y): the public
// code has scale_by_sigma for absorbing noise only. Then s(y)/Σ s is p(x_t,i = y | other sites),
// and
//
//	p(x_0,i = y | other sites) = max(0, s(y)/Σ s − (1−α)/V)/α,
//
// because a token is intact with probability α and otherwise uniform. These predictions
// exclude the site itself. The maximum is 0 only if the scores belong to no
// distribution.
//
// It is safe for concurrent use. Concurrent calls run one after another, because all
// workers serve one call. Calls allocate nothing once the largest batch has been seen.
type Ratio struct {
	engine *engine[int32]
	masked bool
}

// NewRatio returns the denoiser of a network under absorbing noise with the given mask, or under
// uniform noise if mask is −1. It returns the errors of [NewMasked], and an error if TimeFree is
// set under uniform noise, whose scores depend on the time.
func NewRatio(net *Transformer, mask int32, opt Options) (*Ratio, error) {
	if mask != -1 {
		e, err := maskedEngine("Ratio", net, mask, opt)
		if err != nil {
			return nil, err
		}
		d := &Ratio{e, true}
		start(d, e)
		return d, nil
	}
	if err := tokens("NewRatio", net); err != nil {
		return nil, err
	}
	if opt.TimeFree || net.cfg.Cond == 0 {
		return nil, fmt.Errorf("neural: NewRatio: a network that does not see the time has no scores under uniform noise")
	}
	if opt.Level == nil {
		opt.Level = noise
	}
	e := &engine[int32]{name: "Ratio", mask: -1, net: net, opt: opt, finish: fromScores}
	d := &Ratio{e, false}
	start(d, e)
	return d, nil
}

// fromScores turns the results of a state under uniform noise into predictions
// that leave their site out.
func fromScores(v []float32, x []int32, clean []bool, _, alpha float64) { // not of the level
	levels := len(v) / len(x)
	base := (1 - alpha) / float64(levels)
	for i, l := range x {
		row := v[i*levels : (i+1)*levels]
		if clean != nil && clean[i] {
			certain(row, l)
			continue
		}
		row[l] = 0
		simd.Softmax(row, row, levels)
		for y, m := range row {
			row[y] = float32(simd.Log(max(0, (float64(m)-base)/alpha)))
		}
	}
}

// Shape returns Length and Levels of the network.
func (d *Ratio) Shape() (sites, levels int) { return d.engine.shape() }

// TimeFree reports whether predictions depend on the tokens alone.
func (d *Ratio) TimeFree() bool { return d.engine.timeFree() }

// LeaveOneOut reports whether predictions exclude the site itself: it is true under
// uniform noise.
func (d *Ratio) LeaveOneOut() bool { return !d.masked }

// MaskLevel implements [energy.Masking].
func (d *Ratio) MaskLevel() int32 { return d.engine.mask }

// Denoise implements [energy.Denoiser], with the errors of [Masked.Denoise].
func (d *Ratio) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	return d.engine.denoise(ctx, v, q)
}
