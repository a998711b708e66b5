package diagnose

import (
	"fmt"
	"math"
)

// Histogram counts the values in each of several adjacent bins of equal width.
type Histogram struct {
	Edges  []float64 // ascending, one more than there are bins
	Counts []int     // of values in [Edges[k], Edges[k+1]); the last bin includes its upper edge
}

// Histogram counts the draws of all chains of one function, or of "energy", "accept" or "moves", in
// bins of equal width from the smallest to the largest value; constant draws get bins of width
// 1/bins around their value. It returns the errors of [Trace.Values], and an error if there are no
// draws (ErrTooFew) or draws are not finite (a *[NotFinite]). It panics if bins < 1.
func (t *Trace) Histogram(name string, bins int) (Histogram, error) {
	if bins < 1 {
		panic(fmt.Sprintf("diagnose: Histogram: bins = %d, want ≥ 1", bins))
	}
	k, err := t.find(name)
	if err != nil {
		return Histogram{}, fmt.Errorf("diagnose: Histogram: %w", err)
	}
	draws := t.column(k)
	if err := finite(draws); err != nil {
		return Histogram{}, fmt.Errorf("diagnose: Histogram: %w", err)
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, x := range draws {
		for _, v := range x {
			low, high = min(low, v), max(high, v)
		}
	}
	switch {
	case low > high:
		return Histogram{}, fmt.Errorf("diagnose: Histogram: %w", ErrTooFew)
	case low == high:
		low, high = low-0.5, high+0.5
	}
	h := Histogram{Edges: make([]float64, bins+1), Counts: make([]int, bins)}
	for k := range h.Edges {
		part := float64(k) / float64(bins)
		h.Edges[k] = low*(1-part) + high*part // no overflow
	}
	h.Edges[bins] = high
	for _, x := range draws {
		for _, v := range x {
			h.Counts[h.bin(v)]++
		}
	}
	return h, nil
}

// bin returns the bin of v, the last one that begins at or below it.
func (h *Histogram) bin(v float64) int {
	low, high := 0, len(h.Counts)
	for high-low > 1 {
		if middle := (low + high) / 2; v >= h.Edges[middle] {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
