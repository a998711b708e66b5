package main

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var fills = flag.Int("fills", 1, "files of every kind in TestFillOfManyFiles; 67 make 200 and take minutes")

// sketch is a file whose numbers are known: cells as text, and those that are blanked.
type sketch struct {
	names  []string
	times  []string
	cells  [][]string // rows × channels
	gone   map[[2]int]bool
	bounds string

	best map[[2]int]float64 // exact conditional means, where they are known
	hold func(t *testing.T, row []float64)
}

// blank takes numbers out: single cells, and blocks of rows.
func (s *sketch) blank(r *rand.Rand, single float64, blocks int) {
	s.gone = map[[2]int]bool{}
	for i := range s.cells {
		for c := range s.cells[i] {
			if r.Float64() < single {
				s.gone[[2]int{i, c}] = true
			}
		}
	}
	for range blocks {
		from := 1 + r.IntN(len(s.cells)-8)
		for i := from; i < from+1+r.IntN(4); i++ {
			for c := range s.cells[i] {
				s.gone[[2]int{i, c}] = true
			}
		}
	}
}

func (s *sketch) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "time,%s\n", strings.Join(s.names, ","))
	for i, row := range s.cells {
		row = slices.Clone(row)
		for c := range row {
			if s.gone[[2]int{i, c}] {
				row[c] = ""
			}
		}
		fmt.Fprintf(&b, "%s,%s\n", s.times[i], strings.Join(row, ","))
	}
	return b.String()
}

func (s *sketch) row(at time.Time, layout string, v ...string) {
	s.times, s.cells = append(s.times, at.Format(layout)), append(s.cells, v)
}

func decimals(v float64, n int) string { return strconv.FormatFloat(v, 'f', n, 64) }

// sketches are the kinds of series: bars of a market with clusters of volatility, hours of
// sensors with a period, bounds and a sum, and a level that reverts and whose exact
// conditional mean is known.
var sketches = map[string]func(r *rand.Rand) *sketch{
	"bars": func(r *rand.Rand) *sketch {
		s := &sketch{names: []string{"open", "high", "low", "close", "volume"}}
		price, heat := 60+40*r.Float64(), 0.0
		for i := range 420 {
			heat = 0.94*heat + 0.25*r.NormFloat64()
			sd := 0.011 * math.Exp(heat/2)
			open := price * math.Exp(0.3*sd*r.NormFloat64())
			price = open * math.Exp(sd*r.NormFloat64())
			high, low := max(open, price)*math.Exp(0.5*sd*r.ExpFloat64()), min(open, price)*math.Exp(-0.5*sd*r.ExpFloat64())
			s.row(time.Date(2022, 1, 3+i, 0, 0, 0, 0, time.UTC), time.DateOnly, decimals(open, 2), decimals(high, 2), decimals(low, 2), decimals(price, 2), decimals(1e5*math.Exp(heat/2+0.3*r.NormFloat64()), 0))
		}
		s.blank(r, 0.03, 12)
		s.hold = func(t *testing.T, v []float64) {
			require.True(t, v[2] <= min(v[0], v[3]) && v[1] >= max(v[0], v[3]) && v[2] > 0, "%v", v)
		}
		return s
	},
	"sensors": func(r *rand.Rand) *sketch {
		s := &sketch{names: []string{"temp", "humidity", "a", "b", "total", "counter"}, bounds: "humidity=0:100,a=0:"}
		x, count := 0.0, 100
		for i := range 480 {
			x = 0.85*x + 0.6*r.NormFloat64()
			season := math.Sin(2 * math.Pi * float64(i) / 24)
			a, b := math.Round(10*math.Abs(3+x+0.5*r.NormFloat64())), math.Round(10*(7+season+r.NormFloat64()))
			count += r.IntN(4)
			s.row(time.Date(2024, 5, 1, i, 0, 0, 0, time.UTC), "2006-01-02 15:04", decimals(12+4*season+x, 1), decimals(min(max(80-8*season-6*x+4*r.NormFloat64(), 0), 100), 0),
				decimals(a/10, 1), decimals(b/10, 1), decimals((a+b)/10, 1), strconv.Itoa(count))
		}
		s.blank(r, 0.05, 6)
		s.hold = func(t *testing.T, v []float64) {
			require.Equal(t, math.Round(10*v[4]), math.Round(10*v[2])+math.Round(10*v[3]), "%v", v)
			require.True(t, v[1] >= 0 && v[1] <= 100 && v[2] >= 0, "%v", v)
		}
		return s
	},
	"levels": func(r *rand.Rand) *sketch {
		s := &sketch{names: []string{"level"}}
		truth := &autoregression{c: 1, lags: 1, d: 2, coef: []float64{0.9}, noise: []float64{0.19}, start: []float64{1, 0.9, 0.9, 1}}
		x, y := r.NormFloat64(), make([]float64, 1500)
		for i := range y {
			y[i] = x
			s.row(time.Date(2023, 1, 1, 0, 10*i, 0, 0, time.UTC), "2006-01-02 15:04", decimals(50+5*x, 2))
			x = 0.9*x + math.Sqrt(0.19)*r.NormFloat64()
		}
		s.blank(r, 0.08, 10)
		rows := make([][]seen, len(y))
		for i := range rows {
			if !s.gone[[2]int{i, 0}] {
				rows[i] = []seen{{[]int{0}, []float64{1}, y[i]}}
			}
		}
		s.best = map[[2]int]float64{}
		for i, m := range truth.means(truth.filter(rows), func(t, k int) float64 { return rows[t][k].value }) {
			s.best[[2]int{i, 0}] = 50 + 5*m[0]
		}
		s.hold = func(*testing.T, []float64) {}
		return s
	},
}

// Of many files: what was given stays to the letter, sums, bounds, orders and counters hold
// in the written text, intervals of 80 % hold four fifths of what was taken out, and the
// error is that of the exact conditional mean where that is known.
func TestFillOfManyFiles(t *testing.T) {
	for _, kind := range []string{"bars", "sensors", "levels"} {
		make, said := sketches[kind], 0.0
		inside, cells, mine, exact, by := 0.0, 0.0, 0.0, 0.0, map[string][]float64{}
		for k := range *fills {
			s := make(rand.New(rand.NewPCG(uint64(k), 77)))
			r, got := fill(t, "-csv", write(t, s.text()), "-bounds", s.bounds, "-draws", "100", "-seed", fmt.Sprint(k+1))
			require.Len(t, got, 1+len(s.cells))
			said += r.Calibration.Coverage / float64(*fills)
			last := math.Inf(-1)
			for i, row := range s.cells {
				require.Equal(t, s.times[i], got[1+i][0])
				v := []float64{}
				for c, cell := range row {
					if !s.gone[[2]int{i, c}] {
						require.Equal(t, cell, got[1+i][1+c])
					} else {
						_, want, _ := strings.Cut(cell, ".")
						_, have, _ := strings.Cut(got[1+i][1+c], ".")
						require.Equal(t, len(want), len(have), "decimals of %s", got[1+i][1+c])
					}
					v = append(v, mustFloat(t, got[1+i][1+c]))
				}
				s.hold(t, v)
				if c := slices.Index(s.names, "counter"); c >= 0 {
					require.GreaterOrEqual(t, v[c], last)
					last = v[c]
				}
			}
			require.Len(t, r.Cells, len(s.gone))
			for _, c := range r.Cells {
				want := mustFloat(t, s.cells[c.r][c.c])
				if c.Channel == "counter" { // a few whole numbers hold more than their share
					continue
				}
				if c.Low == c.High { // a sum of others
					require.Equal(t, want, c.Value)
					continue
				}
				hit := 0.0
				if want >= c.Low && want <= c.High {
					hit = 1
				}
				by[c.Channel] = append(by[c.Channel], hit)
				cells, inside = cells+1, inside+hit
				mine += (c.Median - want) * (c.Median - want)
				exact += (s.best[[2]int{c.r, c.c}] - want) * (s.best[[2]int{c.r, c.c}] - want)
			}
		}
		noise := 4 * math.Sqrt(0.8*0.2/cells*3) // cells of a row are no three independent ones
		assert.InDelta(t, 0.8, inside/cells, max(0.03, noise), "%s: %v of %v", kind, inside, cells)
		t.Logf("%s: %d files, %.1f %% of %v numbers in intervals of 80 %%", kind, *fills, 100*inside/cells, cells)
		t.Logf("  by its own calibration: %.1f %%", 100*said)
		for name, hits := range by {
			t.Logf("  %s: %.1f %% of %d", name, 100*mean(hits), len(hits))
		}
		if kind == "levels" {
			assert.Less(t, math.Sqrt(mine/exact), max(1.03, 1+2/math.Sqrt(cells)))
			t.Logf("root mean square error %.4f of that of the exact conditional mean", math.Sqrt(mine/exact))
		}
	}
}
