package neural

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Ratio is the denoiser of a score-entropy network (SEDD; Lou, Meng and Ermon
// 2024), whose result f at level y, shifted by
//
//	log s(y) = f(y) − log(e^σ − 1) − log(V − 1),
//
// is the logarithm of the concrete score s_i(y) = p_t(x with x_i = y)/p_t(x); at
// y = x_i it is 0 whatever the network says.
//
// With a mask, s_i(y) = p(x_0,i = y | x)·α/(1−α) at masked sites: the score is
// the posterior, but for a factor that a row of log-weights does not need, and
// the shift with it. Without, s(y)/Σ s is p(x_t,i = y | other sites), and
//
//	p(x_0,i = y | other sites) = max(0, s(y)/Σ s − (1−α)/V)/α,
//
// as a token is intact with probability α and else uniform: predictions leave
// their site out. The maximum is 0 only where the network's scores are those of
// no distribution.
//
// It is safe for concurrent use; calls wait for each other, as all workers serve
// one. Nothing allocates once the largest batch has been seen.
type Ratio struct {
	engine *engine[int32]
	masked bool
}

// NewRatio returns the denoiser of a network under absorbing noise with the
// given mask, or under uniform noise if mask is −1. The error is that of
// [NewMasked], or says that TimeFree is set under uniform noise, whose scores
// depend on the time.
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
func fromScores(v []float32, x []int32, clean []bool, level, alpha float64) {
	levels := len(v) / len(x)
	shift := float32(simd.Log(simd.Expm1(level)) + simd.Log(float64(levels-1)))
	base := (1 - alpha) / float64(levels)
	for i, l := range x {
		row := v[i*levels : (i+1)*levels]
		if clean != nil && clean[i] {
			certain(row, l)
			continue
		}
		for y := range row {
			row[y] -= shift
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

// LeaveOneOut reports whether predictions leave their site out: under uniform
// noise.
func (d *Ratio) LeaveOneOut() bool { return !d.masked }

// MaskLevel implements [energy.Masking].
func (d *Ratio) MaskLevel() int32 { return d.engine.mask }

// Denoise implements [energy.Denoiser], with the errors of [Masked.Denoise].
func (d *Ratio) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	return d.engine.denoise(ctx, v, q)
}
