package seriesdata

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What names series: words, numbers with the name of series, by two columns, by times
// that begin again, and without times by blocks and by turns; a label is no series.
func TestEntities(t *testing.T) {
	day := func(i int) string { return time.Date(2024, 1, 15+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly) }
	write := func(names string, n int, row func(i int) []string) string {
		var b strings.Builder
		b.WriteString(names + "\n")
		for i := range n {
			for _, s := range row(i) {
				b.WriteString(s + "\n")
			}
		}
		return b.String()
	}
	two := func(f string) func(i int) []string {
		return func(i int) []string {
			return []string{fmt.Sprintf(f, day(i), "7", i), fmt.Sprintf(f, day(i), "9", i+1)}
		}
	}
	pairs := func(i int) (all []string) {
		for _, s := range []string{"1,X", "1,Y", "2,X", "2,Y"} {
			all = append(all, fmt.Sprintf("%s,%s,%d", day(i), s, i))
		}
		return all
	}
	blocksOf := func(f string) string {
		var b strings.Builder
		for _, name := range []string{"north", "south"} {
			for i := range 6 {
				fmt.Fprintf(&b, f+"\n", name, day(i), i*i)
			}
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		text string
		o    Options
		want []string
		left []string
	}{
		"numbers":             {text: write("date,sensor_id,v", 9, two("%s,%s,%d")), want: []string{"7", "9"}},
		"two columns":         {text: write("date,store_nbr,family,v", 9, pairs), want: []string{"1/X", "1/Y", "2/X", "2/Y"}},
		"named by the user":   {text: write("date,which,v", 9, two("%s,%s,%d")), o: Options{Entity: "which"}, want: []string{"7", "9"}},
		"times begin again":   {text: "date,v\n" + strings.ReplaceAll(blocksOf("%[2]s,%[3]d"), "%!(EXTRA", ""), want: []string{"1", "2"}},
		"blocks without time": {text: "which,v\n" + blocksOf("%[1]s,%[3]d"), want: []string{"north", "south"}},
		"turns without time":  {text: write("which,v", 6, func(i int) []string { return []string{fmt.Sprint("a,", i*i), fmt.Sprint("b,", i)} }), want: []string{"a", "b"}},
		"one symbol":          {text: write("date,symbol,v", 6, func(i int) []string { return []string{fmt.Sprintf("%s,ABC,%d", day(i), i)} }), want: []string{"ABC"}},
		"a label": {text: write("date,season,v", 20, func(i int) []string {
			return []string{fmt.Sprintf("%s,%s,%d", day(i), []string{"winter", "spring"}[i/10], i)}
		}), want: []string{""}, left: []string{"season: words"}},
		"blocks that restart": {text: "date,where,v\n" + strings.ReplaceAll(blocksOf("%[2]s,%[1]s,%[3]d"), "x", ""), want: []string{"north", "south"}},
		"a station after the other, no time in common": {text: "date,station,v\n" + write(day(0)+",north,1", 12, func(i int) []string {
			return []string{fmt.Sprintf("%s,%s,%d", day(i+1), []string{"north", "south"}[i/6], i)}
		}), want: []string{"north", "south"}},
		"two columns of times": {text: write("close_date,date,v", 6, func(i int) []string { return []string{fmt.Sprintf("%s,%s,%d", day(i+1), day(i), i)} }), want: []string{""}, left: []string{"close_date: times, besides date"}},
		"R":                    {text: "\"a\" \"b\"\n" + strings.ReplaceAll(write("", 20, func(i int) []string { return []string{fmt.Sprintf("\"%d\" %d %d.5", i+1, i*i, i)} }), "\n\n", "\n")[1:], want: []string{""}},
		"numbers as names":     {text: write(",0,1,2", 20, func(i int) []string { return []string{fmt.Sprintf("%d,%d,%d,%d", i, i*i, i*i+5, i*7%5)} }), want: []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := Read(strings.NewReader(c.text), c.o)
			require.NoError(t, err, c.text)
			var got, left []string
			for _, e := range f.Entities {
				got = append(got, e.Name)
			}
			for _, l := range f.LeftOut {
				left = append(left, l.Column+": "+l.Why)
			}
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.left, left)
			_, err = json.Marshal(f)
			require.NoError(t, err)
			assert.NotEmpty(t, f.Label(0, 0)+"x")
			assert.Contains(t, f.String(), "rows")
		})
	}
}

// A line that ends before the column of entities has the name above it, too.
func TestNamesAboveShortLines(t *testing.T) {
	tab := &table{document: &document{}, named: true, columns: []column{{name: "v"}, {name: "station"}}}
	for _, s := range []string{"1,north", "2", "3,south", "4", "5"} {
		var l line
		for text := range strings.SplitSeq(s, ",") {
			l.cells = append(l.cells, cell{text: text})
		}
		tab.rows = append(tab.rows, l)
	}
	tab.classify()
	tab.carry()
	assert.Equal(t, []string{"north", "north", "south", "south", "south"}, cellsOf(tab.rows, 1))
}

// What stands in for missing numbers lies apart; what may be a number is one.
func TestStandIns(t *testing.T) {
	for _, c := range []struct {
		cells string
		want  int // missing
		err   string
	}{
		{"5 6 -999 7 6 5 -999 6", 2, ""},
		{"5 6 9999 7 6 5 9999 6", 2, ""},
		{"-150 -200 -250 -300 -100", 0, ""},
		{"900 950 999 1020 980", 0, ""},
		{"5 300 -200 120 390 5 310", 0, "may be a number or stand for a missing one"},
		{"5 5 5 -99 5", 1, ""},
		{"1 2 3 4 5", 0, ""},
	} {
		text := "v\n" + strings.ReplaceAll(c.cells, " ", "\n") + "\n"
		f, err := Read(strings.NewReader(text), Options{})
		if c.err != "" {
			assert.ErrorContains(t, err, c.err)
			for _, o := range []Options{{Keep: []float64{-200}}, {Missing: []string{"-200"}}} {
				f, err = Read(strings.NewReader(text), o)
				require.NoError(t, err)
				assert.Equal(t, len(o.Missing), f.Channels[0].Missing)
			}
			continue
		}
		require.NoError(t, err, c.cells)
		assert.Equal(t, c.want, f.Channels[0].Missing, c.cells)
	}
}
