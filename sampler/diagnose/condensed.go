package diagnose

import "math"

// lagLimit is the number of lags at which autocovariances are kept: 0 … lagLimit−1.
const lagLimit = 64

// condensed holds the statistics that a [Tally] needs from all draws of one chain.
type condensed struct {
	// First draw that is not finite; if there is one, the other fields are not used.
	bad            badDraw
	low, high      float64
	mean, variance float64
	halves         [2]half
	lags           int // number of lags in halves[h].autocov: min(lagLimit, half the draws)
}

type half struct {
	mean    float64
	autocov [lagLimit]float64
}

// badDraw records the chain, index and value of a draw that is not finite. The zero value means
// that there is no such draw.
type badDraw struct {
	some        bool
	chain, draw int
	value       float64
}

func (b badDraw) before(o badDraw) bool {
	return b.some && (!o.some || b.chain < o.chain || b.chain == o.chain && b.draw < o.draw)
}

// condense returns the statistics of the draws x of one chain, whose number is chain. x must not be
// empty and is overwritten.
func condense(chain int, x []float64) (c condensed) {
	c.low, c.high = math.Inf(1), math.Inf(-1)
	for i, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			c.bad = badDraw{true, chain, i, v}
			return c
		}
		c.low, c.high = min(c.low, v), max(c.high, v)
	}
	c.mean, c.variance = meanVariance(x)
	n := len(x) / 2 // if the length is odd, the middle draw is dropped
	c.lags = min(lagLimit, n)
	for h, y := range [2][]float64{x[:n], x[len(x)-n:]} {
		if n > 0 {
			c.halves[h].fill(y)
		}
	}
	return c
}

// fill computes the mean of y and its autocovariances (1/n) Σ_i y_i y_{i+t} about that mean. It
// handles four lags t at a time, so that their sums do not depend on each other. It subtracts the
// mean from y.
func (h *half) fill(y []float64) {
	h.mean, _ = meanVariance(y)
	for i := range y {
		y[i] -= h.mean
	}
	n := len(y)
	for lag := 0; lag < min(lagLimit, n); lag += 4 {
		var a [4]float64
		i := 0
		for ; i+lag+3 < n; i++ {
			v, w := y[i], y[i+lag:i+lag+4]
			a[0] += float64(v * w[0])
			a[1] += float64(v * w[1])
			a[2] += float64(v * w[2])
			a[3] += float64(v * w[3])
		}
		for ; i+lag < n; i++ {
			for k, w := range y[i+lag:] {
				a[k] += float64(y[i] * w)
			}
		}
		for k, v := range a[:min(4, n-lag)] {
			h.autocov[lag+k] = v / float64(n)
		}
	}
}
