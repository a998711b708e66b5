package simd

// Weights turns rows of float32 log-weights into weights relative to the largest,
//
//	p[i] = e^(w[i]−m), m the maximum of the row,
//
// in float32 with an error below 2.5 ulp (beside the rounding of w[i]−m), and
// stores the sum of each row in total. Where w[i] is −Inf, p[i] is exactly 0;
// elsewhere p[i] is raised to floor, which must be ≥ 0; below the cut-off
// −87.3 a weight without floor is 0 too. A row of −Inf alone has total 0; a row
// with a NaN or +Inf has total NaN. The total is a float64 sum; see [Pick] for
// its order.
//
// p may be w. It panics unless cols ≥ 1, len(w) = len(total)·cols and
// len(p) = len(w).
func Weights(p []float32, total []float64, w []float32, cols int, floor float32) {
	checkRows(w, cols)
	checkLen("p", len(p), len(w))
	checkLen("total", len(total), len(w)/cols)
	weights(p, total, w, cols, floor)
}

// Peak returns the maximum of w, NaN aside: +0 rather than −0, and 0 if nothing
// exceeds −Inf.
func Peak(w []float32) float32 { return peak(w) }

// WeightsFrom is [Weights] of one row whose [Peak] is m, without floor. It panics
// unless len(p) = len(w).
func WeightsFrom(p, w []float32, m float32) (total float64) {
	checkLen("p", len(p), len(w))
	return weightsFrom(p, w, m)
}

// Pick inverts the cumulative sum of a row of weights p ≥ 0 at u·total, for u in
// [0, 1): it returns the smallest l with
//
//	Σ_{k≤l} p_k > u·total.
//
// An index of weight 0 is never returned; −1 if total is 0 or NaN. total is
// that of [Weights].
//
// All sums are float64, in an order that is part of the definition: the row is
// cut into blocks of 128, each summed in 16 lanes, the blocks added in order,
// and their last partial sum is the total; within the block that crosses
// u·total, groups of 16 are summed by the same halving and added in order;
// within the group, weight after weight. Where these orders disagree by
// rounding (one part in 10¹⁵), the last group or index of positive weight is
// taken.
func Pick(p []float32, total, u float64) int {
	if !(total > 0) {
		return -1
	}
	return pick(p, float64(u*total))
}

// Categorical draws one index per row from rows of log-weights: idx[r] is
// [Pick] of the [Weights] (floor 0) of row r at u[r]; −1 where the row has no
// weight or a NaN. It panics unless cols ≥ 1, len(w) = len(idx)·cols and
// len(u) = len(idx).
func Categorical(idx []int32, w []float32, cols int, u []float64) {
	checkRows(w, cols)
	checkLen("idx", len(idx), len(w)/cols)
	checkLen("u", len(u), len(idx))
	categorical(idx, w, cols, u)
}
