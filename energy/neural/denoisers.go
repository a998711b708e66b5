package neural

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Masked is the denoiser of masked diffusion (MDLM; Sahoo et al. 2024, §3.2.3). At masked
// positions, the outputs of the network are log-weights, and the mask itself has probability zero.
// Only these outputs are computed. Unmasked tokens are their own prediction (carry-over).
//
// A Masked is safe for concurrent use. Concurrent calls run one after another, because all workers
// serve one call. A call allocates memory only if its batch is larger than all earlier ones.
type Masked struct{ engine *engine[int32] }

// NewMasked returns the denoiser of a network whose levels include the mask. It returns an error
// if net is nil, is a network of reals or does not have one output per level. It also returns an
// error if mask is not a level.
func NewMasked(net *Transformer, mask int32, opt Options) (*Masked, error) {
	e, err := maskedEngine("Masked", net, mask, opt)
	if err != nil {
		return nil, err
	}
	d := &Masked{e}
	start(d, e)
	return d, nil
}

// Shape returns the fields Length and Levels of the network's configuration.
func (d *Masked) Shape() (sites, levels int) { return d.engine.shape() }

// TimeFree reports whether predictions depend only on the tokens, not on the time.
func (d *Masked) TimeFree() bool { return d.engine.timeFree() }

// MaskLevel returns the level of the mask; it implements [energy.Masking].
func (d *Masked) MaskLevel() int32 { return d.engine.mask }

// Denoise stores in v the log-weights of the clean tokens; it implements [energy.Denoiser]. It
// returns an error that names the state if its noise level or outputs are not finite. It panics if
// a token is out of range.
func (d *Masked) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	return d.engine.denoise(ctx, v, q)
}

// Uniform is the denoiser of uniform diffusion (UDLM; Schiff et al. 2025). By default the outputs
// of the network are log-weights of each token given the other tokens ([energy.LeaveOneOut]), as in
// networks trained with the objective of UDLM. If the argument posterior of [NewUniform] is true,
// the outputs are log-weights given all of the noisy state, as in networks trained with
// cross-entropy.
//
// Concurrent calls are safe but run one after another. A call allocates memory only if its batch is
// larger than all earlier ones.
type Uniform struct {
	engine    *engine[int32]
	posterior bool
}

// NewUniform returns the denoiser of a network for noise that replaces tokens by random tokens. If
// the argument posterior is true, the network predicts each site from all tokens of the noisy
// state, including its own. NewUniform returns an error if net is nil, is a network of reals or
// does not have one output per level.
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

// keepClean makes the rows of clean tokens one-hot.
func keepClean(v []float32, x []int32, clean []bool, _, _ float64) {
	levels := len(v) / len(x)
	for i, known := range clean {
		if known {
			certain(v[i*levels:(i+1)*levels], x[i])
		}
	}
}

// Shape returns the fields Length and Levels of the network's configuration.
func (d *Uniform) Shape() (sites, levels int) { return d.engine.shape() }

// TimeFree reports whether predictions depend only on the tokens, not on the time.
func (d *Uniform) TimeFree() bool { return d.engine.timeFree() }

// LeaveOneOut reports whether the prediction of a site ignores the token at that site. It
// implements [energy.SelfExcluding].
func (d *Uniform) LeaveOneOut() bool { return !d.posterior }

// MaskLevel returns −1, because the noise does not mask tokens. It implements [energy.Masking].
func (d *Uniform) MaskLevel() int32 { return -1 }

// Denoise stores in v the log-weights of the clean tokens; it implements [energy.Denoiser]. It
// returns an error that names the state if its noise level or outputs are not finite. It panics if
// a token is out of range.
func (d *Uniform) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	return d.engine.denoise(ctx, v, q)
}

// Ratio is the denoiser of a score-entropy network (SEDD; Lou, Meng and Ermon 2024). At each site
// i, the output f(y) for level y estimates log s_i(y). The concrete score s_i(y) is a ratio of the
// probabilities of two noisy states,
//
//	s_i(y) = p_t(x with x_i = y)/p_t(x).
//
// At y = x_i this logarithm is 0, and the output is ignored. Let V be the number of levels, and α
// the probability that a token is intact.
//
// With a mask, the score at masked sites is proportional to the posterior,
//
//	s_i(y) = p(x_0,i = y | x)·α/(1−α).
//
// Constant factors such as scale_by_sigma in the public code do not matter, because a row of
// log-weights is defined up to a constant.
//
// Without a mask, log s_i(y) = f(y). A token is intact with probability α and otherwise uniform, so
//
//	p(x_0,i = y | other sites) = max(0, s_i(y)/Σ s_i − (1−α)/V)/α.
//
// These predictions exclude the site itself.
//
// Concurrent calls are safe but run one after another. A call allocates memory only if its batch is
// larger than all earlier ones.
type Ratio struct {
	engine *engine[int32]
	masked bool
}

// NewRatio returns the denoiser of a network that was trained on corrupted tokens: the noise
// replaced tokens by the given mask or, if mask is −1, by random tokens. It returns the same errors
// as [NewMasked]. If mask is −1, the option TimeFree is an error, because the scores depend on the
// time.
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

// fromScores turns the outputs for one state under uniform noise into leave-one-out predictions.
// the noise level is unused
func fromScores(v []float32, x []int32, clean []bool, _, alpha float64) {
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

// Shape returns the fields Length and Levels of the network's configuration.
func (d *Ratio) Shape() (sites, levels int) { return d.engine.shape() }

// TimeFree reports whether predictions depend only on the tokens, not on time.
func (d *Ratio) TimeFree() bool { return d.engine.timeFree() }

// LeaveOneOut reports whether the prediction of a site ignores the token at that site: true under
// uniform noise, false with a mask. It implements [energy.SelfExcluding].
func (d *Ratio) LeaveOneOut() bool { return !d.masked }

// MaskLevel returns the level of the mask, or −1 under uniform noise. It implements
// [energy.Masking].
func (d *Ratio) MaskLevel() int32 { return d.engine.mask }

// Denoise stores in v the log-weights of the clean tokens; it implements [energy.Denoiser]. It
// returns an error that names the state if its noise level or outputs are not finite. It panics if
// a token is out of range.
func (d *Ratio) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	return d.engine.denoise(ctx, v, q)
}
