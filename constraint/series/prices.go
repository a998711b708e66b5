package series

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Prices tells which channels hold the open, high, low and close prices of a period, by their
// indices. Its method Finish corrects prices that violate their order only by rounding errors:
//
//	raw := shape.Raw(x)
//	moved, err := series.Prices{Open: 0, High: 1, Low: 2, Close: 3, Tick: 0.01}.Finish(raw, shape.Channels, 0.02)
//
// Afterwards, low ≤ open ≤ high and low ≤ close ≤ high hold exactly in float64 at every time.
type Prices struct {
	Open, High, Low, Close int // channels of the four prices

	// Tick is the price step of the exchange, for instance 0.01 for cents. Prices are rounded to
	// multiples of it. 0 means no rounding.
	Tick float64
}

// Finish rounds the prices in raw, in place, so that low ≤ open ≤ high and low ≤ close ≤ high. The
// shape of raw is length × channels. Finish returns the largest distance that a price moved. Open
// and close are rounded to the nearest tick. High is rounded to the nearest tick that is not below
// open or close. Low is rounded to the nearest tick that is not above open or close.
//
// Finish returns an error and leaves raw unchanged in these cases:
//
//   - The four channels are not distinct channels of the series.
//   - Tick is negative or not finite.
//   - A price is not finite, or is larger than 2⁵² ticks.
//   - A price would have to move further than limit. Such a price is wrong, not merely rounded.
func (p Prices) Finish(raw []float64, channels int, limit float64) (moved float64, err error) {
	at := [4]int{p.Open, p.High, p.Low, p.Close}
	for k, c := range at {
		if c < 0 || c >= channels {
			return 0, fmt.Errorf("series: Prices: channel = %d, want 0 … %d", c, channels-1)
		}
		for _, d := range at[:k] {
			if c == d {
				return 0, fmt.Errorf("series: Prices: channel = %d twice, want four different ones", c)
			}
		}
	}
	if !(p.Tick >= 0) || math.IsInf(p.Tick, 1) {
		return 0, fmt.Errorf("series: Prices: Tick = %v, want ≥ 0 and finite", p.Tick)
	}
	if len(raw)%channels != 0 {
		return 0, fmt.Errorf("series: Prices: len(raw) = %d, want a multiple of %d channels", len(raw), channels)
	}
	done := make([]float64, 0, 4*len(raw)/channels)
	for t := range len(raw) / channels {
		row := raw[t*channels : (t+1)*channels]
		var v [4]float64
		for k, c := range at {
			if !check.Finite(row[c]) {
				return 0, fmt.Errorf("series: Prices: price at %d = %v, want a finite number", t, row[c])
			}
			if v[k] = p.round(row[c]); math.Abs(row[c]) > p.Tick*(1<<52) && p.Tick > 0 {
				return 0, fmt.Errorf("series: Prices: price at %d = %v, want at most 2⁵² ticks of %v", t, row[c], p.Tick)
			}
		}
		v[1] = max(v[1], v[0], v[3])
		v[2] = min(v[2], v[0], v[3])
		for k, c := range at {
			d := math.Abs(v[k] - row[c])
			if moved = max(moved, d); !(d <= limit) {
				return 0, fmt.Errorf("series: Prices: at %d open %v, high %v, low %v, close %v: one would move by %v, want ≤ %v",
					t, row[at[0]], row[at[1]], row[at[2]], row[at[3]], d, limit)
			}
		}
		done = append(done, v[:]...)
	}
	for i, v := range done {
		raw[i/4*channels+at[i%4]] = v
	}
	return moved, nil
}

// round returns the nearest multiple of the tick. If the tick is 1/n, round computes k/n for
// the nearest number of ticks k. The result is then the float64 nearest to the decimal number,
// although a tick such as 0.01 is not a float64.
func (p Prices) round(v float64) float64 {
	if p.Tick == 0 {
		return v
	}
	ticks := math.RoundToEven(v / p.Tick)
	if n := math.Round(1 / p.Tick); n >= 1 && 1/n == p.Tick {
		return ticks / n
	}
	return ticks * p.Tick
}
