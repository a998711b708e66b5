package seriesdata

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Options resolves what is ambiguous in a file. With the zero value, everything is inferred from
// the file.
type Options struct {
	// Columns lists the channels to read, by the full name (AAPL.Open) or by its last part (Open).
	// If it is empty, all numeric columns are read.
	Columns []string

	// Time names the column of times. If date and time of day are in two columns, a comma separates
	// their names. "none" means that the rows are at equal intervals.
	//
	// Entity names the columns, separated by commas, that identify the series of a row. "none"
	// means that there is only one series.
	Time, Entity string

	// Dates is the order of the parts of a date: "dmy", "mdy" or "ymd". If it is empty, the order
	// is inferred.
	Dates string

	// Location is the time zone of times that are written without a time zone; nil means UTC.
	Location *time.Location

	// Decimal is the decimal separator, '.' or ','. Comma is the cell separator. If one of them is
	// 0, it is inferred.
	Decimal byte
	Comma   rune

	// Missing lists texts that stand for missing values, in addition to the usual texts. Numbers in
	// this list count as missing in every column. The field Keep lists numbers that look like
	// markers of missing values but are ordinary values, for example -999.
	Missing []string
	Keep    []float64
}

// Frame holds the contents of a file. For every entity, such as a stock or a sensor, it has a table
// of numbers with a row for each time and a column for each channel. The methods of a Frame do not
// change it.
type Frame struct {
	Time     Time
	Entities []Entity
	Channels []Channel
	LeftOut  []Omission
	Notes    []string // decisions that no other field records, and the lines that were left out

	doc    *document
	layout layout
}

// Time describes the times of a frame: their format in the file, their order and the step between
// them.
type Time struct {
	// Name of the column of times in the file; two names are joined by +; "" if there is none.
	Column string `json:"column"`
	// Order of the rows in the file: "oldest first", "newest first", "as in the file", or "sorted".
	// The value "sorted" means that the file has its rows in no order, and that Read sorted them.
	Order string `json:"order"`
	Dates string `json:"dates,omitempty"` // order of a date's parts, such as day/month/year
	Zone  string `json:"zone,omitempty"`  // time zone of the file; "" if unknown
	// step of the regular grid of times; "irregular" if there is none, "1 row" if the file has no
	// times
	Step string `json:"step"`
	// number of times of the regular grid that are absent from the file, over all entities
	Gaps   int   `json:"gaps"`
	Ranges []Gap `json:"ranges,omitempty"`
}

// Gap is a stretch of consecutive times of the regular grid that are absent from the file.
type Gap struct {
	Entity string `json:"entity,omitempty"`
	From   string `json:"from"`
	To     string `json:"to"`
	Rows   int    `json:"rows"`
}

// Entity is one series of a frame, such as the prices of one stock.
type Entity struct {
	Name string

	// Times holds the times in ascending order. A point in time, such as a date, is stored as
	// microseconds since 1970 in UTC. If the times of the file are plain numbers, they are stored
	// unchanged. If the file has no times, Times is 0, 1, 2, …. Lines holds the line number in the
	// file for each time; 0 marks a time that is absent from the file.
	Times []float64
	Lines []int

	// Values holds times × channels numbers; NaN is a missing number.
	Values []float64

	at []place // times × channels: position of each value in the file
}

// place is the position of a value in the document: its line and cell. line < 0 means that the file
// does not contain the value.
type place struct{ line, cell int }

// Channel describes one quantity that is measured at every time.
type Channel struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	// kind of quantity: "price", "volume", "count", "share", "flag", "constant" or "number"
	Kind    string `json:"kind"`
	Missing int    `json:"missing"` // number of missing values in rows of the file

	// Tick is the largest number that divides all values, such as 0.01 for prices or 1 for counts.
	// 0 means that there is none.
	Tick float64 `json:"tick,omitempty"`

	// Stand lists the numbers that stand for missing values in this channel, such as −200.
	Stand []float64 `json:"stand_for_missing,omitempty"`

	style style
}

// Omission names a column that was not read, and states the reason.
type Omission struct {
	Column string `json:"column"`
	Why    string `json:"why"`
}

// Spell formats the value v in the number format of channel c.
func (f *Frame) Spell(c int, v float64) string { return f.Channels[c].style.spell(v) }

// Label returns the time of row r of entity e in the format of the file, or "" if the file has no
// times.
func (f *Frame) Label(e, r int) string {
	l := &f.layout
	switch {
	case l.across && l.dated:
		t := time.UnixMicro(int64(f.Entities[e].Times[r])).UTC()
		if t.YearDay() == 1 && (f.Time.Step == "1 year" || strings.HasSuffix(f.Time.Step, " years")) {
			return t.Format("2006")
		}
		return strings.TrimSuffix(t.Format("2006-01-02 15:04"), " 00:00")
	case l.across:
		return fmt.Sprint(f.Entities[e].Times[r])
	case l.axis == nil:
		return ""
	}
	k := r
	for l.rows[e][k] < 0 {
		k--
	}
	return f.label(l.axis, l.rows[e][k], f.Entities[e].Times[r])
}

// Read reads time series from r, which yields the contents of a file. Errors name a line of the
// file and state how to resolve the problem.
func Read(r io.Reader, o Options) (*Frame, error) {
	if err := check.Given("seriesdata: Read", "r", r); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	text, mark, notes, err := decode(b)
	if err != nil {
		return nil, err
	}
	var d *document
	if begins.MatchString(text) {
		d, err = objects(text)
	} else {
		d, err = delimited(text, o.Comma)
	}
	if err != nil {
		return nil, err
	}
	d.mark, d.notes = mark, append(notes, d.notes...)
	return assemble(d, o)
}

// begins matches the beginning of JSON. A bracket must be followed by an array, an object, a string
// or a number, because a header line of a table may begin with a bracket, too.
var begins = regexp.MustCompile(`^\s*(\{|\[\s*[{["\]\d-])`)

func (o *Options) check() error {
	switch {
	case o.Dates != "" && o.Dates != "dmy" && o.Dates != "mdy" && o.Dates != "ymd":
		return fmt.Errorf("seriesdata: Dates = %q, want dmy, mdy or ymd", o.Dates)
	case o.Decimal != 0 && o.Decimal != '.' && o.Decimal != ',':
		return fmt.Errorf("seriesdata: Decimal = %q, want a point or a comma", o.Decimal)
	case o.Comma == '"' || o.Comma == '\n' || o.Comma == '\r':
		return fmt.Errorf("seriesdata: Comma = %q, want what separates cells", o.Comma)
	}
	return nil
}

var errNoRows = errors.New("no rows of numbers: want a line of names and lines of numbers, separated by commas, semicolons, tabs or |")

// MarshalJSON encodes the description of the frame as JSON, without the numbers of the series.
func (f *Frame) MarshalJSON() ([]byte, error) {
	names := []string{}
	for _, e := range f.Entities {
		if e.Name != "" {
			names = append(names, e.Name)
		}
	}
	return json.Marshal(struct {
		Time     Time       `json:"time"`
		Entities []string   `json:"entities"`
		Rows     int        `json:"rows"`
		Channels []Channel  `json:"channels"`
		LeftOut  []Omission `json:"left_out"`
		Notes    []string   `json:"notes"`
	}{f.Time, names, f.rows(), f.Channels, append([]Omission{}, f.LeftOut...), append([]string{}, f.Notes...)})
}

// rows returns the number of times of all entities together.
func (f *Frame) rows() int {
	n := 0
	for i := range f.Entities {
		n += len(f.Entities[i].Times)
	}
	return n
}

// shown is the maximum number of names and of gaps that [Frame.String] lists.
const shown = 8

// String returns a table of everything that was inferred from the file.
func (f *Frame) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(what, how string, more ...string) {
		fmt.Fprintf(w, "%s\t%s\t%s\n", what, how, strings.Join(more, "; "))
	}
	t := f.Time
	row("file", f.doc.kind(), fmt.Sprintf("%d rows", f.rows()))
	column := t.Column
	if column == "" {
		column = "none"
	}
	var more []string
	for _, s := range []string{t.Order, t.Dates, t.Zone} {
		if s != "" {
			more = append(more, s)
		}
	}
	row("time", column, append(more, "step "+t.Step, fmt.Sprintf("%d times left out by the file", t.Gaps))...)
	for i, g := range t.Ranges {
		if i == shown {
			row("", fmt.Sprintf("and %d gaps more", len(t.Ranges)-shown))
			break
		}
		row("gap", strings.TrimSpace(g.Entity+" "+g.From), "to "+g.To, fmt.Sprintf("%d rows", g.Rows))
	}
	for i, e := range f.Entities {
		if e.Name == "" {
			continue
		}
		if i == shown {
			row("", fmt.Sprintf("and %d entities more", len(f.Entities)-shown))
			break
		}
		row("entity", e.Name, fmt.Sprintf("%d rows", len(e.Times)))
	}
	for _, c := range f.Channels {
		more := []string{c.Kind}
		if c.Unit != "" {
			more = append(more, "unit "+c.Unit)
		}
		more = append(more, fmt.Sprintf("%d missing", c.Missing))
		if c.Tick > 0 {
			more = append(more, fmt.Sprintf("multiples of %v", c.Tick))
		}
		if len(c.Stand) > 0 {
			more = append(more, fmt.Sprintf("%v read as missing", c.Stand))
		}
		row("channel", c.Name, more...)
	}
	for _, l := range f.LeftOut {
		row("left out", l.Column, l.Why)
	}
	for _, n := range f.Notes {
		row("note", n)
	}
	w.Flush()
	lines := strings.Split(b.String(), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}

// kind returns the name of the cell separator.
func (d *document) kind() string {
	switch d.comma {
	case "":
		if d.array {
			return "JSON, one array"
		}
		return "JSON, one object per line"
	case "\t":
		return "cells between tabs"
	case " ":
		return "cells between blanks"
	}
	return "cells between " + d.comma
}
