package mcmc

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"

	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// proposal proposes moves of a block of chains. Most are the discrete Langevin
// proposal (Zhang, Liu and Liu 2022, equation 3),
//
//	q_i(l|x) ∝ exp( −β (E(x with x_i=l) − E(x)) − δ²(l, x_i)/(2 α_i) ),
//
// independently for every site i, with exact differences or those of the model's
// first-order table, and β = ½ unless tune sets another; a different balance g
// replaces √t in exp(−½Δ). A proposal holds two sets of weights: those of the
// current states and those of the last loaded states.
type proposal interface {
	// evaluate evaluates the model at the states of chains lo … hi−1 of y (chains × sites):
	// energies to e, differences to the loaded set. x are the states of the current weights, nil if
	// there are none yet.
	evaluate(lo, hi int, e []float64, y, x []int32, at *sweep.Cursor) bool

	// weigh turns the loaded differences of these chains, at y, into weights. Like
	// evaluate, it returns false if it was stopped and is to be called again.
	weigh(lo, hi int, y []int32, at *sweep.Cursor) bool

	// accept makes the loaded weights of chains lo … hi−1 their current ones.
	accept(lo, hi int)

	// tune sets the step size α and the balance β of weights made after the call. rebuild makes the
	// current weights of chains lo … hi−1, at x, again; it returns false if it was stopped and must
	// be called again.
	tune(alpha, beta float64)
	rebuild(lo, hi int, x []int32, at *sweep.Cursor) bool

	// work returns the number of elementary operations that each of these methods takes for one
	// chain.
	work() int

	// draw stores in y a draw from q(·|x) for chain s at state x and returns the
	// number of changed sites and log q(y|x), NaN if the weights are not defined.
	draw(y, x []int32, s int, r *sampler.Stream) (moved int, logq float64)

	// logProb returns log q(y|x) by the loaded weights of chain s, which are those at x; −Inf if y
	// cannot be proposed.
	logProb(y, x []int32, s int) float64

	// current returns log q(y|x) by the current weights, which are those at x.
	current(y, x []int32, s int) float64

	// check returns a *StartError if a chain cannot start from one of the states lo … hi−1 of x.
	check(lo, hi int, x []int32) error

	// start replaces the one state x by one that the chain can start from.
	start(x []int32, r *sampler.Stream) error

	// fields reads or writes the checkpoint. Before it reads, tune has set the step size and
	// balance ½.
	fields(f *wire.Fields)
}

// estimated is a proposal that can take its differences from an energy.Stochastic model.
type estimated interface {
	// loaded returns where the differences of the chains lo … hi−1 are loaded.
	loaded(lo, hi int) []float32
}

// unstepped is the part of a proposal without a step size.
type unstepped struct{}

func (unstepped) tune(float64, float64)                         {}
func (unstepped) rebuild(int, int, []int32, *sweep.Cursor) bool { return true }

// resetProposal makes the current weights of the chains lo … hi−1 those at the states x, in three
// stages, unless it is stopped.
func resetProposal(p proposal, stage, lo, hi int, e []float64, x []int32, at *sweep.Cursor, stale []bool) (bool, error) {
	switch stage {
	case 0:
		return true, p.check(lo, hi, x)
	case 1:
		return p.evaluate(lo, hi, e, x, nil, at), nil
	}
	if !p.weigh(lo, hi, x, at) {
		return false, nil
	}
	p.accept(lo, hi)
	clear(stale[lo:hi])
	return true, sweep.CheckStart(e, lo, hi)
}

// unconfined is the part of a proposal without a language.
type unconfined struct{}

func (unconfined) check(int, int, []int32) error        { return nil }
func (unconfined) start([]int32, *sampler.Stream) error { return nil }

// checkStep returns an error unless 0 ≤ alpha < ∞; 0 stands for the default.
func checkStep(method string, alpha float64) error {
	return check.If(!(alpha >= 0) || math.IsInf(alpha, 1), "mcmc: %s: StepSize = %v, want positive and finite (0 for the default)", method, alpha)
}

// product multiplies probabilities and takes a single logarithm at the end.
type product struct {
	factor   float64
	exponent int // the product is factor · 2^(−rescaleBy·exponent)
}

// A running factor below 2⁻⁶⁰⁰ is scaled up by 2⁶⁰⁰, so that one more
// probability, at least leastWeight over the number of levels, keeps it normal.
const (
	rescaleBy    = 600
	rescaleBelow = 0x1p-600
	rescale      = 0x1p600
)

func newProduct() product { return product{factor: 1} }

// mul multiplies by the probability q; 0 and NaN stick.
func (p *product) mul(q float64) {
	p.factor *= q
	if p.factor < rescaleBelow && p.factor > 0 {
		p.factor *= rescale
		p.exponent++
	}
}

// log returns the logarithm of the product, −Inf if it is 0.
func (p *product) log() float64 {
	scale := float64(rescaleBy * math.Ln2)
	return simd.Log(p.factor) - float64(float64(p.exponent)*scale)
}
