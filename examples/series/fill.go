package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint/series"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// source is the file that a table with gaps comes from.
type source struct {
	dialect dialect
	records []record // header and rows
	columns []int    // of the channels
}

// complete draws the missing numbers of a table from a model of its whole
// windows, given the numbers around them, and writes the file with them filled
// in. Everything else in the file stays as it is.
func complete(ctx context.Context, o options) (*report, error) {
	t, err := readTable(o.csv, reading{columns: o.columns, missing: "keep"})
	if err != nil {
		return nil, err
	}
	missing := make([]bool, len(t.values))
	count := 0
	for i, v := range t.values {
		if missing[i] = math.IsNaN(v); missing[i] {
			count++
		}
	}
	if count == 0 {
		return nil, fmt.Errorf("%s: no missing numbers to fill in", o.csv)
	}
	p, err := newCompletion(t, o)
	if err != nil {
		return nil, err
	}
	gaps, err := p.fillGaps(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.csv, err)
	}
	if err := t.save(o.fill, missing); err != nil {
		return nil, err
	}
	r := newReport(p, o)
	r.Filled, r.Gaps, r.Wrote = count, gaps, append(r.Wrote, o.fill)
	return r, nil
}

// newCompletion learns from all windows without a gap.
func newCompletion(t *table, o options) (*problem, error) {
	p := &problem{impute: true, corpus: &corpus{table: t, length: o.length}}
	var err error
	if o.ohlc {
		if p.prices, p.ordered, err = t.prices(); err != nil {
			return nil, err
		}
	}
	if p.limits, err = parseLimits(o.bounds, t); err != nil {
		return nil, err
	}
	var all []int
	for s := range max(0, t.rows()-o.length+1) {
		if t.whole(s, o.length) {
			all = append(all, s)
		}
	}
	if len(all) < leastTraining {
		return nil, fmt.Errorf("%s: %d windows of %d rows without a gap, want ≥ %d to learn from; lower -length", t.name, len(all), o.length, leastTraining)
	}
	if err := p.standardise(all); err != nil {
		return nil, err
	}
	n := min(o.training, len(all))
	for k := range n {
		p.training = p.add(p.training, all[k*len(all)/n])
	}
	if p.prior, err = newPosterior(p.training, p.sites(), metricBlur); err != nil {
		return nil, err
	}
	if o.denoiser == "gaussian" {
		p.model, err = p.prior.gaussian()
	} else {
		p.model, err = denoise.NewWindows(p.training, p.sites(), denoise.WindowsConfig{Bandwidth: o.bandwidth})
	}
	return p, err
}

// fillGaps fills one gap after the other, and returns how many there were.
func (p *problem) fillGaps(ctx context.Context, o options) (gaps int, err error) {
	name := o.methods
	if name == "" {
		name = "cps-metric"
	}
	methods, err := chosen(name)
	if err != nil {
		return 0, err
	}
	if m := methods[0]; len(methods) > 1 || m.free || m.penalty || m.from != none {
		return 0, fmt.Errorf("-method = %q, want one that keeps given numbers", name)
	}
	borders := append(append([]int{0}, p.breaks...), p.rows())
	for b := range len(borders) - 1 {
		first, last := borders[b], borders[b+1]
		for from := first; from < last; from++ {
			if !p.hole(from) {
				continue
			}
			to := from
			for to < last && p.hole(to) {
				to++
			}
			if to-from > p.length-2 || last-first < p.length {
				return gaps, fmt.Errorf("lines %d to %d: a gap of %d rows in a series of %d, want windows of %d or more that fit; set -length", p.lines[from], p.lines[to-1], to-from, last-first, to-from+2)
			}
			start := min(max(from-(p.length-(to-from))/2, first), last-p.length)
			if err := p.fillGap(ctx, o, methods[0], gaps, start, from, to); err != nil {
				return gaps, fmt.Errorf("lines %d to %d: %w", p.lines[from], p.lines[to-1], err)
			}
			gaps++
		}
	}
	return gaps, nil
}

// fillGap draws rows from … to−1 as part of the window that begins at start.
func (p *problem) fillGap(ctx context.Context, o options, m method, number, start, from, to int) error {
	set, err := p.around(start)
	if err != nil {
		return err
	}
	p.sets = append(p.sets[:0], set)
	process, cfg := p.recipe(o, m, 0)
	cfg.Seed = o.seed + uint64(number)<<32
	d, err := diffusion.New(ctx, p.model, process, cfg)
	if err != nil {
		return err
	}
	x := make([]float32, p.sites())
	if err := d.Sample(ctx, x); err != nil {
		return err
	}
	n, raw := p.channels(), p.shape().Raw(x)
	for row := from; row < to; row++ {
		if err := p.finish(p.values[row*n:(row+1)*n], raw[(row-start)*n:(row-start+1)*n], o.tick); err != nil {
			return err
		}
	}
	return nil
}

// around is the set of windows that have the numbers there are from row start on.
func (p *problem) around(start int) (*series.System, error) {
	b := series.NewBuilder(p.shape())
	if p.ordered {
		b.OHLC(p.prices[0], p.prices[1], p.prices[2], p.prices[3])
	}
	for _, l := range p.limits {
		b.Bounds(l.channel, l.lower, l.upper)
	}
	n := p.channels()
	b.Impute(p.values[start*n : (start+p.length)*n])
	return b.Build()
}

// finish stores the missing numbers of a row. Prices that were there stay to the
// bit, and those that were not are in order with them.
func (p *problem) finish(row, drawn []float64, tick float64) error {
	var known [4]bool
	some := false
	for k, c := range p.prices {
		known[k] = p.ordered && !math.IsNaN(row[c])
		some = some || known[k]
	}
	for c, v := range row {
		if math.IsNaN(v) {
			row[c] = drawn[c]
		}
	}
	if !p.ordered {
		return nil
	}
	bars, most := p.bars(tick)
	if !some {
		_, err := bars.Finish(row, len(row), most)
		return err
	}
	open, high, low, last := &row[p.prices[0]], &row[p.prices[1]], &row[p.prices[2]], &row[p.prices[3]]
	for k, c := range p.prices {
		if !known[k] && tick > 0 {
			row[c] = math.RoundToEven(row[c]/tick) * tick
		}
	}
	for k, v := range []*float64{0: open, 3: last} {
		if v == nil || known[k] {
			continue
		}
		if known[1] {
			*v = min(*v, *high)
		}
		if known[2] {
			*v = max(*v, *low)
		}
	}
	if !known[1] {
		*high = max(*high, *open, *last)
	}
	if !known[2] {
		*low = min(*low, *open, *last)
	}
	return nil
}

// save writes the file that the table comes from with the missing numbers in it.
func (t *table) save(path string, missing []bool) error {
	rows := map[int]int{}
	for row, line := range t.lines {
		rows[line] = row
	}
	return saveCSV(path, t.from.dialect.comma, func(w *csv.Writer) error {
		for _, r := range t.from.records {
			cells := append([]string(nil), r.cells...)
			if row, ok := rows[r.line]; ok {
				for c, i := range t.from.columns {
					if at := row*len(t.names) + c; missing[at] {
						cells[i] = t.from.dialect.spell(t.values[at])
					}
				}
			}
			if err := w.Write(cells); err != nil {
				return err
			}
		}
		return nil
	})
}
