package seriesdata

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// column describes one column of a file.
type column struct {
	name    string // name without the unit
	full    string // name as written in the file
	unit    string
	entity  string // entity to which the header assigns the column; "" if none
	unnamed bool   // whether the column has no name although the file has a header

	// Number of cells with text, and of those that can be numbers, dates and times of day.
	filled, numeric, dated, clocks int
}

// numbers reports whether more than half of the filled cells are numbers. A few other cells do not
// make it a column of words; reading them is an error that names their lines.
func (c *column) numbers() bool { return c.filled > 0 && 2*c.numeric > c.filled }

// stamps reports whether at least 80 % of the filled cells are dates, and they are not plain
// numbers.
func (c *column) stamps() bool { return c.dated > 0 && 5*c.dated >= 4*c.filled && !c.numbers() }

// table is a document whose lines are divided into header and rows.
type table struct {
	*document
	o       Options
	named   bool // whether there is a header
	columns []column
	rows    []line
}

// isNumber reports whether the cell s is meant as a number.
func isNumber(s string) bool {
	w, ok := take(s)
	if !ok {
		return infinite(s)
	}
	for _, decimal := range []byte(".,") {
		if _, _, _, err := w.value(decimal); err != errNumber {
			return true
		}
	}
	return false
}

// infinite reports whether the cell s is an infinite number.
func infinite(s string) bool {
	switch strings.ToLower(strings.TrimLeft(s, "+-")) {
	case "inf", "infinity":
		return true
	}
	return false
}

// blank reports whether the cell s stands for a missing value, either as one of the usual texts or
// as one in Options.Missing.
func (t *table) blank(s string) bool { return absent(s) || slices.Contains(t.o.Missing, s) }

// ruled matches a horizontal rule of a printed table, such as |---|:--| or +----+----+.
var ruled = regexp.MustCompile(`^[-=+|: ]*(?:--|==)[-=+|: ]*$`)

// survey divides a document into header and rows, and determines what the columns hold.
func survey(d *document, o Options) (*table, error) {
	t := &table{document: d, o: o}
	lines := slices.DeleteFunc(slices.Clone(d.lines), func(l line) bool {
		switch {
		case !slices.ContainsFunc(l.cells, func(c cell) bool { return c.text != "" }):
			d.notes = append(d.notes, fmt.Sprintf("line %d: no cells but blank ones", l.number))
		case d.comma != "" && ruled.MatchString(strings.TrimSpace(d.text[l.from:l.to])):
			d.notes = append(d.notes, fmt.Sprintf("line %d: a rule", l.number))
		default:
			return false
		}
		return true
	})
	if len(lines) == 0 {
		return nil, errNoRows
	}
	if d.comma == "" && d.names != nil {
		t.named, t.rows = true, lines
		t.columns = make([]column, len(d.names))
		for i, n := range d.names {
			t.columns[i].full = n
			t.columns[i].name, t.columns[i].unit = unitOf(n)
		}
		t.classify()
		return t, nil
	}
	var logger []line
	if len(lines) > 4 && lines[0].cells[0].text == "TOA5" {
		// A logger of Campbell writes lines of the station, names, units and statistics.
		for k, what := range []string{"the station", "", "units", "statistics"} {
			if what != "" {
				d.notes = append(d.notes, fmt.Sprintf("line %d: %s", lines[k].number, what))
			}
		}
		logger, lines = lines[2:3], append(slices.Clone(lines[1:2]), lines[4:]...)
	}
	if s := strings.ToLower(lines[0].cells[0].text); strings.HasPrefix(s, "@relation") || strings.HasPrefix(s, "@problemname") {
		return nil, fmt.Errorf("line %d: %s begins a file of Weka or sktime, which keeps names and classes elsewhere; save it as CSV", lines[0].number, clip(lines[0].cells[0].text))
	}
	if s := strings.ToLower(lines[0].cells[0].text); strings.HasPrefix(s, "insert into ") || strings.HasPrefix(s, "create table ") {
		return nil, fmt.Errorf("line %d: %s begins statements of SQL; load them into a database and export the table as CSV", lines[0].number, clip(lines[0].cells[0].text))
	}
	lines, width, err := t.trim(lines)
	if err != nil {
		return nil, err
	}
	t.columns = make([]column, width)
	t.rows = lines[min(1, len(lines)-1):]
	t.classify()
	head := t.headers(lines)
	t.rows = lines[head:]
	if len(t.rows) == 0 {
		return nil, errNoRows
	}
	t.columns = make([]column, width)
	if err := t.name(lines[:head]); err != nil {
		return nil, err
	}
	for _, units := range logger {
		for i := range t.columns {
			t.columns[i].unit = units.at(i).text
		}
	}
	t.widths()
	t.repeated(lines[:head])
	t.classify()
	t.totals()
	return t, nil
}

// rdbWidth matches a width of a column in a file of the United States Geological Survey.
var rdbWidth = regexp.MustCompile(`^\d+[sdn]$`)

// widths drops a line behind the header that holds the widths of the columns.
func (t *table) widths() {
	if l := t.rows[0]; len(t.rows) > 1 && t.named && !slices.ContainsFunc(l.cells, func(c cell) bool { return !rdbWidth.MatchString(c.text) }) {
		t.notes = append(t.notes, fmt.Sprintf("line %d: widths of columns", l.number))
		t.rows = t.rows[1:]
	}
}

// sums matches words that begin a summary line at the end of a table, such as "total".
var sums = regexp.MustCompile(`(?i)^(grand |sub)?(total|sum|summe|gesamt|somme|suma|average|avg|mean|mittelwert|moyenne|promedio|median|min|max|count|std)[ .:]*$`)

// totals drops summary lines at the end of a table. Their first cell is such a word instead of a
// date or number.
func (t *table) totals() {
	all, n := t.rows, len(t.rows)
	for n > 2 && sums.MatchString(all[n-1].at(0).text) {
		n--
	}
	if n == len(all) {
		return
	}
	t.rows = all[:n]
	t.classify()
	if c := &t.columns[0]; !c.stamps() && !c.numbers() {
		t.rows = all
		t.classify()
		return
	}
	for _, l := range all[n:] {
		t.notes = append(t.notes, fmt.Sprintf("line %d: behind the table: %s", l.number, clip(t.text[l.from:l.to])))
	}
}

// trim drops lines before and after the table, and returns the remaining lines and their number of
// cells. It returns an error if these lines do not all have the same number of cells.
func (t *table) trim(lines []line) ([]line, int, error) {
	tally := map[int]int{}
	for _, l := range lines {
		tally[len(l.cells)]++
	}
	width := 0
	for n, k := range tally {
		if k > tally[width] || k == tally[width] && n > width {
			width = n
		}
	}
	few := func(l line) bool {
		n := 0
		for _, c := range l.cells {
			if c.text != "" {
				n++
			}
		}
		return n <= 1 && width > 2
	}
	for len(lines) > 1 && (len(lines[0].cells) != width || few(lines[0])) {
		l, next := lines[0], lines[1]
		if len(l.cells) == width && l.cells[0].text == "" && slices.ContainsFunc(next.cells, func(c cell) bool { return isNumber(c.text) }) {
			break // names of the index are blank
		}
		if padded, ok := pad(l, lines[1:], width); ok {
			lines[0] = padded
			break
		}
		if 2*len(l.cells) > width && len(l.cells) < width && len(next.cells) == width && !few(l) && slices.ContainsFunc(next.cells, func(c cell) bool { return isNumber(c.text) }) {
			if len(l.cells) == width-1 {
				if shifted, ok := shift(l, lines[1:]); ok {
					lines[0] = shifted
					break
				}
			}
			return nil, 0, fmt.Errorf("line %d: wrong number of fields: %d names for the %d cells of line %d; quote cells with commas inside, or separate cells by semicolons", l.number, len(l.cells), width, next.number)
		}
		if len(l.cells) > width && slices.ContainsFunc(l.cells, func(c cell) bool { return isNumber(c.text) }) && !apart(lines, width) {
			break // reported as an error below
		}
		t.notes = append(t.notes, fmt.Sprintf("line %d: in front of the table: %s", l.number, clip(t.text[l.from:l.to])))
		lines = lines[1:]
	}
	short := func(l line) bool { // a line of words behind a table of two columns
		return width == 2 && len(l.cells) == 1 && strings.IndexFunc(l.cells[0].text, unicode.IsLetter) >= 0 && !unicode.IsDigit(rune(l.cells[0].text[0]))
	}
	for n := len(lines); n > 2 && (few(lines[n-1]) && !isNumber(first(lines[n-1])) || short(lines[n-1])); n-- {
		if _, ok := parseStamp(first(lines[n-1])); ok {
			break // a table row without numbers
		}
		t.notes = append(t.notes, fmt.Sprintf("line %d: behind the table: %s", lines[n-1].number, clip(t.text[lines[n-1].from:lines[n-1].to])))
		lines = lines[:n-1]
	}
	for i := range lines {
		l := &lines[i]
		for len(l.cells) > width && l.cells[len(l.cells)-1].text == "" {
			l.cells = l.cells[:len(l.cells)-1]
		}
		if len(l.cells) != width {
			return nil, 0, fmt.Errorf("line %d: wrong number of fields: %d, others have %d; complete the line, or quote a cell with a %q inside", l.number, len(l.cells), width, t.comma)
		}
	}
	return lines, width, nil
}

// apart reports whether a blank line separates the first lines, which have more cells than the table,
// from those behind them.
func apart(lines []line, width int) bool {
	for i := 1; i < len(lines); i++ {
		if lines[i].number > lines[i-1].number+1 || len(lines[i-1].cells) <= width {
			return len(lines[i-1].cells) > width
		}
	}
	return false
}

func first(l line) string {
	for _, c := range l.cells {
		if c.text != "" {
			return c.text
		}
	}
	return ""
}

func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + " …"
	}
	return s
}

// shift adds the missing cell to a header that is one cell short, at the beginning, if every row
// begins with a quoted name, as written by R.
func shift(l line, rows []line) (line, bool) {
	for _, r := range rows {
		if !r.cells[0].quoted {
			return l, false
		}
	}
	l.cells = append([]cell{{from: l.from, to: l.from}}, l.cells...)
	return l, true
}

// pad adds cells at the end of a header that is shorter than the rows, if these end with separators
// behind which there is nothing.
func pad(l line, rows []line, width int) (line, bool) {
	if len(l.cells) < 2 || len(l.cells) >= width {
		return l, false
	}
	for _, r := range rows {
		for i := len(l.cells); i < len(r.cells); i++ {
			if r.cells[i].text != "" {
				return l, false
			}
		}
	}
	l.cells = slices.Clone(l.cells)
	for len(l.cells) < width {
		l.cells = append(l.cells, cell{from: l.to, to: l.to})
	}
	return l, true
}

// headers returns the number of header lines, which have words in columns that otherwise hold
// numbers.
func (t *table) headers(lines []line) int {
	head := 0
	for head < min(4, len(lines)-1) {
		if !t.headerLike(lines[head], head) {
			break
		}
		head++
	}
	return head
}

func (t *table) headerLike(l line, before int) bool {
	words, numbers, other, columns, times := 0, 0, 0, 0, false
	for i, c := range l.cells {
		_, isDate := parseStamp(c.text)
		isNumber := isNumber(c.text) && !(isDate && strings.Trim(c.text, "0123456789") != "")
		isWord := !t.blank(c.text) && !isNumber
		if isDate && t.columns[i].stamps() {
			return false // a table row, whatever its other cells contain
		}
		times = times || isWord && !isDate && before == 0 && timeLike(c.text)
		if !t.columns[i].numbers() {
			if isWord && !isDate {
				other++
			}
			continue
		}
		columns++
		switch {
		case isWord || isUnitRow(c.text):
			words++
		case isNumber:
			numbers++
		}
	}
	if columns == 0 {
		return before == 0 && other > 0
	}
	if words > numbers || times {
		return true
	}
	if before > 0 && words == 0 && numbers == 0 {
		return other > 0
	}
	return before == 0 && (t.counting(l, other > 0 || words > 0) || numbers == columns && other == 0 && t.positions(l))
}

// positions reports whether the line l holds column numbers 0, 1, 2, … or 1, 2, 3, … above columns
// of fractions. pandas writes such a line for columns without names.
func (t *table) positions(l line) bool {
	if len(l.cells) < 3 {
		return false
	}
	from, err := strconv.Atoi(l.cells[0].text)
	if err != nil || from != 0 && from != 1 {
		return false
	}
	for i, c := range l.cells {
		if c.text != strconv.Itoa(from+i) {
			return false
		}
		whole := 0
		for k := range t.rows {
			if !strings.ContainsAny(t.rows[k].at(i).text, ".,") {
				whole++
			}
		}
		if 2*whole > len(t.rows) {
			return false
		}
	}
	return true
}

// isUnitRow reports whether the cell s, in a line of a header, can only be the unit of a column.
func isUnitRow(s string) bool { return s == "-" || s == "%" }

// counting reports whether the numbers of the line l are names of columns. They must change by
// equal steps and follow a blank cell or, if they are years or other times, rise or fall and follow
// words. Years must also have at least three equal steps or differ from the cells below them, since
// they may be the numbers of the first row, unless they follow the usual name of a column.
func (t *table) counting(l line, words bool) bool {
	var all []float64
	even, times, monotone, usual := true, true, true, false
	for i, c := range l.cells {
		v, err := strconv.ParseFloat(c.text, 64)
		if err != nil {
			usual = usual || entityLike(c.text) || timeLike(c.text) || slices.Contains(variableNames, strings.ToLower(c.text))
			if !words && (t.columns[i].numbers() || len(all) > 0 && c.text != "") || isNumber(c.text) {
				return false
			}
			continue
		}
		n := len(all)
		even = even && v == math.Floor(v) && (n < 2 || v-all[n-1] == all[1]-all[0])
		times = times && timeName(c.text)
		monotone = monotone && !(n > 0 && (v == all[n-1] || n > 1 && (v > all[n-1]) != (all[1] > all[0])))
		all = append(all, v)
	}
	switch {
	case len(all) > 2 && even && monotone && (l.cells[0].text == "" || len(l.cells) == len(all)+1 && !t.columns[0].stamps() && timeName(l.cells[0].text)):
		return true
	case len(all) < 2 || !words || !times:
		return false
	}
	return usual || monotone && (even && len(all) > 3 || !t.alike(l))
}

// alike reports whether more than half of the cells below the numbers of the line l are numbers like
// them: whole ones too, with at most one digit more or less.
func (t *table) alike(l line) bool {
	same, all := 0, 0
	for i, c := range l.cells {
		if strings.Trim(c.text, "0123456789") != "" || c.text == "" {
			continue
		}
		for k := range t.rows {
			s := t.rows[k].at(i).text
			if t.blank(s) {
				continue
			}
			all++
			if d := len(s) - len(c.text); strings.Trim(s, "0123456789") == "" && d >= -1 && d <= 1 {
				same++
			}
		}
	}
	return 2*same > all
}

// knownUnits matches the units that are recognised in a header.
var knownUnits = regexp.MustCompile(`(?i)^(\[.*\]|\(.*\)|-|%|‰|°.{0,3}|deg ?[cfk]?|k|c|f|m|mm|cm|km|ft|in|m/s|km/h|mph|kn|knots|hpa|pa|kpa|mbar|bar|psi|w|kw|mw|gw|wh|kwh|mwh|gwh|w/m2|w/m\^2|w/m²|v|mv|a|ma|hz|khz|mhz|ppm|ppb|mg/m3|µg/m3|ug/m3|μg/m³|µg/m³|mg/m³|g|kg|t|l|ml|l/s|m3|m3/s|m³/s|usd|eur|gbp|jpy|chf|s|ms|min|h|d|rpm|nm|j|kj|lx|db|dbm|umol.*|µmol.*|n/a)$`)

// unitInName matches a name that ends in a unit, in brackets or after a comma.
var unitInName = regexp.MustCompile(`^(.*\S)\s*(?:\(([^()]{1,12})\)|\[([^\[\]]{1,12})\]|, ([^ ,]{1,6}))$`)

func unitOf(name string) (string, string) {
	m := unitInName.FindStringSubmatch(name)
	if m == nil {
		return name, ""
	}
	unit := m[2] + m[3] + m[4]
	if !knownUnits.MatchString(unit) {
		return name, ""
	}
	return m[1], unit
}

// fields lists common names of price columns, such as open and close.
var fields = []string{"open", "high", "low", "close", "adj close", "adj. close", "adjclose", "adj_close", "adjusted", "volume", "dividends", "stock splits", "capital gains", "vwap", "price"}

// isField reports whether s is a common name of a price column, including forms of brokers such as
// <OPEN> and AdjClose.
func isField(s string) bool {
	s = strings.Trim(strings.ToLower(s), "<>")
	return slices.Contains(fields, s) || slices.Contains(fields, strings.TrimLeft(strings.TrimPrefix(s, "adj"), ". _"))
}

var lineBreaks = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ")

// unnamedIndex matches the name that pandas gives to a column without one.
var unnamedIndex = regexp.MustCompile(`^Unnamed: \d+$`)

// name sets the names, units and entities of the columns from the header lines.
func (t *table) name(head []line) error {
	if t.named = len(head) > 0; !t.named {
		for i := range t.columns {
			t.columns[i].name = strconv.Itoa(i + 1)
		}
		return nil
	}
	rows := make([][]string, len(head))
	for k, l := range head {
		for _, c := range l.cells {
			rows[k] = append(rows[k], strings.TrimSpace(lineBreaks.Replace(strings.TrimPrefix(c.text, "\ufeff"))))
		}
	}
	index := "" // name of the first column if it has a separate line
	for k := len(rows) - 1; k > 0; k-- {
		rest := slices.IndexFunc(rows[k][1:], func(s string) bool { return s != "" })
		if rest < 0 {
			index = rows[k][0]
			rows = slices.Delete(rows, k, k+1)
		}
	}
	names, entities, units := rows[0], []string(nil), []string(nil)
	if len(rows) > 1 {
		// A letter below two lines of names may be a unit as well as a name.
		one := func(r []string) bool {
			return len(rows) > 2 && len(slices.Compact(slices.Sorted(slices.Values(r[1:])))) == 1 && len(r[1]) == 1
		}
		if k := 1 + slices.IndexFunc(rows[1:], func(r []string) bool { return areUnits(r) && !one(r) }); k > 0 {
			units = rows[k]
			rows = slices.Delete(rows, k, k+1)
			t.notes = append(t.notes, fmt.Sprintf("line %d: units", head[k].number))
		}
	}
	if len(rows) > 2 {
		return fmt.Errorf("line %d: %d lines of names; keep two at most: names of columns, and what they belong to", head[2].number, len(rows))
	}
	if len(rows) == 2 {
		names, entities = levels(rows)
		if names == nil {
			return fmt.Errorf("line %d: a second line of names that is neither units nor names of what columns belong to; delete one of the two lines", head[1].number)
		}
		t.notes = append(t.notes, fmt.Sprintf("lines %d and %d: names of channels and of entities", head[0].number, head[1].number))
	}
	for i := range t.columns {
		c := &t.columns[i]
		c.full = names[i]
		c.name, c.unit = unitOf(names[i])
		if units != nil && units[i] != "" && c.unit == "" {
			c.unit = strings.Trim(units[i], "[]()")
			if c.unit == "-" {
				c.unit = ""
			}
		}
		if entities != nil {
			c.entity = entities[i]
		}
		if i == 0 && index != "" {
			c.name, c.entity = index, ""
		}
		if unnamedIndex.MatchString(c.name) {
			c.unnamed = true
		}
		if c.name == "" {
			c.name, c.unnamed = strconv.Itoa(i+1), true
		}
	}
	return nil
}

// areUnits reports whether more than two thirds of the filled cells of a header line are units. The
// first cell is ignored.
func areUnits(row []string) bool {
	units, others := 0, 0
	for _, s := range row[min(1, len(row)-1):] {
		switch {
		case s == "":
		case knownUnits.MatchString(s):
			units++
		default:
			others++
		}
	}
	return units > 0 && units > 2*others
}

// levels decides which of two header lines names channels and which names entities. A blank cell in
// the upper line, as from merged cells, takes the name to its left. It returns nil if it cannot
// decide.
func levels(rows [][]string) (names, entities []string) {
	for _, r := range rows {
		for i := 2; i < len(r); i++ {
			if r[i] == "" && rows[1][i] != "" {
				r[i] = r[i-1]
			}
		}
	}
	score := func(r []string) (market bool, distinct int) {
		seen := map[string]bool{}
		n := 0
		for _, s := range r[1:] {
			if seen[s] = true; isField(s) {
				n++
			}
		}
		return 2*n >= len(r)-1, len(seen)
	}
	upper, up := score(rows[0])
	lower, low := score(rows[1])
	switch {
	case upper:
		names, entities = rows[0], rows[1]
	case lower:
		names, entities = rows[1], rows[0]
	case up < len(rows[0])-1: // names in the upper line repeat, so they are the entities
		names, entities = rows[1], rows[0]
	case low < len(rows[1])-1:
		names, entities = rows[0], rows[1]
	default:
		return nil, nil
	}
	names, entities = slices.Clone(names), slices.Clone(entities)
	if !isField(names[0]) {
		if names[0] = rows[1][0]; names[0] == "" {
			names[0] = rows[0][0]
		}
		entities[0] = ""
	}
	return names, entities
}

// repeated drops rows that repeat the header, as in concatenated files.
func (t *table) repeated(head []line) {
	if len(head) == 0 {
		return
	}
	t.rows = slices.DeleteFunc(slices.Clone(t.rows), func(l line) bool {
		for i, c := range l.cells {
			if c.text != head[0].at(i).text {
				return false
			}
		}
		t.notes = append(t.notes, fmt.Sprintf("line %d: the header again", l.number))
		return true
	})
}

// classify counts, for every column, the cells that can be numbers, dates and times of day.
func (t *table) classify() {
	for i := range t.columns {
		c := &t.columns[i]
		c.filled, c.numeric, c.dated, c.clocks = 0, 0, 0, 0
		for k := range t.rows {
			s := t.rows[k].at(i).text
			if t.blank(s) {
				continue
			}
			c.filled++
			p, ok := t.stamp(i, s)
			// 2003/Q1 is a date, although it looks like a number with a unit.
			if isNumber(s) && !(ok && p.hasDate && strings.Trim(s, "0123456789") != "") {
				c.numeric++
			}
			if ok {
				if p.hasDate {
					c.dated++
				} else {
					c.clocks++
				}
			}
		}
	}
}
