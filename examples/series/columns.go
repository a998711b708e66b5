package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kind is what the cells of a column are.
type kind uint8

const (
	words   kind = iota
	dates        // points in time, or a number that counts rows
	numbers      // what channels are made of
)

// column is one column of a file.
type column struct {
	name string
	kind kind
	why  string // it is no channel unless asked for, or ""
}

// short returns the last part of a name such as AAPL.Open.
func short(name string) string { return name[strings.LastIndexAny(name, ".:/")+1:] }

// survey names the columns and says what they hold. The first record is a header
// if one of its cells is neither number, date nor blank.
func survey(d dialect, records []record) (columns []column, rows []record) {
	if len(records) == 0 {
		return nil, nil
	}
	first, rows := records[0].cells, records
	header := slices.ContainsFunc(first, func(s string) bool {
		_, isDate := date(s)
		return !isDate && !blank(s) && !d.numeric(s)
	})
	if header {
		rows = records[1:]
	}
	columns = make([]column, len(first))
	for i := range columns {
		columns[i].name = strconv.Itoa(i + 1)
		if header && first[i] != "" {
			columns[i].name = first[i]
		}
		columns[i].classify(d, rows, i, header && first[i] == "")
	}
	return columns, rows
}

// classify says what column i holds.
func (c *column) classify(d dialect, rows []record, i int, unnamed bool) {
	when, filled, numeric, counting := true, 0, 0, true
	previous := 0.0
	for _, r := range rows {
		s := r.cells[i]
		if blank(s) {
			continue
		}
		_, isDate := date(s)
		when = when && isDate
		if d.numeric(s) {
			numeric++
		}
		v, _ := strconv.ParseFloat(s, 64)
		counting = counting && (filled == 0 || v == previous+1 || v == previous-1)
		previous = v
		filled++
	}
	// A few cells that are none make no words of a column of numbers: reading
	// them is an error that names their lines.
	number := 2*numeric > filled
	switch {
	case filled == 0:
		c.kind, c.why = words, "no values"
	case when && !number:
		c.kind, c.why = dates, "dates"
	case number && (timeLike(c.name) || unnamed && counting && filled > 2):
		c.kind, c.why = dates, "numbers that date or count the rows"
	case number:
		c.kind = numbers
	default:
		c.kind, c.why = words, "words"
	}
}

// timeLike reports whether a column of numbers has the name of dates.
func timeLike(name string) bool {
	switch strings.ToLower(short(strings.TrimSpace(name))) {
	case "date", "time", "datetime", "timestamp", "unix", "epoch", "day", "month", "year", "index", "id", "open time", "close time":
		return true
	}
	return false
}

// find returns the column that a name means: by its whole name, then by its last
// part, each without regard to case where that is needed.
func find(columns []column, name string) (int, error) {
	for _, same := range []func(c column) bool{
		func(c column) bool { return c.name == name },
		func(c column) bool { return strings.EqualFold(c.name, name) },
		func(c column) bool { return short(c.name) == name },
		func(c column) bool { return strings.EqualFold(short(c.name), name) },
	} {
		at := -1
		for i, c := range columns {
			if same(c) {
				if at >= 0 {
					return 0, fmt.Errorf("-columns: %q may be %q or %q; name one in full", name, columns[at].name, c.name)
				}
				at = i
			}
		}
		if at >= 0 {
			return at, nil
		}
	}
	var all []string
	for _, c := range columns {
		all = append(all, c.name)
	}
	return 0, fmt.Errorf("-columns: no column %q; there are %s", name, strings.Join(all, ", "))
}

// priceNames are the channels that OHLC orders, in the order of its arguments;
// marketNames are the others that a market has.
var (
	priceNames  = []string{"open", "high", "low", "close"}
	marketNames = []string{"volume", "adjusted", "adj close", "adj. close", "adjclose", "adj_close"}
)

// choose returns the columns of the channels: those that are named, or those of
// prices and volume if there are open, high, low and close, or else all of
// numbers. The rest is left out, and left says why.
func choose(columns []column, names string) (pick []int, left []string, err error) {
	if names != "" {
		for _, name := range strings.Split(names, ",") {
			i, err := find(columns, strings.TrimSpace(name))
			if err != nil {
				return nil, nil, err
			}
			if slices.Contains(pick, i) {
				return nil, nil, fmt.Errorf("two columns %q", strings.TrimSpace(name))
			}
			pick = append(pick, i)
		}
		return pick, nil, nil
	}
	market := isMarket(columns)
	for i, c := range columns {
		name := strings.ToLower(short(c.name))
		switch {
		case c.why != "":
			left = append(left, fmt.Sprintf("%s (%s)", c.name, c.why))
		case market && !slices.Contains(priceNames, name) && !slices.Contains(marketNames, name):
			left = append(left, fmt.Sprintf("%s (neither price nor volume)", c.name))
		default:
			pick = append(pick, i)
		}
	}
	for k, i := range pick { // a name twice is no way to tell channels apart
		for _, j := range pick[:k] {
			if columns[i].name == columns[j].name {
				return nil, nil, fmt.Errorf("two columns %q", columns[i].name)
			}
		}
	}
	return pick, left, nil
}

// isMarket reports whether there is just one column of numbers for each of open,
// high, low and close.
func isMarket(columns []column) bool {
	for _, name := range priceNames {
		n := 0
		for _, c := range columns {
			if c.kind == numbers && strings.EqualFold(short(c.name), name) {
				n++
			}
		}
		if n != 1 {
			return false
		}
	}
	return true
}

// when returns the date of a row, if the file has some.
func when(columns []column, r record) (time.Time, bool) {
	for i, c := range columns {
		if c.kind == dates {
			if t, ok := date(r.cells[i]); ok {
				return t, true
			}
			if t, err := time.Parse("20060102", r.cells[i]); err == nil {
				return t, true
			}
		}
	}
	return time.Time{}, false
}

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
