package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

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

// saveCSV writes lines of cells.
func saveCSV(path string, comma rune, fill func(w *csv.Writer) error) error {
	return saveFile(path, func(to io.Writer) error {
		w := csv.NewWriter(to)
		w.Comma = comma
		if err := fill(w); err != nil {
			return err
		}
		w.Flush()
		return w.Error()
	})
}
