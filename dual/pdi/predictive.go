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

// predictive is the default rule of a [Denoiser]. At fixed λ the batch mean ḡ of
// the predictions, for linear g, or of what a [Forecaster] says, forecasts the mean
// violation of the samples that the run will end with, and what λ + δ from now on would do to it is −Cδ/β, C the mean
// posterior covariance of g given the noised states: large at the start, 0 at the
// end. (The covariance of the predictions themselves does the opposite.) C is
// found by differences in λ, and a step solves
//
//	max_δ ḡᵀδ − δᵀ(C + diag h)δ/(2β)   over λ + δ ≥ 0 (but for equalities), |δ_j| ≤ 2rβ/scale_j,
//
// r a trust radius that grows while steps do what they should and are as long as
// allowed. Before the first step a few states of pure noise find where λ starts; at
// the last one, which no other corrects, λ moves and predictions are made four times.
type predictive struct {
	r, used  float64
	moved    bool      // last and mean are those of a step
	last     []float64 // δ
	mean     []float64 // ḡ before it
	c, most  []float64 // posterior covariance; the largest variance met
	learnt   bool
	at       float64 // part of the run at which C was learnt
	turn     int     // the state that the next column begins with
	variance []float64
	square   []float64 // of the present batch, per inequality
	raised   []float64 // scratch: λ with one multiplier raised
	q        concave.Quadratic
	seeds    []*rand.PCG
	start    []rand.PCG
	part     part
}

// part is a choice of states with their predictions.
type part struct {
	x, v      []float32
	alpha     []float64
	src       []rand.Source
	base, now []float64
}

// The constants are those of a study of the rule on mixtures at several
// temperatures, scales and lengths; TestPredictive checks what it found.
const (
	widest, narrowest = 32, 1.0 / 16 // trust radius
	reach             = 2            // box in standard deviations over β
	ridge, faint      = 0.001, 1e-6  // h relative to the variance and to the square
	nudge, firstNudge = 0.05, 0.01   // differences in λ, in the same units
	scarce            = 1e-4         // least variance relative to the square
	correlated        = 0.999        // largest correlation in C
	often             = 0.02         // part of the run after which C is learnt again
	perColumn         = 8            // states that a column of C takes, at least

	prologueStates, prologueRounds, prologueColumn = 8, 200, 4
	prologueEager                                  = 10   // rounds that all learn C
	prologueStill                                  = 0.01 // step, in standard deviations over β, that ends it

	epilogueRounds = 4 // predictions at the last states, after which nothing corrects λ

	sweeps = 64
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

// prologue moves λ on a few states of pure noise until it rests.
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

// update moves λ after a prediction of the group.
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

// measure notes the variances and mean squares of a batch.
func (p *predictive) measure(b *dual.Batch) {
	b.Variance(p.variance)
	for j, g := range b.Mean {
		p.square[j] = p.variance[j] + float64(g*g)
	}
}

// scale returns the variance that steps of multiplier j are measured by.
func (p *predictive) scale(j int) float64 {
	return max(p.most[j], p.variance[j], float64(scarce*p.square[j]))
}

// step moves λ and returns the largest move in standard deviations.
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

// lowest returns the lower bound on multiplier j.
func lowest(b *dual.Batch, j int) float64 {
	if b.Equal != nil && b.Equal[j] {
		return -b.Max
	}
	return 0
}

// trust adapts the radius to what the last step did to the violations.
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

// learn finds C by differences in λ: column j on n states, the next ones in turn.
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
		if !check.Finite(e) { // g_j is 0 everywhere
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

// regular makes C symmetric and its correlations possible.
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

// choose takes the next n states and their violations. Where predictions are
// estimates every state gets a seed, of which base and raised prediction draw
// the same numbers.
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

// base predicts the chosen states at λ with seeds of their own, if predictions
// are estimates: otherwise the prediction is known.
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

// predict stores in part.now the violations of the chosen states' predictions.
func (p *predictive) predict(d projected, lambda []float64) error {
	t := &p.part
	v, now := t.v[:len(t.x)], t.now[:len(t.base)]
	return d.predict(v, now, t.x, t.alpha, lambda, t.src)
}
