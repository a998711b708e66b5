package seriesdata

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// axis holds the time of every row of a table.
type axis struct {
	columns []int // columns of the file that hold the time
	name    string
	dated   bool      // whether the times are points in time; otherwise they are plain numbers
	values  []float64 // time of each row, in microseconds since 1970 in UTC, or as a plain number
	wall    []float64 // the same times as shown by local clocks, before conversion to UTC
	order   order
	zone    string
	// For times given as numbers or parts: their meaning, such as "seconds since 1970".
	how string

	stamps []stamp // parsed date of each row; nil if the times are numbers or parts
	clocks []stamp // parsed time of day of each row, if it has a column of its own; otherwise nil
	padded bool
	months []string // names of the twelve months in the language of the column
	// How a column counts the parts of a day; nil if there is no such column.
	counted *counting
	// For numbers counted from 1970 or as spreadsheet days: microseconds per unit; otherwise 0.
	scale  float64
	origin float64 // number of the day 1 January 1970 if scale is a day
	// If several columns hold parts of a date: the part in each column, such as year or month.
	parts   []string
	comma   bool     // whether times that are numbers have a decimal comma
	written []string // rows × parts: the text of the cell; or rows: the time zone, if it has a column
}

// timeNames lists common names of time columns, in lower case.
var timeNames = []string{"date", "time", "datetime", "timestamp", "unix", "epoch", "day", "month", "year", "week", "quarter", "period", "index", "id", "no", "step", "t", "ts", "ds", "dt", "utc",
	"open time", "open_time", "opentime", "date_time", "date time", "datetime_utc", "timestamp_utc", "observation_date", "obs_date", "trade_date", "valid", "valid_time", "local_time", "utc_time", "time_utc", "unix_time", "time_idx", "datum", "zeit", "fecha", "data", "ym", "yyyymm", "yearmonth", "year_month", "yrmo", "fy", "seconds", "sec", "secs", "elapsed", "t_s", "t_ms", "time_s", "time_ms", "time_sec", "fyear", "fiscal_year", "fiscal year", "calendar_year", "calendar year", "jahr", "monat", "quartal", "woche", "año", "mes", "année", "mois", "<date>", "<dtyyyymmdd>", "<time>",
	"jd", "julian", "julian_day", "julian day", "julian_date", "julian date", "bjd", "hjd", "mjd", "yyyyq", "yq", "yearquarter", "year_quarter", "yyyyww", "yw", "yearweek", "year_week", "isoweek", "iso_week", "minutes", "mins", "hours", "milliseconds", "ms", "decimal_year", "decimal year", "decimal_date", "decimal date", "year_decimal", "year decimal", "year+month"}

// calendarNames lists names that only time columns have. A column with such a name that cannot be
// read as times is an error.
var calendarNames = []string{"date", "datetime", "timestamp", "time", "period", "year", "fy", "quarter", "month", "week", "datum", "fecha", "jahr", "quartal", "monat", "woche", "mes", "mois"}

// timeLike reports whether name, or its last part, is a common name of a time column.
func timeLike(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	return slices.Contains(timeNames, name) || slices.Contains(timeNames, strings.ToLower(short(name)))
}

// timeish reports whether name contains a word that suggests times, such as "date".
func timeish(name string) bool {
	name = strings.ToLower(name)
	return timeLike(name) || slices.ContainsFunc([]string{"date", "time", "stamp", "yyyy", "datum"}, func(s string) bool { return strings.Contains(name, s) })
}

// short returns the part of a name after its last '.', ':' or '/', such as Open for AAPL.Open.
func short(name string) string {
	if i := strings.LastIndexAny(name, ".:/"); i+1 < len(name) {
		return name[i+1:]
	}
	return name
}

// find returns the index of the column with the given name. It compares whole names, then last
// parts, each first exactly and then ignoring case.
func (t *table) find(name string) (int, error) {
	name = strings.TrimSpace(name)
	for _, same := range []func(c *column) bool{
		func(c *column) bool { return c.name == name || c.full == name },
		func(c *column) bool { return strings.EqualFold(c.name, name) || strings.EqualFold(c.full, name) },
		func(c *column) bool { return short(c.name) == name },
		func(c *column) bool { return strings.EqualFold(short(c.name), name) },
	} {
		at := -1
		for i := range t.columns {
			if same(&t.columns[i]) {
				if at >= 0 {
					return 0, fmt.Errorf("line %d: the column %q may be %q or %q; name one in full", t.lines[0].number, name, t.columns[at].name, t.columns[i].name)
				}
				at = i
			}
		}
		if at >= 0 {
			return at, nil
		}
	}
	var all []string
	for _, c := range t.columns {
		all = append(all, c.name)
	}
	return 0, fmt.Errorf("line %d: no column %q; there are %s", t.lines[0].number, name, clip60(all))
}

// clip60 joins the first sixty names with commas.
func clip60(all []string) string {
	if len(all) > 60 {
		all = append(slices.Clone(all[:60]), "…")
	}
	return strings.Join(all, ", ")
}

// axes returns the candidates for the time axis of the file, most likely first.
func (t *table) axes() (all []*axis, err error) {
	switch {
	case strings.EqualFold(t.o.Time, "none"):
		return nil, nil
	case t.o.Time != "":
		var columns []int
		for name := range strings.SplitSeq(t.o.Time, ",") {
			i, err := t.find(name)
			if err != nil {
				return nil, err
			}
			columns = append(columns, i)
		}
		a, err := t.named2axis(columns)
		if err != nil {
			return nil, err
		}
		return []*axis{a}, nil
	}
	if a, err := t.fromParts(); a != nil || err != nil {
		return []*axis{a}, err
	}
	var dates, clocks []int
	for i := range t.columns {
		c := &t.columns[i]
		switch {
		case c.stamps():
			dates = append(dates, i)
		case c.clocks > 0 && 5*c.clocks >= 4*c.filled && !c.numbers():
			clocks = append(clocks, i)
		case c.numbers() && t.packedDates(i) && (timeish(c.name) || t.index(i)):
			dates = append(dates, i)
		}
	}
	if err := t.datesInTurns(dates); err != nil {
		return nil, err
	}
	slices.SortStableFunc(dates, func(i, j int) int { return rank(t.columns[i].name) - rank(t.columns[j].name) })
	if len(dates) > 0 {
		i := dates[0]
		columns := []int{i}
		if !t.hasClock(i) {
			if k := slices.IndexFunc(clocks, func(k int) bool { return t.clockOfDates(k, i) }); k >= 0 {
				columns = append(columns, clocks[k])
			} else if k := t.packedClock(); k >= 0 && k != i {
				columns = append(columns, k)
			} else if k := t.countedClock(i); k >= 0 {
				columns = append(columns, k)
			}
		}
		a, err := t.named2axis(columns)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	} else {
		// A column that is named like a date but cannot be read is an error.
		for i := range t.columns {
			c := &t.columns[i]
			if t.words(i) && (slices.Contains(calendarNames, strings.ToLower(c.name)) && c.clocks < c.filled || timeish(c.name) && t.likeDates(i)) {
				return nil, t.noDate(i)
			}
		}
	}
	var unnamed error // why the numbers of a first column without a name are no times
	if len(dates) == 0 && len(clocks) > 0 && t.columns[clocks[0]].clocks == len(t.rows) {
		all = append(all, t.clock(clocks[0]))
	}
	for i := range t.columns {
		c := &t.columns[i]
		if len(dates) > 0 && slices.Contains(dates, i) || c.filled < len(t.rows) {
			continue
		}
		switch {
		case c.numbers() && (timeLike(c.name) || t.index(i) || t.unixTimes(i) && (!t.named || strings.Contains(strings.ToLower(c.name), "time"))):
			a := t.count(i)
			if a == nil {
				if len(dates) == 0 && slices.Contains(calendarNames, strings.ToLower(c.name)) {
					return nil, t.noDate(i)
				}
				continue
			}
			if len(dates) == 0 { // next to dates, numbers are no times
				err := t.wrongPart(i, a)
				if err == nil {
					err = t.undecided(i, a)
				}
				if err != nil && t.index(i) { // unless another column is one of times
					unnamed = err
					continue
				}
				if err != nil {
					return nil, err
				}
			}
			if low, high := slices.Min(a.values), slices.Max(a.values); !a.dated && low >= 1e8 && low < 1e10 && high >= 1e11 && high < 1e13 {
				k := slices.IndexFunc(a.values, func(v float64) bool { return (v >= 1e11) != (a.values[0] >= 1e11) })
				return nil, fmt.Errorf("line %d, column %s: %s and %s of line %d count from 1970 in different units, seconds and milliseconds; write all alike",
					t.rows[k].number, c.name, t.rows[k].at(i).text, t.rows[0].at(i).text, t.rows[0].number)
			}
			all = append(all, a)
		case t.labelled(i) && timeLike(c.name):
			all = append(all, t.count(i))
		}
	}
	if len(all) == 0 && unnamed != nil {
		return nil, unnamed
	}
	// So is one that looks like dates, unless there is a different axis from a count of the rows.
	if len(dates) == 0 && !slices.ContainsFunc(all, func(a *axis) bool { return a.dated || !t.index(a.columns[0]) }) {
		for i := range t.columns {
			if t.words(i) && (t.likeDates(i) || len(all) == 0 && (elapsed(t.columns[i].name) || timeLike(t.columns[i].name) && (t.numbered(i) || t.columns[i].clocks > 0))) {
				return nil, t.noDate(i)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *axis) int { // points in time before numbers that count
		switch {
		case a.dated == b.dated:
			return 0
		case a.dated:
			return -1
		}
		return 1
	})
	return all, nil
}

// index reports whether column i is the first one and has no name.
func (t *table) index(i int) bool { return i == 0 && (t.columns[i].unnamed || !t.named) }

// words reports whether column i holds neither numbers nor labels that count.
func (t *table) words(i int) bool {
	return t.columns[i].filled > 0 && !t.columns[i].numbers() && !t.labelled(i)
}

// likeDates reports whether the cells of column i look like dates in an unknown form: all have the
// same text around their numbers, which differ and one of which is a year.
func (t *table) likeDates(i int) bool {
	form := ""
	seen := map[string]bool{}
	for k := range t.rows {
		s := t.rows[k].at(i).text
		f := digits.ReplaceAllString(s, "9")
		year := false
		for _, part := range digits.FindAllString(s, -1) {
			year = year || len(part) == 4 && part >= "1500" && part < "2200"
		}
		if !year || strings.Count(f, "9") < 2 || seen[s] || k > 0 && f != form {
			return false
		}
		form, seen[s] = f, true
	}
	return len(seen) > 1
}

var digits = regexp.MustCompile(`\d+`)

// numbered reports whether every cell of column i has at least four digits.
func (t *table) numbered(i int) bool {
	return !slices.ContainsFunc(t.rows, func(l line) bool { return len(strings.Join(digits.FindAllString(l.at(i).text, -1), "")) < 4 })
}

// datesInTurns returns an error if the columns of the table are pairs of dates and numbers, as when
// every series has a column of dates of its own, and the dates of a row differ.
func (t *table) datesInTurns(dates []int) error {
	if len(dates) < 2 {
		return nil
	}
	used := slices.Clone(dates)
	slices.Sort(used)
	for x, i := range used {
		if i != used[0]+x*(used[1]-used[0]) {
			return nil
		}
	}
	if last := used[len(used)-1]; used[1]-used[0] < 2 || last == len(t.columns)-1 {
		return nil
	}
	for k := range t.rows {
		for _, i := range used[1:] {
			if x, y := t.rows[k].at(used[0]).text, t.rows[k].at(i).text; x != y {
				return fmt.Errorf("line %d: columns %d and %d both have dates, %q and %q; put every series with dates of its own into its own file, or name the column of times by Options.Time (-time)", t.rows[k].number, used[0]+1, i+1, x, y)
			}
		}
	}
	return nil
}

// noDate returns the error for column i, which has the name of a date column but holds no dates.
func (t *table) noDate(i int) error {
	// Among numbers such as years, the others are wrong.
	others := t.columns[i].numbers() && slices.ContainsFunc(cellsOf(t.rows, i), func(s string) bool {
		_, err := strconv.ParseFloat(s, 64)
		return err != nil && !t.blank(s)
	})
	for k := range t.rows {
		s := t.rows[k].at(i).text
		if _, err := strconv.ParseFloat(s, 64); t.blank(s) || err == nil && others {
			continue
		}
		if p, ok := t.stamp(i, s); !ok || !p.hasDate {
			return fmt.Errorf("line %d, column %s: %q is not a date in a known form; write dates as 2024-01-31, or name another column of times, or none, by Options.Time (-time)", t.rows[k].number, t.columns[i].name, s)
		}
	}
	return errors.New("no dates")
}

// rank returns a sort key for the name of a column of dates: 0 for a usual name, 1 for other names,
// and 2 for names of closing or end times.
func rank(name string) int {
	switch {
	case timeLike(name) && !strings.Contains(strings.ToLower(name), "local"):
		return 0
	case strings.Contains(strings.ToLower(name), "close"), strings.Contains(strings.ToLower(name), "end"):
		return 2
	}
	return 1
}

// hasClock reports whether the dates of column i include a time of day.
func (t *table) hasClock(i int) bool {
	for k := range t.rows {
		if p, ok := t.stamp(i, t.rows[k].at(i).text); ok {
			return p.hasClock
		}
	}
	return false
}

// packedDates reports whether all cells of column i are dates without separators, such as 20240131.
func (t *table) packedDates(i int) bool {
	return t.columns[i].dated == t.columns[i].filled && t.columns[i].dated > 0
}

// cellsOf returns the texts of column i.
func cellsOf(rows []line, i int) (out []string) {
	for k := range rows {
		out = append(out, rows[k].at(i).text)
	}
	return out
}

// parts maps names of columns that hold a part of a date to the name of that part.
var parts = map[string]string{"doy": "yday", "yday": "yday", "day_of_year": "yday", "dayofyear": "yday", "day of year": "yday", "jday": "yday",
	"year": "year", "yr": "year", "yyyy": "year", "jahr": "year", "año": "year", "ano": "year", "année": "year", "annee": "year", "anno": "year", "jaar": "year",
	"month": "month", "mon": "month", "mo": "month", "mm": "month", "monat": "month", "mes": "month", "mês": "month", "mois": "month", "mese": "month", "maand": "month",
	"quarter": "quarter", "qtr": "quarter", "quartal": "quarter", "q": "quarter", "trimestre": "quarter", "kwartaal": "quarter",
	"tag": "day", "día": "day", "dia": "day", "jour": "day", "giorno": "day", "dag": "day",
	"stunde": "hour", "hora": "hour", "heure": "hour", "ora": "hour", "uur": "hour", "semaine": "week", "semana": "week", "settimana": "week",
	"week": "week", "isoweek": "week", "iso_week": "week", "woche": "week", "day": "day", "dd": "day", "hour": "hour", "hr": "hour", "hh": "hour", "minute": "minute", "mi": "minute", "min": "minute", "mn": "minute"}

// partOf parses the cell s, which holds the part of a date with the given name. A month may be a
// word and a quarter may begin with Q.
func partOf(name, s string) (float64, bool) {
	if name == "month" && monthOf(s) > 0 {
		return float64(monthOf(s)), true
	}
	if name == "month" && len(s) == 3 && s[0] == 'M' { // M01 to M12
		s = s[1:]
	}
	if name == "quarter" {
		s = strings.TrimLeft(s, "Qq")
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

// fromParts returns an axis from columns that hold parts of a date: year, month, day, hour and
// minute, or year and quarter, or year and week. It returns nil if there are no such columns. A
// column with words that are not month names is not a part of a date.
func (t *table) fromParts() (*axis, error) {
	index := map[string]int{}
	for i := range t.columns {
		name := parts[strings.ToLower(t.columns[i].name)]
		if strings.EqualFold(t.columns[i].name, "period") && len(t.rows) > 0 { // M01 to M12 or Q01 to Q04
			name = map[string]string{"M": "month", "Q": "quarter"}[t.rows[0].at(i).text[:min(1, len(t.rows[0].at(i).text))]]
		}
		if _, ok := index[name]; ok || name == "" || t.columns[i].filled < len(t.rows) {
			continue
		}
		reads := 0
		for k := range t.rows {
			if _, ok := partOf(name, t.rows[k].at(i).text); ok {
				reads++
			}
		}
		if reads == len(t.rows) {
			index[name] = i
		}
	}
	list := []string{"year", "month", "day", "hour", "minute"}
	_, year := index["year"]
	_, month := index["month"]
	_, quarter := index["quarter"]
	_, week := index["week"]
	_, yday := index["yday"]
	switch {
	case !year || !month && !quarter && !week && !yday:
		return nil, nil
	case !month && yday:
		list = []string{"year", "yday", "hour", "minute"}
	case !month && quarter:
		list = []string{"year", "quarter"}
	case !month:
		list = []string{"year", "week"}
	}
	a := &axis{dated: true, how: "columns of " + strings.Join(list[:2], ", ")}
	if month || yday {
		a.how += ", …"
	}
	var names []string
	for _, name := range list {
		i, ok := index[name]
		if !ok {
			break
		}
		a.columns, a.parts = append(a.columns, i), append(a.parts, name)
		names = append(names, t.columns[i].name)
	}
	a.name = strings.Join(names, "+")
	if month {
		a.months = namesOfMonths(cellsOf(t.rows, index["month"]))
	}
	for k := range t.rows {
		part := map[string]int{"month": 1, "day": 1}
		for p, i := range a.columns {
			s := t.rows[k].at(i).text
			v, _ := partOf(a.parts[p], s)
			if v != math.Floor(v) {
				return nil, fmt.Errorf("line %d, column %s: %q is not a whole number of a date; correct it, or name the column of times by Options.Time (-time)", t.rows[k].number, t.columns[i].name, s)
			}
			part[a.parts[p]] = int(v)
			a.written = append(a.written, s)
		}
		if q, ok := part["quarter"]; ok && !month {
			part["month"] = 3*q - 2
		}
		if v, ok := part["yday"]; ok {
			first := time.Date(part["year"], 1, 1, 0, 0, 0, 0, time.UTC)
			at := first.AddDate(0, 0, v-1)
			if v < 1 || at.Year() != first.Year() {
				return nil, fmt.Errorf("line %d: %s is not a date; correct the columns %s", t.rows[k].number, strings.Join(a.written[k*len(a.parts):], ", "), a.name)
			}
			part["month"], part["day"] = int(at.Month()), at.Day()
		}
		d := time.Date(part["year"], time.Month(part["month"]), part["day"], part["hour"], part["minute"], 0, 0, time.UTC)
		fits := part["month"] >= 1 && part["month"] <= 12 && part["day"] >= 1 && part["day"] <= 31 && part["hour"] >= 0 && part["hour"] <= 24 && part["minute"] >= 0 && part["minute"] <= 59
		if w, ok := part["week"]; ok && !month && !quarter {
			d, fits = mondayOf(part["year"], w)
		}
		if !fits {
			return nil, fmt.Errorf("line %d: %s is not a date; correct the columns %s", t.rows[k].number, strings.Join(a.written[k*len(a.parts):], ", "), a.name)
		}
		a.wall = append(a.wall, float64(d.UnixMicro()))
	}
	return a, t.place(a)
}

// spellPart formats a part of the date at in the format of the cell like. names are those of the
// twelve months.
func spellPart(name string, at time.Time, like string, names []string) string {
	year, week := at.ISOWeek()
	v := map[string]int{"year": at.Year(), "month": int(at.Month()), "quarter": (int(at.Month()) + 2) / 3, "week": week, "day": at.Day(), "yday": at.YearDay(), "hour": at.Hour(), "minute": at.Minute(), "year of weeks": year}[name]
	if monthOf(like) > 0 && name == "month" {
		return monthLike(at.Month(), like, names)
	}
	digits := strings.TrimLeftFunc(like, func(r rune) bool { return r < '0' || r > '9' })
	if s := strconv.Itoa(v); digits[0] != '0' || len(s) >= len(digits) {
		return like[:len(like)-len(digits)] + s
	}
	return like[:len(like)-len(digits)] + fmt.Sprintf("%0*d", len(digits), v)
}

// named2axis returns an axis from one column of times, or from two columns for date and time of
// day.
func (t *table) named2axis(columns []int) (*axis, error) {
	i := columns[0]
	c := &t.columns[i]
	if len(columns) > 2 {
		return nil, fmt.Errorf("seriesdata: Time = %q, want a column, or those of date and time of day", t.o.Time)
	}
	if c.numbers() && !t.packedDates(i) || t.labelled(i) {
		if a := t.count(i); a != nil && len(columns) == 1 {
			return a, t.wrongPart(i, a)
		}
	}
	a := &axis{columns: columns, name: c.name, dated: true, stamps: make([]stamp, len(t.rows))}
	bad := 0
	for k := range t.rows {
		p, ok := looseStamp(t.rows[k].at(i).text)
		if !ok || !p.hasDate {
			bad++
			continue
		}
		if monthOnly.MatchString(t.rows[k].at(i).text) && strings.Contains(strings.ToLower(c.name), "week") {
			return nil, fmt.Errorf("line %d, column %s: %q is a month or a week; write a week as 2024-W05, or rename the column", t.rows[k].number, c.name, t.rows[k].at(i).text)
		}
		a.stamps[k] = p
	}
	for k := range t.rows {
		if s := t.rows[k].at(i).text; !a.stamps[k].hasDate {
			if t.blank(s) {
				return nil, fmt.Errorf("line %d, column %s: no date; write it, delete the line, or name another column of times by Options.Time (-time)", t.rows[k].number, c.name)
			}
			return nil, fmt.Errorf("line %d, column %s: %q is not a date like %d others of the column; correct it or delete the line", t.rows[k].number, c.name, s, len(t.rows)-bad)
		}
	}
	a.months = monthsIn(a.stamps)
	if err := t.seasons(a, i); err != nil {
		return nil, err
	}
	if err := t.decide(a, i); err != nil {
		return nil, err
	}
	for k := range t.rows {
		p := &a.stamps[k]
		days, _ := p.date(a.order)
		a.wall = append(a.wall, days*day+p.clock)
	}
	if len(columns) == 2 {
		j := columns[1]
		a.name += "+" + t.columns[j].name
		a.clocks = make([]stamp, len(t.rows))
		a.counted = t.counter(j)
		for k := range t.rows {
			s := t.rows[k].at(j).text
			p, ok := parseStamp(s)
			if a.counted != nil {
				p, ok = stamp{clock: a.counted.at(s), hasClock: true, layout: s}, true
			}
			if !ok || p.hasDate {
				v, good := clockOf(s, strings.Trim(strings.ToLower(t.columns[j].name), "<>"))
				if !good {
					return nil, fmt.Errorf("line %d, column %s: %q is not a time of day; write it as 15:04", t.rows[k].number, t.columns[j].name, s)
				}
				p = stamp{clock: v, hasClock: true, layout: map[bool]string{true: "15", false: map[bool]string{true: "150405", false: "1504"}[len(s) > 4]}[strings.EqualFold(t.columns[j].name, "hour")]}
			}
			a.clocks[k] = p
			a.wall[k] += p.clock
		}
	}
	t.zones(a)
	return a, t.place(a)
}

// seasons returns an error if all dates of column i may be seasons such as 2008-09, from one year to
// the next, or if months with years such as Dec 15, Dec 16 may be days.
func (t *table) seasons(a *axis, i int) error {
	for k := 1; k < len(a.stamps); k++ {
		p, q, s := &a.stamps[k-1], &a.stamps[k], t.rows[k].at(i).text
		if nameYear.MatchString(s) && p.wc == 2 && q.wc == 2 && p.b == q.b && (p.c == q.c+1 || p.c == q.c-1) {
			return fmt.Errorf("line %d, column %s: %q is a month and a year, or a month and a day; write years with four digits", t.rows[k].number, t.columns[i].name, s)
		}
	}
	for k, p := range a.stamps {
		if !monthOnly.MatchString(t.rows[k].at(i).text) || p.b != (p.c+1)%100 {
			return nil
		}
	}
	if len(a.stamps) < 2 {
		return nil
	}
	return fmt.Errorf("line %d, column %s: %q is a month or the season from %d to %d, as all of the column are; write years alone, or months as 2008-09-01", t.rows[0].number, t.columns[i].name, t.rows[0].at(i).text, a.stamps[0].c, a.stamps[0].c+1)
}

// decide sets a.order to the order of day, month and year that fits all dates of column i. It
// returns an error if no order fits or if orders disagree on a date.
func (t *table) decide(a *axis, i int) error {
	c := &t.columns[i]
	candidates := []order{"ymd", "dmy", "mdy"}
	if t.o.Dates != "" {
		candidates = []order{order(t.o.Dates)}
	}
	numeric, dots, year4 := false, true, false
	for k := range a.stamps {
		p := &a.stamps[k]
		a.padded = a.padded || p.wa == 2 && p.a < 10 || p.wb == 2 && p.b < 10 || p.wc == 2 && p.c < 10
		if !p.named {
			numeric = true
			dots = dots && strings.HasPrefix(p.marks, ".")
			year4 = year4 || p.wa == 4
		}
	}
	if !a.padded { // write two digits unless some part of the file has one digit
		a.padded = !slices.ContainsFunc(a.stamps, func(p stamp) bool { return p.wa == 1 || p.wb == 1 && !p.named || p.wc == 1 })
	}
	if !numeric {
		a.order = "dmy"
		return nil
	}
	if year4 {
		candidates = []order{"ymd"}
	}
	var last error
	furthest := -1
	var left []order
	for _, o := range candidates {
		ok := true
		for k := range a.stamps {
			p := &a.stamps[k]
			_, fits := p.date(o)
			// A part of four digits is the year, so it cannot be the day.
			if w := [3]int{p.wa, p.wb, p.wc}; !p.named && (w[0] == 4) != (o == "ymd" && (w[0] == 4)) || !p.named && w[2] == 4 && o == "ymd" {
				fits = false
			}
			if !fits {
				if ok = false; k <= furthest {
					break
				}
				furthest = k
				last = fmt.Errorf("line %d, column %s: %q is not a date of the form %s, which the other dates allow; correct it, or write all as 2024-01-31", t.rows[k].number, c.name, t.rows[k].at(i).text, words[o])
				break
			}
		}
		if ok {
			left = append(left, o)
		}
	}
	if dots && len(left) > 1 && slices.Contains(left, "dmy") {
		left = []order{"dmy"} // dates with points never begin with the month
	}
	if len(left) == 0 {
		return last
	}
	for _, o := range left[1:] {
		for k := range a.stamps {
			x, _ := a.stamps[k].date(left[0])
			y, _ := a.stamps[k].date(o)
			if x != y {
				return fmt.Errorf("line %d, column %s: %q is %s as %s and %s as %s, and no date of the column decides; say which it is by Options.Dates (-dates %s or -dates %s)",
					t.rows[k].number, c.name, t.rows[k].at(i).text, spoken(x), words[left[0]], spoken(y), words[o], left[0], o)
			}
		}
	}
	a.order = left[0]
	return nil
}

func spoken(days float64) string {
	return time.Unix(int64(days)*86400, 0).UTC().Format("2 January 2006")
}

// place converts the local times a.wall to points in time and stores them in a.values. It uses the
// zones in the cells or, if there are none, the time zone in the options. It returns an error if
// only some of the cells have a zone.
func (t *table) place(a *axis) error {
	a.values = make([]float64, len(a.wall))
	zoned := 0
	offset := func(k int) (float64, bool) {
		switch {
		case k < len(a.clocks) && a.clocks[k].zoned:
			return a.clocks[k].offset, true
		case k < len(a.stamps) && a.stamps[k].zoned:
			return a.stamps[k].offset, true
		}
		return 0, false
	}
	different := false
	for k, w := range a.wall {
		east, ok := offset(k)
		if ok {
			zoned++
		}
		if before, _ := offset(max(0, k-1)); before != east {
			different = true
		}
		if ok && zoned < k+1 || !ok && zoned > 0 {
			return fmt.Errorf("line %d: times with and without a zone in one column; write a zone behind all of them, or behind none", t.rows[k].number)
		}
		a.values[k] = w - east
	}
	switch {
	case zoned > 0 && different:
		a.zone = "zones of the file, several"
	case zoned > 0:
		east, _ := offset(0)
		a.zone = "UTC" + map[bool]string{true: "+", false: "-"}[east >= 0] + fmt.Sprintf("%02d:%02d", int(math.Abs(east)/hour), int(math.Mod(math.Abs(east), hour)/minute))
	case t.o.Location != nil:
		a.zone = t.o.Location.String()
		t.locate(a)
	}
	return nil
}

// locate converts a.wall to points in time in the zone Options.Location. A local time that occurs
// twice, when clocks go back, is read as the one that follows the previous row.
func (t *table) locate(a *axis) {
	up := a.wall[0] <= a.wall[len(a.wall)-1]
	for k, w := range a.wall {
		u := time.UnixMicro(int64(w)).UTC()
		at := func(shift float64) (v float64, same bool) {
			l := time.Date(u.Year(), u.Month(), u.Day(), u.Hour(), u.Minute(), u.Second(), u.Nanosecond(), t.o.Location)
			v = float64(l.UnixMicro()) + shift
			_, east := time.UnixMicro(int64(v)).In(t.o.Location).Zone()
			return v, v+float64(east)*second == w
		}
		v, _ := at(0)
		for _, shift := range []float64{-hour, hour} {
			other, same := at(shift)
			if !same || k == 0 {
				continue
			}
			early, late := min(v, other), max(v, other)
			if v = early; up && a.values[k-1] >= early || !up && a.values[k-1] > late {
				v = late
			}
		}
		a.values[k] = v
	}
}

// spell formats the time v in the format of row k. The result maps each column of the axis to a
// cell.
func (a *axis) spell(k int, v float64) map[int]string {
	out := map[int]string{}
	at := time.UnixMicro(int64(v)).UTC()
	if a.dated || a.stamps != nil {
		at = time.UnixMicro(int64(v + a.wall[k] - a.values[k])).UTC()
		if a.stamps != nil && a.zoned(k) {
			at = time.UnixMicro(int64(v)).In(time.FixedZone("", int((a.wall[k]-a.values[k])/second)))
		}
	}
	switch {
	case a.stamps != nil:
		if a.counted != nil {
			at, out[a.columns[1]] = a.counted.spell(at, a.clocks[k].layout)
		}
		out[a.columns[0]] = a.stamps[k].spell(a.order, at, a.padded, a.months)
		if a.written != nil {
			out[a.columns[len(a.columns)-1]] = a.written[k]
		}
		if a.clocks != nil && a.counted == nil {
			out[a.columns[1]] = a.clocks[k].spell(a.order, at, a.padded, a.months)
		}
	case a.parts != nil:
		for p, i := range a.columns {
			name := a.parts[p]
			if name == "year" && a.parts[len(a.parts)-1] == "week" {
				name = "year of weeks"
			}
			out[i] = spellPart(name, at, a.written[k*len(a.parts)+p], a.months)
		}
	case a.how == "months as 202401":
		out[a.columns[0]] = at.Format("200601")
	case a.how == "months as 2024.01":
		out[a.columns[0]] = at.Format("2006.01")
	case a.how == "quarters as 20241":
		out[a.columns[0]] = fmt.Sprint(10*at.Year() + (int(at.Month())+2)/3)
	case a.how == "weeks as 202401":
		year, week := at.ISOWeek()
		out[a.columns[0]] = fmt.Sprint(100*year + week)
	case a.scale == day:
		out[a.columns[0]] = strconv.FormatFloat(v/day+a.origin, 'f', -1, 64)
	case a.scale > 0:
		out[a.columns[0]] = strconv.FormatFloat(v/a.scale, 'f', -1, 64)
	default:
		out[a.columns[0]] = strconv.FormatFloat(v, 'f', -1, 64)
	}
	if a.comma {
		out[a.columns[0]] = strings.Replace(out[a.columns[0]], ".", ",", 1)
	}
	return out
}

func (a *axis) zoned(k int) bool {
	return a.stamps[k].zoned || a.clocks != nil && a.clocks[k].zoned
}
