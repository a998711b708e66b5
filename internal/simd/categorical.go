package simd

import (
	"math"
)

// Pick returns the index that the number u in [0, 1) selects from the weights p ≥ 0 by inverse CDF.
// This is the smallest l with
//
//	Σ_{k≤l} p_k > u·total,
//
// where total must be the sum that [Weights] has computed. Pick never returns an index of weight 0.
// It returns −1 if total is 0 or NaN.
//
// Sums are float64, in an order that is part of the definition. Blocks of 128 weights are summed in
// 16 lanes (see the package documentation), and the sums of the blocks are added in order. The
// block in which the sum crosses u·total is summed again in groups of 16. The group in which it
// crosses is summed weight by weight. If rounding prevents a crossing, Pick takes the last group or
// index of positive weight.
func Pick(p []float32, total, u float64) int {
	if !(total > 0) {
		return -1
	}
	return pick(p, float64(u*total))
}

// Categorical draws one index per row of the log-weights w, which have cols columns. In idx[r] it
// stores the index that [Pick] selects with the number u[r] from the [Weights] of row r. It stores
// −1 if the row has no positive weight, or has a NaN or +Inf. It panics unless cols ≥ 1, len(w) =
// len(idx)·cols and len(u) = len(idx).
func Categorical(idx []int32, w []float32, cols int, u []float64) {
	checkRows(w, cols)
	checkLen("idx", len(idx), len(w)/cols)
	checkLen("u", len(u), len(idx))
	if best < pickRowsLevel || cols > segmentEnds*scratchTerms {
		refCategorical(idx, w, cols, u)
		return
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	if cols > scratchTerms {
		for r := range idx {
			idx[r] = longCategorical(&s.p, w[r*cols:(r+1)*cols], u[r])
		}
		return
	}
	for len(idx) > 0 {
		r := perCall(len(idx), cols)
		n := r * cols
		weightRows(s.p[:n], w, s.max[:r], s.z[:], cols, 0)
		pickRows(idx[:r], s.p[:n], s.z[:r], u, cols)
		idx, w, u = idx[r:], w[n:], u[r:]
	}
}

// ArgMax stores in idx[r] the index of the largest entry in row r of w. If several entries are
// equally large, it stores the smallest of their indices. It stores −1 if the row has a NaN or no
// entry above −Inf. It panics unless cols ≥ 1 and len(w) = len(idx)·cols.
func ArgMax(idx []int32, w []float32, cols int) {
	checkRows(w, cols)
	checkLen("idx", len(idx), len(w)/cols)
	if best < argMaxRowsLevel || cols > argMaxTerms {
		refArgMax(idx, w, cols)
		return
	}
	for len(idx) > 0 {
		r := min(len(idx), max(runTerms/cols, 1))
		argMaxRowsRun(idx[:r], w, cols)
		idx, w = idx[r:], w[r*cols:]
	}
}

func refPick(p []float32, target float64) int {
	before := 0.0
	for i := 0; i < len(p); i += blockTerms {
		block := p[i:min(i+blockTerms, len(p))]
		c := before + blockSum(block)
		if c > target {
			return i + pickBlock(block, target-before)
		}
		before = c
	}
	return lastPositive(p)
}

// pickBlock computes Pick within a block of up to 128 weights.
func pickBlock(p []float32, target float64) int {
	before := 0.0
	last, rest := 0, 0.0
	for i := 0; i < len(p); i += lanes {
		s := blockSum(p[i:min(i+lanes, len(p))])
		if s > 0 {
			last, rest = i, target-before
		}
		before += s
		if before > target {
			break
		}
	}
	return last + pickGroup(p[last:min(last+lanes, len(p))], rest)
}

// pickGroup computes Pick within a group of up to 16 weights.
func pickGroup(p []float32, target float64) int {
	s := 0.0
	for i, v := range p {
		s += float64(v)
		if s > target {
			return i
		}
	}
	return lastPositive(p)
}

func lastPositive(p []float32) int {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] > 0 {
			return i
		}
	}
	return -1
}

func refCategorical(idx []int32, w []float32, cols int, u []float64) {
	for r := range idx {
		idx[r] = int32(categoricalRow(w[r*cols:(r+1)*cols], u[r]))
	}
}

// categoricalRow draws from one row and stores the weights of one block at a time. It sums all
// blocks and then computes the weights again, up to the block that contains the drawn index.
func categoricalRow(w []float32, u float64) int {
	var p [blockTerms]float32
	m := rowMax(w)
	total := 0.0
	for i := 0; i < len(w); i += blockTerms {
		block := w[i:min(i+blockTerms, len(w))]
		weightBlock(p[:len(block)], block, m, 0)
		total += blockSum(p[:len(block)])
	}
	if !(total > 0) {
		return -1
	}
	target := float64(u * total)
	before, last := 0.0, -1
	for i := 0; i < len(w); i += blockTerms {
		block := w[i:min(i+blockTerms, len(w))]
		weightBlock(p[:len(block)], block, m, 0)
		c := before + blockSum(p[:len(block)])
		if c > target {
			return i + pickBlock(p[:len(block)], target-before)
		}
		if l := lastPositive(p[:len(block)]); l >= 0 {
			last = i + l
		}
		before = c
	}
	return last
}

func refArgMax(idx []int32, w []float32, cols int) {
	for r := range idx {
		best, at := float32(math.Inf(-1)), int32(-1)
		for j, v := range w[r*cols : (r+1)*cols] {
			if v != v {
				at = -1
				break
			}
			if v > best {
				best, at = v, int32(j)
			}
		}
		idx[r] = at
	}
}

const (
	pickTerms = 1 << 19 // largest number of weights that one call processes, at 0.05 ns each
	// Largest number of segments of a long row; together they hold 2²⁰ weights.
	segmentEnds = 256
)

func pick(p []float32, target float64) int {
	if best >= pickRowLevel && len(p) > 0 && len(p) <= pickTerms {
		if l := pickRowRun(p, target, 0); l >= 0 {
			return l
		}
	}
	return refPick(p, target)
}

// longCategorical draws from one long row. It stores the partial sums at the ends of segments and
// computes the weights of one segment again.
func longCategorical(p *[scratchTerms]float32, w []float32, u float64) int32 {
	var ends [segmentEnds]float64
	m := Peak(w)
	total, segments := 0.0, 0
	for i := 0; i < len(w); i += scratchTerms {
		n := min(scratchTerms, len(w)-i)
		weightSegment(p[:n], w[i:i+n], m, 0, &total)
		ends[segments] = total
		segments++
	}
	if !(total > 0) {
		return -1
	}
	target, before := float64(u*total), 0.0
	for s, end := range ends[:segments] {
		if end > target {
			row := w[s*scratchTerms : min((s+1)*scratchTerms, len(w))]
			var ignored float64
			weightSegment(p[:len(row)], row, m, 0, &ignored)
			if l := pickRowRun(p[:len(row)], target, before); l >= 0 {
				return int32(s*scratchTerms + l)
			}
			break
		}
		before = end
	}
	return int32(categoricalRow(w, u))
}

// pickRows draws from rows of weights that are short enough for one call each.
func pickRows(idx []int32, p []float32, total, u []float64, cols int) {
	pickRowsRun(idx, p, total, u, cols)
	for r, l := range idx {
		if l == -2 {
			idx[r] = -1
			if total[r] > 0 {
				idx[r] = int32(pick(p[r*cols:(r+1)*cols], float64(u[r]*total[r])))
			}
		}
	}
}

// pickEights calls pickEightsRun with groups of eight rows and pickRowsRun with the rest.
func pickEights(idx []int32, p []float32, total, u []float64, cols int) {
	n := len(idx) &^ 7
	pickEightsRun(idx[:n], p, total, u, cols)
	if n < len(idx) {
		pickRowsRun(idx[n:], p[n*cols:], total[n:], u[n:], cols)
	}
}

// argMaxTerms is the largest number of entries in one call, at 0.1 ns each.
const argMaxTerms = 1 << 18
