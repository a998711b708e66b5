package pdi

import (
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual"
)

// Predictor computes the posterior means of clean states, given noisy states. A noisy state is a
// clean state with Gaussian noise. States are vectors of real numbers. The clean states have the
// distribution
//
//	μ_λ ∝ exp(−(f0 + λᵀg)/β),
//
// the base distribution tilted by multipliers λ. A Predictor may implement [dual.Described].
type Predictor interface {
	Sites() int
	Len() int // number of multipliers λ
	Beta() float64

	// Predict stores in v the posterior means E_λ[x_0 | x_t] of the clean states x_0. The noisy
	// states x_t are in x (states × sites). State s was made with ᾱ = alpha[s] and standard normal
	// noise ε:
	//
	//	x_t = √ᾱ·x_0 + √(1−ᾱ)·ε.
	//
	// The random source src[s] is for state s only; a predictor that draws from it is an
	// [Estimator]. Predict must not keep its arguments.
	Predict(v, x []float32, alpha, lambda []float64, src []rand.Source) error

	// Violation stores in g the constraint functions g_j at every state of x (states × Len).
	// Constraint j holds where g_j ≤ 0.
	Violation(g []float64, x []float32)
}

// equal marks the multipliers of p that may have either sign, if p is [dual.Described]. It returns
// nil if no multiplier may.
func equal(p any) []bool {
	d, ok := p.(dual.Described)
	if !ok {
		return nil
	}
	rows := d.Rows()
	if !slices.ContainsFunc(rows, func(r dual.Row) bool { return r.Equal }) {
		return nil
	}
	free := make([]bool, len(rows))
	for j, r := range rows {
		free[j] = r.Equal
	}
	return free
}

// Estimator is a predictor that estimates the posterior mean from random candidates, such as
// [GibbsScore].
type Estimator interface {
	Predictor

	// Effective returns the effective number of candidates, (Σw)²/Σw² for candidates with weights
	// w, in the last call of Predict.
	Effective() float64
}

// Forecaster is a predictor that can also compute the posterior mean of the violations g. For
// nonlinear g this mean differs from the value of g at the posterior mean of the state. The
// predictive rule (see [Config]) moves λ by the posterior mean of g.
type Forecaster interface {
	Predictor

	// Forecast stores predictions in v like Predict. It also stores in g (states × Len) the
	// posterior means E_λ[g(Π(x_0)) | x_t] of the violations. The argument domain is the projection
	// Π; nil means none.
	Forecast(v []float32, g []float64, x []float32, alpha, lambda []float64, src []rand.Source, domain func(x []float32)) error
}

// projected is a predictor whose predictions are projected onto a domain. A nil domain means no
// projection.
type projected struct {
	Predictor
	domain func(x []float32)
	// computes the violations; nil means that they are evaluated at the predictions
	forecast Forecaster
}

// predict stores in v the projected predictions for the states x at lambda, and in g the violations
// at these predictions.
func (p projected) predict(v []float32, g []float64, x []float32, alpha, lambda []float64, src []rand.Source) error {
	var err error
	if p.forecast != nil {
		err = p.forecast.Forecast(v, g, x, alpha, lambda, src, p.domain)
	} else {
		err = p.Predict(v, x, alpha, lambda, src)
	}
	if err != nil {
		return err
	}
	if p.domain != nil {
		n := p.Sites()
		for at := 0; at < len(v); at += n {
			p.domain(v[at : at+n])
		}
	}
	if p.forecast == nil {
		p.Violation(g, v)
	}
	return nil
}
