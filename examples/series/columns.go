package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/seriesdata"
)

// short returns the part of a name after the last separator, such as Open in AAPL.Open.
func short(name string) string { return name[strings.LastIndexAny(name, ".:/")+1:] }

// priceNames lists the channels that OHLC orders, in the order of its arguments. marketNames
// lists the other channels of a market.
var (
	priceNames  = []string{"open", "high", "low", "close"}
	marketNames = []string{"volume", "adjusted", "adj close", "adj. close", "adjclose", "adj_close"}
)

// plain returns the last part of a name in lower case, without the brackets of <OPEN>.
func plain(name string) string { return strings.Trim(strings.ToLower(short(name)), "<>") }

// choose returns the channels to model. These are the named ones; or prices and volume if there
// are open, high, low and close; or else all that are not constant. It lists the omitted
// channels with the reason.
func choose(f *seriesdata.Frame, named bool) (pick []int, left []seriesdata.Omission) {
	market := isMarket(f)
	for c, ch := range f.Channels {
		name := plain(ch.Name)
		isPrice := slices.Contains(priceNames, name)
		switch {
		case named:
			pick = append(pick, c)
		case market && !isPrice && !slices.Contains(marketNames, name):
			left = append(left, seriesdata.Omission{Column: ch.Name, Why: "neither price nor volume"})
		case ch.Kind == "constant" && !isPrice && len(f.Channels) > 2:
			left = append(left, seriesdata.Omission{Column: ch.Name, Why: "constant"})
		default:
			pick = append(pick, c)
		}
	}
	if len(pick) == 0 { // all are constant, which is an error later
		for c := range f.Channels {
			pick = append(pick, c)
		}
		return pick, nil
	}
	return pick, left
}

// isMarket reports whether there is exactly one channel for each of open, high, low and close.
func isMarket(f *seriesdata.Frame) bool {
	for _, name := range priceNames {
		n := 0
		for _, ch := range f.Channels {
			if plain(ch.Name) == name {
				n++
			}
		}
		if n != 1 {
			return false
		}
	}
	return true
}

// Parameters of the synthetic market, per period. Their sizes are typical of daily prices of a
// volatile share.
const (
	fairPrice   = 100   // price level to which prices revert
	reversion   = 0.03  // fraction of the distance to fairPrice that prices revert per period
	volatility  = 0.012 // typical standard deviation of a log-return
	persistence = 0.93  // autocorrelation of the logarithm of the volatility
	shocks      = 0.25  // standard deviation of the innovations of that logarithm
	gap         = 0.3   // standard deviation from close to open, in volatilities
	wick        = 0.6   // mean distance of high and low from open and close, in volatilities
	turnover    = 10    // typical volume, in thousands
)

// market simulates a share. Log-prices revert to a level, volatility is clustered, and volume
// follows volatility. The columns are open, high, low, close and volume.
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
