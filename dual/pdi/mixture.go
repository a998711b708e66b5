package pdi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/concave"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// Mixture is a [Predictor] that computes posterior means exactly. The base distribution exp(−f0/β),
// with the energy f0 and the temperature β, must be a Gaussian mixture, and the constraints must be
// linear. The distribution tilted by the multipliers is then a Gaussian mixture, too. A Mixture is
// immutable and safe for concurrent use.
type Mixture struct {
	mixture *continuous.Mixture
	terms   []*continuous.Linear // linear energy of each row
	rows    []dual.Row
	equal   []bool
	beta    float64
}

// NewMixture returns the predictor for the base distribution m and constraints whose statistics are
// continuous.Linear. It returns the same errors as [dual.NewRealLagrangian], and an error if a
// statistic is not linear.
func NewMixture(m *continuous.Mixture, beta float64, constraints ...dual.Constraint[float32]) (*Mixture, error) {
	if m == nil {
		return nil, fmt.Errorf("pdi: NewMixture: m = nil")
	}
	l, err := dual.NewRealLagrangian(m, beta, constraints...)
	if err != nil {
		return nil, fmt.Errorf("pdi: NewMixture: %w", err)
	}
	p := &Mixture{mixture: m, rows: l.Rows(), equal: equal(l), beta: beta}
	for j, t := range l.Terms() {
		linear, ok := t.(*continuous.Linear)
		if !ok {
			return nil, fmt.Errorf("pdi: NewMixture: row %d is not linear: its statistic is a %T, want a *continuous.Linear", j, t)
		}
		p.terms = append(p.terms, linear)
	}
	return p, nil
}

// Rows returns a description of every inequality, one per multiplier.
func (p *Mixture) Rows() []dual.Row { return slices.Clone(p.rows) }

// Sites returns the number of coordinates of a state.
func (p *Mixture) Sites() int { return p.mixture.Sites() }

// Len returns the number of inequalities, which is the number of multipliers.
func (p *Mixture) Len() int { return len(p.terms) }

// Beta returns the temperature β given to [NewMixture].
func (p *Mixture) Beta() float64 { return p.beta }

// tilt stores in t the vector −Aᵀλ/β, where row j of A is the slope of constraint j.
func (p *Mixture) tilt(t, lambda []float64) {
	clear(t)
	for j, l := range lambda {
		w := l / p.beta
		for i, a := range p.terms[j].Slope() {
			t[i] -= float64(w * a)
		}
	}
}

// Predict stores in v the exact posterior means of the clean states, given the noisy states x. It
// implements [Predictor].
func (p *Mixture) Predict(v, x []float32, alpha, lambda []float64, _ []rand.Source) error {
	t := scratch.Float64s.Get(p.Sites())
	defer scratch.Float64s.Put(t)
	p.tilt(*t, lambda)
	p.mixture.Posterior(v, x, alpha, *t)
	return nil
}

// Violation stores in g the constraint functions g_j at every state of x (states × Len). Constraint
// j holds where g_j ≤ 0. It implements [Predictor].
func (p *Mixture) Violation(g []float64, x []float32) {
	n := p.Sites()
	states := len(x) / n
	check.Len("pdi", "g", len(g), states*len(p.terms))
	e := scratch.Float64s.Get(states)
	defer scratch.Float64s.Put(e)
	for j, t := range p.terms {
		t.Energy(*e, x)
		for s, v := range *e {
			g[s*len(p.terms)+j] = v
		}
	}
}

// Law returns the tilted distribution μ_λ ∝ exp(−(f0 + λᵀg)/β) at the given multipliers λ, which
// must be finite.
func (p *Mixture) Law(lambda []float64) *continuous.Mixture {
	t := make([]float64, p.Sites())
	p.tilt(t, lambda)
	m, _ := p.mixture.Tilt(t)
	return m
}

// Solve returns the exact optimum λ*, which maximises the dual function D(λ) = −β log Z(λ). The
// partition function Z has a closed form, so this is a concave problem with one variable per
// constraint. If a combination of the constraint functions is a positive constant, no distribution
// satisfies the constraints. The error is then a [*dual.DivergedError] whose Margin is the constant
// and whose Proven is false. If ctx ends, Solve returns the error of ctx.
func (p *Mixture) Solve(ctx context.Context) (*dual.Solution, error) {
	n := p.Len()
	top, err := concave.Maximize(ctx, p.dual, make([]float64, n), p.beta, p.equal)
	var away *concave.Unbounded
	if errors.As(err, &away) {
		top, err = &concave.Top{Residual: math.Inf(1), Last: away.Lambda}, nil
	}
	if err != nil {
		return nil, err
	}
	s := &dual.Solution{Lambda: top.Lambda, Violation: make([]float64, n), Rows: p.Rows()}
	if top.Residual > concave.Accepted {
		p.dual(top.Last, s.Violation, make([]float64, n*n), make([]float64, n))
		return nil, p.diverging(top.Last, concave.Projected(top.Last, s.Violation, p.equal))
	}
	s.Dual = p.dual(top.Lambda, s.Violation, make([]float64, n*n), make([]float64, n))
	return s, nil
}

// diverging returns the error for multipliers that diverge while a violation remains. The error
// is not proven, because states of reals cannot be enumerated.
func (p *Mixture) diverging(lambda []float64, violation float64) *dual.DivergedError {
	e := &dual.DivergedError{Lambda: lambda, Direction: slices.Clone(lambda), Margin: violation, Steps: 1, Rows: p.Rows()}
	sum := 0.0
	for _, v := range lambda {
		sum += math.Abs(v)
	}
	for j := range e.Direction {
		e.Direction[j] /= sum
	}
	return e
}

// dual is the concave dual function with its gradient, curvature and size, the standard deviation of
// g_j. Let p_k be the weights and μ_k
// the means of the tilted mixture. Then E[g_j] = Σ_k p_k a_jᵀμ_k + c_j. The covariance of g is the
// covariance of the component means plus the mean covariance of the components.
func (p *Mixture) dual(lambda, grad, curv, size []float64) float64 {
	n, d := p.Len(), p.Sites()
	t := make([]float64, d)
	p.tilt(t, lambda)
	tilted, logZ := p.mixture.Tilt(t)
	constant := 0.0
	zero, e := make([]float32, d), make([]float64, 1)
	c := make([]float64, n)
	for j, g := range p.terms {
		g.Energy(e, zero)
		c[j] = e[0]
		constant += float64(lambda[j] * c[j])
	}
	clear(grad)
	clear(curv)
	weight, mean, spread := make([]float64, tilted.Components()), make([]float64, d), make([]float64, d)
	means := make([][]float64, tilted.Components())
	for k := range weight {
		weight[k] = tilted.Component(k, mean)
		means[k] = make([]float64, n)
		for j, g := range p.terms {
			for i, a := range g.Slope() {
				means[k][j] += float64(a * mean[i])
			}
			grad[j] += float64(weight[k] * means[k][j])
		}
		for i := range n {
			tilted.Covariance(k, spread, p.terms[i].Slope())
			for j := range n {
				sum := 0.0
				for s, v := range spread {
					sum += float64(v * p.terms[j].Slope()[s])
				}
				curv[i*n+j] += weight[k] * sum / p.beta
			}
		}
	}
	for k, w := range weight {
		for i := range n {
			for j := range n {
				curv[i*n+j] += w * (means[k][i] - grad[i]) * (means[k][j] - grad[j]) / p.beta
			}
		}
	}
	for j := range grad {
		grad[j] += c[j]
		size[j] = math.Sqrt(curv[j*n+j] * p.beta)
	}
	v := constant - float64(p.beta*logZ)
	if math.IsNaN(v) {
		return math.Inf(-1)
	}
	return v
}
