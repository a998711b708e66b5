// Package diffusion draws samples by reversing a process that gradually turns data into noise. A
// [Runner] moves each sample from pure noise at time 1 to a clean sample at time 0, in steps of a
// [Process]. In every step it asks an energy.Denoiser to predict the clean sample. For tokens, a
// prediction is the log-weight of every token at each site. For reals it is one number per site.
//
// Choose a process by what you need. On tokens, [Masked] with FirstHitting follows the denoiser's
// distribution exactly, with one prediction per token. Masked without FirstHitting needs fewer
// predictions. [Uniform] and [Remask] can change a token again. [Ordered] gives output that is more
// likely than typical samples. Package unmask has more processes that choose which tokens to
// reveal. On reals, use [Gaussian], or [ECI] for flow matching.
//
// # Constraints
//
// A [Projector] in [Config] makes every sample satisfy a constraint:
//
//   - A projection that can draw (a [Drawer]), such as projection.Path, conditions every step
//     exactly. All samples are feasible, but they do not follow the denoiser's distribution given
//     the constraint, because a prediction treats sites as independent.
//   - [Particles] with the same projection correct this error, at the cost of as many predictions
//     as particles, and estimate the probability of the constraint. With a
//     ParticlesConfig.Potential they also weight samples by a score.
//   - Other projections move predictions, and [Decoding] turns the projected predictions into
//     tokens. They suit uniform noise. With masks, an unmasked token is never reconsidered, so use
//     package scored, which looks ahead.
//   - For reals, proximal.Projector moves the posterior mean (constrained posterior sampling).
//     Config.ProjectState selects other methods for comparison, and package distance measures the
//     results. Package twisted draws from the conditional distribution itself, at many times the
//     cost.
//
// An error of one sample does not affect the others: see [Runner.Sample] and [SampleErrors].
//
// [ClassifierFree] and [ClassifierGuided] steer samples towards a condition without enforcing it.
// [Penalised] does the same for reals.
//
// A long run keeps its samples in a file (Config.Checkpoint) and resumes from it when started
// again. Config.First selects a part of a run. A resumed run and a run in parts give the same bits
// as one uninterrupted run.
//
// Processes, projectors and denoisers are used only through their interfaces, so a value, a pointer
// and a wrapper behave alike.
package diffusion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/session"
	"github.com/gibbsite-go/gibbsite/internal/slots"
)

// Runner draws samples by reversing a process that turns data into noise. It moves each sample from
// pure noise at time 1 to time 0 in steps of a [Process]. In every step a denoiser predicts the
// clean sample. Create it with [New].
//
// Sample i draws only from stream (Seed, i). The results do not depend on Workers, nor on Batch if
// the denoiser treats every state independently. Two calls of Sample give the same samples as one
// larger call.
//
// Methods must not be called concurrently with each other. A step allocates no more than the
// denoiser and the projection do.
type Runner[S energy.Site] struct {
	e             *slots.Engine[S]
	cfg           Config
	model         energy.Denoiser[S]
	sites, levels int
	leaveOneOut   bool
	maxSteps      int // largest number of steps of one sample

	recipe  any        // the process as passed to New
	process []Steps[S] // bound process of each slot
	step    func(w, i int, next float64) (v []float32, err error)

	projection Projection
	drawer     Drawer
	spared     GivenDrawer // drawer, if it may skip the rows of known tokens; else nil
	certain    []int32     // known tokens of each slot, −1 elsewhere
	committer  Committer
	warm       Warm
	guided     *guided // guidance at the posterior; nil means none

	per   int   // number of slots per sample
	crowd crowd // particles of the samples; nil for a run without particles

	life  session.Session
	made  int     // number of samples returned since construction
	fault []error // for each sample of the batch: the error with which it was abandoned
	// for progress reports, numbers of samples of the call: before this batch, in this batch,
	// and in total; all 0 means no report
	batch  [3]int
	saved  *fingerprint.List // settings for checkpoints; nil if no samples are kept
	kept   finished[S]       // samples kept for checkpoints
	broken error             // error that prevents further samples
	work   []workspace[S]    // scratch of each worker
}

// crowd is implemented by the particles of the samples. A runner uses them through this
// interface.
type crowd interface {
	begin(g int) // begin is called when the particles of sample g of the batch have begun
	// choose selects, at the end of sample g, one of its particles, and returns the particle's
	// slot and the estimate log Ẑ of the sample
	choose(g int) (slot int, logZ float64)
	count(logZ float64) // count receives the estimate of the next finished sample
}

// workspace is the scratch of one worker.
type workspace[S energy.Site] struct {
	before []S // state before a step
	clean  []S // draw of the clean sample
	v      []float32
	snap   Snapshot
}

// New returns a runner that samples from the model by the given process. It calls the Bind methods
// of the process and the projector. They can take a long time, but stop when ctx ends.
//
// New returns an error in these cases:
//
//   - the model or the process is nil, or a field of the configuration is out of range;
//   - the process does not match the model, or cannot use the projection or the guidance;
//   - a site is clamped to a mask;
//   - the projector or a [noise.Checked] model returns an error.
func New[S energy.Site](ctx context.Context, model energy.Denoiser[S], process Process[S], cfg Config) (*Runner[S], error) {
	return newRunner(ctx, model, process, cfg, 1)
}

// newRunner returns a runner whose samples have per slots each.
func newRunner[S energy.Site](ctx context.Context, model energy.Denoiser[S], process Process[S], cfg Config, per int) (*Runner[S], error) {
	sites, levels, err := slots.Model("diffusion: New", model)
	if err != nil {
		return nil, err
	}
	if err := cfg.fill(sites, levels); err != nil {
		return nil, err
	}
	d := &Runner[S]{
		recipe: process, cfg: cfg, model: model, sites: sites, levels: levels, per: per,
		leaveOneOut: energy.LeaveOneOut(model), fault: make([]error, cfg.Batch), work: make([]workspace[S], cfg.Workers),
	}
	if d.process, err = slots.Bind(ctx, "diffusion: New", model, process, cfg.Batch); err != nil {
		return nil, err
	}
	d.life = session.Session{Who: "diffusion", Checkpoint: cfg.Checkpoint, Len: d.finished, Write: d.write, Read: d.read}
	d.maxSteps = slots.MaxSteps(d.process[0], cfg.Steps)
	d.e = slots.New(model, slots.Shape{Sites: sites, Levels: levels, Batch: cfg.Batch, Tables: cfg.tables, Workers: cfg.Workers}, func(i int) slots.Steps[S] { return d.process[i] })
	d.e.Meta = cfg.Meta
	// The conversion of a leave-one-out prediction depends on time.
	d.e.TimeFree = energy.TimeFree(model) && !d.leaveOneOut
	d.e.Policy = slots.Policy{Next: d.move, Judge: d.judge, Retry: d.retry, Fault: d.denoiserFault, Most: d.maxSteps}
	for i := range d.work {
		d.work[i].before, d.work[i].clean = make([]S, sites), make([]S, sites)
	}
	if err := d.specialise(process); err != nil {
		return nil, err
	}
	if err := d.bindProjector(ctx); err != nil {
		return nil, err
	}
	if tokens, ok := any(d).(*Runner[int32]); ok {
		spare(tokens)
	}
	if r, ok := d.process[0].(revealing); ok && d.projection == nil && d.guided == nil && per == 1 {
		d.e.Reveals = r.Reveals()
	}
	d.e.Keep = d.e.TimeFree || d.committer != nil
	return d, d.remember(ctx)
}

// specialise sets up the parts that differ between tokens and reals.
func (d *Runner[S]) specialise(process Process[S]) error {
	switch d := any(d).(type) {
	case *Runner[int32]:
		return specialiseTokens(d, process)
	case *Runner[float32]:
		d.step = func(w, i int, next float64) ([]float32, error) { return stepReals(d, w, i, next) }
		return cmp.Or(
			check.If(d.cfg.Clamp != nil, "diffusion: Config.Clamp is for tokens, the model has reals"),
			check.If(d.levels != 1, "diffusion: New: levels = %d, want 1 for reals", d.levels),
		)
	}
	return nil
}

// specialiseTokens returns an error unless the steps support the requirements of the
// configuration and the model.
func specialiseTokens(d *Runner[int32], process any) error {
	_, renoises := d.process[0].(Renoiser)
	if err := cmp.Or(
		check.If(d.cfg.ClampReal != nil, "diffusion: Config.ClampReal is for reals, the model has tokens"),
		check.If(d.cfg.ProjectState, "diffusion: Config.ProjectState is for reals, the model has tokens"),
		d.checkClamp(d.cfg.Clamp),
		check.If(!renoises && d.leaveOneOut, "diffusion: New: %T cannot use leave-one-out predictions: it has no Condition", process),
		check.If(!renoises && d.cfg.Projector != nil, "diffusion: New: %T cannot be projected: it has no Renoise", process),
	); err != nil {
		return err
	}
	d.step = func(w, i int, next float64) ([]float32, error) { return stepTokens(d, w, i, next) }
	return guide(d, process)
}

// bindProjector binds the projector of the configuration, if there is one.
func (d *Runner[S]) bindProjector(ctx context.Context) error {
	if d.cfg.Projector == nil {
		return nil
	}
	var err error
	if d.projection, err = d.cfg.Projector.Bind(ctx, d.sites, d.levels, d.cfg.Batch); err != nil {
		return err
	}
	d.warm, _ = d.projection.(Warm)
	if _, tokens := any(d).(*Runner[int32]); tokens {
		d.drawer, _ = d.projection.(Drawer)
		d.committer, _ = d.projection.(Committer)
	}
	if d.drawer != nil && d.cfg.Decode == DecodeLast {
		return nil
	}
	d.drawer = nil
	for i := range d.work {
		d.work[i].v = make([]float32, d.sites*d.levels)
	}
	return nil
}

// checkClamp returns an error if a clamped token is the mask, which is not a clean value.
func (d *Runner[S]) checkClamp(clamp []S) error {
	m, ok := d.process[0].(Absorbing)
	for i, l := range clamp {
		if ok && m.Masks(int32(l)) {
			return fmt.Errorf("diffusion: clamped token of site %d = %v, which is the mask", i%d.sites, l)
		}
	}
	return nil
}

// Shape returns the numbers of sites and levels of the model.
func (d *Runner[S]) Shape() (sites, levels int) { return d.sites, d.levels }

// Settings calls add with the name and value of every setting on which the samples depend, except
// First. A run and its checkpoint must have the same values, and so must all parts of a run. To
// identify the model, Settings asks it for two predictions.
func (d *Runner[S]) Settings(add func(name string, value any)) { d.list(context.Background(), add) }

// Len returns the number of samples made so far, including failed ones.
func (d *Runner[S]) Len() int { return d.made }

// Sample fills x with samples, each with one entry per site. The length of x determines the number
// of samples.
//
// If some samples fail, the others are completed, and the error is a [SampleErrors] with one entry
// per sample. A sample fails if its projection or its predictions fail, or if a [Committer] refuses
// it too often. Other samples are affected only if there is a Committer. Len also counts failed
// samples. A failed sample keeps its last state, with blanks (−1 for tokens, NaN for reals) in
// place of masks. If it has made no step, all its free entries are blank.
//
// The whole call fails if ctx ends, or if the denoiser or a Committer returns another error. Len
// then returns the number of finished samples, after which the next call continues. If some of
// these failed, the error is an [*Unfinished].
func (d *Runner[S]) Sample(ctx context.Context, x []S) error { return d.run(ctx, x, nil) }

// Fill completes the samples × sites entries of x (infilling). Blank entries are −1 for tokens and
// NaN for reals. All other entries are clamped, in addition to those that the configuration clamps.
// Fill leaves x unchanged at failed samples and after the last finished sample. It returns the same
// errors as Sample.
func (d *Runner[S]) Fill(ctx context.Context, x []S) error {
	if err := d.checkClamp(x); err != nil {
		return err
	}
	for i, l := range x {
		if tokens, ok := any(l).(int32); ok && int(tokens) >= d.levels {
			return fmt.Errorf("diffusion: Fill: x[%d] = %v, want < %d", i, l, d.levels)
		}
		if real, ok := any(l).(float32); ok && infinite(real) {
			return fmt.Errorf("diffusion: Fill: x[%d] = %v, want a finite number, or NaN where the sample is free", i, l)
		}
	}
	return d.run(ctx, x, x)
}

// finished returns the number of samples that a checkpoint contains, or would contain now.
func (d *Runner[S]) finished() int { return max(d.made, len(d.kept.given)) }

// row returns the entries of sample k in x, or nil if x is nil.
func (d *Runner[S]) row(x []S, k int) []S {
	if x == nil {
		return nil
	}
	return x[k*d.sites : (k+1)*d.sites]
}

// run fills x, first with samples of a checkpoint, if there are any, then with new ones. Fill
// passes in given the values to which it clamps the samples. For Sample, given is nil.
func (d *Runner[S]) run(ctx context.Context, x, given []S) error {
	n := check.Rows("diffusion", "x", len(x), d.sites)
	if err := d.life.BeginSaving(ctx, "Sample", n); err != nil {
		return err
	}
	defer d.life.End()
	if err := d.mayMake(n); err != nil {
		return err
	}
	each := make(SampleErrors, 0, n)
	err := d.deliver(x, given, &each)
	if err == nil {
		d.e.Pool.Start()
		defer d.e.Pool.Stop()
		err = d.life.Advance(ctx, n-len(each), func(int) error { return d.draw(ctx, x, given, &each) })
	}
	var file error
	if d.life.Unfiled() > 0 {
		file = d.life.Finish(ctx, nil)
	}
	return each.join(err, file)
}

// mayMake returns an error unless the runner may make n more samples.
func (d *Runner[S]) mayMake(n int) error {
	left, most := d.cfg.Count-d.made, math.MaxInt/d.per-d.made-d.cfg.First
	return cmp.Or(
		check.If(d.cfg.Count > 0 && n > left, "diffusion: Sample: %d samples, want ≤ %d (Config.Count = %d, %d made)", n, left, d.cfg.Count, d.made),
		check.If(n > most, "diffusion: Sample: %d samples, want ≤ %d (Config.First = %d, %d made)", n, most, d.cfg.First, d.made),
		d.broken,
	)
}

// draw makes the next batch of samples and stores them in x.
func (d *Runner[S]) draw(ctx context.Context, x, given []S, each *SampleErrors) error {
	done, total := len(*each), cap(*each)
	n := min(d.cfg.Batch/d.per, total-done)
	for g := range n {
		if err := poll.Err(ctx); err != nil {
			return err
		}
		d.begin(g, d.row(given, done+g))
	}
	d.batch = [3]int{done, n, total}
	if err := d.e.Run(ctx, 0, n*d.per); err != nil {
		return err
	}
	if err := d.commit(ctx, n); err != nil {
		return err
	}
	d.progress(d.maxSteps)
	for g := range n {
		slot, logZ := g, 0.0
		if d.crowd != nil {
			slot, logZ = d.crowd.choose(g)
			d.crowd.count(logZ)
		}
		made := d.e.Slots[slot].X
		if d.fault[g] == nil || given == nil {
			copy(d.row(x, done+g), made)
		}
		if d.saved != nil {
			d.kept.add(g, made, d.fault[g], logZ)
		}
	}
	*each = append(*each, d.fault[:n]...)
	d.made += n
	return nil
}

// deliver copies the remaining samples of a checkpoint to x and appends their errors to the list
// each. It returns an error if a sample was clamped to values other than those in given.
func (d *Runner[S]) deliver(x, given []S, each *SampleErrors) error {
	n := min(cap(*each), max(0, len(d.kept.given)-d.made))
	for i := range n {
		if digest(d.row(given, i)) != d.kept.given[d.made+i] {
			return fmt.Errorf("diffusion: sample %d was clamped to other values when the checkpoint was saved", d.number(i))
		}
	}
	for i := range n {
		why := d.kept.why(d.made)
		if why == nil || given == nil {
			copy(d.row(x, i), d.row(d.kept.x, d.made))
		}
		if d.crowd != nil {
			d.crowd.count(d.kept.weight[d.made])
		}
		*each = append(*each, why)
		d.made++
	}
	return nil
}

// begin resets sample g of the batch to time 1. The sample is clamped to the values own, in
// addition to the values that the configuration clamps.
func (d *Runner[S]) begin(g int, own []S) {
	every, _ := any(d.cfg.Clamp).([]S)
	if every == nil {
		every, _ = any(d.cfg.ClampReal).([]S)
	}
	d.kept.clamp(g, own)
	d.fault[g] = nil
	for k := range d.per {
		i := g*d.per + k
		d.e.Clamp(i, every, own)
		number := d.number(g)*d.per + k
		d.e.Start(i, number, d.cfg.Seed, uint64(number))
		d.forget(i)
	}
	if d.crowd != nil {
		d.crowd.begin(g)
	}
}

// number returns the number, in the whole run, of sample g of the batch.
func (d *Runner[S]) number(g int) int { return d.cfg.First + d.made + g }

// forget discards the state that the projection keeps for slot i.
func (d *Runner[S]) forget(i int) {
	if d.warm != nil {
		d.warm.Reset(i)
	}
}

// judge reports the progress after a round.
func (d *Runner[S]) judge() error {
	d.progress(d.e.Step + 1)
	return nil
}

// progress passes the number of steps made by the current batch to the callback.
func (d *Runner[S]) progress(steps int) {
	if b := d.batch; b[2] > 0 && d.cfg.Progress != nil {
		d.cfg.Progress(b[0]*d.maxSteps+b[1]*min(steps, d.maxSteps), b[2]*d.maxSteps)
	}
}

// retry abandons the sample of a slot that has an error.
func (d *Runner[S]) retry(i int, fault error) error {
	if fault != nil {
		d.giveUp(i, i, fmt.Errorf("diffusion: Runner: sample %d, step %d: %w", d.number(i), d.e.Step, fault))
	}
	return nil
}

// denoiserFault returns the error of a call for an error of the denoiser. It also states the error
// of the first failed sample of the batch, which may be the cause: the denoiser no longer sees that
// sample.
func (d *Runner[S]) denoiserFault(err error) error {
	if why := cmp.Or(d.fault[:d.batch[1]]...); why != nil {
		return fmt.Errorf("diffusion: Runner: denoiser at step %d: %w; before that: %v", d.e.Step, err, why)
	}
	return fmt.Errorf("diffusion: Runner: denoiser at step %d: %w", d.e.Step, err)
}

// giveUp abandons sample g of the batch. It stores the error why, and replaces the masks of the
// last state, in slot i, by blanks.
func (d *Runner[S]) giveUp(g, i int, why error) {
	masks, _ := d.process[i].(Absorbing)
	x := d.e.Slots[i].X
	for j, v := range x {
		if d.e.Step == 0 || d.per > 1 || masks != nil && masks.Masks(int32(v)) {
			x[j] = empty[S]()
		}
	}
	d.e.Restore(i)
	d.fault[g] = why
}

// commit passes the first n samples, except abandoned ones, to the projection, in order. A sample
// that the projection refuses is drawn again, with the rest of its stream. After too many tries
// it is abandoned.
func (d *Runner[S]) commit(ctx context.Context, n int) error {
	if d.committer == nil {
		return nil
	}
	batch := d.batch
	d.batch = [3]int{}
	defer func() { d.batch = batch }()
	for i := range n {
		for tries := 0; d.fault[i] == nil; tries++ {
			s := &d.e.Slots[i]
			x, _ := any(s.X).([]int32)
			err := d.committer.Commit(ctx, x, s.V, &s.Stream)
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if !errors.Is(err, constraint.ErrInfeasible) {
				return fmt.Errorf("diffusion: Runner: sample %d is not committed: %w", d.number(i), err)
			}
			if tries >= d.cfg.Retries {
				d.giveUp(i, i, fmt.Errorf("diffusion: Runner: sample %d refused %d times, Retries = %d: %w", d.number(i), tries+1, d.cfg.Retries, err))
				break
			}
			d.e.Begin(i)
			d.forget(i)
			if err := d.e.Run(ctx, i, i+1); err != nil {
				return err
			}
		}
	}
	return nil
}
