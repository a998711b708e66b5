package pdi

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/multiplier"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Denoiser implements primal–dual inference on reals (Hadou, Uslu and Ribeiro 2026, Algorithm 2).
// It is a denoiser that holds multipliers λ and moves them while a diffusion runs:
//
//	x̂_0 = Π(E_λ[x_0 | x_t]),  λ ← rule(λ, mean g(x̂_0)).
//
// In every reverse step, a [Predictor] predicts the clean samples x_0 from the noisy samples x_t,
// under the distribution tilted by λ. The function Π projects the predictions onto a domain
// (Config.Domain). Then the rule updates λ from the mean violation g over the batch. All samples of
// a batch share λ.
//
// Use it with the DDPM step, diffusion.Gaussian{Eta: 1}. The paper uses 500 steps on a cosine (s =
// 0.008) or linear schedule. diffusion.Config.Batch sets the number of samples that share λ. Every
// batch starts at Config.Start.
//
// A Denoiser must be used by one diffusion at a time. For a given batch, results do not depend on
// the number of workers.
type Denoiser struct {
	p     projected
	cfg   Config
	last  float64 // time of the last call
	first float64 // time of the first call of the batch
	g     []float64
	inference
}

// inference holds the multipliers of a batch and the history of its steps.
type inference struct {
	lambda  []float64
	updater dual.Updater // updater of λ; nil if the rule is predictive
	ahead   *predictive
	batch   dual.Batch
	ess     []float64 // effective number of candidates at each step
	history []float64 // for each step: λ, then the mean violation
	alpha   []float64 // signal level at each step
	taken   []float64 // for each step: λ of the prediction that the diffusion used
	unmet   []string  // rows that the predictions of the last step violate, for Warning
}

const averageFrom = 0.25 // averages omit this fraction of a run, from its start

// New returns a denoiser that takes its predictions from a predictor. It returns an error if the
// predictor is nil or a field is out of range. It also tests Config.Rule by one update and returns
// the error of this update. The error is a [*dual.SpreadError] if the rule needs the variance of
// samples.
func New(ctx context.Context, p Predictor, cfg Config) (*Denoiser, error) {
	if check.Nil(p) {
		return nil, fmt.Errorf("pdi: New: predictor is nil")
	}
	var err error
	if cfg.Start, cfg.most, err = multiplier.Range("pdi: Config", p.Len(), cfg.Start, cfg.Max, equal(p)); err != nil {
		return nil, err
	}
	if err := check.Optional("pdi: Config", "Rule", cfg.Rule); err != nil {
		return nil, err
	}
	d := &Denoiser{p: projected{p, cfg.Domain, nil}, cfg: cfg, last: math.Inf(-1)}
	if err := d.begin(ctx, 2); err != nil {
		return nil, err
	}
	if d.updater != nil {
		if err := d.move(energy.Noised[float32]{}); err != nil {
			return nil, fmt.Errorf("pdi: Config.Rule: %w", err)
		}
	}
	if err := d.begin(ctx, 0); err != nil {
		return nil, err
	}
	return d, nil
}

// Shape returns the number of coordinates as sites, and 1 as levels.
func (d *Denoiser) Shape() (sites, levels int) { return d.p.Sites(), 1 }

// Denoise stores in v predictions of the clean samples of all states, and then moves the
// multipliers λ. Since the states share λ, each prediction depends on all states. Denoise
// implements energy.Denoiser.
func (d *Denoiser) Denoise(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	states := len(q.Time)
	check.Len("pdi", "X", len(q.X), states*d.p.Sites())
	check.Len("pdi", "v", len(v), len(q.X))
	if slices.Contains(q.Clean, true) {
		return fmt.Errorf("pdi: the predictor does not know of clamped entries")
	}
	if states == 0 {
		return ctx.Err()
	}
	if len(q.Src) != states {
		return fmt.Errorf("pdi: Noised.Src has %d entries, want a source for each of %d states: predictions may be draws", len(q.Src), states)
	}
	if q.Time[0] >= d.last {
		d.first = q.Time[0]
		if err := d.begin(ctx, states); err != nil {
			return err
		}
	}
	final := q.Time[0] < 1.5*(d.last-q.Time[0]) // the next step would end at time 0
	d.last = q.Time[0]
	if states != d.batch.States {
		return fmt.Errorf("pdi: %d samples are left of a batch of %d, want all of them, because they share λ", states, d.batch.States)
	}
	if err := poll.Err(ctx); err != nil {
		return err
	}
	if err := d.step(v, q, final); err != nil {
		return err
	}
	if few, least := d.few(); final && !d.cfg.Scarce && 2*few > len(d.ess) {
		return &ScarceError{few, len(d.ess), least}
	}
	if final {
		return d.settle(v, states)
	}
	return nil
}

// settle ends a batch with the predictions v of its last step. It notes the rows that they violate
// (see Warning), and returns an error if they have diverged.
func (d *Denoiser) settle(v []float32, states int) error {
	if _, ok := d.p.Predictor.(Estimator); ok {
		for i, x := range v {
			if !(math.Abs(float64(x)) <= farthest) {
				return fmt.Errorf("pdi: the predictions have diverged: sample %d has x̂_0 = %.3g in its last step, want at most %g: set GibbsOptions.Center and Spread, or Config.Domain, or give states a scale near 1", i/d.p.Sites(), x, float64(farthest))
			}
		}
	}
	if d.ahead == nil || states < 2 {
		return nil
	}
	m := d.p.Len()
	rows, last, variance := make([]dual.Row, m), dual.Batch{States: states, Mean: make([]float64, m)}, make([]float64, m)
	if p, ok := d.p.Predictor.(dual.Described); ok {
		rows = p.Rows()
	}
	if err := last.Measure(d.g); err != nil {
		return fmt.Errorf("pdi: predictions of the last step: %w", err)
	}
	last.Variance(variance)
	for j, off := range last.Mean {
		se := math.Sqrt(variance[j] / float64(states))
		if rows[j].Equal {
			off = math.Abs(off)
		}
		if off > max(float64(missed*se), float64(1e-6*(math.Abs(rows[j].Bound)+se))) {
			name := rows[j].Name
			if name == "" {
				name = fmt.Sprintf("row %d", j)
			}
			d.unmet = append(d.unmet, fmt.Sprintf("%s by %.3g ± %.2g", name, off, se))
		}
	}
	return nil
}

// farthest is the largest coordinate of a prediction at which float32 still distinguishes noise of
// size 1.
const farthest = 1 << 24

// missed is the number of standard errors by which the last predictions may violate a row before
// Warning mentions it.
const missed = 4

// ScarceError reports that an [Estimator] had fewer than two effective candidates (see
// [GibbsScore.Effective]) in most steps of a batch. The predictions were then close to the single
// best candidate, and the samples and multipliers are not meaningful. To avoid this, set
// GibbsOptions.Center and Spread to approximate the base distribution, or use an exact predictor.
// More candidates barely help. Config.Scarce suppresses the error.
type ScarceError struct {
	// Few counts the steps of the batch in which there were fewer than two effective candidates. In
	// such a step, nearly all the weight of a prediction is on one candidate. Steps counts all
	// steps of the batch.
	Few, Steps int
	Least      float64 // smallest effective number of candidates in a step
}

func (e *ScarceError) Error() string {
	return fmt.Sprintf("pdi: %d of %d steps rest on fewer than %d effective candidates (fewest: %.1f): give GibbsOptions a Center and Spread, loosen constraints that no distribution meets, or allow it by Config.Scarce", e.Few, e.Steps, scarceCandidates, e.Least)
}

// begin starts a batch with the given number of states.
func (d *Denoiser) begin(ctx context.Context, states int) (err error) {
	m := d.p.Len()
	d.inference = inference{lambda: slices.Clone(d.cfg.Start), batch: dual.Batch{States: states, Beta: d.p.Beta(), Mean: make([]float64, m), Max: d.cfg.most, Equal: equal(d.p.Predictor)}}
	d.g = slices.Grow(d.g[:0], states*m)[:states*m]
	switch {
	case d.cfg.Fixed:
	case d.cfg.Rule == nil:
		d.ahead = newPredictive(m)
		d.p.forecast, _ = d.p.Predictor.(Forecaster)
	default:
		d.updater, err = d.cfg.Rule.Bind(ctx, m)
	}
	return err
}

// step predicts the states of a batch and moves λ.
func (d *Denoiser) step(v []float32, q energy.Noised[float32], final bool) error {
	b := &d.batch
	if d.ahead != nil && b.Step == 0 {
		if err := d.ahead.prologue(d.p, d.lambda, b, q); err != nil {
			return err
		}
	}
	again := 0
	switch {
	case d.cfg.Fixed:
	case final && d.ahead != nil:
		again = epilogueRounds
	case d.cfg.Again:
		again = 1
	}
	taken := len(d.taken)
	for k := range again + 1 {
		if err := d.p.predict(v, d.g, q.X, q.Alpha, d.lambda, q.Src); err != nil {
			return err
		}
		d.taken = append(d.taken[:taken], d.lambda...)
		if k > 0 && k == again {
			break
		}
		if err := b.Measure(d.g); err != nil {
			return err
		}
		if k == 0 {
			d.note(q.Alpha[0])
		}
		if d.cfg.Fixed {
			break
		}
		if err := d.move(q); err != nil {
			return err
		}
		if k == 0 {
			b.Step++
		}
	}
	return nil
}

// note records a step after its first prediction; alpha is the signal level.
func (d *Denoiser) note(alpha float64) {
	d.alpha = append(d.alpha, alpha)
	ess := 0.0
	if e, ok := d.p.Predictor.(Estimator); ok {
		ess = e.Effective()
	}
	d.ess = append(d.ess, ess)
	d.history = append(append(d.history, d.lambda...), d.batch.Mean...)
}

// move moves λ by the rule after a prediction.
func (d *Denoiser) move(q energy.Noised[float32]) error {
	switch {
	case d.ahead == nil:
		d.batch.G = nil // the spread of predictions differs from that of samples
		return d.updater.Update(d.lambda, &d.batch)
	case d.batch.Step == 0: // the prologue has already moved λ
		return nil
	}
	return d.ahead.update(d.p, d.lambda, &d.batch, q, d.first-d.last)
}

// Lambda returns a copy of the multipliers after the most recent step of the last batch.
func (d *Denoiser) Lambda() []float64 { return slices.Clone(d.lambda) }

// Average returns the mean multipliers over the steps of the last batch, except the first quarter
// of the steps. It returns nil before the first step.
func (d *Denoiser) Average() []float64 {
	steps := d.Steps()
	if steps == 0 {
		return nil
	}
	from := int(averageFrom * float64(steps))
	avg := make([]float64, d.p.Len())
	for t := from; t < steps; t++ {
		lambda, _ := d.At(t)
		for j, l := range lambda {
			avg[j] += l / float64(steps-from)
		}
	}
	return avg
}

// Stability returns one stability factor for each step of the last batch. The factors add up to 1.
// The factor w_t measures how much the multipliers of step t influence the distribution of the
// samples. The argument variance, v below, is the variance of a coordinate under the base
// distribution. With the DDPM step x_t' = A_t·x_t + B_t·x̂_0 + noise from t to t', the factor is
//
//	w_t ∝ B_t·V_t·Π_u (A_u + B_u·L_u)  over the steps u after t,
//	V = v·(1−ᾱ)/(v·ᾱ+1−ᾱ),  L = √ᾱ·v/(v·ᾱ+1−ᾱ),
//
// where ᾱ is the signal level of the step. V is the variance of x_0 given x_t, and L is the
// derivative of the prediction x̂_0 with respect to x_t.
//
// The factors are exact if the constraints are linear and the base distribution is normal with
// independent coordinates of variance v. The samples then have nearly the same mean as a run at the
// fixed multipliers Σ_t w_t·λ_t (see [Denoiser.Tilt]).
//
// Stability returns nil before the first step, and an error unless variance is finite and > 0.
func (d *Denoiser) Stability(variance float64) ([]float64, error) {
	if !(variance > 0) || !check.Finite(variance) {
		return nil, fmt.Errorf("pdi: Stability: variance = %v, want a finite number > 0", variance)
	}
	if len(d.alpha) == 0 {
		return nil, nil
	}
	w := make([]float64, len(d.alpha))
	next, onward, sum := 1.0, 1.0, 0.0
	for t := len(w) - 1; t >= 0; t-- {
		a := d.alpha[t]
		spread := float64(variance*a) + (1 - a)
		b := math.Sqrt(next) * (1 - a/next) / (1 - a)
		w[t] = onward * b * variance * (1 - a) / spread
		sum += w[t]
		onward *= float64(math.Sqrt(a/next)*(1-next))/(1-a) + float64(b*math.Sqrt(a)*variance)/spread
		next = a
	}
	for t := range w {
		w[t] /= sum
	}
	return w, nil
}

// Tilt returns the fixed multipliers Σ_t w_t·λ_t that are equivalent to the multipliers of the last
// batch. Here w_t is the factor of step t from [Denoiser.Stability], and λ_t are the multipliers of
// the prediction that the diffusion used in step t. To draw more samples from the same
// distribution, fix λ at Tilt, not at [Denoiser.Average]. Tilt returns the same errors as
// Stability.
func (d *Denoiser) Tilt(variance float64) ([]float64, error) {
	w, err := d.Stability(variance)
	if w == nil {
		return nil, err
	}
	tilt := make([]float64, d.p.Len())
	for t, part := range w {
		for j := range tilt {
			tilt[j] += float64(part * d.taken[t*len(tilt)+j])
		}
	}
	return tilt, nil
}

// Steps returns the number of steps of the last batch. If this batch is still running, only the
// steps made so far count.
func (d *Denoiser) Steps() int { return len(d.ess) }

// At returns the multipliers before the given step of the last batch, and the mean violation of the
// predictions that the step made at these multipliers. If Config.Again is true, a step makes two
// predictions of every sample; At returns the mean over the first ones. The slices are shared with
// the denoiser; do not modify them. At panics if there is no such step.
func (d *Denoiser) At(step int) (lambda, mean []float64) {
	m := d.p.Len()
	row := d.history[2*m*step : 2*m*(step+1)]
	return row[:m:m], row[m:]
}

// Effective returns the effective number of candidates in each step of the last batch, if the
// predictor is an [Estimator] such as [GibbsScore]. For other predictors it returns zeros. The
// slice is shared with the denoiser; do not modify it.
func (d *Denoiser) Effective() []float64 { return d.ess }

// scarceCandidates is the effective number of candidates below which a single candidate decides a
// prediction.
const scarceCandidates = 2

// Ranged is a predictor that is valid only for a range of multipliers, such as a trained network.
// The method Outside returns nil if lambda is in the range. Otherwise it returns an error that
// describes which multiplier is out of range.
type Ranged interface{ Outside(lambda []float64) error }

// Warning returns a sentence if the predictions for the last batch may be wrong, and "" otherwise.
// It warns in these cases:
//
//   - A step of an [Estimator] had fewer than two effective candidates. If this happens in many
//     steps, the samples and multipliers are not meaningful (see [ScarceError]).
//   - The multipliers of a step were outside the range of a [Ranged] predictor, such as a network
//     of package network. The predictions are then extrapolations.
//   - With the predictive rule, the last predictions violate a constraint by more than four
//     standard errors. Perhaps no multipliers satisfy the constraints, or Config.Max limits them.
func (d *Denoiser) Warning() string {
	w := d.doubt()
	if len(d.unmet) == 0 {
		return w
	}
	if w != "" {
		w += "; "
	}
	return w + "pdi: the last predictions violate " + strings.Join(d.unmet, ", ")
}

// doubt returns the warning about the predictor, or "".
func (d *Denoiser) doubt() string {
	if _, ok := d.p.Predictor.(Estimator); ok {
		return d.scarce()
	}
	if p, ok := d.p.Predictor.(Ranged); ok {
		return d.outside(p)
	}
	return ""
}

// scarce returns the warning about steps with too few candidates, or "".
func (d *Denoiser) scarce() string {
	few, least := d.few()
	if few == 0 {
		return ""
	}
	return fmt.Sprintf("pdi: %d of %d steps rest on fewer than %d effective candidates (fewest: %.1f)", few, len(d.ess), scarceCandidates, least)
}

// few returns the number of steps with fewer than two effective candidates. The result least is the
// smallest effective number of candidates in a step.
func (d *Denoiser) few() (few int, least float64) {
	if _, ok := d.p.Predictor.(Estimator); !ok {
		return 0, 0
	}
	least = math.Inf(1)
	for _, e := range d.ess {
		if e < scarceCandidates {
			few++
		}
		least = min(least, e)
	}
	return few, least
}

// outside returns the warning about multipliers outside the range of p, with the error of the first
// such step. It returns "" if there is no such step.
func (d *Denoiser) outside(p Ranged) string {
	beyond, steps := 0, d.Steps()
	var first error
	for step := range steps {
		lambda, _ := d.At(step)
		if err := p.Outside(lambda); err != nil {
			beyond++
			first = cmp.Or(first, err)
		}
	}
	if first == nil {
		return ""
	}
	return fmt.Sprintf("pdi: in %d of %d steps multipliers are beyond what the predictor knows: %v", beyond, steps, first)
}
