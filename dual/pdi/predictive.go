package pdi

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/concave"
)

// predictive is the default rule of a [Denoiser]. At fixed λ, the batch mean ḡ of the predicted
// violations forecasts the mean violation of the final samples. For linear g these are the
// violations of the predictions; for other g a [Forecaster] computes them. Adding δ to λ from now
// on changes the forecast by −Cδ/β. C is the mean posterior covariance of g given the noised
// states. It is large at the start and 0 at the end. (The covariance of the predictions themselves
// is small at the start and large at the end.) The rule estimates C by differences in λ. A step
// solves
//
//	max_δ ḡᵀδ − δᵀ(C + diag h)δ/(2β)  over λ + δ ≥ 0 (except for equalities), |δ_j| ≤ 2rβ/scale_j.
//
// The vector h keeps the problem regular. The trust radius r grows while steps have the predicted
// effect and are as long as allowed. Before the first step, a prologue on a few states of pure
// noise finds the initial λ. In the last step, which no later step corrects, the rule moves λ and
// predicts four times.
type predictive struct {
	r, used  float64
	moved    bool      // whether last and mean belong to a step that was made
	last     []float64 // last step δ
	mean     []float64 // mean violation ḡ before the last step
	c, most  []float64 // posterior covariance C; largest variance of each row so far
	learnt   bool
	at       float64 // elapsed time of the run when C was last estimated
	turn     int     // index of the first state for the next column of C
	variance []float64
	square   []float64 // mean square of each violation in the present batch
	raised   []float64 // scratch: λ with one multiplier increased
	q        concave.Quadratic
	seeds    []*rand.PCG
	start    []rand.PCG
	part     part
}

// part holds a selection of states with their predictions.
type part struct {
	x, v      []float32
	alpha     []float64
	src       []rand.Source
	base, now []float64
}

// Constants of the predictive rule, chosen in a study of mixtures at several temperatures, scales
// and lengths. TestPredictive checks the results of that study.
const (
	widest, narrowest = 32, 1.0 / 16 // largest and smallest trust radius
	// half-width of the box for a step, in units of β over the standard deviation
	reach = 2
	// factors of h, relative to the variance and to the mean square
	ridge, faint = 0.001, 1e-6
	// differences in λ for estimating C, in units of β over the standard deviation
	nudge, firstNudge = 0.05, 0.01
	scarce            = 1e-4  // smallest variance, relative to the mean square
	correlated        = 0.999 // largest correlation allowed in the covariance C
	often             = 0.02  // elapsed time after which C is estimated again
	perColumn         = 8     // smallest number of states used for a column of C

	// in order, for the prologue: number of states, largest number of rounds, states for a
	// column of C
	prologueStates, prologueRounds, prologueColumn = 8, 200, 4
	// first rounds of the prologue, each of which estimates C
	prologueEager = 10
	// step that ends the prologue, in units of β over the standard deviation
	prologueStill = 0.01

	epilogueRounds = 4 // repeated predictions in the last step

	sweeps = 64 // largest number of coordinate-ascent sweeps per step
)

func newPredictive(m int) *predictive {
	p := &predictive{r: 1}
	for _, v := range []*[]float64{&p.last, &p.mean, &p.most, &p.variance, &p.square, &p.raised} {
		*v = make([]float64, m)
	}
	p.c = make([]float64, m*m)
	p.q = concave.Quadratic{C: p.c, H: make([]float64, m), Low: make([]float64, m), High: make([]float64, m), Residual: make([]float64, m)}
	return p
}

// prologue moves λ on a few states of pure noise until it settles.
func (p *predictive) prologue(d projected, lambda []float64, whole *dual.Batch, q energy.Noised[float32]) error {
	n := d.Sites()
	states := min(len(q.Alpha), prologueStates)
	few := energy.Noised[float32]{X: q.X[:states*n], Alpha: q.Alpha[:states], Src: q.Src[:states]}
	v, rows := make([]float32, states*n), make([]float64, states*d.Len())
	b := dual.Batch{States: states, Beta: d.Beta(), Mean: make([]float64, d.Len()), Max: whole.Max, Equal: whole.Equal}
	for round := range prologueRounds {
		if err := d.predict(v, rows, few.X, few.Alpha, lambda, few.Src); err != nil {
			return err
		}
		if err := b.Measure(rows); err != nil {
			return err
		}
		p.measure(&b)
		if round%2 == 0 || round < prologueEager {
			if err := p.learn(d, lambda, few, rows, prologueColumn); err != nil {
				return err
			}
		}
		if p.step(lambda, &b) < prologueStill*b.Beta {
			break
		}
	}
	clear(p.c)
	clear(p.most)
	p.r, p.moved, p.learnt, p.turn = 1, false, false, 0
	return nil
}

// update moves λ after a prediction of the batch b. elapsed is the diffusion
// time since the first step.
func (p *predictive) update(d projected, lambda []float64, b *dual.Batch, q energy.Noised[float32], elapsed float64) error {
	p.measure(b)
	if !p.learnt || elapsed-p.at >= min(often, p.at/4) {
		if err := p.learn(d, lambda, q, b.G, max(perColumn, b.States/len(lambda))); err != nil {
			return err
		}
		p.at = elapsed
	}
	p.step(lambda, b)
	return nil
}

// measure stores the variances and mean squares of the violations of a batch.
func (p *predictive) measure(b *dual.Batch) {
	b.Variance(p.variance)
	for j, g := range b.Mean {
		p.square[j] = p.variance[j] + float64(g*g)
	}
}

// scale returns the variance that sets the unit of steps of multiplier j.
func (p *predictive) scale(j int) float64 {
	return max(p.most[j], p.variance[j], float64(scarce*p.square[j]))
}

// step moves λ and returns the largest move of a multiplier, in standard deviations.
func (p *predictive) step(lambda []float64, b *dual.Batch) float64 {
	p.trust(b.Mean)
	p.q.Mean, p.q.Scale = b.Mean, 1/b.Beta
	for j, l := range lambda {
		p.q.H[j] = max(float64(ridge*p.most[j]), float64(ridge*p.variance[j]), float64(faint*p.square[j]))
		box := 0.0
		if s := p.scale(j); s > 0 {
			box = reach * p.r * b.Beta / math.Sqrt(s)
		}
		p.q.Low[j], p.q.High[j] = min(max(lowest(b, j)-l, -box), 0), max(min(b.Max-l, box), 0)
	}
	p.q.Maximize(p.last, sweeps)
	copy(p.mean, b.Mean)
	p.moved, p.used = true, 0
	far := 0.0
	for j, v := range p.last {
		if s := p.scale(j); s > 0 {
			p.used = max(p.used, math.Abs(v)*math.Sqrt(s)/(reach*b.Beta))
		}
		far = max(far, math.Abs(v)*math.Sqrt(p.most[j]))
		lambda[j] = min(max(lambda[j]+v, lowest(b, j)), b.Max)
	}
	return far
}

// lowest returns the smallest allowed value of multiplier j.
func lowest(b *dual.Batch, j int) float64 {
	if b.Equal != nil && b.Equal[j] {
		return -b.Max
	}
	return 0
}

// trust adapts the trust radius to the effect of the last step on the violations.
func (p *predictive) trust(mean []float64) {
	if !p.moved {
		return
	}
	before, now := 0.0, 0.0
	for j, v := range p.last {
		before += float64(p.mean[j] * v)
		now += float64(mean[j] * v)
	}
	switch {
	case !(before > 0):
	case now > before/4 && p.used > 0.99*p.r:
		p.r = min(2*p.r, widest)
	case now < -before/2:
		p.r = max(p.used/2, narrowest)
	case p.used < p.r/2:
		p.r = max(2*p.used, min(p.r, 1))
	}
}

// learn estimates C by differences in λ, one column at a time. Each column uses n states, and
// successive columns use successive states.
func (p *predictive) learn(d projected, lambda []float64, q energy.Noised[float32], rows []float64, n int) error {
	m := len(lambda)
	n = min(n, len(q.Alpha))
	beta := d.Beta()
	copy(p.raised, lambda)
	for j := range m {
		e := firstNudge * beta / math.Sqrt(p.square[j])
		if p.learnt {
			e = nudge * beta / math.Sqrt(p.scale(j))
		}
		if !check.Finite(e) { // g_j is 0 in all states
			for k := range m {
				p.c[k*m+j] = 0
			}
			continue
		}
		p.choose(d, q, rows, n)
		if err := p.base(d, lambda); err != nil {
			return err
		}
		p.raised[j] += e
		err := p.predict(d, p.raised)
		p.raised[j] = lambda[j]
		if err != nil {
			return err
		}
		for k := range m {
			sum := 0.0
			for s := range n {
				sum += p.part.now[s*m+k] - p.part.base[s*m+k]
			}
			p.c[k*m+j] = -beta * sum / float64(n) / e
			if !check.Finite(p.c[k*m+j]) {
				return fmt.Errorf("pdi: derivative of violation %d by multiplier %d = %v, want a finite number", k, j, p.c[k*m+j])
			}
		}
	}
	p.learnt = true
	p.regular(m)
	return nil
}

// regular makes C symmetric and limits its correlations.
func (p *predictive) regular(m int) {
	for j := range m {
		p.c[j*m+j] = max(p.c[j*m+j], 0)
		p.most[j] = max(p.most[j], p.c[j*m+j])
	}
	for j := range m {
		for k := range j {
			most := correlated * math.Sqrt(p.c[j*m+j]) * math.Sqrt(p.c[k*m+k])
			c := (p.c[j*m+k] + p.c[k*m+j]) / 2
			c = min(max(c, -most), most)
			p.c[j*m+k], p.c[k*m+j] = c, c
		}
	}
}

// choose selects the next n states and their violations.
func (p *predictive) choose(d projected, q energy.Noised[float32], rows []float64, n int) {
	sites, m := d.Sites(), d.Len()
	t := &p.part
	t.x, t.alpha, t.src, t.base = t.x[:0], t.alpha[:0], t.src[:0], t.base[:0]
	for range n {
		s := p.turn % len(q.Alpha)
		p.turn = s + 1
		t.x = append(t.x, q.X[s*sites:(s+1)*sites]...)
		t.alpha = append(t.alpha, q.Alpha[s])
		t.src = append(t.src, q.Src[s])
		t.base = append(t.base, rows[s*m:(s+1)*m]...)
	}
	for len(t.v) < n*sites {
		t.v = append(t.v, make([]float32, sites)...)
	}
	for len(t.now) < n*m {
		t.now = append(t.now, make([]float64, m)...)
	}
}

// base predicts the selected states at λ if the predictor is an [Estimator]. It gives each state
// a new seed, so that this prediction and the one at changed λ use the same random numbers. For
// other predictors the prediction is already known.
func (p *predictive) base(d projected, lambda []float64) error {
	if _, ok := d.Predictor.(Estimator); !ok {
		return nil
	}
	for k, src := range p.part.src {
		if k == len(p.seeds) {
			p.seeds = append(p.seeds, new(rand.PCG))
			p.start = append(p.start, rand.PCG{})
		}
		p.seeds[k].Seed(src.Uint64(), src.Uint64())
		p.start[k] = *p.seeds[k]
		p.part.src[k] = p.seeds[k]
	}
	if err := p.predict(d, lambda); err != nil {
		return err
	}
	copy(p.part.base, p.part.now[:len(p.part.base)])
	for k := range p.part.src {
		*p.seeds[k] = p.start[k]
	}
	return nil
}

// predict predicts the selected states at lambda and stores their violations in part.now.
func (p *predictive) predict(d projected, lambda []float64) error {
	t := &p.part
	v, now := t.v[:len(t.x)], t.now[:len(t.base)]
	return d.predict(v, now, t.x, t.alpha, lambda, t.src)
}
