package seriesdata

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// clock returns an axis of times of day, all on the same day, from column i.
func (t *table) clock(i int) *axis {
	a := &axis{columns: []int{i}, name: t.columns[i].name, order: "dmy", how: "times of day"}
	for k := range t.rows {
		p, _ := parseStamp(t.rows[k].at(i).text)
		p.named = true
		a.stamps, a.values = append(a.stamps, p), append(a.values, p.clock)
	}
	a.wall = a.values
	return a
}

// packedClock returns a column named time or hour whose cells are times of day without separators,
// such as 93000. It returns −1 if there is none.
func (t *table) packedClock() int {
	for i := range t.columns {
		c := &t.columns[i]
		name := strings.Trim(strings.ToLower(c.name), "<>")
		if name != "time" && name != "hour" || !c.numbers() || c.numeric < c.filled {
			continue
		}
		ok := true
		for k := range t.rows {
			_, good := clockOf(t.rows[k].at(i).text, name)
			ok = ok && good
		}
		if ok {
			return i
		}
	}
	return -1
}

// clockOf parses a time of day such as 930 or 93000. In a column named hour, it also accepts 9. The
// result is in microseconds since midnight.
func clockOf(s, name string) (float64, bool) {
	v, err := strconv.Atoi(s)
	switch {
	case err != nil || v < 0:
		return 0, false
	case name == "hour":
		return float64(v) * hour, v <= 24
	case len(s) > 4:
		h, m, sec := v/10000, v/100%100, v%100
		return float64(h)*hour + float64(m)*minute + float64(sec)*second, h <= 24 && m < 60 && sec < 60
	}
	return float64(v/100)*hour + float64(v%100)*minute, v/100 <= 24 && v%100 < 60
}

// zones adds to the axis a column that has the time zone of every row, such as EST or EDT.
func (t *table) zones(a *axis) {
	if slices.ContainsFunc(a.stamps, func(p stamp) bool { return p.zoned }) || !slices.ContainsFunc(slices.Concat(a.stamps, a.clocks), func(p stamp) bool { return p.hasClock }) {
		return
	}
	for i := range t.columns {
		if slices.Contains(a.columns, i) || t.columns[i].numbers() && !zoneName(t.columns[i].name) {
			continue
		}
		found := make([]stamp, len(t.rows))
		ok := len(t.rows) > 0
		for k := range t.rows {
			s := t.rows[k].at(i).text
			ok = ok && len(s) > 1 && zone.MatchString(s) && found[k].readZone(s)
		}
		if !ok {
			continue
		}
		for k := range found {
			a.stamps[k].zoned, a.stamps[k].offset = true, found[k].offset
		}
		a.columns, a.name = append(slices.Clone(a.columns), i), a.name+"+"+t.columns[i].name
		a.written = cellsOf(t.rows, i)
		return
	}
}

// zoneWords lists words of the names of columns that hold time zones as numbers, and words that may
// stand next to them.
var zoneWords = [2][]string{
	{"tz", "zone", "timezone", "offset", "tzoffset", "utcoffset", "gmtoffset", "zeitzone"},
	{"time", "date", "local", "utc", "gmt", "hours", "hour", "h"},
}

// zoneName reports whether name, such as utc_offset, is the name of a column of time zones. Names
// with other words, such as offset_mm, are not.
func zoneName(name string) bool {
	found := false
	for _, word := range strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) }) {
		zone := slices.Contains(zoneWords[0], word)
		if found = found || zone; !zone && !slices.Contains(zoneWords[1], word) {
			return false
		}
	}
	return found
}

// clockNames lists words in the names of columns that hold the time of day of a date.
var clockNames = []string{"time", "hour", "clock", "start", "begin", "from", "zeit", "stunde", "heure", "hora", "von", "utc", "hh"}

// clockOfDates reports whether the times of day in column k belong to the dates in column i, and are
// no quantity such as the time of sunrise: the name has a word of the list, or dates repeat.
func (t *table) clockOfDates(k, i int) bool {
	name := strings.ToLower(t.columns[k].name)
	return !t.named || t.repeatsBelow(i) || slices.ContainsFunc(clockNames, func(s string) bool { return strings.Contains(name, s) })
}

// repeatsBelow reports whether some cell of column i is that of the row above it.
func (t *table) repeatsBelow(i int) bool {
	for k := 1; k < len(t.rows); k++ {
		if t.rows[k].at(i).text == t.rows[k-1].at(i).text {
			return true
		}
	}
	return false
}

// countedNames lists names of columns that count the hours of a day, and others that count shorter
// parts of it.
var countedNames = [2][]string{
	{"hr", "hh", "h", "he", "hour_ending", "hourending", "hour ending", "delivery hour", "delivery_hour", "opr_hr", "stunde", "heure", "hora", "ora", "uur"},
	{"settlement_period", "settlementperiod", "settlement period", "period", "interval", "slot", "sp", "pte", "mtu", "qh", "quarter_hour", "quarterhour", "quarter-hour", "viertelstunde", "half_hour"},
}

// countedClock returns a column that counts the hours or other equal parts of the days in column i,
// or −1 if there is none. Dates must repeat, since hr may also be a heart rate.
func (t *table) countedClock(i int) int {
	for j := range t.columns {
		if j == i || t.counter(j) == nil {
			continue
		}
		for k := 1; k < len(t.rows); k++ {
			if t.rows[k].at(i).text == t.rows[k-1].at(i).text && t.rows[k].at(j).text != t.rows[k-1].at(j).text {
				return j
			}
		}
	}
	return -1
}

// counting describes a column that counts equal parts of a day.
type counting struct {
	step  float64 // length of a part in microseconds
	first int     // number of the part that begins at midnight
	ends  bool    // whether a number stands for the end of its part: hours from 1 to 24
}

// parts of a day that are counted, by their number.
var partsOfDay = []int{24, 48, 96, 144, 288}

// counter returns how column j counts the parts of a day, or nil if it does not.
func (t *table) counter(j int) *counting {
	name := strings.ToLower(strings.TrimSpace(t.columns[j].name))
	hours := slices.Contains(countedNames[0], name)
	if !hours && !slices.Contains(countedNames[1], name) || !t.whole(j) || len(t.rows) == 0 {
		return nil
	}
	low, high := math.MaxInt, 0
	for k := range t.rows {
		v := atoi(t.rows[k].at(j).text)
		low, high = min(low, v), max(high, v)
	}
	c := &counting{step: hour, first: min(low, 1)}
	switch {
	case hours && high > 24:
		return nil
	case hours && high == 24:
		c.ends = true
	case hours:
		c.first = 0
	case !slices.Contains(partsOfDay, high+1-c.first):
		return nil
	default:
		c.step = day / float64(high+1-c.first)
	}
	return c
}

// at returns the time of day of the part that the cell s counts.
func (c *counting) at(s string) float64 {
	if c.ends {
		return float64(atoi(s)) * c.step
	}
	return float64(atoi(s)-c.first) * c.step
}

// spell returns the number of the part for the time t, and the day to which it belongs, with as many
// digits as the cell like has.
func (c *counting) spell(t time.Time, like string) (date time.Time, number string) {
	if c.ends {
		t = t.Add(-time.Duration(c.step) * time.Microsecond)
	}
	date = time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	n := int(math.Round(float64(t.Sub(date).Microseconds())/c.step)) + c.first
	if c.ends {
		n = int(math.Round(float64(t.Sub(date).Microseconds())/c.step)) + 1
	}
	if like[0] == '0' {
		return date, fmt.Sprintf("%0*d", len(like), n)
	}
	return date, strconv.Itoa(n)
}
