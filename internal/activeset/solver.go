package activeset

import "math"

// Status tells how a Solve ended.
type Status int8

const (
	Solved     Status = iota // x is the minimiser
	Infeasible               // no x satisfies the rows that must hold: see Conflict
	Limit                    // the iteration did not end; x is its last point
)

// The numbers that decide, for rows of norm 1 and data of order 1.
const (
	holds     = 1e-12 // violations below it are none
	dependent = 1e-6  // distance from the span of the tight rows
	vanishes  = 1e-9  // distance at which a row is within that span, whatever else
	pivotal   = 1e-11 // coefficients below it are zero
	harris    = 1e-11 // by how much multipliers may leave their range in a ratio test
	drift     = 1e-8  // residuals of tight rows that call for a repair
	rounding  = 1e-13 // violations of dependent rows that are none, times their coefficients
	settled   = 1e-9  // violations of dependent rows that pass for it after a repair
	wrong     = 1e-10 // multipliers of the wrong sign that are dropped at the end
	takesPart = 1e-9  // coefficients of rows in a conflict

	stale       = 40  // changes of the factorisation before the end builds it anew
	mostDoubts  = 50  // repairs on account of infeasibility
	mostRepairs = 200 // repairs on account of drift
	effort      = 50  // steps per row and variable
)

// state is where the multiplier of a row is.
type state int8

const (
	free   state = iota // at 0
	tight               // within its range, and the row at a bound
	capped              // at ±cap
)

// Solver solves a sequence of problems for the same rows, each starting from multipliers
// that the caller keeps. The result depends on nothing else. A Solver is not safe for
// concurrent use. Once warm it allocates nothing.
type Solver struct {
	factor
	a     Rows
	m     int // rows that take part
	v     []float64
	limit []float64 // cap, by row
	u     []float64 // multiplier, by row
	at    []state
	side  []int8 // of tight rows: at hi if > 0, at lo if < 0, both if 0
	skip  []int  // the round in which a dependent row was found to hold

	x, base   []float64 // base is v less what capped rows pull
	w, t      []float64 // by tight row
	scale     float64   // of the data
	round     int       // counts changes of the tight rows
	built     int       // the round of the last factorisation
	doubted   int       // the round of the last repair for infeasibility
	doubts    int
	repairs   int
	ops       int
	polished  bool
	conflict  []int
	influence []float64
}

// New returns a solver for the rows of a.
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

// Conflict returns rows that exclude each other, and their weights, after a Solve that
// ended Infeasible: Σ_j w_j·a_j is zero, yet Σ_j w_j·(a_j·x) would have to be below 0. No
// row can be left out. The slices are valid until the next Solve.
func (s *Solver) Conflict() (rows []int, weights []float64) { return s.conflict, s.influence }

// Steps returns the number of steps of the last Solve.
func (s *Solver) Steps() int { return s.ops }

// Tight returns the number of rows that are tight.
func (s *Solver) Tight() int { return len(s.rows) }

// bounded reports whether row j has a bound on the side of multiplier u.
func (s *Solver) bounded(j int, u float64) bool {
	if u > 0 {
		return !math.IsInf(s.a.Hi[j], 1)
	}
	return !math.IsInf(s.a.Lo[j], -1)
}

// put makes row j tight on the side of multiplier u, unless it is within least
// of the span of the others.
func (s *Solver) put(j int, u, least float64) {
	norm := s.short(&s.a, j)
	if norm <= least {
		s.u[j], s.at[j] = 0, free
		return
	}
	s.add(j, norm)
	s.at[j], s.side[j] = tight, s.facing(j, u)
}

// facing returns the side of row j for a multiplier of the sign of u.
func (s *Solver) facing(j int, u float64) int8 {
	switch {
	case s.a.Lo[j] == s.a.Hi[j]:
		return 0
	case u > 0:
		return 1
	}
	return -1
}

// bound returns the value at which the tight row j is held.
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

// leave drops the k-th tight row with the multiplier u, 0 or ±cap.
func (s *Solver) leave(k int, u float64) {
	j := s.rows[k]
	s.u[j], s.at[j] = u, free
	if u != 0 {
		s.at[j] = capped
	}
	s.drop(k)
	s.round++
}

// off returns how far the tight rows are from their bounds.
func (s *Solver) off() float64 {
	worst := 0.0
	for _, j := range s.rows {
		if e := math.Abs(s.a.dot(j, s.x) - s.bound(j)); !(e <= worst) {
			worst = e
		}
	}
	return worst
}

// clamp puts multipliers into their range, from which rounding may have moved
// them.
func (s *Solver) clamp() {
	for _, j := range s.rows {
		lo, hi := s.span(j)
		s.u[j] = min(max(s.u[j], lo), hi)
	}
}

// withdraw gives up a row that was entering or has become dependent.
func (s *Solver) withdraw(j int) { s.u[j], s.at[j] = 0, free }
