package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/gibbsite-go/gibbsite/constraint/series"
	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
)

// orderSlack is the maximum distance by which prices are moved to put them in order, in standard
// deviations of the widest channel. It covers the residual of a projection and the rounding of
// float32.
const orderSlack = 1e-3

// bars returns the settings for rounding and ordering the prices of samples, and the maximum
// distance by which a price may be moved.
func (p *problem) bars(tick float64) (series.Prices, float64) {
	most := tick
	for _, c := range p.prices {
		most = max(most, tick+orderSlack*p.scale[c])
	}
	return series.Prices{Open: p.prices[0], High: p.prices[1], Low: p.prices[2], Close: p.prices[3], Tick: tick}, most
}

// writeSamples writes the samples of the methods in raw units, one line per row of a sample. If
// the method keeps prices in order, the written prices are exactly in order. Prices of every method
// are multiples of the tick.
func (p *problem) writeSamples(path string, tick float64, runs []*outcome) error {
	return saveCSV(path, ',', func(w *csv.Writer) error {
		if err := w.Write(append([]string{"method", "window", "sample", "row"}, p.names...)); err != nil {
			return err
		}
		for _, o := range runs {
			for i, start := range p.starts {
				for k := range o.samples {
					raw := p.shape().Raw(o.window(p, i, k))
					switch {
					case p.ordered && (o.method.free || o.method.penalty): // the prices need not be in order
						for t := range p.length {
							for _, c := range p.prices {
								at := t*p.channels() + c
								raw[at] = onTick(raw[at], tick)
							}
						}
					case p.ordered:
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

// onTick rounds v to a multiple of tick, and returns v if tick is 0. Of 15 digits, the result is
// the number nearest to the multiple, so that it prints as 97.82 and not as 97.82000000000001.
func onTick(v, tick float64) float64 {
	if tick > 0 {
		v, _ = strconv.ParseFloat(strconv.FormatFloat(math.Round(v/tick)*tick, 'g', 15, 64), 64)
	}
	return v
}

// saveCSV writes a table.
func saveCSV(path string, comma rune, fill func(w *csv.Writer) error) error {
	return checkpoint.Write(path, func(to io.Writer) error {
		w := csv.NewWriter(to)
		w.Comma = comma
		if err := fill(w); err != nil {
			return err
		}
		w.Flush()
		return w.Error()
	})
}
