package diffusion

import (
	"context"
	"errors"
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/corruption"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// Runner draws samples by reversing a corruption: from pure noise at time 1 to
// time 0, asking a denoiser for the clean sample in every step.
//
// A run is a function of (denoiser, process, configuration): sample i draws from
// stream (Seed, i) only, and neither Workers nor, for denoisers that treat
// states alone, Batch changes a bit of it. Samples are numbered through the
// life of a Runner, so two calls of Sample give what one larger call would.
//
// Methods must not be called concurrently with each other. A step allocates
// nothing beyond what the denoiser and the projection do.
type Runner[S energy.Site] struct {
	batch[S]
	maxSteps int            // of one sample
	move     func(w, i int) // one step of slot i by worker w
}

// New returns a runner that samples from the model with the process. It binds the
// process and the projector under ctx, which may be long; what runs later has
// contexts of its own.
//
// Errors: a nil model or process, what a [noise.Checked] model says, a field of
// the configuration out of range, a process that does not fit the model, a clamp
// that is no clean value, a projection or a guidance that the process cannot
// use, and whatever the projector says.
func New[S energy.Site](ctx context.Context, model energy.Denoiser[S], process Process[S], cfg Config) (*Runner[S], error) {
	if check.Nil(model) {
		return nil, fmt.Errorf("diffusion: New: model = nil")
	}
	if check.Nil(process) {
		return nil, fmt.Errorf("diffusion: New: process = nil")
	}
	if c, ok := energy.As[noise.Checked](model); ok {
		if err := c.Check(); err != nil {
			return nil, err
		}
	}
	sites, levels := model.Shape()
	if sites < 1 || levels < 1 {
		return nil, fmt.Errorf("diffusion: New: the model has %d sites and %d levels, want both ≥ 1", sites, levels)
	}
	if err := cfg.fill(sites, levels); err != nil {
		return nil, err
	}
	d := &Runner[S]{batch: batch[S]{
		recipe: process,
		cfg:    cfg, model: model, sites: sites, levels: levels,
		leaveOneOut: energy.LeaveOneOut(model),
		process:     make([]Steps[S], cfg.Batch),
	}}
	for i := range d.process {
		var err error
		if d.process[i], err = process.Bind(ctx, sites, levels); err != nil {
			return nil, err
		}
	}
	if err := corruption.Check(model, d.process[0]); err != nil {
		return nil, fmt.Errorf("diffusion: New: %w", err)
	}
	// What a leave-one-out prediction becomes depends on the time.
	d.timeFree = energy.TimeFree(model) && !d.leaveOneOut
	d.maxSteps = maxSteps(d.process[0], cfg.Steps)
	d.allocate()
	if err := d.specialise(process); err != nil {
		return nil, err
	}
	if err := d.bindProjector(ctx); err != nil {
		return nil, err
	}
	if tokens, ok := any(d).(*Runner[int32]); ok {
		spare(&tokens.batch)
	}
	return d, d.remember(ctx)
}

// specialise sets what differs between tokens and reals.
func (d *Runner[S]) specialise(process Process[S]) error {
	switch d := any(d).(type) {
	case *Runner[int32]:
		return specialiseTokens(d, process)
	case *Runner[float32]:
		if d.cfg.Clamp != nil {
			return fmt.Errorf("diffusion: Config.Clamp is for tokens, the model has reals")
		}
		if d.levels != 1 {
			return fmt.Errorf("diffusion: New: levels = %d, want 1 for reals", d.levels)
		}
		part := func(w, i int) error { return moveReals(&d.batch, w, i) }
		d.move = func(w, i int) { d.errs[i] = d.until(part, w, i) }
	}
	return nil
}

// specialiseTokens checks that the steps can do what the configuration and the
// model ask for.
func specialiseTokens(d *Runner[int32], process any) error {
	switch {
	case d.cfg.ClampReal != nil:
		return fmt.Errorf("diffusion: Config.ClampReal is for reals, the model has tokens")
	case d.cfg.ProjectState:
		return fmt.Errorf("diffusion: Config.ProjectState is for reals, the model has tokens")
	}
	if err := d.checkClamp(d.cfg.Clamp); err != nil {
		return err
	}
	if _, ok := d.process[0].(Renoiser); !ok {
		if d.leaveOneOut {
			return fmt.Errorf("diffusion: New: %T cannot use leave-one-out predictions: it has no Condition", process)
		}
		if d.cfg.Projector != nil {
			return fmt.Errorf("diffusion: New: %T cannot be projected: it has no Renoise", process)
		}
	}
	part := func(w, i int) error { return moveTokens(&d.batch, w, i) }
	d.move = func(w, i int) { d.errs[i] = d.until(part, w, i) }
	return guide(d, process)
}

// guide sets up what the model says about guidance at the posterior.
func guide(d *Runner[int32], process any) error {
	m, ok := energy.As[Guide](d.model)
	if !ok {
		return nil
	}
	g := &guided{}
	if g.scale, g.other, g.classifier = m.Guidance(); g.other == nil && g.classifier == nil {
		return nil
	}
	if err := checkScale("New", g.scale); err != nil {
		return err
	}
	if d.cfg.Projector != nil {
		return fmt.Errorf("diffusion: New: a projection needs guidance at the prediction, not at the posterior")
	}
	if _, ok := d.process[0].(Factorised); !ok {
		return fmt.Errorf("diffusion: New: %T cannot be guided at the posterior: it has none per site", process)
	}
	size := d.sites * d.levels
	if g.other != nil {
		if s, l := g.other.Shape(); s != d.sites || l != d.levels {
			return fmt.Errorf("diffusion: New: the guide's denoiser has %d sites and %d levels, want %d and %d", s, l, d.sites, d.levels)
		}
		if energy.LeaveOneOut(g.other) != d.leaveOneOut {
			return fmt.Errorf("diffusion: New: one denoiser of the guide leaves sites out of their own prediction, the other does not")
		}
		if err := corruption.Check(g.other, d.process[0]); err != nil {
			return fmt.Errorf("diffusion: New: the guide: %w", err)
		}
		g.table = make([]float32, d.cfg.Batch*size)
		d.timeFree = false // a prediction that is kept would miss its counterpart
	}
	for range d.work {
		g.post, g.tab = append(g.post, make([]float32, size)), append(g.tab, make([]float32, size))
	}
	d.guided = g
	return nil
}

// bindProjector makes the projection.
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

// checkClamp refuses a mask among the clamped tokens: it is no clean value.
func (d *Runner[S]) checkClamp(clamp []S) error {
	m, ok := d.process[0].(Absorbing)
	for i, l := range clamp {
		if ok && m.Masks(int32(l)) {
			return fmt.Errorf("diffusion: clamped token of site %d = %v, which is the mask", i%d.sites, l)
		}
	}
	return nil
}

// Shape returns the shape of a sample, that of the model.
func (d *Runner[S]) Shape() (sites, levels int) { return d.sites, d.levels }

// Settings adds what the samples are a function of, by the names of the settings,
// but for the part of the run: what a checkpoint and the parts of one run agree
// on. It asks the model for two predictions.
func (d *Runner[S]) Settings(add func(name string, value any)) { d.list(context.Background(), add) }

// Len returns the number of samples made or given up.
func (d *Runner[S]) Len() int { return d.made }

// Sample fills x, any number of samples × sites, with samples.
//
// What goes wrong with one sample (its projection, its predictions, a [Committer]
// that refuses it too often) ends that sample only: the error is a [SampleErrors],
// with one entry per sample, and the others have the bits of a run in which nothing
// failed, unless the projection has a memory. A sample that was given up counts in
// Len and is left as it was, blank (−1 for tokens, NaN for reals) where a mask stands
// and, if it has made no step, where nothing is clamped.
//
// The end of ctx and errors of the denoiser or a memory are of the call: then Len says
// how many samples are finished, the error is an [*Unfinished] if some of these failed,
// and the next call begins with the sample after them, from its start, as if
// nothing had happened.
func (d *Runner[S]) Sample(ctx context.Context, x []S) error { return d.run(ctx, x, nil) }

// Fill completes the samples × sites entries of x (infilling): entries that are
// not blank (−1 for tokens, NaN for reals) are clamped, in addition to what the
// configuration clamps. Errors are those of Sample. x is unchanged where a sample
// was given up and behind those that are finished.
func (d *Runner[S]) Fill(ctx context.Context, x []S) error {
	if err := d.checkClamp(x); err != nil {
		return err
	}
	for i, l := range x {
		if tokens, ok := any(l).(int32); ok && int(tokens) >= d.levels {
			return fmt.Errorf("diffusion: Fill: x[%d] = %v, want < %d", i, l, d.levels)
		}
	}
	return d.run(ctx, x, x)
}

// run makes samples batch by batch.
func (d *Runner[S]) run(ctx context.Context, x, given []S) error {
	if len(x)%d.sites != 0 {
		panic(fmt.Sprintf("diffusion: len(x) = %d, want a multiple of %d", len(x), d.sites))
	}
	if err := d.beginCall(ctx, len(x)/d.sites, 1); err != nil {
		return err
	}
	defer d.endCall()
	var v outcome
	err := d.draw(ctx, x, given, &v)
	return v.join(err, d.keepNow())
}

// keepDue saves a checkpoint if Config.Checkpoint asks for one every so many
// samples and they have been finished since the last.
func (d *Runner[S]) keepDue() error {
	if every := d.cfg.Checkpoint.Every; every == 0 || d.kept.unfiled() < every {
		return nil
	}
	return d.keepNow()
}

// keepNow saves a checkpoint if Config.Checkpoint asks for any and there are
// samples that the last has not.
func (d *Runner[S]) keepNow() error {
	if d.cfg.Checkpoint.Path == "" || d.kept.unfiled() == 0 {
		return nil
	}
	if err := durable.SaveFile("diffusion", d.cfg.Checkpoint.Path, d); err != nil {
		return err
	}
	d.kept.filed = len(d.kept.given)
	return nil
}

// draw fills x: with samples of a checkpoint, if there are some, then with new
// ones.
func (d *Runner[S]) draw(ctx context.Context, x, given []S, v *outcome) error {
	total := len(x) / d.sites
	if err := d.deliver(x, given, v); err != nil {
		return err
	}
	d.pool.Start()
	defer d.pool.Stop()
	for v.done() < total {
		done := v.done()
		n := min(d.cfg.Batch, total-done)
		for i := range n {
			if err := poll.Err(ctx); err != nil {
				return err
			}
			d.sample[i] = d.cfg.First + d.made + i
			d.streams[i].Seed(d.cfg.Seed, uint64(d.sample[i]))
			var own []S
			if given != nil {
				own = given[(done+i)*d.sites : (done+i+1)*d.sites]
			}
			d.kept.clamp(i, own)
			d.clamp(i, own)
			d.begin(i)
		}
		progress := func(step int) {
			if d.cfg.Progress != nil {
				d.cfg.Progress(done*d.maxSteps+n*min(step, d.maxSteps), total*d.maxSteps)
			}
		}
		if err := d.steps(ctx, 0, n, progress); err != nil {
			return err
		}
		if err := d.commit(ctx, n); err != nil {
			return err
		}
		progress(d.maxSteps)
		for i := range n {
			if d.fault[i] == nil || given == nil {
				copy(x[(done+i)*d.sites:(done+i+1)*d.sites], d.state(i))
			}
		}
		v.add(d.fault[:n]...)
		d.made += n
		d.kept.add(d.x[:n*d.sites], d.fault[:n])
		if err := d.keepDue(); err != nil {
			return err
		}
	}
	return nil
}

// steps brings the slots from … to−1 to time 0, or gives them up.
func (d *Runner[S]) steps(ctx context.Context, from, to int, progress func(step int)) error {
	d.ctx, d.step = ctx, 0
	for ; ; d.step++ {
		if err := poll.Err(ctx); err != nil {
			return err
		}
		left, err := d.predict(ctx, from, to)
		if err != nil || left == 0 {
			return err
		}
		d.pool.Each(from, to, d.move)
		for i := from; i < to; i++ {
			if err := d.errs[i]; err != nil {
				if poll.Err(ctx) != nil {
					return ctx.Err()
				}
				d.giveUp(i, d.stepError(i, err))
			}
		}
		if progress != nil {
			progress(d.step + 1)
		}
	}
}

func (d *Runner[S]) stepError(i int, err error) error {
	return fmt.Errorf("diffusion: Runner: sample %d, step %d: %w", d.sample[i], d.step, err)
}

// commit tells the projection of the first n slots, in order, but for those that
// were given up. A sample that it refuses is drawn again, with what is left of its
// stream, and given up in the end.
func (d *Runner[S]) commit(ctx context.Context, n int) error {
	if d.committer == nil {
		return nil
	}
	for i := range n {
		for tries := 0; d.fault[i] == nil; tries++ {
			x, _ := any(d.state(i)).([]int32)
			err := d.committer.Commit(ctx, x, d.prediction(i), &d.streams[i])
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if !errors.Is(err, constraint.ErrInfeasible) {
				return fmt.Errorf("diffusion: Runner: sample %d is not committed: %w", d.sample[i], err)
			}
			if tries >= d.cfg.Retries {
				d.giveUp(i, fmt.Errorf("diffusion: Runner: sample %d refused %d times, Retries = %d: %w", d.sample[i], tries+1, d.cfg.Retries, err))
				break
			}
			d.begin(i)
			if err := d.steps(ctx, i, i+1, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
