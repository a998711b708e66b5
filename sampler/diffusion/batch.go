package diffusion

import (
	"context"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// batch holds the samples that are under way together, each in a slot.
type batch[S energy.Site] struct {
	cfg           Config
	model         energy.Denoiser[S]
	sites, levels int
	timeFree      bool
	leaveOneOut   bool
	keep          bool // tables stay in the block of their slot

	projection Projection
	drawer     Drawer
	spared     GivenDrawer // drawer, if it may be spared the rows of certain tokens
	certain    []int32     // by slot: these tokens
	committer  Committer
	warm       Warm

	recipe any         // the process
	made   int         // samples given out since construction
	busy   uint32      // 1 while a call is under way
	kept   finished[S] // for checkpoints

	guided *guided // nil without guidance at the posterior

	// By slot: what one sample of the batch needs.
	process []Steps[S]
	x       []S
	given   []S // clamped values
	clean   []bool
	clamped bool // some slot has clamps
	time    []float64
	sample  []int
	streams []sampler.Stream
	errs    []error // of the step
	fault   []error // why the sample was given up
	known   []bool  // the table of the slot holds the prediction for x
	fresh   []bool  // it has not been conditioned yet
	block   []int   // where the table of the slot is

	table []float32      // predictions, a block per slot
	part  []float32      // predictions of part of a batch
	q     view[S]        // what the denoiser sees
	work  []workspace[S] // by worker
	pool  *pool.Pool

	// The step that workers are in.
	ctx  context.Context
	step int
}

// view is the memory behind a Noised.
type view[S energy.Site] struct {
	x           []S
	time, alpha []float64
	sample      []int
	src         []rand.Source
	clean       []bool
	slot        []int
}

// workspace is the scratch of one worker.
type workspace[S energy.Site] struct {
	before []S // the state before a step
	clean  []S // a draw of the clean sample
	v      []float32
	snap   Snapshot
}

// allocate makes room for the slots of the configuration, whose steps are set.
func (d *batch[S]) allocate() {
	n := d.cfg.Batch
	d.x, d.given = make([]S, n*d.sites), make([]S, n*d.sites)
	d.clean = make([]bool, n*d.sites)
	d.time, d.sample = make([]float64, n), make([]int, n)
	d.streams, d.errs, d.fault = make([]sampler.Stream, n), make([]error, n), make([]error, n)
	d.known, d.fresh, d.block = make([]bool, n), make([]bool, n), make([]int, n)
	tables := n
	if d.cfg.tables > 0 {
		tables = min(n, d.cfg.tables)
	}
	d.table = make([]float32, tables*d.sites*d.levels)
	d.q = view[S]{
		x: make([]S, n*d.sites), time: make([]float64, n), alpha: make([]float64, n),
		sample: make([]int, n), src: make([]rand.Source, n), clean: make([]bool, n*d.sites), slot: make([]int, n),
	}
	d.work = make([]workspace[S], d.cfg.Workers)
	for i := range d.work {
		d.work[i].before, d.work[i].clean = make([]S, d.sites), make([]S, d.sites)
	}
	d.pool = pool.New(d.cfg.Workers)
}

// blank reports whether a clamp leaves its site free.
func blank[S energy.Site](v S) bool {
	if l, token := any(v).(int32); token {
		return l < 0
	}
	return v != v
}

// clamp sets the clamps of slot i from the configuration and from own, if any.
func (d *batch[S]) clamp(i int, own []S) {
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
		if config != nil && !blank(config[j]) {
			d.given[k], d.clean[k] = config[j], true
		}
		if own != nil && !blank(own[j]) {
			d.given[k], d.clean[k] = own[j], true
		}
		d.clamped = d.clamped || d.clean[k]
	}
}

// begin puts slot i at time 1.
func (d *batch[S]) begin(i int) {
	d.process[i].Prior(d.state(i), &d.streams[i])
	d.restore(i)
	d.time[i] = 1
	d.known[i], d.fresh[i], d.errs[i], d.fault[i] = false, false, nil, nil
	if d.warm != nil {
		d.warm.Reset(i)
	}
}

// giveUp ends the sample of slot i and leaves what there is of it.
func (d *batch[S]) giveUp(i int, why error) {
	masks, _ := d.process[i].(Absorbing)
	begun := d.step > 0 || d.time[i] <= 0
	for j, v := range d.state(i) {
		if !begun || masks != nil && masks.Masks(int32(v)) {
			d.x[i*d.sites+j] = empty[S]()
		}
	}
	d.restore(i)
	d.fault[i], d.errs[i] = why, nil
	d.time[i], d.known[i] = 0, false
}

// state returns the state of slot i.
func (d *batch[S]) state(i int) []S { return d.x[i*d.sites : (i+1)*d.sites] }

// restore puts the clamped values of slot i back.
func (d *batch[S]) restore(i int) {
	if !d.clamped {
		return
	}
	for k := i * d.sites; k < (i+1)*d.sites; k++ {
		if d.clean[k] {
			d.x[k] = d.given[k]
		}
	}
}

// prediction returns the table of slot i.
func (d *batch[S]) prediction(i int) []float32 {
	size := d.sites * d.levels
	return d.table[d.block[i]*size : (d.block[i]+1)*size]
}

// until is part of a step of slot i by worker w, unless the context has ended.
func (d *batch[S]) until(part func(w, i int) error, w, i int) error {
	if err := poll.Err(d.ctx); err != nil {
		return err
	}
	return part(w, i)
}

// projects reports whether the step from t to s projects its prediction.
func (d *batch[S]) projects(t, s float64) bool {
	return d.projection != nil && t <= d.cfg.ProjectStart &&
		(d.cfg.ProjectEvery > 0 && d.step%d.cfg.ProjectEvery == 0 || s <= 0)
}

// project moves a copy of the prediction of slot i to the feasible set.
func (d *batch[S]) project(w, i int, raw []float32, t, s float64) (v []float32, violation float64, err error) {
	v = d.work[w].v
	copy(v, raw)
	if d.warm != nil && d.cfg.ColdStart {
		d.warm.Reset(i)
	}
	violation, err = d.projection.Project(d.ctx, i, v, t, s, &d.streams[i])
	return v, violation, err
}

// observe tells the observer of the step of slot i from t to s that worker w has
// made with the prediction v.
func (d *batch[S]) observe(w, i int, v []float32, t, s float64) {
	if d.cfg.Observe == nil {
		return
	}
	n := &d.work[w].snap
	n.Sample, n.Step, n.From, n.To, n.V = d.sample[i], d.step, t, s, v
	switch x := any(d.state(i)).(type) {
	case []int32:
		n.X = x
	case []float32:
		n.Real = x
	}
	d.cfg.Observe(n)
}

// moved brings the clock and the cache of slot i up to date.
func (d *batch[S]) moved(i int, s float64, changed bool) {
	d.time[i] = s
	d.known[i] = d.timeFree && !changed
}
