//go:build (amd64 || arm64) && !purego

package simd

import "math"

func weights(p []float32, total []float64, w []float32, cols int, floor float32) {
	if best == purego {
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
			longWeights(p[:n], w[:n], longMax(w[:n]), floor, &total[0])
		} else {
			weightRows(p[:n], w, s.max[:r], total, cols, floor)
		}
		p, w, total = p[n:], w[n:], total[r:]
	}
}

func peak(w []float32) float32 { return longMax(w) }

func weightsFrom(p, w []float32, m float32) (total float64) {
	if best == purego {
		return weightRowFrom(p, w, m, 0)
	}
	longWeights(p, w, m, 0, &total)
	return total
}

// longWeights is weightSegment in short calls.
func longWeights(p, w []float32, m, floor float32, total *float64) {
	for i := 0; i < len(w); i += scratchTerms {
		end := min(i+scratchTerms, len(w))
		weightSegment(p[i:end], w[i:end], m, floor, total)
	}
}

// longMax is rowMax.
func longMax(w []float32) float32 {
	if best == purego {
		return rowMax(w)
	}
	inf := float32(math.Inf(-1))
	m := inf
	for len(w) > 0 {
		n := min(len(w), runTerms)
		if v := maxSegment(w[:n]); v > m {
			m = v
		}
		w = w[n:]
	}
	if m == inf {
		return 0
	}
	return m + 0
}

// longTotal returns the maximum and the total of one long row; p is scratch.
func longTotal(p *[scratchTerms]float32, w []float32) (m float32, total float64) {
	m = longMax(w)
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

func logSumExp(dst []float64, w []float32, cols int) {
	if best == purego {
		refLogSumExp(dst, w, cols)
		return
	}
	eachRow(w, cols, func(r int, m float32, total float64) { dst[r] = float64(m) + Log(total) })
}

func logSoftmax(dst, w []float32, cols int) {
	if best == purego {
		refLogSoftmax(dst, w, cols)
		return
	}
	eachRow(w, cols, func(r int, m float32, total float64) {
		l := float32(Log(total))
		from, to := w[r*cols:(r+1)*cols], dst[r*cols:(r+1)*cols]
		for len(to) > 0 {
			n := min(len(to), runTerms)
			shiftRow(to[:n], from, m, l)
			from, to = from[n:], to[n:]
		}
	})
}

func softmax(dst, w []float32, cols int) {
	if best == purego {
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

func softmaxRows(dst, w []float32, cols int) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	for len(dst) > 0 {
		r := perCall(len(dst)/cols, cols)
		n := r * cols
		if n <= scratchTerms { // a row is not read where the end of one has just been stored
			weightRows(s.p[:n], w, s.max[:r], s.z[:], cols, 0)
			scaleRows(dst[:n], s.p[:n], s.z[:r], cols)
		} else {
			weights(dst[:n], s.z[:1], w[:n], cols, 0)
			for i := 0; i < n; i += runTerms {
				part := dst[i:min(i+runTerms, n)]
				scaleRows(part, part, s.z[:1], len(part))
			}
		}
		dst, w = dst[n:], w[n:]
	}
}

const (
	pickTerms   = 1 << 19 // one call: 0.05 ns a term
	segmentEnds = 256     // segments of a long row: 2²⁰ terms
)

func pick(p []float32, target float64) int {
	if best != purego && len(p) > 0 && len(p) <= pickTerms {
		if l := pickRow(p, target, 0); l >= 0 {
			return l
		}
	}
	return refPick(p, target)
}

func categorical(idx []int32, w []float32, cols int, u []float64) {
	if best == purego || cols > segmentEnds*scratchTerms {
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

// longCategorical draws from one long row: it keeps the partial sums at the ends
// of segments and computes the weights of one segment again.
func longCategorical(p *[scratchTerms]float32, w []float32, u float64) int32 {
	var ends [segmentEnds]float64
	m := longMax(w)
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
			if l := pickRow(p[:len(row)], target, before); l >= 0 {
				return int32(s*scratchTerms + l)
			}
			break
		}
		before = end
	}
	return int32(categoricalRow(w, u))
}

//go:noinline
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
