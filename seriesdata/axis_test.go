package seriesdata

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// column writes rows of a time and a number under two names.
func columnOf(n int, names string, at func(i int) string, skip ...int) string {
	var b strings.Builder
	b.WriteString(names + "\n")
	for i := range n {
		if !containsInt(skip, i) {
			fmt.Fprintf(&b, "%s,%d.50\n", at(i), i)
		}
	}
	return b.String()
}

func containsInt(all []int, v int) bool {
	for _, x := range all {
		if x == v {
			return true
		}
	}
	return false
}

// Times of many kinds have their step, the gaps that were made, and are written back so
// that what was filled in is read where it belongs.
func TestSteps(t *testing.T) {
	start := time.Date(2024, 1, 15, 0, 0, 0, 0, time.UTC)
	by := func(layout string, d time.Duration) func(i int) string {
		return func(i int) string { return start.Add(time.Duration(i) * d).Format(layout) }
	}
	weekdays := func(i int) string { return start.AddDate(0, 0, i/5*7+i%5).Format(time.DateOnly) }
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones here")
	}
	autumn := func(i int) string {
		return time.Date(2024, 10, 26, 20, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Hour).In(berlin).Format("2006-01-02 15:04")
	}
	for name, c := range map[string]struct {
		text       string
		o          Options
		step       string
		gaps       int
		column     string
		entities   int
		dates, zon string
	}{
		"clocks with am and pm": {text: columnOf(60, "ts,v", by("01/02/2006 03:04:05 PM", time.Hour), 7), step: "1 hour", gaps: 1, column: "ts", dates: "month/day/year"},
		"small letters":         {text: columnOf(60, "ts,v", by("2 Jan 2006 3:04 pm", 12*time.Hour), 7), step: "12 hours", gaps: 1, column: "ts"},
		"days of a spreadsheet": {text: columnOf(30, "Date,v", func(i int) string { return fmt.Sprint(45300 + i) }, 4, 5), step: "1 day", gaps: 2, column: "Date", dates: "days of a spreadsheet"},
		"months as numbers":     {text: columnOf(24, "month,v", func(i int) string { return fmt.Sprint(202001 + i/12*100 + i%12) }, 5), step: "1 month", gaps: 1, column: "month", dates: "months as 202401"},
		"months by name":        {text: columnOf(24, "month,v", func(i int) string { return start.AddDate(0, i, -14).Format("Jan 2006") }, 5), step: "1 month", gaps: 1, column: "month"},
		"years and months":      {text: columnOf(24, "month,v", func(i int) string { return start.AddDate(0, i, -14).Format("2006-01") }, 5, 6), step: "1 month", gaps: 2, column: "month"},
		"months and years":      {text: columnOf(24, "month,v", func(i int) string { return start.AddDate(0, i, -14).Format("01/2006") }, 5), step: "1 month", gaps: 1, column: "month"},
		"quarters":              {text: columnOf(30, "period,v", func(i int) string { return fmt.Sprintf("%d-Q%d", 2000+i/4, 1+i%4) }, 9), step: "1 quarter", gaps: 1, column: "period"},
		"quarters, year last":   {text: columnOf(30, "period,v", func(i int) string { return fmt.Sprintf("Q%d %d", 1+i%4, 2000+i/4) }, 9), step: "1 quarter", gaps: 1, column: "period"},
		"years":                 {text: columnOf(30, "Year,v", func(i int) string { return fmt.Sprint(1950 + i) }, 9), step: "1 year", gaps: 1, column: "Year", dates: "years"},
		"24:00":                 {text: columnOf(96, "time,v", func(i int) string { return fmt.Sprintf("2024-01-%02d %02d:00", 15+i/24, 1+i%24) }, 30), step: "1 hour", gaps: 1, column: "time", dates: "year/month/day"},
		"ends of months": {text: columnOf(30, "date,v", func(i int) string {
			return time.Date(2020, time.Month(i+2), 0, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		}, 7), step: "1 month", gaps: 1, column: "date", dates: "year/month/day"},
		"weeks":                   {text: columnOf(30, "date,v", by(time.DateOnly, 7*24*time.Hour), 4, 5), step: "1 week", gaps: 2, column: "date", dates: "year/month/day"},
		"weeks of one year":       {text: columnOf(30, "week,v", func(i int) string { return fmt.Sprintf("2022-W%02d", 1+i) }), step: "1 week", column: "week"},
		"weekdays":                {text: columnOf(40, "date,v", weekdays, 9, 10), step: "1 weekday", gaps: 2, column: "date", dates: "year/month/day"},
		"seconds since 1970":      {text: columnOf(30, "timestamp,v", func(i int) string { return fmt.Sprint(1700000000 + 60*int64(i)) }, 3), step: "1 minute", gaps: 1, column: "timestamp", dates: "seconds since 1970"},
		"microseconds":            {text: columnOf(30, "timestamp,v", func(i int) string { return fmt.Sprint(1700000000000000 + 250*int64(i)) }, 3), step: "250 microseconds", gaps: 1, column: "timestamp", dates: "microseconds since 1970"},
		"fractions of seconds":    {text: columnOf(30, "t,v", by("2006-01-02T15:04:05.000", 10*time.Millisecond), 3), step: "10 milliseconds", gaps: 1, column: "t", dates: "year/month/day"},
		"numbers that count":      {text: columnOf(30, "step,v", func(i int) string { return fmt.Sprint(10 + 5*i) }, 3), step: "5", gaps: 1, column: "step"},
		"fractions that count":    {text: columnOf(30, "t,v", func(i int) string { return fmt.Sprintf("%.1f", 0.1*float64(i)) }, 3), step: "0.1", gaps: 1, column: "t"},
		"clocks of one day":       {text: columnOf(60, "time,v", by("15:04", 15*time.Minute), 7), step: "15 minutes", gaps: 1, column: "time", dates: "times of day"},
		"hours that markets open": {text: columnOf(200, "time,v", func(i int) string { return fmt.Sprintf("%s %02d:30", weekdays(i/8), 9+i%8) }, 60, 61), step: "1 hour, in sessions", gaps: 2, column: "time", dates: "year/month/day"},
		"summer time by offsets": {text: columnOf(40, "time,v", func(i int) string {
			return time.Date(2024, 3, 30, 20+i, 0, 0, 0, time.UTC).In(berlin).Format(time.RFC3339)
		}, 3), step: "1 hour", gaps: 1, column: "time", dates: "year/month/day", zon: "zones of the file, several"},
		"clocks that go back":  {text: columnOf(20, "time,v", autumn), o: Options{Location: berlin}, step: "1 hour", column: "time", dates: "year/month/day", zon: "Europe/Berlin"},
		"a zone by letters":    {text: columnOf(20, "time,v", by("2006-01-02 15:04:05 UTC", time.Hour), 4), step: "1 hour", gaps: 1, column: "time", dates: "year/month/day", zon: "UTC+00:00"},
		"date and clock apart": {text: columnOf(48, "Date,Time,v", by("2006-01-02,15:04", time.Hour), 5), step: "1 hour", gaps: 1, column: "Date+Time", dates: "year/month/day"},
		"clocks without marks": {text: columnOf(48, "<DATE>,<TIME>,v", by("20060102,150405", time.Hour), 5), step: "1 hour", gaps: 1, column: "<DATE>+<TIME>", dates: "year/month/day"},
		"columns by request":   {text: columnOf(48, "d,k,v", by("2006-01-02,15:04", time.Hour), 5), o: Options{Time: "d,k", Entity: "none"}, step: "1 hour", gaps: 1, column: "d+k", dates: "year/month/day"},
		"labels that count":    {text: columnOf(30, "day,v", func(i int) string { return fmt.Sprint("day ", i) }), step: "1", column: "day"},
		"no times":             {text: columnOf(30, "x,v", func(i int) string { return fmt.Sprint(i * i % 7) }), step: "1 row"},
		"times not wanted":     {text: columnOf(30, "date,v", by(time.DateOnly, 24*time.Hour), 3), o: Options{Time: "none"}, step: "1 row"},
		"no rule":              {text: columnOf(30, "time,v", func(i int) string { return fmt.Sprintf("2024-01-15 %02d:%02d:%02d", i/2, i*i*7%60/2+i%2*30, i) }), step: "irregular", column: "time", dates: "year/month/day"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := Read(strings.NewReader(c.text), c.o)
			require.NoError(t, err)
			assert.Equal(t, c.step, f.Time.Step)
			assert.Equal(t, c.gaps, f.Time.Gaps)
			assert.Equal(t, c.column, f.Time.Column)
			assert.Equal(t, c.dates, f.Time.Dates)
			assert.Equal(t, c.zon, f.Time.Zone)
			require.Len(t, f.Entities, 1)
			if c.step != "1 row" && !strings.HasPrefix(name, "labels") {
				back(t, c.text, f)
			}
		})
	}
}

// Files that are refused name a line and what to do.
func TestRefusals(t *testing.T) {
	day := func(i int) string { return time.Date(2024, 1, 15+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly) }
	lines := func(change func(i int) string) string {
		var b strings.Builder
		b.WriteString("date,v\n")
		for i := range 30 {
			if s := change(i); s != "" {
				b.WriteString(s + "\n")
				continue
			}
			fmt.Fprintf(&b, "%s,%d.5\n", day(i), i)
		}
		return b.String()
	}
	at := func(k int, s string) string {
		return lines(func(i int) string {
			if i == k {
				return s
			}
			return ""
		})
	}
	clocks := func(layout string) string {
		return lines(func(i int) string { return fmt.Sprintf("%s,%d", fmt.Sprintf(layout, i), i) })
	}
	for want, c := range map[string]struct {
		text string
		o    Options
	}{
		"no rows of numbers": {text: ""},
		"line 1: the byte-order mark of UTF-32; save the file": {text: "\xff\xfe\x00\x00a"},
		"odd number of bytes":                                                        {text: "\xff\xfea"},
		"line 2: a zero byte":                                                        {text: "a\n\x00"},
		"line 3: bytes that are not UTF-8; save":                                     {text: "a,b\n1,2\n\xfc,3\n"},
		"line 2: a quotation mark that is not closed; close it":                      {text: "date,v\n2024-01-15,\"5\n"},
		"line 2: text behind a quotation mark":                                       {text: "date,v\n2024-01-15,\"5\"x\n"},
		"line 12, column v: inf, want a finite number":                               {text: at(10, day(10)+",inf")},
		"line 12, column v: 1e999 is too large":                                      {text: at(10, day(10)+",1e999")},
		"line 12, column date: \"Total\" is not a date like 29 others":               {text: at(10, "Total,5")},
		"line 12, column date: no date; write it":                                    {text: at(10, ",5")},
		"line 12: the time of line 5 again: 2024-01-18":                              {text: at(10, day(3)+",7")},
		"line 12, column v: \"5 kg\" has the unit \"kg\", line 2 has \"\"":           {text: at(10, day(10)+",5 kg")},
		"line 12, column $v: \"€5\" is in a different currency from \"$\" of line 2": {text: strings.ReplaceAll(strings.ReplaceAll(at(10, day(10)+",€5"), ",", ",$"), "$€", "€")},
		"line 12, column v: -200 may be a number or stand for a missing one; say which": {text: lines(func(i int) string {
			return fmt.Sprintf("%s,%d", day(i), []int{(i * i * 97) % 400, -200}[oneIf(i == 10)])
		})},
		"line 12: times with and without a zone": {text: lines(func(i int) string {
			return fmt.Sprintf("2024-01-15T%02d:00:00%s,1", i%24, []string{"Z", ""}[oneIf(i == 10)])
		})},
		"\"2024-13-45\" is not a date of the form year/month/day":                    {text: at(10, "2024-13-45,5")},
		"\"one\" is not a date in a known form; write dates as 2024-01-31":           {text: "date,v\none,1\ntwo,2\n"},
		"line 1: no column \"w\"; there are date, v":                                 {text: lines(func(int) string { return "" }), o: Options{Columns: []string{"w"}}},
		"the column \"v\" is asked for twice":                                        {text: lines(func(int) string { return "" }), o: Options{Columns: []string{"v", "v"}}},
		"line 1: the column \"close\" may be \"a.close\" or \"b.close\"":             {text: "a.close,b.close,c\n1,2,3\n2,3,4\n", o: Options{Columns: []string{"close"}}},
		"Dates = \"xyz\", want dmy":                                                  {o: Options{Dates: "xyz"}},
		"Decimal = 'x', want":                                                        {o: Options{Decimal: 'x'}},
		"Comma = '\"', want":                                                         {o: Options{Comma: '"'}},
		"line 2: invalid character '}'":                                              {text: "{\"a\":1}\n{\"a\":}\n"},
		"line 2: the member \"a\" twice":                                             {text: "{\"a\":1}\n{\"a\":1,\"a\":2}\n"},
		"the member \"a\" is an array":                                               {text: "{\"a\":[1]}\n"},
		"an array of arrays of arrays":                                               {text: "[[[1]]]"},
		"5 where an object such as":                                                  {text: "[5]"},
		"line 1: wrong number of fields: 2 names for the 3 cells of line 2; quote":   {text: "date,v\n2024-01-15,1,5\n2024-01-16,2,5\n"},
		"line 1: the column \"v\" may be \"v\" or \"v\"":                             {text: "date,v,v,w\n2024-01-15,1,2,3\n2024-01-16,2,3,4\n", o: Options{Columns: []string{"v"}}},
		"line 3: 3 lines of names; keep two":                                         {text: "date,one,two\nxx,three,four\nyy,five,six\n" + "2024-01-15,1,2\n2024-01-16,1,3\n2024-01-17,2,3\n2024-01-18,2,3\n"},
		"line 2: a second line of names":                                             {text: "date,one,two\nxx,three,four\n2024-01-15,1,2\n2024-01-16,1,3\n2024-01-17,2,3\n"},
		"\"1.5\" of line 2 a decimal point; write all alike":                         {text: strings.ReplaceAll("date,v\n2024-01-15,1.5\n2024-01-16,X\n2024-01-17,2.5\n", "X", "\"2,5\"")},
		"commas and points, and no number says":                                      {text: "date;v\n2024-01-15;1,234\n2024-01-16;1.234\n2024-01-17;1.334\n"},
		"want a column, or those of date and time of day":                            {text: lines(func(int) string { return "" }), o: Options{Time: "date,v,date"}},
		"line 2, column v: \"0.5\" is not a time of day; write it as 15:04":          {text: lines(func(int) string { return "" }), o: Options{Time: "date,v"}},
		"are both temp of A":                                                         {text: "date,A,A,B\n,temp,temp,temp\n2024-01-15,1,2,3\n2024-01-16,2,3,4\n2024-01-17,2,3,4\n"},
		"no column wind of B, which others have":                                     {text: "date,A,A,B\n,temp,wind,temp\n2024-01-15,1,2,3\n2024-01-16,2,3,4\n2024-01-17,2,3,4\n"},
		"line 2: 2024, 1, 40 is not a date; correct the columns year+month+day":      {text: "year,month,day,v\n2024,1,40,1\n2024,1,2,2\n"},
		"line 2, column month: \"1.5\" is not a whole number of a date":              {text: "year,month,day,v\n2024,1.5,4,1\n2024,1,2,2\n"},
		"lines are series, for the columns are times, but two of them have the same": {text: "c,2000,2001,2002\nx,1,2,3\nx,2,3,4\n"},
		"column v: \"x\" is not a number, and no other column has numbers":           {text: clocks("2024-01-15 00:00:%02d")[:7] + "2024-01-15,x\n2024-01-16,y\n"},
		"line 5: the time of line 2 again of A: 2024-01-15, and no column of words":  {text: "date,ticker,v\n2024-01-15,A,1\n2024-01-15,B,1\n2024-01-16,A,3\n2024-01-15,A,4\n"},
		"series are distinguished by names of columns (A) and by rows (x)":           {text: "date,id,A.open,A.close,B.open,B.close\n2024-01-15,x,1,2,3,4\n2024-01-15,y,1,2,3,4\n2024-01-16,x,1,2,3,5\n2024-01-16,y,1,3,3,4\n"},
	} {
		_, err := Read(strings.NewReader(c.text), c.o)
		if assert.Error(t, err, want) {
			assert.ErrorContains(t, err, want)
			assert.NotContains(t, err.Error(), "\n")
		}
	}
	broken := errors.New("broken")
	_, err := Read(failing{broken}, Options{})
	assert.ErrorIs(t, err, broken)
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Holidays of two calendars, from the sites of the exchanges.
func TestHolidays(t *testing.T) {
	for name, days := range map[string][]string{
		"american": {"2024-01-01", "2024-01-15", "2024-02-19", "2024-03-29", "2024-05-27", "2024-06-19", "2024-07-04", "2024-09-02", "2024-11-28", "2024-12-25", "2021-07-05", "2015-07-03", "2017-01-02"},
		"european": {"2024-01-01", "2024-03-29", "2024-04-01", "2024-05-01", "2024-12-25", "2024-12-26"},
	} {
		is := map[string]func(time.Time) bool{"american": american, "european": european}[name]
		n := 0
		for _, s := range days {
			d, err := time.Parse(time.DateOnly, s)
			require.NoError(t, err)
			assert.True(t, is(d), s)
		}
		for d := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC); d.Year() == 2024; d = d.AddDate(0, 0, 1) {
			if is(d) {
				n++
			}
		}
		assert.Equal(t, map[string]int{"american": 10, "european": 6}[name], n)
	}
}

// Numbers are written as their column writes them.
func TestSpelling(t *testing.T) {
	for _, c := range []struct {
		cells, want string
		v           float64
	}{
		{"1.25 2.50 3.75", "4.50", 4.5},
		{"(1.25) 2.50 3.75", "(4.50)", -4.5},
		{"$1,250.00 $2.50 $3,000.75", "$12,345.60", 12345.6},
		{"1.5% 2.5% 3.5%", "-4.0%", -4},
		{"1.5M 20K 3.5B", "2.35M", 2350000},
		{"1.5e-7 2.5e3 1e22", "4.500000e-08", 4.5e-8},
		{"1'200.5 1'300.5 900.5", "2'345.6", 2345.6},
		{"1 2 3", "4", 4.2},
		{"12- 5 7", "-4", -4},
	} {
		var b strings.Builder
		b.WriteString("x;v\n")
		for i, s := range strings.Fields(c.cells) {
			fmt.Fprintf(&b, "%d;%s\n", i*i, s)
		}
		f, err := Read(strings.NewReader(b.String()), Options{Columns: []string{"v"}})
		require.NoError(t, err, c.cells)
		assert.Equal(t, c.want, f.Spell(0, c.v))
	}
}

// Values of the wrong shape are refused.
// Absent months are written in the language and form of the other months of their column.
func TestNamesOfMonths(t *testing.T) {
	for want, words := range map[string]string{ // the month that is absent; the others
		"juin":      "mars avril mai - juillet août",
		"juil":      "mars avr mai juin - août",
		"aprile":    "gennaio febbraio marzo - maggio giugno",
		"settembre": "luglio agosto - ottobre novembre",
		"outubro":   "agosto setembro - novembro dezembro",
		"Oktober":   "Juli August September - November Dezember",
		"Apr":       "Feb Mrz - Mai Jun Jul",
		"MAI":       "MÄR APR - JUN JUL",
		"SEP":       "JUL AUG - OCT NOV",
		"June":      "April May - July August",
		"Jun":       "Apr May - Jul Aug",
		"abril":     "febrero marzo - mayo junio",
		"juni":      "maart april mei - juli augustus",
	} {
		for _, form := range []string{"%[2]d-%[1]s,%[3]d\n", "%[1]s %[2]d,%[3]d\n", "1 %[1]s %[2]d 06:00 CET,%[3]d\n", "%[2]d,%[1]s,%[3]d\n"} {
			names := map[bool]string{true: "Year,Month,v\n", false: "date,v\n"}[strings.HasPrefix(form, "%[2]d,")]
			var b, full strings.Builder
			b.WriteString(names)
			full.WriteString(names)
			gap := 0
			for i, w := range strings.Fields(words) {
				if w == "-" {
					gap, w = i, want
				} else {
					fmt.Fprintf(&b, form, w, 2023, i)
				}
				fmt.Fprintf(&full, form, w, 2023, i)
			}
			f, err := Read(strings.NewReader(b.String()), Options{})
			require.NoError(t, err, b.String())
			values := [][]float64{slices.Repeat([]float64{float64(gap)}, len(f.Entities[0].Values))}
			var out strings.Builder
			require.NoError(t, f.Write(&out, values))
			assert.Equal(t, full.String(), out.String())
		}
	}
}

func TestWriteErrors(t *testing.T) {
	f, err := Read(strings.NewReader("date,v\n2024-01-15,1\n2024-01-16,\n2024-01-17,3\n"), Options{})
	require.NoError(t, err)
	var b strings.Builder
	assert.ErrorContains(t, f.Write(&b, nil), "0 series of values, want 1")
	assert.ErrorContains(t, f.Write(&b, [][]float64{{1}}), "1 values of entity 0, want 3")
	inf := 1e308
	assert.ErrorContains(t, f.Write(&b, [][]float64{{1, inf * 10, 3}}), "value 1 of entity 0 is +Inf")
}

// Files with bytes changed, lines lost and pieces cut off are refused or read, and what is
// read is written back as it was.
func TestDamagedFiles(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	var texts []string
	for _, c := range files() {
		for range rounds {
			texts = append(texts, c.text)
		}
	}
	for _, c := range samples(t) {
		for range rounds / 10 {
			texts = append(texts, c.text)
		}
	}
	for _, text := range texts {
		b := []byte(text)
		if len(b) > 1500 {
			b = b[:1500]
		}
		for range 1 + r.IntN(4) {
			at := r.IntN(len(b))
			switch r.IntN(4) {
			case 0:
				b[at] = "\",;\t\n -.0x{}[]"[r.IntN(14)]
			case 1:
				b = append(b[:at], b[at+1:]...)
			case 2:
				b = b[:at+1]
			case 3:
				b = append(b[:at:at], append([]byte{b[r.IntN(len(b))]}, b[at:]...)...)
			}
			if len(b) == 0 {
				b = []byte("a")
			}
		}
		reread(t, string(b))
	}
}

// FuzzRead: no text makes it panic, and what it reads it writes back as it was.
func FuzzRead(f *testing.F) {
	for _, c := range files() {
		f.Add(c.text)
	}
	f.Add("{\"a\":1}\n[2]")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) <= 4000 {
			reread(t, text)
		}
	})
}

func reread(t *testing.T, text string) {
	frame, err := Read(strings.NewReader(text), Options{})
	if err != nil {
		return
	}
	var values [][]float64
	for _, e := range frame.Entities {
		if len(e.Values) != len(e.Times)*len(frame.Channels) || len(e.Lines) != len(e.Times) {
			t.Fatal("shape")
		}
		values = append(values, e.Values)
	}
	var b strings.Builder
	if err := frame.Write(&b, values); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(text, "\xff\xfe") && !strings.HasPrefix(text, "\xfe\xff") && b.String() != text {
		t.Fatalf("%q became %q", text, b.String())
	}
	_ = frame.String()
}

// Names of columns that are days of one month are dates.
func TestDaysOfOneMonthAcross(t *testing.T) {
	f, err := Read(strings.NewReader("station,2023-01-01,2023-01-02,2023-01-03\nA,1,2,3\nB,4,5,6\n"), Options{})
	require.NoError(t, err)
	assert.Equal(t, "1 day", f.Time.Step)
	require.Len(t, f.Entities, 2)
	assert.Equal(t, float64(time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()), f.Entities[0].Times[0])
}
