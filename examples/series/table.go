package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// table holds a series of several channels in raw units.
type table struct {
	name   string
	names  []string  // of the channels
	values []float64 // rows × channels
	lines  []int     // of the file, one per row
}

func (t *table) rows() int { return len(t.lines) }

func (t *table) at(row, channel int) float64 { return t.values[row*len(t.names)+channel] }

// channel returns the number of a channel, −1 if there is none of that name.
func (t *table) channel(name string) int {
	return slices.IndexFunc(t.names, func(s string) bool { return strings.EqualFold(s, name) })
}

// readTable reads a CSV file whose columns are channels; columns, unless empty,
// picks some by name.
func readTable(path, columns string) (*table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := parseTable(f, columns)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t.name = path
	return t, nil
}

// parseTable reads numbers, below a header if the first line has a cell that is
// none.
func parseTable(r io.Reader, columns string) (*table, error) {
	in := csv.NewReader(r)
	in.Comment, in.TrimLeadingSpace = '#', true
	t := &table{}
	var pick []int
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err // names the line
		}
		line, _ := in.FieldPos(0)
		if pick == nil {
			header := !allNumbers(record)
			if pick, err = t.choose(record, header, columns); err != nil {
				return nil, fmt.Errorf("line %d: %w", line, err)
			}
			if header {
				continue
			}
		}
		for c, i := range pick {
			v, err := number(record[i])
			if err != nil {
				return nil, fmt.Errorf("line %d, column %s: %w", line, t.names[c], err)
			}
			t.values = append(t.values, v)
		}
		t.lines = append(t.lines, line)
	}
	if t.rows() == 0 {
		return nil, errors.New("no rows of numbers")
	}
	return t, nil
}

// choose sets the names of the channels and returns their columns.
func (t *table) choose(record []string, header bool, columns string) (pick []int, err error) {
	all := make([]string, len(record))
	for i, s := range record {
		if all[i] = strings.TrimSpace(s); !header {
			all[i] = strconv.Itoa(i + 1)
		}
	}
	t.names = all
	if columns != "" {
		t.names = strings.Split(columns, ",")
	}
	for c, name := range t.names {
		name = strings.TrimSpace(name)
		i := slices.Index(all, name)
		switch {
		case i < 0:
			return nil, fmt.Errorf("-columns: no column %q; there are %s", name, strings.Join(all, ", "))
		case slices.Contains(pick, i):
			return nil, fmt.Errorf("two columns %q", name)
		}
		t.names[c] = name
		pick = append(pick, i)
	}
	return pick, nil
}

func allNumbers(record []string) bool {
	return !slices.ContainsFunc(record, func(s string) bool {
		s = strings.TrimSpace(s)
		_, err := strconv.ParseFloat(s, 64)
		return err != nil && s != "" // a blank is a missing number, not a name
	})
}

func number(s string) (float64, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, errors.New("no number")
	}
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		return 0, fmt.Errorf("%q is not a number; name the columns to read by -columns", s)
	case err != nil, math.IsNaN(v), math.IsInf(v, 0):
		return 0, fmt.Errorf("%s, want a finite number", s)
	}
	return v, nil
}

// prices returns the channels open, high, low and close, if there are all four
// and they are in order on every row.
func (t *table) prices() (c [4]int, found bool, err error) {
	for k, name := range []string{"open", "high", "low", "close"} {
		if c[k] = t.channel(name); c[k] < 0 {
			return c, false, nil
		}
	}
	for row, line := range t.lines {
		open, high, low, last := t.at(row, c[0]), t.at(row, c[1]), t.at(row, c[2]), t.at(row, c[3])
		if low > min(open, last) || high < max(open, last) {
			return c, false, fmt.Errorf("%s: line %d: open %v, high %v, low %v, close %v, want low ≤ open, close ≤ high (or -ohlc=false)",
				t.name, line, open, high, low, last)
		}
	}
	return c, true, nil
}
