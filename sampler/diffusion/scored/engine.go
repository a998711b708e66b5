package scored

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/slots"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// engine runs jobs. A job makes one sample by running paths, each of which starts from masks and
// ends in a state that is judged. When the job of a slot is done, the slot starts the next job at
// once.
type engine struct {
	*slots.Engine[int32]
	cfg         Config
	exact       bool
	leaveOneOut bool
	within      *language // language of the samples; nil if there is none

	paths []path // one path per slot
	work  []scratch
	free  []int // sites that are not clamped

	// blank and ones are predictions of a time-free denoiser that all paths share. blank is the
	// prediction for the state in which only clamped tokens are unmasked. ones holds the
	// predictions for the states with one more token, by site and level; it is nil if they
	// would take too much memory.
	blank []float32
	ones  [][]float32

	// Set by runners. ended is called at the end of a path. It returns done = true if the job
	// is done; otherwise it restarts the slot. done receives the result of a job.
	ended func(w *scratch, p *path) (done bool, err error)
	done  func(p *path)

	next, jobs int    // index of the next job, and number of jobs, in the current run
	first      int    // index of the sample of job 0 in the current run
	chains     uint64 // bits combined with the number of a sample to select its stream

	reports []Report // reports on the samples of the last call
}

// mostOnes is the largest memory, in bytes, for the predictions for states with one token.
const mostOnes = 1 << 26

// path is one sample in progress.
type path struct {
	*slots.Slot[int32]
	slot    int
	job     int // index of the job in the current call
	steps   diffusion.Steps[int32]
	renoise slots.Renoiser

	y      []int32 // scratch
	mask   int32
	masks  int
	step   int
	mend   bool // whether tokens that were masked again are being revealed, outside the process
	logW   float64
	finite bool // whether best holds a state
	best   []int32
	worst  float64 // largest violation of the state in best

	violation float64 // violation at the end of the last path

	rounds, paths, predictions, judged int
	err                                error
}

// newEngine returns an engine for a configuration. It fills in the defaults, with the given
// default for Completions, and binds the process and the language.
func newEngine(ctx context.Context, model energy.Denoiser[int32], process diffusion.Process[int32], cfg Config, completions int) (*engine, error) {
	sites, levels, err := slots.Model("scored", model)
	if err == nil && slots.Leads[diffusion.Guide, diffusion.Classifier](model) {
		err = fmt.Errorf("scored: the model is guided at the posterior, want at the prediction: set AtPosterior = false")
	}
	if err == nil {
		err = cfg.fill(sites, levels, completions)
	}
	if err != nil {
		return nil, err
	}
	steps, err := slots.Bind(ctx, "scored", model, process, cfg.Batch)
	if err != nil {
		return nil, err
	}
	absorb, absorbs := steps[0].(diffusion.Absorbing)
	if _, renoises := steps[0].(diffusion.Renoiser); !renoises || !absorbs {
		return nil, fmt.Errorf("scored: %T has no masks, want a diffusion.Absorbing diffusion.Renoiser such as those of Masked; for uniform noise use projection/lagrange", process)
	}
	mask := slots.MaskOf(absorb, levels)
	if mask < 0 {
		return nil, fmt.Errorf("scored: no level of %T is a mask", process)
	}
	e := &engine{
		Engine: slots.New(model, slots.Shape{Sites: sites, Levels: levels, Batch: cfg.Batch, Workers: cfg.Workers}, func(i int) slots.Steps[int32] { return steps[i] }),
		cfg:    cfg, leaveOneOut: energy.LeaveOneOut(model), paths: make([]path, cfg.Batch),
	}
	e.Meta, e.Keep, e.TimeFree = cfg.Meta, true, energy.TimeFree(model) && !e.leaveOneOut
	for i := range e.paths {
		p := path{Slot: &e.Slots[i], slot: i, steps: steps[i], y: make([]int32, sites), best: make([]int32, sites), mask: mask}
		p.renoise, _ = steps[i].(slots.Renoiser)
		e.paths[i] = p
		e.Clamp(i, cfg.Clamp, nil)
	}
	for i, clean := range e.Slots[0].Clean {
		if !clean {
			e.free = append(e.free, i)
		} else if absorb.Masks(cfg.Clamp[i]) {
			return nil, fmt.Errorf("scored: Config.Clamp[%d] = %d, which is the mask", i, cfg.Clamp[i])
		}
	}
	if cfg.Within != nil {
		if e.within, err = bindLanguage(ctx, cfg.Within, sites, levels, cfg.Batch); err != nil {
			return nil, err
		}
	}
	for range cfg.Workers {
		e.work = append(e.work, newScratch(&e.cfg, sites, levels))
	}
	if e.TimeFree && float64(len(e.free))*float64(levels)*float64(sites)*float64(levels)*4 <= mostOnes {
		e.ones = make([][]float32, sites*levels)
	}
	e.Policy = slots.Policy{
		Next: e.advance, Retry: e.retry, Shared: e.shared, Blame: true,
		Fault: func(err error) error { return fmt.Errorf("scored: denoiser: %w", err) },
	}
	return e, nil
}

// run runs the given number of jobs. Their samples have the numbers first, first+1, … and draw from
// streams (Seed, chains|number). The only error is that of ctx.
func (e *engine) run(ctx context.Context, jobs, first int, chains uint64) error {
	e.next, e.jobs, e.first, e.chains = 0, jobs, first, chains
	n := min(jobs, e.Batch)
	for i := range n {
		e.job(i)
	}
	e.Pool.Start()
	defer e.Pool.Stop()
	return e.Run(ctx, 0, n)
}

// job starts the next job in slot i.
func (e *engine) job(i int) {
	p := &e.paths[i]
	*p = path{Slot: p.Slot, slot: i, job: e.next, steps: p.steps, renoise: p.renoise, y: p.y, best: p.best, mask: p.mask}
	e.next++
	p.Sample = e.first + p.job
	p.Stream.Seed(e.cfg.Seed, e.chains|uint64(p.Sample))
	e.restart(p)
}

// restart resets a path to time 1, with all free sites masked.
func (e *engine) restart(p *path) {
	e.Begin(p.slot)
	p.recount()
	p.step, p.mend, p.logW = 0, false, 0
}

// retry finishes the job of slot i, with its error or nil, and starts the next job.
func (e *engine) retry(i int, fault error) error {
	e.paths[i].err = fault
	e.done(&e.paths[i])
	if e.next < e.jobs {
		e.job(i)
	}
	return nil
}

// shared returns the location of the prediction that slot i shares with other paths. If slot i
// shares no prediction, shared returns nil, and the prediction counts for the sample.
func (e *engine) shared(i int) *[]float32 {
	p := &e.paths[i]
	switch {
	case !e.TimeFree:
	case p.masks == len(e.free):
		return &e.blank
	case p.masks == len(e.free)-1 && e.ones != nil:
		for _, j := range e.free {
			if !p.masked(j) {
				return &e.ones[j*e.Levels+int(p.X[j])]
			}
		}
	}
	p.predictions++
	return nil
}

// advance moves slot i until it needs another prediction or its job is done.
func (e *engine) advance(worker, i int) error {
	w, p := &e.work[worker], &e.paths[i]
	for p.Known {
		if p.Fresh {
			slots.Condition(p.renoise, p.Slot, e.leaveOneOut)
		}
		step := e.processStep
		if p.mend {
			step = e.mendStep
		}
		err := step(w, p)
		// other tokens may lead to a feasible state
		dead := errors.Is(err, constraint.ErrInfeasible) && p.masks < len(e.free)
		if err != nil && !dead {
			return err
		}
		if !dead && p.Time > 0 && !(p.mend && p.masks == 0) {
			continue
		}
		if done, err := e.finish(w, p, dead); done || err != nil {
			p.Time = 0
			return err
		}
	}
	return nil
}

// finish judges the result of a path and calls ended. A path is dead if it has a mask for which
// the language leaves no token.
func (e *engine) finish(w *scratch, p *path, dead bool) (done bool, err error) {
	p.violation, p.Known = math.Inf(1), false
	if !dead {
		p.judged++
		if err := violations(w.scores[:1], w.g, e.cfg.Judge, p.X); err != nil {
			return true, err
		}
		p.violation = w.scores[0]
		if !p.finite || p.violation <= p.worst {
			p.keep()
		}
	}
	if !(p.violation <= 0) {
		p.logW = math.Inf(-1)
	}
	return e.ended(w, p)
}

// processStep moves a path by a step of its process. The process determines the sites; the
// look-ahead determines their tokens.
func (e *engine) processStep(w *scratch, p *path) error {
	next := p.steps.Next(p.X, p.Time, p.step, e.cfg.Steps, &p.Stream)
	if err := p.Goes(next); err != nil {
		return fmt.Errorf("scored: %w", err)
	}
	u := w.u[:e.Sites]
	p.Stream.Float64s(u)
	simd.Categorical(w.clean, p.V, e.Levels, u)
	for i, l := range w.clean {
		if l < 0 {
			return w.row.load(p.V, i)
		}
	}
	copy(p.y, p.X)
	p.renoise.Renoise(p.y, w.clean, p.V, p.Time, next, &p.Stream)
	w.order = w.order[:0]
	hides := false
	for i, l := range p.y {
		switch {
		case p.Clean[i]:
		case p.masked(i) && l != p.mask:
			w.order = append(w.order, i)
		case !p.masked(i) && l == p.mask:
			hides = true
		}
	}
	p.shuffle(w.order, len(w.order))
	changed := hides || len(w.order) > 0
	for _, i := range w.order {
		if err := e.show(w, p, i); err != nil {
			return err
		}
	}
	if hides {
		for i, l := range p.y {
			if l == p.mask && !p.Clean[i] {
				p.X[i] = p.mask
			}
		}
		p.recount()
	}
	p.Time, p.step = next, p.step+1
	p.Known = e.TimeFree && !changed
	if most := slots.MaxSteps(p.steps, e.cfg.Steps); next > 0 && p.step >= most {
		return fmt.Errorf("scored: %T is at time %v after %d steps, the most that it promises, want 0", p.steps, next, most)
	}
	if next <= 0 && p.masks > 0 {
		return fmt.Errorf("scored: %T leaves masks at time 0", p.steps)
	}
	return nil
}

// mendStep reveals one of the tokens that were masked again.
func (e *engine) mendStep(w *scratch, p *path) error {
	k := p.Stream.IntN(p.masks)
	for i := range p.X {
		if p.masked(i) {
			if k--; k < 0 {
				if err := e.show(w, p, i); err != nil {
					return err
				}
				break
			}
		}
	}
	p.Known = false
	p.Time = p.clockFor(1 - float64(p.masks)/float64(len(e.free)))
	return nil
}

// shuffle moves a random choice of n entries to the front of order, in random order.
func (p *path) shuffle(order []int, n int) {
	for i := range n {
		j := i + p.Stream.IntN(len(order)-i)
		order[i], order[j] = order[j], order[i]
	}
}

// open begins a call of Sample. It fills x with −1, resets the reports of the samples, and
// returns their errors, which are all nil.
func (e *engine) open(x []int32) diffusion.SampleErrors {
	n := check.Rows("scored", "x", len(x), e.Sites)
	for i := range x {
		x[i] = -1
	}
	e.reports = make([]Report, n)
	for i := range e.reports {
		e.reports[i].Violation = math.NaN()
	}
	return make(diffusion.SampleErrors, n)
}

// sample fills x with samples and errs with their errors. first is the index of the first sample.
func (e *engine) sample(ctx context.Context, x []int32, errs diffusion.SampleErrors, first int) error {
	finished := 0
	e.done = func(p *path) {
		errs[p.job] = p.err
		v := &e.reports[p.job]
		*v = Report{Violation: math.NaN(), Rounds: p.rounds, Paths: p.paths, Predictions: p.predictions, Judged: p.judged}
		x := x[p.job*e.Sites : (p.job+1)*e.Sites]
		if p.finite {
			v.Violation = p.worst
			copy(x, p.best)
		} else {
			for i, l := range p.X {
				if l != p.mask {
					x[i] = l
				}
			}
		}
		if finished++; e.cfg.Progress != nil {
			e.cfg.Progress(finished, len(errs))
		}
	}
	return e.run(ctx, len(errs), first, 0)
}

// masked reports whether site j is masked.
func (p *path) masked(j int) bool { return p.X[j] == p.mask }

// put sets the token of the masked site i to level l.
func (p *path) put(i int, l int32) {
	p.X[i] = l
	p.masks--
}

// keep makes the result of the path the best state of its sample so far.
func (p *path) keep() {
	copy(p.best, p.X)
	p.worst, p.finite = p.violation, true
}

// recount recomputes the number of masks of the path.
func (p *path) recount() {
	p.masks = 0
	for j := range p.X {
		if p.masked(j) {
			p.masks++
		}
	}
}

// clockFor returns the time at which the given share of the tokens is unmasked on average. The
// denoiser receives this time for a state that does not result from a step of the process.
func (p *path) clockFor(share float64) float64 {
	if share <= 0 {
		return 1
	}
	low, high := 0.0, 1.0
	for range 40 { // finer than the resolution of any schedule
		t := (low + high) / 2
		if p.steps.Alpha(t) >= share {
			low = t
		} else {
			high = t
		}
	}
	return max(low, math.SmallestNonzeroFloat64)
}
