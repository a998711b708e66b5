// Package activeset projects a point onto linear rows by a dense dual active-set method
// that does not fail on dependent or degenerate rows:
//
//	min_x ½‖x−v‖² + Σ_j cap_j·distance(a_jᵀx, [lo_j, hi_j]),
//
// where rows have norm 1, lo_j = hi_j is an equation and cap_j = +Inf is a row that must
// hold. A [Solver] works with the identity, a [Metric] and, for larger n, a [Gram] with
// any positive semidefinite P in place of it.
//
// The method is that of Goldfarb and Idnani (Mathematical Programming 27, 1983) with
// upper limits on the multipliers: it keeps x = v − Aᵀu with multipliers of the right
// sign, and lets one violated row after the other enter, while those whose multiplier
// would leave its range go. The tight rows have a thin QR factorisation, built by
// Gram–Schmidt twice and mended by rotations. It costs about n·q operations per row that
// enters or leaves, for q tight rows, so it is meant for n up to some hundreds.
//
// Four measures keep it from failing: rows within 1e-6 of the span of the tight ones
// enter only if they are violated by more than rounding explains; the ratio test is that
// of Harris, which prefers large pivots among near ties; a tight row that drifts, and any
// claim of infeasibility, leads to a repair, that is a new factorisation, refined against
// the rows themselves; and the answer is taken from the factorisation, not from the steps
// that led to it.
package activeset
