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
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Tilted is a target that can compute its energy
//
//	E(x, λ) = (f0(x) + λᵀg(x))/β
//
// and its score −∇E, where the gradient is with respect to x. Here f0 is the base energy, λ are the
// multipliers of the constraints g ≤ 0, and β is the temperature. A [dual.RealLagrangian] is
// Tilted. You can write your own type, for instance if one pass over x can compute all g.
type Tilted interface {
	dual.Target[float32]
	energy.Scored
}

// Composed is a [Tilted] target that gives access to its parts. Base returns the base energy f0,
// and Terms returns the constraint functions g_j in the order of the multipliers.
type Composed interface {
	Base() energy.Scored
	Terms() []energy.Scored
}

var _ Composed = (*dual.RealLagrangian)(nil)

// GibbsScore is the Monte Carlo [Predictor] of any [Tilted] target. It estimates the posterior mean
// of the clean state x_0 given the noisy state x_t from K candidates y_k:
//
//	y_k = (x_t + σε_k)/α,  α = √ᾱ, σ² = 1 − ᾱ,
//	ŝ = ∇_x log (1/K) Σ_k exp(−E(y_k, λ)) = −Σ_k w_k ∇E(y_k, λ)/α,
//	E[x_0|x_t] ≈ (x_t + σ²ŝ)/α
//
// Here ᾱ is the signal level, ε_k is standard normal, and E is the energy of the target at the
// multipliers λ. The weights are w_k ∝ exp(−E(y_k, λ)). The method is Algorithm 2 of Hadou, Uslu
// and Ribeiro (2026), whose last line has a wrong minus sign.
//
// In high dimensions at high noise, often only one candidate contributes (see
// [GibbsScore.Effective]). GibbsOptions.Center and Spread give better candidates.
//
// Each state needs its own random source, and the target must be safe for concurrent use. Results
// do not depend on the number of processors, and are the same on every GOARCH if the energies of
// the target are. A GibbsScore must be used by one goroutine at a time.
type GibbsScore struct {
	l     Tilted
	rows  []dual.Row
	terms []energy.Scored // terms of a Composed target; nil if unknown
	o     GibbsOptions

	center []float64 // mean of the guessed Gaussian, tilted by the linear terms
	linear bool      // whether all terms are linear
	// Σ_j λ_j a_j/β over the linear terms with slopes a_j; nil if there are none
	field  []float64
	rest   []float64 // multipliers, with 0 for the linear terms
	burst  *pool.Burst
	spaces []gibbsSpace // scratch of each worker
	do     func(worker, state int)
	last   gibbsCall
}

// GibbsOptions holds the settings of [GibbsScore]. By default, the estimate of the posterior mean
// is the weighted mean Σ w_k y_k of the candidates y_k with weights w_k. This requires a Gaussian
// guess of the base distribution in Center and Spread. For the estimator of the paper, set Score to
// true and leave Center and Spread nil.
type GibbsOptions struct {
	Candidates int // number K of candidates; 0 means 64

	// Center and Spread, if not nil, are the mean and the variances of a Gaussian that resembles
	// the base distribution exp(−f0/β). They improve the candidates. They hold one entry per
	// coordinate, or a single entry for all. Constraints of type continuous.Linear tilt this
	// Gaussian by their multipliers. Candidates are drawn from its posterior given the noisy state
	// x_t. With many candidates the estimate tends to the same limit, whatever the Gaussian.
	Center, Spread []float64

	// Antithetic draws candidates in pairs whose noise is +ε and −ε. Errors that are odd in ε then
	// cancel.
	Antithetic bool

	// Score estimates the posterior mean from the estimated score ŝ of the noisy state (see
	// [GibbsScore]), as in the paper. Otherwise the estimate is the weighted mean Σ w_k y_k of the
	// candidates. With few effective candidates, ŝ is unreliable, because it rests on the score of
	// one remote candidate. On mixtures in many dimensions with a single effective candidate, the
	// estimate from ŝ is nevertheless more accurate than Σ w_k y_k, because the multipliers correct
	// the error.
	Score bool

	// Control adds a control variate to the weighted mean Σ w_k y_k of the candidates. The control
	// variate is c times the difference between the weighted mean and the estimate from ŝ (see
	// Score). This difference has mean zero (Stein's identity). The factor c is determined by least
	// squares over the candidates. On a Gaussian target the result has no variance, even with few
	// effective candidates. On a mixture it may not help if there is a single effective candidate.
	Control bool
}

// gibbsCall holds the arguments of a prediction in progress, and its results.
type gibbsCall struct {
	v, x      []float32
	alpha     []float64
	src       []rand.Source
	effective []float64 // effective number of candidates of each state
	err       []error

	g      []float64 // violations to compute in Forecast; nil otherwise
	domain func(x []float32)
}

const (
	defaultCandidates = 64   // default of GibbsOptions.Candidates: the most in Hadou et al. 2026
	minAlpha          = 1e-3 // lower bound on α in divisions
)

// NewGibbsScore returns the predictor for a target. It copies a [Composed] target such as a
// [dual.RealLagrangian]. Any other target is used directly, and every prediction sets the target's
// multipliers.
//
// NewGibbsScore returns an error in these cases:
//
//   - the target is nil, or has no sites or no multipliers;
//   - its temperature is not positive and finite;
//   - an option is out of range;
//   - Center, Spread, Score and Control are all unset, because the estimate would then be biased.
func NewGibbsScore(l Tilted, o GibbsOptions) (*GibbsScore, error) {
	target := l
	if check.Nil(l) {
		return nil, fmt.Errorf("pdi: NewGibbsScore: target is nil")
	}
	if l.Sites() < 1 || l.Len() < 1 || !(l.Beta() > 0) || !check.Finite(l.Beta()) {
		return nil, fmt.Errorf("pdi: NewGibbsScore: target of %d sites and %d multipliers at temperature %v, want ≥ 1, ≥ 1 and > 0", l.Sites(), l.Len(), l.Beta())
	}
	if o.Candidates == 0 {
		o.Candidates = defaultCandidates
	}
	switch {
	case o.Candidates < 1:
		return nil, fmt.Errorf("pdi: NewGibbsScore: Candidates = %d, want ≥ 0", o.Candidates)
	case o.Center == nil && o.Spread == nil && !o.Score && !o.Control:
		return nil, fmt.Errorf("pdi: NewGibbsScore: Center and Spread = nil, want the mean and the variances of a Gaussian that resembles exp(−f0/β), from which candidates are drawn; or Score, the paper's estimator without one")
	case (o.Center == nil) != (o.Spread == nil):
		return nil, fmt.Errorf("pdi: NewGibbsScore: Center and Spread are set %t and %t, want both or none", o.Center != nil, o.Spread != nil)
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
	if parts, ok := l.(Composed); ok {
		terms = parts.Terms()
		free := equal(l)
		rows := make([]dual.Constraint[float32], len(terms))
		for j, t := range terms {
			rows[j] = dual.AtMost(t, 0)
			if free != nil && free[j] {
				rows[j] = dual.Between(t, 0, 0)
			}
		}
		own, err := dual.NewRealLagrangian(parts.Base(), l.Beta(), rows...)
		if err != nil {
			return nil, err
		}
		l = own // a copy, because predictions change its multipliers
	}
	g := &GibbsScore{l: l, rows: rowsOf(target), o: o, terms: terms, center: slices.Clone(o.Center)}
	g.linear = terms != nil
	for _, t := range terms {
		if _, ok := t.(*continuous.Linear); !ok {
			g.linear = false
		} else if g.field == nil {
			g.field, g.rest = make([]float64, n), make([]float64, len(terms))
		}
	}
	workers := runtime.GOMAXPROCS(0)
	g.burst = pool.NewBurst(workers)
	for range workers {
		g.spaces = append(g.spaces, newGibbsSpace(o, n))
	}
	g.do = g.state
	return g, nil
}

// broadcast returns n copies of the single entry of v, or a copy of its n entries. It returns an
// error unless the entries are finite and exceed the given bound.
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

// Sites returns the number of coordinates of a state.
func (g *GibbsScore) Sites() int { return g.l.Sites() }

// Len returns the number of multipliers.
func (g *GibbsScore) Len() int { return g.l.Len() }

// Beta returns the temperature β of the target.
func (g *GibbsScore) Beta() float64 { return g.l.Beta() }

// Rows returns a description of the target's inequalities.
func (g *GibbsScore) Rows() []dual.Row { return slices.Clone(g.rows) }

// rowsOf returns the rows of l if it is [dual.Described], and zero values otherwise.
func rowsOf(l Tilted) []dual.Row {
	if d, ok := l.(dual.Described); ok {
		return d.Rows()
	}
	return make([]dual.Row, l.Len())
}

// Violation stores in v the violations of the target's constraints at every state of x; it
// implements [Predictor].
func (g *GibbsScore) Violation(v []float64, x []float32) { g.l.Violation(v, x) }

// Effective returns the effective number of candidates (Σw)²/Σw², where w are the weights of the
// candidates. It is between 1 and the number of candidates, and is averaged over the states of the
// last call of Predict. Effective returns 0 before the first Predict.
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

// Forecast stores predictions in v and forecasts of the violations g in the slice violation. It
// implements [Forecaster]. The forecasts are weighted means of g over the candidates. If all terms
// are continuous.Linear, the forecasts are instead the violations of the predictions, which have
// the same expectation and less variance.
func (g *GibbsScore) Forecast(v []float32, violation []float64, x []float32, alpha, lambda []float64, src []rand.Source, domain func(x []float32)) error {
	check.Len("pdi", "g", len(violation), len(alpha)*g.Len())
	if g.linear {
		err := g.Predict(v, x, alpha, lambda, src)
		if err != nil {
			return err
		}
		if domain != nil {
			n := g.Sites()
			for at := 0; at < len(v); at += n {
				domain(v[at : at+n])
			}
		}
		g.Violation(violation, v)
		return nil
	}
	g.last.g, g.last.domain = violation, domain
	defer func() { g.last.g, g.last.domain = nil, nil }()
	return g.Predict(v, x, alpha, lambda, src)
}

// Predict stores in v the estimated posterior means; it implements [Predictor]. It returns an error
// if every candidate of a state has energy +Inf, if an energy is NaN, or if a multiplier is not
// finite. A negative multiplier of an inequality is also an error.
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

// tilt shifts the guessed Gaussian by the linear terms and sets their multipliers in the target
// to 0.
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

// state predicts state s of the call in progress.
func (g *GibbsScore) state(worker, s int) {
	c, n := &g.last, g.l.Sites()
	var violation []float64
	if m := g.l.Len(); c.g != nil {
		violation = c.g[s*m : (s+1)*m]
	}
	c.effective[s], c.err[s] = g.one(&g.spaces[worker], c.v[s*n:(s+1)*n], violation, c.x[s*n:(s+1)*n], c.alpha[s], c.src[s])
}

// one predicts a single state and returns its effective number of candidates.
func (g *GibbsScore) one(b *gibbsSpace, v []float32, violation []float64, x []float32, alpha float64, src rand.Source) (effective float64, err error) {
	n := len(x)
	root := max(math.Sqrt(alpha), minAlpha)
	variance := 1 - alpha
	for i, xi := range x {
		center, spread := g.candidate(i, float64(xi), root, variance)
		b.center[i], b.width[i] = center, math.Sqrt(spread)
	}
	normal.Fill(b.eps, src)
	for k := range g.o.Candidates {
		at, sign := k*n, 1.0
		if g.o.Antithetic {
			at, sign = k/2*n, float64(1-2*(k%2))
		}
		y := b.y[k*n : (k+1)*n]
		for i, e := range b.eps[at : at+n] {
			y[i] = float32(b.center[i] + float64(b.width[i]*float64(sign*float64(e))))
		}
	}
	g.l.Energy(b.e, b.y)
	top := math.Inf(-1)
	for k, e := range b.e {
		if g.field != nil {
			e += simd.Inner(g.field, b.y[k*n:(k+1)*n])
		}
		if g.center != nil {
			for i, y := range b.y[k*n : (k+1)*n] {
				d := float64(y) - g.center[i]
				e -= float64(0.5*float64(d*d)) / g.o.Spread[i]
			}
		}
		b.e[k] = 0 - e
		top = max(top, b.e[k])
	}
	if !check.Finite(top) {
		return 0, fmt.Errorf("largest log-weight of %d candidates = %v, want a finite number", g.o.Candidates, top)
	}
	sum, squares := 0.0, 0.0
	for k, w := range b.e {
		b.e[k] = simd.Exp(w - top)
		sum += b.e[k]
		squares += float64(b.e[k] * b.e[k])
	}
	if !check.Finite(sum) {
		return 0, fmt.Errorf("the energy of a candidate is NaN")
	}
	effective = float64(sum*sum) / squares
	if violation != nil {
		g.forecast(b, violation, sum)
	}
	if g.o.Control {
		g.controlled(b, v, x, sum, root, variance)
		return effective, nil
	}
	clear(b.shift)
	weights := b.keep(n)
	from := b.y
	if g.o.Score {
		from = b.s[:len(weights)*n]
		g.l.Score(from, b.y[:len(from)])
	}
	for k, w := range weights {
		w /= sum
		for i := range n {
			f := float64(from[k*n+i])
			if g.o.Score && g.field != nil {
				f -= g.field[i]
			}
			if g.o.Score && g.center != nil { // score of the weight, not of the energy
				f += (float64(b.y[k*n+i]) - g.center[i]) / g.o.Spread[i]
			}
			b.shift[i] += float64(w * f)
		}
	}
	for i, xi := range x {
		if !g.o.Score {
			v[i] = float32(b.shift[i])
			continue
		}
		// Stein's identity for the Gaussian of the candidates: the estimate is the centre
		// plus the variance times the mean score of the weight. For the candidates of the
		// paper this is Tweedie's formula.
		center, spread := g.candidate(i, float64(xi), root, variance)
		v[i] = float32(center + float64(spread*b.shift[i]))
	}
	return effective, nil
}

// forecast stores in mean the weighted mean violation of the projected candidates. sum is the sum
// of the weights.
func (g *GibbsScore) forecast(b *gibbsSpace, mean []float64, sum float64) {
	n, m := g.l.Sites(), len(mean)
	b.project, b.share = b.project[:0], b.share[:0]
	for k, w := range b.e {
		if w >= negligible {
			b.project = append(b.project, b.y[k*n:(k+1)*n]...)
			b.share = append(b.share, w/sum)
		}
	}
	if g.last.domain != nil {
		for at := 0; at < len(b.project); at += n {
			g.last.domain(b.project[at : at+n])
		}
	}
	b.g = slices.Grow(b.g[:0], len(b.share)*m)[:len(b.share)*m]
	g.l.Violation(b.g, b.project)
	clear(mean)
	for k, w := range b.share {
		for j, v := range b.g[k*m : (k+1)*m] {
			mean[j] += float64(w * v)
		}
	}
}

// controlled stores in v the estimate with a control variate. The candidates y_k come from N(m, V)
// and have weights w. The control variate is d_k = V·∇log w(y_k) − (y_k − m).
func (g *GibbsScore) controlled(b *gibbsSpace, v, x []float32, sum, root, variance float64) {
	n := len(x)
	g.l.Score(b.s, b.y)
	k := float64(g.o.Candidates)
	cov, square := 0.0, 0.0
	for i, xi := range x {
		center, spread := g.candidate(i, float64(xi), root, variance)
		meanY, meanD := 0.0, 0.0 // weighted means of y and d
		sy, sd, sydy, sdd := 0.0, 0.0, 0.0, 0.0
		for c, w := range b.e {
			y := float64(b.y[c*n+i])
			f := float64(b.s[c*n+i])
			if g.field != nil {
				f -= g.field[i]
			}
			if g.center != nil {
				f += (y - g.center[i]) / g.o.Spread[i]
			}
			y -= center
			d := float64(spread*f) - y
			w /= sum
			meanY += float64(w * y)
			meanD += float64(w * d)
			sy += y
			sd += d
			sydy += float64(y * d)
			sdd += float64(d * d)
		}
		cov += sydy - float64(sy*sd)/k
		square += sdd - float64(sd*sd)/k
		b.shift[i] = meanD
		v[i] = float32(center + meanY)
	}
	c := 0.0
	if square > 0 {
		c = 0 - cov/square
	}
	for i, d := range b.shift {
		v[i] = float32(float64(v[i]) + float64(c*d))
	}
}

// candidate returns the mean and the variance from which coordinate i of the candidates is drawn.
func (g *GibbsScore) candidate(i int, x, root, variance float64) (center, spread float64) {
	if g.center == nil || variance == 0 {
		return x / root, variance / float64(root*root)
	}
	precision := float64(root*root)/variance + 1/g.o.Spread[i]
	spread = 1 / precision
	return float64(spread * (float64(root*x)/variance + g.center[i]/g.o.Spread[i])), spread
}

// gibbsSpace is the scratch of one worker.
type gibbsSpace struct {
	y, s          []float32 // candidates, and the scores at them
	eps           []float32 // normal numbers, one vector per candidate or per antithetic pair
	e, shift      []float64
	center, width []float64 // mean and standard deviation of the candidates of a state

	project  []float32 // projected candidates whose weight is not negligible
	g, share []float64 // violations and weights of the candidates in project
}

func newGibbsSpace(o GibbsOptions, n int) gibbsSpace {
	k := o.Candidates
	drawn := k
	if o.Antithetic {
		drawn = (k + 1) / 2
	}
	return gibbsSpace{y: make([]float32, k*n), s: make([]float32, k*n), eps: make([]float32, drawn*n),
		e: make([]float64, k), shift: make([]float64, n), center: make([]float64, n), width: make([]float64, n)}
}

// negligible is the relative weight below which a candidate cannot change a bit of a float64 sum,
// unless its score is 2²⁷ times as large.
const negligible = 0x1p-80

// keep moves the candidates whose weight is not negligible to the front, in order, and returns
// their weights. At high noise only a few remain, which saves time because a score costs more
// than an energy.
func (b *gibbsSpace) keep(n int) []float64 {
	kept := 0
	for k, w := range b.e {
		if w < negligible {
			continue
		}
		if kept < k {
			b.e[kept] = w
			copy(b.y[kept*n:(kept+1)*n], b.y[k*n:(k+1)*n])
		}
		kept++
	}
	return b.e[:kept]
}
