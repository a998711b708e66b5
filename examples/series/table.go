package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
)

// table holds a series of several channels in raw units, or several series of
// the same channels one after the other.
type table struct {
	name   string
	names  []string  // of the channels
	values []float64 // rows × channels
	lines  []int     // of the file, one per row
	breaks []int     // rows at which another series begins, ascending
	notes  []string  // what was left out, filled in or put right
	from   source    // the file
}

func (t *table) rows() int { return len(t.lines) }

func (t *table) at(row, channel int) float64 { return t.values[row*len(t.names)+channel] }

// whole reports whether the window that begins at a row lies within one series
// and has no gap.
func (t *table) whole(start, length int) bool {
	k, _ := slices.BinarySearch(t.breaks, start+1)
	if start+length > t.rows() || k < len(t.breaks) && t.breaks[k] < start+length {
		return false
	}
	for row := start; row < start+length; row++ {
		if t.hole(row) {
			return false
		}
	}
	return true
}

// channel returns the number of the channel that a name means, −1 if there is
// none: its whole name or the last part of it.
func (t *table) channel(name string) int {
	if i := slices.IndexFunc(t.names, func(s string) bool { return strings.EqualFold(s, name) }); i >= 0 {
		return i
	}
	return slices.IndexFunc(t.names, func(s string) bool { return strings.EqualFold(short(s), name) })
}

// reading holds the settings of readTable.
type reading struct {
	columns string // names of columns, or empty
	missing string // what becomes of blank cells: error, drop, linear or keep (as NaN)
}

// readTable reads a CSV file whose columns are channels.
func readTable(path string, how reading) (*table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := parseTable(f, how)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t.name = path
	return t, nil
}

// parseTable reads a file in any of the dialects that spreadsheets write.
func parseTable(r io.Reader, how reading) (*table, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	text, err := decode(b)
	if err != nil {
		return nil, err
	}
	d, records, err := readRecords(text)
	if err != nil {
		return nil, err
	}
	columns, rows := survey(d, records)
	if len(rows) == 0 {
		return nil, errors.New("no rows of numbers: want a line of names and lines of numbers, separated by commas, semicolons, tabs or |")
	}
	pick, left, err := choose(columns, how.columns)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", records[0].line, err)
	}
	if len(pick) == 0 {
		return nil, firstWord(d, columns, rows)
	}
	t := &table{from: source{d, records, pick}}
	if len(left) > 0 {
		t.notes = append(t.notes, "left out: "+strings.Join(left, ", "))
	}
	for _, i := range pick {
		t.names = append(t.names, columns[i].name)
	}
	series, by, err := parts(columns, rows)
	if err != nil {
		return nil, err
	}
	if by != "" {
		t.notes = append(t.notes, fmt.Sprintf("%d series by %s", len(series), by))
	}
	for _, s := range series {
		if t.rows() > 0 {
			t.breaks = append(t.breaks, t.rows())
		}
		if err := t.fill(d, s, pick, how.missing); err != nil {
			return nil, err
		}
	}
	if t.rows() == 0 {
		return nil, errors.New("no rows of numbers: want a line of names and lines of numbers, separated by commas, semicolons, tabs or |")
	}
	if how.columns == "" {
		t.dropConstants()
	}
	return t, nil
}

// firstWord is the error for a file without a column of numbers: the first cell
// that spoils the last column that is no date.
func firstWord(d dialect, columns []column, rows []record) error {
	for i := len(columns) - 1; i >= 0; i-- {
		if columns[i].kind != words {
			continue
		}
		for _, r := range rows {
			if !blank(r.cells[i]) && !d.numeric(r.cells[i]) {
				return fmt.Errorf("line %d, column %s: %w", r.line, columns[i].name, errNumber(r.cells[i]))
			}
		}
	}
	return errors.New("no column of numbers")
}

// fill appends the rows of one series. A blank cell is an error, ends the series
// there, or lies on the line between its neighbours.
func (t *table) fill(d dialect, rows []record, pick []int, missing string) error {
	first, gaps := t.rows(), 0
	for _, r := range rows {
		row := make([]float64, len(pick))
		holes := false
		for c, i := range pick {
			if blank(r.cells[i]) {
				if missing == "error" {
					return fmt.Errorf("line %d, column %s: no number; -missing drop leaves such rows out, -missing linear fills them in", r.line, t.names[c])
				}
				row[c], holes = math.NaN(), true
				gaps++
				continue
			}
			v, err := d.number(r.cells[i])
			if err != nil {
				return fmt.Errorf("line %d, column %s: %w", r.line, t.names[c], err)
			}
			row[c] = v
		}
		if holes && missing == "drop" {
			if n := t.rows(); n > 0 && (len(t.breaks) == 0 || t.breaks[len(t.breaks)-1] < n) {
				t.breaks = append(t.breaks, n) // windows do not reach over the gap
			}
			continue
		}
		t.values = append(t.values, row...)
		t.lines = append(t.lines, r.line)
	}
	if n := len(t.breaks); n > 0 && t.breaks[n-1] == t.rows() {
		t.breaks = t.breaks[:n-1]
	}
	if gaps == 0 || missing == "keep" {
		return nil
	}
	if missing == "drop" {
		t.notes = append(t.notes, fmt.Sprintf("rows with %d missing numbers left out", gaps))
		return nil
	}
	t.notes = append(t.notes, fmt.Sprintf("%d missing numbers filled in on straight lines", gaps))
	return t.interpolate(first)
}

// interpolate replaces NaN from a row on by the line between the neighbours in
// the channel, at the ends by the nearest number.
func (t *table) interpolate(first int) error {
	n := len(t.names)
	for c, name := range t.names {
		last := -1
		for row := first; row < t.rows(); row++ {
			v := t.at(row, c)
			if math.IsNaN(v) {
				continue
			}
			from := v
			if last >= 0 {
				from = t.at(last, c)
			}
			for gap := max(last+1, first); gap < row; gap++ {
				share := 1.0
				if last >= 0 {
					share = float64(gap-last) / float64(row-last)
				}
				t.values[gap*n+c] = from + share*(v-from)
			}
			last = row
		}
		if last < 0 {
			return fmt.Errorf("column %s: no numbers on lines %d … %d", name, t.lines[first], t.lines[t.rows()-1])
		}
		for row := last + 1; row < t.rows(); row++ {
			t.values[row*n+c] = t.at(last, c)
		}
	}
	return nil
}

// dropConstants leaves out channels that never change: they have no scale. If
// all are constant they stay, and the error comes later.
func (t *table) dropConstants() {
	n, rows := len(t.names), t.rows()
	var keep []int
	for c := range n {
		if slices.Contains(priceNames, strings.ToLower(short(t.names[c]))) {
			keep = append(keep, c)
			continue
		}
		for row := 1; row < rows; row++ {
			if t.at(row, c) != t.at(0, c) { // a gap is a change
				keep = append(keep, c)
				break
			}
		}
	}
	if len(keep) == n || len(keep) == 0 || n <= 2 {
		return
	}
	var names, gone []string
	var values []float64
	var columns []int
	for c, name := range t.names {
		if slices.Contains(keep, c) {
			names = append(names, name)
			columns = append(columns, t.from.columns[c])
		} else {
			gone = append(gone, name+" (constant)")
		}
	}
	for row := range rows {
		for _, c := range keep {
			values = append(values, t.at(row, c))
		}
	}
	t.names, t.values, t.from.columns = names, values, columns
	t.notes = append(t.notes, "left out: "+strings.Join(gone, ", "))
}

// priceRounding is how far prices may be out of order by the rounding of who
// wrote the file, relative to the price: then they are put in order.
const priceRounding = 1e-6

// prices returns the channels open, high, low and close, if there are all four
// and they are in order on every row, up to rounding, which it puts right.
func (t *table) prices() (c [4]int, found bool, err error) {
	for k, name := range priceNames {
		if c[k] = t.channel(name); c[k] < 0 {
			return c, false, nil
		}
	}
	mended, n := 0, len(t.names)
	for row, line := range t.lines {
		open, high, low, last := t.at(row, c[0]), t.at(row, c[1]), t.at(row, c[2]), t.at(row, c[3])
		least, most := min(open, last), max(open, last)
		if low <= least && high >= most || t.hole(row) {
			continue
		}
		slack := priceRounding * max(math.Abs(least), math.Abs(most))
		if low > least+slack || high < most-slack {
			return c, false, fmt.Errorf("%s: line %d: open %v, high %v, low %v, close %v, want low ≤ open, close ≤ high (or -ohlc=false)",
				t.name, line, open, high, low, last)
		}
		t.values[row*n+c[1]], t.values[row*n+c[2]] = max(high, most), min(low, least)
		mended++
	}
	if mended > 0 {
		t.notes = append(t.notes, fmt.Sprintf("high or low of %d rows moved by rounding to keep prices in order", mended))
	}
	return c, true, nil
}
