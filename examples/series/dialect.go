package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// dialect is how a file writes cells: what stands between them, and whether
// fractions begin with a point or a comma.
type dialect struct {
	comma   rune
	decimal rune
}

// record is one line of cells.
type record struct {
	line  int
	cells []string
}

// readRecords splits a text into records and finds its dialect.
func readRecords(text string) (dialect, []record, error) {
	d := dialect{comma: separator(text), decimal: '.'}
	in := csv.NewReader(strings.NewReader(text))
	in.Comma, in.Comment, in.TrimLeadingSpace = d.comma, '#', d.comma != '\t'
	var records []record
	for {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return d, nil, err // names the line
		}
		line, _ := in.FieldPos(0)
		for i, s := range cells {
			cells[i] = strings.TrimSpace(s)
		}
		records = append(records, record{line, cells})
	}
	if d.comma != ',' {
		d.decimal = decimalMark(records)
	}
	return d, records, nil
}

// separator returns the one of tab, semicolon, bar and comma that the first
// lines have equally often, the comma if there is none.
func separator(text string) rune {
	for _, sep := range []rune{'\t', ';', '|'} {
		count, lines, even := 0, 0, true
		for line := range strings.Lines(text) {
			if line = strings.TrimRight(line, "\r\n"); line == "" || line[0] == '#' {
				continue
			}
			n := outside(line, sep)
			if lines++; lines == 1 {
				count = n
			}
			even = even && n == count
			if lines == 20 {
				break
			}
		}
		if even && count > 0 {
			return sep
		}
	}
	return ','
}

// outside counts a separator outside of quotes.
func outside(line string, sep rune) int {
	n, quoted := 0, false
	for _, r := range line {
		switch r {
		case '"':
			quoted = !quoted
		case sep:
			if !quoted {
				n++
			}
		}
	}
	return n
}

var (
	commaFraction = regexp.MustCompile(`^[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+([eE][+-]?\d+)?$`)
	pointFraction = regexp.MustCompile(`^[+-]?(\d+|\d{1,3}(,\d{3})+)\.\d+([eE][+-]?\d+)?$`)
	pointGroups   = regexp.MustCompile(`^[+-]?\d{1,3}(,\d{3})+(\.\d+)?([eE][+-]?\d+)?$`)
	commaGroups   = regexp.MustCompile(`^[+-]?\d{1,3}(\.\d{3})+(,\d+)?([eE][+-]?\d+)?$`)
)

// decimalMark returns the comma if some cell has a fraction after a comma and
// none has one after a point.
func decimalMark(records []record) rune {
	comma := false
	for _, r := range records {
		for _, s := range r.cells {
			if _, ok := date(s); ok {
				continue // 01.02
			}
			if pointFraction.MatchString(s) && !commaGroups.MatchString(s) {
				return '.'
			}
			comma = comma || commaFraction.MatchString(s)
		}
	}
	if comma {
		return ','
	}
	return '.'
}

// blank reports whether a cell says that there is no number.
func blank(s string) bool {
	switch strings.ToLower(s) {
	case "", "na", "n/a", "null", "none", "-", "--", "#n/a":
		return true
	}
	return false
}

// number reads a cell. Digits may stand in groups of three.
func (d dialect) number(s string) (float64, error) {
	plain := s
	if d.decimal == ',' {
		if strings.Contains(s, ".") && !commaGroups.MatchString(s) {
			return 0, fmt.Errorf("%q is not a number with a decimal comma, as others of this file are", s)
		}
		plain = strings.ReplaceAll(strings.ReplaceAll(s, ".", ""), ",", ".")
	} else if strings.Contains(s, ",") {
		if !pointGroups.MatchString(s) {
			if commaFraction.MatchString(s) {
				return 0, fmt.Errorf("%q has a decimal comma in a file separated by commas; separate it by semicolons", s)
			}
			return 0, errNumber(s)
		}
		plain = strings.ReplaceAll(s, ",", "")
	}
	v, err := strconv.ParseFloat(plain, 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		return 0, errNumber(s)
	case err != nil, v-v != 0:
		return 0, fmt.Errorf("%s, want a finite number", s)
	}
	return v, nil
}

func errNumber(s string) error {
	if len(strings.Fields(s)) > 2 {
		return fmt.Errorf("%q is not a number; separate numbers by commas, semicolons, tabs or |", s)
	}
	return fmt.Errorf("%q is not a number; name the columns to read by -columns", s)
}

// numeric reports whether a cell is meant as a number, finite and well written
// or not.
func (d dialect) numeric(s string) bool {
	_, err := d.number(s)
	return err == nil || strings.HasSuffix(err.Error(), "want a finite number") || commaFraction.MatchString(s)
}

// dateLayouts are tried in order; a day before a month only with dots.
var dateLayouts = []string{
	time.DateOnly, time.DateTime, time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04",
	"2006-01-02 15:04:05-07:00", "2006/01/02", "2006/01/02 15:04:05", "01/02/2006", "1/2/2006", "01/02/2006 15:04", "01/02/06",
	"02.01.2006", "2.1.2006", "02.01.2006 15:04", "02.01.2006 15:04:05", "02-Jan-2006", "2-Jan-06", "Jan 2, 2006", "2 Jan 2006",
}

// date reads a cell that is a date.
func date(s string) (time.Time, bool) {
	if len(s) < 6 || len(s) > 32 {
		return time.Time{}, false
	}
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
