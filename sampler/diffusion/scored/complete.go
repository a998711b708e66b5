package scored

import (
	"errors"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

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

// count adds a draw of a candidate.
func (w *scratch) count(l int32) {
	if c := slices.Index(w.token, l); c >= 0 {
		w.prior[c]++
		return
	}
	w.token, w.prior = append(w.token, l), append(w.prior, 1)
}

// share makes counts of n draws shares.
func (w *scratch) share(n int) {
	for c := range w.prior {
		w.prior[c] /= float64(n)
	}
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
		if logZ, err = e.within.fill(w.joint, s.v, e.sites, &s.stream); err != nil {
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
		z, err := e.within.fill(w.states[kept*n*e.sites:(kept+1)*n*e.sites], w.table, e.sites, &s.stream)
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
