package constraint

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// weights holds an integer weight for every level, either one row for all sites or one row per
// site.
type weights struct {
	rows  [][]int
	fixed bool // true if there is one row per site
}

// maxWeight bounds the absolute value of a single weight. Together with maxSum, it ensures that
// partial sums never overflow an int.
const maxWeight = 1 << 20

// newWeights checks a table of weights and copies it. Consecutive rows that share memory share
// memory in the copy too.
func newWeights(name string, rows [][]int, fixed bool) (weights, error) {
	w := weights{fixed: fixed}
	for i, row := range rows {
		if len(row) == 0 {
			return w, &ArgumentError{name, "len(weights) of a site", 0, "≥ 1"}
		}
		for _, v := range row {
			if v < -maxWeight || v > maxWeight {
				return w, &ArgumentError{name, "a weight", v, "−2²⁰ … 2²⁰"}
			}
		}
		if i > 0 && &row[0] == &rows[i-1][0] && len(row) == len(rows[i-1]) {
			w.rows = append(w.rows, w.rows[i-1])
			continue
		}
		w.rows = append(w.rows, append([]int(nil), row...))
	}
	return w, nil
}

// at returns the weight of a token at a site. ok is false if the token has no weight.
func (w *weights) at(site int, token int32) (v int, ok bool) {
	if !w.fixed {
		site = 0
	}
	if uint(site) >= uint(len(w.rows)) {
		check.Index("constraint", "site", site, len(w.rows))
	}
	row := w.rows[site]
	if uint(token) >= uint(len(row)) {
		return 0, false
	}
	return row[token], true
}

// extremes returns the least and the largest weight of a site.
func (w *weights) extremes(site int) (least, most int) {
	if !w.fixed {
		site = 0
	}
	least, most = w.rows[site][0], w.rows[site][0]
	for _, v := range w.rows[site] {
		least, most = min(least, v), max(most, v)
	}
	return least, most
}

// classes puts two tokens into one class if their weights, mapped by of, are equal at every
// site.
func (w *weights) classes(levels int, of func(v int) int) ([]int32, int) {
	if levels < 0 || levels > math.MaxInt32 {
		panic(fmt.Sprintf("constraint: levels = %d, want 0 … %d", levels, math.MaxInt32))
	}
	class, n := make([]int32, levels), min(levels, 1)
	for i, row := range w.rows {
		if i > 0 && &row[0] == &w.rows[i-1][0] {
			continue
		}
		class, n = automata.ClassesBy(levels, func(t int32) [2]int {
			if int(t) >= len(row) {
				return [2]int{int(class[t]), math.MinInt}
			}
			return [2]int{int(class[t]), of(row[t])}
		})
	}
	return class, n
}
