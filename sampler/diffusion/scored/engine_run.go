package scored

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// run does the jobs 0 … jobs−1. The error is that of ctx.
func (e *engine) run(ctx context.Context, jobs int, done func(s *slot)) error {
	e.ctx = ctx
	defer func() { e.ctx = nil }()
	for i := range e.slots {
		e.slots[i].active = false
	}
	move := func(worker, k int) {
		if s := &e.slots[k]; s.active {
			e.advance(&e.work[worker], s)
		}
	}
	e.pool.Start()
	defer e.pool.Stop()
	next, left := 0, jobs
	for left > 0 {
		if err := poll.Err(ctx); err != nil {
			return err
		}
		for i := range e.slots {
			if s := &e.slots[i]; !s.active && next < jobs {
				*s = slot{
					job: next, active: true, steps: s.steps, renoise: s.renoise, absorb: s.absorb,
					x: s.x, y: s.y, mask: s.mask, v: s.v, best: s.best, stream: s.stream,
				}
				next++
				e.begin(s)
				e.restart(s)
			}
		}
		if err := e.predict(ctx); err != nil {
			return err
		}
		e.pool.Each(0, len(e.slots), move)
		for i := range e.slots {
			s := &e.slots[i]
			if s.active && s.err != nil && ctx.Err() != nil {
				return ctx.Err()
			}
			if s.active && (s.err != nil || s.over) {
				s.active = false
				left--
				done(s)
			}
		}
	}
	return nil
}

// predict asks the denoiser about all slots that need a prediction. An error of
// the denoiser belongs to the slots that cause it; the error returned is that of
// ctx.
func (e *engine) predict(ctx context.Context) error {
	e.ask = e.ask[:0]
	first := -1 // the slot whose answer serves all that have nothing to show
	for i := range e.slots {
		s := &e.slots[i]
		if !s.active || s.known {
			continue
		}
		if one := e.ones.at(s, e.free); one != nil { // not counted: samples share it
			if *one != nil {
				s.take(*one)
				continue
			}
		} else if !e.timeFree || s.masks < len(e.free) {
			s.predictions++
		} else if first >= 0 || e.blank != nil {
			continue
		} else {
			first = i
		}
		e.ask = append(e.ask, i)
	}
	if err := e.denoise(ctx, e.ask); err != nil {
		if poll.Err(ctx) != nil {
			return ctx.Err()
		}
		for k := range e.ask { // whose fault is it?
			if err := e.denoise(ctx, e.ask[k:k+1]); err != nil {
				if poll.Err(ctx) != nil {
					return ctx.Err()
				}
				e.slots[e.ask[k]].err = fmt.Errorf("scored: denoiser: %w", err)
			}
		}
	}
	if first >= 0 && e.slots[first].err == nil {
		e.blank = append([]float32(nil), e.slots[first].v...)
	}
	for i := range e.slots {
		s := &e.slots[i]
		if !s.active || s.known || s.err != nil {
			continue
		}
		if e.blank == nil { // what they wait for has failed
			s.err = e.slots[first].err
			continue
		}
		s.take(e.blank)
	}
	return nil
}

// denoise asks about some slots in one call.
func (e *engine) denoise(ctx context.Context, ask []int) error {
	if len(ask) == 0 {
		return nil
	}
	n, size := len(ask), e.sites*e.levels
	q := energy.Noised[int32]{
		X: e.q.X[:n*e.sites], Time: e.q.Time[:n], Alpha: e.q.Alpha[:n],
		Sample: e.q.Sample[:n], Src: e.q.Src[:n], Meta: e.q.Meta,
	}
	if e.cfg.Clamp != nil {
		q.Clean = e.q.Clean[:n*e.sites]
	}
	for k, i := range ask {
		s := &e.slots[i]
		copy(q.X[k*e.sites:], s.x)
		copy(e.q.Clean[k*e.sites:], e.clean)
		q.Time[k], q.Alpha[k] = s.time, s.steps.Alpha(s.time)
		q.Sample[k], q.Src[k] = s.number, &s.stream
	}
	if err := e.model.Denoise(ctx, e.table[:n*size], q); err != nil {
		return err
	}
	for k, i := range ask {
		s := &e.slots[i]
		s.take(e.table[k*size : (k+1)*size])
		if one := e.ones.at(s, e.free); one != nil && *one == nil {
			*one = slices.Clone(s.v)
		}
	}
	return nil
}

// restart puts a slot at time 1.
func (e *engine) restart(s *slot) {
	s.steps.Prior(s.x, &s.stream)
	for i, clean := range e.clean {
		if clean {
			s.x[i] = e.cfg.Clamp[i]
		}
	}
	s.recount()
	s.time, s.step, s.mend, s.logW = 1, 0, false, 0
	s.known, s.fresh = false, false
}

// advance moves a slot until it needs another prediction or its job is done.
func (e *engine) advance(w *scratch, s *slot) {
	for s.err == nil && !s.over && s.known {
		if s.fresh {
			s.renoise.Condition(s.v, s.x, s.time, e.leaveOneOut)
			s.fresh = false
		}
		var dead bool
		var err error
		if s.mend {
			err = e.mendStep(w, s)
		} else {
			err = e.processStep(w, s)
		}
		if errors.Is(err, constraint.ErrInfeasible) && e.shown(s) {
			dead, err = true, nil // other tokens may leave something
		}
		if err != nil {
			s.err = err
			return
		}
		if !dead && !(s.time <= 0 || s.mend && s.masks == 0) {
			continue
		}
		e.finish(w, s, dead)
	}
}

// shown reports whether a token shows that was not given.
func (e *engine) shown(s *slot) bool { return s.masks < len(e.free) }

// finish judges what a path has come to and asks what is next. A dead path is one
// whose masks the language leaves no token for.
func (e *engine) finish(w *scratch, s *slot, dead bool) {
	violation := math.Inf(1)
	if !dead {
		s.judged++
		if s.err = violations(w.scores[:1], w.g, e.cfg.Judge, s.x); s.err != nil {
			return
		}
		violation = w.scores[0]
	}
	s.violation = violation
	s.known = false
	if !dead && (!s.finite || violation <= s.worst) {
		s.keep()
	}
	if !(violation <= 0) {
		s.logW = math.Inf(-1)
	}
	s.over = e.ended(w, s)
}

// processStep moves a slot by a step of its process, which decides the sites; the
// look ahead decides their tokens.
func (e *engine) processStep(w *scratch, s *slot) error {
	next := s.steps.Next(s.x, s.time, s.step, e.cfg.Steps, &s.stream)
	u := w.u[:e.sites]
	s.stream.Float64s(u)
	simd.Categorical(w.clean, s.v, e.levels, u)
	for i, l := range w.clean {
		if l < 0 {
			return w.row.load(s.v, i)
		}
	}
	copy(s.y, s.x)
	s.renoise.Renoise(s.y, w.clean, s.v, s.time, next, &s.stream)
	w.order = w.order[:0]
	hides := false
	for i, l := range s.y {
		switch {
		case e.clean[i]:
		case s.masked(i) && l != s.mask:
			w.order = append(w.order, i)
		case !s.masked(i) && l == s.mask:
			hides = true
		}
	}
	s.shuffle(w.order, len(w.order))
	changed := hides || len(w.order) > 0
	for _, i := range w.order {
		if err := e.show(w, s, i); err != nil {
			return err
		}
	}
	if hides {
		for i, l := range s.y {
			if l == s.mask && !e.clean[i] {
				s.x[i] = s.mask
			}
		}
		s.recount()
	}
	s.time, s.step = next, s.step+1
	s.known = e.timeFree && !changed
	if next <= 0 && s.masks > 0 {
		return fmt.Errorf("scored: %T leaves masks at time 0", s.steps)
	}
	return nil
}

// mendStep shows one of the tokens that were taken back.
func (e *engine) mendStep(w *scratch, s *slot) error {
	k := s.stream.IntN(s.masks)
	for i := range s.x {
		if s.masked(i) {
			if k--; k < 0 {
				if err := e.show(w, s, i); err != nil {
					return err
				}
				break
			}
		}
	}
	s.known = false
	s.time = s.clockFor(1 - float64(s.masks)/float64(len(e.free)))
	return nil
}

// shuffle brings a random choice of the given number of entries to the front of
// order, in random order.
func (s *slot) shuffle(order []int, n int) {
	for i := range n {
		j := i + s.stream.IntN(len(order)-i)
		order[i], order[j] = order[j], order[i]
	}
}

// open begins a call: it fills x with −1 and returns the errors, none yet, of its samples; their reports
// are blank too.
func (e *engine) open(x []int32) diffusion.SampleErrors {
	if len(x)%e.sites != 0 {
		panic(fmt.Sprintf("scored: len(x) = %d, want a multiple of %d", len(x), e.sites))
	}
	for i := range x {
		x[i] = -1
	}
	n := len(x) / e.sites
	e.reports = make([]Report, n)
	for i := range e.reports {
		e.reports[i].Violation = math.NaN()
	}
	return make(diffusion.SampleErrors, n)
}

// report stores what has become of a sample.
func (e *engine) report(x []int32, errs diffusion.SampleErrors, s *slot) {
	errs[s.job] = s.err
	v := &e.reports[s.job]
	*v = Report{Violation: math.NaN(), Rounds: s.rounds, Paths: s.paths, Predictions: s.predictions, Judged: s.judged}
	x = x[s.job*e.sites : (s.job+1)*e.sites]
	if s.finite {
		v.Violation = s.worst
		copy(x, s.best)
		return
	}
	for i, l := range s.x {
		if l != s.mask {
			x[i] = l
		}
	}
}

// progress tells of finished samples.
func (e *engine) progress(done, total int) {
	if e.cfg.Progress != nil {
		e.cfg.Progress(done, total)
	}
}
