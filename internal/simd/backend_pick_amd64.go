//go:build amd64 && !purego

package simd

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

//go:noinline
func pickRow(p []float32, target, before float64) int {
	if best == avx512 {
		return pickRowAVX512(&p[0], len(p), target, before)
	}
	return pickRowAVX2(&p[0], len(p), target, before)
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

//go:noinline
func pickRows(idx []int32, p []float32, total, u []float64, cols int) {
	n := 0
	if cols == 2 {
		n = pickPairs(idx, p, total, u)
	}
	if n == len(idx) {
		// All were pairs.
	} else if best == avx512 {
		pickRowsAVX512(&idx[n], &p[n*cols], &total[n], &u[n], len(idx)-n, cols)
	} else {
		pickRowsAVX2(&idx[n], &p[n*cols], &total[n], &u[n], len(idx)-n, cols)
	}
	for r, l := range idx {
		if l == -2 {
			idx[r] = int32(Pick(p[r*cols:(r+1)*cols], total[r], u[r]))
		}
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
