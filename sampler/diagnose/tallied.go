package diagnose

import "math"

// tallied are the statistics of one function over finished chains. Every chain
// adds numbers that are a function of its own draws alone (and every group those
// of its chains), to exact sums, so that their order does not matter.
type tallied struct {
	half, halfSquares   exactSum // means of the halves of the chains
	whole, wholeSquares exactSum // means of the chains
	within              exactSum // variances of the chains
	autocov             [lagLimit]exactSum

	// Only if more than one chain begins in the same state.
	group, groupSquares exactSum // means of the groups
	between             exactSum // variances of the means of the chains of a group
	groups              int

	low, high float64 // extremes of all draws
	bad       badDraw // the first draw that was not finite
	overflow  bool    // some figure is outside the range of float64

	weights *weights // of a function whose values are log-weights
}

func newTallied() tallied { return tallied{low: math.Inf(1), high: math.Inf(-1)} }

// sums returns all sums, in the order of files.
func (t *tallied) sums() (s [8 + lagLimit]*exactSum) {
	s = [8 + lagLimit]*exactSum{&t.half, &t.halfSquares, &t.whole, &t.wholeSquares, &t.within, &t.group, &t.groupSquares, &t.between}
	for i := range t.autocov {
		s[8+i] = &t.autocov[i]
	}
	return s
}

// add takes in a chain.
func (t *tallied) add(c *condensed) {
	if c.bad.some {
		if c.bad.before(t.bad) {
			t.bad = c.bad
		}
		return
	}
	t.low, t.high = min(t.low, c.low), max(t.high, c.high)
	t.sum(&t.whole, c.mean)
	t.square(&t.wholeSquares, c.mean)
	t.sum(&t.within, c.variance)
	if c.lags == 0 {
		return
	}
	for h := range c.halves {
		t.sum(&t.half, c.halves[h].mean)
		t.square(&t.halfSquares, c.halves[h].mean)
		for lag, v := range c.halves[h].autocov[:c.lags] {
			t.sum(&t.autocov[lag], v)
		}
	}
}

// addGroup takes in the means of the chains that began in the same state.
func (t *tallied) addGroup(means []float64) {
	mean, variance := meanVariance(means)
	t.sum(&t.group, mean)
	t.square(&t.groupSquares, mean)
	t.sum(&t.between, variance)
	t.groups++
}

func (t *tallied) sum(s *exactSum, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		t.overflow = true
		return
	}
	s.add(v)
}

func (t *tallied) square(s *exactSum, v float64) {
	if !(math.Abs(v) < maxSquare) {
		t.overflow = true
		return
	}
	s.addSquare(v)
}

// maxSquare bounds numbers whose squares are float64s: √(2¹⁰²³).
const maxSquare = 0x1p511

// merge takes in the chains of o.
func (t *tallied) merge(o *tallied) {
	to, from := t.sums(), o.sums()
	for i := range to {
		if from[i].terms > 0 {
			to[i].merge(from[i])
		}
	}
	t.groups += o.groups
	t.low, t.high = min(t.low, o.low), max(t.high, o.high)
	if o.bad.before(t.bad) {
		t.bad = o.bad
	}
	t.overflow = t.overflow || o.overflow
	if t.weights != nil {
		t.weights.merge(o.weights)
	}
}
