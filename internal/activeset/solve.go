package activeset

import "math"

// Solve stores in x the minimiser for rows 0 … m−1 and the point v, and in u
// the multipliers, x = v − Aᵀu, starting from those that u holds. A positive one
// belongs to hi. limit is the cap of every row, 0 … +Inf. least is a lower bound
// for the scale of the data, to which tolerances are relative; 0 if there is
// none. x may be v.
func (s *Solver) Solve(x, u, v, limit []float64, m int, least float64) Status {
	s.v, s.u, s.limit, s.m = v, u, limit, m
	s.begin(least)
	status := Solved
	for {
		e, ok := s.pick()
		if ok {
			s.polished = false
			if end, over := s.enter(e); over {
				status = end
				break
			}
			continue
		}
		if s.polished {
			if s.off() > drift*s.scale { // the factorisation is no good
				status = Limit
			}
			break
		}
		if s.ops++; s.ops > effort*(s.n+s.m) {
			status = Limit
			break
		}
		s.settle()
	}
	s.clamp()
	copy(x, s.x)
	return status
}

// begin starts from the multipliers in u.
func (s *Solver) begin(least float64) {
	s.round, s.built, s.doubted, s.doubts, s.repairs, s.ops = 1, 1, 0, 0, 0, 0
	s.rows, s.conflict, s.influence = s.rows[:0], s.conflict[:0], s.influence[:0]
	clear(s.at)
	clear(s.skip)
	copy(s.x, s.v)
	s.scale = max(largest(s.v), least)
	for j := range s.m {
		t := s.a.dot(j, s.v)
		if far := max(t-s.a.Hi[j], s.a.Lo[j]-t); s.limit[j] > 0 && far > s.scale {
			s.scale = far
		}
	}
	if s.scale == 0 {
		s.scale = 1
	}
	warm := s.recall()
	s.polished = warm
	if warm {
		s.clean()
	}
}

// recall makes rows tight or capped as the multipliers in u say, and reports
// whether there are any.
func (s *Solver) recall() (warm bool) {
	for j, u := range s.u[:s.m] {
		switch {
		case u == 0:
		case !s.bounded(j, u) || s.limit[j] == 0 || math.IsNaN(u):
			s.u[j] = 0
		case math.Abs(u) >= s.limit[j]:
			s.u[j], s.at[j], warm = math.Copysign(s.limit[j], u), capped, true
		default:
			s.put(j, u, dependent)
			warm = true
		}
	}
	return warm
}

// put makes row j tight on the side of multiplier u, unless it is within least
// of the span of the others.
func (s *Solver) put(j int, u, least float64) {
	norm := s.direction(&s.a, j)
	if norm <= least {
		s.u[j], s.at[j] = 0, free
		return
	}
	s.add(j, norm)
	s.at[j], s.side[j] = tight, s.facing(j, u)
}
