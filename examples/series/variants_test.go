package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/gibbsite-go/gibbsite/seriesdata"
)

// bars is a small market as a spreadsheet has it: a header, then rows of cells,
// the first a date.
func bars(rows int) (header []string, cells [][]string) {
	t := market(rows, 5)
	header = []string{"Date", "Open", "High", "Low", "Close", "Volume"}
	day := time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC)
	for row := range rows {
		line := []string{day.AddDate(0, 0, row).Format(time.DateOnly)}
		for c := range 4 {
			line = append(line, fmt.Sprintf("%.6f", t.at(row, c)))
		}
		cells = append(cells, append(line, fmt.Sprintf("%.0f", 1e4*t.at(row, 4))))
	}
	return header, cells
}

// join writes a file with a separator.
func join(sep string, header []string, cells [][]string) string {
	var b strings.Builder
	if header != nil {
		fmt.Fprintln(&b, strings.Join(header, sep))
	}
	for _, line := range cells {
		fmt.Fprintln(&b, strings.Join(line, sep))
	}
	return b.String()
}

// every applies f to every cell of one column.
func every(cells [][]string, column int, f func(string) string) [][]string {
	out := make([][]string, len(cells))
	for i, line := range cells {
		out[i] = slices.Clone(line)
		out[i][column] = f(line[column])
	}
	return out
}

func utf16Of(text string, order binary.AppendByteOrder, mark bool) []byte {
	var b []byte
	if mark {
		b = order.AppendUint16(b, 0xFEFF)
	}
	for _, w := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, w)
	}
	return b
}

// Files as they are met: each is read, and sampled from, with prices in order, or
// refused in one line that names the remedy.
func TestVariantsOfFiles(t *testing.T) {
	header, cells := bars(60)
	plain := join(",", header, cells)
	comma := func(s string) string { return strings.ReplaceAll(s, ".", ",") }
	german := cells
	for c := 1; c <= 4; c++ {
		german = every(german, c, comma)
	}
	german = every(german, 0, func(s string) string {
		d, _ := time.Parse(time.DateOnly, s)
		return d.Format("02.01.2006")
	})
	newest := slices.Clone(cells)
	slices.Reverse(newest)
	rename := func(f func(string) string) []string {
		out := slices.Clone(header)
		for i := range out[1:] {
			out[i+1] = f(out[i+1])
		}
		return out
	}
	var two [][]string
	for _, name := range []string{"AAA", "BBB"} {
		for _, line := range cells {
			two = append(two, append(slices.Clone(line), name))
		}
	}
	shuffled := slices.Clone(cells)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	hole := func(s string) [][]string {
		out := every(cells, 0, func(s string) string { return s })
		out[7][2] = s
		return out
	}
	swap := func(by string) [][]string {
		out := every(cells, 0, func(s string) string { return s })
		out[9][3] = by // low
		return out
	}
	open := cells[9][1]
	dearer := func(part float64) string {
		var v float64
		fmt.Sscan(open, &v)
		var last float64
		fmt.Sscan(cells[9][4], &last)
		return fmt.Sprintf("%.9f", min(v, last)*(1+part))
	}
	thousands := every(cells, 5, func(s string) string { return `"` + s[:len(s)-3] + "," + s[len(s)-3:] + `"` })
	indexed := [][]string{}
	for i, line := range cells {
		indexed = append(indexed, append([]string{fmt.Sprint(i)}, line...))
	}
	for name, v := range map[string]struct {
		file    []byte
		how     reading
		columns string // wanted channels, or
		err     string // what the error says
	}{
		"plain":                 {file: []byte(plain), columns: "Open,High,Low,Close,Volume"},
		"byte-order mark":       {file: []byte("\ufeff" + plain), columns: "Open,High,Low,Close,Volume"},
		"UTF-16 LE":             {file: utf16Of(plain, binary.LittleEndian, true), columns: "Open,High,Low,Close,Volume"},
		"UTF-16 BE":             {file: utf16Of(plain, binary.BigEndian, true), columns: "Open,High,Low,Close,Volume"},
		"UTF-16 without mark":   {file: utf16Of(plain, binary.LittleEndian, false), err: "save the file as UTF-8"},
		"Latin-1":               {file: []byte(strings.Replace(plain, "Volume", "St\xfcck", 1)), err: "line 1: bytes that are not UTF-8; save"},
		"CRLF":                  {file: []byte(strings.ReplaceAll(plain, "\n", "\r\n")), columns: "Open,High,Low,Close,Volume"},
		"CR":                    {file: []byte(strings.ReplaceAll(plain, "\n", "\r")), columns: "Open,High,Low,Close,Volume"},
		"UTF-32":                {file: append([]byte("\xff\xfe\x00\x00"), plain...), err: "UTF-32; save the file as UTF-8"},
		"blanks":                {file: []byte(join(" ", header, cells)), columns: "Open,High,Low,Close,Volume"},
		"semicolons":            {file: []byte(join(";", header, cells)), columns: "Open,High,Low,Close,Volume"},
		"tabs":                  {file: []byte(join("\t", header, cells)), columns: "Open,High,Low,Close,Volume"},
		"bars":                  {file: []byte(join("|", header, cells)), columns: "Open,High,Low,Close,Volume"},
		"decimal commas":        {file: []byte(join(";", header, german)), columns: "Open,High,Low,Close,Volume"},
		"commas in both roles":  {file: []byte(join(",", header, every(cells, 1, func(s string) string { return `"` + comma(s) + `"` }))), columns: "Open,High,Low,Close,Volume"},
		"thousands":             {file: []byte(join(",", header, thousands)), columns: "Open,High,Low,Close,Volume"},
		"lower case":            {file: []byte(join(",", rename(strings.ToLower), cells)), columns: "open,high,low,close,volume"},
		"upper case":            {file: []byte(join(",", rename(strings.ToUpper), cells)), columns: "OPEN,HIGH,LOW,CLOSE,VOLUME"},
		"prefixed":              {file: []byte(join(",", rename(func(s string) string { return "AAPL." + s }), cells)), columns: "AAPL.Open,AAPL.High,AAPL.Low,AAPL.Close,AAPL.Volume"},
		"columns in lower case": {file: []byte(plain), how: reading{Options: seriesdata.Options{Columns: []string{"open", "high", "low", "close"}}}, columns: "Open,High,Low,Close"},
		"no such column":        {file: []byte(plain), how: reading{Options: seriesdata.Options{Columns: []string{"open", "vwap"}}}, err: `no column "vwap"; there are Date, Open`},
		"newest first":          {file: []byte(join(",", header, newest)), columns: "Open,High,Low,Close,Volume"},
		"no order":              {file: []byte(join(",", header, shuffled)), columns: "Open,High,Low,Close,Volume"},
		"numbers as dates":      {file: []byte(join(",", header, every(cells, 0, func(s string) string { return strings.ReplaceAll(s, "-", "") }))), columns: "Open,High,Low,Close,Volume"},
		"a nameless index":      {file: []byte(join(",", append([]string{""}, header...), indexed)), columns: "Open,High,Low,Close,Volume"},
		"two series":            {file: []byte(join(",", append(slices.Clone(header), "Stock"), two)), columns: "Open,High,Low,Close,Volume"},
		"a blank cell":          {file: []byte(join(",", header, hole(""))), err: "line 9, column High: no number; -missing drop"},
		"a blank cell, dropped": {file: []byte(join(",", header, hole("NA"))), how: reading{missing: "drop"}, columns: "Open,High,Low,Close,Volume"},
		"a word among numbers":  {file: []byte(join(",", header, hole("high"))), err: `line 9, column High: "high" is not a number`},
		"low by rounding":       {file: []byte(join(",", header, swap(dearer(1e-8)))), columns: "Open,High,Low,Close,Volume"},
		"low too high":          {file: []byte(join(",", header, swap(dearer(0.01)))), err: "line 11: open"},
		"a short line":          {file: []byte(plain + "2021-01-01,1,2\n"), err: "line 62: wrong number of fields"},
		"nothing":               {file: nil, err: "no rows of numbers: want a line of names and lines of numbers"},
	} {
		if v.how.missing == "" {
			v.how.missing = "error"
		}
		table, err := parseTable(bytes.NewReader(v.file), v.how)
		ordered := false
		if err == nil {
			_, ordered, err = table.prices()
		}
		switch {
		case v.err != "":
			if err == nil || !strings.Contains(err.Error(), v.err) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: error %v, want one line that contains %q", name, err, v.err)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case !ordered || strings.Join(table.names, ",") != v.columns:
			t.Errorf("%s: channels %v, prices in order: %t, want %s", name, table.names, ordered, v.columns)
		default:
			if first := fmt.Sprintf("%.6f", table.at(0, 0)); first != cells[0][1] {
				t.Errorf("%s: begins with %s, want %s", name, first, cells[0][1])
			}
			path := write(t, string(v.file))
			r, err := try("-csv", path, "-columns", strings.Join(v.how.Columns, ","), "-missing", v.how.missing, "-length", "5", "-heldout", "3", "-steps", "2", "-method", "cps")
			if err != nil || !r.OHLC || r.Methods[0].Violation > 1e-6 {
				t.Errorf("%s: %v, %+v", name, err, r)
			}
		}
	}
}

// Windows lie within one series, and what is held out has no part in the units.
func TestCutOfSeveralSeries(t *testing.T) {
	header, cells := bars(120)
	var rows [][]string
	for k := range 3 {
		for _, line := range cells {
			rows = append(rows, append(slices.Clone(line), fmt.Sprint("stock", k)))
		}
	}
	table, err := parseTable(strings.NewReader(join(",", append(header, "Stock"), rows)), reading{missing: "error"})
	if err != nil || !slices.Equal(table.breaks, []int{120, 240}) {
		t.Fatal(err, table)
	}
	for _, by := range []split{even, chronological, random, auto} {
		c, err := cut(table, 10, 6, 1000, by, 1)
		if err != nil {
			t.Fatal(by, err)
		}
		for _, s := range c.starts {
			if s/120 != (s+9)/120 {
				t.Errorf("%s: window %d … %d extends beyond the end of a series", by, s, s+9)
			}
		}
	}
	// At random up to a fifth of the 333 windows, and every number that is asked for.
	c, err := cut(table, 10, 66, 1000, random, 1)
	if err != nil || len(c.starts) != 66 || len(c.training) != 266*c.sites() {
		t.Fatal(err, len(c.starts), len(c.training))
	}
	for i, s := range c.starts[1:] {
		if s == c.starts[i] {
			t.Errorf("window %d is held out twice", s)
		}
	}
	if _, err = cut(table, 10, 67, 1000, random, 1); err == nil || !strings.Contains(err.Error(), "-heldout = 67, want ≤ 66, a fifth of its 333 windows") {
		t.Error(err)
	}
	// An outlier in a window held out leaves the units alone.
	c, err = cut(table, 10, 3, 1000, even, 1)
	if err != nil {
		t.Fatal(err)
	}
	table.values[c.starts[1]*len(table.names)] *= 1000
	again, err := cut(table, 10, 3, 1000, even, 1)
	if err != nil || !slices.Equal(c.shift, again.shift) || !slices.Equal(c.scale, again.scale) {
		t.Error(err, c.scale, again.scale)
	}
}

func TestMissingNumbersAreFilledIn(t *testing.T) {
	text := "a,b\n1,5\n,6\n3,\n4,8\n,9\n"
	table, err := parseTable(strings.NewReader(text), reading{missing: "linear"})
	if err != nil || !slices.Equal(table.values, []float64{1, 5, 2, 6, 3, 7, 4, 8, 4, 9}) {
		t.Error(err, table)
	}
	table, err = parseTable(strings.NewReader(text), reading{missing: "drop"})
	if err != nil || !slices.Equal(table.values, []float64{1, 5, 4, 8}) || !slices.Equal(table.breaks, []int{1}) || table.whole(0, 2) {
		t.Error(err, table)
	}
}
