package trellis

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// wideTokens is the number of tokens of a site from which class sums are taken
// in float32: below it a vector kernel gains less than the accuracy is worth
// (BenchmarkFilter).
const wideTokens = 256

// wide reports whether class sums of l may be taken in float32: there must be
// much to sum, or there is nothing to gain.
func (l *layer) wide() bool {
	return len(l.tokens) >= wideTokens && len(l.tokens) >= 2*len(l.live)
}

// classSums stores the sums over classes of site t, in the way of r.method,
// and the list of columns whose sum is not zero.
func (r *Runner) classSums(t int) error {
	l := r.g.layers[t]
	s := r.sums(t)
	var err error
	switch {
	case r.method == single && l.wide():
		err = r.singleSums(t, l, s)
	case r.method == logarithm:
		err = r.logSums(t, l, s)
	default:
		err = r.doubleSums(t, l, s)
	}
	if err != nil {
		return err
	}
	zero := 0.0
	if r.method == logarithm {
		zero = math.Inf(-1)
	}
	cols, n := r.cols[r.sumAt[t]:r.sumAt[t+1]], 0
	for k, w := range s {
		cols[n] = int32(k)
		if w > zero {
			n++
		}
	}
	r.colN[t] = n
	return nil
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
			return 0, &WeightError{Site: t, Level: int(v), Weight: float64(w)}
		}
	}
	if math.IsInf(float64(m), 1) {
		return 0, r.infinite(t, tokens)
	}
	return float64(m), nil
}

// infinite returns the error for the first token of weight +Inf or NaN.
func (r *Runner) infinite(t int, tokens []int32) error {
	for _, v := range tokens {
		if w := float64(r.v[t*r.g.levels+int(v)]); math.IsNaN(w) || math.IsInf(w, 1) {
			return &WeightError{Site: t, Level: int(v), Weight: w}
		}
	}
	return nil
}

// doubleSums stores Σ exp(w − shift) of every class in float64.
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
	total, from := 0.0, int32(0)
	for k, end := range l.end {
		sum := 0.0
		for _, v := range l.tokens[from:end] {
			sum += exp(float64(row[v]) - m)
		}
		s[k] = sum
		total += sum
		from = end
	}
	r.total[t] = log(total)
	return nil
}

// singleSums is doubleSums with exponentials in float32 and each class summed
// in the order of the vector kernel.
func (r *Runner) singleSums(t int, l *layer, s []float64) error {
	row := r.v[t*r.g.levels : (t+1)*r.g.levels]
	w, p := r.row[:len(l.tokens)], r.prob[:len(l.tokens)]
	m := float32(math.Inf(-1))
	for i, v := range l.tokens {
		x := row[v]
		w[i] = x
		if x > m {
			m = x
		}
	}
	r.shift[t] = float64(m)
	var total [1]float64
	simd.Weights(p, total[:], w, len(w), 0)
	if math.IsInf(float64(m), 1) || math.IsNaN(total[0]) {
		return r.infinite(t, l.tokens)
	}
	if total[0] == 0 {
		clear(s)
		r.total[t] = math.Inf(-1)
		return nil
	}
	from := int32(0)
	for k, end := range l.end {
		s[k] = simd.Sum(p[from:end])
		from = end
	}
	r.total[t] = log(total[0])
	return nil
}

// logSums stores the logs of the class sums, each shifted by its own greatest
// weight, and no common shift.
func (r *Runner) logSums(t int, l *layer, s []float64) error {
	row := r.v[t*r.g.levels : (t+1)*r.g.levels]
	r.shift[t] = 0
	from := int32(0)
	for k, end := range l.end {
		tokens := l.tokens[from:end]
		from = end
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
			sum += exp(float64(row[v]) - m)
		}
		s[k] += log(sum)
	}
	return nil
}
