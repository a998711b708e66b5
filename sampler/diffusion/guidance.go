package diffusion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/corruption"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/slots"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// Guide is a denoiser that is steered (guided) towards a condition, such as a label, in the reverse
// step. The runner then steers the draw of the next state instead of the prediction. This is called
// guidance at the posterior. It needs [Factorised] steps, or [Masked] with FirstHitting.
//
// A runner finds a Guide through energy.As, so a wrapper of a denoiser must forward As. The runner
// sets the field Guided of energy.Noised. The Guide then returns predictions that are not steered.
type Guide interface {
	// Guidance returns the weight γ of the guidance and the model that steers the draw. For
	// [ClassifierFree] this model is a denoiser without the condition. For [ClassifierGuided] it is
	// a classifier. The second result is the denoiser and the third is the classifier; the one that
	// does not apply is nil. Both are nil if the predictions are already steered.
	Guidance() (scale float64, unconditional energy.Denoiser[int32], classifier Classifier)
}

// Classifier computes the log-probability that a state has a property y, such as a label. It
// computes this for all states that differ from a given one at a single site. Use
// [ExactClassifier], [FirstOrderClassifier] or a type of your own.
type Classifier interface {
	// Table stores in dst, for every site i and level l,
	//
	//	log p(y | x with x_i = l, t) + c_i,
	//
	// where x is a single state at time t. The constant c_i of a site is arbitrary. An entry −Inf
	// excludes its level. Table must be safe for concurrent use.
	Table(dst []float32, x []int32, t float64) error
}

// errUnseen is the error of a denoiser whose caller does not apply its guidance.
var errUnseen = errors.New("guidance at the posterior is not seen by the caller; a wrapper has to pass energy.As on")

// errInside is the error of a denoiser guided at the posterior inside another denoiser, where no
// caller can apply the guidance.
var errInside = errors.New("AtPosterior = true inside another denoiser, want false, or the guide around the other one")

// checkInside checks denoisers that another denoiser wraps. It returns the error of a wrapped
// [noise.Checked] denoiser. It also returns an error if a wrapped denoiser guides reverse steps,
// because that guidance would have no effect. name is the name of the outer denoiser.
func checkInside(name string, inside ...energy.Denoiser[int32]) error {
	for _, d := range inside {
		if c, ok := energy.As[noise.Checked](d); ok {
			if err := c.Check(); err != nil {
				return err
			}
		}
		if slots.Leads[Guide, Classifier](d) {
			return fmt.Errorf("diffusion: %s: a denoiser inside is guided at the posterior, want at the prediction: set its AtPosterior = false", name)
		}
	}
	return nil
}

// checkPair returns an error unless the denoisers with and without a condition have the same shape
// and the same kind of prediction. name is the name of the caller.
func checkPair(name string, with, without energy.Denoiser[int32]) error {
	sites, levels := with.Shape()
	s, l := without.Shape()
	return cmp.Or(
		check.If(energy.LeaveOneOut(with) != energy.LeaveOneOut(without), "diffusion: %s: one denoiser leaves sites out of their own prediction, the other does not", name),
		check.If(s != sites || l != levels, "diffusion: %s: Unconditional has %d sites and %d levels, want %d and %d", name, s, l, sites, levels),
	)
}

// checkScale returns an error unless the weight γ is finite and ≥ 0.
func checkScale(name string, gamma float64) error {
	return check.If(!(gamma >= 0) || math.IsInf(gamma, 1), "diffusion: %s: Scale = %v, want ≥ 0 and finite", name, gamma)
}

// blend sets c to γ·c + (1−γ)·u. A level that c excludes stays excluded.
func blend(c, u []float32, gamma float64) {
	if gamma == 1 {
		return
	}
	for i, a := range c {
		switch {
		case gamma == 0:
			c[i] = u[i]
		case !math.IsInf(float64(a), -1):
			c[i] = float32(float64(gamma*float64(a)) + float64((1-gamma)*float64(u[i])))
		}
	}
}

// lean adds γ·c to v. A level that v or c excludes stays excluded.
func lean(v, c []float32, gamma float64) {
	if gamma == 0 {
		return
	}
	for i, w := range v {
		if !math.IsInf(float64(w), -1) {
			v[i] = float32(float64(w) + float64(gamma*float64(c[i])))
		}
	}
}

// guided is the state of a runner for guidance at the posterior.
type guided struct {
	scale float64
	// unconditional denoiser of classifier-free guidance; nil for a classifier
	other      energy.Denoiser[int32]
	classifier Classifier  // classifier; nil for classifier-free guidance
	table      []float32   // predictions of the other denoiser, ordered like those of the model
	post, tab  [][]float32 // scratch of each worker, sites × levels
}

// guide sets up the guidance at the posterior, if the model requests it.
func guide(d *Runner[int32], process any) error {
	m, ok := energy.As[Guide](d.model)
	if !ok {
		return nil
	}
	g := &guided{}
	if g.scale, g.other, g.classifier = m.Guidance(); g.other == nil && g.classifier == nil {
		return nil
	}
	_, factorised := d.process[0].(Factorised)
	_, jumps := d.process[0].(jumping)
	if err := cmp.Or(
		checkScale("New", g.scale),
		check.If(d.cfg.Projector != nil, "diffusion: New: AtPosterior = true in the guide, and Projector is set, want one of the two, as a projection needs guidance at the prediction"),
		check.If(!factorised && !jumps, "diffusion: New: %T cannot be guided at the posterior, because its steps have no probabilities per site: set AtPosterior = false in the guide", process),
	); err != nil {
		return err
	}
	size := d.sites * d.levels
	if g.other != nil {
		if err := checkPair("New", d.model, g.other); err != nil {
			return err
		}
		if err := corruption.Check(g.other, d.process[0]); err != nil {
			return fmt.Errorf("diffusion: New: the guide: %w", err)
		}
		g.table = make([]float32, d.cfg.Batch*size)
		d.e.TimeFree = false // a cached prediction would lack the prediction of the other denoiser
		d.e.Ask = func(ctx context.Context, v []float32, q energy.Noised[int32]) error {
			if err := d.model.Denoise(ctx, v, q); err != nil {
				return err
			}
			if err := g.other.Denoise(ctx, g.table[:len(v)], q); err != nil {
				return fmt.Errorf("without the condition: %w", err)
			}
			return nil
		}
	}
	for w := range d.work {
		if d.per > 1 {
			d.work[w].v = make([]float32, size)
		}
		g.post, g.tab = append(g.post, make([]float32, size)), append(g.tab, make([]float32, size))
	}
	d.guided, d.e.Guided = g, true
	return nil
}

// reverse moves slot i of d from time t to next by a guided step.
func (g *guided) reverse(d *Runner[int32], w, i int, t, next float64) error {
	s, post, tab := &d.e.Slots[i], g.post[w], g.tab[w]
	rates, jumps := d.process[i].(jumping)
	f, _ := d.process[i].(Factorised) // guide has checked that one of the two is implemented
	law := func(dst, v []float32) {
		if jumps {
			rates.rates(dst, v, s.X)
		} else {
			f.Posterior(dst, v, s.X, t, next)
		}
	}
	law(post, s.V)
	if g.other != nil {
		other := *s
		other.V = g.table[s.Row*len(s.V) : (s.Row+1)*len(s.V)]
		if d.per > 1 { // copies of a particle share the table
			copy(d.work[w].v, other.V)
			other.V = d.work[w].v
		}
		if p, ok := d.process[i].(slots.Renoiser); ok {
			slots.Condition(p, &other, d.leaveOneOut)
		}
		law(tab, other.V)
		blend(post, tab, g.scale)
	} else {
		if err := g.classifier.Table(tab, s.X, t); err != nil {
			return err
		}
		if jumps {
			if err := against(tab, s.X, rates); err != nil {
				return err
			}
		}
		lean(post, tab, g.scale)
	}
	if jumps {
		return jump(s, post, slices.IndexFunc(s.X, rates.Masks))
	}
	for j := range s.X {
		l, err := drawRow(post, j, d.levels, &s.Stream)
		if err != nil {
			return err
		}
		s.X[j] = l
	}
	return nil
}

// against subtracts, from the row of each masked site in a classifier's table, the row's entry for
// the mask. The row then holds log (p(y | x with x_i = l)/p(y | x)).
func against(tab []float32, x []int32, p Absorbing) error {
	levels := len(tab) / len(x)
	for i, l := range x {
		if !p.Masks(l) {
			continue
		}
		row := tab[i*levels : (i+1)*levels]
		stays := row[l]
		if math.IsInf(float64(stays), -1) {
			return fmt.Errorf("the classifier rules out that site %d stays masked, so that its rate is infinite; want a finite log p(y | x_t), or a grid", i)
		}
		for k := range row {
			row[k] -= stays
		}
	}
	return nil
}

// jump draws one jump of a slot by the log-rates. masked is the first site that can jump, or −1
// if there is none.
func jump(s *slots.Slot[int32], rates []float32, masked int) error {
	if masked < 0 {
		return nil
	}
	levels := len(rates) / len(s.X)
	if to := slots.Draw(rates, &s.Stream); to >= 0 {
		s.X[int(to)/levels] = to % int32(levels)
		return nil
	}
	for i := range s.X {
		if !slots.Empty(rates[i*levels : (i+1)*levels]) {
			return &PredictionError{Site: i}
		}
	}
	return &PredictionError{Site: masked, Empty: true}
}

// ExactClassifier is a [Classifier] with log p(y | x) = −E(x), where E is the energy of Model. It
// evaluates E for every level of every site. If the process has a mask, the mask must be one of the
// model's levels.
type ExactClassifier struct{ Model energy.Model }

// Table evaluates the model for every level of every site and stores the exact values in dst. It
// implements [Classifier].
func (c ExactClassifier) Table(dst []float32, x []int32, _ float64) error {
	if err := check.Given("diffusion: ExactClassifier", "Model", c.Model); err != nil {
		return err
	}
	sites, levels := c.Model.Shape()
	check.Len("diffusion", "x", len(x), sites)
	check.Len("diffusion", "dst", len(dst), sites*levels)
	conditional := energy.Conditionals(c.Model)
	d := make([]float64, levels)
	for i := range sites {
		conditional.Conditional(d, i, x)
		for l, e := range d {
			dst[i*levels+l] = float32(0 - e) // avoids negative zero
		}
	}
	return nil
}

// FirstOrderClassifier is a [Classifier] with log p(y | x) = −E(x), where E is the energy of Model.
// It takes the energy differences of all changes from the Gradient of the model, in one evaluation.
// Model must be an [energy.Differentiable]. If its Gradient is a derivative, Table stores the
// first-order Taylor expansion of log p(y | x) at x.
type FirstOrderClassifier struct{ Model energy.Model }

// Table stores the negative Gradient of the model in dst. It returns an error if the model is not
// [energy.Differentiable]. It implements [Classifier].
func (c FirstOrderClassifier) Table(dst []float32, x []int32, _ float64) error {
	if err := check.Given("diffusion: FirstOrderClassifier", "Model", c.Model); err != nil {
		return err
	}
	m, ok := energy.As[energy.Differentiable](c.Model)
	if !ok {
		return fmt.Errorf("diffusion: FirstOrderClassifier: %T is not energy.Differentiable", c.Model)
	}
	var e [1]float64
	m.Gradient(e[:], dst, x)
	for i, g := range dst {
		dst[i] = 0 - g // avoids negative zero
	}
	return nil
}

// ClassifierFree is a denoiser guided towards a condition y. It compares the predictions of two
// denoisers, one with and one without y (Ho and Salimans 2022; for tokens Schiff et al. 2025). By
// default it guides the prediction with weight γ,
//
//	p(x_0,i | x_t) ∝ p(x_0,i | x_t, y)^γ · p(x_0,i | x_t)^{1−γ}.
//
// This works with every process and projection. With AtPosterior it guides the reverse step from
// time t to time s,
//
//	p(x_s,i | x_t) ∝ p(x_s,i | x_t, y)^γ · p(x_s,i | x_t)^{1−γ}.
//
// In both forms γ = 1 gives the conditional denoiser and γ = 0 the unconditional one. For other γ
// the two forms differ.
//
// Denoise returns an error if γ > 1 and a level has positive weight with the condition but zero
// weight without it.
type ClassifierFree struct {
	Conditional, Unconditional energy.Denoiser[int32]

	// Scale is the weight γ ≥ 0 of the guidance.
	Scale float64

	// AtPosterior applies the guidance to the reverse step instead of to the prediction. The
	// process must have [Factorised] steps, or be [Masked] with FirstHitting. AtPosterior cannot
	// be combined with projections. A wrapper of the denoiser must forward energy.As; see [Guide].
	AtPosterior bool
}

// Shape returns the numbers of sites and levels of Conditional.
func (g ClassifierFree) Shape() (sites, levels int) {
	check.Must("diffusion: ClassifierFree", "Conditional", g.Conditional)
	return g.Conditional.Shape()
}

// TimeFree reports whether the guided prediction is independent of time. This holds if both
// denoisers are time-free and AtPosterior is not set.
func (g ClassifierFree) TimeFree() bool {
	return !g.AtPosterior && energy.TimeFree(g.Conditional) && energy.TimeFree(g.Unconditional)
}

// LeaveOneOut reports whether Conditional predicts each site from the other sites only.
func (g ClassifierFree) LeaveOneOut() bool { return energy.LeaveOneOut(g.Conditional) }

// As gives access to one interface of Conditional: [energy.Masking], which names the mask.
func (g ClassifierFree) As(target any) bool {
	m, ok := energy.As[energy.Masking](g.Conditional)
	return ok && energy.Give(target, m)
}

// Guidance implements [Guide]. If AtPosterior is set, it returns Scale and Unconditional, which the
// runner uses to steer the reverse step. Otherwise it returns zero values.
func (g ClassifierFree) Guidance() (scale float64, unconditional energy.Denoiser[int32], classifier Classifier) {
	if !g.AtPosterior {
		return 0, nil, nil
	}
	return g.Scale, g.Unconditional, nil
}

// Denoise stores the guided prediction in v. With AtPosterior it stores the conditional prediction
// instead. The caller must then apply the guidance, and set q.Guided to confirm this; otherwise
// Denoise returns an error. It implements [energy.Denoiser].
func (g ClassifierFree) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	if g.AtPosterior && !q.Guided {
		return fmt.Errorf("diffusion: ClassifierFree: %w", errUnseen)
	}
	if err := check.Given("diffusion: ClassifierFree", "Conditional", g.Conditional); err != nil {
		return err
	}
	if err := g.Conditional.Denoise(ctx, v, q); err != nil || g.AtPosterior {
		return err
	}
	if err := check.Given("diffusion: ClassifierFree", "Unconditional", g.Unconditional); err != nil {
		return err
	}
	b := scratch.Float32s.Get(len(v))
	defer scratch.Float32s.Put(b)
	if err := g.Unconditional.Denoise(ctx, *b, q); err != nil {
		return err
	}
	blend(v, *b, g.Scale)
	return nil
}

// Check returns an error if a field is invalid, or if the two denoisers differ in their shapes or
// in LeaveOneOut. It implements [noise.Checked].
func (g ClassifierFree) Check() error {
	if check.Nil(g.Conditional) || check.Nil(g.Unconditional) {
		return fmt.Errorf("diffusion: ClassifierFree: Conditional and Unconditional must be set")
	}
	if err := cmp.Or(checkScale("ClassifierFree", g.Scale), checkInside("ClassifierFree", g.Conditional, g.Unconditional)); err != nil {
		return err
	}
	return checkPair("ClassifierFree", g.Conditional, g.Unconditional)
}

// CheckInside does the checks of Check for a denoiser that is used inside another one. It also
// rejects AtPosterior, because the guidance would ignore the changes that the outer denoiser
// makes.
func (g ClassifierFree) CheckInside() error {
	if g.AtPosterior {
		return fmt.Errorf("diffusion: ClassifierFree: %w", errInside)
	}
	return g.Check()
}

// ClassifierGuided is a denoiser guided towards a condition y by a classifier (Dhariwal and Nichol
// 2021; for tokens Schiff et al. 2025). By default it guides the prediction with weight γ,
//
//	p(x_0,i = l | x_t) ← p(x_0,i = l | x_t)·p(y | x_t with x_i = l)^γ,
//
// up to normalisation. This works with every process and projection. With AtPosterior it guides the
// reverse step from time t to time s,
//
//	p(x_s,i = l | x_t) ← p(x_s,i = l | x_t)·p(y | x_t with x_i = l)^γ.
//
// Both formulas treat the effects of different sites on y as independent.
type ClassifierGuided struct {
	energy.Denoiser[int32]
	Classifier Classifier

	// Scale is the weight γ ≥ 0 of the guidance.
	Scale float64

	// AtPosterior applies the guidance to the reverse step instead of to the prediction. The
	// process must have [Factorised] steps, or be [Masked] with FirstHitting. AtPosterior cannot
	// be combined with projections. A wrapper of the denoiser must forward energy.As; see [Guide].
	AtPosterior bool
}

// Shape returns the numbers of sites and levels of Denoiser.
func (g ClassifierGuided) Shape() (sites, levels int) {
	check.Must("diffusion: ClassifierGuided", "Denoiser", g.Denoiser)
	return g.Denoiser.Shape()
}

// TimeFree returns false, because a classifier may depend on time.
func (g ClassifierGuided) TimeFree() bool { return false }

// LeaveOneOut reports whether Denoiser predicts each site from the other sites only.
func (g ClassifierGuided) LeaveOneOut() bool { return energy.LeaveOneOut(g.Denoiser) }

// As gives access to one interface of Denoiser: [energy.Masking], which names the mask.
func (g ClassifierGuided) As(target any) bool {
	m, ok := energy.As[energy.Masking](g.Denoiser)
	return ok && energy.Give(target, m)
}

// Guidance implements [Guide]. If AtPosterior is set, it returns Scale and Classifier, which the
// runner uses to steer the reverse step. Otherwise it returns zero values.
func (g ClassifierGuided) Guidance() (scale float64, unconditional energy.Denoiser[int32], classifier Classifier) {
	if !g.AtPosterior {
		return 0, nil, nil
	}
	return g.Scale, nil, g.Classifier
}

// Denoise stores the guided prediction in v. With AtPosterior it stores the prediction of Denoiser
// instead. The caller must then apply the guidance, and set q.Guided to confirm this; otherwise
// Denoise returns an error. It implements [energy.Denoiser].
func (g ClassifierGuided) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	if g.AtPosterior && !q.Guided {
		return fmt.Errorf("diffusion: ClassifierGuided: %w", errUnseen)
	}
	if err := cmp.Or(check.Given("diffusion: ClassifierGuided", "Denoiser", g.Denoiser), check.Given("diffusion: ClassifierGuided", "Classifier", g.Classifier)); err != nil {
		return err
	}
	if err := g.Denoiser.Denoise(ctx, v, q); err != nil || g.AtPosterior {
		return err
	}
	sites, levels := g.Shape()
	b := scratch.Float32s.Get(sites * levels)
	defer scratch.Float32s.Put(b)
	for s, t := range q.Time {
		if err := g.Classifier.Table(*b, q.X[s*sites:(s+1)*sites], t); err != nil {
			return err
		}
		lean(v[s*len(*b):(s+1)*len(*b)], *b, g.Scale)
	}
	return nil
}

// Check returns an error if a field is invalid; it implements [noise.Checked].
func (g ClassifierGuided) Check() error {
	if check.Nil(g.Denoiser) || check.Nil(g.Classifier) {
		return fmt.Errorf("diffusion: ClassifierGuided: Denoiser and Classifier must be set")
	}
	return cmp.Or(checkInside("ClassifierGuided", g.Denoiser), checkScale("ClassifierGuided", g.Scale))
}

// CheckInside does the checks of Check for a denoiser that is used inside another one. It also
// rejects AtPosterior, because the guidance would ignore the changes that the outer denoiser
// makes.
func (g ClassifierGuided) CheckInside() error {
	if g.AtPosterior {
		return fmt.Errorf("diffusion: ClassifierGuided: %w", errInside)
	}
	return g.Check()
}
