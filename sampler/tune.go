package sampler

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// tuner is Robbins and Monro's stochastic approximation on log α: after step n
//
//	log α ← log α + γ_n (mean acceptance of the block − target),  γ_n = (1 + n/50)^(−0.6),
//
// and, once warm-up is over, the average of log α over its second half (Polyak
// and Juditsky 1992). The gain is 1 at first, so that any start in [1e−3, 1e3]
// comes home within some tens of steps; the exponent lies in (½, 1] as
// convergence demands.
type tuner struct {
	target    float64
	logAlpha  float64
	sum, mean float64 // of log α over the second half
}

const (
	tuneDelay    = 50
	tuneExponent = 0.6
)

// Beyond these bounds the distance term of the proposal is either all or
// nothing, and the acceptance rate tells nothing more about α.
var minLogAlpha, maxLogAlpha = simd.Log(1e-4), simd.Log(1e4)

func newTuner(method string, alpha, target float64) (*tuner, error) {
	if target == 0 {
		target = defaultDMALATarget
	}
	if !(target > 0 && target < 1) {
		return nil, fmt.Errorf("sampler: %s: Target = %v, want within (0, 1)", method, target)
	}
	return &tuner{target: target, logAlpha: simd.Log(alpha)}, nil
}

// adapt returns the step size to use after warm-up step number step of of.
func (t *tuner) adapt(info []Info, step, of int) float64 {
	accept := 0.0
	for i := range info {
		accept += info[i].Accept
	}
	accept /= float64(len(info))
	gain := simd.Exp(-tuneExponent * simd.Log1p(float64(step)/tuneDelay))
	t.logAlpha += float64(gain * (accept - t.target))
	t.logAlpha = min(max(t.logAlpha, minLogAlpha), maxLogAlpha)
	if from := of / 2; step >= from {
		t.sum += t.logAlpha
		t.mean = t.sum / float64(step-from+1)
	}
	if step == of-1 {
		t.logAlpha = t.mean
	}
	return simd.Exp(t.logAlpha)
}

func (t *tuner) appendBinary(b []byte) []byte {
	return appendFloat64s(b, []float64{t.logAlpha, t.sum})
}

func (t *tuner) unmarshalBinary(b []byte) ([]byte, error) {
	v := make([]float64, 2)
	b, err := readFloat64s(b, v)
	if err != nil {
		return nil, err
	}
	t.logAlpha, t.sum = v[0], v[1]
	return b, nil
}
