package activeset

import "math"

// Solve stores in x the minimiser for rows 0 … m−1 and the point v, and in u the
// multipliers, x = v − Aᵀu. It starts from the multipliers in u. A positive multiplier
// belongs to hi. limit is the cap of every row, 0 … +Inf. least is a lower bound for the
// scale of the data, to which tolerances are relative, or 0 if there is none. x may be v.
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
	s.empty()
	s.conflict, s.influence = s.conflict[:0], s.influence[:0]
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

// entrant is a row that is on the wrong side of a bound.
type entrant struct {
	row   int
	dir   float64 // in which its multiplier goes
	bound float64 // to which it is to come
	slack float64 // by how much its multiplier may change
	end   float64 // where it is then: 0 or ±cap
}

// pick returns the row furthest on the wrong side, if there is one.
func (s *Solver) pick() (e entrant, ok bool) {
	worst := holds * max(s.scale, largest(s.x))
	e.row = -1
	for j := range s.m {
		if s.at[j] == tight || s.skip[j] == s.round || !(s.limit[j] > 0) {
			continue
		}
		t := s.a.dot(j, s.x)
		above, below := t-s.a.Hi[j], s.a.Lo[j]-t
		switch {
		case s.at[j] == capped && s.u[j] > 0:
			above, below = math.Inf(-1), -above
		case s.at[j] == capped:
			above, below = -below, math.Inf(-1)
		}
		if above > worst {
			worst, e.row, e.dir = above, j, 1
		}
		if below > worst {
			worst, e.row, e.dir = below, j, -1
		}
	}
	if e.row < 0 {
		return e, false
	}
	s.aim(&e)
	return e, true
}

// aim fills in where an entrant goes. One that was at its cap comes back to the
// same bound, an equation perhaps on to the other cap.
func (s *Solver) aim(e *entrant) {
	j := e.row
	e.slack, e.end = s.limit[j], math.Copysign(s.limit[j], e.dir)
	e.bound = s.a.Hi[j]
	if (e.dir < 0) != (s.at[j] == capped) {
		e.bound = s.a.Lo[j]
	}
	if s.at[j] == capped {
		e.end = 0
		if s.a.Lo[j] == s.a.Hi[j] {
			e.slack, e.end = 2*s.limit[j], math.Copysign(s.limit[j], e.dir)
		}
	}
}

// blocker is the tight row whose multiplier is first to leave its range.
type blocker struct {
	length float64 // of the step there, +Inf if there is none
	at     int
	end    float64 // its multiplier then, 0 or ±cap
}

// ratio finds the blocker of a step of the entrant in direction dir. Among those
// that leave their range within a tolerance of the first it takes the one with
// the largest coefficient (Harris 1973).
func (s *Solver) ratio(dir float64) blocker {
	far := math.Inf(1)
	for k, j := range s.rows {
		if slack, rate, _ := s.leeway(j, -dir*s.c[k]); rate > pivotal {
			far = min(far, (slack+float64(harris*s.scale))/rate)
		}
	}
	b := blocker{length: math.Inf(1)}
	if math.IsInf(far, 1) {
		return b
	}
	pivot := 0.0
	for k, j := range s.rows {
		slack, rate, end := s.leeway(j, -dir*s.c[k])
		if rate > pivotal && rate > pivot && slack/rate <= far {
			pivot = rate
			b = blocker{slack / rate, k, end}
		}
	}
	return b
}

// leeway returns by how much the multiplier of the tight row j may change in the
// direction of d, |d|, and where it is then.
func (s *Solver) leeway(j int, d float64) (slack, rate, end float64) {
	lo, hi := s.span(j)
	if d < 0 {
		return max(s.u[j]-lo, 0), -d, lo
	}
	return max(hi-s.u[j], 0), d, hi
}

// enter lets a row enter, and those that block it go. It reports whether the
// whole iteration is over, and how.
func (s *Solver) enter(e entrant) (end Status, over bool) {
	for {
		if s.ops++; s.ops > effort*(s.n+s.m) {
			s.withdraw(e.row)
			return Limit, true
		}
		norm := s.direction(&s.a, e.row)
		miss := float64(e.dir * (s.a.dot(e.row, s.x) - e.bound))
		b, slack := s.ratio(e.dir), e.slack
		full := math.Inf(1)
		if norm > dependent || norm > vanishes && miss > settled*s.scale {
			full = max(0, miss) / float64(norm*norm)
		}
		length := min(full, b.length, slack)
		if math.IsInf(length, 1) || norm <= dependent && miss <= settled*s.scale {
			if s.doubt(e, miss, math.IsInf(length, 1)) {
				return Solved, false
			}
		}
		if math.IsInf(length, 1) {
			s.prove(e)
			return Infeasible, true
		}
		s.move(e, length, norm)
		switch {
		case length == full:
			s.admit(e, norm)
			return Solved, false
		case length == slack:
			s.u[e.row], s.at[e.row] = e.end, free
			if e.end != 0 {
				s.at[e.row] = capped
			}
			return Solved, false
		}
		s.leave(b.at, b.end)
		e.slack -= length
	}
}

// move takes a step of the multiplier of the entrant.
func (s *Solver) move(e entrant, length, norm float64) {
	step := float64(e.dir * length)
	for k, j := range s.rows {
		s.u[j] -= float64(step * s.c[k])
	}
	s.u[e.row] += step
	if norm > vanishes {
		axpy(-step, s.z, s.x)
	}
}

// admit makes the entrant tight. If some tight row has drifted off it repairs.
func (s *Solver) admit(e entrant, norm float64) {
	j := e.row
	s.add(j, norm)
	s.at[j] = tight
	s.side[j] = 0
	if s.a.Lo[j] != s.a.Hi[j] {
		s.side[j] = 1
		if e.bound == s.a.Lo[j] {
			s.side[j] = -1
		}
	}
	s.round++
	if s.repairs >= mostRepairs {
		return
	}
	if s.off() > drift*s.scale {
		s.repairs++
		s.repair()
	}
}

// doubt deals with a row within the span of the tight ones. It reports whether
// the row is to be passed over: it holds as far as numbers can tell, or the
// factorisation was worth repairing before anything is claimed.
func (s *Solver) doubt(e entrant, miss float64, blocked bool) bool {
	total := 1.0
	for _, c := range s.c {
		total += math.Abs(c)
	}
	if miss <= rounding*s.scale*total || s.doubted == s.round && miss <= settled*s.scale {
		moved := s.u[e.row] != 0 && s.at[e.row] == free || s.at[e.row] == capped && math.Abs(s.u[e.row]) != s.limit[e.row]
		if moved {
			s.withdraw(e.row)
			s.clean()
		}
		s.skip[e.row] = s.round
		return true
	}
	if !blocked || s.doubts >= mostDoubts || s.doubted == s.round {
		return false
	}
	s.doubts++
	s.withdraw(e.row)
	s.repair()
	s.doubted = s.round
	return true
}

// prove stores the rows that exclude each other: the entrant and those that it
// depends on.
func (s *Solver) prove(e entrant) {
	s.conflict, s.influence = append(s.conflict, e.row), append(s.influence, e.dir)
	for k, j := range s.rows {
		if math.Abs(s.c[k]) > takesPart {
			s.conflict, s.influence = append(s.conflict, j), append(s.influence, -e.dir*s.c[k])
		}
	}
	s.withdraw(e.row)
}
