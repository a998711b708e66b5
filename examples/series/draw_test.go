package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func generateFrom(t *testing.T, args ...string) (*generation, [][]string) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "windows.csv")
	o, err := parse(append(args, "-write", to))
	require.NoError(t, err)
	s, err := dispatch(context.Background(), o)
	require.NoError(t, err)
	f, err := os.Open(to)
	require.NoError(t, err)
	defer f.Close()
	got, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	return s.(*generation), got
}

// share is a file of daily prices in cents, some of whose bars have open or close on high
// or low, with a volume in hundreds and a column of adjusted prices that equals close in its
// last part.
func share(t *testing.T, rows int) string {
	r := rand.New(rand.NewPCG(5, 6))
	var b strings.Builder
	b.WriteString("Open,High,Low,Close,Adj Close,Volume\n")
	price, heat := 50.0, 0.0
	for i := range rows {
		heat = 0.95*heat + 0.3*r.NormFloat64()
		sd := 0.012 * math.Exp(heat/2)
		open := price * math.Exp(0.3*sd*r.NormFloat64())
		last := open * math.Exp(sd*r.NormFloat64())
		wick := func() float64 {
			if r.Float64() < 0.06 {
				return 0
			}
			return 0.6 * sd * r.ExpFloat64()
		}
		cents := func(v float64) float64 { return math.Round(100*v) / 100 }
		high, low := max(open, last)*math.Exp(wick()), min(open, last)*math.Exp(-wick())
		adjusted := cents(last)
		if i < rows/2 {
			adjusted = cents(0.95 * last)
		}
		fmt.Fprintf(&b, "%.2f,%.2f,%.2f,%.2f,%.2f,%d\n", cents(open), cents(high), cents(low), cents(last), adjusted, 100*int(2000*math.Exp(heat/2+0.3*r.NormFloat64())))
		price = last
	}
	return write(t, b.String())
}

// Bars look like those of the file: as many of them have open or close on high or low, none
// is flat that would not be, prices are cents in order, volumes hundreds, and a classifier
// is nearly as often wrong about them as about windows of the file.
func TestGenerateBars(t *testing.T) {
	r, got := generateFrom(t, "-csv", share(t, 800), "-generate", "150")
	require.Len(t, got, 1+150*24)
	assert.InDelta(t, r.Bars.RealEdge, r.Bars.DrawnEdge, 0.02)
	assert.Greater(t, r.Bars.RealEdge, 0.05)
	assert.LessOrEqual(t, r.Bars.DrawnFlat, r.Bars.RealFlat)
	assert.Less(t, r.Apart, 0.15)
	assert.Greater(t, r.HeldOut, 100)
	edge, equal := 0.0, 0.0
	for _, line := range got[1:] {
		var v [6]float64
		for c := range v {
			v[c] = mustFloat(t, line[2+c])
			_, decimals, _ := strings.Cut(line[2+c], ".")
			require.Equal(t, []int{2, 2, 2, 2, 2, 0}[c], len(decimals), "%v", line)
		}
		open, high, low, last := v[0], v[1], v[2], v[3]
		require.True(t, low > 0 && low <= min(open, last) && high >= max(open, last), "%v", line)
		require.Zero(t, math.Mod(v[5], 100), "%v", line)
		if open == high || open == low || last == high || last == low {
			edge++
		}
		if v[4] == last {
			equal++
		} else {
			require.InDelta(t, 0.95*last, v[4], 0.02, "%v", line)
		}
	}
	assert.InDelta(t, r.Bars.DrawnEdge, edge/150/24, 1e-9, "the figures are those of the file")
	assert.InDelta(t, 0.5, equal/150/24, 0.1)
	assert.Contains(t, r.String(), "bars with open or close on high or low")
}

// Sums and copies of columns hold in every row; a level that reverts stays where it was.
func TestGenerateKeepsRelations(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var b strings.Builder
	b.WriteString("a,b,total,copy\n")
	x := 0.0
	for range 800 {
		x = 0.9*x + r.NormFloat64()
		p, q := math.Round(10*(20+x)), math.Round(10*(30+r.NormFloat64()))
		fmt.Fprintf(&b, "%.1f,%.1f,%.1f,%.1f\n", p/10, q/10, (p+q)/10, p/10)
	}
	g, got := generateFrom(t, "-csv", write(t, b.String()), "-generate", "100", "-length", "12")
	assert.Equal(t, []string{"total = a + b", "copy = a"}, g.Relations)
	mean := 0.0
	for _, line := range got[1:] {
		p, q, total, again := mustFloat(t, line[2]), mustFloat(t, line[3]), mustFloat(t, line[4]), mustFloat(t, line[5])
		require.Equal(t, math.Round(10*total), math.Round(10*p)+math.Round(10*q), "%v", line)
		require.Equal(t, p, again, "%v", line)
		mean += p / 1200
	}
	assert.InDelta(t, 20, mean, 1.5)
	assert.Less(t, g.Apart, 0.2)
}

func TestGenerateErrors(t *testing.T) {
	for want, args := range map[string][]string{
		"-generate = -1, want ≥ 0":         {"-generate", "-1"},
		"3 windows of 24 rows without a":   {"-generate", "5", "-csv", write(t, walk(27, nil))},
		"no channel changes":               {"-generate", "5", "-length", "3", "-csv", write(t, "a,b\n"+strings.Repeat("1,2\n", 30))},
		"no such file":                     {"-generate", "5", "-csv", "missing.csv"},
		"in every run and uses no network": {"-generate", "5", "-train"},
		"fits its kernel density":          {"-generate", "5", "-denoiser", "gaussian"},
		"excludes -method, -impute":        {"-generate", "5", "-method", "cps"},
	} {
		o, err := parse(args)
		if err == nil {
			_, err = dispatch(context.Background(), o)
		}
		assert.ErrorContains(t, err, want)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o, err := parse([]string{"-generate", "3", "-rows", "200"})
	require.NoError(t, err)
	_, err = dispatch(ctx, o)
	assert.ErrorIs(t, err, context.Canceled)
}

// Generated windows of a calm series are calm, even if other series of the file are not. Their
// spread was that of all series together, .4 here.
func TestGenerateEverySeriesHasItsSpread(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 9))
	var b strings.Builder
	b.WriteString("date,place,volume\n")
	for _, s := range []struct {
		name        string
		level, wild float64
	}{{"calm", 1e6, 0.05}, {"wild", 1e3, 0.6}} {
		for k := range 300 {
			at := time.Date(2024, 1, 1+k, 0, 0, 0, 0, time.UTC)
			fmt.Fprintf(&b, "%s,%s,%.0f\n", at.Format(time.DateOnly), s.name, s.level*math.Exp(s.wild*r.NormFloat64()))
		}
	}
	_, got := generateFrom(t, "-csv", write(t, b.String()), "-generate", "100")
	spread, calm := 0.0, 0.0
	for from := 1; from < len(got); from += 24 {
		sum, square := 0.0, 0.0
		for _, line := range got[from : from+24] {
			v := math.Log(mustFloat(t, line[2]))
			sum, square = sum+v/24, square+v*v/24
		}
		if sum > math.Log(1e5) {
			spread, calm = spread+square-sum*sum, calm+1
		}
	}
	require.Greater(t, calm, 20.0)
	assert.InDelta(t, 0.05, math.Sqrt(spread/calm), 0.015)
}
