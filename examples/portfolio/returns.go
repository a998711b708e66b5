package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/examples/internal/command"
)

// openReturns reads a file of returns.
func openReturns(path string) (*market, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := readReturns(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// readReturns reads a table of simple returns, 0.01 for one percent: a header with
// the names of assets, then a row per period. A first column without a number in the
// first row is of dates, and is skipped. The mean and the covariance (divisor
// periods − 1) are those of the periods.
func readReturns(in io.Reader) (*market, error) {
	r := command.Table(in)
	header, err := r.Read()
	if err == io.EOF {
		return nil, fmt.Errorf("no header, want the names of the assets")
	} else if err != nil {
		return nil, err
	}
	header = append([]string(nil), header...)
	var rows [][]float64
	skip, least := 0, math.Inf(1)
	for {
		fields, err := r.Read()
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, err // names the line
		}
		if len(rows) == 0 {
			if _, err := strconv.ParseFloat(strings.TrimSpace(fields[0]), 64); err != nil && len(fields) > 1 {
				skip = 1
			}
		}
		row := make([]float64, 0, len(fields)-skip)
		for i, s := range fields[skip:] {
			v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
			if line, _ := r.FieldPos(skip + i); err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v <= -1 {
				return nil, fmt.Errorf("line %d, column %q: %q, want a return: a finite number > −1", line, header[skip+i], s)
			}
			row = append(row, v)
			least = min(least, v)
		}
		rows = append(rows, row)
	}
	names := header[skip:]
	for i, s := range names {
		if _, err := strconv.ParseFloat(s, 64); err == nil || strings.TrimSpace(s) == "" {
			return nil, fmt.Errorf("header, column %d: %q, want the name of an asset", skip+i+1, s)
		}
	}
	switch {
	case len(names) < 2 || len(names) > mostAssets:
		return nil, fmt.Errorf("%d columns of assets, want 2 to %d", len(names), mostAssets)
	case len(rows) < 3:
		return nil, fmt.Errorf("%d rows of returns, want ≥ 3", len(rows))
	case least > 1:
		return nil, fmt.Errorf("no return is below %v: these are prices, want their relative changes", least)
	}
	return sampled(names, rows), nil
}

// sampled returns the market with the mean and the covariance of rows.
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
			for j, w := range row {
				d.c[i*n+j] += c * (w - m.mean[j])
			}
		}
	}
	m.cov = d
	return m
}
