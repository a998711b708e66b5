package seriesdata

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// across reads a file in which every row is a series and columns are times: their names
// are dates, years or numbers that count, or there are none and neighbours in a row are
// closer than those in a column, as in the archive of UCR.
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
	times, dated := t.namesAsTimes(values)
	switch {
	case times != nil && len(names) > 0:
	case times == nil && !t.named && len(names) == 0 && t.unlabelled(values):
		names, values = values[:1], values[1:]
		for k := range values {
			times = append(times, float64(k+1))
		}
		f.Notes = append(f.Notes, "every line is a series and its first cell a label, since numbers next to each other in lines are closer than those in columns")
	default:
		return false, nil
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
			return false, fmt.Errorf("line %d: lines are series, for the columns are times, but two of them have the same name %q; give every line a name of its own", t.rows[0].number, repeatedName(groups))
		}
		groups = nil
		for k := range t.rows {
			groups = append(groups, group{name: fmt.Sprintf("%d (label %s)", k+1, t.rows[k].at(names[0]).text), rows: []int{k}})
		}
	}
	f.layout.across, f.layout.newest = true, len(times) > 1 && times[0] > times[1]
	f.Channels = []Channel{{Name: "value", Unit: unit, Stand: stand, style: style}}
	f.Time = Time{Column: "the names of columns", Order: "oldest first", Step: gridOf(dated, [][]float64{sorted(times)}, [][]float64{sorted(times)}).name}
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
		for n := len(e.Values); n > 1 && math.IsNaN(e.Values[n-1]) && !t.named; n-- { // shorter than others
			e.Times, e.Lines, e.Values, e.at = e.Times[:n-1], e.Lines[:n-1], e.Values[:n-1], e.at[:n-1]
		}
		f.Entities = append(f.Entities, e)
	}
	return true, nil
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

// leastAcross is the fewest columns of a file whose rows are series without saying so.
const leastAcross = 12

// namesAsTimes returns the times that columns are named by, nil if they are not.
func (t *table) namesAsTimes(columns []int) (times []float64, dated bool) {
	if !t.named || len(columns) < 3 {
		return nil, false
	}
	dates, years, numbered, prefix := true, true, true, ""
	for k, i := range columns {
		name := t.columns[i].full
		p, ok := parseStamp(name)
		dates = dates && ok && p.hasDate && (p.wa == 4 || p.named || p.wc == 4)
		word := strings.TrimRight(name, "0123456789")
		v, err := strconv.Atoi(name[len(word):])
		years = years && word == "" && err == nil && v >= 1500 && v < 2200
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
	case years && steps():
		return times, false
	case dates:
		h := line{number: t.lines[0].number, cells: make([]cell, len(t.columns))}
		var l []line
		for _, i := range columns {
			c := h
			c.cells = []cell{{text: t.columns[i].full}}
			l = append(l, c)
		}
		head := &table{document: t.document, o: t.o, columns: []column{{name: "names of columns"}}, rows: l}
		head.classify()
		a, err := head.named2axis([]int{0})
		if err != nil {
			return nil, false
		}
		return a.values, true
	case numbered && len(columns) >= leastAcross && steps():
		return times, false
	}
	return nil, false
}

// unlabelled reports whether rows of numbers without names are series behind a label:
// the first column has few whole numbers, and changes along rows are small against those
// along columns.
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

// variableNames are names of columns that say which quantity a row has.
var variableNames = []string{"variable", "parameter", "metric", "measure", "indicator", "field", "attribute", "key", "feature", "channel", "quantity", "element", "tag", "signal", "param", "var", "measurement", "indicator_name", "series_name"}

// variable returns the column that names the quantity of every row, −1 if there is none.
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

// longGroups parts the rows of a long file into entities and quantities.
func (t *table) longGroups(a *axis, v int) ([]group, []int, error) {
	if g := t.by([]int{v}); t.twice(a, g) == nil {
		return g, []int{v}, nil
	}
	for _, i := range t.labels(a) {
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

// tall reads a file in which a column names the quantity of every row.
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
	// Every quantity has its own marks and units, so each is read as a table of its own.
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

// merge makes the axis of a long file, whose times occur once for every quantity.
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
