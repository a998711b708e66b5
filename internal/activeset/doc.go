// Package activeset projects a point onto linear rows by a dense dual active-set method
// that does not fail on dependent or degenerate rows:
//
//	min_x ½‖x−v‖² + Σ_j cap_j·distance(a_jᵀx, [lo_j, hi_j]),
//
// where rows have norm 1, lo_j = hi_j makes an equation, and cap_j = +Inf marks a row that
// must hold. A [Solver] uses the identity as its metric; a [Metric] and, for larger n, a
// [Gram] use any positive semidefinite P instead.
//
// The method is that of Goldfarb and Idnani (Mathematical Programming 27, 1983) with upper
// limits on the multipliers: it keeps x = v − Aᵀu with multipliers of the right sign, adds
// one violated row after the other, and removes rows whose multiplier would leave its
// range. The tight rows have a thin QR factorisation, built by repeated Gram–Schmidt and
// updated by rotations. With q tight rows, each row added or removed costs about n·q
// operations, so the method is meant for n up to some hundreds.
//
// Four measures keep it from failing: rows within 1e-6 of the span of the tight ones
// enter only if they are violated by more than rounding explains; the ratio test is that
// of Harris, which prefers large pivots among near ties; a tight row that drifts, and any
// claim of infeasibility, leads to a repair, that is a new factorisation, refined against
// the rows themselves; and the answer is taken from the factorisation, not from the steps
// that led to it.
package activeset
