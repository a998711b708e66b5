package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/seriesdata"
)

// gappy writes a market in cents, with semicolons, a date and a comment column, in
// which some rows lack all numbers, some only one, and some are not there, and returns
// its path and its lines.
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
		case row == 200:
			cells[4] = "nan" // close
		}
		lines = append(lines, strings.Join(append(cells, fmt.Sprint("n", row*row)), ";"))
	}
	return write(t, strings.Join(lines, "\n")+"\n"), lines
}

func fill(t *testing.T, args ...string) (*filling, [][]string) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "full.csv")
	o, err := parse(append(args, "-fill", to))
	require.NoError(t, err)
	r, err := dispatch(context.Background(), o)
	require.NoError(t, err)
	b, err := os.ReadFile(to)
	require.NoError(t, err)
	in := csv.NewReader(strings.NewReader(string(b)))
	if strings.Contains(string(b[:20]), ";") {
		in.Comma = ';'
	}
	got, err := in.ReadAll()
	require.NoError(t, err)
	return r.(*filling), got
}

// One command makes a complete file of one with gaps: what was there stays to the
// letter, prices are in order and in cents as written, and numbers look like those
// around them.
func TestFill(t *testing.T) {
	path, lines := gappy(t)
	r, got := fill(t, "-csv", path, "-draws", "40")
	assert.Contains(t, r.String(), "missing numbers in")
	assert.Equal(t, 4*5+5+4*5+1+2+1, r.Filled-5*r.Inserted)
	at := map[string][]string{}
	for _, row := range got[1:] {
		at[row[0]] = row
		var v [5]float64
		for c := range v {
			v[c] = mustFloat(t, row[1+c])
			_, decimals, _ := strings.Cut(row[1+c], ".")
			require.Len(t, decimals, 2, "%v", row)
		}
		require.True(t, v[2] <= min(v[0], v[3]) && v[1] >= max(v[0], v[3]), "%v", row)
	}
	for _, line := range lines[1:] {
		was := strings.Split(line, ";")
		for c, cell := range was {
			if cell != "" && cell != "NA" && cell != "nan" {
				require.Equal(t, cell, at[was[0]][c], line)
			}
		}
	}
	// The market moves by 1.2 % a day.
	day := func(row int) float64 { return mustFloat(t, at[strings.Split(lines[1+row], ";")[0]][4]) }
	for row := 100; row < 104; row++ {
		assert.InEpsilon(t, day(99), day(row), 0.2)
	}
	again, _ := fill(t, "-csv", path, "-draws", "40")
	again.Wrote, r.Wrote = nil, nil
	assert.Equal(t, r, again, "the same seed gives the same numbers")
}

func mustFloat(t *testing.T, s string) float64 {
	v, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", "."), 64)
	require.NoError(t, err)
	return v
}

// sensors writes two stations by the hour, decimal commas and days first, with scattered
// gaps, a sum of two columns, a counter, and 30 hours left out.
func sensors(t *testing.T, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	b.WriteString("Zeit;station;temp (°C);a;b;total;counter\n")
	x := map[string]float64{}
	counter := map[string]int{}
	for i := range 900 {
		for _, s := range []string{"N", "S"} {
			x[s] = 0.9*x[s] + 0.5*r.NormFloat64()
			counter[s] += r.IntN(3)
			a, c := math.Round(10*(5+0.3*x[s]+0.4*r.NormFloat64())), math.Round(10*(7+r.NormFloat64()))
			cells := []string{fmt.Sprintf("%.1f", 12+4*math.Sin(2*math.Pi*float64(i)/24)+x[s]), fmt.Sprintf("%.1f", a/10), fmt.Sprintf("%.1f", c/10), fmt.Sprintf("%.1f", (a+c)/10), strconv.Itoa(counter[s])}
			for k := range cells {
				if cells[k] = strings.Replace(cells[k], ".", ",", 1); r.Float64() < 0.08 {
					cells[k] = []string{"", "-200,0", "?"}[k%3]
				}
			}
			if i >= 300 && i < 330 {
				continue
			}
			at := time.Date(2024, 3, 1, i, 0, 0, 0, time.UTC)
			fmt.Fprintf(&b, "%s;%s;%s\n", at.Format("02/01/2006 15:04"), s, strings.Join(cells, ";"))
		}
	}
	return write(t, b.String())
}

// Sums, bounds, counters and digits hold in the written text; hours that were left out are
// there; intervals of 80 % hold four fifths of the numbers left out to test them.
func TestFillKeepsWhatHolds(t *testing.T) {
	covered := 0.0
	for seed := range uint64(2) {
		path := sensors(t, seed)
		r, got := fill(t, "-csv", path, "-bounds", "temp=0:25,a=1:", "-draws", "60", "-seed", fmt.Sprint(seed+1))
		assert.Equal(t, []string{"total = a + b"}, r.Relations)
		assert.Equal(t, 60, r.Inserted)
		require.Len(t, got, 1+2*900)
		counter := map[string]float64{}
		chosen := map[string]bool{}
		for _, c := range r.Cells {
			chosen[c.Entity+c.Time+c.Channel] = true
		}
		for _, row := range got[1:] {
			a, b, total := mustFloat(t, row[3]), mustFloat(t, row[4]), mustFloat(t, row[5])
			require.Equal(t, math.Round(10*total), math.Round(10*a)+math.Round(10*b), "%v", row)
			for k, cell := range row[2:6] {
				_, decimals, _ := strings.Cut(cell, ",")
				require.Len(t, decimals, 1, "%v, cell %d", row, k)
			}
			n := mustFloat(t, row[6])
			require.GreaterOrEqual(t, n, counter[row[1]], "%v", row)
			require.Equal(t, math.Floor(n), n)
			counter[row[1]] = n
			if chosen[row[1]+row[0]+"temp"] {
				temp := mustFloat(t, row[2])
				require.True(t, temp >= 0 && temp <= 25, "%v", row)
			}
		}
		covered += r.Calibration.Coverage / 2
		assert.Less(t, r.Calibration.RMSE, r.Calibration.Linear)
	}
	assert.InDelta(t, 0.8, covered, 0.08) // gaps of 30 hours leave few that are independent
}

// On a series whose distribution is known the error is that of the exact conditional mean.
func TestFillIsNearlyExact(t *testing.T) {
	m, cov := stationary(t, 3)
	s, err := m.sampler()
	require.NoError(t, err)
	x := s.draw(m.filter(make([][]seen, 3000)), rand.New(rand.NewPCG(8, 9)))
	var b strings.Builder
	b.WriteString("t,u,v\n")
	for i := range 3000 {
		u := fmt.Sprintf("%.6f", x[2*i])
		if i%10 == 5 {
			u = ""
		}
		fmt.Fprintf(&b, "%d,%s,%.6f\n", i+1, u, x[2*i+1])
	}
	r, _ := fill(t, "-csv", write(t, b.String()), "-draws", "400")
	mine, exact := 0.0, 0.0
	w := make([][]seen, 3000)
	for i := range w {
		for c := range 2 {
			if c == 1 || i%10 != 5 {
				w[i] = append(w[i], seen{[]int{c}, []float64{1}, x[2*i+c]})
			}
		}
	}
	p := m.filter(w)
	best := m.means(p, func(at, k int) float64 { return w[at][k].value })
	for _, c := range r.Cells {
		mine += (c.Median - x[2*c.r]) * (c.Median - x[2*c.r])
		exact += (best[c.r][0] - x[2*c.r]) * (best[c.r][0] - x[2*c.r])
	}
	require.Len(t, r.Cells, 300)
	assert.Positive(t, cov.At(0, 0))
	assert.Less(t, math.Sqrt(mine/exact), 1.03)
}

func TestFillErrors(t *testing.T) {
	path, _ := gappy(t)
	to := filepath.Join(t.TempDir(), "full.csv")
	for want, args := range map[string][]string{
		"needs -csv":                           {"-fill", to},
		"excludes -impute, -hide and -missing": {"-fill", to, "-csv", path, "-missing", "drop"},
		"-tick = -1, want ≥ 0":                 {"-tick", "-1"},
		"-draws = 0, want ≥ 1":                 {"-draws", "0"},
		"-decimal = \"x\"":                     {"-decimal", "x"},
		"-zone = \"Nowhere\"":                  {"-zone", "Nowhere"},
		"-keep: \"x\" is not a number":         {"-keep", "x"},
		"-describe needs -csv":                 {"-describe"},
		"no missing numbers to fill in":        {"-fill", to, "-csv", write(t, "a,b\n1,2\n2,3\n")},
		"-bounds: no channel \"c\"":            {"-fill", to, "-csv", path, "-bounds", "c=1:2"},
		"column b has no numbers":              {"-fill", to, "-csv", write(t, "a,b\n1,-\n2,?\n3,\n"), "-columns", "a,b"},
		"too few rows to learn how one":        {"-fill", to, "-csv", write(t, "a,b\n1,2\n2,\n3,5\n")},
	} {
		o, err := parse(args)
		if err == nil {
			_, err = dispatch(context.Background(), o)
		}
		assert.ErrorContains(t, err, want)
	}
}

// The description of scripts is that of the package.
func TestDescribe(t *testing.T) {
	path, _ := gappy(t)
	o, err := parse([]string{"-csv", path, "-describe", "-json"})
	require.NoError(t, err)
	s, err := dispatch(context.Background(), o)
	require.NoError(t, err)
	f := s.(*seriesdata.Frame)
	assert.Equal(t, "day", f.Time.Column)
	assert.Equal(t, []seriesdata.Omission{{Column: "note", Why: "words"}}, f.LeftOut)
	assert.Equal(t, 11, f.Channels[3].Missing-f.Channels[1].Missing+11)
}

// All draws are written with -write.
func TestFillWritesDraws(t *testing.T) {
	path, _ := gappy(t)
	to := filepath.Join(t.TempDir(), "draws.csv")
	r, _ := fill(t, "-csv", path, "-draws", "7", "-write", to)
	f, err := os.Open(to)
	require.NoError(t, err)
	defer f.Close()
	in := csv.NewReader(f)
	head, err := in.Read()
	require.NoError(t, err)
	assert.Len(t, head, 7+7)
	for n := 0; ; n++ {
		if _, err := in.Read(); err == io.EOF {
			assert.Equal(t, r.Filled, n)
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
