package simd

import (
	"math"
	"sync"
)

// Weights turns each row of w, which has cols log-weights, into weights relative to the largest,
//
//	p[i] = e^(w[i]−m), where m is the maximum of the row,
//
// in float32. The error is below 2.5 ulp, not counting the rounding of w[i]−m. Weights stores the
// sum of each row in total, in float64 and in the order described at [Pick]. If w[i] is −Inf, p[i]
// is exactly 0. Any other p[i] is the larger of e^(w[i]−m) and the argument bound. With bound = 0,
// p[i] is also 0 if w[i]−m is below −87.3. The total is 0 for a row that has only −Inf, and NaN for a
// row with a NaN or +Inf.
//
// The slice p may be w. Weights panics unless cols ≥ 1, len(w) = len(total)·cols and len(p) =
// len(w).
func Weights(p []float32, total []float64, w []float32, cols int, bound float32) {
	checkRows(w, cols)
	checkLen("p", len(p), len(w))
	checkLen("total", len(total), len(w)/cols)
	weights(p, total, w, cols, bound)
}

// Peak returns the maximum of w, ignoring NaNs. It returns +0 rather than −0, and 0 if no entry
// exceeds −Inf.
func Peak(w []float32) float32 {
	if best < maxSegmentLevel {
		return rowMax(w)
	}
	inf := float32(math.Inf(-1))
	m := inf
	for len(w) > 0 {
		n := min(len(w), runTerms)
		if v := maxSegmentRun(w[:n]); v > m {
			m = v
		}
		w = w[n:]
	}
	if m == inf {
		return 0
	}
	return m + 0
}

// WeightsFrom does the work of [Weights] for a single row with bound = 0, given m, the [Peak] of
// the row. It returns the total. It panics unless len(p) = len(w).
func WeightsFrom(p, w []float32, m float32) (total float64) {
	checkLen("p", len(p), len(w))
	if best < maxSegmentLevel {
		return weightRowFrom(p, w, m, 0)
	}
	longWeights(p, w, m, 0, &total)
	return total
}

// LogSumExp stores in dst[r] the logarithm of Σ_i e^(w[r,i]) for each row r of w, which has cols
// log-weights. It is computed as the maximum of the row plus the logarithm of the total of
// [Weights]. The result is −Inf for a row of −Inf, and NaN for a row with NaN or +Inf. Because
// weights are float32, the error is up to 2e−7, not counting the rounding of w minus the maximum.
// LogSumExp panics unless cols ≥ 1 and len(w) = len(dst)·cols.
func LogSumExp(dst []float64, w []float32, cols int) {
	checkRows(w, cols)
	checkLen("dst", len(dst), len(w)/cols)
	if best < maxSegmentLevel {
		refLogSumExp(dst, w, cols)
		return
	}
	eachRow(w, cols, func(r int, m float32, total float64) { dst[r] = float64(m) + Log(total) })
}

// Softmax stores the probabilities of each row of w, which has cols log-weights,
//
//	dst[i] = e^(w[i]) / Σ_j e^(w[j]), summed over the row.
//
// It computes float32 weights as [Weights] does with bound = 0, and multiplies them by the rounded
// reciprocal of the row's total. The error is below 4 ulp, not counting the rounding of w minus the
// maximum. Probabilities below 2⁻¹²⁵ are exactly 0. A row becomes NaN if it has no positive weight,
// or has a NaN or +Inf.
//
// The slice dst may be w. Softmax panics unless cols ≥ 1, len(w) is a multiple of cols and len(dst)
// = len(w).
func Softmax(dst, w []float32, cols int) {
	checkRows(w, cols)
	checkLen("dst", len(dst), len(w))
	softmax(dst, w, cols)
}

// LogSoftmax stores the log-probabilities of each row of w, which has cols log-weights, computed in
// float32 as
//
//	dst[i] = (w[i] − m) − log Z,
//
// where m is the maximum of the row and Z the total of its [Weights]; log Z is rounded to float32.
// The result is −Inf where w[i] is −Inf. If all log-weights of a row are −Inf, or one is NaN or +Inf,
// the whole row becomes NaN.
//
// The slice dst may be w. LogSoftmax panics unless cols ≥ 1, len(w) is a multiple of cols and
// len(dst) = len(w).
func LogSoftmax(dst, w []float32, cols int) {
	checkRows(w, cols)
	checkLen("dst", len(dst), len(w))
	if best < shiftRowLevel {
		refLogSoftmax(dst, w, cols)
		return
	}
	eachRow(w, cols, func(r int, m float32, total float64) {
		l := float32(Log(total))
		from, to := w[r*cols:(r+1)*cols], dst[r*cols:(r+1)*cols]
		for len(to) > 0 {
			n := min(len(to), runTerms)
			shiftRowRun(to[:n], from, m, l)
			from, to = from[n:], to[n:]
		}
	})
}

// Entropy stores the entropy in nats of the distribution of each row of w, which has cols
// log-weights,
//
//	H = log Z − Σ p_i·(w_i−m)/Z,
//
// where m is the maximum of the row, p its [Weights] and Z their total. Terms are float32, and
// their sum is float64. Terms of weight 0 are 0. The result is NaN for a row that has no positive
// weight, or has a NaN or +Inf. The error is below 1e−6·(1+H). Entropy panics unless cols ≥ 1 and
// len(w) = len(dst)·cols.
func Entropy(dst []float64, w []float32, cols int) {
	checkRows(w, cols)
	checkLen("dst", len(dst), len(w)/cols)
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	for len(dst) > 0 {
		r := perCall(len(dst), cols)
		n := r * cols
		if cols > scratchTerms {
			s.z[0], s.sum[0] = longEntropy(&s.p, w[:n])
		} else {
			weightRows(s.p[:n], w, s.max[:r], s.z[:], cols, 0)
			entropyRows(s.sum[:r], s.p[:n], w[:n], s.max[:r], cols)
		}
		for i, sum := range s.sum[:r] {
			dst[i] = Log(s.z[i]) - float64(sum/s.z[i])
		}
		dst, w = dst[r:], w[n:]
	}
}

// longEntropy returns the total of one row that is longer than the scratch p, and the sum computed
// by refEntropy.
func longEntropy(p *[scratchTerms]float32, w []float32) (total, sum float64) {
	var lane [lanes]float64
	m := Peak(w)
	for i := 0; i < len(w); i += len(p) {
		n := min(len(p), len(w)-i)
		weightSegment(p[:n], w[i:i+n], m, 0, &total)
		entropy(&lane, p[:n], w[i:i+n], m)
	}
	return total, halve(&lane)
}

const (
	// scratchTerms is the number of weights that a call stores temporarily. Longer rows are cut
	// there, at the end of a block.
	scratchTerms = 32 * blockTerms

	// runGroups and runTerms limit one call of assembly. Philox takes up to 1 ns a word with AVX2,
	// and elementwise kernels take about as much per entry.
	runGroups = 256
	runTerms  = 16384

	// scratchRows is the largest number of rows in a scratch.
	scratchRows = 2048
)

// scratch is the workspace of one call. It is pooled rather than allocated on the stack, because
// clearing it would take longer than a draw from a short row.
type scratch struct {
	p      [scratchTerms]float32
	max    [scratchRows]float32 // maximum of each row
	z, sum [scratchRows]float64 // total and lane sum of each row
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// perCall returns the number of rows of cols entries that are processed at once.
func perCall(rows, cols int) int {
	return min(rows, scratchRows, max(scratchTerms/cols, 1))
}

const (
	lanes      = 16
	blockTerms = 8 * lanes // number of terms in a block, 128; see Pick
)

func refWeights(p []float32, total []float64, w []float32, cols int, floor float32) {
	for r := range total {
		total[r] = weightRow(p[r*cols:(r+1)*cols], w[r*cols:(r+1)*cols], floor)
	}
}

// weightRow computes Weights for one row and returns the total.
func weightRow(p, w []float32, floor float32) float64 {
	return weightRowFrom(p, w, rowMax(w), floor)
}

// weightRowFrom computes Weights for one row with the maximum m and returns the total.
func weightRowFrom(p, w []float32, m, floor float32) float64 {
	total := 0.0
	for i := 0; i < len(w); i += blockTerms {
		end := min(i+blockTerms, len(w))
		weightBlock(p[i:end], w[i:end], m, floor)
		total += blockSum(p[i:end])
	}
	return total
}

func weightBlock(p, w []float32, m, floor float32) {
	inf := float32(math.Inf(-1))
	for i, v := range w {
		e := exp32(v - m)
		if floor > e && v != inf {
			e = floor
		}
		p[i] = e
	}
}

// rowMax returns the maximum of w, ignoring NaNs. It returns +0 rather than −0, and 0 if no entry
// exceeds −Inf, so that w[i] − max is NaN only if w[i] is.
func rowMax(w []float32) float32 {
	inf := float32(math.Inf(-1))
	m := inf
	for _, v := range w {
		if v > m {
			m = v
		}
	}
	if m == inf {
		return 0
	}
	return m + 0
}

// blockSum returns the sum of up to 128 terms, in 16 lanes added pairwise.
func blockSum(p []float32) float64 {
	var lane [lanes]float64
	for len(p) >= lanes {
		for j := range lane {
			lane[j] += float64(p[j])
		}
		p = p[lanes:]
	}
	for j, v := range p {
		lane[j] += float64(v)
	}
	return halve(&lane)
}

// halve returns the sum of 16 lanes of float64. It adds the upper half of the lanes to the lower
// half until one lane is left.
func halve(lane *[lanes]float64) float64 {
	for j := range 8 {
		lane[j] += lane[j+8]
	}
	for j := range 4 {
		lane[j] += lane[j+4]
	}
	return (lane[0] + lane[2]) + (lane[1] + lane[3])
}

// refWeightRows does the same as refWeights and also stores the maxima of the rows.
func refWeightRows(p, w, maxes []float32, total []float64, cols int, floor float32) {
	for r := range maxes {
		row := w[r*cols : (r+1)*cols]
		maxes[r], total[r] = rowMax(row), weightRow(p[r*cols:(r+1)*cols], row, floor)
	}
}

func refLogSumExp(dst []float64, w []float32, cols int) {
	for r := range dst {
		row := w[r*cols : (r+1)*cols]
		m := rowMax(row)
		dst[r] = float64(m) + Log(weightTotal(row, m))
	}
}

// weightTotal returns the total of the weights e^(w−m) of a row.
func weightTotal(w []float32, m float32) float64 {
	var p [blockTerms]float32
	total := 0.0
	for i := 0; i < len(w); i += blockTerms {
		block := w[i:min(i+blockTerms, len(w))]
		weightBlock(p[:len(block)], block, m, 0)
		total += blockSum(p[:len(block)])
	}
	return total
}

func refSoftmax(dst, w []float32, cols int) {
	for i := 0; i < len(w); i += cols {
		p := dst[i : i+cols]
		total := weightRow(p, w[i:i+cols], 0)
		least, scale := softmaxScale(total)
		for j, v := range p {
			if v < least {
				p[j] = 0
			} else {
				p[j] = v * scale
			}
		}
	}
}

// softmaxScale returns the factor that normalises weights, and the smallest weight that is kept.
// The product of the two is a normal number.
func softmaxScale(total float64) (least, scale float32) {
	return float32(total * 0x1p-125), float32(1 / total)
}

func refLogSoftmax(dst, w []float32, cols int) {
	for i := 0; i < len(w); i += cols {
		row := w[i : i+cols]
		m := rowMax(row)
		l := float32(Log(weightTotal(row, m)))
		for j, v := range row {
			dst[i+j] = (v - m) - l
		}
	}
}

// refWeightSegment computes the weights of a segment of a row with the maximum m. It adds their sum
// to total.
func refWeightSegment(p, w []float32, m, floor float32, total *float64) {
	for i := 0; i < len(w); i += blockTerms {
		end := min(i+blockTerms, len(w))
		weightBlock(p[i:end], w[i:end], m, floor)
		*total += blockSum(p[i:end])
	}
}

// refEntropy adds p_i·(w_i−m) to the lanes. Backends may overwrite p.
func refEntropy(lane *[lanes]float64, p, w []float32, m float32) {
	for i, pi := range p {
		if pi != 0 {
			lane[i%lanes] += float64(pi * (w[i] - m))
		}
	}
}

// refEntropyRows stores, for each row, the sum of the terms that refEntropy adds to zeroed lanes.
func refEntropyRows(sum []float64, p, w, m []float32, cols int) {
	for r := range sum {
		from, to := r*cols, (r+1)*cols
		var lane [lanes]float64
		refEntropy(&lane, p[from:to], w[from:to], m[r])
		sum[r] = halve(&lane)
	}
}

func weights(p []float32, total []float64, w []float32, cols int, floor float32) {
	if best < maxSegmentLevel {
		refWeights(p, total, w, cols, floor)
		return
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	for len(total) > 0 {
		r := perCall(len(total), cols)
		n := r * cols
		if cols > scratchTerms {
			total[0] = 0
			longWeights(p[:n], w[:n], Peak(w[:n]), floor, &total[0])
		} else {
			weightRows(p[:n], w, s.max[:r], total, cols, floor)
		}
		p, w, total = p[n:], w[n:], total[r:]
	}
}

// longWeights computes weightSegment for a long row in several short calls.
func longWeights(p, w []float32, m, floor float32, total *float64) {
	for i := 0; i < len(w); i += scratchTerms {
		end := min(i+scratchTerms, len(w))
		weightSegment(p[i:end], w[i:end], m, floor, total)
	}
}

// weightPairs computes weightRows for rows of two entries, in groups of eight rows.
func weightPairs(p, w, maxes []float32, total []float64, cols int, floor float32) {
	n := len(maxes) &^ 7
	pairRowsRun(p, w, maxes[:n], total)
	if n < len(maxes) {
		weightRows(p[2*n:], w[2*n:], maxes[n:], total[n:], cols, floor)
	}
}

// longTotal returns the maximum and the total of one long row; p is scratch.
func longTotal(p *[scratchTerms]float32, w []float32) (m float32, total float64) {
	m = Peak(w)
	for len(w) > 0 {
		n := min(len(w), scratchTerms)
		weightSegment(p[:n], w[:n], m, 0, &total)
		w = w[n:]
	}
	return m, total
}

// eachRow calls f with the index, the maximum and the total of every row.
func eachRow(w []float32, cols int, f func(r int, m float32, total float64)) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	for first, rows := 0, len(w)/cols; first < rows; {
		r := perCall(rows-first, cols)
		row := w[first*cols : (first+r)*cols]
		if cols > scratchTerms {
			s.max[0], s.z[0] = longTotal(&s.p, row)
		} else {
			weightRows(s.p[:len(row)], row, s.max[:r], s.z[:], cols, 0)
		}
		for i := range r {
			f(first+i, s.max[i], s.z[i])
		}
		first += r
	}
}

func softmax(dst, w []float32, cols int) {
	if best < scaleRowsLevel {
		refSoftmax(dst, w, cols)
		return
	}
	for cols == 2 && len(dst) > 0 {
		done, next := softmaxPairs(dst[:min(len(dst), runTerms)], w)
		softmaxRows(dst[done:next], w[done:next], cols)
		dst, w = dst[next:], w[next:]
	}
	softmaxRows(dst, w, cols)
}

// softmaxPairs computes softmax for rows of two entries, as many as fill whole registers. The
// result done is the number of entries computed. The kernel for any rows must process the entries
// between done and next, which belong to a register of rows that are not all finite, or to the last
// rows.
func softmaxPairs(dst, w []float32) (done, next int) {
	turn := softmaxTurn()
	if turn == 0 || len(dst) < turn {
		return 0, len(dst)
	}
	n := len(dst) / turn
	done = (n - softmaxPairsRun(dst, w, n)) * turn
	return done, min(done+turn, len(dst))
}

func softmaxRows(dst, w []float32, cols int) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	for len(dst) > 0 {
		r := perCall(len(dst)/cols, cols)
		n := r * cols
		// Scratch, so that no row is read where the end of the previous row has just been stored.
		if n <= scratchTerms {
			weightRows(s.p[:n], w, s.max[:r], s.z[:], cols, 0)
			scaleRowsRun(dst[:n], s.p[:n], s.z[:r], cols)
		} else {
			weights(dst[:n], s.z[:1], w[:n], cols, 0)
			for i := 0; i < n; i += runTerms {
				part := dst[i:min(i+runTerms, n)]
				scaleRowsRun(part, part, s.z[:1], len(part))
			}
		}
		dst, w = dst[n:], w[n:]
	}
}
