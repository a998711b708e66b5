package pdi

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/pool"
)

// Tilted is a target whose energy E(x, λ) = (f0 + λᵀg)/β and its score are known:
// a [dual.RealLagrangian], or one's own where all g come from one pass over x.
type Tilted interface {
	dual.Target[float32]
	energy.Scored
}

// GibbsScore is the Monte Carlo [Predictor] of any [Tilted] target: with K
// candidates y_k around the state and weights w_k ∝ exp(−E(y_k, λ)),
//
//	y_k = (x_t + σε_k)/α,  α = √ᾱ,  σ² = 1 − ᾱ,
//	ŝ = ∇_x log (1/K) Σ_k exp(−E(y_k, λ)) = −Σ_k w_k ∇E(y_k, λ)/α,
//	E[x_0|x_t] ≈ (x_t + σ²ŝ)/α
//
// (Hadou, Uslu and Ribeiro 2026; their Algorithm 2 prints a minus sign in the
// last line, plus is right). Candidates of width σ/α rarely hit where the
// distribution is: Effective says how many of the K count, and at high noise in
// 30 dimensions it is one. Center and Spread give candidates that do.
//
// States are shared out among all processors, so every one needs a source of its own
// and the target must be safe for concurrent use; numbers do not depend on how many
// there are. Terms that are continuous.Linear, of a target that says what it is made
// of, are one field.
//
// A GibbsScore keeps scratch: it belongs to one goroutine. Its arithmetic is the
// same on every GOARCH if the terms' is.
type GibbsScore struct {
	l     Tilted
	terms []energy.Scored // nil if not known
	o     GibbsOptions

	center []float64 // of the guess, tilted by the linear terms
	field  []float64 // Σλa/β of the linear terms, nil if there are none
	rest   []float64 // λ of the others
	burst  *pool.Burst
	spaces []gibbsSpace // per worker
	do     func(worker, state int)
	last   gibbsCall
}

// gibbsCall is a prediction under way, and what it leaves.
type gibbsCall struct {
	v, x      []float32
	alpha     []float64
	src       []rand.Source
	effective []float64 // per state
	err       []error
}

const (
	defaultCandidates = 64 // Hadou et al. 2026, their largest
	defaultMinAlpha   = 1e-3
)

// NewGibbsScore returns the predictor. A target that says what it is made of, by
// the methods Base and Terms of [dual.RealLagrangian], is copied; the multipliers of
// any other are from now on those of the last prediction. It returns an error for a
// nil target, one without sites or multipliers or at a temperature that is not
// positive and finite, an option out of range, or Unscaled together with a guess.
func NewGibbsScore(l Tilted, o GibbsOptions) (*GibbsScore, error) {
	if check.Nil(l) {
		return nil, fmt.Errorf("pdi: NewGibbsScore: target is nil")
	}
	if l.Sites() < 1 || l.Len() < 1 || !(l.Beta() > 0) || !check.Finite(l.Beta()) {
		return nil, fmt.Errorf("pdi: NewGibbsScore: target of %d sites and %d multipliers at temperature %v, want ≥ 1, ≥ 1 and > 0", l.Sites(), l.Len(), l.Beta())
	}
	if o.Candidates == 0 {
		o.Candidates = defaultCandidates
	}
	if o.MinAlpha == 0 {
		o.MinAlpha = defaultMinAlpha
	}
	switch {
	case o.Candidates < 1:
		return nil, fmt.Errorf("pdi: NewGibbsScore: Candidates = %d, want ≥ 0", o.Candidates)
	case !(o.MinAlpha > 0 && o.MinAlpha <= 1):
		return nil, fmt.Errorf("pdi: NewGibbsScore: MinAlpha = %v, want 0 ≤ MinAlpha ≤ 1", o.MinAlpha)
	case (o.Center == nil) != (o.Spread == nil):
		return nil, fmt.Errorf("pdi: NewGibbsScore: Center and Spread are set %t and %t, want both or none", o.Center != nil, o.Spread != nil)
	case o.Unscaled && (o.Center != nil || o.Control):
		return nil, fmt.Errorf("pdi: NewGibbsScore: Unscaled is set with Center or Control, want it alone")
	}
	n := l.Sites()
	if o.Center != nil {
		var err error
		if o.Center, err = broadcast("Center", o.Center, n, math.Inf(-1)); err == nil {
			o.Spread, err = broadcast("Spread", o.Spread, n, 0)
		}
		if err != nil {
			return nil, err
		}
	}
	var terms []energy.Scored
	if parts, ok := l.(interface {
		Base() energy.Scored
		Terms() []energy.Scored
	}); ok {
		terms = parts.Terms()
		own, err := dual.NewRealLagrangian(parts.Base(), l.Beta(), terms...)
		if err != nil {
			return nil, err
		}
		l = own // for the multipliers of a prediction are not those of l
	}
	g := &GibbsScore{l: l, o: o, terms: terms, center: slices.Clone(o.Center)}
	for _, t := range terms {
		if _, ok := t.(*continuous.Linear); ok {
			g.field, g.rest = make([]float64, n), make([]float64, len(terms))
			break
		}
	}
	workers := runtime.GOMAXPROCS(0)
	g.burst = pool.NewBurst(workers)
	for range workers {
		g.spaces = append(g.spaces, newGibbsSpace(o.Candidates, n))
	}
	g.do = g.state
	return g, nil
}

// broadcast returns v with n finite entries > above, from one or n.
func broadcast(name string, v []float64, n int, above float64) ([]float64, error) {
	if len(v) != 1 && len(v) != n {
		return nil, fmt.Errorf("pdi: NewGibbsScore: len(%s) = %d, want 1 or %d", name, len(v), n)
	}
	c := make([]float64, n)
	for i := range c {
		c[i] = v[i*len(v)/n]
		if !(c[i] > above) || !check.Finite(c[i]) {
			return nil, fmt.Errorf("pdi: NewGibbsScore: %s[%d] = %v, want a finite number > %v", name, i, c[i], above)
		}
	}
	return c, nil
}

// Sites returns the number of coordinates.
func (g *GibbsScore) Sites() int { return g.l.Sites() }

// Len returns the number of multipliers.
func (g *GibbsScore) Len() int { return g.l.Len() }

// Beta returns the temperature.
func (g *GibbsScore) Beta() float64 { return g.l.Beta() }

// Violation implements [Predictor].
func (g *GibbsScore) Violation(v []float64, x []float32) { g.l.Violation(v, x) }

// Effective returns the effective number of candidates (Σw)²/Σw², between 1 and
// K, as the mean over the states of the last Predict; 0 before.
func (g *GibbsScore) Effective() float64 {
	states := len(g.last.effective)
	if states == 0 {
		return 0
	}
	sum := 0.0
	for _, e := range g.last.effective {
		sum += e
	}
	return sum / float64(states)
}

// Predict implements [Predictor]. The error says that every candidate of a state
// has energy +Inf, or one is NaN, or that a multiplier is not finite and ≥ 0.
func (g *GibbsScore) Predict(v, x []float32, alpha, lambda []float64, src []rand.Source) error {
	n := g.l.Sites()
	check.Len("pdi", "v", len(v), len(x))
	check.Len("pdi", "x", len(x), len(alpha)*n)
	check.Len("pdi", "src", len(src), len(alpha))
	c := &g.last
	c.effective, c.err = slices.Grow(c.effective[:0], len(alpha))[:len(alpha)], slices.Grow(c.err[:0], len(alpha))[:len(alpha)]
	clear(c.effective)
	if err := g.l.SetLambda(lambda); err != nil {
		return err
	}
	if err := g.tilt(lambda); err != nil {
		return err
	}
	c.v, c.x, c.alpha, c.src = v, x, alpha, src
	g.burst.Each(len(alpha), g.do)
	c.v, c.x, c.alpha, c.src = nil, nil, nil, nil
	for s, err := range c.err {
		if err != nil {
			return fmt.Errorf("pdi: GibbsScore: state %d: %w", s, err)
		}
	}
	return nil
}

// tilt moves the guess by the terms whose effect on a Gaussian is known, and takes
// them out of the target.
func (g *GibbsScore) tilt(lambda []float64) error {
	copy(g.center, g.o.Center)
	if g.field == nil {
		return nil
	}
	clear(g.field)
	copy(g.rest, lambda)
	for j, t := range g.terms {
		if t, ok := t.(*continuous.Linear); ok {
			w := lambda[j] / g.l.Beta()
			for i, a := range t.Slope() {
				g.field[i] += float64(w * a)
			}
			g.rest[j] = 0
		}
	}
	for i := range g.center {
		g.center[i] -= float64(g.field[i] * g.o.Spread[i])
	}
	return g.l.SetLambda(g.rest)
}

// state predicts one state of the call under way.
func (g *GibbsScore) state(worker, s int) {
	c, n := &g.last, g.l.Sites()
	c.effective[s], c.err[s] = g.one(&g.spaces[worker], c.v[s*n:(s+1)*n], c.x[s*n:(s+1)*n], c.alpha[s], c.src[s])
}
