package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/seriesdata"
)

// table holds one or several series of the same channels in raw units, one after the other.
type table struct {
	name   string
	names  []string  // names of the channels
	values []float64 // values in raw units, rows × channels
	lines  []int     // line numbers in the file, one per row
	breaks []int     // rows at which another series begins, ascending
	notes  []string  // omissions, fillings and corrections
}

func (t *table) rows() int { return len(t.lines) }

func (t *table) at(row, channel int) float64 { return t.values[row*len(t.names)+channel] }

// whole reports whether the window that begins at row start lies within one series.
func (t *table) whole(start, length int) bool {
	k, _ := slices.BinarySearch(t.breaks, start+1)
	return start+length <= t.rows() && (k == len(t.breaks) || t.breaks[k] >= start+length)
}

// channel returns the index of a channel by its full name or the last part of it, or −1 if there
// is none.
func (t *table) channel(name string) int {
	if i := slices.IndexFunc(t.names, func(s string) bool { return strings.EqualFold(s, name) }); i >= 0 {
		return i
	}
	return slices.IndexFunc(t.names, func(s string) bool { return strings.EqualFold(short(s), name) })
}

// reading holds the settings of readTable.
type reading struct {
	seriesdata.Options
	missing string // treatment of missing numbers: error, drop or linear
}

// readFrame reads a file.
func readFrame(path string, o seriesdata.Options) (*seriesdata.Frame, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	frame, err := seriesdata.Read(f, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return frame, nil
}

// readTable reads a file whose columns are channels.
func readTable(path string, how reading) (*table, error) {
	f, err := readFrame(path, how.Options)
	if err != nil {
		return nil, err
	}
	t, err := tableOf(f, how)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t.name = path
	return t, nil
}

// parseTable reads a table from r.
func parseTable(r io.Reader, how reading) (*table, error) {
	f, err := seriesdata.Read(r, how.Options)
	if err != nil {
		return nil, err
	}
	return tableOf(f, how)
}

// tableOf concatenates the series of a frame.
func tableOf(f *seriesdata.Frame, how reading) (*table, error) {
	pick, left := choose(f, len(how.Columns) > 0)
	t := &table{}
	var out []string
	for _, l := range append(slices.Clone(f.LeftOut), left...) {
		out = append(out, fmt.Sprintf("%s (%s)", l.Column, l.Why))
	}
	if len(out) > 0 {
		t.notes = append(t.notes, "left out: "+strings.Join(out, ", "))
	}
	for _, c := range pick {
		t.names = append(t.names, f.Channels[c].Name)
		if s := f.Channels[c].Stand; len(s) > 0 {
			t.notes = append(t.notes, fmt.Sprintf("column %s: %v read as missing", f.Channels[c].Name, s))
		}
	}
	t.notes = append(t.notes, f.Notes...)
	if len(f.Entities) > 1 {
		t.notes = append(t.notes, fmt.Sprintf("%d series: %s", len(f.Entities), entityNames(f)))
	}
	if f.Time.Gaps > 0 {
		t.notes = append(t.notes, fmt.Sprintf("%d times left out by the file at a step of %s (-fill puts them in)", f.Time.Gaps, f.Time.Step))
	}
	if f.Time.Order != "oldest first" && f.Time.Order != "as in the file" {
		t.notes = append(t.notes, fmt.Sprintf("rows of the file are %s by %s", f.Time.Order, f.Time.Column))
	}
	for e := range f.Entities {
		if t.rows() > 0 {
			t.breaks = append(t.breaks, t.rows())
		}
		if err := t.fill(f, &f.Entities[e], pick, how.missing); err != nil {
			return nil, err
		}
	}
	if t.rows() == 0 {
		return nil, errors.New("no rows without missing numbers; -missing linear fills them in")
	}
	return t, nil
}

// entityNames lists the names of at most eight series.
func entityNames(f *seriesdata.Frame) string {
	var all []string
	for i, e := range f.Entities {
		if i == 8 {
			all = append(all, "…")
			break
		}
		all = append(all, e.Name)
	}
	return strings.Join(all, ", ")
}

// fill appends the rows of one series. According to missing, a missing number is an error, ends
// the series, or is interpolated. Times that the file omits end the series unless they are
// interpolated.
func (t *table) fill(f *seriesdata.Frame, e *seriesdata.Entity, pick []int, missing string) error {
	first, gaps := t.rows(), 0
	cut := func() {
		if n := t.rows(); n > first && (len(t.breaks) == 0 || t.breaks[len(t.breaks)-1] < n) {
			t.breaks = append(t.breaks, n) // windows do not reach over the gap
		}
	}
	last := 0
	for r := range e.Times {
		row, holes := make([]float64, len(pick)), false
		for c, i := range pick {
			row[c] = e.Values[r*len(f.Channels)+i]
			if math.IsNaN(row[c]) {
				if missing == "error" && e.Lines[r] > 0 {
					return fmt.Errorf("line %d, column %s: no number; -missing drop leaves such rows out, -missing linear fills them in, -fill FILE draws them", e.Lines[r], t.names[c])
				}
				holes = true
				gaps++
			}
		}
		if holes && missing != "linear" {
			cut()
			continue
		}
		if e.Lines[r] > 0 {
			last = e.Lines[r]
		}
		t.values = append(t.values, row...)
		t.lines = append(t.lines, last)
	}
	if n := len(t.breaks); n > 0 && t.breaks[n-1] == t.rows() {
		t.breaks = t.breaks[:n-1]
	}
	if gaps == 0 {
		return nil
	}
	switch missing {
	case "drop":
		t.notes = append(t.notes, fmt.Sprintf("rows with %d missing numbers left out", gaps))
		return nil
	case "linear":
		t.notes = append(t.notes, fmt.Sprintf("%d missing numbers filled in by straight lines", gaps))
		return t.interpolate(first)
	}
	return nil
}

// interpolate replaces NaN from row first on by linear interpolation in the channel, at the ends
// by the nearest number.
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

// priceRounding is the relative amount by which prices may be out of order because the file
// rounds them. They are then put in order.
const priceRounding = 1e-6

// prices returns the channels open, high, low and close if all four exist. It corrects an order
// that only rounding breaks, and returns an error if a row is out of order by more.
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
		if low <= least && high >= most {
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
