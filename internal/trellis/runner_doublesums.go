package trellis

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// sinks reports whether the sum of some class is below lowestSum although one of
// its tokens has weight.
func (r *Runner) sinks(t int, l *layer, s []float64) bool {
	row := r.v[t*r.g.levels : (t+1)*r.g.levels]
	from := int32(0)
	for k, end := range l.end {
		if s[k] < lowestSum {
			for _, v := range l.tokens[from:end] {
				if !math.IsInf(float64(row[v]), -1) {
					return true
				}
			}
		}
		from = end
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
	total, from := 0.0, int32(0)
	for k, end := range l.end {
		sum := 0.0
		for _, v := range l.tokens[from:end] {
			sum += simd.Exp(float64(row[v]) - m)
		}
		s[k] = sum
		total += sum
		from = end
	}
	r.total[t] = simd.Log(total)
	return nil
}

// sumTerms stores the sums of terms over classes in s and returns their sum.
func (l *layer) sumTerms(s, terms []float64) (total float64) {
	if len(s) == len(terms) { // every class is one token
		copy(s, terms)
		for _, p := range s {
			total += p
		}
		return total
	}
	from := int32(0)
	for k, end := range l.end {
		sum := 0.0
		for _, p := range terms[from:end] {
			sum += p
		}
		s[k] = sum
		total += sum
		from = end
	}
	return total
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
			sum += simd.Exp(float64(row[v]) - m)
		}
		s[k] += simd.Log(sum)
	}
	return nil
}
