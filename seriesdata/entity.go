package seriesdata

import (
	"fmt"
	"slices"
	"strings"
)

// group holds the rows of one series, in the order of the file.
type group struct {
	name string
	rows []int
}

// entityNames lists common names of columns that identify series, in lower case.
var entityNames = []string{"ticker", "symbol", "stock", "sym", "tic", "name", "entity", "series", "unique_id", "station", "station_id", "site", "sensor", "sensor_id", "device", "device_id", "store", "store_nbr", "store_id", "shop", "shop_id", "item", "item_id", "product", "product_id", "country", "region", "state", "city", "location", "asset", "pair", "instrument", "isin", "cusip", "permno", "gvkey", "meter", "meter_id", "household", "patient", "patient_id", "subject", "machine", "unit_id", "group", "id", "code", "iso", "iso2", "iso3", "geo", "country_code", "zone", "area", "building_id", "family", "dept", "department", "aktie", "<ticker>"}

// entityEnds lists suffixes of names of numeric columns that may identify series. They count only
// if times repeat. Otherwise a column such as weather_code is a channel.
var entityEnds = []string{"_id", "_nbr", "_code", "_key", "_no", " id", " code"}

func entityLike(name string) bool {
	return slices.Contains(entityNames, strings.ToLower(strings.TrimSpace(name)))
}

func entityEnd(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	return slices.ContainsFunc(entityEnds, func(s string) bool { return strings.HasSuffix(name, s) })
}

// split divides the rows into series. by lists the columns that identify the series.
func (t *table) split(a *axis) (groups []group, by []int, err error) {
	all := make([]int, len(t.rows))
	for k := range all {
		all[k] = k
	}
	one := []group{{rows: all}}
	if strings.EqualFold(t.o.Entity, "none") {
		return one, nil, t.twice(a, one)
	}
	if t.o.Entity != "" {
		for name := range strings.SplitSeq(t.o.Entity, ",") {
			i, err := t.find(name)
			if err != nil {
				return nil, nil, err
			}
			by = append(by, i)
		}
		groups = t.by(by)
		return groups, by, t.twice(a, groups)
	}
	repeated := t.twice(a, one) != nil
	if repeated {
		t.carry()
	}
	labels := t.labels(a, repeated)
	if a == nil {
		for _, i := range labels {
			if g := t.by([]int{i}); entityLike(t.columns[i].name) && len(g) > 1 && least(g) > 1 || blocks(g) || turns(g) {
				return g, []int{i}, nil
			}
		}
		return one, nil, nil
	}
	if repeated {
		return t.repeats(a, one, labels)
	}
	for _, i := range labels {
		if g := t.by([]int{i}); a.dated && turns(g) && least(g) > 2 && !entityLike(t.columns[i].name) && !slices.ContainsFunc(g, func(g group) bool { return periodic(g.name) }) {
			return nil, nil, fmt.Errorf("line %d, column %s: its words %s, … take turns: they name series, or describe the rows of one; say which by Options.Entity (-entity %s, or -entity none)", t.rows[0].number, t.columns[i].name, clip60([]string{g[0].name, g[1].name}), t.columns[i].name)
		}
	}
	for _, i := range labels {
		g := t.by([]int{i})
		if len(g) == 1 && entityLike(t.columns[i].name) && !t.columns[i].numbers() {
			return g, []int{i}, nil
		}
		if least(g) > 1 && len(g) > 1 && (entityLike(t.columns[i].name) || blocks(g) && t.restarts(a, g)) {
			return g, []int{i}, nil
		}
	}
	return one, nil, nil
}

// repeats divides the rows into series if times repeat. It looks for one or more of the columns in
// labels such that no time repeats within a series. one is the group of all rows.
func (t *table) repeats(a *axis, one []group, labels []int) ([]group, []int, error) {
	for _, i := range labels {
		if g := t.by([]int{i}); t.twice(a, g) == nil && len(g) < len(t.rows) {
			return g, []int{i}, nil
		}
	}
	for x, i := range labels {
		for _, j := range labels[x+1:] {
			if g := t.by([]int{i, j}); t.twice(a, g) == nil && len(g) < len(t.rows) {
				return g, []int{i, j}, nil
			}
		}
	}
	if len(labels) > 2 {
		if g := t.by(labels[:min(4, len(labels))]); t.twice(a, g) == nil && len(g) < len(t.rows) {
			return g, labels[:min(4, len(labels))], nil
		}
	}
	err := t.twice(a, one)
	// The times start again, but no column identifies the series.
	if len(labels) == 0 {
		if g := t.runs(a); len(g) > 1 {
			t.notes = append(t.notes, fmt.Sprintf("%d series, since times begin again %d times", len(g), len(g)-1))
			return g, nil, nil
		}
	}
	if labels != nil {
		for _, i := range labels { // report a time that repeats within one of the series
			if e := t.twice(a, t.by([]int{i})); e != nil && entityLike(t.columns[i].name) {
				err = e
				break
			}
		}
		return nil, nil, fmt.Errorf("%w, and no column of words tells them apart; delete one of the lines, or name the column that does by Options.Entity (-entity)", err)
	}
	return nil, nil, fmt.Errorf("%w; delete one of them, add a column that tells series apart, or give the place of clocks that go back by Options.Location (-zone)", err)
}

// labels returns the columns that may identify series, those with a usual name first. These are
// columns of words, and columns of whole numbers with a suitable name. repeated tells whether times
// repeat.
func (t *table) labels(a *axis, repeated bool) []int {
	var out []int
	for i := range t.columns {
		c := &t.columns[i]
		if len(t.o.Columns) > 0 && t.asked(i) {
			continue
		}
		if a != nil && slices.Contains(a.columns, i) || c.filled == 0 || c.unnamed && t.named && c.numbers() && (i > 0 || t.consecutive(i)) {
			continue
		}
		isTime := c.dated+c.clocks > 0 && 2*(c.dated+c.clocks) > c.filled
		if c.numbers() && (entityLike(c.name) || repeated && (entityEnd(c.name) || t.index(i))) && t.whole(i) || !c.numbers() && !isTime && (c.filled == len(t.rows) || repeated && entityLike(c.name) && t.written(i)) {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(i, j int) int {
		return entityRank(t.columns[i].name) - entityRank(t.columns[j].name)
	})
	return out
}

// written reports whether no cell of column i is blank. NA may be the code of Namibia.
func (t *table) written(i int) bool {
	return !slices.ContainsFunc(t.rows, func(l line) bool { return l.at(i).text == "" })
}

// carry repeats the names in a column of entities that has a name only in the first row of every
// series, as pandas and spreadsheets write an index of two levels.
func (t *table) carry() {
	for i := range t.columns {
		c := &t.columns[i]
		if !entityLike(c.name) || c.numbers() || t.written(i) || t.rows[0].at(i).text == "" {
			continue
		}
		seen := map[string]bool{}
		once := true
		for k := range t.rows {
			s := t.rows[k].at(i).text
			once = once && !seen[s]
			seen[s] = s != ""
		}
		if !once || len(seen) < 3 {
			continue
		}
		last := ""
		t.rows = slices.Clone(t.rows)
		for k := range t.rows {
			l := &t.rows[k]
			l.cells = slices.Clone(l.cells)
			for len(l.cells) <= i {
				l.cells = append(l.cells, l.at(len(l.cells)))
			}
			if l.cells[i].text == "" {
				l.cells[i].text = last
			}
			last = l.cells[i].text
		}
		t.notes = append(t.notes, fmt.Sprintf("column %s: a blank cell has the name above it", c.name))
		t.classify()
	}
}

// asked reports whether Options.Columns names column i.
func (t *table) asked(i int) bool {
	for _, name := range t.o.Columns {
		if k, err := t.find(name); err == nil && k == i {
			return true
		}
	}
	return false
}

func entityRank(name string) int {
	if entityLike(name) {
		return 0
	}
	return 1
}

// whole reports whether all cells of column i consist of digits only.
func (t *table) whole(i int) bool {
	for k := range t.rows {
		s := t.rows[k].at(i).text
		if s == "" || strings.Trim(s, "0123456789") != "" {
			return false
		}
	}
	return true
}

// by groups the rows by the texts in the given columns.
func (t *table) by(columns []int) []group {
	index := map[string]int{}
	var groups []group
	for k := range t.rows {
		var parts []string
		for _, i := range columns {
			parts = append(parts, t.rows[k].at(i).text)
		}
		name := strings.Join(parts, "/")
		g, ok := index[name]
		if !ok {
			g = len(groups)
			index[name] = g
			groups = append(groups, group{name: name})
		}
		groups[g].rows = append(groups[g].rows, k)
	}
	return groups
}

// least returns the number of rows of the smallest group.
func least(groups []group) int {
	n := len(groups[0].rows)
	for _, g := range groups {
		n = min(n, len(g.rows))
	}
	return n
}

// blocks reports whether there are several groups and each consists of at least two adjacent rows.
func blocks(groups []group) bool {
	for _, g := range groups {
		if n := len(g.rows); n < 2 || g.rows[n-1]-g.rows[0] != n-1 {
			return false
		}
	}
	return len(groups) > 1
}

// turns reports whether there are several groups that alternate in a fixed order, row by row,
// through the whole file.
func turns(groups []group) bool {
	n := len(groups)
	for i, g := range groups {
		if len(g.rows) < 2 {
			return false
		}
		for k, row := range g.rows {
			if row != i+k*n {
				return false
			}
		}
	}
	return n > 1
}

// periodic reports whether a word names a part of a day, week or year, which may take turns within one
// series.
func periodic(s string) bool {
	s = strings.ToLower(s)
	return monthOf(s) > 0 || weekday.MatchString(s+" ") || len(s) == 2 && s[0] == 'q' ||
		slices.Contains([]string{"am", "pm", "day", "night", "morning", "noon", "afternoon", "evening", "spring", "summer", "autumn", "fall", "winter", "odd", "even", "weekday", "weekend"}, s)
}

// restarts reports whether the time jumps back at the start of some group, so that it does not
// continue the group before.
func (t *table) restarts(a *axis, groups []group) bool {
	up := a.values[0] < a.values[1]
	for _, g := range groups[1:] {
		k := g.rows[0]
		if a.values[k-1] < a.values[k] != up {
			return true
		}
	}
	return false
}

// runs starts a new series wherever the time jumps back. It returns nil unless every series has at
// least three rows and shares at least half of its times with the first series.
func (t *table) runs(a *axis) []group {
	up := a.values[0] < a.values[1]
	groups := []group{{name: "1"}}
	for k := range t.rows {
		if k > 0 && a.values[k-1] < a.values[k] != up {
			groups = append(groups, group{name: fmt.Sprint(len(groups) + 1)})
		}
		g := &groups[len(groups)-1]
		g.rows = append(g.rows, k)
	}
	if t.twice(a, groups) != nil || least(groups) < 3 {
		return nil
	}
	first := map[float64]bool{}
	for _, k := range groups[0].rows {
		first[a.values[k]] = true
	}
	for _, g := range groups[1:] {
		common := 0
		for _, k := range g.rows {
			if first[a.values[k]] {
				common++
			}
		}
		if 2*common < len(g.rows) {
			return nil
		}
	}
	return groups
}

// twice returns an error if a time occurs more than once in a series.
func (t *table) twice(a *axis, groups []group) error {
	if a == nil {
		return nil
	}
	for _, g := range groups {
		seen := make(map[float64]int, len(g.rows))
		for _, k := range g.rows {
			if j, ok := seen[a.values[k]]; ok {
				whose := ""
				if g.name != "" {
					whose = " of " + g.name
				}
				return fmt.Errorf("line %d: the time of line %d again%s: %s", t.rows[k].number, t.rows[j].number, whose, t.timeText(a, k))
			}
			seen[a.values[k]] = k
		}
	}
	return nil
}

// timeText returns the time of row k as it is written in the file.
func (t *table) timeText(a *axis, k int) string {
	var parts []string
	for _, i := range a.columns {
		parts = append(parts, t.rows[k].at(i).text)
	}
	return strings.Join(parts, " ")
}

// same drops rows whose cells all equal those of an earlier row. It reports whether there were any.
func (t *table) same() bool {
	seen, before := map[string]int{}, len(t.rows)
	t.rows = slices.DeleteFunc(slices.Clone(t.rows), func(l line) bool {
		var b strings.Builder
		for _, c := range l.cells {
			b.WriteString(c.text)
			b.WriteByte(0)
		}
		if j, ok := seen[b.String()]; ok {
			t.notes = append(t.notes, fmt.Sprintf("line %d: line %d again, cell by cell", l.number, j))
			return true
		}
		seen[b.String()] = l.number
		return false
	})
	t.classify()
	return len(t.rows) < before
}
