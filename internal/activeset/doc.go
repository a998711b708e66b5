// Package activeset projects a point onto the solutions of linear inequalities by a dense dual
// active-set method. The inequalities are called rows; they may be linearly dependent or
// degenerate. The method solves
//
//	min_x ½‖x−v‖² + Σ_j cap_j·distance(a_jᵀx, [lo_j, hi_j]),
//
// where rows a_j have norm 1, distance is the distance of a number from an interval, and cap_j is
// the penalty per unit of violation. If cap_j = +Inf, row j must hold. If lo_j = hi_j, row j is an
// equation. A [Solver] uses the Euclidean norm. A [Metric] uses the norm of any positive
// semidefinite matrix P instead, as does a [Gram], which is meant for more variables.
//
// The method is that of Goldfarb and Idnani (Mathematical Programming 27, 1983) with the upper
// limits cap_j on the absolute values of the multipliers u. It maintains x = v − Aᵀu with
// multipliers of the right sign. It adds one violated row at a time, and removes rows whose
// multiplier would leave its range. The tight rows, which hold with equality, have a thin QR
// factorisation, built by repeated Gram–Schmidt and updated by rotations. With n variables and q
// tight rows, each row added or removed costs about n·q operations. The method is therefore meant
// for n up to a few hundred.
//
// Four measures prevent failure:
//
//   - A row within 1e-6 of the span of the tight rows enters only if it is violated by more than
//     rounding explains.
//   - Harris's ratio test chooses the step length; it prefers large pivots among near ties.
//   - A repair follows if a tight row drifts from its bound or the problem seems infeasible. It
//     computes a new factorisation and refines the solution against the original rows.
//   - The result is computed from the factorisation, not from the sequence of steps.
package activeset
