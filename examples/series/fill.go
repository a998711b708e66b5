package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"github.com/gibbsite-go/gibbsite/seriesdata"
)

// filling is the output of -fill.
type filling struct {
	Data     string `json:"data"`
	Filled   int    `json:"filled"` // count of numbers filled in
	Inserted int    `json:"inserted_rows"`
	Gaps     int    `json:"gaps"` // runs of rows with a missing number
	Draws    int    `json:"draws"`
	// detected relations between channels, which the filled values satisfy
	Relations   []string    `json:"relations,omitempty"`
	Calibration calibration `json:"calibration"`
	Cells       []filled    `json:"cells"`
	Left        []string    `json:"left_missing,omitempty"`
	Notes       []string    `json:"notes,omitempty"`
	Wrote       []string    `json:"wrote"`
}

// filled is one missing number with the median of its draws and an 80 % interval. The interval
// is calibrated on held-out numbers of the same kind.
type filled struct {
	Entity  string  `json:"entity,omitempty"`
	Time    string  `json:"time"`
	Channel string  `json:"channel"`
	Value   float64 `json:"value"` // value written to the file
	Median  float64 `json:"median"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`

	e, r, c int
	draws   []float64
}

// calibration compares known numbers that were held out with the draws for them.
type calibration struct {
	Cells int `json:"cells"`
	// share of the numbers inside their interval; the target is 0.8
	Coverage float64 `json:"coverage_80"`
	// root mean square error, in standard deviations of the channel
	RMSE float64 `json:"rmse"`
	// root mean square error of linear interpolation, in standard deviations of the channel
	Linear float64 `json:"rmse_linear"`
}

// gapModel fills the gaps of a frame. It is a Gaussian autoregression in the coordinates of
// every channel, conditioned on all known numbers.
type gapModel struct {
	f         *seriesdata.Frame
	o         options
	n         int     // number of channels
	free      []int   // modelled channels, one coordinate each
	bars      [4]int  // channels of open, high, low and close
	barred    bool    // whether the frame has bars
	groups    [][]int // groups of free channels that are modelled together
	relations []relation
	limits    []limits
	tick      []float64
	monotone  []bool
	constant  map[int]float64
	coords    map[int]*coordinate // coordinates by channel
	models    []*autoregression   // models by group
	period    int
	slot      func(e, r int) int
	// by channel: the number q such that the quantiles q and 1 − q bound an 80 % interval
	depth  []float64
	depths map[int][]float64 // by channel: quantile levels of held-out numbers among their draws
}

const (
	mostTogether = 8    // maximum number of channels in a group
	margin       = 48   // number of rows around a gap that a draw uses
	mostRows     = 4000 // maximum number of rows for fitting
	mostHeldOut  = 2000 // numbers held out for calibration, and again for testing it
)

// complete draws the missing numbers of a file given the known ones, and writes the file with
// their medians.
func complete(ctx context.Context, o options) (*filling, error) {
	f, err := readFrame(o.csv, o.reading())
	if err != nil {
		return nil, err
	}
	r := &filling{Data: o.csv, Draws: o.draws, Notes: f.Notes}
	g, err := newGapModel(f, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.csv, err)
	}
	values := make([][]float64, len(f.Entities))
	for e := range values {
		values[e] = slices.Clone(f.Entities[e].Values)
		for _, line := range f.Entities[e].Lines {
			if line == 0 {
				r.Inserted++
			}
		}
	}
	cells, err := g.missing(values)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.csv, err)
	}
	if len(cells) == 0 {
		return nil, fmt.Errorf("%s: no missing numbers to fill in, and the file leaves no times out", o.csv)
	}
	r.Gaps = g.gaps(values)
	if err := g.learn(ctx, values, r); err != nil {
		return nil, fmt.Errorf("%s: %w", o.csv, err)
	}
	if err := g.draw(ctx, values, cells, o.seed); err != nil {
		return nil, fmt.Errorf("%s: %w", o.csv, err)
	}
	g.summarise(values, cells)
	for _, c := range cells {
		c.Time, c.Entity, c.Channel = f.Label(c.e, c.r), f.Entities[c.e].Name, f.Channels[c.c].Name
		r.Cells = append(r.Cells, *c)
		r.Filled++
	}
	for _, rel := range g.relations {
		r.Relations = append(r.Relations, g.spoken(rel))
	}
	if err := checkpoint.Write(o.fill, func(w io.Writer) error { return f.Write(w, values) }); err != nil {
		return nil, err
	}
	r.Wrote = append(r.Wrote, o.fill)
	if o.write != "" {
		if err := r.save(o.write); err != nil {
			return nil, err
		}
		r.Wrote = append(r.Wrote, o.write)
	}
	return r, nil
}

// newGapModel determines the kind of numbers of each channel of a frame.
func newGapModel(f *seriesdata.Frame, o options) (*gapModel, error) {
	g := &gapModel{f: f, o: o, n: len(f.Channels), constant: map[int]float64{}, coords: map[int]*coordinate{}}
	var err error
	names := &table{name: o.csv}
	for _, c := range f.Channels {
		names.names = append(names.names, c.Name)
		tick := c.Tick
		if o.tick > 0 && c.Kind == "price" {
			tick = o.tick
		}
		g.tick = append(g.tick, tick)
	}
	if g.limits, err = parseLimits(o.bounds, names); err != nil {
		return nil, err
	}
	var rows [][]float64
	for e := range f.Entities {
		for r := range f.Entities[e].Times {
			rows = append(rows, f.Entities[e].Values[r*g.n:(r+1)*g.n])
		}
	}
	g.monotone = make([]bool, g.n)
	g.depth = slices.Repeat([]float64{0.1}, g.n)
	var varying []int
	for c := range f.Channels {
		var x []float64
		ups, downs := 0, 0
		for e := range f.Entities {
			last := math.NaN()
			for r := range f.Entities[e].Times {
				v := f.Entities[e].Values[r*g.n+c]
				if v != v {
					continue
				}
				if v > last {
					ups++
				} else if v < last {
					downs++
				}
				x = append(x, v)
				last = v
			}
		}
		if len(x) == 0 {
			return nil, fmt.Errorf("column %s has no numbers; leave it out by -columns", f.Channels[c].Name)
		}
		if slices.Min(x) == slices.Max(x) {
			g.constant[c] = x[0]
			continue
		}
		g.monotone[c] = downs == 0 && ups >= 20
		varying = append(varying, c)
	}
	half := make([]float64, g.n)
	for c := range half {
		if half[c] = f.Channels[c].Tick / 2; half[c] == 0 {
			half[c] = 1e-12
		}
	}
	g.relations = relations(rows, varying, half)
	related := map[int]bool{}
	dependent := map[int]bool{}
	for _, r := range g.relations {
		dependent[r.channel] = true
		for _, c := range r.of {
			related[c] = related[c] || len(r.of) > 1
		}
	}
	if isMarket(f) && o.ohlc {
		g.barred = true
		for k, name := range priceNames {
			g.bars[k] = slices.IndexFunc(f.Channels, func(c seriesdata.Channel) bool { return plain(c.Name) == name })
			c := g.bars[k]
			if dependent[c] || related[c] || !slices.Contains(varying, c) {
				g.barred = false
			}
		}
		for i, row := range rows {
			open, high, low, last := row[g.bars[0]], row[g.bars[1]], row[g.bars[2]], row[g.bars[3]]
			if high < max(open, last, low) || low > min(open, last) || low <= 0 { // false where one is NaN
				if g.barred = false; i >= 0 && low > 0 {
					return nil, fmt.Errorf("open %v, high %v, low %v, close %v, want low ≤ open, close ≤ high (or -ohlc=false)", open, high, low, last)
				}
			}
		}
	}
	for _, c := range varying {
		if dependent[c] {
			continue
		}
		g.free = append(g.free, c)
		k := &coordinate{}
		if g.coords[c] = k; g.barred && slices.Contains(g.bars[:], c) {
			if k.kind = logarithm; c == g.bars[1] || c == g.bars[2] {
				k.kind = scores
			}
			continue
		}
		var x []float64
		for _, row := range rows {
			if row[c] == row[c] {
				x = append(x, row[c])
			}
		}
		if !related[c] {
			k.kind = shapeOf(f.Channels[c].Kind, x)
		}
		slices.Sort(x)
		k.sorted = x
	}
	if len(g.free) == 0 {
		return g, nil
	}
	g.group()
	g.period = periodOf(strings.TrimSuffix(f.Time.Step, ", in sessions"))
	g.slot = slots(f, g.period)
	return g, nil
}

// group divides the channels into groups that are modelled together, with those of bars first.
func (g *gapModel) group() {
	order := slices.Clone(g.free)
	if g.barred {
		slices.SortStableFunc(order, func(a, b int) int {
			return oneIf(!slices.Contains(g.bars[:], a)) - oneIf(!slices.Contains(g.bars[:], b))
		})
	}
	g.groups = slices.Collect(slices.Chunk(order, mostTogether))
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// missing fills in the numbers that relations determine, and lists all missing numbers.
func (g *gapModel) missing(values [][]float64) (cells []*filled, err error) {
	for e := range values {
		for r := range g.f.Entities[e].Times {
			row := values[e][r*g.n : (r+1)*g.n]
			for c, v := range row {
				if math.IsNaN(v) {
					cells = append(cells, &filled{e: e, r: r, c: c})
				}
			}
			if err := g.deduce(row); err != nil {
				return nil, fmt.Errorf("%s: %w", strings.TrimSpace(g.f.Entities[e].Name+" "+g.f.Label(e, r)), err)
			}
		}
	}
	return cells, nil
}

// deduce fills in the numbers of constant channels, and numbers that a relation with a single
// unknown determines.
func (g *gapModel) deduce(row []float64) error {
	for c, v := range g.constant {
		if math.IsNaN(row[c]) {
			row[c] = v
		}
	}
	for range g.relations {
		for i := range g.relations {
			r := &g.relations[i]
			unknown, at := 0, -1
			for k, c := range r.of {
				if math.IsNaN(row[c]) {
					unknown++
					at = k
				}
			}
			switch {
			case unknown == 0 && math.IsNaN(row[r.channel]):
				row[r.channel] = g.round(r.channel, r.value(row))
			case unknown == 1 && !math.IsNaN(row[r.channel]):
				c := r.of[at]
				row[c] = 0
				v := (row[r.channel] - r.value(row)) / r.weight[at]
				if row[c] = g.round(c, v); math.Abs(row[c]-v) > g.tick[c]+1e-9*math.Abs(v) {
					return fmt.Errorf("%s makes %s %.6g, outside of -bounds; correct the bounds or the numbers", g.spoken(*r), g.f.Channels[c].Name, v)
				}
			}
		}
	}
	return nil
}

// gaps returns the number of runs of rows with a missing number.
func (g *gapModel) gaps(values [][]float64) (n int) {
	for e := range values {
		before := false
		for r := range g.f.Entities[e].Times {
			hole := slices.ContainsFunc(g.f.Entities[e].Values[r*g.n:(r+1)*g.n], math.IsNaN)
			if hole && !before {
				n++
			}
			before = hole
		}
	}
	return n
}

// raw returns the mapped value of channel c in a row, or NaN if it is not known. For bars, open
// is mapped to log(open/close). High and low are mapped by the logarithm of how far they lie
// beyond open and close.
func (g *gapModel) raw(row []float64, c int) float64 {
	k := g.coords[c]
	if g.barred {
		open, high, low, last := row[g.bars[0]], row[g.bars[1]], row[g.bars[2]], row[g.bars[3]]
		switch c {
		case g.bars[0]:
			return math.Log(open / last)
		case g.bars[1]:
			return k.score(math.Log(high / max(open, last)))
		case g.bars[2]:
			return k.score(math.Log(min(open, last) / low))
		}
	}
	if math.IsNaN(row[c]) {
		return row[c]
	}
	return k.to(row[c])
}

// score applies the method to. It returns NaN for NaN, and while the ranks are not known.
func (c *coordinate) score(v float64) float64 {
	if math.IsNaN(v) {
		return v
	}
	if c.sorted == nil {
		return math.NaN()
	}
	return c.to(max(v, 0))
}

// seen returns the known numbers of a row in the coordinates of a group.
func (g *gapModel) seen(values [][]float64, group []int, e, r int) (out []seen) {
	row := values[e][r*g.n : (r+1)*g.n]
	slot := g.slot(e, r)
	at := func(c int) (centre, width float64) { return g.coords[c].at(e, r, slot), g.coords[c].width[e] }
	for i, c := range group {
		if v := g.raw(row, c); !math.IsNaN(v) {
			centre, width := at(c)
			out = append(out, seen{[]int{i}, []float64{1}, (v - centre) / width})
		}
	}
	if g.barred { // open without close is a sum
		open, last := row[g.bars[0]], row[g.bars[3]]
		i, j := slices.Index(group, g.bars[0]), slices.Index(group, g.bars[3])
		if i >= 0 && j >= 0 && math.IsNaN(last) && !math.IsNaN(open) {
			a, wa := at(g.bars[0])
			b, wb := at(g.bars[3])
			out = append(out, seen{[]int{i, j}, []float64{wa, wb}, math.Log(open) - a - b})
		}
	}
	for _, rel := range g.relations {
		if len(rel.of) < 2 || math.IsNaN(row[rel.channel]) {
			continue
		}
		s := seen{value: row[rel.channel] - rel.offset}
		for k, c := range rel.of {
			i := slices.Index(group, c)
			if i < 0 || g.coords[c] == nil {
				s.index = nil
				break
			}
			centre, width := at(c)
			s.index, s.weight = append(s.index, i), append(s.weight, rel.weight[k]*width)
			s.value -= rel.weight[k] * centre
		}
		if s.index != nil {
			out = append(out, s)
		}
	}
	return out
}

// settle computes the coordinates from the known numbers.
func (g *gapModel) settle(values [][]float64) {
	if g.barred {
		for _, c := range g.bars[1:3] {
			var x []float64
			for e := range values {
				for r := range g.f.Entities[e].Times {
					row := values[e][r*g.n : (r+1)*g.n]
					open, high, low, last := row[g.bars[0]], row[g.bars[1]], row[g.bars[2]], row[g.bars[3]]
					v := math.Log(high / max(open, last))
					if c == g.bars[2] {
						v = math.Log(min(open, last) / low)
					}
					if !math.IsNaN(v) {
						x = append(x, max(v, 0))
					}
				}
			}
			slices.Sort(x)
			g.coords[c].sorted = x
		}
	}
	for _, c := range g.free {
		k := g.coords[c]
		y := make([][]float64, len(values))
		for e := range values {
			for r := range g.f.Entities[e].Times {
				y[e] = append(y[e], g.raw(values[e][r*g.n:(r+1)*g.n], c))
			}
		}
		stretch := k.stretch
		k.centre, k.width, k.slope = nil, nil, nil
		k.settle(y, g.period, g.slot)
		if stretch > 0 {
			k.stretch = stretch
		}
	}
}

// fit fits the autoregressions to the known numbers.
func (g *gapModel) fit(values [][]float64) error {
	g.settle(values)
	g.models = nil
	for _, group := range g.groups {
		lags := 2
		if len(group) > 5 {
			lags = 1
		}
		var stretches [][][]seen
		var whole [][]float64
		left := mostRows
		for e := range values {
			n := min(len(g.f.Entities[e].Times), max(left, 0))
			if n <= lags {
				continue
			}
			left -= n
			rows := make([][]seen, n)
			x := make([]float64, n*len(group))
			for r := range rows {
				rows[r] = g.seen(values, group, e, r)
				for i := range group {
					x[r*len(group)+i] = math.NaN()
				}
				for _, s := range rows[r] {
					if len(s.index) == 1 {
						x[r*len(group)+s.index[0]] = s.value
					}
				}
			}
			straight(x, len(group))
			stretches, whole = append(stretches, rows), append(whole, x)
		}
		m, err := fitAutoregression(stretches, whole, len(group), lags)
		if err != nil && lags > 1 {
			m, err = fitAutoregression(stretches, whole, len(group), 1)
		}
		if err != nil {
			return fmt.Errorf("columns %s …: %w", g.f.Channels[group[0]].Name, err)
		}
		g.models = append(g.models, m)
	}
	return nil
}

// straight replaces NaN in x, rows × c, by linear interpolation between neighbours. At the ends
// it uses the nearest number, and 0 in a channel without numbers.
func straight(x []float64, c int) {
	rows := len(x) / c
	for k := range c {
		last := -1
		for r := range rows {
			v := x[r*c+k]
			if math.IsNaN(v) {
				continue
			}
			for gap := last + 1; gap < r; gap++ {
				if x[gap*c+k] = v; last >= 0 {
					a := x[last*c+k]
					x[gap*c+k] = a + (v-a)*float64(gap-last)/float64(r-last)
				}
			}
			last = r
		}
		for gap := last + 1; gap < rows; gap++ {
			if x[gap*c+k] = 0; last >= 0 {
				x[gap*c+k] = x[last*c+k]
			}
		}
	}
}

// span is the range of rows from … to−1 of series e.
type span struct{ e, from, to int }

// spans returns the ranges of rows around the gaps.
func (g *gapModel) spans(cells []*filled) (out []span) {
	for _, c := range cells {
		from, to := max(c.r-margin, 0), min(c.r+margin+1, len(g.f.Entities[c.e].Times))
		if n := len(out); n > 0 && out[n-1].e == c.e && from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, to)
			continue
		}
		out = append(out, span{c.e, from, to})
	}
	return out
}

// draw draws the cells, which must be ordered by series and row, and stores the draws in them.
// values holds the known numbers and NaN for missing ones.
func (g *gapModel) draw(ctx context.Context, values [][]float64, cells []*filled, seed uint64) error {
	for _, s := range g.spans(cells) {
		if err := ctx.Err(); err != nil {
			return err
		}
		var here []*filled
		for _, c := range cells {
			if c.e == s.e && c.r >= s.from && c.r < s.to {
				here = append(here, c)
			}
		}
		if err := g.drawSpan(values, s, here, rand.New(rand.NewPCG(seed, uint64(s.e)<<40+uint64(s.from)))); err != nil {
			return err
		}
	}
	return nil
}

func (g *gapModel) drawSpan(values [][]float64, s span, cells []*filled, r *rand.Rand) error {
	rows := s.to - s.from
	coords := map[int][][]float64{} // by channel: draws of rows
	for k, group := range g.groups {
		seenRows := make([][]seen, rows)
		for i := range seenRows {
			seenRows[i] = g.seen(values, group, s.e, s.from+i)
		}
		m := g.models[k]
		w := m.filter(seenRows)
		mean := m.means(w, func(t, j int) float64 { return seenRows[t][j].value })
		d, err := m.sampler()
		if err != nil {
			return err
		}
		for range g.o.draws {
			y := d.draw(w, r)
			for i, c := range group {
				one, co := make([]float64, rows), g.coords[c]
				for t := range one {
					v := mean[t][i] + co.stretch*(y[t*len(group)+i]-mean[t][i])
					one[t] = co.at(s.e, s.from+t, g.slot(s.e, s.from+t)) + co.width[s.e]*v
				}
				coords[c] = append(coords[c], one)
			}
		}
	}
	row := make([]float64, g.n)
	for k := range g.o.draws {
		at := 0
		least := make([]float64, g.n) // of monotone channels
		for c := range least {
			least[c] = math.Inf(-1)
		}
		for t := range rows {
			given := values[s.e][(s.from+t)*g.n : (s.from+t+1)*g.n]
			if at == len(cells) || cells[at].r != s.from+t {
				for c, v := range given {
					if v == v {
						least[c] = v
					}
				}
				continue
			}
			copy(row, given)
			g.row(row, func(c int) float64 { return coords[c][k][t] }, func(c int) (mean, sd float64) { return moments(coords[c], t) })
			for c := range row {
				if g.monotone[c] && math.IsNaN(given[c]) {
					row[c] = min(max(row[c], least[c]), g.ceiling(values, s.e, s.from+t, c))
				}
				if row[c] == row[c] {
					least[c] = row[c]
				}
			}
			for at < len(cells) && cells[at].r == s.from+t {
				cells[at].draws = append(cells[at].draws, row[cells[at].c])
				at++
			}
		}
	}
	return nil
}

// ceiling returns the next known number of a channel from row r on, or +Inf if there is none.
func (g *gapModel) ceiling(values [][]float64, e, r, c int) float64 {
	for ; r < len(g.f.Entities[e].Times); r++ {
		if v := values[e][r*g.n+c]; v == v {
			return v
		}
	}
	return math.Inf(1)
}

// moments returns the mean and the standard deviation of row t over draws.
func moments(draws [][]float64, t int) (mean, sd float64) {
	n := float64(len(draws))
	for _, x := range draws {
		mean += x[t] / n
	}
	for _, x := range draws {
		sd += (x[t] - mean) * (x[t] - mean) / n
	}
	return mean, math.Sqrt(sd)
}

// truncated maps a draw from N(mean, sd²) to a draw from the same distribution restricted to
// [low, high].
func truncated(x, mean, sd, low, high float64) float64 {
	a, b := normal((low-mean)/sd), normal((high-mean)/sd)
	if !(b-a > 1e-9) { // one draw, or bounds far from all of them
		return min(max(x, low), high)
	}
	return min(max(mean+sd*quantile(a+(b-a)*normal((x-mean)/sd)), low), high)
}

// row fills in a row from drawn coordinates, with values as they will be written. The function
// spread returns the mean and standard deviation over all draws.
func (g *gapModel) row(row []float64, coord func(c int) float64, spread func(c int) (mean, sd float64)) {
	given := slices.Clone(row)
	for _, c := range g.free {
		if math.IsNaN(row[c]) && !(g.barred && slices.Contains(g.bars[:], c)) {
			row[c] = g.round(c, g.coords[c].from(coord(c)))
		}
	}
	if g.barred {
		g.bar(row, given, coord, spread)
	}
	g.relate(row, given)
}

// relate computes the channels that relations determine. If the dependent channel is given, the
// last missing channel of the relation absorbs the rounding.
func (g *gapModel) relate(row, given []float64) {
	for i := range g.relations {
		r := &g.relations[i]
		if math.IsNaN(given[r.channel]) {
			row[r.channel] = g.round(r.channel, r.value(row))
			continue
		}
		for k := len(r.of) - 1; k >= 0; k-- {
			c := r.of[k]
			if !math.IsNaN(given[c]) {
				continue
			}
			row[c] = 0
			want := (row[r.channel] - r.value(row)) / r.weight[k]
			if row[c] = g.round(c, want); math.Abs(row[c]-want) <= g.tick[c]/2+1e-9*math.Abs(want) {
				break // else its limits leave something to the ones before
			}
		}
	}
}

// bar fills in the prices of a row. Given prices bound the others.
func (g *gapModel) bar(row, given []float64, coord func(c int) float64, spread func(c int) (mean, sd float64)) {
	open, high, low, last := g.bars[0], g.bars[1], g.bars[2], g.bars[3]
	top, bottom := math.Inf(1), math.Inf(-1)
	if v := given[high]; v == v {
		top = v
	}
	if v := given[low]; v == v {
		bottom = v
	}
	within := func(c int, unit float64) float64 {
		mean, sd := spread(c)
		v := truncated(coord(c), mean, sd, math.Log(max(bottom, 0)/unit), math.Log(top/unit))
		return min(max(g.round(c, unit*math.Exp(v)), bottom), top)
	}
	if math.IsNaN(row[last]) {
		row[last] = within(last, 1)
	}
	if math.IsNaN(row[open]) {
		row[open] = within(open, row[last])
	}
	upper, lower := max(row[open], row[last]), min(row[open], row[last])
	if math.IsNaN(row[high]) {
		row[high] = max(g.round(high, upper*math.Exp(g.coords[high].from(coord(high)))), upper)
	}
	if math.IsNaN(row[low]) {
		row[low] = min(g.round(low, lower*math.Exp(-g.coords[low].from(coord(low)))), lower)
	}
}

// round returns the nearest number that the column allows: a multiple of its tick within its
// limits.
func (g *gapModel) round(c int, v float64) float64 {
	tick := g.tick[c]
	onGrid := func(k float64) float64 { // as it is written
		if tick == 0 {
			return v
		}
		x, _ := strconv.ParseFloat(strconv.FormatFloat(k*tick, 'g', 15, 64), 64)
		return x
	}
	k := math.RoundToEven(v / tick)
	if tick > 0 {
		v = onGrid(k)
	}
	for _, l := range g.limits {
		if l.channel != c {
			continue
		}
		if v < l.lower {
			if v = l.lower; tick > 0 {
				v = onGrid(math.Ceil(l.lower/tick - 1e-9))
			}
		}
		if v > l.upper {
			if v = l.upper; tick > 0 {
				v = onGrid(math.Floor(l.upper/tick + 1e-9))
			}
		}
	}
	return v
}

// learn fits the model. It calibrates the intervals on numbers that it holds out, and tests the
// calibration on others.
func (g *gapModel) learn(ctx context.Context, values [][]float64, r *filling) error {
	if len(g.free) == 0 {
		return nil
	}
	random := rand.New(rand.NewPCG(g.o.seed, 99))
	for round := range 2 {
		hidden, cells := g.hide(values, random)
		if len(cells) == 0 {
			r.Notes = append(r.Notes, "too few numbers around the gaps to leave some out: intervals come from the model and are not calibrated")
			break
		}
		if err := g.fit(hidden); err != nil {
			return err
		}
		if round == 0 {
			g.widen(values, hidden, cells)
		}
		if err := g.draw(ctx, hidden, cells, g.o.seed+1); err != nil {
			return err
		}
		if round > 0 {
			r.Calibration = g.compare(values, hidden, cells)
		}
		g.deepen(values, cells)
	}
	return g.fit(values)
}

// enoughDepths is the number of held-out numbers of a channel that suffice to calibrate its
// intervals. With fewer, the numbers of all channels are pooled.
const enoughDepths = 60

// deepen sets the quantile levels that bound an 80 % interval, from all draws so far of held-out
// numbers. They are chosen so that 80 % of these numbers lie inside, after the effect of limits
// and rounding on the draws.
func (g *gapModel) deepen(values [][]float64, cells []*filled) {
	if g.depths == nil {
		g.depths = map[int][]float64{}
	}
	const pooled = -1
	for _, c := range cells {
		if g.coords[c.c] == nil {
			continue
		}
		truth, below, above := values[c.e][c.r*g.n+c.c], 0.0, 0.0
		for _, v := range c.draws {
			if v <= truth {
				below++
			}
			if v >= truth {
				above++
			}
		}
		if n := float64(len(c.draws)); below == n && above == n {
			continue // other columns of its row settle it
		}
		d := min(below, above, float64(len(c.draws))/2) / float64(len(c.draws)+1)
		g.depths[c.c] = append(g.depths[c.c], d)
		g.depths[pooled] = append(g.depths[pooled], d)
	}
	for c := range g.depth {
		d := slices.Clone(g.depths[c])
		if len(d) < enoughDepths {
			d = slices.Clone(g.depths[pooled])
		}
		if len(d) < enoughDepths {
			continue
		}
		slices.Sort(d)
		g.depth[c] = min(max(d[len(d)/5]+0.5/float64(g.o.draws+1), 0.005), 0.4) // half of those of this depth
	}
}

// hide holds out known numbers. They form the same patterns of rows and channels as the missing
// numbers, at other places.
func (g *gapModel) hide(values [][]float64, r *rand.Rand) (hidden [][]float64, cells []*filled) {
	type block struct {
		from, to, e int
	}
	var blocks []block
	total := 0
	hidden = make([][]float64, len(values))
	for e := range values {
		hidden[e] = slices.Clone(values[e])
		total += len(values[e])
		n, start := len(g.f.Entities[e].Times), -1
		for t := 0; t <= n; t++ {
			hole := t < n && slices.ContainsFunc(values[e][t*g.n:(t+1)*g.n], math.IsNaN)
			switch {
			case hole && start < 0:
				start = t
			case !hole && start >= 0:
				blocks = append(blocks, block{start, t, e})
				start = -1
			}
		}
	}
	if len(blocks) == 0 {
		return hidden, nil
	}
	most := min(mostHeldOut, total/8)
	taken := map[[2]int]bool{}
	for range 4000 {
		if len(cells) >= most {
			break
		}
		b := blocks[r.IntN(len(blocks))]
		length := min(b.to-b.from, max(1, len(g.f.Entities[b.e].Times)/8))
		e := r.IntN(len(values))
		rows := len(g.f.Entities[e].Times)
		if rows < length+2 {
			continue
		}
		at := 1 + r.IntN(rows-length-1)
		ok := true
		for t := -1; t <= length && ok; t++ {
			if at+t >= rows || taken[[2]int{e, at + t}] {
				ok = false
				break
			}
			for c := range g.n {
				hole := t >= 0 && t < length && math.IsNaN(g.f.Entities[b.e].Values[(b.from+t)*g.n+c])
				ok = ok && !(hole && math.IsNaN(values[e][(at+t)*g.n+c]))
			}
		}
		if !ok {
			continue
		}
		for t := range length {
			taken[[2]int{e, at + t}] = true
			for c := range g.n {
				if math.IsNaN(g.f.Entities[b.e].Values[(b.from+t)*g.n+c]) {
					hidden[e][(at+t)*g.n+c] = math.NaN()
					if _, still := g.constant[c]; !still {
						cells = append(cells, &filled{e: e, r: at + t, c: c})
					}
				}
			}
		}
	}
	slices.SortFunc(cells, func(a, b *filled) int {
		if a.e != b.e {
			return a.e - b.e
		}
		if a.r != b.r {
			return a.r - b.r
		}
		return a.c - b.c
	})
	return hidden, cells
}

// quantile80 is the z for which a standard normal deviate lies in [−z, z] with probability 80 %.
const quantile80 = 1.2815515594

// widen sets the stretch of every coordinate so that 80 % of the held-out numbers lie in their
// 80 % intervals.
func (g *gapModel) widen(values, hidden [][]float64, cells []*filled) {
	off := map[int][]float64{}
	for _, s := range g.spans(cells) {
		for k, group := range g.groups {
			rows := make([][]seen, s.to-s.from)
			for i := range rows {
				rows[i] = g.seen(hidden, group, s.e, s.from+i)
			}
			m := g.models[k]
			w := m.filter(rows)
			means, covs := m.means(w, func(t, j int) float64 { return rows[t][j].value }), m.covariances(w)
			for _, c := range cells {
				i := slices.Index(group, c.c)
				if i < 0 || c.e != s.e || c.r < s.from || c.r >= s.to {
					continue
				}
				t := c.r - s.from
				v := g.raw(values[c.e][c.r*g.n:(c.r+1)*g.n], c.c)
				z := (v-g.coords[c.c].at(c.e, c.r, g.slot(c.e, c.r)))/g.coords[c.c].width[c.e] - means[t][i]
				if sd := math.Sqrt(covs[t][i*m.d+i]); sd > 1e-4 && !math.IsNaN(z) {
					off[c.c] = append(off[c.c], math.Abs(z)/sd)
				}
			}
		}
	}
	for c, z := range off {
		if len(z) < 20 {
			continue
		}
		slices.Sort(z)
		at := 0.8 * float64(len(z)+1)
		g.coords[c].stretch = min(max(z[min(int(at), len(z)-1)]/quantile80, 0.2), 5)
	}
}

// compare compares held-out numbers with their draws.
func (g *gapModel) compare(values, hidden [][]float64, cells []*filled) (k calibration) {
	inside, error2, linear := 0.0, 0.0, 0.0
	for e := range hidden {
		x := slices.Clone(hidden[e])
		straight(x, g.n)
		for _, c := range cells {
			if c.e != e || g.coords[c.c] == nil {
				continue
			}
			truth := values[e][c.r*g.n+c.c]
			low, median, high := between(c.draws, g.depth[c.c])
			if low == high && low == truth {
				continue // a column that hardly changes: nothing to be unsure of
			}
			if truth >= low && truth <= high {
				inside++
			}
			sd := g.spread(values, c.c)
			error2 += (median - truth) * (median - truth) / sd / sd
			linear += (x[c.r*g.n+c.c] - truth) * (x[c.r*g.n+c.c] - truth) / sd / sd
			k.Cells++
		}
	}
	if k.Cells > 0 {
		n := float64(k.Cells)
		k.Coverage, k.RMSE, k.Linear = inside/n, math.Sqrt(error2/n), math.Sqrt(linear/n)
	}
	return k
}

// spread returns the standard deviation of a channel.
func (g *gapModel) spread(values [][]float64, c int) float64 {
	sum, square, n := 0.0, 0.0, 0.0
	for e := range values {
		for r := range g.f.Entities[e].Times {
			if v := values[e][r*g.n+c]; v == v {
				sum, square, n = sum+v, square+v*v, n+1
			}
		}
	}
	return math.Sqrt(max(square/n-sum/n*sum/n, 1e-300))
}

// between returns the quantiles q, ½ and 1 − q of the draws.
func between(draws []float64, q float64) (low, median, high float64) {
	x := slices.Clone(draws)
	slices.Sort(x)
	at := func(q float64) float64 {
		p := q*float64(len(x)+1) - 1
		i := min(max(int(math.Floor(p)), 0), len(x)-1)
		j := min(i+1, len(x)-1)
		return x[i] + min(max(p-float64(i), 0), 1)*(x[j]-x[i])
	}
	return at(q), at(0.5), at(1 - q)
}

// summarise stores in values the medians, as they will be written. They satisfy the given numbers
// and the relations of the row.
func (g *gapModel) summarise(values [][]float64, cells []*filled) {
	for from := 0; from < len(cells); {
		to := from
		for to < len(cells) && cells[to].e == cells[from].e && cells[to].r == cells[from].r {
			to++
		}
		c0 := cells[from]
		row := values[c0.e][c0.r*g.n : (c0.r+1)*g.n]
		given := slices.Clone(row)
		for _, c := range cells[from:to] {
			if len(c.draws) == 0 { // all series of constants
				c.draws = []float64{row[c.c]}
			}
			c.Low, c.Median, c.High = between(c.draws, g.depth[c.c])
			if math.IsNaN(row[c.c]) {
				row[c.c] = g.round(c.c, c.Median)
			}
		}
		if g.barred {
			open, high, low, last := g.bars[0], g.bars[1], g.bars[2], g.bars[3]
			if math.IsNaN(given[high]) {
				row[high] = max(row[high], row[open], row[last])
			}
			if math.IsNaN(given[low]) {
				row[low] = min(row[low], row[open], row[last])
			}
		}
		g.relate(row, given)
		for _, c := range cells[from:to] {
			c.Value = row[c.c]
		}
		from = to
	}
}

// spoken returns a relation as a formula.
func (g *gapModel) spoken(r relation) string {
	s := g.f.Channels[r.channel].Name + " ="
	for i, c := range r.of {
		name := g.f.Channels[c].Name
		switch w := r.weight[i]; {
		case w == 1 && i == 0:
			s += " " + name
		case w == 1:
			s += " + " + name
		case w == -1:
			s += " − " + name
		case w < 0:
			s += fmt.Sprintf(" − %v·%s", -w, name)
		case i == 0:
			s += fmt.Sprintf(" %v·%s", w, name)
		default:
			s += fmt.Sprintf(" + %v·%s", w, name)
		}
	}
	if r.offset != 0 {
		s += fmt.Sprintf(" %+g", r.offset)
	}
	return s
}

// save writes all missing numbers with their draws as a table.
func (r *filling) save(path string) error {
	return saveCSV(path, ',', func(w *csv.Writer) error {
		head := []string{"entity", "time", "channel", "value", "median", "low", "high"}
		for k := range r.Draws {
			head = append(head, fmt.Sprint("draw", k+1))
		}
		if err := w.Write(head); err != nil {
			return err
		}
		for _, c := range r.Cells {
			line := []string{c.Entity, c.Time, c.Channel}
			for _, v := range append([]float64{c.Value, c.Median, c.Low, c.High}, c.draws...) {
				line = append(line, strconv.FormatFloat(v, 'f', -1, 64))
			}
			for len(line) < len(head) { // of a constant
				line = append(line, line[3])
			}
			if err := w.Write(line); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *filling) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d missing numbers in %d gaps filled in by the medians of %d draws, %d rows put in\n", r.Data, r.Filled, r.Gaps, r.Draws, r.Inserted)
	for _, n := range r.Notes {
		fmt.Fprintln(&b, n)
	}
	for _, s := range r.Relations {
		fmt.Fprintln(&b, "kept in every row:", s)
	}
	if c := r.Calibration; c.Cells > 0 {
		fmt.Fprintf(&b, "on %d numbers left out the same way: %.0f %% in intervals of 80 %%, root mean square error %.3f standard deviations (straight lines %.3f)\n", c.Cells, 100*c.Coverage, c.RMSE, c.Linear)
	}
	for i, c := range r.Cells {
		if i == 10 {
			fmt.Fprintf(&b, "… and %d more\n", len(r.Cells)-10)
			break
		}
		fmt.Fprintf(&b, "%s %s: %v (%.6g … %.6g)\n", strings.TrimSpace(c.Entity+" "+c.Time), c.Channel, c.Value, c.Low, c.High)
	}
	for _, path := range r.Wrote {
		fmt.Fprintln(&b, "wrote", path)
	}
	return b.String()
}
