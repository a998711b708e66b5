package scored

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// settle draws the last token from its row restricted to what the judge accepts,
// or takes the level that violates least if there is none; then the weight of the
// slot is 0.
func (e *engine) settle(w *scratch, s *slot, i int) error {
	if err := w.row.load(s.v, i); err != nil {
		return err
	}
	if e.within != nil {
		copy(w.table, s.v)
	}
	clear(w.weight)
	w.level = w.level[:0]
	best, least := int32(-1), math.Inf(1)
	for l, p := range w.row.p {
		if p > 0 {
			ok, err := e.admits(w, s, i, int32(l))
			if err != nil {
				return err
			}
			if ok {
				w.level = append(w.level, int32(l))
			}
		}
		if n := len(w.level); n == 0 || n < cap(w.level) && l < e.levels-1 {
			continue
		}
		var err error
		if best, least, err = e.decide(w, s, i, best, least); err != nil {
			return err
		}
		w.level = w.level[:0]
	}
	if best < 0 {
		return fmt.Errorf("scored: the language admits no token at site %d: %w", i, constraint.ErrInfeasible)
	}
	total := 0.0
	for _, p := range w.weight {
		total += p
	}
	if total == 0 {
		s.logW = math.Inf(-1)
		s.put(i, best)
		return nil
	}
	s.logW += simd.Log(total / w.row.total())
	s.put(i, int32(pickWeight(w.weight, s.stream.Float64())))
	return nil
}

// admits reports whether the language admits level l at site i, the only mask.
func (e *engine) admits(w *scratch, s *slot, i int, l int32) (bool, error) {
	if e.within == nil {
		return true, nil
	}
	own := w.table[i*e.levels : (i+1)*e.levels]
	copy(own, s.v[i*e.levels:(i+1)*e.levels])
	only(own, l)
	copy(w.clean, s.x)
	w.clean[i] = l
	return e.within.accepts(w.clean, w.table)
}

// decide has the levels that are listed judged at site i, and returns the level of
// the least violation so far.
func (e *engine) decide(w *scratch, s *slot, i int, best int32, least float64) (int32, float64, error) {
	n := len(w.level)
	for k, l := range w.level {
		x := w.states[k*e.sites : (k+1)*e.sites]
		copy(x, s.x)
		x[i] = l
	}
	s.judged += n
	if err := violations(w.scores[:n], w.g, e.cfg.Judge, w.states[:n*e.sites]); err != nil {
		return best, least, err
	}
	for k, l := range w.level {
		v := w.scores[k]
		if v <= 0 {
			w.weight[l] = float64(w.row.p[l])
		}
		if best < 0 || v < least {
			best, least = l, v
		}
	}
	return best, least, nil
}
