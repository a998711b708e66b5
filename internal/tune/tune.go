// Package tune adapts step sizes during warm-up.
package tune

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// Target is the mean acceptance probability to which step sizes are adapted by default. It is
// optimal for Langevin proposals in continuous spaces (Roberts and Rosenthal 1998), and nearly
// optimal in discrete spaces (Sun, Dai and Schuurmans 2022).
const Target = 0.574

// Tuner adapts the step size α of a Markov chain method during warm-up, until the mean acceptance
// probability equals a target. It uses Robbins and Monro's stochastic approximation on log α. After
// step n of a block of chains
//
//	log α ← log α + γ_n (mean acceptance of the block − target),  γ_n = (1 + n/50)^(−0.6).
//
// At the end of warm-up, log α becomes its average over the second half of warm-up (Polyak and
// Juditsky 1992). Any start in [1e−3, 1e3] converges within a few dozen steps. The bounds of α are
// 1e−4 and 1e4.
//
// A proposal that changes nothing is accepted whatever the step size. Such proposals are ignored
// while their fraction over about the last 50 steps exceeds the target. If they counted, α would
// move to a bound.
type Tuner struct {
	target    float64
	logAlpha  float64
	sum, mean float64 // sum and mean of log α over the second half of warm-up
	still     float64 // fraction of proposals that change nothing, over about the last memory steps
}

const (
	delay    = 50  // scale of the step number n in the gain γ_n, see Tuner
	exponent = 0.6 // exponent in the gain γ_n, see Tuner

	// memory is the number of steps over which proposals that change nothing are averaged. It
	// covers the first, small steps on small models.
	memory = 50
)

// Proposals summarises the proposals of one step of a block of chains.
type Proposals struct {
	Accept   float64 // mean acceptance probability of all proposals
	Changing float64 // fraction of proposals that would change the state
	// mean acceptance probability of the proposals that would change the state; 0 if there are
	// none
	Among float64
}

// Mean summarises the n proposals of one step of a block of chains. For proposal i, outcome returns
// the acceptance probability and the number of sites that moved. A proposal counts as one that
// changes nothing if its probability is 1 and no site moved.
func Mean(n int, outcome func(i int) (accept float64, moved int)) Proposals {
	p, changing := Proposals{}, 0
	for i := range n {
		accept, moved := outcome(i)
		p.Accept += accept
		if accept < 1 || moved > 0 {
			p.Among += accept
			changing++
		}
	}
	p.Accept /= float64(n)
	p.Changing = float64(changing) / float64(n)
	p.Among /= float64(max(changing, 1))
	return p
}

// minLogAlpha and maxLogAlpha bound log α. Beyond them the distance term of a proposal is
// negligible or dominant, and the acceptance probability contains no information about α.
var minLogAlpha, maxLogAlpha = simd.Log(1e-4), simd.Log(1e4)

// New returns a tuner that starts at step size alpha; a target of 0 means [Target]. It returns an
// error if the target is not within (0, 1). The message begins with caller, such as "sampler:
// DMALA".
func New(caller string, alpha, target float64) (*Tuner, error) {
	if target == 0 {
		target = Target
	}
	if !(target > 0 && target < 1) {
		return nil, fmt.Errorf("%s: Target = %v, want within (0, 1)", caller, target)
	}
	return &Tuner{target: target, logAlpha: simd.Log(alpha)}, nil
}

// Start returns the initial step size of a method, and its tuner. If alpha is not 0, the step size
// is fixed at alpha and the tuner is nil. Otherwise the step size starts at defaultAlpha, and the
// tuner adapts it. Start returns the same error as [New].
func Start(caller string, alpha, defaultAlpha, target float64) (float64, *Tuner, error) {
	if alpha != 0 {
		return alpha, nil, nil
	}
	t, err := New(caller, defaultAlpha, target)
	return defaultAlpha, t, err
}

// Adapt updates the step size α after step k of n warm-up steps, counted from 0, and returns α. The
// argument accept is the mean acceptance probability of that step.
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

// AdaptTo updates the step size α after step k of n like [Tuner.Adapt], but from a summary of the
// step's proposals. A proposal that changes nothing is ignored while the fraction of such proposals
// over about the last 50 steps exceeds the target. If no proposal is left, AdaptTo increases log α
// by γ·(1 − target)/50, where γ is the gain of the step (see [Tuner]).
func (t *Tuner) AdaptTo(p Proposals, k, n int) float64 {
	t.still += (1 - p.Changing - t.still) / memory
	accept := p.Accept
	if t.still > t.target {
		if accept = p.Among; p.Changing == 0 {
			accept = t.target + (1-t.target)/memory
		}
	}
	return t.Adapt(accept, k, n)
}

// Bound returns −1 if the step size is at its lower bound, where too few proposals are accepted.
// It returns 1 if the step size is at its upper bound and most proposals change nothing.
// Otherwise it returns 0.
func (t *Tuner) Bound() int {
	switch {
	case t.logAlpha < minLogAlpha+near:
		return -1
	case t.logAlpha > maxLogAlpha-near && t.still > t.target:
		return 1
	}
	return 0
}

// near is the distance from a bound on log α within which a step size counts as being at the bound.
// The distance corresponds to a factor of 2, because the final step size is the average of a walk
// along the bound.
const near = 0.7

// Warning returns a sentence that warns the user about a step size alpha at its lower or upper
// bound. It returns "" if alpha is not at a bound or t is nil.
func (t *Tuner) Warning(alpha float64) string {
	if t == nil {
		return ""
	}
	switch t.Bound() {
	case -1:
		return fmt.Sprintf("warm-up took the step size down to its bound, %.2g: proposals are rejected however short they are; try Gibbs, or a method that changes one site", alpha)
	case 1:
		return fmt.Sprintf("warm-up took the step size up to its bound, %.2g: most proposals change nothing, and no shorter step would help; try Gibbs or Tempering", alpha)
	}
	return ""
}

// Fields reads or writes the state of the tuner.
func (t *Tuner) Fields(f *wire.Fields) {
	for _, v := range []*float64{&t.logAlpha, &t.sum, &t.still} {
		f.Float64(v)
	}
}

// Goal returns the mean acceptance probability to which the tuner adapts the step size.
func (t *Tuner) Goal() float64 { return t.target }

// Set replaces the step size by alpha, for callers that apply their own bounds.
func (t *Tuner) Set(alpha float64) { t.logAlpha = simd.Log(alpha) }
