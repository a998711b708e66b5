package scored

import (
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

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
