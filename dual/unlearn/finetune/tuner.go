package finetune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/session"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// Config holds the settings of a [Tuner]. Model, Sample, Train.Steps and either Objective or Real
// must be set. The zero value of every other field is the recommended setting.
type Config[S energy.Site] struct {
	// Objective is the training objective of a network on tokens. Real is the training
	// objective of a network on reals.
	Objective train.Objective
	Real      train.RealObjective

	// Model is the denoiser around the network, such as neural.NewMasked(net, …). It must always
	// use the network's present weights, as the denoisers of package neural do.
	Model energy.Denoiser[S]

	// Sample fills x with draws from the model m. The draws have the numbers first, first+1, … and
	// must depend only on m and their numbers. The argument m is the field Model, or a denoiser
	// that wraps Model to measure a concept. With a diffusion:
	//
	//	d, err := diffusion.New(ctx, m, process, diffusion.Config{Seed: 1, First: first})
	//	if err != nil {
	//		return err
	//	}
	//	return d.Sample(ctx, x)
	Sample func(ctx context.Context, m energy.Denoiser[S], first int, x []S) error

	// Train holds the settings of the training. In this field, a Rate of 0 means 5e-4. For a small
	// network, start with the rate and the number of steps of the pre-training. Larger networks
	// need fewer steps: the networks of molecules in the examples take a tenth of the steps.
	// Train.Checkpoint must be unset, because Config.Checkpoint includes the training.
	Train train.Config

	// Freeze is the fraction of the training steps before the first update of the multipliers λ; 0
	// means 0.3.
	Freeze float64

	// Inner is the number of training steps between updates of the multipliers λ; 0 means 10.
	Inner int

	// Draws is the number of samples drawn from the network for each update of the multipliers λ; 0
	// means 48.
	Draws int

	// Final is the number of draws with which [Tuner.Run] chooses the final weights. 0 means the
	// larger of 1638 and 8/Bound. A concept that is measured by counts (Has is set, Tokens is not)
	// needs Final ≥ 8/Bound. The final shares agree with their bounds ε up to a relative error of
	// about
	//
	//	√((1−ε)/(ε·Final)).
	//
	// Run draws Final/4 samples with each of two sets of weights, and then 3·Final/4 samples with
	// each of one to four sets.
	Final int

	// Observe, if not nil, is called with the result of every round. It must not keep the slices of
	// r.
	Observe func(r Round)

	// Checkpoint, if its Path is set, saves the run to that file and keeps the previous file as
	// Path.old. It saves at the end of Run, even if the context ended Run. If Every is k > 0, it
	// also saves after every k rounds.
	Checkpoint struct {
		Path  string
		Every int
	}
}

// Round is one measurement of the network's samples between training steps.
type Round struct {
	Step   int       // number of training steps made before this round
	Lambda []float64 // multipliers λ in the training steps just before this round
	Share  []float64 // mean share of every concept in the draws of this round
}

const (
	// default of Config.Train.Rate, for a network of 1.5e5 weights that was pre-trained for
	// 2000 steps at 2e-3
	rate       = 5e-4
	freeze     = 0.3
	inner      = 10
	draws      = 48
	final      = 1638
	leastHits  = 8.0     // expected number of the Final draws that have a concept at its bound
	mostDraws  = 1 << 20 // largest Final that is chosen for a small bound
	smoothing  = 0.5     // weight of the latest round in the smoothed share that moves λ
	damping    = 0.5     // factor of a Newton step, because the network responds with a delay
	averaged   = 0.5     // fraction of the steps, at the end, over which λ is averaged
	mostMove   = 1.0     // largest change of λ in a Newton step, in nats
	stallRatio = 1.5     // at a gap, the share exceeds this multiple of the bound; see GapError
	stallParts = 0.1     // at a gap, the share in the training rows is below this multiple
	stallFall  = 0.95    // a share below this factor of the smallest so far is still falling
	stallAfter = 0.25    // share of the steps without a fall after which Run reports a gap
)

// Tuner finetunes the weights of one network on tokens (S = int32) or reals. Its methods must not
// be called concurrently with each other.
type Tuner[S energy.Site] struct {
	net      *neural.Transformer
	trainer  *train.Trainer
	concepts []Concept[S]
	parts    [][]float64 // share r of every concept in each row of the data
	start    []float32   // weights of the network before the run
	cfg      Config[S]
	sites    int
	life     session.Session
	state

	weight []float64 // scratch: weights of the rows of data
	x      []S
	never  S // fills x before Sample, and shows entries that Sample does not set
}

// state is the part of a checkpoint that does not belong to the training.
type state struct {
	lambda []float64
	// weighted sums of λ over the rounds of the second half of the run, and the sum of their
	// weights
	sums  []float64
	total float64
	// smoothed share of each concept in the samples of the network being trained; after the
	// run, the share in the samples of the final weights
	share  []float64
	rounds int
	drawn  int     // number of draws made for each concept
	stall  int     // consecutive rounds in which a share with a gap did not fall
	least  float64 // smallest share so far of a concept with a gap; 0 if there is no gap
	done   bool
	along  float64 // in the end: the weights are start + along·(average − start)
	missed int     // in the end: 1 + the number of a concept above its bound; 0 if there is none
}

// New returns a tuner for net, which must have been trained on similar data. The tuner modifies the
// weights of net. New computes the initial multipliers from the data.
//
// New returns the errors of train.New, and an error in these cases:
//
//   - a field is out of range or unset;
//   - Model has a different shape from net, or does not change with the weights of net;
//   - a concept occurs in no row or in every row of the data;
//   - no reweighting of the data satisfies the bounds.
func New[S energy.Site](ctx context.Context, net *neural.Transformer, data []S, concepts []Concept[S], cfg Config[S]) (*Tuner[S], error) {
	chosen := cfg.Final != 0
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	if len(concepts) == 0 {
		return nil, fmt.Errorf("finetune: New: no concept, want ≥ 1")
	}
	trainer, err := trainerOf(net, data, &cfg)
	if err != nil {
		return nil, fmt.Errorf("finetune: New: %w", err)
	}
	t := &Tuner[S]{net: net, trainer: trainer, concepts: slices.Clone(concepts), cfg: cfg, start: slices.Clone(net.Weights())}
	c, levels := net.Config(), 0
	wantSites, wantLevels := c.Length, c.Levels
	if c.Channels > 0 {
		wantSites, wantLevels = c.Length*c.Channels, 1
	}
	if t.sites, levels = cfg.Model.Shape(); t.sites != wantSites || levels != wantLevels {
		return nil, fmt.Errorf("finetune: New: Config.Model has %d sites and %d levels, the network %d and %d", t.sites, levels, wantSites, wantLevels)
	}
	bounds := make([]float64, len(concepts))
	for j := range t.concepts {
		if _, err := t.concepts[j].avoiding(j, cfg.Model); err != nil {
			return nil, err
		}
		r, err := t.concepts[j].parts(j, data, t.sites)
		if err != nil {
			return nil, err
		}
		t.parts = append(t.parts, r)
		bounds[j] = concepts[j].Bound
		if need := leastHits / bounds[j]; len(concepts[j].Tokens) == 0 && need > float64(t.cfg.Final) {
			if chosen || need > mostDraws {
				return nil, fmt.Errorf("finetune: New: Config.Final = %d draws for %s, want ≥ %.0f, since fewer cannot show a share of %v: raise Final or the Bound", t.cfg.Final, concepts[j].name(j), math.Ceil(need), bounds[j])
			}
			t.cfg.Final = int(math.Ceil(need))
		}
	}
	u, err := unlearn.FromRatios(t.parts...)
	if err != nil {
		return nil, fmt.Errorf("finetune: New: %w", err)
	}
	s, err := u.Solve(ctx, unlearn.LikelihoodRatio, bounds)
	if err != nil {
		if d := (*dual.DivergedError)(nil); errors.As(err, &d) {
			for j := range d.Rows {
				d.Rows[j].Name, d.Rows[j].Bound = concepts[j].name(j), bounds[j]
			}
		}
		return nil, fmt.Errorf("finetune: New: λ on the data: %w", err)
	}
	if err := t.follows(ctx, data); err != nil {
		return nil, err
	}
	t.state = state{lambda: slices.Clone(s.Lambda), sums: make([]float64, len(concepts)), share: make([]float64, len(concepts))}
	most := max(t.cfg.Draws, t.cfg.Final, probed)
	t.never = S(-1)
	if v, ok := any(&t.never).(*float32); ok {
		*v = float32(math.NaN())
	}
	t.weight, t.x = make([]float64, len(data)/t.sites), make([]S, most*t.sites)
	t.life = session.Session{Who: "finetune", Checkpoint: session.Checkpoint{Path: cfg.Checkpoint.Path, Every: cfg.Checkpoint.Every}, Len: func() int { return t.rounds }, Write: t.write, Read: t.read}
	return t, nil
}

// trainerOf returns the trainer for a network on tokens or reals.
func trainerOf[S energy.Site](net *neural.Transformer, data []S, cfg *Config[S]) (*train.Trainer, error) {
	if reals, ok := any(data).([]float32); ok {
		return train.NewReals(net, cfg.Real, reals, cfg.Train)
	}
	tokens, _ := any(data).([]int32)
	return train.New(net, cfg.Objective, tokens, cfg.Train)
}

// follows returns an error if the predictions of Config.Model stay the same when all weights of the
// network change. It restores the weights.
func (t *Tuner[S]) follows(ctx context.Context, data []S) error {
	w, r := t.net.Weights(), rand.New(rand.NewPCG(0, 0))
	x := slices.Clone(data[:t.sites])
	if tokens, ok := any(x).([]int32); ok {
		t.cfg.Objective.Corrupt(tokens, make([]float64, t.sites), slices.Clone(tokens), 0.5, r)
	}
	_, levels := t.cfg.Model.Shape()
	defer copy(w, t.start)
	var v [2][]float32
	for k := range v {
		v[k] = make([]float32, t.sites*levels)
		q := energy.Noised[S]{X: x, Time: []float64{0.5}, Alpha: []float64{0.5}, Sample: []int{0}, Src: []rand.Source{rand.NewPCG(0, 0)}, Guided: true}
		if t.cfg.Model.Denoise(ctx, v[k], q) != nil {
			return nil // the model needs more than this state; Sample knows what
		}
		for i := range w {
			w[i] += float32(0.1 * r.NormFloat64())
		}
	}
	if slices.Equal(v[0], v[1]) {
		return fmt.Errorf("finetune: New: Config.Model does not change with the weights of net: want a denoiser of this very network, such as neural.NewMasked(net, …)")
	}
	return nil
}

// fill checks the configuration and replaces zero fields by defaults.
func (c *Config[S]) fill() error {
	if check.Nil(c.Model) || c.Sample == nil {
		return fmt.Errorf("finetune: Config: Model set = %t, Sample set = %t, want both", !check.Nil(c.Model), c.Sample != nil)
	}
	if c.Train.Rate == 0 {
		c.Train.Rate = rate
	}
	if c.Freeze == 0 {
		c.Freeze = freeze
	}
	if c.Train.Checkpoint.Path != "" {
		return fmt.Errorf("finetune: Config.Train.Checkpoint.Path = %q, want none: Config.Checkpoint has the training, too", c.Train.Checkpoint.Path)
	}
	if !(c.Freeze > 0 && c.Freeze <= 1) {
		return fmt.Errorf("finetune: Config.Freeze = %v, want in (0, 1]", c.Freeze)
	}
	return check.Defaults("finetune: Config.", check.Number("Inner", &c.Inner, 0, inner), check.Number("Draws", &c.Draws, 0, draws),
		check.Number("Final", &c.Final, 0, final), check.Number("Checkpoint.Every", &c.Checkpoint.Every, 0, 0))
}

// Run trains for the remaining steps (see Config.Train) and then chooses the final weights. After a
// completed run it does nothing. Until the fraction Config.Freeze of all steps is done, λ is
// constant. After that, λ changes once in every Config.Inner steps, by half a Newton step towards
// the bounds, limited to one nat:
//
//	λ_i ← max(0, λ_i + ½·(ŝ_i − ε_i)/max(ŝ_i(1−ŝ_i), ε_i(1−ε_i)))
//
// Here ε_i is the bound of concept i, and ŝ_i is its smoothed share in the network's draws. An
// update first replaces ŝ_i by the mean of ŝ_i and the share in the latest Config.Draws draws.
//
// At the end, Run searches the line through the initial weights and the average weights of the
// training. The final weights are a point on this line at which all shares have reached their
// bounds. Run measures shares with Config.Final draws, or up to four times as many. If the point is
// far beyond the average weights, the shares in fresh draws tend to exceed their bounds. In this
// case, train for more steps.
//
// If the network satisfies all bounds before the first step, Run sets λ to 0 and does not train.
//
// If ctx ends, Run returns the error of ctx, and the next Run continues bit for bit. A [*GapError]
// means that the network generates a concept too often although its training rows contain little of
// it. Run also returns the errors of Config.Sample and of the training. The network then has the
// weights of the step that the error names, and the next Run continues from there. To keep the
// initial weights, Clone the network first.
func (t *Tuner[S]) Run(ctx context.Context) error {
	return t.life.Run(ctx, math.MaxInt, func(int) error {
		if t.done {
			return cmp.Or(t.end(), session.ErrDone)
		}
		err := t.next(ctx)
		if gap := (*GapError)(nil); err == nil || errors.As(err, &gap) || ctx.Err() != nil {
			return err
		}
		return fmt.Errorf("%w; the network has the weights of step %d of %d", err, t.trainer.Step(), t.cfg.Train.Steps)
	})
}

// begin measures the network before the first step. If all bounds are satisfied, the run is done.
func (t *Tuner[S]) begin(ctx context.Context) error {
	if err := t.repeats(ctx); err != nil {
		return err
	}
	drawn, share := 0, make([]float64, len(t.concepts))
	for _, n := range []int{t.cfg.Draws, t.cfg.Final} {
		r, err := t.draw(ctx, n, drawn)
		if err != nil {
			return err
		}
		drawn += n
		for j := range r {
			if share[j] = mean(r[j]); share[j] > t.concepts[j].Bound {
				t.drawn = drawn
				return nil
			}
		}
	}
	clear(t.lambda)
	t.drawn, t.share, t.done, t.rounds = drawn, share, true, 1
	return nil
}

// next trains until the next round, then measures the network and updates λ. After the last
// training step it chooses the final weights.
func (t *Tuner[S]) next(ctx context.Context) error {
	if t.trainer.Step() == t.cfg.Train.Steps {
		return t.settle(ctx)
	}
	if t.drawn == 0 {
		if err := t.begin(ctx); err != nil || t.done {
			return err
		}
	}
	t.reweight()
	if err := t.trainer.Reweight(t.weight); err != nil {
		return fmt.Errorf("finetune: λ = %v: %w", t.lambda, err)
	}
	frozen := int(math.Ceil(t.cfg.Freeze * float64(t.cfg.Train.Steps)))
	until := min(frozen+t.rounds*t.cfg.Inner, t.cfg.Train.Steps)
	if err := t.trainer.Run(ctx, until-t.trainer.Step()); err != nil {
		return err
	}
	if until == t.cfg.Train.Steps {
		t.rounds++
		return nil
	}
	r, err := t.draw(ctx, t.cfg.Draws, t.drawn)
	if err != nil {
		return err
	}
	t.drawn += t.cfg.Draws
	t.move(r)
	t.rounds++
	return t.stalled()
}

// reweight sets the weight of each row of data to e^(−λᵀr).
func (t *Tuner[S]) reweight() {
	for k := range t.weight {
		v := 0.0
		for j, l := range t.lambda {
			v -= float64(l * t.parts[j][k])
		}
		t.weight[k] = simd.Exp(v)
	}
}

// draw returns the estimated share of each concept in each of n draws of the network. The argument
// first is the index of the first draw.
func (t *Tuner[S]) draw(ctx context.Context, n, first int) ([][]float64, error) {
	r, share := make([][]float64, len(t.concepts)), make([]float64, len(t.concepts))
	for j := range share {
		r[j] = make([]float64, n)
		if err := t.estimate(ctx, j, r[j], t.x[:n*t.sites], first); err != nil {
			return nil, err
		}
		share[j] = mean(r[j])
	}
	if t.cfg.Observe != nil {
		t.cfg.Observe(Round{t.trainer.Step(), t.lambda, share})
	}
	return r, nil
}

// move updates λ by the estimates r of a round.
func (t *Tuner[S]) move(r [][]float64) {
	if left := 1 - float64(t.trainer.Step())/float64(t.cfg.Train.Steps); left < averaged {
		t.total += left
		for j, l := range t.lambda {
			t.sums[j] += float64(left * l)
		}
	}
	for j := range r {
		s := mean(r[j])
		if t.rounds > 0 {
			s = float64((1-smoothing)*t.share[j]) + float64(smoothing*s)
		}
		t.share[j] = s
		b := t.concepts[j].Bound
		d := damping * (s - b) / max(float64(s*(1-s)), float64(b*(1-b)))
		t.lambda[j] = max(0, t.lambda[j]+min(max(d, -mostMove), mostMove))
	}
}

// taught returns the share of concept j among the reweighted rows on which the network is
// trained.
func (t *Tuner[S]) taught(j int) float64 {
	t.reweight()
	all, has := 0.0, 0.0
	for k, w := range t.weight {
		all += w
		has += float64(w * t.parts[j][k])
	}
	return has / all
}

// GapError reports that the network still generates too much of a concept although its training
// rows contain little of it. More steps, a higher rate or a larger network may help. The share that
// comes from errors of the network always remains.
//
// The error occurs in two cases:
//
//   - During the run, the share of the concept in the training rows is below a tenth of the bound.
//     The share in the network's samples, however, is above 1.5 times the bound and has not fallen
//     for a quarter of the steps. A later Run can continue.
//   - At the end of the run, [Tuner.Run] has found no weights for which the share is within two
//     standard errors of the bound. The network then has the average weights of the training, and
//     the field Share is the share in its samples. Every later Run returns the same error.
type GapError struct {
	Concept string
	Step    int
	Lambda  float64
	// share of the concept in the training rows at Lambda; share in the network's samples; bound on
	// the share
	Taught, Share, Bound float64
}

func (e *GapError) Error() string {
	return fmt.Sprintf("finetune: step %d: %s: λ = %.3g leaves a share of %.3g in the data, and the network still generates %.3g, want ≤ %.3g: train for more steps or at a higher rate (Config.Train), train a larger network, or raise the Bound", e.Step, e.Concept, e.Lambda, e.Taught, e.Share, e.Bound)
}

// stalled returns a [*GapError] if a concept has a gap and its share no longer falls.
func (t *Tuner[S]) stalled() error {
	for j := range t.concepts {
		c := &t.concepts[j]
		if !(t.share[j] > stallRatio*c.Bound && t.taught(j) < stallParts*c.Bound) {
			continue
		}
		if t.least == 0 || t.share[j] < stallFall*t.least { // the share is still falling
			t.least, t.stall = t.share[j], 0
			return nil
		}
		if t.stall++; float64(t.stall*t.cfg.Inner) < stallAfter*float64(t.cfg.Train.Steps) {
			return nil
		}
		t.least, t.stall = 0, 0
		return t.gap(j)
	}
	t.least, t.stall = 0, 0
	return nil
}

// gap returns the GapError of concept j.
func (t *Tuner[S]) gap(j int) error {
	return &GapError{t.concepts[j].name(j), t.trainer.Step(), t.lambda[j], t.taught(j), t.share[j], t.concepts[j].Bound}
}

// settle sets the final weights to start + along·(average − start). It measures the shares at
// three points: at the average; further in the direction of the bounds, by the same draws, which
// shows how fast the logits of the shares change along the line; and, by the other draws, where
// the bounds should be reached. If, by all measurements together, the bounds are still far from the
// third point, settle moves on and measures again, at most mostLooks times in all. The final point
// is near the last one.
func (t *Tuner[S]) settle(ctx context.Context) error {
	w := t.net.Weights()
	trained, average := slices.Clone(w), t.trainer.Average().Weights()
	defer func() {
		if !t.done { // interrupted: the next call starts from the same weights
			copy(w, trained)
		}
	}()
	few := (t.cfg.Final + 3) / 4
	most := t.cfg.Final - few
	t.place(average, 1)
	first, err := t.draw(ctx, few, t.drawn)
	if err != nil {
		return err
	}
	lines := make([]line, len(t.concepts))
	for j, r := range first {
		// first guess: half the slope from the data to here
		l := lookAt(1, r)
		bound := logit(t.concepts[j].Bound, most)
		lines[j] = line{bound, (bound - logit(mean(t.parts[j]), most)) / 2, []look{l}}
	}
	step := further(lines, 1)
	if math.Abs(step) < nearest {
		step = math.Copysign(nearest, step)
	}
	at := 1 + step
	t.place(average, at)
	second, err := t.draw(ctx, few, t.drawn)
	if err != nil {
		return err
	}
	for j, r := range second {
		l := &lines[j]
		if l.slope < 0 {
			m, variance := slopeOf(first[j], r, step)
			slope := (float64(l.slope*variance) + float64(m*l.slope*l.slope)) / (variance + float64(l.slope*l.slope))
			l.slope = min(max(slope, steepest*l.slope), l.slope/steepest)
		}
		// The same draws at both points count as one measurement in the middle.
		again := lookAt(at, r)
		one := &l.looks[0]
		*one = look{(one.at + at) / 2, (one.value + again.value) / 2, (one.variance + again.variance) / 2}
	}
	drawn, left := few, further(lines, at)
	for n := 0; n == 0 || n < mostLooks && math.Abs(left) > nearest; n++ {
		at += left
		t.place(average, at)
		r, err := t.draw(ctx, most, t.drawn+drawn)
		if err != nil {
			return err
		}
		drawn += most
		for j := range r {
			lines[j].looks = append(lines[j].looks, lookAt(at, r[j]))
		}
		left = further(lines, at)
	}
	t.along = at + min(max(left, -nearest), nearest)
	for j := range lines {
		value, variance := lines[j].estimate(t.along)
		if t.missed == 0 && value-2*math.Sqrt(variance) > lines[j].bound {
			t.missed = j + 1
		}
	}
	if t.missed > 0 { // weights far from the average are those of a worse network
		t.along = 1
	}
	t.place(average, t.along)
	for j := range lines {
		value, _ := lines[j].estimate(t.along)
		t.share[j] = simd.Sigmoid(value)
	}
	if t.total > 0 {
		for j, v := range t.sums {
			t.lambda[j] = v / t.total
		}
	}
	t.done = true
	t.drawn += drawn
	t.rounds++
	return t.end()
}

// end returns the GapError of a run that is done, if the share of a concept is above its bound.
func (t *Tuner[S]) end() error {
	if t.missed == 0 {
		return nil
	}
	return t.gap(t.missed - 1)
}

// place sets the weights to start + along·(average − start).
func (t *Tuner[S]) place(average []float32, along float64) {
	w := t.net.Weights()
	for i, v := range t.start {
		w[i] = v + float32(along*float64(average[i]-v))
	}
}

const (
	nearest   = 0.05 // smallest step along the line that reveals a slope, and largest unmeasured one
	farthest  = 0.3  // largest step for which a slope is trusted before it is measured again
	mostLooks = 4    // largest number of points at which the bounds should be reached
	steepest  = 8.0  // limit of a slope, as a multiple of the first guess
)

// slopeOf returns the slope of the logit of a share between two points of the line, a step apart,
// and the variance of this slope. The estimates a and b are of the same draws at the two points.
func slopeOf(a, b []float64, step float64) (slope, variance float64) {
	n := float64(len(a))
	p := inside((mean(a)+mean(b))/2, len(a))
	scale := float64(p*(1-p)) * step // of a difference of shares
	d := mean(b) - mean(a)
	for s := range a {
		e := b[s] - a[s] - d
		variance += float64(e * e)
	}
	// One more draw that changes by one: without it, draws that do not change would be certain.
	variance = (variance + 1) / float64(n*n)
	return d / scale, variance / float64(scale*scale)
}

// look is a measurement of a share at a point of the line: its logit, with the variance.
type look struct{ at, value, variance float64 }

// lookAt returns the measurement of a share by the estimates r of draws.
func lookAt(at float64, r []float64) look {
	n := len(r)
	m, sum := mean(r), 1.0 // one more draw that differs: see slopeOf
	for _, v := range r {
		sum += float64((v - m) * (v - m))
	}
	p := inside(m, n)
	scale := float64(n) * float64(p*(1-p))
	return look{at, logit(m, n), sum / float64(scale*scale)}
}

// line holds what is known about a concept along the line: the logit of its bound, the slope of the
// logit of its share, and measurements.
type line struct {
	bound, slope float64
	looks        []look
}

// estimate returns the logit of the share at a point, and its variance, from all measurements. The
// slope is taken to be uncertain by half of itself, so that distant measurements count less.
func (l *line) estimate(at float64) (value, variance float64) {
	sum := 0.0
	for _, k := range l.looks {
		move := float64(l.slope * (at - k.at))
		spread := move / 2
		w := 1 / (k.variance + float64(spread*spread))
		value += float64(w * (k.value + move))
		sum += w
	}
	return value / sum, 1 / sum
}

// further returns the step from a point of the line at which all shares reach their bounds, between
// −farthest and farthest. It ignores concepts whose bounds allow more than the data contain,
// because training does not reduce them.
func further(all []line, at float64) float64 {
	to := math.Inf(-1)
	for j := range all {
		if l := &all[j]; l.slope < 0 {
			value, _ := l.estimate(at)
			to = max(to, (l.bound-value)/l.slope)
		}
	}
	if math.IsInf(to, -1) {
		return 0
	}
	return min(max(to, -farthest), farthest)
}

// logit returns log p/(1−p) of a share p estimated from n draws. p is first limited to at least
// half a draw from 0 and 1.
func logit(p float64, n int) float64 {
	p = inside(p, n)
	return simd.Log(p) - simd.Log1p(-p)
}

// inside returns p, limited to at least half of n draws from 0 and 1.
func inside(p float64, n int) float64 {
	least := 0.5 / float64(n)
	return min(max(p, least), 1-least)
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// Lambda returns a copy of the multipliers λ, one per concept. During the run, they are the
// multipliers of the next training steps. After the run, they are a weighted mean over the second
// half of the steps, with more weight on earlier steps. This mean is close to the λ that the
// training of the network effectively used. The λ of the last step drifts with the noise of the
// draws.
func (t *Tuner[S]) Lambda() []float64 { return slices.Clone(t.lambda) }

// Share returns the mean share of every concept in the samples of the network. During the run it is
// a smoothed estimate. At the end it is the estimate from the draws of Config.Final. Run adapts the
// network to these draws, so use other samples to measure the finished network.
func (t *Tuner[S]) Share() []float64 { return slices.Clone(t.share) }

// Drawn returns the number of draws made so far to measure each concept.
func (t *Tuner[S]) Drawn() int { return t.drawn }

// magic starts a checkpoint of a tuner. A checkpoint holds three frames (see [session.Frames]),
// which contain, in order, the settings, the state, and an end mark. The checkpoint of the training
// follows.
const magic = "gibbsite finetune 4\n"

// settings returns the settings that must be equal in a checkpoint and in the tuner that loads the
// checkpoint, except the settings of the training.
func (t *Tuner[S]) settings() *fingerprint.List {
	l := &fingerprint.List{}
	l.Add("concepts", len(t.concepts))
	for j, c := range t.concepts {
		l.Add("Bound of "+c.name(j), c.Bound)
		l.Add("Tokens of "+c.name(j), c.Tokens)
		l.Doubles("parts in the data of "+c.name(j), t.parts[j])
	}
	l.Add("Config.Freeze", t.cfg.Freeze)
	l.Add("Config.Inner", t.cfg.Inner)
	l.Add("Config.Draws", t.cfg.Draws)
	l.Add("Config.Final", t.cfg.Final)
	l.Text("checksum of the weights before", fmt.Sprintf("%016x", crc64.Checksum(wire.AppendFloat32s(nil, t.start), crc64.MakeTable(crc64.ECMA))))
	return l
}

func (t *Tuner[S]) frames(s *state) *session.Frames {
	return &session.Frames{Magic: magic, Settings: t.settings(), Count: 1, Limit: 64 + 24*len(t.concepts), Frame: func(f *wire.Fields, _ int) {
		f.Counts("a number of rounds, draws or concepts", &s.rounds, &s.drawn, &s.stall, &s.missed)
		f.Bool("the end", &s.done)
		f.Float64(&s.least)
		f.Float64(&s.along)
		f.Float64(&s.total)
		f.Float64s(s.lambda)
		f.Float64s(s.sums)
		f.Float64s(s.share)
		if s.missed > len(t.concepts) {
			f.Fail(fmt.Errorf("the concept above its bound in the checkpoint = %d, want at most %d", s.missed, len(t.concepts)))
		}
		if !check.Finite(s.along) {
			f.Fail(fmt.Errorf("the place of the weights in the checkpoint = %v, want a finite number", s.along))
		}
		for j, l := range s.lambda {
			if !(l >= 0) || math.IsInf(l, 1) {
				f.Fail(fmt.Errorf("λ[%d] in the checkpoint = %v, want a finite number ≥ 0", j, l))
			}
		}
	}}
}

func (t *Tuner[S]) write(w io.Writer) error {
	if err := t.frames(&t.state).Write(w, nil); err != nil {
		return err
	}
	return t.trainer.Save(w)
}

func (t *Tuner[S]) read(ctx context.Context, r io.Reader) error {
	s := state{lambda: make([]float64, len(t.concepts)), sums: make([]float64, len(t.concepts)), share: make([]float64, len(t.concepts))}
	if err := t.frames(&s).Read(ctx, r, nil); err != nil {
		return err
	}
	if err := t.trainer.Load(ctx, r); err != nil {
		return err
	}
	if t.state = s; t.done {
		t.place(t.trainer.Average().Weights(), t.along)
	}
	return nil
}

// Save writes a checkpoint to w. A tuner built with the same arguments, including the initial
// weights, can load the checkpoint and continue bit for bit.
func (t *Tuner[S]) Save(w io.Writer) error { return t.life.Save(w) }

// Load restores a checkpoint written by Save. If Load returns an error, nothing has changed, and
// the error names the first setting that differs or describes the damage.
func (t *Tuner[S]) Load(ctx context.Context, r io.Reader) error { return t.life.Load(ctx, r) }

// SaveFile saves a checkpoint to the file at the given path. It keeps the previous checkpoint as
// path.old. At least one of the two files survives any failure.
func (t *Tuner[S]) SaveFile(path string) error { return t.life.SaveFile(path) }

// LoadFile restores a checkpoint written by [Tuner.SaveFile]. If the file is missing or damaged,
// LoadFile restores the previous checkpoint, path.old. The rules of [Tuner.Load] apply.
func (t *Tuner[S]) LoadFile(ctx context.Context, path string) error {
	return t.life.LoadFile(ctx, path)
}
