package unlearn

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
)

// Rejection draws exact, independent states from the distribution ∝ q·a, where 0 ≤ a ≤ 1 is an
// acceptance probability. It draws a state x from q, and accepts x with probability a(x). If a is
// [AcceptForward] or [AcceptLikelihood], the states are exact samples from the optimum p_λ of the
// corresponding formulation at the multipliers λ. A Rejection is a [dual.Resampler] and therefore a
// [dual.Primal]. Run(ctx, n) replaces all states n times, so only the last states remain.
//
// Run returns an error of ctx or of a draw from q, or a [*TrialsError]. It also returns an error if
// a(x) is above 1 or NaN; no distribution p_λ then exists at this λ. After an error, the draws in
// progress are lost.
//
// The sequence of accepted states does not depend on the number of states. Draws from q come in
// batches, and a Run first uses the draws from q that the previous Run has not used. Methods must
// not be called concurrently with each other.
type Rejection[S energy.Site] struct {
	*dual.Resampler[S]
	draw   func(ctx context.Context, x []S) error
	accept func(x []S) float64
	trials int
	src    rand.Source
	sites  int
	drawn  []S // batch of draws from q
	next   int // index of the next draw in drawn to accept or reject
	tried  int
	kept   int
}

// defaultTrials is the default number of draws allowed for one state. At an acceptance of 1 in
// 1000, the chance of needing more is e^−1000.
const defaultTrials = 1_000_000

// TrialsError reports that no draw was accepted for a state within the allowed number of trials.
// The states before this one have been replaced by new draws; the others have not.
type TrialsError struct {
	State, Trials int     // index of the state; number of draws that were tried for it
	Accepted      float64 // acceptance rate of all draws so far
}

func (e *TrialsError) Error() string {
	return fmt.Sprintf("unlearn: Rejection: state %d was not accepted in %d trials (acceptance so far %.3g)", e.State, e.Trials, e.Accepted)
}

// NewRejection returns a sampler with the given number of states. The function draw fills x with
// draws from q, one for each of these states, like the method Sample of a diffusion. The function
// accept returns log a(x) ≤ 0, or −Inf to reject x always. The argument trials is the largest
// number of draws from q per state; 0 means 10⁶. The states are zeros before the first Run.
//
// NewRejection returns an error unless sites ≥ 1, states ≥ 1, trials ≥ 0, and draw, accept and src
// are not nil.
func NewRejection[S energy.Site](sites, states int, draw func(ctx context.Context, x []S) error, accept func(x []S) float64, trials int, src rand.Source) (*Rejection[S], error) {
	if trials < 0 || draw == nil || accept == nil {
		return nil, fmt.Errorf("unlearn: NewRejection: trials = %d, draw set = %t, accept set = %t, want ≥ 0, true and true", trials, draw != nil, accept != nil)
	}
	if err := check.Given("unlearn: NewRejection", "src", src); err != nil {
		return nil, err
	}
	if trials == 0 {
		trials = defaultTrials
	}
	r := &Rejection[S]{draw: draw, accept: accept, trials: trials, src: src, sites: sites}
	var err error
	if r.Resampler, err = dual.NewResampler(sites, states, r.fill); err != nil {
		return nil, fmt.Errorf("unlearn: NewRejection: %w", err)
	}
	r.drawn = make([]S, sites*states)
	r.next = states
	return r, nil
}

// fill replaces every state by an independent draw.
func (r *Rejection[S]) fill(ctx context.Context, x []S) error {
	for k := range len(x) / r.sites {
		if err := r.one(ctx, k, x[k*r.sites:(k+1)*r.sites]); err != nil {
			return err
		}
	}
	return nil
}

// one replaces state k, stored in x, by an accepted draw.
func (r *Rejection[S]) one(ctx context.Context, k int, x []S) error {
	for range r.trials {
		if r.next*r.sites == len(r.drawn) {
			if err := poll.Err(ctx); err != nil {
				return err
			}
			if err := r.draw(ctx, r.drawn); err != nil {
				return fmt.Errorf("unlearn: Rejection: state %d: %w", k, err)
			}
			r.next = 0
		}
		y := r.drawn[r.next*r.sites : (r.next+1)*r.sites]
		r.next++
		a := r.accept(y)
		if !(a <= 0) {
			return fmt.Errorf("unlearn: Rejection: log acceptance of state %d = %v, want ≤ 0", k, a)
		}
		r.tried++
		if float64(r.src.Uint64()>>11)*0x1p-53 < simd.Exp(a) {
			r.kept++
			copy(x, y)
			return nil
		}
	}
	return &TrialsError{k, r.trials, r.Acceptance()}
}

// Acceptance returns the fraction of all draws from q that were accepted, or 0 before the first
// draw. It estimates the mean acceptance probability E_q[a], which is the normaliser Z_λ of q·a.
func (r *Rejection[S]) Acceptance() float64 {
	if r.tried == 0 {
		return 0
	}
	return float64(r.kept) / float64(r.tried)
}

// AcceptForward returns the log-probability with which a [Rejection] for [ForwardKL] accepts a
// state x,
//
//	log(1 − Σ_i λ_i r_i),
//
// where r_i = q_i/q is the density ratio at x. The mean acceptance probability is 1 − Σλ_i. If the
// probability would be negative, the result is NaN, because no distribution p_λ exists.
func AcceptForward(lambda, ratio []float64) float64 {
	check.Len("unlearn", "ratio", len(ratio), len(lambda))
	v := 1 - weighted.Dot(lambda, ratio)
	if v < 0 {
		return math.NaN()
	}
	return simd.Log(v)
}

// AcceptLikelihood returns the log-probability −Σ_i λ_i r_i with which a [Rejection] accepts a
// state x. It is for the formulations [Likelihood] and [LikelihoodRatio]. Here r_i is the bounded
// quantity at x: q_i for Likelihood, q_i/q for LikelihoodRatio.
func AcceptLikelihood(lambda, r []float64) float64 {
	check.Len("unlearn", "r", len(r), len(lambda))
	return 0 - weighted.Dot(lambda, r)
}
