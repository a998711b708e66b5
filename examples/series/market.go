package main

import (
	"math"
	"math/rand/v2"
)

// Figures of the synthetic market, per period. Their sizes are those of daily
// prices of a volatile share.
const (
	fairPrice   = 100   // level that prices return to
	reversion   = 0.03  // part of the way that they return in a period
	volatility  = 0.012 // usual standard deviation of a log-return
	persistence = 0.93  // of the logarithm of the volatility
	shocks      = 0.25  // standard deviation of what is new in that
	gap         = 0.3   // standard deviation from close to open, in volatilities
	wick        = 0.6   // mean of what high and low add, in volatilities
	turnover    = 10    // usual volume, in thousands
)

// market simulates a share: log-prices revert to a level, volatility comes in
// clusters, and volume follows it. Columns are open, high, low, close, volume.
func market(rows int, seed uint64) *table {
	t := &table{name: "synthetic market", names: []string{"open", "high", "low", "close", "volume"}}
	r := rand.New(rand.NewPCG(seed, 7))
	log, heat := 0.0, 0.0
	for range rows {
		heat = persistence*heat + shocks*r.NormFloat64()
		sigma := volatility * math.Exp(heat/2)
		open := log + gap*sigma*r.NormFloat64()
		log += -reversion*log + sigma*r.NormFloat64()
		high := math.Max(open, log) + wick*sigma*r.ExpFloat64()
		low := math.Min(open, log) - wick*sigma*r.ExpFloat64()
		for _, p := range []float64{open, high, low, log} {
			t.values = append(t.values, fairPrice*math.Exp(p))
		}
		t.values = append(t.values, turnover*math.Exp(heat/2+0.2*r.NormFloat64()))
		t.lines = append(t.lines, len(t.lines)+1)
	}
	return t
}
