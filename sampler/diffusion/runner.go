package diffusion

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Diffusion draws samples by reversing a corruption: from pure noise at time 1
// to time 0, asking a denoiser for the clean sample in every step.
//
// A run is a function of (denoiser, process, configuration): sample i draws from
// stream (Seed, i) only, and neither Workers nor, for denoisers that treat
// states alone, Batch changes a bit of it. Samples are numbered through the
// life of a Diffusion, so two calls of Sample give what one larger call would.
//
// Methods must not be called concurrently with each other. A step allocates
// nothing beyond what the denoiser and the projection do.
type Runner[S energy.Site] struct {
	cfg           Config
	model         energy.Denoiser[S]
	sites, levels int
	made          int // samples finished since construction
	maxSteps      int
	timeFree      bool
	leaveOneOut   bool
	keep          bool // tables stay in the block of their slot

	projection Projection
	drawer     Drawer
	committer  Committer
	warm       Warm

	guided *guided // nil without guidance at the posterior

	// By slot: what one sample of the batch needs.
	process []Process[S]
	x       []S
	given   []S // clamped values
	clean   []bool
	clamped bool // some slot has clamps
	time    []float64
	sample  []int
	streams []sampler.Stream
	errs    []error
	known   []bool // the table of the slot holds the prediction for x
	fresh   []bool // it has not been conditioned yet
	block   []int  // where the table of the slot is

	table []float32      // predictions, a block per slot
	part  []float32      // predictions of part of a batch
	q     batch[S]       // what the denoiser sees
	work  []desk[S]      // by worker
	pool  *pool.Pool     // the workers
	turn  turn           // what they are working on
	move  func(w, i int) // one step of slot i by worker w
	blank func(S) bool
}

// batch is the memory behind a Noised.
type batch[S energy.Site] struct {
	x           []S
	time, alpha []float64
	sample      []int
	src         []rand.Source
	clean       []bool
	slot        []int
}

// desk is the scratch of one worker.
type desk[S energy.Site] struct {
	before []S // the state before a step
	clean  []S // a draw of the clean sample
	v      []float32
	snap   Snapshot
}

// turn is the step that workers are in.
type turn struct {
	ctx  context.Context
	step int
}

// New returns a diffusion that samples from the model with the process,
// ready to run.
//
// Errors: a nil model or process, a field of the configuration out of range, a
// process that does not fit the model, a clamp that is no clean value, a
// projection that the process cannot use, and whatever the projector says.
func New[S energy.Site](model energy.Denoiser[S], process Process[S], cfg Config) (*Runner[S], error) {
	if model == nil {
		return nil, fmt.Errorf("diffusion: NewDiffusion: model = nil")
	}
	if process == nil {
		return nil, fmt.Errorf("diffusion: NewDiffusion: process = nil")
	}
	if c, ok := any(model).(interface{ check() error }); ok {
		if err := c.check(); err != nil {
			return nil, err
		}
	}
	sites, levels := model.Shape()
	if sites < 1 || levels < 1 {
		return nil, fmt.Errorf("diffusion: NewDiffusion: the model has %d sites and %d levels, want both ≥ 1", sites, levels)
	}
	if err := cfg.fill(sites, levels); err != nil {
		return nil, err
	}
	d := &Runner[S]{
		cfg: cfg, model: model, sites: sites, levels: levels,
		leaveOneOut: energy.LeaveOneOut(model),
		maxSteps:    cfg.Steps,
		process:     make([]Process[S], cfg.Batch),
	}
	for i := range d.process {
		d.process[i] = process
		if b, ok := process.(Binder[S]); ok {
			var err error
			if d.process[i], err = b.Bind(sites, levels); err != nil {
				return nil, err
			}
		}
	}
	// What a leave-one-out prediction becomes depends on the time.
	d.timeFree = energy.TimeFree(model) && !d.leaveOneOut
	if m, ok := d.process[0].(interface{ MaxSteps(sites, steps int) int }); ok {
		d.maxSteps = m.MaxSteps(sites, cfg.Steps)
	}
	d.allocate()
	if err := d.specialise(); err != nil {
		return nil, err
	}
	return d, d.bind()
}

func (d *Runner[S]) allocate() {
	n := d.cfg.Batch
	d.x, d.given = make([]S, n*d.sites), make([]S, n*d.sites)
	d.clean = make([]bool, n*d.sites)
	d.time, d.sample = make([]float64, n), make([]int, n)
	d.streams, d.errs = make([]sampler.Stream, n), make([]error, n)
	d.known, d.fresh, d.block = make([]bool, n), make([]bool, n), make([]int, n)
	d.table = make([]float32, n*d.sites*d.levels)
	d.q = batch[S]{
		x: make([]S, n*d.sites), time: make([]float64, n), alpha: make([]float64, n),
		sample: make([]int, n), src: make([]rand.Source, n), clean: make([]bool, n*d.sites), slot: make([]int, n),
	}
	d.work = make([]desk[S], d.cfg.Workers)
	for i := range d.work {
		d.work[i].before, d.work[i].clean = make([]S, d.sites), make([]S, d.sites)
	}
	d.pool = pool.New(d.cfg.Workers)
}

// specialise sets what differs between tokens and reals.
func (d *Runner[S]) specialise() error {
	switch d := any(d).(type) {
	case *Runner[int32]:
		if d.cfg.ClampReal != nil {
			return fmt.Errorf("diffusion: DiffusionConfig.ClampReal is for reals, the model has tokens")
		}
		d.blank = func(l int32) bool { return l < 0 }
		d.move = func(w, i int) { d.errs[i] = moveTokens(d, w, i) }
		return d.checkClamp(d.cfg.Clamp)
	case *Runner[float32]:
		if d.cfg.Clamp != nil {
			return fmt.Errorf("diffusion: DiffusionConfig.Clamp is for tokens, the model has reals")
		}
		if d.levels != 1 {
			return fmt.Errorf("diffusion: NewDiffusion: levels = %d, want 1 for reals", d.levels)
		}
		d.blank = func(v float32) bool { return v != v }
		d.move = func(w, i int) { d.errs[i] = moveReals(d, w, i) }
	}
	return nil
}

// checkClamp refuses a mask among the clamped tokens: it is no clean value.
func (d *Runner[S]) checkClamp(clamp []S) error {
	m, ok := any(d.process[0]).(interface{ Masks(l S) bool })
	for i, l := range clamp {
		if ok && m.Masks(l) {
			return fmt.Errorf("diffusion: clamped token of site %d = %v, which is the mask", i%d.sites, l)
		}
	}
	return nil
}

// bind makes the projection.
func (d *Runner[S]) bind() error {
	_, tokens := any(d).(*Runner[int32])
	if _, ok := d.process[0].(Renoiser); tokens && !ok {
		if d.leaveOneOut {
			return fmt.Errorf("diffusion: NewDiffusion: %T cannot use leave-one-out predictions: it has no Condition", d.process[0])
		}
		if d.cfg.Projector != nil {
			return fmt.Errorf("diffusion: NewDiffusion: %T cannot be projected: it has no Renoise", d.process[0])
		}
	}
	if d, ok := any(d).(*Runner[int32]); ok {
		if err := guide(d); err != nil {
			return err
		}
	}
	if d.cfg.Projector == nil {
		return nil
	}
	var err error
	if d.projection, err = d.cfg.Projector.Bind(context.Background(), d.sites, d.levels, d.cfg.Batch); err != nil {
		return err
	}
	d.warm, _ = d.projection.(Warm)
	if tokens {
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

// Len returns the number of samples made.
func (d *Runner[S]) Len() int { return d.made }

// Sample fills x, any number of samples × sites, with samples. After an error
// Len says how many have been made; the next call begins with the sample after
// them, from its start, as if nothing had happened.
func (d *Runner[S]) Sample(ctx context.Context, x []S) error { return d.run(ctx, x, nil) }

// Fill completes the samples × sites entries of x (infilling): entries that are
// not blank (−1 for tokens, NaN for reals) are clamped, in addition to what the
// configuration clamps. After an error, x holds Len() − (Len before the call)
// complete samples and is unchanged behind them.
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
	total := len(x) / d.sites
	d.pool.Start()
	defer d.pool.Stop()
	for done := 0; done < total; {
		n := min(d.cfg.Batch, total-done)
		for i := range n {
			d.sample[i] = d.made + i
			d.streams[i].Seed(d.cfg.Seed, uint64(d.made+i))
			var own []S
			if given != nil {
				own = given[(done+i)*d.sites:]
			}
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
		copy(x[done*d.sites:], d.x[:n*d.sites])
		done += n
		d.made += n
	}
	return nil
}

// clamp sets the clamps of slot i from the configuration and from own, if any.
func (d *Runner[S]) clamp(i int, own []S) {
	if i == 0 {
		d.clamped = false
	}
	config, _ := any(d.cfg.Clamp).([]S)
	if config == nil {
		config, _ = any(d.cfg.ClampReal).([]S)
	}
	for j := range d.sites {
		k := i*d.sites + j
		d.clean[k] = false
		if config != nil && !d.blank(config[j]) {
			d.given[k], d.clean[k] = config[j], true
		}
		if own != nil && !d.blank(own[j]) {
			d.given[k], d.clean[k] = own[j], true
		}
		d.clamped = d.clamped || d.clean[k]
	}
}

// begin puts slot i at time 1.
func (d *Runner[S]) begin(i int) {
	d.process[i].Prior(d.state(i), &d.streams[i])
	d.restore(i)
	d.time[i] = 1
	d.known[i], d.fresh[i], d.errs[i] = false, false, nil
	if d.warm != nil {
		d.warm.Reset(i)
	}
}

// state returns the state of slot i.
func (d *Runner[S]) state(i int) []S { return d.x[i*d.sites : (i+1)*d.sites] }

// restore puts the clamped values of slot i back.
func (d *Runner[S]) restore(i int) {
	if !d.clamped {
		return
	}
	for k := i * d.sites; k < (i+1)*d.sites; k++ {
		if d.clean[k] {
			d.x[k] = d.given[k]
		}
	}
}
