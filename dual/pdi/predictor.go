package pdi

import (
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual"
)

// Predictor computes posterior means of the distribution μ_λ ∝ exp(−(f0 + λᵀg)/β) of reals
// under Gaussian noise, which is all that primal–dual inference needs to know about an
// energy. It may implement [dual.Described].
type Predictor interface {
	Sites() int
	Len() int // of λ
	Beta() float64

	// Predict stores in v the posterior means E_λ[x_0 | x_t] of the states x (states ×
	// sites) under the noise x_t = √ᾱ·x_0 + √(1−ᾱ)·ε, alpha[s] = ᾱ of state s. src[s] is
	// the source of randomness for state s only; a predictor that draws from it is an
	// [Estimator]. Predict must not keep its arguments.
	Predict(v, x []float32, alpha, lambda []float64, src []rand.Source) error

	// Violation stores g(x[s]), states × Len.
	Violation(g []float64, x []float32)
}

// equal returns which multipliers of a predictor or target have either sign (nil: none): it
// may be [dual.Described].
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

// Estimator is a predictor based on random candidates, such as [GibbsScore].
// [Denoiser.Effective] returns the values that it reports.
type Estimator interface {
	Predictor

	// Effective returns the effective number of candidates of the last Predict.
	Effective() float64
}

// Forecaster is a predictor that can also compute the posterior mean of the violations,
// which for nonlinear g differs from g at the posterior mean. The predictive rule moves λ
// by this mean.
type Forecaster interface {
	Predictor

	// Forecast does what Predict does and also stores in g the posterior means
	// E_λ[g(Π(x_0)) | x_t], states × Len. domain is Π; nil means none.
	Forecast(v []float32, g []float64, x []float32, alpha, lambda []float64, src []rand.Source, domain func(x []float32)) error
}

// projected is a predictor whose predictions are projected onto a domain, unless
// that is nil.
type projected struct {
	Predictor
	domain   func(x []float32)
	forecast Forecaster // nil if violations are those of predictions
}

// predict stores the projected predictions of states at λ and their violations.
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
