// Package tune owns the adaptation of step sizes during warm-up.
package tune

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// Target is the mean acceptance probability that adaptation aims at unless told
// otherwise: the optimum for Langevin proposals in continuous spaces (Roberts
// and Rosenthal 1998) and close to it in discrete ones (Sun, Dai and Schuurmans
// 2022).
const Target = 0.574

// Tuner is Robbins and Monro's stochastic approximation on log α: after step n
//
//	log α ← log α + γ_n (mean acceptance of the block − target),  γ_n = (1 + n/50)^(−0.6),
//
// and, once warm-up is over, the average of log α over its second half (Polyak
// and Juditsky 1992). The gain is 1 at first, so that any start in [1e−3, 1e3]
// comes home within some tens of steps; the exponent lies in (½, 1] as
// convergence demands.
type Tuner struct {
	target    float64
	logAlpha  float64
	sum, mean float64 // of log α over the second half
}

const (
	delay    = 50
	exponent = 0.6
)

// Beyond these bounds the distance term of the proposal is either all or
// nothing, and the acceptance rate tells nothing more about α.
var minLogAlpha, maxLogAlpha = simd.Log(1e-4), simd.Log(1e4)

// New returns a tuner that starts at step size alpha; target 0 means [Target].
// who, such as "sampler: DMALA", begins the message of the error, which says
// that the target is not within (0, 1).
func New(who string, alpha, target float64) (*Tuner, error) {
	if target == 0 {
		target = Target
	}
	if !(target > 0 && target < 1) {
		return nil, fmt.Errorf("%s: Target = %v, want within (0, 1)", who, target)
	}
	return &Tuner{target: target, logAlpha: simd.Log(alpha)}, nil
}

// Adapt returns the step size to use after warm-up step k of n (from 0), whose
// mean acceptance probability was accept.
func (t *Tuner) Adapt(accept float64, k, n int) float64 {
	gain := simd.Exp(-exponent * simd.Log1p(float64(k)/delay))
	t.logAlpha += float64(gain * (accept - t.target))
	t.logAlpha = min(max(t.logAlpha, minLogAlpha), maxLogAlpha)
	if from := n / 2; k >= from {
		t.sum += t.logAlpha
		t.mean = t.sum / float64(k-from+1)
	}
	if k == n-1 {
		t.logAlpha = t.mean
	}
	return simd.Exp(t.logAlpha)
}

// Append appends the state of the tuner to b.
func (t *Tuner) Append(b []byte) []byte {
	return wire.AppendFloat64s(b, []float64{t.logAlpha, t.sum})
}

// Restore reads what Append wrote from the front of b and returns the rest.
func (t *Tuner) Restore(b []byte) ([]byte, error) {
	v := make([]float64, 2)
	b, err := wire.ReadFloat64s(b, v)
	if err != nil {
		return nil, err
	}
	t.logAlpha, t.sum = v[0], v[1]
	return b, nil
}

// Goal returns the mean acceptance probability that the tuner aims at.
func (t *Tuner) Goal() float64 { return t.target }

// Set moves the step size to alpha, for a caller that holds it within bounds of
// its own.
func (t *Tuner) Set(alpha float64) { t.logAlpha = simd.Log(alpha) }
