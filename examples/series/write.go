package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint/series"
)

// orderSlack is how far a price may be moved to keep prices in order, in standard
// deviations of the widest channel: what is left of rows that a projection has
// met, and the rounding of float32.
const orderSlack = 1e-3

// bars returns the settings by which the prices of a problem are finished.
func (p *problem) bars(tick float64) (series.Prices, float64) {
	most := tick
	for _, c := range p.prices {
		most = max(most, tick+orderSlack*p.scale[c])
	}
	return series.Prices{Open: p.prices[0], High: p.prices[1], Low: p.prices[2], Close: p.prices[3], Tick: tick}, most
}

// writeSamples writes what methods generated, in raw units: a line per row of
// every sample. Prices of methods that keep their order are in order exactly.
func (p *problem) writeSamples(path string, tick float64, runs []*outcome) error {
	return saveCSV(path, ',', func(w *csv.Writer) error {
		if err := w.Write(append([]string{"method", "window", "sample", "row"}, p.names...)); err != nil {
			return err
		}
		for _, o := range runs {
			for i, start := range p.starts {
				for k := range o.samples {
					raw := p.shape().Raw(o.window(p, i, k))
					if p.ordered && !o.method.free && !o.method.penalty {
						bars, most := p.bars(tick)
						if _, err := bars.Finish(raw, p.channels(), most); err != nil {
							return fmt.Errorf("%v, window of line %d: %w", o.method, p.lines[start], err)
						}
					}
					for t := range p.length {
						line := []string{o.method.String(), strconv.Itoa(p.lines[start]), strconv.Itoa(k + 1), strconv.Itoa(t + 1)}
						for c := range p.channels() {
							line = append(line, strconv.FormatFloat(raw[t*p.channels()+c], 'f', -1, 64))
						}
						if err := w.Write(line); err != nil {
							return err
						}
					}
				}
			}
		}
		return nil
	})
}

// saveCSV fills path.partial and then renames it; of a link, the file that it names.
func saveCSV(path string, comma rune, fill func(w *csv.Writer) error) (err error) {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	f, err := os.Create(path + ".partial")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(path + ".partial")
		}
	}()
	w := csv.NewWriter(f)
	w.Comma = comma
	if err = fill(w); err == nil {
		w.Flush()
		err = w.Error()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.Rename(path+".partial", path)
}

// spell writes a number as the file does.
func (d dialect) spell(v float64) string {
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if d.decimal == ',' {
		return strings.Replace(s, ".", ",", 1)
	}
	return s
}

// hole reports whether a row has a missing number.
func (t *table) hole(row int) bool {
	for c := range t.names {
		if math.IsNaN(t.at(row, c)) {
			return true
		}
	}
	return false
}
