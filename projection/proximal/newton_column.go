package proximal

import "math"

// closed finds the multipliers of the rows that have a closed form, and adds
// −Aᵀy of them to c. z is ẑ. It returns false if bounds of one variable that
// must hold contradict each other, with multipliers that show it in p.
func (w *newton) closed(z []float64) bool {
	clear(w.p[w.coupled:])
	for j := w.coupled; j < w.single; j++ {
		w.y[j] = prox(w.dot(j, z), 1, w.lo[j], w.hi[j], w.cap[j])
		w.axpy(j, -w.y[j], w.c)
	}
	for g := range w.groups {
		c := &w.groups[g]
		v := z[c.variable]
		if math.IsInf(w.cap[c.from], 1) {
			x, ok := w.clip(c, v)
			if !ok {
				return false
			}
			w.c[c.variable] = x - v
			continue
		}
		x := w.kinked(c, v)
		w.share(c, v, x)
		w.c[c.variable] = x - v
	}
	return true
}

// roundedApart is how far bounds of one variable may be apart that rows with
// different factors give it, relative to their size.
const roundedApart = 1e-12

// clip returns the point nearest to v within the bounds of c.
func (w *newton) clip(c *column, v float64) (x float64, ok bool) {
	low, high := c.from, c.from
	for j := c.from; j < c.to; j++ {
		w.y[j] = 0
		if w.lo[j] > w.lo[low] {
			low = j
		}
		if w.hi[j] < w.hi[high] {
			high = j
		}
	}
	lo, hi := w.lo[low], w.hi[high]
	if gap := lo - hi; gap > 0 && gap <= max(2*leastSlack, roundedApart*max(math.Abs(lo), math.Abs(hi))) {
		lo = hi + float64(gap/2) // one number, rounded in two ways
		hi = lo
	}
	switch {
	case lo > hi:
		w.p[low], w.p[high] = -1, 1
		return v, false
	case v < lo:
		w.y[low] = v - lo
		return lo, true
	case v > hi:
		w.y[high] = v - hi
		return hi, true
	}
	return v, true
}

// kinked returns the minimiser of ½(x−v)² + Σ_j cap_j·distance_j(x) over the
// rows of c. Between knots the derivative is x − v + a constant, and it jumps
// up at every knot.
func (w *newton) kinked(c *column, v float64) float64 {
	x, below := v, math.Inf(-1)
	for _, k := range c.knot {
		left, right := k-v, k-v
		for j := c.from; j < c.to; j++ {
			limit := w.cap[j]
			if k > w.hi[j] {
				left += limit
			}
			if k >= w.hi[j] {
				right += limit
			}
			if k <= w.lo[j] {
				left -= limit
			}
			if k < w.lo[j] {
				right -= limit
			}
		}
		if left > 0 {
			return max(k-left, below) // not below the last knot by rounding
		}
		if right >= 0 {
			return k
		}
		x, below = max(k-right, k), k // unless a further knot stops it
	}
	return x
}

// share sets the multipliers of c at its minimiser x: those of rows at whose
// knot x is take what the others leave of v − x.
func (w *newton) share(c *column, v, x float64) {
	rest := v - x
	for j := c.from; j < c.to; j++ {
		w.y[j] = 0
		switch {
		case x > w.hi[j]:
			w.y[j] = w.cap[j]
		case x < w.lo[j]:
			w.y[j] = -w.cap[j]
		}
		rest -= w.y[j]
	}
	for j := c.from; j < c.to; j++ {
		give := 0.0
		if x == w.hi[j] && rest > 0 {
			give = min(rest, w.cap[j])
		} else if x == w.lo[j] && rest < 0 {
			give = max(rest, -w.cap[j])
		}
		w.y[j] += give
		rest -= give
	}
}
