package trellis

import (
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// classSums stores the sums over classes of site t, in the way of r.method,
// and the list of columns whose sum is not zero.
func (r *Runner) classSums(t int) error {
	l := r.g.layers[t]
	s := r.sums(t)
	var err error
	switch {
	case r.method == logarithm && l.wide():
		r.wideLogs(t, l, s)
	case r.method == logarithm:
		err = r.logSums(t, l, s)
	case l.wide():
		err = r.wideSums(t, l, s)
	default:
		err = r.doubleSums(t, l, s)
		r.deep[t] = r.sinks(t, l, s)
	}
	if err != nil {
		return err
	}
	cols, n, zero := r.cols[r.sumAt[t]:r.sumAt[t+1]], 0, r.zero()
	for k, w := range s {
		cols[n] = int32(k)
		if w > zero {
			n++
		}
	}
	r.colN[t] = n
	return nil
}

// sinks reports whether the sum of some class is below lowestSum although one of
// its tokens has weight.
func (r *Runner) sinks(t int, l *layer, s []float64) bool {
	row := r.v[t*r.g.levels : (t+1)*r.g.levels]
	for k, w := range s {
		if w < lowestSum && slices.ContainsFunc(l.class(k), func(v int32) bool { return !math.IsInf(float64(row[v]), -1) }) {
			return true
		}
	}
	return false
}

// greatest returns the greatest weight of the tokens, which must not be NaN or
// +Inf.
func (r *Runner) greatest(t int, tokens []int32) (float64, error) {
	row := r.v[t*r.g.levels : (t+1)*r.g.levels]
	m := float32(math.Inf(-1))
	for _, v := range tokens {
		w := row[v]
		if w > m {
			m = w
		} else if w != w {
			return 0, &algebra.WeightError{Site: t, Level: int(v), Weight: float64(w)}
		}
	}
	if math.IsInf(float64(m), 1) {
		return 0, r.infinite(t, tokens)
	}
	return float64(m), nil
}

// doubleSums stores Σ exp(w − shift) of every class in float64, and the terms
// where a draw will want them.
func (r *Runner) doubleSums(t int, l *layer, s []float64) error {
	m, err := r.greatest(t, l.tokens)
	if err != nil {
		return err
	}
	row := r.v[t*r.g.levels : (t+1)*r.g.levels]
	r.shift[t] = m
	if math.IsInf(m, -1) {
		clear(s)
		r.total[t] = m
		return nil
	}
	if terms := r.terms(t); terms != nil {
		for i, v := range l.tokens {
			terms[i] = simd.Exp(float64(row[v]) - m)
		}
		r.total[t] = simd.Log(l.sumTerms(s, terms))
		return nil
	}
	total := 0.0
	for k := range s {
		sum := 0.0
		for _, v := range l.class(k) {
			sum += simd.Exp(float64(row[v]) - m)
		}
		s[k] = sum
		total += sum
	}
	r.total[t] = simd.Log(total)
	return nil
}

// terms returns where the terms of the class sums of site t are kept, by
// token as in the layer; nil where there are too many.
func (r *Runner) terms(t int) []float64 {
	if r.termAt[t+1] == r.termAt[t] {
		return nil
	}
	return r.term[r.termAt[t]:r.termAt[t+1]]
}

// logSums stores the logs of the class sums, each shifted by its own greatest
// weight, and no common shift.
func (r *Runner) logSums(t int, l *layer, s []float64) error {
	row := r.v[t*r.g.levels : (t+1)*r.g.levels]
	for k := range s {
		tokens := l.class(k)
		m, err := r.greatest(t, tokens)
		if err != nil {
			return err
		}
		s[k] = m
		if len(tokens) == 1 || math.IsInf(m, -1) {
			continue
		}
		sum := 0.0
		for _, v := range tokens {
			sum += simd.Exp(float64(row[v]) - m)
		}
		s[k] += simd.Log(sum)
	}
	return nil
}

// The class sums of wideSums. An exponential below exp(logTiny32) is lost by the
// float32 kernels; a class is summed with a shift of its own where what may be
// lost is not below exp(−margin32) of its sum. Below exp(logDeep) of the
// greatest weight a class sum is no number for linear any more.
const (
	logTiny32 = -87.4
	margin32  = 20
	logDeep   = -690
)

// wideSums is doubleSums with exponentials in float32, relative error about
// 1e-7. The row is shifted by its greatest weight if the automaton can use half
// of the tokens, and otherwise by the greatest of those it can use; classes of which
// the kernel may have lost too much are shifted by their own. A row that is what it
// was at the last Filter costs a comparison, and one with a single token little
// more.
func (r *Runner) wideSums(t int, l *layer, s []float64) error {
	if r.given != nil && r.given[t] >= 0 {
		r.fresh[t], r.deep[t] = false, false
		r.only(t, l, s, r.given[t], 0)
		return nil
	}
	row, keep := r.v[t*r.g.levels:(t+1)*r.g.levels], false
	if r.kept != nil {
		kept := r.kept[t*r.g.levels : (t+1)*r.g.levels]
		if r.fresh[t] {
			if simd.Same(kept, row) {
				r.wait[t] = 0
				return nil
			}
			r.wait[t] = min(2*r.wait[t]+1, keptWait)
			r.rest[t] = r.wait[t]
		}
		r.fresh[t] = false
		if keep = r.rest[t] == 0; keep {
			copy(kept, row)
		} else {
			r.rest[t]--
		}
	}
	r.lone[t], r.deep[t] = none, false
	if v := loneToken(row); v != none && r.g.usable(l, v) {
		r.only(t, l, s, v, float64(row[v]))
	} else if err := r.singleSums(t, l, s, row); err != nil {
		return err
	}
	r.fresh[t] = keep
	return nil
}

// only stores the sums of a row whose only token is v, of weight w.
func (r *Runner) only(t int, l *layer, s []float64, v int32, w float64) {
	clear(s)
	r.shift[t], r.total[t], r.lone[t] = w, math.Inf(-1), none
	if r.g.usable(l, v) {
		s[l.column[r.g.classes[v]]] = 1
		r.total[t], r.lone[t] = 0, v
	}
}

// loneToken returns the only token of the row with a weight above −Inf, none if
// there are others.
func loneToken(row []float32) int32 {
	never := float32(math.Inf(-1))
	n := len(row)
	if n > 3 && (row[0] != never && row[n-1] != never || row[n/2] != never && row[n/3] != never) {
		return none // quick for most rows that have others
	}
	var at [1]int32
	simd.ArgMax(at[:], row, n)
	m := int(at[0])
	if m < 0 || math.IsInf(float64(row[m]), 1) {
		return none
	}
	for _, rest := range [2][]float32{row[:m], row[m+1:]} {
		if len(rest) == 0 {
			continue
		}
		if simd.ArgMax(at[:], rest, len(rest)); at[0] >= 0 {
			return none
		}
	}
	return int32(m)
}

// singleSums takes the sums of a row with several tokens.
func (r *Runner) singleSums(t int, l *layer, s []float64, row []float32) error {
	var total [1]float64
	if 2*len(l.tokens) < len(row) {
		// The listed ones alone.
	} else if l.marks != nil {
		if r.gatherMarked(t, l, s, row) {
			r.settle(t, l, s, row)
			return nil
		}
	} else if top := simd.Peak(row); !math.IsInf(float64(top), 1) {
		p := r.prob[:len(row)]
		if simd.WeightsFrom(p, row, top) > 0 {
			r.shift[t] = float64(top)
			r.gather(t, l, s, p)
			r.settle(t, l, s, row)
			return nil
		}
	}
	m := gatherRow(r.row[:len(l.tokens)], row, l.tokens)
	r.shift[t] = float64(m)
	simd.Weights(r.prob[:len(l.tokens)], total[:], r.row[:len(l.tokens)], len(l.tokens), 0)
	if math.IsInf(float64(m), 1) || math.IsNaN(total[0]) {
		return r.infinite(t, l.tokens)
	}
	if total[0] == 0 {
		clear(s)
		r.total[t] = math.Inf(-1)
		return nil
	}
	for k, end := range l.end {
		s[k] = r.blockSums(t, l, k, r.prob[l.begin(int32(k)):end])
	}
	r.settle(t, l, s, row)
	return nil
}

// gatherRow stores the weights of tokens in w and returns the greatest.
func gatherRow(w, row []float32, tokens []int32) float32 {
	m := float32(math.Inf(-1))
	for i, v := range tokens {
		x := row[v]
		w[i] = x
		if x > m {
			m = x
		}
	}
	return m
}

// blocks returns where the sums of the blocks of column k at site t are kept.
func (r *Runner) blocks(t int, l *layer, k int) []float64 {
	o := r.blockAt[t]
	return r.block[o+int(l.block[k]) : o+int(l.block[k+1])]
}

// gather sums the weights p of all levels by class, block by block: listed ones in
// four partial sums each.
func (r *Runner) gather(t int, l *layer, s []float64, p []float32) {
	for k := range s {
		tokens := l.class(k)
		s[k] = 0
		for b := range r.blocks(t, l, k) {
			part := tokens[b*blockTokens : min((b+1)*blockTokens, len(tokens))]
			sum := 0.0
			{
				var a, b, c, d float64
				for len(part) >= 4 {
					a += float64(p[part[0]])
					b += float64(p[part[1]])
					c += float64(p[part[2]])
					d += float64(p[part[3]])
					part = part[4:]
				}
				for _, v := range part {
					a += float64(p[v])
				}
				sum = (a + b) + (c + d)
			}
			r.blocks(t, l, k)[b] = sum
			s[k] += sum
		}
	}
}

// gatherMarked is [Runner.gather] where columns are marked, from the row itself: a
// block is exponentiated with a shift of its own and summed while it is in the first
// cache, and brought to the shift of the site, the greatest of the blocks', at the end.
// It is false if there is a NaN, +Inf or no weight.
func (r *Runner) gatherMarked(t int, l *layer, s []float64, row []float32) bool {
	const groups = blockTokens / groupLevels
	shift := math.Inf(-1)
	for b, from := 0, 0; from < len(row); b, from = b+1, from+blockTokens {
		part := row[from:min(from+blockTokens, len(row))]
		first, to := b*groups, min((b+1)*groups, len(l.marks[0]))
		p, top := r.prob[:len(part)], simd.Peak(part)
		all := 0.0
		for k := 0; k < len(l.marks); k += 2 {
			other := min(k+1, len(l.marks)-1)
			sums := simd.WeightsMarked(p, part, top, [2][]uint16{l.marks[k][first:to], l.marks[other][first:to]})
			r.blocks(t, l, k)[b], r.blocks(t, l, other)[b] = sums[0], sums[1]
			all += sums[0] + sums[1]
		}
		switch {
		case math.IsNaN(all):
			return false
		case all > 0 || top != 0 || slices.Contains(part, 0): // of tokens without a class, too
			r.tops[b] = float64(top)
		default:
			r.tops[b] = math.Inf(-1)
		}
		shift = max(shift, r.tops[b])
	}
	if math.IsInf(shift, 0) {
		return false
	}
	r.shift[t] = shift
	clear(s)
	for b := range (len(row) + blockTokens - 1) / blockTokens {
		scale := 1.0
		if r.tops[b] < shift {
			scale = simd.Exp(r.tops[b] - shift)
		}
		for k := range l.marks {
			sums := r.blocks(t, l, k)
			sums[b] = float64(sums[b] * scale)
			s[k] += sums[b]
		}
	}
	return true
}

// blockSums stores the sums of the blocks of column k, whose weights are p, and
// returns their sum.
func (r *Runner) blockSums(t int, l *layer, k int, p []float32) (sum float64) {
	blocks, begin := r.blocks(t, l, k), l.begin(int32(k))
	for b := range blocks {
		from, to := l.part(int32(k), b)
		blocks[b] = simd.Sum(p[from-begin : to-begin])
		sum += blocks[b]
	}
	return sum
}

// settle sums the classes again that are so much smaller than the greatest
// weight that the kernel may have lost part of them, each shifted by its own
// greatest weight, and stores the total.
func (r *Runner) settle(t int, l *layer, s []float64, row []float32) {
	all := 0.0
	for k := range s {
		if s[k] < float64(float64(len(l.class(k)))*lossy) {
			sum, m := r.ownSum(t, l, k, row)
			s[k] = 0
			if sum > 0 {
				s[k] = float64(sum * simd.Exp(m-r.shift[t]))
				r.deep[t] = r.deep[t] || m-r.shift[t] < logDeep
			}
		}
		all += s[k]
	}
	r.total[t] = simd.Log(all)
}

// lossy is exp(logTiny32+margin32), rounded up.
const lossy = 5.4e-30

// ownSum returns the sum of column k shifted by its greatest weight m, 0 if that
// is −Inf.
func (r *Runner) ownSum(t int, l *layer, k int, row []float32) (sum, m float64) {
	tokens := l.class(k)
	w := r.row[:len(tokens)]
	m = float64(gatherRow(w, row, tokens))
	if math.IsInf(m, -1) {
		return 0, m
	}
	var total [1]float64
	simd.Weights(w, total[:], w, len(w), 0)
	return r.blockSums(t, l, k, w), m
}

// wideLogs stores the logs of the class sums of wideSums in s.
func (r *Runner) wideLogs(t int, l *layer, s []float64) {
	row := r.v[t*r.g.levels : (t+1)*r.g.levels]
	for k, w := range r.sum[r.sumAt[t]:r.sumAt[t+1]] {
		s[k] = math.Inf(-1)
		if w >= lowestSum {
			s[k] = r.shift[t] + simd.Log(w)
		} else if r.deep[t] {
			if sum, m := r.ownSum(t, l, k, row); sum > 0 {
				s[k] = m + simd.Log(sum)
			}
		}
	}
}
