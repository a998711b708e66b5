package activeset

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Status is the outcome of [Solver.Solve].
type Status int8

const (
	Solved     Status = iota // success: x is the minimiser
	Infeasible               // no x satisfies all rows that must hold; see Conflict
	Limit                    // the step limit was reached; x is the last point
)

// Thresholds, for rows of norm 1 and data of order 1.
const (
	holds = 1e-12 // violations below this value count as 0
	// distance from the span of the tight rows below which a row counts as dependent
	dependent = 1e-6
	// distance from the span below which a row counts as in the span without further tests
	vanishes = 1e-9
	pivotal  = 1e-11 // coefficients below this value count as 0
	harris   = 1e-11 // amount by which multipliers may leave their range in a ratio test
	drift    = 1e-8  // residual of a tight row that triggers a repair
	// violations of dependent rows that count as 0, relative to their coefficients
	rounding = 1e-13
	settled  = 1e-9 // violations of dependent rows that count as 0 after a repair
	// amount by which a multiplier may be out of its range at the end before its row is removed
	wrong     = 1e-10
	takesPart = 1e-9 // coefficient above which a row belongs to a conflict

	stale       = 40  // changes of the factorisation after which it is rebuilt at the end
	mostDoubts  = 50  // maximum number of repairs because of infeasibility
	mostRepairs = 200 // maximum number of repairs because of drift
	effort      = 50  // maximum number of steps per row and variable
)

// state is the position of a row's multiplier in its range.
type state int8

const (
	free   state = iota // the row's multiplier is 0
	tight               // the row is at a bound, with its multiplier within its range
	capped              // the row's multiplier is at ±cap
)

// Solver projects points, one after the other, onto the solutions of a fixed system of linear
// inequalities. Each projection starts from the multipliers that the caller passes. The result
// depends only on the arguments of Solve. A Solver is not safe for concurrent use. After the first
// calls it does not allocate.
type Solver struct {
	factor
	a     Rows
	m     int // number of rows in use
	v     []float64
	limit []float64 // cap of each row's multiplier
	u     []float64 // multiplier of each row
	at    []state
	side  []int8 // bound of a tight row: hi if > 0, lo if < 0, both if 0
	skip  []int  // round in which a dependent row was last found satisfied

	// x is the current point; the field base is v minus the contribution of the capped rows
	x, base   []float64
	w, t      []float64 // scratch, one entry per tight row
	scale     float64   // scale of the data, to which tolerances are relative
	round     int       // number of changes of the tight rows
	built     int       // value of round at the last factorisation
	doubted   int       // round of the last repair because of infeasibility
	doubts    int
	repairs   int
	ops       int
	polished  bool
	conflict  []int
	influence []float64
}

// New returns a solver for the given rows.
func New(a Rows) *Solver {
	n, m := a.N, len(a.Lo)
	most := min(n, m)
	return &Solver{
		factor: factor{
			n: n, rows: make([]int, 0, most+1), z: make([]float64, n), y: make([]float64, 0, most+1), c: make([]float64, 0, most+1),
		},
		a: a, at: make([]state, m), side: make([]int8, m), skip: make([]int, m),
		x: make([]float64, n), base: make([]float64, n), w: make([]float64, 0, most+1), t: make([]float64, 0, most+1),
		conflict: make([]int, 0, most+1), influence: make([]float64, 0, most+1),
	}
}

// Conflict returns rows a_j that no point satisfies together, and their weights w_j. Call it after
// a Solve that returned [Infeasible]. The weighted sum Σ_j w_j·a_j is zero, but the bounds require
// Σ_j w_j·(a_j·x) < 0. If any one of these rows is removed, some point satisfies all the others.
// The slices are valid until the next Solve.
func (s *Solver) Conflict() (rows []int, weights []float64) { return s.conflict, s.influence }

// Steps returns the number of iterations of the last Solve.
func (s *Solver) Steps() int { return s.ops }

// Tight returns the number of tight rows: those that hold with equality at the last solution.
func (s *Solver) Tight() int { return len(s.rows) }

// bounded reports whether row j has a bound on the side of multiplier u.
func (s *Solver) bounded(j int, u float64) bool {
	if u > 0 {
		return !math.IsInf(s.a.Hi[j], 1)
	}
	return !math.IsInf(s.a.Lo[j], -1)
}

// put makes row j tight on the side of the multiplier u. If the row's distance from the span of the
// tight rows is at most the bound least, put does nothing.
func (s *Solver) put(j int, u, least float64) {
	norm := s.short(&s.a, j)
	if norm <= least {
		s.u[j], s.at[j] = 0, free
		return
	}
	s.add(j, norm)
	s.at[j], s.side[j] = tight, s.facing(j, u)
}

// facing returns the side of row j for a multiplier with the sign of u.
func (s *Solver) facing(j int, u float64) int8 {
	switch {
	case s.a.Lo[j] == s.a.Hi[j]:
		return 0
	case u > 0:
		return 1
	}
	return -1
}

// bound returns the bound at which the tight row j is.
func (s *Solver) bound(j int) float64 {
	if s.side[j] < 0 {
		return s.a.Lo[j]
	}
	return s.a.Hi[j]
}

// span returns the range of the multiplier of the tight row j.
func (s *Solver) span(j int) (lo, hi float64) {
	lo, hi = -s.limit[j], s.limit[j]
	switch s.side[j] {
	case 1:
		lo = 0
	case -1:
		hi = 0
	}
	return lo, hi
}

// leave removes the k-th tight row and sets its multiplier to u, which is 0 or ±cap.
func (s *Solver) leave(k int, u float64) {
	j := s.rows[k]
	s.u[j], s.at[j] = u, free
	if u != 0 {
		s.at[j] = capped
	}
	s.drop(k)
	s.round++
}

// off returns the largest distance of a tight row from its bound.
func (s *Solver) off() float64 {
	worst := 0.0
	for _, j := range s.rows {
		if e := math.Abs(s.a.dot(j, s.x) - s.bound(j)); !(e <= worst) {
			worst = e
		}
	}
	return worst
}

// clamp moves multipliers that rounding has moved out of their ranges back into them.
func (s *Solver) clamp() {
	for _, j := range s.rows {
		lo, hi := s.span(j)
		s.u[j] = min(max(s.u[j], lo), hi)
	}
}

// withdraw frees a row that was entering or has become dependent.
func (s *Solver) withdraw(j int) { s.u[j], s.at[j] = 0, free }

// repair recomputes the factorisation, the point and the multipliers from the tight rows.
func (s *Solver) repair() {
	s.rebuild()
	s.clean()
}

// rebuild recomputes the factorisation of the tight rows. Rows that turn out to be dependent
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

// clean solves for the tight rows. It then removes, one at a time, the row whose multiplier is
// furthest out of its range, until all are in range. A multiplier above its cap stays at the
// cap.
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

// settle recomputes the point and the multipliers from the factorisation. It removes a row whose
// multiplier is out of range by more than rounding explains.
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

// solve stores the point x nearest to base that has the tight rows at their bounds b. It also
// stores the multipliers u of these rows. With Rᵀw = b, the formulas are x = base − Q(Qᵀbase − w)
// and Ru = Qᵀbase − w.
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

// refine corrects x and the multipliers by the residuals of the rows.
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

// solveInside does the work of solve in a metric. With RᵀR·u = A_T·base − b, the formula is x =
// base − P·A_Tᵀu.
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

// refineInside corrects x and the multipliers in a metric by the residuals of the rows.
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

// Solve projects the point v onto the solutions of rows 0 … m−1 and stores the projection in x. It
// stores the multipliers of the rows in u, so that x = v − Aᵀu for the matrix A of the rows a_j.
// Solve starts from the multipliers that u holds at first. The slice limit holds, for every row,
// the penalty per unit of violation, from 0 to +Inf. It bounds the multipliers: |u_j| ≤ limit[j].
// If 0 < u_j < limit[j] in the result, then a_jᵀx is the upper bound of row j. If −limit[j] < u_j <
// 0, it is the lower bound. A row may be violated only if |u_j| = limit[j].
//
// Tolerances are relative to the scale of the data. The scale is the largest of three numbers: the
// largest absolute value in v, the largest violation of a row at v, and minScale. The slices x and
// v may be the same.
func (s *Solver) Solve(x, u, v, limit []float64, m int, minScale float64) Status {
	s.v, s.u, s.limit, s.m = v, u, limit, m
	s.begin(minScale)
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

// begin initialises the solver from the multipliers in u.
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

// recall makes rows tight or capped according to the multipliers in u. It reports whether there are
// any such rows.
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

// entrant is a row that violates a bound and is about to become tight.
type entrant struct {
	row   int
	dir   float64 // sign of the change of its multiplier
	bound float64 // bound that the row will be moved to
	slack float64 // maximum change of its multiplier
	end   float64 // multiplier after that change: 0 or ±cap
}

// pick returns the row with the largest violation, if there is one.
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

// aim sets the target of an entering row. A row that was at its cap returns to the same bound;
// an equation may go on to the other cap.
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

// blocker is the tight row whose multiplier is the first to leave its range.
type blocker struct {
	length float64 // step length at which its multiplier leaves its range; +Inf if there is no blocker
	at     int
	end    float64 // value of its multiplier at that step length: 0 or ±cap
}

// ratio returns the blocker of a step of the entering row in direction dir. Among the rows that
// leave their range within a tolerance of the first one, it chooses the one with the largest
// coefficient (Harris 1973).
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

// leeway returns the slack of the multiplier of the tight row j in the direction of d: the
// amount by which it can change. It also returns the rate |d| and the end of the multiplier's
// range in that direction.
func (s *Solver) leeway(j int, d float64) (slack, rate, end float64) {
	lo, hi := s.span(j)
	if d < 0 {
		return max(s.u[j]-lo, 0), -d, lo
	}
	return max(hi-s.u[j], 0), d, hi
}

// enter makes a row tight and removes the rows that block it. It reports whether the whole
// iteration is over, and with which status.
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

// move changes the multiplier of the entering row by one step.
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

// admit makes the entering row tight. If a tight row has drifted, it repairs the factorisation.
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

// doubt handles a row in the span of the tight rows. It returns true if the row can be skipped for
// now. This is so if the row is satisfied up to rounding, or if the factorisation has been repaired
// and the row must be tested again.
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

// prove stores the rows that exclude each other: the entering row and those on which it depends.
func (s *Solver) prove(e entrant) {
	s.conflict, s.influence = append(s.conflict, e.row), append(s.influence, e.dir)
	for k, j := range s.rows {
		if math.Abs(s.c[k]) > takesPart {
			s.conflict, s.influence = append(s.conflict, j), append(s.influence, -e.dir*s.c[k])
		}
	}
	s.withdraw(e.row)
}
