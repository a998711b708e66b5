package seriesdata

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// layout records where in the file the values of a frame are. [Frame.Write] uses it.
type layout struct {
	table   *table
	axis    *axis
	columns []int // table columns of the channels; nil if channels are not columns
	// For each entity, table rows in ascending time; −1 for a time that is absent from the file.
	rows   [][]int
	newest bool  // whether the file has the newest row first
	by     []int // columns that identify the series of a row

	across bool // whether each row of the file holds several times of a series
	dated  bool // if across is true: whether the times are points in time rather than numbers
	long   bool // whether a column names the channel of every row (long format)
	// In long format: columns of the channel name, of the entity (−1 if none) and of the value.
	variable, of, value int
}

// assemble builds the frame of a document. It tries the supported layouts of a file in turn.
func assemble(d *document, o Options) (*Frame, error) {
	t, err := survey(d, o)
	if err != nil {
		return nil, err
	}
	f := &Frame{doc: d, layout: layout{table: t}}
	for _, shape := range []func(t *table) (bool, error){f.nested, f.across} {
		if ok, err := shape(t); ok || err != nil {
			if err == nil {
				f.finish(t)
			}
			return f, err
		}
	}
	a, groups, by, err := t.order()
	if err != nil {
		return nil, err
	}
	f.layout.axis, f.layout.by = a, by
	if ok, err := f.tall(t, a, by); ok || err != nil {
		if err == nil {
			f.finish(t)
		}
		return f, err
	}
	picks, err := f.channels(t, a, by)
	if err != nil {
		return nil, err
	}
	t.bars(picks)
	entities, channels, cells, err := t.families(picks)
	if err != nil {
		return nil, err
	}
	if len(entities) > 1 && len(groups) > 1 {
		return nil, fmt.Errorf("line %d: series are distinguished by names of columns (%s) and by rows (%s); read one at a time by Options.Columns (-columns)", d.lines[0].number, entities[0], groups[0].name)
	}
	f.layout.columns = picks
	// Read the values of every column; the rows are in the order of the file.
	values := make([][]float64, len(picks))
	f.Channels = make([]Channel, len(channels))
	for c := range channels {
		f.Channels[c].Name = channels[c]
		var of []int
		for e := range entities {
			of = append(of, picks[cells[e][c]])
		}
		read, style, unit, stand, err := t.read(of)
		if err != nil {
			return nil, err
		}
		for e := range entities {
			values[cells[e][c]] = read[e]
		}
		f.Channels[c].style, f.Channels[c].Unit, f.Channels[c].Stand = style, unit, stand
	}
	if err := f.time(t, a, groups); err != nil {
		return nil, err
	}
	for g, rows := range f.layout.rows {
		times, lines := f.Entities[g].Times, f.Entities[g].Lines
		for e := range entities {
			out := Entity{Name: groups[g].name, Times: times, Lines: lines}
			if len(entities) > 1 || out.Name == "" {
				out.Name = entities[e]
			}
			for r := range times {
				for c := range channels {
					v, at := math.NaN(), place{line: -1}
					if k := rows[r]; k >= 0 {
						i := cells[e][c]
						v, at = values[i][k], place{k, picks[i]}
					}
					out.Values, out.at = append(out.Values, v), append(out.at, at)
				}
			}
			if len(entities) == 1 {
				f.Entities[g] = out
			} else {
				f.Entities = append(f.Entities, out)
			}
		}
	}
	if len(entities) > 1 {
		f.Entities = f.Entities[len(f.layout.rows):]
		f.layout.rows = slices.Repeat(f.layout.rows, len(entities))
		f.Time.Gaps *= len(entities)
	}
	f.finish(t)
	return f, nil
}

// order finds the time axis of a table, divides its rows into series, and returns the columns that
// identify the series. The axis is nil if the table has no times.
func (t *table) order() (*axis, []group, []int, error) {
	axes, err := t.axes()
	if err != nil {
		return nil, nil, nil, err
	}
	for i, a := range axes {
		groups, by, err := t.split(a)
		if err == nil && a.dated {
			return a, groups, by, nil
		}
		if err == nil && t.oneWay(a, groups) {
			return a, groups, by, nil
		}
		if err != nil && (a.dated || t.o.Time != "") {
			if t.same() {
				return t.order()
			}
			if v := t.variable(a); v >= 0 {
				groups, by, err := t.longGroups(a, v)
				return a, groups, by, err
			}
			if i+1 < len(axes) && axes[i+1].dated && t.o.Time == "" {
				continue
			}
			return nil, nil, nil, err
		}
	}
	groups, by, err := t.split(nil)
	return nil, groups, by, err
}

// oneWay reports whether the times of an axis are monotone in every series.
func (t *table) oneWay(a *axis, groups []group) bool {
	for _, g := range groups {
		for i := 2; i < len(g.rows); i++ {
			if (a.values[g.rows[i]] > a.values[g.rows[i-1]]) != (a.values[g.rows[1]] > a.values[g.rows[0]]) {
				return false
			}
		}
	}
	return true
}

// channels returns the columns to read and records in f.LeftOut why each other column is not read.
func (f *Frame) channels(t *table, a *axis, by []int) ([]int, error) {
	used := slices.Clone(by)
	if a != nil {
		used = append(used, a.columns...)
	}
	var picks []int
	if len(t.o.Columns) > 0 {
		for _, name := range t.o.Columns {
			i, err := t.find(name)
			if err != nil {
				return nil, err
			}
			if slices.Contains(picks, i) {
				return nil, fmt.Errorf("line %d: the column %q is asked for twice", t.lines[0].number, name)
			}
			picks = append(picks, i)
		}
	}
	for i := range t.columns {
		c := &t.columns[i]
		if slices.Contains(used, i) || slices.Contains(picks, i) {
			continue
		}
		why := ""
		switch {
		case c.filled == 0:
			why = "no values"
		case c.stamps() || c.clocks > 0 && 5*c.clocks >= 4*c.filled && !c.numbers():
			why = "times, besides " + nameOf(a)
		case c.numbers() && a != nil && a.dated && (t.unixTimes(i) || t.packedDates(i) && timeish(c.name)):
			why = "times, besides " + a.name
		case c.numbers() && t.named && (c.unnamed && (t.consecutive(i) || i == 0 && t.wholeOrBlank(i)) || timeLike(c.name) && !elapsed(c.name) && len(t.rows) > 2 && t.consecutive(i)):
			why = "counts the rows"
		case t.labelled(i), !t.named && i == 0 && a != nil && a.dated && len(t.rows) > 2 && t.consecutive(i):
			why = "counts the rows"
		case !c.numbers():
			why = "words"
		case t.longer(i):
			why = "whole numbers with more digits than a float64 holds"
		case len(t.o.Columns) > 0:
			why = "not asked for"
		default:
			picks = append(picks, i)
			continue
		}
		f.LeftOut = append(f.LeftOut, Omission{c.name, why})
	}
	if len(picks) == 0 {
		return nil, t.noNumbers(used)
	}
	return picks, nil
}

// wholeOrBlank reports whether all cells of column i consist of digits only or are blank, as those of
// rows that [Frame.Write] inserted.
func (t *table) wholeOrBlank(i int) bool {
	return !slices.ContainsFunc(t.rows, func(l line) bool { return strings.Trim(l.at(i).text, "0123456789") != "" })
}

// elapsed reports whether name is that of a length of time, which may be a quantity.
func elapsed(name string) bool {
	return slices.Contains([]string{"seconds", "sec", "secs", "minutes", "mins", "hours", "milliseconds", "ms", "elapsed"}, strings.ToLower(name))
}

// longer reports whether column i holds whole numbers, one of which a float64 does not hold exactly.
func (t *table) longer(i int) bool {
	return t.whole(i) && slices.ContainsFunc(t.rows, func(l line) bool {
		s := strings.TrimLeft(l.at(i).text, "0")
		v, _ := strconv.ParseFloat(s, 64)
		return v >= 1<<53 && strconv.FormatFloat(v, 'f', 0, 64) != s
	})
}

func nameOf(a *axis) string {
	if a == nil {
		return "rows"
	}
	return a.name
}

// consecutive reports whether the numbers of column i change by exactly one, up or down, from row
// to row.
func (t *table) consecutive(i int) bool {
	last := 0.0
	for k := range t.rows {
		v, err := strconv.ParseFloat(t.rows[k].at(i).text, 64)
		if err != nil || v != math.Floor(v) || k > 0 && v != last+1 && v != last-1 {
			return false
		}
		last = v
	}
	return true
}

// noNumbers returns the error for a file without a column of numbers. It names a cell that is not a
// number, from the last column that is not in used.
func (t *table) noNumbers(used []int) error {
	for i := len(t.columns) - 1; i >= 0; i-- {
		if slices.Contains(used, i) {
			continue
		}
		for k := range t.rows {
			if s := t.rows[k].at(i).text; !t.blank(s) && !isNumber(s) {
				if why := marked(s); why != "" {
					return fmt.Errorf("line %d, column %s: %s", t.rows[k].number, t.columns[i].name, why)
				}
				return fmt.Errorf("line %d, column %s: %q is not a number, and no other column has numbers; separate numbers by commas, semicolons, tabs or |", t.rows[k].number, t.columns[i].name, s)
			}
		}
	}
	if len(t.rows) > 0 {
		return fmt.Errorf("line %d: %w", t.rows[0].number, errors.New("no column of numbers besides the times; want one at least"))
	}
	return errNoRows
}

// bars names the price columns of a file without names. It looks for price bars in the first four
// columns of picks: in every row, the second number must be the largest and the third the smallest.
// These columns become open, high, low and close, and the next one becomes volume.
func (t *table) bars(picks []int) {
	if t.named || len(picks) < 4 {
		return
	}
	var x [5][]float64
	for c := range min(5, len(picks)) {
		read, _, _, _, err := t.read(picks[c : c+1])
		if err != nil {
			return
		}
		x[c] = read[0]
	}
	differ := false
	for k := range t.rows {
		open, high, low, last := x[0][k], x[1][k], x[2][k], x[3][k]
		if high < max(open, last, low) || low > min(open, last) {
			return
		}
		differ = differ || high > low
	}
	if !differ {
		return
	}
	names := fields[:4:4]
	if len(picks) > 4 && !slices.ContainsFunc(x[4], func(v float64) bool { return v < 0 }) {
		names = append(names, "volume")
	}
	for c, name := range names {
		t.columns[picks[c]].name = name
	}
	t.notes = append(t.notes, fmt.Sprintf("no names: columns %d to %d are %s by their order in every row", picks[0]+1, picks[len(names)-1]+1, strings.Join(names, ", ")))
}

// families assigns columns to entities by their names. Entities are recognised by two lines of
// names, by names that repeat, or by a prefix or suffix of names such as open and close. For every
// entity, cells holds the columns of the channels, as indices into picks.
func (t *table) families(picks []int) (entities, channels []string, cells [][]int, err error) {
	kinds := make([][2]string, len(picks)) // entity and channel of each column
	two, names := false, map[string]int{}
	for k, i := range picks {
		c := &t.columns[i]
		kinds[k] = [2]string{c.entity, c.name}
		two = two || c.entity != ""
		names[c.name]++
	}
	if !two { // pandas writes names that repeat as Open, Open.1, Open.2
		for _, i := range picks {
			c := &t.columns[i]
			if base := strings.TrimRight(c.name, "0123456789"); len(base) < len(c.name) && strings.HasSuffix(base, ".") && names[strings.TrimSuffix(base, ".")] > 0 {
				names[c.name]--
				c.name = strings.TrimSuffix(base, ".")
				names[c.name]++
			}
		}
	}
	plain := func() ([]string, []string, [][]int, error) {
		at := make([]int, len(picks))
		for k, i := range picks {
			at[k] = k
			channels = append(channels, t.columns[i].name)
			for j := range k {
				if t.columns[picks[j]].name == t.columns[i].name {
					return nil, nil, nil, fmt.Errorf("line %d: two columns %q; give one of them another name", t.lines[0].number, t.columns[i].name)
				}
			}
		}
		return []string{""}, channels, [][]int{at}, nil
	}
	if !two {
		repeat := 0
		for _, n := range names {
			repeat = max(repeat, n)
		}
		switch {
		case repeat > 1: // every name occurs several times
			seen := map[string]int{}
			for k, i := range picks {
				name := t.columns[i].name
				seen[name]++
				kinds[k] = [2]string{strconv.Itoa(seen[name]), name}
			}
		case !t.affixes(picks, kinds):
			return plain()
		}
	}
	index := map[[2]string]int{}
	for k, e := range kinds {
		if j, ok := index[e]; ok {
			return nil, nil, nil, fmt.Errorf("line %d: the columns %d and %d are both %s of %s; give one of them another name", t.lines[0].number, picks[j]+1, picks[k]+1, e[1], e[0])
		}
		index[e] = k
		if !slices.Contains(entities, e[0]) {
			entities = append(entities, e[0])
		}
		if !slices.Contains(channels, e[1]) {
			channels = append(channels, e[1])
		}
	}
	for _, e := range entities {
		var of []int
		for _, c := range channels {
			k, ok := index[[2]string{e, c}]
			if !ok {
				if two || len(names) < len(picks) {
					return nil, nil, nil, fmt.Errorf("line %d: no column %s of %s, which others have; read some of them by Options.Columns (-columns)", t.lines[0].number, c, e)
				}
				entities, channels = nil, nil
				return plain()
			}
			of = append(of, k)
		}
		cells = append(cells, of)
	}
	if len(entities) > 1 && !two {
		t.notes = append(t.notes, fmt.Sprintf("%d series by the names of columns", len(entities)))
	}
	return entities, channels, cells, nil
}

// affixes splits names such as AAPL.Open or Open_AAPL into entity and channel and stores them in
// kinds. It reports whether every channel is a name in fields and there are at least two entities.
func (t *table) affixes(picks []int, kinds [][2]string) bool {
	for _, front := range []bool{true, false} {
		all := map[string]bool{}
		ok := true
		for k, i := range picks {
			name := t.columns[i].name
			found := false
			for _, f := range fields {
				n := len(name) - len(f)
				if n < 2 {
					continue
				}
				field, rest, mark := name[n:], name[:n-1], name[n-1]
				if !front {
					field, rest, mark = name[:len(f)], name[len(f)+1:], name[len(f)]
				}
				if strings.EqualFold(field, f) && strings.IndexByte("._:/ -", mark) >= 0 && (!found || len(field) > len(kinds[k][1])) {
					kinds[k] = [2]string{rest, field}
					found = true
				}
			}
			if !found {
				ok = false
				break
			}
			all[kinds[k][0]] = true
		}
		if ok && len(all) > 1 {
			return true
		}
	}
	return false
}

// time sorts the rows of every series by time, inserts the times of the regular grid that are
// absent from the file, and describes the axis in f.Time.
func (f *Frame) time(t *table, a *axis, groups []group) error {
	f.Entities = make([]Entity, len(groups))
	f.layout.rows = make([][]int, len(groups))
	if a == nil {
		for g := range groups {
			for r, k := range groups[g].rows {
				f.Entities[g].Times = append(f.Entities[g].Times, float64(r))
				f.Entities[g].Lines = append(f.Entities[g].Lines, t.rows[k].number)
			}
			f.layout.rows[g] = groups[g].rows
			f.Entities[g].Name = groups[g].name
		}
		f.Time = Time{Order: "as in the file", Step: "1 row"}
		return nil
	}
	up, down := 0, 0
	times, wall := make([][]float64, len(groups)), make([][]float64, len(groups))
	local := a.wall
	if local == nil {
		local = a.values
	}
	for g := range groups {
		rows := slices.Clone(groups[g].rows)
		for i := 1; i < len(rows); i++ {
			if a.values[rows[i-1]] < a.values[rows[i]] {
				up++
			} else {
				down++
			}
		}
		slices.SortFunc(rows, func(i, j int) int {
			if a.values[i] < a.values[j] {
				return -1
			}
			return 1
		})
		f.layout.rows[g] = rows
		for _, k := range rows {
			times[g], wall[g] = append(times[g], a.values[k]), append(wall[g], local[k])
		}
	}
	f.Time = Time{Column: a.name, Zone: a.zone, Order: "oldest first"}
	switch {
	case up > 0 && down > 0:
		f.Time.Order = "sorted"
		f.Notes = append(f.Notes, "rows are in no order of time in the file: sorted")
	case down > 0:
		f.Time.Order, f.layout.newest = "newest first", true
	}
	if a.how != "" {
		f.Time.Dates = a.how
	} else if a.stamps != nil && slices.ContainsFunc(a.stamps, func(p stamp) bool { return !p.named }) {
		f.Time.Dates = words[a.order]
	}
	rule := gridOf(a.dated || a.stamps != nil, times, wall)
	f.Time.Step = rule.name
	for g := range groups {
		e := &f.Entities[g]
		e.Name = groups[g].name
		var rows []int
		for r, k := range f.layout.rows[g] {
			if r > 0 {
				before := f.layout.rows[g][r-1]
				x, y, back := a.values[before], a.values[k], 0.0
				if rule.wall {
					x, y, back = local[before], local[k], local[before]-a.values[before]
				}
				gap := rule.between(x, y)
				if len(e.Times)+len(gap) > (most+1)*len(t.rows)+1000 {
					return fmt.Errorf("line %d: %d times are left out before it, at a step of %s; cut the file in two there", t.rows[k].number, len(gap), rule.name)
				}
				for _, v := range gap {
					e.Times, e.Lines, rows = append(e.Times, v-back), append(e.Lines, 0), append(rows, -1)
				}
				if len(gap) > 0 {
					f.Time.Gaps += len(gap)
					if f.forward(gap[0], y, t.o.Location == nil && a.zone == "") {
						f.Notes = append(f.Notes, fmt.Sprintf("line %d: the hour before it is one that clocks skip in spring; give their place by Options.Location (-zone)", t.rows[k].number))
					}
					f.Time.Ranges = append(f.Time.Ranges, Gap{e.Name, f.label(a, before, gap[0]-back), f.label(a, before, gap[len(gap)-1]-back), len(gap)})
				}
			}
			e.Times, e.Lines, rows = append(e.Times, a.values[k]), append(e.Lines, t.rows[k].number), append(rows, k)
		}
		f.layout.rows[g] = rows
	}
	return nil
}

// forward reports whether the gap between two times is the hour that clocks skip in spring. It
// looks for a gap of one hour on a Sunday in March that begins at one, two or three o'clock.
func (f *Frame) forward(from, to float64, local bool) bool {
	t := time.UnixMicro(int64(from)).UTC()
	return local && math.Round(to/minute)*minute-math.Floor(from/hour)*hour == hour && t.Weekday() == time.Sunday && t.Month() == time.March && t.Hour() >= 1 && t.Hour() <= 3
}

// label formats the time v in the format of row k.
func (f *Frame) label(a *axis, k int, v float64) string {
	cells := a.spell(k, v)
	var parts []string
	for _, i := range a.columns {
		parts = append(parts, cells[i])
	}
	return strings.Join(parts, " ")
}

// read returns the numbers of the columns that form one channel, one slice per column, with NaN for
// missing values. It also returns their format, their unit, and the numbers that stand for missing
// values.
func (t *table) read(columns []int) (values [][]float64, s style, unit string, stand []float64, err error) {
	c := &t.columns[columns[0]]
	unit = c.unit
	decimal, err := t.decimal(columns)
	if err != nil {
		return nil, s, "", nil, err
	}
	s = style{decimal: decimal, decimals: -1 << 30}
	suffix, prefix, any := "", "", false
	var firstSuffix, firstPrefix int // lines
	var suffixed, suffixedIn string  // the cell with the first suffix and its column
	for _, i := range columns {
		x := make([]float64, len(t.rows))
		for k := range t.rows {
			text := t.rows[k].at(i).text
			x[k] = math.NaN()
			if t.blank(text) {
				continue
			}
			where := fmt.Sprintf("line %d, column %s", t.rows[k].number, t.columns[i].name)
			w, ok := take(text)
			if !ok {
				if infinite(text) {
					return nil, s, "", nil, fmt.Errorf("%s: %s, want a finite number, or a text of Options.Missing (-missing.text)", where, text)
				}
				if why := marked(text); why != "" {
					return nil, s, "", nil, fmt.Errorf("%s: %s", where, why)
				}
				return nil, s, "", nil, fmt.Errorf("%s: %q is not a number as the others of its column are; correct it, count it as missing by Options.Missing (-missing.text), or name other columns (-columns)", where, text)
			}
			v, decimals, group, err := w.value(decimal)
			if err != nil {
				if err == errNumber {
					return nil, s, "", nil, fmt.Errorf("%s: %q is not a number with a decimal %s, as others of its column are; write all alike, or set Options.Decimal (-decimal)", where, text, markName(decimal))
				}
				return nil, s, "", nil, fmt.Errorf("%s: %s is %w, want a finite number, or a text of Options.Missing (-missing.text)", where, text, err)
			}
			_, multiplied := w.power()
			s.multiplied = s.multiplied || multiplied
			if !multiplied {
				if any && w.suffix != suffix {
					if isMark(w.suffix, suffix) {
						return nil, s, "", nil, fmt.Errorf("%s: %s", where, unlike(text, w.suffix, firstSuffix))
					}
					if isMark(suffix, w.suffix) {
						return nil, s, "", nil, fmt.Errorf("line %d, column %s: %s", firstSuffix, suffixedIn, unlike(suffixed, suffix, t.rows[k].number))
					}
					return nil, s, "", nil, fmt.Errorf("%s: %q has the unit %q, line %d has %q; write one unit", where, text, w.suffix, firstSuffix, suffix)
				}
				if !any {
					suffix, any, firstSuffix = w.suffix, true, t.rows[k].number
					suffixed, suffixedIn = text, t.columns[i].name
					if w.blank && suffix != "" {
						s.suffix = " "
					}
				}
			}
			if prefix == "" && w.prefix != "" {
				prefix, firstPrefix = w.prefix, t.rows[k].number
			}
			if w.prefix != "" && strings.TrimSpace(w.prefix) != strings.TrimSpace(prefix) {
				return nil, s, "", nil, fmt.Errorf("%s: %q is in a different currency from %q of line %d; write one unit", where, text, prefix, firstPrefix)
			}
			s.decimals = max(s.decimals, decimals)
			s.exponent = s.exponent || w.exponent != ""
			s.parentheses = s.parentheses || w.parentheses
			if group != "" {
				s.group = group
			}
			x[k] = v
		}
		values = append(values, x)
	}
	if suffix != "" && strings.Trim(suffix, "*^") == "" {
		return nil, s, "", nil, fmt.Errorf("line %d, column %s: %s", firstSuffix, suffixedIn, unlike(suffixed, suffix, firstSuffix))
	}
	s.decimals = max(s.decimals, 0)
	s.prefix, s.suffix = prefix, s.suffix+suffix
	if s.multiplied && suffix != "" {
		return nil, s, "", nil, fmt.Errorf("line %d, column %s: the unit %q among K, M and B; write one unit", firstSuffix, c.name, suffix)
	}
	if unit == "" {
		unit = strings.TrimSpace(prefix)
		if unit != "" && suffix != "" {
			unit += " "
		}
		unit += suffix
	}
	all := slices.Concat(values...)
	for _, v := range stand0(t.o, all) {
		switch judge(all, v) {
		case unclear:
			k := slices.Index(values[0], v)
			for e := 1; k < 0; e++ {
				k = slices.Index(values[e], v)
			}
			return nil, s, "", nil, fmt.Errorf("line %d, column %s: %v may be a number or stand for a missing one; say which by Options.Keep (-keep %v) or Options.Missing (-missing.text %v)",
				t.rows[k].number, c.name, v, v, v)
		case missing:
			stand = append(stand, v)
			for _, x := range values {
				for k := range x {
					if x[k] == v {
						x[k] = math.NaN()
					}
				}
			}
		}
	}
	return values, s, unit, stand, nil
}

// stand0 returns the numbers among all that are in the list stand and that o does not keep. Each
// may stand for a missing value.
func stand0(o Options, all []float64) (out []float64) {
	for _, v := range stand {
		if !slices.Contains(o.Keep, v) && slices.Contains(all, v) {
			out = append(out, v)
		}
	}
	return out
}

func markName(decimal byte) string {
	if decimal == ',' {
		return "comma"
	}
	return "point"
}

// decimal returns the decimal separator of the given columns, '.' or ','. It decides first from the
// cells of these columns, then from the cells of all columns of numbers.
func (t *table) decimal(columns []int) (byte, error) {
	if t.o.Decimal != 0 {
		return t.o.Decimal, nil
	}
	if t.comma == "" {
		return '.', nil // JSON has no other decimal mark
	}
	// Each result is 1 + the index of a row, or 0.
	look := func(columns []int) (point, comma, neutral, plain int) {
		for _, i := range columns {
			for k := range t.rows {
				s := t.rows[k].at(i).text
				if t.blank(s) {
					continue
				}
				w, ok := take(s)
				if !ok {
					continue
				}
				d, hasComma, hasPoint := marks(w.body)
				switch {
				case d == '.' && point == 0:
					point = k + 1
				case d == ',' && comma == 0:
					comma = k + 1
				case d == 0 && hasComma && neutral == 0:
					neutral = k + 1
				case d == 0 && hasPoint && plain == 0:
					plain = k + 1
				}
			}
		}
		return point, comma, neutral, plain
	}
	point, comma, neutral, plain := look(columns)
	name := t.columns[columns[0]].name
	switch {
	case point > 0 && comma > 0:
		return 0, fmt.Errorf("line %d, column %s: %q has a decimal comma, %q of line %d a decimal point; write all alike", t.rows[comma-1].number, name,
			t.rows[comma-1].at(columns[0]).text, t.rows[point-1].at(columns[0]).text, t.rows[point-1].number)
	case point > 0:
		return '.', nil
	case comma > 0:
		return ',', nil
	case neutral == 0 && plain == 0:
		return '.', nil
	}
	unclear := func(k int, as, group string) error {
		s := t.rows[k].at(columns[0]).text
		for e := 1; !strings.Contains(s, group); e++ {
			s = t.rows[k].at(columns[e]).text
		}
		return fmt.Errorf("line %d, column %s: %q is %s with a decimal %s and %s with thousands, and no number decides; set Options.Decimal to , or . (-decimal , or -decimal .)",
			t.rows[k].number, name, s, strings.Replace(s, group, ".", 1), as, strings.Replace(s, group, "", 1))
	}
	var others []int
	for i := range t.columns {
		if t.columns[i].numbers() {
			others = append(others, i)
		}
	}
	allPoint, allComma, _, _ := look(others)
	switch {
	case allPoint > 0 && allComma == 0:
		return '.', nil
	case allComma > 0 && allPoint == 0:
		return ',', nil
	case neutral > 0 && plain > 0: // such as 1,234 and 1.234
		return 0, fmt.Errorf("line %d, column %s: commas and points, and no number says which of them begins fractions; set Options.Decimal (-decimal)", t.rows[max(neutral, plain)-1].number, name)
	case neutral > 0 && t.comma == ",":
		return '.', nil // if commas separate cells, they do not mark fractions
	case neutral > 0:
		return 0, unclear(neutral-1, "comma", ",")
	case t.comma == ";": // files separated by semicolons usually have decimal commas
		return 0, unclear(plain-1, "point", ".")
	}
	return '.', nil
}

// finish sets the kind, the number of missing values and the tick of every channel.
func (f *Frame) finish(t *table) {
	f.Notes = append(f.Notes, t.notes...)
	for c := range f.Channels {
		ch := &f.Channels[c]
		low, high, whole, count := math.Inf(1), math.Inf(-1), true, 0
		ch.Missing = 0
		var all []float64
		for _, e := range f.Entities {
			for r := range e.Times {
				v := e.Values[r*len(f.Channels)+c]
				if math.IsNaN(v) {
					if e.Lines[r] > 0 {
						ch.Missing++
					}
					continue
				}
				low, high, whole = min(low, v), max(high, v), whole && v == math.Round(v)
				count++
				all = append(all, v)
			}
		}
		name := strings.Trim(strings.ToLower(short(ch.Name)), "<>")
		switch {
		case count == 0:
			ch.Kind = "number"
		case low == high:
			ch.Kind = "constant"
		case strings.HasPrefix(name, "volume") || name == "vol" || name == "vol." || isField(name) && strings.Contains(name, "vol") || name == "turnover":
			ch.Kind = "volume"
		case isField(name) || ch.Unit != "" && strings.ContainsAny(ch.Unit, "$€£¥"):
			ch.Kind = "price"
		case low == 0 && high == 1 && whole:
			ch.Kind = "flag"
		case ch.Unit == "%":
			ch.Kind = "share"
		case whole && low >= 0:
			ch.Kind = "count"
		default:
			ch.Kind = "number"
		}
		ch.Tick = tick(all, ch.style.decimals)
	}
}

// enough is the minimum number of values from which a tick is inferred.
const enough = 20

// tick returns the largest number of which all values are multiples, or one unit of the last
// decimal if there are few values. decimals is the number of decimals of the values. It returns 0
// if there are no values or if they have too many digits for a float64.
func tick(all []float64, decimals int) float64 {
	if decimals > 9 || len(all) == 0 {
		return 0
	}
	if len(all) < enough {
		v, _ := strconv.ParseFloat("1e"+strconv.Itoa(-decimals), 64)
		return v
	}
	scale, g := math.Pow(10, float64(max(decimals, 0))), int64(0)
	for _, v := range all {
		x := math.Round(math.Abs(v) * scale)
		if x > 1<<53 {
			return 0
		}
		for a, b := int64(x), g; ; {
			if b == 0 {
				g = a
				break
			}
			a, b = b, a%b
		}
		if g == 1 {
			break
		}
	}
	if g == 0 {
		return 0
	}
	v, _ := strconv.ParseFloat(strconv.FormatFloat(float64(g)/scale, 'f', max(decimals, 0), 64), 64)
	return v
}
