package trellis

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

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
			terms[i] = exp(float64(row[v]) - m)
		}
		r.total[t] = log(l.sumTerms(s, terms))
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

// singleSums is doubleSums with exponentials in float32. The row is shifted by
// its greatest weight if the automaton can use that token, and otherwise by the
// greatest of those it can use.
func (r *Runner) singleSums(t int, l *layer, s []float64) error {
	row := r.v[t*r.g.levels : (t+1)*r.g.levels]
	var top [1]int32
	simd.ArgMax(top[:], row, len(row))
	if m := top[0]; m >= 0 && 2*len(l.tokens) >= len(row) && r.g.usable(l, m) && !math.IsInf(float64(row[m]), 0) {
		var total [1]float64
		p := r.prob[:len(row)]
		simd.Weights(p, total[:], row, len(row), 0)
		if !math.IsNaN(total[0]) {
			r.shift[t] = float64(row[m])
			r.gather(t, l, s, p)
			return nil
		}
	}
	return r.gatheredSums(t, l, s, row)
}

// usable reports whether token has an edge in l.
func (g *Graph) usable(l *layer, token int32) bool {
	k := l.column[g.classes[token]]
	return k != none && l.holds(k, token)
}

// gather sums the weights p of all levels by class, in four partial sums.
func (r *Runner) gather(t int, l *layer, s []float64, p []float32) {
	all, from := 0.0, int32(0)
	for k, end := range l.end {
		tokens := l.tokens[from:end]
		from = end
		var a, b, c, d float64
		for len(tokens) >= 4 {
			a += float64(p[tokens[0]])
			b += float64(p[tokens[1]])
			c += float64(p[tokens[2]])
			d += float64(p[tokens[3]])
			tokens = tokens[4:]
		}
		for _, v := range tokens {
			a += float64(p[v])
		}
		s[k] = (a + b) + (c + d)
		all += s[k]
	}
	r.total[t] = log(all)
}

// gatheredSums collects the weights of the usable tokens first.
func (r *Runner) gatheredSums(t int, l *layer, s []float64, row []float32) error {
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
