package seriesdata

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// truth is what a file has to be read as. The value of entity e, channel c and row r is
// worth(e, c, r), unless it is missing.
type truth struct {
	entities []string
	channels []string
	times    []time.Time
	missing  map[[3]int]bool // entity, channel, row
	absent   []int           // rows that the file leaves out
	kinds    []string        // of the channels, where they matter
	units    []string
	order    string
}

// worth is a number with two decimals that goes up and down.
func worth(e, c, r int) float64 {
	return math.Round(100*(20+10*float64(e)+5*float64(c)+4*math.Sin(float64(r)/5+float64(c))+float64(r%7)/4)) / 100
}

// days are dates from 15 January 2024 on, among them some behind the twelfth.
func days(n int) (t []time.Time) {
	for i := range n {
		t = append(t, time.Date(2024, 1, 15+i, 0, 0, 0, 0, time.UTC))
	}
	return t
}

func hoursOf(n int) (t []time.Time) {
	for i := range n {
		t = append(t, time.Date(2024, 3, 20, i, 0, 0, 0, time.UTC))
	}
	return t
}

// sheet is cells and what stands between them.
type sheet struct {
	names []string
	rows  [][]string
}

func (s sheet) text(sep string) string {
	var b strings.Builder
	for _, r := range append([][]string{s.names}, s.rows...) {
		if r != nil {
			b.WriteString(strings.Join(r, sep) + "\n")
		}
	}
	return b.String()
}

// wide is the usual file: times in the first column, channels behind.
func (w truth) wide(layout string, write func(v float64) string) sheet {
	s := sheet{names: append([]string{"date"}, w.channels...)}
	for r, t := range w.times {
		if slices.Contains(w.absent, r) {
			continue
		}
		row := []string{t.Format(layout)}
		for c := range w.channels {
			if w.missing[[3]int{0, c, r}] {
				row = append(row, "")
			} else {
				row = append(row, write(worth(0, c, r)))
			}
		}
		s.rows = append(s.rows, row)
	}
	return s
}

func two(v float64) string   { return strconv.FormatFloat(v, 'f', 2, 64) }
func comma(v float64) string { return strings.Replace(two(v), ".", ",", 1) }

func utf16Of(s string, order binary.AppendByteOrder) string {
	b := order.AppendUint16(nil, 0xfeff)
	for _, u := range utf16.Encode([]rune(s)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

// plain is the truth of most files: two channels, forty days.
func plain() truth {
	return truth{entities: []string{""}, channels: []string{"a", "b"}, times: days(40), missing: map[[3]int]bool{}, order: "oldest first"}
}

func (w truth) with(change func(w *truth)) truth {
	change(&w)
	return w
}

func reversed(s sheet) sheet {
	s.rows = slices.Clone(s.rows)
	slices.Reverse(s.rows)
	return s
}

// fill replaces blank cells.
func (s sheet) fill(texts ...string) sheet {
	k := 0
	for _, r := range s.rows {
		for i := range r {
			if r[i] == "" {
				r[i] = texts[k%len(texts)]
				k++
			}
		}
	}
	return s
}

// of are the rows of several entities: by date, or one entity behind the other.
func (w truth) of(byDate bool, write func(v float64) string) sheet {
	s := sheet{names: append([]string{"date", "ticker"}, w.channels...)}
	add := func(e, r int) {
		row := []string{w.times[r].Format(time.DateOnly), w.entities[e]}
		for c := range w.channels {
			row = append(row, write(worth(e, c, r)))
		}
		s.rows = append(s.rows, row)
	}
	if byDate {
		for r := range w.times {
			for e := range w.entities {
				add(e, r)
			}
		}
		return s
	}
	for e := range w.entities {
		for r := range w.times {
			add(e, r)
		}
	}
	return s
}

// someMissing are holes of both channels.
func someMissing(w *truth) {
	for _, r := range []int{3, 7, 8, 9, 20, 31} {
		w.missing[[3]int{0, r % 2, r}] = true
	}
}

func several(w *truth) { w.entities = []string{"AAA", "BBB", "CCC"} }

// file is a text as somebody has it, and what it is or why it is refused.
type file struct {
	name, text string
	o          Options
	want       truth
	refused    []string // parts of the error
}

// files are files as people have them.
func files() []file {
	var all []file
	add := func(name, text string, want truth) { all = append(all, file{name: name, text: text, want: want}) }
	set := func(name, text string, o Options, want truth) {
		all = append(all, file{name: name, text: text, o: o, want: want})
	}
	refuse := func(name, text string, parts ...string) {
		all = append(all, file{name: name, text: text, refused: parts})
	}
	iso := time.DateOnly
	w := plain()
	holes := plain().with(someMissing)
	newest := plain().with(func(w *truth) { w.order = "newest first" })

	add("commas", w.wide(iso, two).text(","), w)
	add("semicolons and decimal commas", w.wide(iso, comma).text(";"), w)
	add("tabs", w.wide(iso, two).text("\t"), w)
	add("bars", w.wide(iso, two).text("|"), w)
	add("blanks", w.wide(iso, two).text("   "), w)
	add("a byte-order mark and CRLF", "\ufeff"+strings.ReplaceAll(w.wide(iso, two).text(","), "\n", "\r\n"), w)
	add("CR", strings.ReplaceAll(w.wide(iso, two).text(","), "\n", "\r"), w)
	add("UTF-16", utf16Of(w.wide(iso, two).text("\t"), binary.LittleEndian), w)
	add("UTF-16, the other way", utf16Of(w.wide(iso, comma).text(";"), binary.BigEndian), w)
	add("quoted decimal commas between commas", w.wide(iso, func(v float64) string { return `"` + comma(v) + `"` }).text(","), w)
	add("DD/MM/YYYY, newest first", reversed(w.wide("02/01/2006", two)).text(","), newest)
	add("MM/DD/YYYY", w.wide("01/02/2006", two).text(","), w)
	add("D.M.YY, decimal commas, newest first", reversed(w.wide("2.1.06", comma)).text(";"), newest)
	add("Jan 2, 2006, newest first", reversed(w.wide(`"Jan 2, 2006"`, two)).text(","), newest)
	add("2-Jan-06", w.wide("2-Jan-06", two).text(","), w)
	add("weekdays and clocks", w.wide("Mon 02 Jan 2006 15:04", two).text(","), w)
	add("zones", w.wide("2006-01-02T15:04:05+00:00", two).text(","), w)
	add("eight digits", w.wide("20060102", two).text(","), w)
	ambiguous := w.with(func(w *truth) { w.times = w.times[17:29] }) // 1 to 12 February
	refuse("days that may be months", ambiguous.wide("02/01/2006", two).text(","), "line 2, column date", "1 February 2024 as day/month/year", "2 January 2024 as month/day/year", "-dates dmy")
	set("the same, settled", ambiguous.wide("02/01/2006", two).text(","), Options{Dates: "dmy"}, w.with(func(w *truth) { w.times = ambiguous.times }))
	broken := w.wide("02/01/2006", two)
	broken.rows[30][0] = "13/25/2024"
	refuse("a date that is none", broken.text(","), "line 32, column date", `"13/25/2024" is not a date of the form day/month/year`, "correct it")
	add("texts for missing numbers", holes.wide(iso, two).fill("nan", "NaN", "?", "-", "NULL", "n/a", "#N/A", "").text(","), holes)
	add("-200 for missing numbers", holes.wide(iso, two).fill("-200").text(","), holes)
	add("-200, decimal commas, DD/MM/YYYY, newest first", reversed(holes.wide("02/01/2006", comma).fill("-200,0")).text(";"), holes.with(func(w *truth) { w.order = "newest first" }))
	add("-9999 and 1e20", holes.wide(iso, two).fill("-9999", "1e20").text("\t"), holes.with(func(w *truth) {}))
	gone := plain().with(func(w *truth) { w.times, w.absent = hoursOf(240), nil })
	for r := 100; r < 146; r++ {
		gone.absent = append(gone.absent, r)
	}
	add("46 hours left out", gone.wide("2006-01-02 15:04", two).text(","), gone)
	add("46 hours left out, newest first, DD/MM/YYYY", reversed(gone.wide("02/01/2006 15:04", comma)).text(";"), gone.with(func(w *truth) { w.order = "newest first" }))
	three := plain().with(several)
	add("tickers by date", three.of(true, two).text(","), three)
	add("tickers in blocks", three.of(false, two).text(","), three)
	add("tickers by date, newest first", reversed(three.of(true, comma)).text(";"), three.with(func(w *truth) { w.order = "newest first" }))

	yf := plain().with(several).with(func(w *truth) { w.channels = []string{"Close", "Open"}; w.kinds = []string{"price", "price"} })
	s := sheet{names: nil}
	s.rows = [][]string{{"Price", "Close", "Close", "Close", "Open", "Open", "Open"}, {"Ticker", "AAA", "BBB", "CCC", "AAA", "BBB", "CCC"}, {"Date", "", "", "", "", "", ""}}
	pref := sheet{names: []string{"Date", "AAA.Close", "AAA.Open", "BBB.Close", "BBB.Open", "CCC.Close", "CCC.Open"}}
	again := sheet{names: []string{"Date", "Close", "Open", "Close.1", "Open.1", "Close.2", "Open.2"}}
	for r, t := range yf.times {
		day := t.Format(iso)
		row, other := []string{day}, []string{day}
		for c := range 2 {
			for e := range 3 {
				row = append(row, two(worth(e, c, r)))
			}
		}
		for e := range 3 {
			other = append(other, two(worth(e, 0, r)), two(worth(e, 1, r)))
		}
		s.rows = append(s.rows, row)
		pref.rows = append(pref.rows, other)
		again.rows = append(again.rows, other)
	}
	add("two lines of names and one of the index, as yfinance writes", s.text(","), yf)
	add("names with a prefix", pref.text(","), yf)
	add("names that repeat", again.text(","), yf.with(func(w *truth) { w.entities = []string{"1", "2", "3"} }))

	klines := plain().with(func(w *truth) {
		w.times, w.channels = hoursOf(40), []string{"open", "high", "low", "close", "volume", "8", "9"}
		w.kinds = []string{"price", "price", "price", "price", "volume", "", ""}
	})
	var b, ucr strings.Builder
	for r, t := range klines.times {
		o, c := worth(0, 0, r), worth(0, 3, r)
		_ = c
		fmt.Fprintf(&b, "%d,%.8f,%.8f,%.8f,%.8f,%.8f,%d,%.8f,%.8f\n", t.UnixMilli(), o, worth(0, 1, r), worth(0, 2, r), worth(0, 3, r), worth(0, 4, r), t.Add(time.Hour).UnixMilli()-1, worth(0, 5, r), worth(0, 6, r))
	}
	all = append(all, file{name: "klines without names", text: ordered(b.String()), want: klines.with(func(w *truth) { w.channels = nil })})
	for e := range 30 {
		fmt.Fprint(&ucr, 1+e%3)
		for r := range 60 {
			fmt.Fprintf(&ucr, "\t%.5f", math.Sin(float64(r)/9+float64(e*e)))
		}
		fmt.Fprintln(&ucr)
	}
	all = append(all, file{name: "UCR", text: ucr.String(), want: truth{entities: make([]string, 30)}})
	units := sheet{names: []string{"date", "a", "b"}, rows: append([][]string{{"", "degC", "m/s"}}, w.wide(iso, two).rows...)}
	add("a line of units", units.text(","), w.with(func(w *truth) { w.units = []string{"degC", "m/s"} }))
	braced := w.wide(iso, two)
	braced.names = []string{"date", "a (°C)", "b [m/s]"}
	add("units in names", braced.text(","), w.with(func(w *truth) { w.units = []string{"°C", "m/s"} }))
	add("units in cells", w.wide(iso, func(v float64) string { return "$" + two(v) }).text(","), w.with(func(w *truth) { w.units = []string{"$", "$"} }))
	add("thousands", w.wide(iso, func(v float64) string { return `"1,` + fmt.Sprintf("%06.2f", v) + `"` }).text(","), w.with(func(w *truth) { w.units = []string{"+1000"} }))
	refuse("1,234 between semicolons", w.wide(iso, func(v float64) string { return "1," + fmt.Sprintf("%03.0f", v) }).text(";"), "line 2, column a", "decimal comma", "thousands", "-decimal ,")
	mixed := w.wide(iso, two)
	mixed.rows[4][1] = "1,5"
	refuse("both marks", mixed.text(";"), "line 6, column a", "write all alike")
	two2 := three.of(true, two)
	two2.rows = append(two2.rows, []string{two2.rows[5][0], two2.rows[5][1], "1.00", "2.00"})
	refuse("a time twice", two2.text(","), "line 122", "the time of line 7 again", "delete one")
	short := w.wide(iso, two)
	short.rows[6] = short.rows[6][:2]
	refuse("a line cut off", short.text(","), "line 8: wrong number of fields: 2", "complete the line")
	word := w.wide(iso, two)
	word.rows[6][1] = "holiday"
	refuse("a word among numbers", word.text(","), `line 8, column a: "holiday" is not a number`, "-missing.text")
	set("the same, settled as missing", word.text(","), Options{Missing: []string{"holiday"}}, plain().with(func(w *truth) { w.missing = map[[3]int]bool{{0, 0, 6}: true} }))
	shuffled := w.wide(iso, two)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled.rows), func(i, j int) { shuffled.rows[i], shuffled.rows[j] = shuffled.rows[j], shuffled.rows[i] })
	add("no order", shuffled.text(","), w.with(func(w *truth) { w.order = "sorted" }))
	add("lines in front, a comment and one behind", "Report of today\n\n# by hand\n"+w.wide(iso, two).text(",")+"Source: us\n", w)
	front := w.wide(iso, two)
	front.names = append([]string{""}, front.names...)
	for i := range front.rows {
		front.rows[i] = append([]string{strconv.Itoa(i)}, front.rows[i]...)
	}
	add("a nameless index", front.text(","), w)
	doubled := w.wide(iso, two)
	doubled.rows = slices.Insert(doubled.rows, 20, doubled.names)
	add("the header again", doubled.text(","), w)
	var jl, long strings.Builder
	long.WriteString("date,ticker,variable,value\n")
	for r, t := range w.times {
		fmt.Fprintf(&jl, "{\"date\": %q, \"a\": %s, \"b\": \"%s\"}\n", t.Format(time.RFC3339), jsonOf(holes, 0, r), jsonOf(holes, 1, r))
		for e, name := range three.entities {
			for c, v := range three.channels {
				fmt.Fprintf(&long, "%s,%s,%s,%s\n", t.Format(iso), name, v, two(worth(e, c, r)))
			}
		}
	}
	add("JSON lines", strings.ReplaceAll(jl.String(), `"null"`, "null"), holes)
	add("one array of JSON", "["+strings.ReplaceAll(strings.TrimSpace(strings.ReplaceAll(jl.String(), `"null"`, "null")), "\n", ",\n")+"]\n", holes)
	add("long", long.String(), three)
	// Times as columns.
	turned := sheet{names: []string{"country", "code"}}
	for r := range 12 {
		turned.names = append(turned.names, strconv.Itoa(2000+r))
	}
	for e, name := range three.entities {
		row := []string{name, "world"}
		for r := range 12 {
			row = append(row, two(worth(e, 0, r)))
		}
		turned.rows = append(turned.rows, row)
	}
	all = append(all, file{name: "years as columns", text: turned.text(","), want: truth{entities: three.entities, channels: []string{"value"}, times: make([]time.Time, 12), order: "oldest first"}})
	parts := sheet{names: []string{"No", "year", "month", "day", "hour", "a", "b"}}
	clocks := sheet{names: []string{"Date", "Time", "a", "b"}}
	hourly := plain().with(func(w *truth) { w.times = hoursOf(72) })
	for r, t := range hourly.times {
		parts.rows = append(parts.rows, []string{strconv.Itoa(r + 1), t.Format("2006"), t.Format("1"), t.Format("2"), strconv.Itoa(t.Hour()), two(worth(0, 0, r)), two(worth(0, 1, r))})
		clocks.rows = append(clocks.rows, []string{t.Format("02/01/2006"), t.Format("15.04.05"), comma(worth(0, 0, r)), comma(worth(0, 1, r)), "", ""})
	}
	add("columns of year, month, day and hour", parts.text(","), hourly)
	clocks.names = append(clocks.names, "", "")
	add("date and clock, columns and lines without anything", clocks.text(";")+";;;;;\n;;;;;\n", hourly)
	return all
}

func jsonOf(w truth, c, r int) string {
	if w.missing[[3]int{0, c, r}] {
		return "null"
	}
	return two(worth(0, c, r))
}

// ordered puts the prices of lines in order: the largest second, the smallest third.
func ordered(text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		c := strings.Split(l, ",")
		var v []float64
		for _, s := range c[1:5] {
			x, _ := strconv.ParseFloat(s, 64)
			v = append(v, x)
		}
		slices.Sort(v)
		for i, x := range []float64{v[1], v[3], v[0], v[2]} {
			c[1+i] = fmt.Sprintf("%.8f", x)
		}
		b.WriteString(strings.Join(c, ","))
	}
	return b.String()
}

// Every file is read as its truth, cell by cell, or refused with a line and a cure.
func TestFiles(t *testing.T) {
	all := files()
	assert.GreaterOrEqual(t, len(all), 40)
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			f, err := Read(strings.NewReader(c.text), c.o)
			if c.refused != nil {
				for _, part := range c.refused {
					assert.ErrorContains(t, err, part)
				}
				return
			}
			require.NoError(t, err)
			c.want.check(t, c.name, f)
			back(t, c.text, f)
		})
	}
}

func (w truth) check(t *testing.T, name string, f *Frame) {
	switch name {
	case "klines without names":
		require.Len(t, f.Channels, 7)
		for c, n := range []string{"open", "high", "low", "close", "volume", "8", "9"} {
			assert.Equal(t, n, f.Channels[c].Name)
		}
		assert.Equal(t, []Omission{{"7", "times, besides 1"}}, f.LeftOut)
		for r, at := range w.times {
			assert.Equal(t, float64(at.UnixMicro()), f.Entities[0].Times[r])
			assert.Equal(t, worth(0, 4, r), f.Entities[0].Values[7*r+4])
		}
		return
	case "UCR":
		require.Len(t, f.Entities, 30)
		for e := range f.Entities {
			require.Len(t, f.Entities[e].Values, 60)
			for r, v := range f.Entities[e].Values {
				require.InDelta(t, math.Sin(float64(r)/9+float64(e*e)), v, 1e-5)
			}
		}
		return
	}
	require.Len(t, f.Entities, len(w.entities))
	require.Len(t, f.Channels, len(w.channels))
	assert.Equal(t, w.order, f.Time.Order)
	assert.Equal(t, len(w.absent), f.Time.Gaps)
	shift := 0.0
	if len(w.units) > 0 && w.units[0] == "+1000" {
		shift, w.units = 1000, nil
	}
	for c, ch := range f.Channels {
		assert.Equal(t, w.channels[c], ch.Name)
		if w.kinds != nil {
			assert.Equal(t, w.kinds[c], ch.Kind)
		}
		if w.units != nil {
			assert.Equal(t, w.units[c], ch.Unit)
		}
		n := 0
		for at := range w.missing {
			if at[1] == c {
				n++
			}
		}
		assert.Equal(t, n, ch.Missing)
	}
	for i := range f.Entities {
		e := slices.Index(w.entities, f.Entities[i].Name)
		require.GreaterOrEqual(t, e, 0, f.Entities[i].Name)
		require.Len(t, f.Entities[i].Times, len(w.times))
		for r, at := range w.times {
			if !at.IsZero() {
				require.Equal(t, float64(at.UnixMicro()), f.Entities[i].Times[r], "row %d", r)
			}
			for c := range w.channels {
				got := f.Entities[i].Values[r*len(w.channels)+c]
				if w.missing[[3]int{e, c, r}] || slices.Contains(w.absent, r) {
					require.True(t, math.IsNaN(got), "row %d, channel %d: %v", r, c, got)
					continue
				}
				require.InDelta(t, shift+worth(e, c, r), got, 1e-9, "entity %d, row %d, channel %d", e, r, c)
			}
		}
	}
}

// back checks that a file without new numbers is written as it is, and that one with all
// missing numbers filled in is read as what was filled in, what was there to the letter.
func back(t *testing.T, text string, f *Frame) {
	values := make([][]float64, len(f.Entities))
	for e := range values {
		values[e] = slices.Repeat([]float64{math.NaN()}, len(f.Entities[e].Values))
	}
	var b strings.Builder
	require.NoError(t, f.Write(&b, values))
	if !strings.HasPrefix(text, "\xff\xfe") && !strings.HasPrefix(text, "\xfe\xff") {
		require.Equal(t, text, b.String())
	}
	for e := range values {
		for i := range values[e] {
			c := i % len(f.Channels)
			decimals := math.Pow(10, float64(min(2, f.Channels[c].style.decimals)))
			values[e][i] = math.Round(worth(e, c, i)*decimals) / decimals
		}
	}
	b.Reset()
	require.NoError(t, f.Write(&b, values))
	g, err := Read(strings.NewReader(b.String()), f.layout.table.o)
	require.NoError(t, err, b.String())
	assert.Zero(t, g.Time.Gaps, b.String())
	assert.Equal(t, f.Time.Order, g.Time.Order)
	require.Len(t, g.Entities, len(f.Entities))
	for e := range g.Entities {
		require.Equal(t, f.Entities[e].Times, g.Entities[e].Times)
		for i, v := range g.Entities[e].Values {
			want := f.Entities[e].Values[i]
			if math.IsNaN(want) {
				want = values[e][i]
			}
			require.InDelta(t, want, v, 1e-9, "%s entity %d value %d", b.String(), e, i)
		}
	}
}

func TestDescriptionOfScripts(t *testing.T) {
	w := plain().with(someMissing)
	w.absent = []int{12, 13}
	s := w.wide(time.DateOnly, two)
	s.names = append(s.names, "note")
	for i := range s.rows {
		s.rows[i] = append(s.rows[i], fmt.Sprint("x", i*i))
	}
	f, err := Read(strings.NewReader(s.text(",")), Options{})
	require.NoError(t, err)
	b, err := json.Marshal(f)
	require.NoError(t, err)
	var got struct {
		Time struct {
			Column, Order, Step string
			Gaps                int
		}
		Entities []string
		Channels []struct {
			Name, Unit, Kind string
			Missing          int
		}
		LeftOut []Omission `json:"left_out"`
	}
	require.NoError(t, json.Unmarshal(b, &got))
	assert.Equal(t, "date", got.Time.Column)
	assert.Equal(t, "oldest first", got.Time.Order)
	assert.Equal(t, "1 day", got.Time.Step)
	assert.Equal(t, 2, got.Time.Gaps)
	assert.Equal(t, []Omission{{"note", "words"}}, got.LeftOut)
	assert.Equal(t, 3, got.Channels[0].Missing+got.Channels[1].Missing-3)
	for _, part := range []string{"time     date", "2 times left out", "gap      2024-01-27", "channel  a", "left out  note"} {
		assert.Contains(t, strings.Join(strings.Fields(f.String()), " "), strings.Join(strings.Fields(part), " "))
	}
}
