package seriesdata

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// series is a file with one channel, whose times are written by spell.
func (w truth) series(name string, spell func(t time.Time) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s,%s\n", name, w.channels[0])
	for r, t := range w.times {
		if !slices.Contains(w.absent, r) {
			fmt.Fprintf(&b, "%s,%s\n", spell(t), two(worth(0, 0, r)))
		}
	}
	return b.String()
}

// Times as offices of statistics, markets of electricity and loggers write them.
func TestFilesOfOffices(t *testing.T) {
	one := plain().with(func(w *truth) { w.channels = []string{"v"} })
	calendar := func(n int, step func(i int) time.Time) truth {
		return one.with(func(w *truth) {
			w.times = nil
			for i := range n {
				w.times = append(w.times, step(i))
			}
		})
	}
	quarters := calendar(30, func(i int) time.Time { return time.Date(2003, time.Month(1+3*i), 1, 0, 0, 0, 0, time.UTC) })
	months := calendar(48, func(i int) time.Time { return time.Date(2003, time.Month(1+i), 1, 0, 0, 0, 0, time.UTC) })
	weeks := calendar(110, func(i int) time.Time { return time.Date(2020, 1, 6+7*i, 0, 0, 0, 0, time.UTC) })
	halves := calendar(100, func(i int) time.Time { return time.Date(2024, 1, 15, 0, 30*i, 0, 0, time.UTC) })
	hours := calendar(24*5, func(i int) time.Time { return time.Date(2024, 1, 15, i, 0, 0, 0, time.UTC) })
	fiscal := calendar(30, func(i int) time.Time { return time.Date(1990+i, 1, 1, 0, 0, 0, 0, time.UTC) })
	gone := func(w truth) truth { return w.with(func(w *truth) { w.absent = []int{7, 8, 20} }) }
	q := func(t time.Time) int { return (int(t.Month()) + 2) / 3 }
	for name, c := range map[string]struct {
		w    truth
		text string
	}{
		"Q1 '03":        {gone(quarters), gone(quarters).series("Quarter", func(t time.Time) string { return fmt.Sprintf("Q%d '%02d", q(t), t.Year()%100) })},
		"1Q2003":        {gone(quarters), gone(quarters).series("Period", func(t time.Time) string { return fmt.Sprintf("%dQ%d", q(t), t.Year()) })},
		"2003/Q1":       {gone(quarters), gone(quarters).series("d", func(t time.Time) string { return fmt.Sprintf("%d/Q%d", t.Year(), q(t)) })},
		"year, quarter": {gone(quarters), gone(quarters).series("Year,Quarter", func(t time.Time) string { return fmt.Sprintf("%d,%d", t.Year(), q(t)) })},
		"year, Q1":      {gone(quarters), gone(quarters).series("Year,Quarter", func(t time.Time) string { return fmt.Sprintf("%d,Q%d", t.Year(), q(t)) })},
		"year, Jan":     {gone(months), gone(months).series("Year,Month", func(t time.Time) string { return t.Format("2006,Jan") })},
		"year, January": {gone(months), gone(months).series("Year,Month", func(t time.Time) string { return t.Format("2006,January") })},
		"year, 01":      {gone(months), gone(months).series("Year,Month", func(t time.Time) string { return t.Format("2006,01") })},
		"2020-W02": {gone(weeks), gone(weeks).series("week", func(t time.Time) string {
			y, w := t.ISOWeek()
			return fmt.Sprintf("%d-W%02d", y, w)
		})},
		"2024-W03-1": {gone(one), gone(one).series("d", func(t time.Time) string {
			y, w := t.ISOWeek()
			return fmt.Sprintf("%d-W%02d-%d", y, w, (int(t.Weekday())+6)%7+1)
		})},
		"year, week": {gone(weeks), gone(weeks).series("Year,Week", func(t time.Time) string {
			y, w := t.ISOWeek()
			return fmt.Sprintf("%d,%d", y, w)
		})},
		"intervals": {gone(halves), gone(halves).series("MTU (CET)", func(t time.Time) string {
			return t.Format("02.01.2006 15:04") + " - " + t.Add(30*time.Minute).Format("02.01.2006 15:04")
		})},
		"twelve digits":              {gone(halves), gone(halves).series("TIMESTAMP_START", func(t time.Time) string { return t.Format("200601021504") })},
		"ten digits":                 {gone(hours), gone(hours).series("MESS_DATUM", func(t time.Time) string { return t.Format("2006010215") })},
		"eight digits":               {gone(one), gone(one).series("YYYYMMDD", func(t time.Time) string { return t.Format("20060102") })},
		"year and month as a number": {gone(months), gone(months).series("ym", func(t time.Time) string { return t.Format("200601") })},
		"names in brackets":          {gone(one), gone(one).series("[Date]", func(t time.Time) string { return t.Format(time.DateOnly) })},
		"days of a spreadsheet":      {gone(hours), gone(hours).series("Timestamp", func(t time.Time) string { return fmt.Sprintf("%.6f", float64(t.Unix())/86400+25569) })},
		"fiscal years":               {gone(fiscal), gone(fiscal).series("fyear", func(t time.Time) string { return t.Format("2006") })},
		"a sum behind":               {one, one.series("date", func(t time.Time) string { return t.Format(time.DateOnly) }) + "Total,1234.00\n"},
		"what separates in front":    {one, "sep=;\n" + strings.ReplaceAll(one.series("date", func(t time.Time) string { return t.Format(time.DateOnly) }), ",", ";")},
		"rows of objects, wrapped":   {one, wrappedOf(one)},
		"a logger": {one, "Plot: X\n#,\"Date Time, GMT\",v\n" + func() string {
			var b strings.Builder
			for r, t := range one.times {
				fmt.Fprintf(&b, "%d,%s,%s\n", r+1, t.Format("01/02/06 03:04:05 PM"), two(worth(0, 0, r)))
			}
			return b.String()
		}()},
		"kelvins": {one, strings.ReplaceAll(one.series("date", func(t time.Time) string { return t.Format(time.DateOnly) }), "\n", " K\n")},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "kelvins" {
				c.text = strings.Replace(c.text, "v K", "v", 1)
			}
			f, err := Read(strings.NewReader(c.text), Options{})
			require.NoError(t, err)
			c.w.check(t, name, f)
			back(t, c.text, f)
			if name == "kelvins" {
				assert.Equal(t, "K", f.Channels[0].Unit)
			}
		})
	}
}

func wrappedOf(w truth) string {
	var rows []string
	for r, t := range w.times {
		rows = append(rows, fmt.Sprintf(`{"date": %q, "v": %s}`, t.Format(time.DateOnly), two(worth(0, 0, r))))
	}
	return `{"meta": {"symbol": "AAA"}, "rows": [` + strings.Join(rows, ",\n  ") + `], "n": 40}`
}

// A line of a year has its months, a line of a day its times; what a line has besides is
// said to be left out.
func TestTimesInTwoDirections(t *testing.T) {
	for name, c := range map[string]struct {
		names []string
		lines int
		outer func(i int) string
		at    func(i, k int) time.Time
	}{
		"months": {append([]string{"Year"}, "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "J-D"), 12,
			func(i int) string { return fmt.Sprint(1990 + i) }, func(i, k int) time.Time { return time.Date(1990+i, time.Month(1+k), 1, 0, 0, 0, 0, time.UTC) }},
		"months by number": {append([]string{"Year"}, numbered("", 1, 12)...), 12,
			func(i int) string { return fmt.Sprint(1990 + i) }, func(i, k int) time.Time { return time.Date(1990+i, time.Month(1+k), 1, 0, 0, 0, 0, time.UTC) }},
		"hours": {append([]string{"Date"}, numbered("HE", 1, 24)...), 9,
			func(i int) string { return fmt.Sprintf("%d/01/2024", 15+i) }, func(i, k int) time.Time { return time.Date(2024, 1, 15+i, k, 0, 0, 0, time.UTC) }},
		"hours from 0": {append([]string{"Date"}, numbered("h", 0, 23)...), 9,
			func(i int) string { return fmt.Sprintf("%d/01/2024", 15+i) }, func(i, k int) time.Time { return time.Date(2024, 1, 15+i, k, 0, 0, 0, time.UTC) }},
		"clocks": {append([]string{"date"}, clocksOf(48)...), 9,
			func(i int) string { return fmt.Sprintf("202401%02d", 15+i) }, func(i, k int) time.Time { return time.Date(2024, 1, 15+i, 0, 30*k, 0, 0, time.UTC) }},
	} {
		for _, newest := range []bool{false, true} {
			var b strings.Builder
			b.WriteString(strings.Join(c.names, ",") + "\n")
			n := len(c.names) - 1
			if name == "months" {
				n--
			}
			for i := range c.lines {
				if newest {
					i = c.lines - 1 - i
				}
				row := []string{c.outer(i)}
				for k := range n {
					s := two(worth(0, 0, i*n+k))
					if (i*n+k)%17 == 3 {
						s = "***"
					}
					row = append(row, s)
				}
				if name == "months" {
					row = append(row, "5.55")
				}
				b.WriteString(strings.Join(row, ",") + "\n")
			}
			f, err := Read(strings.NewReader(b.String()), Options{})
			require.NoError(t, err, name)
			require.Len(t, f.Entities, 1, name)
			require.Len(t, f.Entities[0].Times, c.lines*n, name)
			assert.Equal(t, map[bool]string{false: "oldest first", true: "newest first"}[newest], f.Time.Order, name)
			for i := range c.lines {
				for k := range n {
					r := i*n + k
					require.Equal(t, float64(c.at(i, k).UnixMicro()), f.Entities[0].Times[r], "%s %d", name, r)
					if r%17 == 3 {
						require.True(t, math.IsNaN(f.Entities[0].Values[r]))
						continue
					}
					require.InDelta(t, worth(0, 0, r), f.Entities[0].Values[r], 1e-9)
				}
			}
			assert.Equal(t, strings.TrimSuffix(c.at(1, 1).Format("2006-01-02 15:04"), " 00:00"), f.Label(0, n+1))
			if name == "months" {
				assert.Equal(t, "J-D", f.LeftOut[0].Column)
			}
			back(t, b.String(), f)
		}
	}
	_, err := Read(strings.NewReader("Year,Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec\n1990"+strings.Repeat(",1.5", 12)+"\n1992"+strings.Repeat(",2.5", 12)+"\n"), Options{})
	assert.ErrorContains(t, err, "line 3: no line for the 12 months before it; add lines")
}

func numbered(prefix string, from, to int) (out []string) {
	for v := from; v <= to; v++ {
		out = append(out, fmt.Sprint(prefix, v))
	}
	return out
}

func clocksOf(n int) (out []string) {
	for k := range n {
		out = append(out, time.Date(2024, 1, 1, 0, k*24*60/n, 0, 0, time.UTC).Format("15:04"))
	}
	return out
}

// Dates as columns with numbers of a whole line among them.
func TestPlacesAmongDates(t *testing.T) {
	text := "Province/State,Country/Region,Lat,Long,1/22/20,1/23/20,1/24/20,1/25/20,1/26/20\n,Chad,15.4,18.7,0.25,1,2,,9\n,Togo,8.6,0.8,5,6,7,8,9\n"
	f, err := Read(strings.NewReader(text), Options{})
	require.NoError(t, err)
	require.Len(t, f.Entities, 2)
	assert.Equal(t, "Chad", f.Entities[0].Name)
	assert.Equal(t, "2020-01-23", f.Label(0, 1))
	assert.Equal(t, []float64{5, 6, 7, 8, 9}, f.Entities[1].Values)
	assert.Contains(t, f.LeftOut, Omission{"Lat", "numbers of a whole line, besides those of its times"})
	back(t, text, f)
}

// Files that say two things, or nothing, are refused with a line and a cure.
func TestFilesRefused(t *testing.T) {
	w := plain().with(func(w *truth) { w.channels = []string{"v"} })
	day := func(t time.Time) string { return t.Format(time.DateOnly) }
	for want, text := range map[string]string{
		`line 2, column Month: "January" is not a date in a known form`:                                                                         "Month,v\nJanuary,1\nFebruary,2\nMarch,3\nJanuary,4\nFebruary,5\nMarch,6\n",
		`line 2, column date: "01-15" is not a date in a known form`:                                                                            "date,2019,2020\n01-15,1.5,2.5\n01-17,1.6,2.6\n02-01,1.5,2.5\n",
		`line 3, column v: "<0.5" is not a number`:                                                                                              "date,v\n2024-01-15,0.7\n2024-01-16,<0.5\n2024-01-17,0.8\n2024-01-18,0.9\n",
		`line 2, column v: "<0.5" is not a number`:                                                                                              "date,v\n2024-01-15,<0.5\n2024-01-16,0.5\n2024-01-17,0.8\n2024-01-18,0.9\n",
		"line 2, column v: \"12.500\" is 12.500 with a decimal point and 12500 with thousands":                                                  "date;v\n15.01.2024;12.500\n16.01.2024;13.750\n17.01.2024;14.100\n",
		`line 1: "2024-01-15" is a name of a member and a date; want one JSON object per line`:                                                  `{"2024-01-15": {"v": 1}, "2024-01-16": {"v": 2}}`,
		`line 1: the member "v" has a value for the row "0", want the value itself, in an object for every row; write one JSON object per line`: `{"v": {"0": 1, "1": 2}, "w": {"0": 3, "1": 5}}`,
		"line 1: @relation x begins a file of Weka or sktime":                                                                                   "@relation x\n@attribute a numeric\n@data\n1,2\n2,3\n",
		"line 4, column time: 1700000120000 and 1700000000 of line 2 count from 1970 in different units":                                        "time,v\n1700000000,1\n1700000060,2\n1700000120000,3\n1700000180000,4\n",
		"line 42: the time of line 7 again: 2024-01-20; delete one of them":                                                                     w.series("date", day) + "2024-01-20,5.00\n",
		"line 4: the time of line 2 again of 1: 2024-01-15, and no column of words tells them apart; delete one":                                "id,date,store_nbr,v\n1,2024-01-15,1,5\n2,2024-01-15,2,6\n3,2024-01-15,1,5\n4,2024-01-16,2,5\n",
	} {
		_, err := Read(strings.NewReader(text), Options{})
		assert.ErrorContains(t, err, want, text)
	}
}

// The hour that clocks skip in spring is named as such; clocks that jitter have the step
// that they mean; a column of volts is no volume; series are distinguished by two numbers.
func TestWhatFilesSay(t *testing.T) {
	var b strings.Builder
	b.WriteString("time,Voltage\n")
	for i := range 48 {
		if i != 26 {
			fmt.Fprintf(&b, "%s,%s\n", time.Date(2024, 3, 30, i, 0, 0, 0, time.UTC).Format("2006-01-02 15:04"), two(worth(0, 0, i)))
		}
	}
	f, err := Read(strings.NewReader(b.String()), Options{})
	require.NoError(t, err)
	assert.Contains(t, f.Notes, "line 28: the hour before it is one that clocks skip in spring; give their place by Options.Location (-zone)")
	assert.Equal(t, "number", f.Channels[0].Kind)

	b.Reset()
	b.WriteString("time,v\n")
	for i := range 60 {
		if i != 30 && i != 31 {
			fmt.Fprintf(&b, "%s,%s\n", time.Date(2024, 1, 15, 0, 0, 10*i, i*i*7919%400*1e6, time.UTC).Format("2006-01-02T15:04:05.000Z"), two(worth(0, 0, i)))
		}
	}
	f, err = Read(strings.NewReader(b.String()), Options{})
	require.NoError(t, err)
	assert.Equal(t, "10 seconds", f.Time.Step)
	assert.Equal(t, 2, f.Time.Gaps)

	b.Reset()
	b.WriteString("id,date,store_nbr,item_nbr,v\n")
	for i := range 80 {
		fmt.Fprintf(&b, "%d,%s,%d,%d,%d\n", i, time.Date(2024, 1, 15+i/4, 0, 0, 0, 0, time.UTC).Format(time.DateOnly), 1+i/2%2, 1000+i%2, i*i%13)
	}
	f, err = Read(strings.NewReader(b.String()), Options{})
	require.NoError(t, err)
	require.Len(t, f.Entities, 4)
	assert.Equal(t, "1/1000", f.Entities[0].Name)
	assert.Len(t, f.Channels, 1)

	b.Reset()
	b.WriteString("time,temp,weather_code\n")
	for i := range 80 {
		fmt.Fprintf(&b, "%s,%s,%d\n", time.Date(2024, 1, 15, i, 0, 0, 0, time.UTC).Format("2006-01-02T15:04"), two(worth(0, 0, i)), i/3%4)
	}
	f, err = Read(strings.NewReader(b.String()), Options{})
	require.NoError(t, err)
	assert.Len(t, f.Entities, 1)
	assert.Len(t, f.Channels, 2)

	b.Reset()
	b.WriteString("date," + strings.Join(numbered("sensor", 1, 24), ",") + "\n")
	for i := range 40 {
		fmt.Fprintf(&b, "%s%s\n", time.Date(2024, 1, 15+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly), strings.Repeat(","+two(worth(0, 0, i)), 24))
	}
	f, err = Read(strings.NewReader(b.String()), Options{})
	require.NoError(t, err)
	assert.Len(t, f.Entities, 1)
	assert.Len(t, f.Channels, 24)

	b.Reset()
	b.WriteString("0,1,2\n")
	for i := range 40 {
		fmt.Fprintf(&b, "%s,%s,%s\n", two(worth(0, 0, i)), two(worth(0, 1, i)), two(worth(1, 0, i)))
	}
	f, err = Read(strings.NewReader(b.String()), Options{})
	require.NoError(t, err)
	assert.Len(t, f.Entities[0].Lines, 40)
	assert.Equal(t, 2, f.Entities[0].Lines[0])

	f, err = Read(strings.NewReader("t_s,x\n0.0,1.5\n0.1,1.6\n0.2,1.5\n0.5,1.7\n0.6,1.5\n"), Options{})
	require.NoError(t, err)
	assert.Equal(t, "t_s", f.Time.Column)
	assert.Equal(t, 2, f.Time.Gaps)
}
