package activeset

import "github.com/gibbsite-go/gibbsite/internal/simd"

// repair starts again from the tight rows: factorisation, point and multipliers.
func (s *Solver) repair() {
	s.rebuild()
	s.clean()
}

// rebuild factorises the tight rows anew. Those that turn out to be dependent
// become free.
func (s *Solver) rebuild() {
	was := s.rows
	s.empty()
	for _, j := range was { // behind what add appends
		norm := s.short(&s.a, j)
		if norm <= vanishes {
			s.withdraw(j)
			s.round++
			continue
		}
		s.add(j, norm)
	}
	s.built = s.round
}

// clean solves for the tight rows and drops, one at a time, those whose
// multiplier is furthest out of its range, until none is. A multiplier above
// its cap stays there.
func (s *Solver) clean() {
	for {
		s.solve()
		worst, at, end := 0.0, -1, 0.0
		for k, j := range s.rows {
			lo, hi := s.span(j)
			if out := lo - s.u[j]; out > worst {
				worst, at, end = out, k, lo
			}
			if out := s.u[j] - hi; out > worst {
				worst, at, end = out, k, hi
			}
		}
		if at < 0 {
			break
		}
		s.leave(at, end)
	}
	s.refine()
}

// settle takes the point and the multipliers from the factorisation, and drops a
// multiplier that is out of its range by more than rounding explains.
func (s *Solver) settle() {
	if s.round-s.built > stale {
		s.rebuild()
	}
	s.solve()
	s.refine()
	s.polished = true
	top := 0.0
	for _, j := range s.rows {
		top = max(top, s.u[j], -s.u[j])
	}
	worst, at, end := max(wrong*s.scale, 1e-15*top), -1, 0.0
	for k, j := range s.rows {
		lo, hi := s.span(j)
		if out := lo - s.u[j]; out > worst {
			worst, at, end = out, k, lo
		}
		if out := s.u[j] - hi; out > worst {
			worst, at, end = out, k, hi
		}
	}
	if at >= 0 {
		s.leave(at, end)
		s.solve()
		s.refine()
		s.polished = false
	}
}

// solve stores the x nearest to base with the tight rows at their bounds, and
// their multipliers. With Rᵀw = b it is x = base − Q(Qᵀbase − w), Ru = Qᵀbase − w.
func (s *Solver) solve() {
	if s.in != nil {
		s.solveInside()
		return
	}
	copy(s.base, s.v)
	for j, at := range s.at[:s.m] {
		if at == capped {
			s.a.axpy(j, -s.u[j], s.base)
		}
	}
	count := len(s.rows)
	s.w, s.t = s.w[:count], s.t[:count]
	for k, j := range s.rows {
		s.w[k] = s.bound(j)
	}
	s.forward(s.w)
	clear(s.t)
	copy(s.x, s.base)
	for range 2 { // the second pass removes what rounding left in the span of Q
		for k, w := range s.w {
			col := s.col(k)
			off := dot(col, s.x) - w
			s.t[k] += off
			axpy(-off, col, s.x)
		}
	}
	s.back(s.t)
	for k, j := range s.rows {
		s.u[j] = s.t[k]
	}
}

// refine mends x and the multipliers by what the rows themselves miss.
func (s *Solver) refine() {
	if s.in != nil {
		s.refineInside()
		return
	}
	for range 2 {
		for k, j := range s.rows {
			s.w[k] = s.a.dot(j, s.x) - s.bound(j)
		}
		s.forward(s.w)
		for k, w := range s.w {
			axpy(-w, s.col(k), s.x)
		}
		for i, b := range s.base {
			s.z[i] = b - s.x[i]
		}
		for _, j := range s.rows {
			s.a.axpy(j, -s.u[j], s.z)
		}
		for k := range s.t {
			s.t[k] = dot(s.col(k), s.z)
		}
		s.back(s.t)
		for k, j := range s.rows {
			s.u[j] += s.t[k]
		}
	}
}

// solveInside is solve in the metric: with RᵀR·u = A_T·base − b it is x = base − P·A_Tᵀu.
func (s *Solver) solveInside() {
	in := s.in
	clear(in.d)
	for j, at := range s.at[:s.m] {
		if at == capped {
			s.a.axpy(j, -s.u[j], in.d)
		}
	}
	copy(s.base, s.v)
	in.product(s.base, in.d)
	copy(s.x, s.base)
	for _, j := range s.rows {
		s.u[j] = 0
	}
	s.refineInside()
}

// refineInside mends x and the multipliers by what the rows miss.
func (s *Solver) refineInside() {
	count := len(s.rows)
	s.w = s.w[:count]
	for range 2 {
		for k, j := range s.rows {
			s.w[k] = s.a.dot(j, s.x) - s.bound(j)
		}
		s.forward(s.w)
		s.back(s.w)
		for k, j := range s.rows {
			s.u[j] += s.w[k]
			s.w[k] = -s.w[k]
		}
		simd.Fold(s.x, s.n, s.q, s.in.at, s.w)
	}
}
