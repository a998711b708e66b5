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

// across reads a file in which every row is a series and the columns are times. It reports whether
// the file has this form. The names of the columns are dates, years or consecutive numbers. A file
// without names also qualifies if neighbours in a row are closer than neighbours in a column, as in
// the UCR archive.
func (f *Frame) across(t *table) (bool, error) {
	var values, names []int
	for i := range t.columns {
		switch c := &t.columns[i]; {
		case c.numbers(), c.filled == 0 && t.named && c.full != "":
			values = append(values, i)
		case c.filled > 0:
			names = append(names, i)
		}
	}
	if len(t.o.Columns) > 0 || t.o.Time != "" {
		return false, nil
	}
	times, dated, err := t.namesAsTimes(values)
	if err != nil {
		return false, err
	}
	if named := slices.DeleteFunc(slices.Clone(values), func(i int) bool { return !t.dateName(i) }); times == nil && 2*len(named) > len(values) {
		if times, dated, err = t.namesAsTimes(named); err != nil {
			return false, err
		}
		if times != nil {
			if len(names) == 0 && !slices.Contains(named, 0) && t.numberedLines() {
				names = []int{0}
			}
			for _, i := range values {
				if !slices.Contains(named, i) && !slices.Contains(names, i) && t.columns[i].filled > 0 {
					f.LeftOut = append(f.LeftOut, Omission{t.columns[i].name, "numbers of a whole line, besides those of its times"})
				}
			}
			values = named
		}
	}
	stamped := !slices.ContainsFunc(names, func(i int) bool { return !t.columns[i].stamps() })
	switch {
	case times != nil && stamped && len(names) > 0 && !t.dateName(values[0]):
		return false, nil // one row per day, and channels whose names are numbers
	case times != nil && len(names) > 0 && !slices.ContainsFunc(names, func(i int) bool { return !timeLike(t.columns[i].name) || counts(t.columns[i].name) || t.plainWords(i) }):
		return false, nil // days of a year, which are written without one
	case times != nil && len(names) > 0:
		if err := t.yearsInTurns(values, times); err != nil {
			return false, err
		}
	case times == nil && !t.named && len(names) == 0 && t.unlabelled(values):
		names, values = values[:1], values[1:]
		for k := range values {
			times = append(times, float64(k+1))
		}
		f.Notes = append(f.Notes, "every line is a series and its first cell a label, since numbers next to each other in lines are closer than those in columns")
	default:
		return false, t.yearsOfQuantities(values, names)
	}
	read, style, unit, stand, err := t.read(values)
	if err != nil {
		return false, err
	}
	// Names that differ; others say the same of all.
	var by []int
	for _, i := range names {
		c := &t.columns[i]
		if !t.named || len(t.rows) == 1 || slices.ContainsFunc(t.rows, func(l line) bool { return l.at(i).text != t.rows[0].at(i).text }) {
			by = append(by, i)
		} else {
			f.LeftOut = append(f.LeftOut, Omission{c.name, "the same words everywhere: " + clip(t.rows[0].at(i).text)})
		}
	}
	for i := range t.columns {
		if t.columns[i].filled == 0 && !slices.Contains(values, i) {
			f.LeftOut = append(f.LeftOut, Omission{t.columns[i].name, "no values"})
		}
	}
	groups := t.by(by)
	if len(by) == 0 || len(groups) < len(t.rows) {
		if t.named {
			name := repeatedName(groups)
			if len(by) == 0 {
				name = t.rows[0].at(names[0]).text
			}
			return false, fmt.Errorf("line %d: lines are series, for the columns are times, but two of them have the same name %q; give every line a name of its own", t.rows[0].number, name)
		}
		groups = nil
		for k := range t.rows {
			groups = append(groups, group{name: fmt.Sprintf("%d (label %s)", k+1, t.rows[k].at(names[0]).text), rows: []int{k}})
		}
	}
	f.layout.across, f.layout.dated, f.layout.newest = true, dated, len(times) > 1 && times[0] > times[1]
	rule := gridOf(dated, [][]float64{sorted(times)}, [][]float64{sorted(times)})
	at := sorted(times)
	for k := 1; k < len(at); k++ {
		if gap := rule.between(at[k-1], at[k]); len(gap) > 0 {
			i := values[slices.Index(times, at[k])]
			return false, fmt.Errorf("line %d, column %s: at a step of %s, %d columns are left out before this time; add them with blank cells", t.lines[0].number, t.columns[i].full, rule.name, len(gap))
		}
	}
	f.Channels = []Channel{{Name: "value", Unit: unit, Stand: stand, style: style}}
	f.Time = Time{Column: "the names of columns", Order: "oldest first", Step: rule.name}
	if f.layout.newest {
		f.Time.Order = "newest first"
	}
	if !t.named {
		f.Time.Column = ""
	}
	order := make([]int, len(times))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return sign(times[i] - times[j]) })
	for k, g := range groups {
		e := Entity{Name: g.name}
		for _, i := range order {
			e.Times, e.Lines = append(e.Times, times[i]), append(e.Lines, t.rows[k].number)
			e.Values, e.at = append(e.Values, read[i][k]), append(e.at, place{k, values[i]})
		}
		// Drop missing values at the end of a shorter series.
		for n := len(e.Values); n > 1 && math.IsNaN(e.Values[n-1]) && !t.named; n-- {
			e.Times, e.Lines, e.Values, e.at = e.Times[:n-1], e.Lines[:n-1], e.Values[:n-1], e.at[:n-1]
		}
		f.Entities = append(f.Entities, e)
	}
	return true, nil
}

// nested reads a file with a row for every year and a column for every month, or a row for every
// day and a column for every time of day. It reports whether the file has this form. Columns of
// words may identify several series.
func (f *Frame) nested(t *table) (bool, error) {
	if !t.named || len(t.o.Columns) > 0 || t.o.Time != "" {
		return false, nil
	}
	a, columns, parts, shift := t.nesting()
	if a == nil {
		return false, nil
	}
	var by []int
	for i := range t.columns {
		c := &t.columns[i]
		switch {
		case slices.Contains(columns, i) || slices.Contains(a.columns, i):
		case c.filled == 0:
			f.LeftOut = append(f.LeftOut, Omission{c.name, "no values"})
		case c.numbers():
			f.LeftOut = append(f.LeftOut, Omission{c.name, "numbers of a whole line, besides those of " + parts})
		case t.varies(i):
			by = append(by, i)
		default:
			f.LeftOut = append(f.LeftOut, Omission{c.name, "the same words everywhere: " + clip(t.rows[0].at(i).text)})
		}
	}
	groups := t.by(by)
	if err := t.twice(a, groups); err != nil {
		return false, fmt.Errorf("%w; delete one of them, or add a column that tells series apart", err)
	}
	read, style, unit, stand, err := t.read(columns)
	if err != nil {
		return false, err
	}
	f.Channels = []Channel{{Name: "value", Unit: unit, Stand: stand, style: style}}
	f.layout.across, f.layout.dated = true, true
	up, down := 0, 0
	for _, g := range groups {
		for x := 1; x < len(g.rows); x++ {
			if a.values[g.rows[x]] > a.values[g.rows[x-1]] {
				up++
			} else {
				down++
			}
		}
		slices.SortFunc(g.rows, func(i, j int) int { return sign(a.values[i] - a.values[j]) })
		e := Entity{Name: g.name}
		for _, k := range g.rows {
			from := time.UnixMicro(int64(a.values[k])).UTC()
			for x, i := range columns {
				at := a.values[k] + shift + float64(x)*day/float64(len(columns))
				if parts == "days" {
					if date := from.AddDate(0, 0, x); date.Month() == from.Month() {
						at = float64(date.UnixMicro())
					} else if t.blank(t.rows[k].at(i).text) {
						continue
					} else {
						return false, fmt.Errorf("line %d, column %s: %q, but %s has no such day; delete the cell", t.rows[k].number, t.columns[i].full, t.rows[k].at(i).text, from.Format("January 2006"))
					}
				}
				if parts == "months" || parts == "quarters" {
					at = float64(from.AddDate(0, x*12/len(columns), 0).UnixMicro())
				}
				e.Times, e.Lines = append(e.Times, at), append(e.Lines, t.rows[k].number)
				e.Values, e.at = append(e.Values, read[x][k]), append(e.at, place{k, i})
			}
		}
		f.Entities = append(f.Entities, e)
	}
	f.Time = Time{Column: a.name + " and the names of columns", Order: "oldest first"}
	switch {
	case up > 0 && down > 0:
		f.Time.Order = "sorted"
	case down > 0:
		f.Time.Order, f.layout.newest = "newest first", true
	}
	for _, e := range f.Entities {
		rule := gridOf(true, [][]float64{e.Times}, [][]float64{e.Times})
		for r := 1; r < len(e.Times); r++ {
			if gap := rule.between(e.Times[r-1], e.Times[r]); len(gap) > 0 {
				return false, fmt.Errorf("line %d: no line for the %d %s before it; add lines with blank cells for them", e.Lines[r], len(gap), parts)
			}
		}
		f.Time.Step = rule.name
	}
	f.Notes = append(f.Notes, fmt.Sprintf("columns %s to %s are the %s of a line", t.columns[columns[0]].full, t.columns[columns[len(columns)-1]].full, parts))
	return true, nil
}

// counts reports whether name is that of a column that numbers rows, such as id.
func counts(name string) bool {
	return slices.Contains([]string{"id", "no", "index", "step"}, strings.ToLower(name))
}

// numberedLines reports whether the first column has a number of its own for every line, such as that
// of a store or a postcode, and is not one of times. A column named like one of entities may repeat
// numbers, which is an error later.
func (t *table) numberedLines() bool {
	c, seen := &t.columns[0], map[string]bool{}
	for k := range t.rows {
		s := t.rows[k].at(0).text
		if seen[s] && !entityLike(c.name) || strings.Trim(s, "0123456789") != "" || s == "" {
			return false
		}
		seen[s] = true
	}
	return t.named && !c.unnamed && parts[strings.ToLower(c.name)] == "" && (!timeish(c.name) || strings.EqualFold(c.name, "id"))
}

// plainWords reports whether no cell of column i has a digit or is a month.
func (t *table) plainWords(i int) bool {
	return !slices.ContainsFunc(t.rows, func(l line) bool {
		return strings.ContainsAny(l.at(i).text, "0123456789") || monthOf(l.at(i).text) > 0
	})
}

// varies reports whether the cells of column i are not all equal.
func (t *table) varies(i int) bool {
	return slices.ContainsFunc(t.rows, func(l line) bool { return l.at(i).text != t.rows[0].at(i).text })
}

// quarterName matches the name of a column of quarters.
var quarterName = regexp.MustCompile(`^(?i)(?:q|qtr|quarter|t)[ _]?[1-4]$`)

// nesting returns an axis from the column of years or days, and the columns of their months or
// times of day. parts describes these columns, and shift is the time of day of the first one. The
// axis is nil if the table has no such columns.
func (t *table) nesting() (a *axis, columns []int, parts string, shift float64) {
	var outer, months, quarters, counted, clocks []int
	var begins []float64
	prefix := ""
	for i := range t.columns {
		c := &t.columns[i]
		word := strings.TrimRight(c.full, "0123456789")
		n, err := strconv.Atoi(c.full[len(word):])
		p, isStamp := parseStamp(c.full)
		switch {
		case c.stamps(), (c.numbers() || t.packedDates(i)) && timeLike(c.name):
			outer = append(outer, i)
		case monthOf(c.full) > 0:
			if monthOf(c.full) == len(months)+1 {
				months = append(months, i)
			}
		case quarterName.MatchString(c.full):
			if c.full[len(c.full)-1] == byte('1'+len(quarters)) {
				quarters = append(quarters, i)
			}
		case isStamp && !p.hasDate:
			clocks, begins = append(clocks, i), append(begins, p.clock)
		case err == nil && countsTimes(word) && (len(counted) == 0 && n <= 1 || len(counted) > 0 && word == prefix && n == len(counted)+first0(t.columns[counted[0]].full)):
			prefix = word
			counted = append(counted, i)
		}
	}
	if len(outer) == 2 && len(counted) == 31 {
		if a, err := t.fromParts(); err == nil && a != nil && slices.Equal(a.parts, []string{"year", "month"}) {
			return a, counted, "days", 0
		}
	}
	if len(outer) != 1 {
		return nil, nil, "", 0
	}
	i := outer[0]
	if t.columns[i].numbers() && !t.packedDates(i) {
		if a = t.count(i); a == nil || a.how != "years" || len(quarters) != 4 && !slices.ContainsFunc([][]int{months, counted}, func(x []int) bool { return len(x) == 12 }) {
			return nil, nil, "", 0
		}
		if len(quarters) == 4 {
			return a, quarters, "quarters", 0
		}
		if len(months) == 12 {
			return a, months, "months", 0
		}
		return a, counted, "months", 0
	}
	if t.hasClock(i) {
		return nil, nil, "", 0
	}
	for k, at := range begins { // check that the times start at midnight, or a step later, and have equal steps
		step := day / float64(len(begins))
		if k == 0 && math.Abs(at-step) <= second {
			shift = step
		}
		if math.Abs(at-shift-float64(k)*step) > second {
			clocks = nil
		}
	}
	for _, columns := range [][]int{clocks, counted} {
		if len(clocks) == 0 {
			shift = 0
		}
		if slices.Contains(partsOfDay, len(columns)) || len(columns) > 1 && len(clocks) > 0 {
			if a, err := t.named2axis([]int{i}); err == nil {
				return a, columns, fmt.Sprintf("%d times of the day", len(columns)), shift
			}
		}
	}
	return nil, nil, "", 0
}

// countsTimes reports whether columns named by word and a number are months or times of day rather
// than channels.
func countsTimes(word string) bool {
	word = strings.ToLower(strings.Trim(word, " _-"))
	return slices.Contains([]string{"", "m", "month", "monat", "h", "he", "hr", "hour", "t", "time", "p", "period", "interval", "int", "slot", "qh", "hh", "sp"}, word)
}

// first0 returns the number at the end of a name.
func first0(name string) int {
	v, _ := strconv.Atoi(name[len(strings.TrimRight(name, "0123456789")):])
	return v
}

func sign(v float64) int {
	switch {
	case v < 0:
		return -1
	case v > 0:
		return 1
	}
	return 0
}

func sorted(x []float64) []float64 {
	x = slices.Clone(x)
	slices.Sort(x)
	return x
}

func repeatedName(groups []group) string {
	for _, g := range groups {
		if len(g.rows) > 1 {
			return g.name
		}
	}
	return ""
}

// leastAcross is the minimum number of columns of a file whose rows are taken as series without a
// header of dates or years.
const leastAcross = 12

// dateName reports whether the name of column i is a date or a year.
func (t *table) dateName(i int) bool {
	return timeName(t.columns[i].full)
}

// periodName matches a period as a number: a month 202401 or 2024.01, a quarter 20241, or a week
// 202453.
var periodName = regexp.MustCompile(`^(1[5-9]\d{2}|2[01]\d{2})(\.?\d{2}|[1-4])$`)

// timeName reports whether the name of a column is a date, a year or a period.
func timeName(name string) bool {
	p, ok := parseStamp(plainDate(name))
	return ok && p.hasDate || yearOf(name) > 0 || periodName.MatchString(name)
}

// yearLabel matches a name that is a year, also as R (X2020), the World Bank (2020 [YR2020]) and
// companies (FY2020, FY2020E for an estimate, FY20, 2019/20) write it.
var yearLabel = regexp.MustCompile(`^(?i)(?:x|y|yr|fy ?)?(\d{4})(?: ?\[yr\d{4}\]|[aef]|/(\d{2}|\d{4}))?$|^(?i)fy ?'?(\d{2})[aef]?$`)

// yearOf returns the year that the name of a column is, or 0.
func yearOf(name string) int {
	m := yearLabel.FindStringSubmatch(name)
	switch {
	case m == nil:
		return 0
	case m[3] != "": // two digits
		return 1970 + (atoi(m[3])+30)%100
	case m[1] < "1500" || m[1] >= "2200":
		return 0
	case m[2] != "" && atoi(m[2])%100 != (atoi(m[1])+1)%100: // from one year to the next
		return 0
	}
	return atoi(m[1])
}

// yearsInTurns returns an error if the names of the columns are years, but not those of one quantity
// in their order, as when X2020 and Y2020 take turns. times holds the times that the names mean.
func (t *table) yearsInTurns(columns []int, times []float64) error {
	prefix := ""
	for k, i := range columns {
		name := t.columns[i].full
		if yearOf(name) == 0 {
			return nil
		}
		word := name[:strings.IndexAny(name, "0123456789")]
		if k == 0 {
			prefix = word
			continue
		}
		why, before := "", t.columns[columns[k-1]].full
		switch d := sign(times[k] - times[k-1]); {
		case !strings.EqualFold(word, prefix):
			why = "another word in front of the year than in"
		case d == 0:
			why = "the same year as"
		case d != sign(times[1]-times[0]):
			why = "a year out of order behind"
		default:
			continue
		}
		return fmt.Errorf("line %d, column %s: %s column %s; keep the columns of one quantity, alike in name and in order of years, and put others into their own file", t.lines[0].number, name, why, before)
	}
	return nil
}

// yearInName matches a name with a year in it.
var yearInName = regexp.MustCompile(`(?:^|[^\d.])((?:19|20)\d{2})(?:[^\d.]|$)`)

// yearsOfQuantities returns an error if the names of the columns, behind one of words, are those of
// quantities with years, such as GDP 2021, GDP 2022, CPI 2021, ….
func (t *table) yearsOfQuantities(columns, words []int) error {
	if !t.named || len(columns) < 3 || len(words) == 0 {
		return nil
	}
	for _, i := range words {
		if timeLike(t.columns[i].name) && !t.plainWords(i) || t.columns[i].stamps() || t.columns[i].clocks > 0 {
			return nil
		}
	}
	seen := map[string]bool{}
	for _, i := range columns {
		m := yearInName.FindStringSubmatch(t.columns[i].full)
		if m == nil {
			return nil
		}
		seen[m[1]] = true
	}
	if len(seen) < 2 && !slices.ContainsFunc(columns, func(i int) bool { return monthIn(t.columns[i].full) }) {
		return nil
	}
	name := t.columns[columns[0]].full
	return fmt.Errorf("line %d, column %s: the names of columns have times besides other words; write a row for every time, or the columns of one quantity into a file, named by their times alone", t.lines[0].number, name)
}

// monthIn reports whether a word of the name is that of a month.
func monthIn(name string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '_' || r == '-' }), func(s string) bool { return monthOf(s) > 0 })
}

// plainDate returns the date in the name of a column as it was before R changed it.
func plainDate(name string) string {
	if len(name) > 1 && name[0] == 'X' && name[1] >= '0' && name[1] <= '9' {
		return strings.ReplaceAll(name[1:], ".", "/")
	}
	return name
}

// dateTexts returns the names of columns as dates are written, if all are periods as numbers.
func (t *table) dateTexts(columns []int) []string {
	texts := make([]string, len(columns))
	forms := []string{"%s-%s", "%s-W%s", "%sQ%s"} // month, week and quarter
	fits := []bool{true, true, true}
	for k, i := range columns {
		name := t.columns[i].full
		texts[k] = plainDate(name)
		m := periodName.FindStringSubmatch(name)
		for f, form := range forms {
			if fits[f] = fits[f] && m != nil; fits[f] {
				_, fits[f] = parseStamp(fmt.Sprintf(form, m[1], strings.TrimPrefix(m[2], ".")))
				fits[f] = fits[f] && len(m[2]) == 1 == (f == 2)
			}
		}
	}
	if f := slices.Index(fits, true); f >= 0 {
		for k, i := range columns {
			m := periodName.FindStringSubmatch(t.columns[i].full)
			texts[k] = fmt.Sprintf(forms[f], m[1], strings.TrimPrefix(m[2], "."))
		}
	}
	return texts
}

// namesAsTimes returns the times that the names of the columns mean, or nil if they are not times.
// dated tells whether they are points in time.
func (t *table) namesAsTimes(columns []int) (times []float64, dated bool, err error) {
	if !t.named || len(columns) < 2 {
		return nil, false, nil
	}
	dates, years, numbered, prefix := true, true, true, ""
	texts := t.dateTexts(columns)
	for k, i := range columns {
		name := t.columns[i].full
		p, ok := parseStamp(texts[k])
		dates = dates && ok && p.hasDate
		word := strings.TrimRight(name, "0123456789")
		v, err := strconv.Atoi(name[len(word):])
		years = years && yearOf(name) > 0
		if k == 0 {
			prefix = word
		}
		numbered = numbered && err == nil && word == prefix
		times = append(times, float64(v))
	}
	steps := func() bool {
		for k := 1; k < len(times); k++ {
			if d := times[k] - times[k-1]; d == 0 || d != times[1]-times[0] {
				return false
			}
		}
		return true
	}
	switch {
	case years:
		for k, i := range columns {
			times[k] = float64(time.Date(yearOf(t.columns[i].full), 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro())
		}
		return times, true, nil
	case dates:
		h := line{number: t.lines[0].number, cells: make([]cell, len(t.columns))}
		var l []line
		for _, text := range texts {
			c := h
			c.cells = []cell{{text: text}}
			l = append(l, c)
		}
		head := &table{document: t.document, o: t.o, columns: []column{{name: "names of columns"}}, rows: l}
		head.classify()
		a, err := head.named2axis([]int{0})
		if err != nil {
			return nil, false, err
		}
		return a.values, true, nil
	case numbered && (len(columns) >= leastAcross || weekLike(strings.ToLower(prefix)) || slices.Contains([]string{"kw", "cw", "wk"}, strings.ToLower(strings.Trim(prefix, " _-")))) && steps():
		return times, false, nil
	}
	return nil, false, nil
}

// unlabelled reports whether the rows of a table without names are series that each begin with a
// label. The first column must have few different whole numbers, and changes along rows must be
// small compared with changes along columns.
func (t *table) unlabelled(columns []int) bool {
	if len(columns) < leastAcross || len(t.rows) < 2 || columns[0] != 0 {
		return false
	}
	labels := map[string]bool{}
	for k := range t.rows {
		s := t.rows[k].at(0).text
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || v != math.Floor(v) || math.Abs(v) > 1000 {
			return false
		}
		labels[s] = true
	}
	if len(labels) > max(2, len(t.rows)/2) {
		return false
	}
	along, across, n, m := 0.0, 0.0, 0, 0
	for k := range t.rows {
		for x, i := range columns[1:] {
			v, err := strconv.ParseFloat(t.rows[k].at(i).text, 64)
			if err != nil || v != v {
				continue
			}
			if x > 0 {
				if w, err := strconv.ParseFloat(t.rows[k].at(columns[x]).text, 64); err == nil && w == w {
					along += (v - w) * (v - w)
					n++
				}
			}
			if k > 0 {
				if w, err := strconv.ParseFloat(t.rows[k-1].at(i).text, 64); err == nil && w == w {
					across += (v - w) * (v - w)
					m++
				}
			}
		}
	}
	return n > 0 && m > 0 && along/float64(n) < across/float64(m)
}

// variableNames lists common names of a column that names the channel of each row.
var variableNames = []string{"variable", "parameter", "metric", "measure", "indicator", "field", "attribute", "key", "feature", "channel", "quantity", "element", "tag", "signal", "param", "var", "measurement", "indicator_name", "series_name"}

// variable returns the column that names the channel of every row, or −1 if there is none. There
// must be exactly one column of values.
func (t *table) variable(a *axis) int {
	if a == nil {
		return -1
	}
	at := -1
	values := 0
	for i := range t.columns {
		c := &t.columns[i]
		switch {
		case slices.Contains(a.columns, i):
		case !c.numbers() && c.filled == len(t.rows) && slices.Contains(variableNames, strings.ToLower(c.name)):
			at = i
		case c.numbers() && !entityLike(c.name) && !(c.unnamed && t.named):
			values++
		}
	}
	if values != 1 {
		return -1
	}
	return at
}

// longGroups divides the rows of a table in long format by the channel column v, and by an entity
// column if times still repeat. It returns the groups and these columns.
func (t *table) longGroups(a *axis, v int) ([]group, []int, error) {
	if g := t.by([]int{v}); t.twice(a, g) == nil {
		return g, []int{v}, nil
	}
	for _, i := range t.labels(a, true) {
		if i == v {
			continue
		}
		if g := t.by([]int{i, v}); t.twice(a, g) == nil {
			return g, []int{i, v}, nil
		}
	}
	g := t.by([]int{v})
	return nil, nil, fmt.Errorf("%w; delete one of them, or name the column that tells series apart by Options.Entity (-entity)", t.twice(a, g))
}

// tall reads a file in long format, in which a column names the channel of every row. It reports
// whether the file has this form.
func (f *Frame) tall(t *table, a *axis, by []int) (bool, error) {
	v := t.variable(a)
	if v < 0 || !slices.Contains(by, v) {
		return false, nil
	}
	value := -1
	for i := range t.columns {
		c := &t.columns[i]
		switch {
		case slices.Contains(a.columns, i) || slices.Contains(by, i):
		case c.numbers() && value < 0 && !entityLike(c.name) && !(c.unnamed && t.named):
			value = i
		case c.filled == 0:
			f.LeftOut = append(f.LeftOut, Omission{c.name, "no values"})
		case c.numbers():
			f.LeftOut = append(f.LeftOut, Omission{c.name, "numbers that name or count the rows"})
		default:
			f.LeftOut = append(f.LeftOut, Omission{c.name, "words"})
		}
	}
	entity := -1
	for _, i := range by {
		if i != v {
			entity = i
		}
	}
	f.layout.long, f.layout.variable, f.layout.of, f.layout.value = true, v, entity, value
	// Every quantity may have its own number format and units, so each is read as a separate
	// table.
	quantities := t.by([]int{v})
	owners := []group{{rows: nil}}
	for k := range t.rows {
		owners[0].rows = append(owners[0].rows, k)
	}
	if entity >= 0 {
		owners = t.by([]int{entity})
	}
	if err := f.merge(t, a, owners); err != nil {
		return false, err
	}
	index := make([]map[float64]int, len(owners))
	owner := make([]int, len(t.rows))
	for e := range f.Entities {
		index[e] = map[float64]int{}
		for r, at := range f.Entities[e].Times {
			index[e][at] = r
		}
		for _, k := range owners[e].rows {
			owner[k] = e
		}
		n := len(f.Entities[e].Times) * len(quantities)
		f.Entities[e].Values, f.Entities[e].at = make([]float64, n), make([]place, n)
		for i := range n {
			f.Entities[e].Values[i], f.Entities[e].at[i] = math.NaN(), place{line: -1}
		}
	}
	for c, q := range quantities {
		part := *t
		part.rows = nil
		for _, k := range q.rows {
			part.rows = append(part.rows, t.rows[k])
		}
		name, unit := unitOf(q.name)
		read, style, u, stand, err := part.read([]int{value})
		if err != nil {
			return false, err
		}
		if unit == "" {
			unit = u
		}
		f.Channels = append(f.Channels, Channel{Name: name, Unit: unit, Stand: stand, style: style})
		for x, k := range q.rows {
			e := &f.Entities[owner[k]]
			r := index[owner[k]][a.values[k]]
			e.Values[r*len(quantities)+c], e.at[r*len(quantities)+c] = read[0][x], place{k, value}
		}
	}
	f.Notes = append(f.Notes, fmt.Sprintf("long: %s names the channel of every row, %s has its value", t.columns[v].name, t.columns[value].name))
	return true, nil
}

// merge builds the time axis of a table in long format. A time that occurs once for every channel
// becomes a single time of its entity.
func (f *Frame) merge(t *table, a *axis, owners []group) error {
	once := make([]group, len(owners))
	for g := range owners {
		seen := map[float64]bool{}
		once[g].name = owners[g].name
		for _, k := range owners[g].rows {
			if !seen[a.values[k]] {
				seen[a.values[k]] = true
				once[g].rows = append(once[g].rows, k)
			}
		}
	}
	return f.time(t, a, once)
}
