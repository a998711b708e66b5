package seriesdata

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// undecided returns an error if the numbers of column i, which has the name of a column of times and
// was read as the axis a, may be dates in several forms.
func (t *table) undecided(i int, a *axis) error {
	name := strings.ToLower(t.columns[i].name)
	if a.dated || !timeish(name) || counts(name) {
		return nil
	}
	first := t.rows[0].at(i).text
	wrong := func(why string) error {
		return fmt.Errorf("line %d, column %s: %q %s; write dates as 2024-01-31, or name another column of times, or none, by Options.Time (-time)", t.rows[0].number, t.columns[i].name, first, why)
	}
	tenths, packed := true, [3]bool{true, true, true}
	low, high := slices.Min(a.values), slices.Max(a.values)
	if math.Floor(low/100) == math.Floor(high/100) && high < 1e6 { // not the same day of several years
		packed[1], packed[2] = false, false
	}
	for k, v := range a.values {
		s := t.rows[k].at(i).text
		tenths = tenths && len(s) == 6 && s[4] == '.' && v >= 1500 && v < 2200
		if v != math.Floor(v) {
			packed = [3]bool{}
			continue
		}
		s = strconv.FormatFloat(v, 'f', 0, 64)
		width := 6
		if len(s) > 6 {
			width = 8
		}
		s = strings.Repeat("0", max(0, width-len(s))) + s
		for f, layout := range [3][2]string{{"060102", "."}, {"020106", "02012006"}, {"010206", "01022006"}} {
			_, err := time.Parse(layout[width/2-3], s)
			packed[f] = packed[f] && err == nil
		}
	}
	switch {
	case tenths:
		return wrong("may be a month, a quarter or a part of a year")
	case strings.Contains(name, "date") && low >= 20000 && high < spreadsheet:
		return wrong(fmt.Sprintf("is %s in days since 1970 and %s in days of a spreadsheet", spoken(low), spoken(low-spreadsheet)))
	case low >= 10000 && (packed[0] || packed[1] || packed[2]):
		return wrong("is a date without marks between its parts, whose order is unclear")
	}
	return nil
}

// Years of months, quarters and weeks that are written as one number, such as 202401.
const firstYear, endYear = 1700, 2101

// wrongPart returns an error if most numbers of column i, which was read as the axis a, are months such
// as 202401, quarters such as 20241 or weeks such as 202452, but some are not.
//
// The same numbers may count something: rows, identifiers, seconds. If the name of the column does
// not tell, they do if all steps are alike, as from 200001 to 200005 to 200009. They also do if all
// that could be months are of one year, and several could not, or the year is one such as 2000, since
// counts often begin behind a round number.
func (t *table) wrongPart(i int, a *axis) error {
	if a.dated {
		return nil
	}
	name := strings.ToLower(t.columns[i].name)
	for _, c := range []struct {
		named, sure bool    // whether the name fits, and whether only such columns have it
		always      bool    // whether the numbers have no other meaning, even if few fit
		parts       float64 // number by which the year is multiplied
		what, cure  string
		fits        func(year, part int) bool
	}{
		{quarterLike(name), true, false, 10, "quarter", "a quarter 1 … 4", func(_, q int) bool { return q >= 1 && q <= 4 }},
		{weekLike(name), true, true, 100, "week", "a week of ISO 8601, 1 … 52 or 53", func(y, w int) bool { _, ok := mondayOf(y, w); return ok }},
		{dateLike(name) || t.index(i), dateLike(name) && !slices.Contains([]string{"time", "period", "timestamp"}, name), strings.Contains(name, "month") || strings.Contains(name, "yyyymm"), 100, "month", "a month 1 … 12, or the name week for the column", func(_, m int) bool { return m >= 1 && m <= 12 }},
	} {
		if !c.named {
			continue
		}
		at, right, wrong := -1, -1, 0
		years, others := map[int]bool{}, map[float64]bool{} // years of the numbers that fit, and the numbers that do not
		plausible := true
		for k, v := range a.values {
			year := math.Floor(v / c.parts)
			isYear := v == math.Floor(v) && year >= firstYear && year < endYear
			plausible = plausible && isYear
			if isYear && c.fits(int(year), int(v-c.parts*year)) {
				right, years[int(year)] = k, true
				continue
			}
			others[v] = true
			if wrong++; at < 0 {
				at = k
			}
		}
		if wrong == 0 || 2*wrong >= len(a.values) && !(c.always && plausible) {
			continue
		}
		if !c.sure {
			round := len(years) == 1
			for y := range years {
				round = round && (y%100 == 0 || len(others) > 1)
			}
			if round || even(a.values) {
				continue
			}
		}
		where := fmt.Sprintf("line %d, column %s: %q", t.rows[at].number, t.columns[i].name, t.rows[at].at(i).text)
		cure := "correct it, delete the line, or name another column of times, or none, by Options.Time (-time)"
		if v := a.values[at]; v != math.Floor(v) || v < c.parts*firstYear || v >= c.parts*endYear {
			return fmt.Errorf("%s is not a %s as %s of line %d is; %s", where, c.what, t.rows[right].at(i).text, t.rows[right].number, cure)
		}
		return fmt.Errorf("%s is the year %d and the %s %d, want %s; %s", where, int(a.values[at]/c.parts), c.what, int(math.Mod(a.values[at], c.parts)), c.cure, cure)
	}
	if dateLike(name) || t.index(i) {
		return t.namelessWeeks(i, a)
	}
	return nil
}

// namelessWeeks returns an error if the numbers of column i are weeks such as 202452 and 202501, although
// its name does not say so: the first week of a year follows the last one of the year before.
func (t *table) namelessWeeks(i int, a *axis) error {
	order := make([]int, len(a.values))
	for k, v := range a.values {
		order[k] = k
		if part := math.Mod(v, 100); v != math.Floor(v) || v < 100*firstYear || v >= 100*endYear || part < 1 || part > 53 {
			return nil
		}
	}
	slices.SortStableFunc(order, func(j, k int) int { return sign(a.values[j] - a.values[k]) })
	for x, k := range order[1:] {
		u, v := a.values[order[x]], a.values[k]
		if math.Mod(u, 100) >= 52 && v == 100*(math.Floor(u/100)+1)+1 && !even(a.values) {
			return fmt.Errorf("line %d, column %s: %q follows %q as a week of the next year does; name the column week, or name another column of times, or none, by Options.Time (-time)",
				t.rows[k].number, t.columns[i].name, t.rows[k].at(i).text, t.rows[order[x]].at(i).text)
		}
	}
	return nil
}

// even reports whether the different numbers among values, by size, all have the same distance.
func even(values []float64) bool {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	for k := 2; k < len(sorted); k++ {
		if sorted[k]-sorted[k-1] != sorted[1]-sorted[0] {
			return false
		}
	}
	return true
}

// weekLike reports whether name, in lower case, is that of a column of weeks.
func weekLike(name string) bool {
	return strings.Contains(name, "week") || slices.Contains([]string{"yyyyww", "yw", "woche"}, name)
}

// dateLike reports whether name, in lower case, is that of a column of dates or months.
func dateLike(name string) bool {
	return strings.Contains(name, "date") || strings.Contains(name, "month") || slices.Contains([]string{"time", "period", "timestamp", "ym", "yyyymm", "yrmo", "datum", "fecha", "monat", "mes", "mois"}, name)
}

// quarterLike reports whether name is that of a column of quarters.
func quarterLike(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "quarter") || strings.Contains(name, "qtr") || slices.Contains([]string{"yyyyq", "yq", "quartal"}, name)
}

var fourDigits = regexp.MustCompile(`\d{4}`) // a year; a date without one, such as Jan-01, may also be a label

// labelled reports whether all cells of column i consist of the same word and a number that counts
// up or down by one, such as day 1, day 2, …. Dates such as 2024-W01, 2024-W02, … or
// FY23Q1, FY23Q2, … do not count.
func (t *table) labelled(i int) bool {
	if len(t.rows) < 2 || t.columns[i].stamps() && (fourDigits.MatchString(t.rows[0].at(i).text) || quarter.MatchString(t.rows[0].at(i).text)) {
		return false
	}
	prefix, last, step := "", 0, 0
	for k := range t.rows {
		s := t.rows[k].at(i).text
		word := strings.TrimRight(s, "0123456789")
		v, err := strconv.Atoi(s[len(word):])
		if err != nil || strings.Trim(word, "0123456789/-. ") == "" || monthOf(strings.Trim(word, " ./-")) > 0 || isNumber(s) {
			return false
		}
		if k > 0 && word != prefix || k > 1 && v-last != step || k == 1 && v-last != 1 && v-last != -1 {
			return false
		}
		prefix, step, last = word, v-last, v
	}
	return true
}

// unixTimes reports whether the numbers of column i are recognised as time since 1970 or as
// spreadsheet days.
func (t *table) unixTimes(i int) bool {
	if t.packedDates(i) && timeish(t.columns[i].name) {
		return false
	}
	filled := *t
	filled.rows = slices.DeleteFunc(slices.Clone(t.rows), func(l line) bool { return t.blank(l.at(i).text) })
	a := filled.count(i)
	return a != nil && a.scale > 0
}

// count returns an axis from the numbers of column i. It returns nil if a cell is not a finite
// number.
func (t *table) count(i int) *axis {
	c := &t.columns[i]
	a := &axis{columns: []int{i}, name: c.name}
	whole, low, high := true, math.Inf(1), math.Inf(-1)
	labelled := t.labelled(i)
	if decimal, err := t.decimal([]int{i}); err == nil && decimal == ',' {
		a.comma = true
	}
	for k := range t.rows {
		s := t.rows[k].at(i).text
		if labelled {
			s = s[len(strings.TrimRight(s, "0123456789")):]
		}
		if a.comma {
			s = strings.Replace(s, ",", ".", 1)
		}
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || v-v != 0 {
			return nil
		}
		whole = whole && v == math.Floor(v)
		low, high = min(low, v), max(high, v)
		a.values = append(a.values, v)
	}
	name := strings.ToLower(c.name)
	for _, u := range []struct {
		low, high, scale float64
		how              string
	}{{1e8, 5e9, second, "seconds since 1970"}, {1e11, 5e12, 1e3, "milliseconds since 1970"}, {1e14, 5e15, 1, "microseconds since 1970"}, {1e17, 5e18, 1e-3, "nanoseconds since 1970"}} {
		if low >= u.low && high < u.high {
			a.dated, a.scale, a.how = true, u.scale, u.how
			for k := range a.values {
				a.values[k] = math.Round(a.values[k] * u.scale)
			}
			a.wall = a.values
			return a
		}
	}
	date, week := dateLike(name), weekLike(name)
	switch {
	case whole && quarterLike(name) && low >= 10*firstYear && high < 10*endYear:
		return t.calendar(a, func(v float64) (int, int) { return int(v) / 10, 3*(int(v)%10) - 2 }, "quarters as 20241")
	case whole && week && low >= 100*firstYear && high < 100*endYear:
		return t.weeks(a)
	case date && !strings.Contains(name, "decimal") && t.hundredths(i):
		return t.calendar(a, func(v float64) (int, int) { return int(v), int(math.Round(100 * (v - math.Floor(v)))) }, "months as 2024.01")
	case whole && (strings.Contains(name, "year") || name == "jahr" || name == "año" || name == "année" || date || t.index(i)) && low >= 1500 && high < 2200:
		a.parts, a.written = []string{"year"}, cellsOf(t.rows, i)
		return t.calendar(a, func(v float64) (int, int) { return int(v), 1 }, "years")
	case whole && t.index(i) && !date && math.Mod(low, 10000) < 100 && math.Floor(low/100) == math.Floor(high/100): // rows from 200001 on
	case whole && (date || t.index(i)) && low >= 100*firstYear && high < 100*endYear:
		return t.calendar(a, func(v float64) (int, int) { return int(v) / 100, int(v) % 100 }, "months as 202401")
	case date && low >= 20000 && high < 80000 && high >= spreadsheet:
		return a.days(spreadsheet, "days of a spreadsheet")
	case slices.Contains(julianNames, name) && low >= 2.2e6 && high < 2.7e6:
		return a.days(julian, "Julian days")
	case name == "mjd" && low >= 15000 && high < 100000:
		return a.days(julian-2400000.5, "modified Julian days")
	}
	return a
}

// days converts an axis of days to dates. Day number origin is 1 January 1970, 0:00.
func (a *axis) days(origin float64, how string) *axis {
	a.dated, a.scale, a.origin, a.how = true, day, origin, how
	for k := range a.values {
		// Round to seconds, the precision of the digits.
		a.values[k] = math.Round((a.values[k]-origin)*day/second) * second
	}
	a.wall = a.values
	return a
}

// julian is the Julian day of 1 January 1970, 0:00.
const julian = 2440587.5

// julianNames lists names of columns of Julian days.
var julianNames = []string{"jd", "julian", "julian_day", "julian day", "julian_date", "julian date", "bjd", "hjd"}

// spreadsheet is the number of the day 1 January 1970 in a spreadsheet.
const spreadsheet = 25569

// hundredths reports whether the cells of column i are months such as 1871.01, of which October may
// be written 1871.1.
func (t *table) hundredths(i int) bool {
	long := false
	for k := range t.rows {
		s := t.rows[k].at(i).text
		if len(s) < 6 || len(s) > 7 || s[4] != '.' || len(s) == 6 && s[5] != '1' || len(s) == 7 && (s[5:] < "01" || s[5:] > "12") {
			return false
		}
		long = long || len(s) == 7
	}
	return long
}

// weeks converts an axis of numbers such as 202401 to the Mondays of these weeks of ISO 8601. It
// returns a unchanged if a year has no such week.
func (t *table) weeks(a *axis) *axis {
	b := *a
	b.values = slices.Clone(a.values)
	b.dated, b.how = true, "weeks as 202401"
	for k, v := range b.values {
		at, ok := mondayOf(int(v)/100, int(v)%100)
		if !ok {
			return a
		}
		b.values[k] = float64(at.UnixMicro())
	}
	b.wall = b.values
	return &b
}

// calendar converts an axis of years, or of years and months, to dates. It returns a unchanged if a
// month is out of range. split returns the year and the month of a number.
func (t *table) calendar(a *axis, split func(v float64) (year, month int), how string) *axis {
	b := *a
	b.values = slices.Clone(a.values)
	b.dated, b.how = true, how
	for k, v := range b.values {
		y, m := split(v)
		if m < 1 || m > 12 {
			return a
		}
		b.values[k] = float64(time.Date(y, time.Month(m), 1, 0, 0, 0, 0, time.UTC).UnixMicro())
	}
	b.wall = b.values
	return &b
}
