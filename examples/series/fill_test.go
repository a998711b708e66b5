package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gappy writes a market in cents, with semicolons, a date and a comment column, in
// which some rows lack all numbers and some only one, and returns its path and
// its lines.
func gappy(t *testing.T) (string, []string) {
	m := market(400, 3)
	lines := []string{"day;open;high;low;close;volume;note"}
	for row := range m.rows() {
		cells := []string{fmt.Sprintf("%d-%02d-%02d", 2020+row/336, 1+row/28%12, 1+row%28)}
		for c := range m.names {
			cells = append(cells, strconv.FormatFloat(math.Round(100*m.at(row, c))/100, 'f', 2, 64))
		}
		switch {
		case row >= 100 && row < 104, row == 250, row >= 396: // whole rows, at the end too
			cells = append(cells[:1], "", "", "", "", "")
		case row == 180:
			cells[2] = "" // high
		case row == 190:
			cells[1], cells[3] = "NA", "" // open and low
		}
		lines = append(lines, strings.Join(append(cells, fmt.Sprint("n", row)), ";"))
	}
	path := filepath.Join(t.TempDir(), "prices.csv")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return path, lines
}

// One command makes a complete file of one with gaps: what was there stays to the
// letter, prices are in order exactly and in cents, and numbers look like those
// around them.
func TestFill(t *testing.T) {
	path, lines := gappy(t)
	to := filepath.Join(t.TempDir(), "full.csv")
	o, err := parse([]string{"-csv", path, "-fill", to, "-tick", "0.01", "-length", "12", "-steps", "20", "-training", "200"})
	require.NoError(t, err)
	r, err := run(context.Background(), o)
	require.NoError(t, err)
	assert.Equal(t, 4*5+5+4*5+1+2, r.Filled)
	assert.Equal(t, 5, r.Gaps)
	assert.Contains(t, r.String(), "48 missing numbers in 5 gaps filled in\nwrote "+to)

	b, err := os.ReadFile(to)
	require.NoError(t, err)
	in := csv.NewReader(strings.NewReader(string(b)))
	in.Comma = ';'
	got, err := in.ReadAll()
	require.NoError(t, err)
	require.Len(t, got, len(lines))
	for n, line := range lines {
		was := strings.Split(line, ";")
		for c, cell := range was {
			if !blank(cell) {
				require.Equal(t, cell, got[n][c], "line %d", n+1)
			}
		}
		if n == 0 {
			continue
		}
		var v [5]float64
		for c := range v {
			v[c], err = strconv.ParseFloat(got[n][1+c], 64)
			require.NoError(t, err, "line %d", n+1)
			if c < 4 {
				assert.InDelta(t, math.Round(100*v[c]), 100*v[c], 1e-9)
			}
		}
		assert.True(t, v[2] <= min(v[0], v[3]) && v[1] >= max(v[0], v[3]), "line %d: %v", n+1, v)
		if was[4] == "" && n < 396 { // the market moves by 1.2 % a day; 40 % in 4 days is none
			assert.InEpsilon(t, mustFloat(t, got[99][4]), mustFloat(t, got[104][4]), 1)
			assert.InEpsilon(t, mustFloat(t, got[n-1][4]), v[3], 0.4, "line %d", n+1)
		}
	}
	again := filepath.Join(t.TempDir(), "again.csv")
	o.fill = again
	_, err = run(context.Background(), o)
	require.NoError(t, err)
	c, err := os.ReadFile(again)
	require.NoError(t, err)
	assert.Equal(t, string(b), string(c), "the same seed gives the same file")
}

func mustFloat(t *testing.T, s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	require.NoError(t, err)
	return v
}

func TestFillErrors(t *testing.T) {
	path, _ := gappy(t)
	to := filepath.Join(t.TempDir(), "full.csv")
	for want, args := range map[string][]string{
		"wants -csv":                                {"-fill", to},
		"neither -write, -impute nor -missing":      {"-fill", to, "-csv", path, "-missing", "drop"},
		"-tick = -1, want ≥ 0":                      {"-tick", "-1"},
		"a gap of 4 rows in a series of 400":        {"-fill", to, "-csv", path, "-length", "5"},
		"want one that keeps given numbers":         {"-fill", to, "-csv", path, "-length", "12", "-method", "guided"},
		"windows of 390 rows without a gap, want ≥": {"-fill", to, "-csv", path, "-length", "390"},
	} {
		o, err := parse(args)
		if err == nil {
			_, err = run(context.Background(), o)
		}
		assert.ErrorContains(t, err, want)
	}
	whole := filepath.Join(t.TempDir(), "whole.csv")
	require.NoError(t, os.WriteFile(whole, []byte("a,b\n1,2\n2,3\n"), 0o600))
	_, err := run(context.Background(), options{csv: whole, fill: to, length: 3})
	assert.ErrorContains(t, err, "no missing numbers")
	assert.NoFileExists(t, to)
}

// The file of samples has every row of every sample, with prices in order.
func TestWrite(t *testing.T) {
	to := filepath.Join(t.TempDir(), "samples.csv")
	o, err := parse([]string{"-rows", "900", "-heldout", "4", "-length", "12", "-samples", "2", "-steps", "10", "-training", "100", "-method", "cps,unconstrained", "-write", to, "-tick", "0.05"})
	require.NoError(t, err)
	r, err := run(context.Background(), o)
	require.NoError(t, err)
	assert.Contains(t, r.String(), "wrote "+to)
	f, err := os.Open(to)
	require.NoError(t, err)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+2*4*2*12)
	assert.Equal(t, []string{"method", "window", "sample", "row", "open", "high", "low", "close", "volume"}, rows[0])
	for _, row := range rows[1:] {
		if row[0] != "cps" {
			continue
		}
		open, high, low, last := mustFloat(t, row[4]), mustFloat(t, row[5]), mustFloat(t, row[6]), mustFloat(t, row[7])
		assert.True(t, low <= min(open, last) && high >= max(open, last), "%v", row)
		assert.InDelta(t, math.Round(20*open), 20*open, 1e-9)
	}
}
