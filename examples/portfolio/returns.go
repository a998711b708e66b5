package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gibbsite-go/gibbsite/examples/internal/command"
)

// history is a table of simple returns (0.01 is one percent) with a row per period, the oldest
// first.
type history struct {
	names []string
	rows  [][]float64
	notes []string // notes about the file for the user
}

// openHistory opens a file of prices or of returns and reads it by [readHistory].
func openHistory(path, kind string) (*history, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h, err := readHistory(f, kind)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return h, nil
}

// table holds the contents of a file.
type table struct {
	names []string
	rows  [][]float64
	lines []int
	dates []string // entries of the date column; nil if there is none
}

// readHistory reads a table of prices or returns. The header names the assets, and every other
// row is a period. The kind is "prices", "returns" or "auto", which decides by the values: most
// prices are above 1, and some returns are below 0. A first column that holds dates or has no
// name is not read as numbers. Rows sorted from newest to oldest are reversed.
func readHistory(in io.Reader, kind string) (*history, error) {
	t, err := readTable(in)
	if err != nil {
		return nil, err
	}
	if kind == "auto" {
		if kind, err = t.kind(); err != nil {
			return nil, err
		}
	}
	h := &history{names: t.names}
	if err := t.sort(h); err != nil {
		return nil, err
	}
	least, what := -1.0, "a return: a finite number > −1"
	if kind == "prices" {
		least, what = 0, "a price: a finite number > 0"
	}
	for k, row := range t.rows {
		for i, v := range row {
			if !(v > least) {
				return nil, fmt.Errorf("line %d, column %q: %v, want %s", t.lines[k], t.names[i], v, what)
			}
		}
	}
	if h.rows = t.rows; kind == "prices" {
		h.rows = nil
		for k, row := range t.rows[1:] {
			changes := make([]float64, len(row))
			for i, v := range row {
				changes[i] = v/t.rows[k][i] - 1
			}
			h.rows = append(h.rows, changes)
		}
		t.lines = t.lines[1:]
	}
	if len(h.rows) < leastPeriods {
		return nil, fmt.Errorf("%d periods of returns, want ≥ %d", len(h.rows), leastPeriods)
	}
	h.jumps(t.lines)
	return h, nil
}

// leastPeriods is the minimum number of periods for computing a covariance.
const leastPeriods = 3

// readTable reads the numbers and the dates.
func readTable(in io.Reader) (*table, error) {
	r := command.Table(in)
	header, err := r.Read()
	if err == io.EOF {
		return nil, fmt.Errorf("no header, want the names of the assets")
	} else if err != nil {
		return nil, err
	}
	t := &table{}
	for _, s := range header {
		t.names = append(t.names, strings.TrimSpace(s))
	}
	if len(header) == 1 && strings.ContainsAny(header[0], ";\t|") {
		return nil, fmt.Errorf("line 1: %q is one column, want columns separated by commas", header[0])
	}
	skip := -1
	for {
		fields, err := r.Read()
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, err // names the line
		}
		if skip < 0 {
			if skip, err = t.dated(fields); err != nil {
				return nil, err
			}
		}
		line, _ := r.FieldPos(0)
		row := make([]float64, 0, len(fields)-skip)
		for i, s := range fields[skip:] {
			v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("line %d, column %q: %q, want a finite number: fill gaps, or leave the row or the column out", line, t.names[i], s)
			}
			row = append(row, v)
		}
		t.rows, t.lines = append(t.rows, row), append(t.lines, line)
		if skip == 1 {
			t.dates = append(t.dates, strings.TrimSpace(fields[0]))
		}
	}
	if len(t.rows) == 0 {
		return nil, fmt.Errorf("line 2: no rows")
	}
	if len(t.names) < 2 || len(t.names) > mostAssets {
		return nil, fmt.Errorf("%d columns of assets, want 2 to %d", len(t.names), mostAssets)
	}
	return t, nil
}

// dated returns 1 if the first column is not an asset, else 0. It removes the name of that
// column.
func (t *table) dated(first []string) (skip int, err error) {
	_, failed := strconv.ParseFloat(strings.TrimSpace(first[0]), 64)
	if head := strings.ToLower(t.names[0]); len(first) > 1 && (failed != nil && first[0] != "" || slices.Contains([]string{"", "date", "datetime", "time", "timestamp", "day", "week", "month", "period", "index"}, head)) {
		skip, t.names = 1, t.names[1:]
	}
	seen := map[string]int{}
	for i, s := range t.names {
		at := skip + i + 1
		if _, err := strconv.ParseFloat(s, 64); err == nil || s == "" {
			return 0, fmt.Errorf("header, column %d: %q, want the name of an asset", at, s)
		}
		if seen[s] > 0 {
			return 0, fmt.Errorf("header, columns %d and %d: both are %q, want different names", seen[s], at, s)
		}
		seen[s] = at
	}
	return skip, nil
}

// kind decides whether the values are prices or returns.
func (t *table) kind() (string, error) {
	above, all, low := 0, 0, math.Inf(1)
	for _, row := range t.rows {
		for _, v := range row {
			all++
			low = min(low, v)
			if v > 1 {
				above++
			}
		}
	}
	switch {
	case 2*above > all:
		return "prices", nil
	case low <= 0:
		return "returns", nil
	}
	return "", fmt.Errorf("numbers from %v on, of which %d of %d are above 1, may be prices or returns: say which by -kind", low, above, all)
}

// layouts lists the date formats that are recognised. The order of dates in other formats is not
// checked.
var layouts = []string{time.DateOnly, time.DateTime, time.RFC3339, "2006-01-02 15:04:05-07:00", "20060102", "2006/01/02", "01/02/2006", "02/01/2006", "02.01.2006", "2006-01"}

// sort reverses rows that begin with the newest and rejects any other order.
func (t *table) sort(h *history) error {
	days := t.days()
	if len(days) < 2 {
		return nil
	}
	if days[1].Before(days[0]) {
		slices.Reverse(days)
		slices.Reverse(t.rows)
		slices.Reverse(t.lines)
		slices.Reverse(t.dates)
		h.notes = append(h.notes, "rows ran from newest to oldest and were reversed")
	}
	for k := range days[1:] {
		if !days[k].Before(days[k+1]) {
			return fmt.Errorf("line %d: the date %q comes after %q, want a row per period, sorted by date", t.lines[k+1], t.dates[k+1], t.dates[k])
		}
	}
	return nil
}

// days returns the parsed dates, or nil if they have none of the layouts.
func (t *table) days() []time.Time {
	for _, layout := range layouts {
		var days []time.Time
		for _, s := range t.dates {
			d, err := time.Parse(layout, s)
			if err != nil {
				break
			}
			days = append(days, d)
		}
		if len(days) == len(t.dates) {
			return days
		}
	}
	return nil
}

// jump is the factor, up or down, beyond which a price change may be due to a split. At most
// mostJumps of them are listed in the notes.
const (
	jump      = 3.0
	mostJumps = 3 // maximum number of changes listed in the notes
)

// jumps notes returns that may be due to splits.
func (h *history) jumps(lines []int) {
	found := 0
	for k, row := range h.rows {
		for i, v := range row {
			if v+1 > jump || v+1 < 1/jump {
				if found++; found <= mostJumps {
					h.notes = append(h.notes, fmt.Sprintf("line %d: %s changes by %+.0f %%: is it adjusted for splits?", lines[k], h.names[i], 100*v))
				}
			}
		}
	}
	if found > mostJumps {
		h.notes = append(h.notes, fmt.Sprintf("%d more changes like these", found-mostJumps))
	}
}

// split returns the market of the first periods, and the rows of the last ones, of which it
// holds out the share part.
func (h *history) split(part float64) (*market, [][]float64, error) {
	out := int(math.Round(part * float64(len(h.rows))))
	if len(h.rows)-out < leastPeriods {
		return nil, nil, fmt.Errorf("-holdout = %v leaves %d of %d periods, want ≥ %d", part, len(h.rows)-out, len(h.rows), leastPeriods)
	}
	at := len(h.rows) - out
	h.rank(h.rows[:at])
	return sampled(h.names, h.rows[:at]), h.rows[at:], nil
}

// rank notes what makes the covariance of rows singular: too few rows, and assets with constant
// returns.
func (h *history) rank(rows [][]float64) {
	if len(rows) <= len(h.names) {
		h.notes = append(h.notes, fmt.Sprintf("only %d periods are fitted, for %d assets: some portfolios seem to have no risk, and the choice of minimum variance or the convex optimum among them means little; give more periods or fewer assets", len(rows), len(h.names)))
	}
	for i, name := range h.names {
		still := true
		for _, row := range rows {
			still = still && row[i] == rows[0][i]
		}
		if still {
			h.notes = append(h.notes, fmt.Sprintf("%s has the same return, %v, in every fitted period: it counts as riskless", name, rows[0][i]))
		}
	}
}

// sampled returns the market with the sample mean and covariance of rows, with divisor periods −
// 1.
func sampled(names []string, rows [][]float64) *market {
	n := len(names)
	m := &market{names: names, mean: make([]float64, n)}
	for _, row := range rows {
		for i, v := range row {
			m.mean[i] += v / float64(len(rows))
		}
	}
	d := &dense{n, make([]float64, n*n)}
	for _, row := range rows {
		for i, v := range row {
			c := (v - m.mean[i]) / float64(len(rows)-1)
			for j, w := range row[:i+1] {
				d.c[i*n+j] += c * (w - m.mean[j])
			}
		}
	}
	for i := range n {
		for j := range i {
			d.c[j*n+i] = d.c[i*n+j]
		}
	}
	m.cov = d
	return m
}
