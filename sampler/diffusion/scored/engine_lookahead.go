package scored

import (
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// show draws the token of the masked site i of a slot with a look ahead, and
// multiplies the weight of the slot by p_i(v)/q(v).
func (e *engine) show(w *scratch, s *slot, i int) error {
	if s.masks == 1 {
		return e.settle(w, s, i)
	}
	if err := w.row.load(s.v, i); err != nil {
		return err
	}
	var err error
	if e.within == nil {
		err = e.complete(w, s, i)
	} else {
		err = e.completeWithin(w, s, i)
	}
	if err != nil {
		return err
	}
	k, n := len(w.token), e.cfg.Completions
	chosen, mean := 0, 1.0
	w.psi = w.psi[:k]
	if k > 1 { // one candidate is taken whatever it promises
		set := e.cfg.Judge
		if e.cfg.Guide != nil && !s.mend { // where it misled, the judge leads
			set = e.cfg.Guide
		}
		s.judged += k * n
		if err := violations(w.scores[:k*n], w.g, set, w.states[:k*n*e.sites]); err != nil {
			return err
		}
		if e.exact {
			soften(w.psi, w.scores[:k*n], n, s.masks-1, e.sites)
			defend(w.psi, w.prior)
		} else {
			promise(w.psi, w.scores[:k*n], n)
		}
		mean = 0
		share := w.scores[:k]
		for c, p := range w.prior {
			share[c] = float64(p * w.psi[c])
			mean += share[c]
		}
		chosen = pickWeight(share, s.stream.Float64())
		mean /= w.psi[chosen]
	}
	s.logW += simd.Log(mean) + w.beside[chosen]
	s.put(i, w.token[chosen])
	if e.within != nil { // later draws of the same step must know
		own := s.v[i*e.levels : (i+1)*e.levels]
		own[w.token[chosen]] = 0
		only(own, w.token[chosen])
	}
	return nil
}

// complete lists the candidates for site i, whose row is loaded, and fills their
// masks in: all candidates with the same draws, independent by site.
func (e *engine) complete(w *scratch, s *slot, i int) error {
	w.token, w.prior, w.beside = w.token[:0], w.prior[:0], w.beside[:0]
	if total := w.row.total(); w.row.levels <= allLevels {
		for l, p := range w.row.p {
			if p > 0 {
				w.token = append(w.token, int32(l))
				w.prior = append(w.prior, float64(p)/total)
			}
		}
	} else {
		u := w.u[:e.cfg.Candidates]
		s.stream.Float64s(u)
		for _, u := range u {
			w.count(w.row.pick(u))
		}
		w.share(len(u))
	}
	for range w.token {
		w.beside = append(w.beside, 0)
	}
	k, n := len(w.token), e.cfg.Completions
	if k == 1 {
		return nil
	}
	states := w.states[:k*n*e.sites]
	for m := range n {
		copy(states[m*e.sites:], s.x)
	}
	u := w.u[:n]
	for j := range s.x {
		if j == i || !s.masked(j) {
			continue
		}
		if err := w.row.load(s.v, j); err != nil {
			return err
		}
		s.stream.Float64s(u)
		for m, u := range u {
			states[m*e.sites+j] = w.row.pick(u)
		}
	}
	for c := 1; c < k; c++ {
		copy(states[c*n*e.sites:], states[:n*e.sites])
	}
	for c, l := range w.token {
		for m := c * n; m < (c+1)*n; m++ {
			states[m*e.sites+i] = l
		}
	}
	return nil
}

// completeWithin is complete for a language: candidates are levels that leave
// something of it, by their shares of it, and completions are joint draws.
//
// A path draws v with probability q(v) and is worth p_i(v)/q(v). If Z is the weight
// of the language under the rows and Z_v that of its members with x_i = v, then
// candidates have the shares Z_v/Z, so that p_i(v)·Z/Z_v is what besides the look
// ahead belongs to the weight.
func (e *engine) completeWithin(w *scratch, s *slot, i int) error {
	n := e.cfg.Completions
	w.token, w.prior, w.beside = w.token[:0], w.prior[:0], w.beside[:0]
	copy(w.table, s.v)
	all := w.row.levels <= allLevels
	logZ := 0.0
	if all {
		for l, p := range w.row.p {
			if p > 0 {
				w.token = append(w.token, int32(l))
			}
		}
	} else {
		var err error
		if logZ, err = e.within.fill(e.ctx, w.joint, s.v, e.sites, &s.stream); err != nil {
			return err
		}
		for c := range e.cfg.Candidates {
			w.count(w.joint[c*e.sites+i])
		}
		w.share(e.cfg.Candidates)
	}
	var lse [1]float64
	own, given := w.table[i*e.levels:(i+1)*e.levels], s.v[i*e.levels:(i+1)*e.levels]
	simd.LogSumExp(lse[:], given, e.levels)
	kept, top := 0, math.Inf(-1)
	for _, l := range w.token {
		copy(own, given)
		only(own, l)
		z, err := e.within.fill(e.ctx, w.states[kept*n*e.sites:(kept+1)*n*e.sites], w.table, e.sites, &s.stream)
		if errors.Is(err, constraint.ErrInfeasible) && all {
			continue
		}
		if err != nil {
			return err
		}
		w.token[kept] = l
		w.beside = append(w.beside, float64(given[l])-lse[0]-z)
		if all {
			w.prior = append(w.prior, z)
			top = max(top, z)
		}
		kept++
	}
	w.token = w.token[:kept]
	if kept == 0 {
		return constraint.ErrInfeasible
	}
	if all {
		total := 0.0
		for c, z := range w.prior {
			w.prior[c] = simd.Exp(z - top)
			total += w.prior[c]
		}
		logZ = top + simd.Log(total)
		for c := range w.prior {
			w.prior[c] /= total
		}
	}
	for c := range w.beside {
		w.beside[c] += logZ
	}
	return nil
}

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
	return e.within.accepts(e.ctx, w.clean, w.table)
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
