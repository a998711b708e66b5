package seriesdata

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pick returns one of all.
func pick[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

// grouped writes v with two decimals, a decimal mark and a mark between thousands.
func grouped(v float64, decimal, group string) string {
	whole, fraction, _ := strings.Cut(two(math.Abs(v)), ".")
	if len(whole) > 3 {
		whole = whole[:len(whole)-3] + group + whole[len(whole)-3:]
	}
	if v < 0 {
		whole = "-" + whole
	}
	return whole + decimal + fraction
}

// Every combination of what files differ in is read as its truth: 120 at random.
func TestRandomFiles(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 49))
	rounds := 120
	if testing.Short() {
		rounds = 40
	}
	for range rounds {
		text, want, settings := randomFile(r)
		f, err := Read(strings.NewReader(text), Options{})
		require.NoError(t, err, "%s\n%s", settings, text)
		got := map[string]float64{}
		for _, e := range f.Entities {
			for i, v := range e.Values {
				at := time.UnixMicro(int64(e.Times[i/len(f.Channels)])).UTC()
				got[fmt.Sprint(e.Name, "|", at.Format("2006-01-02 15:04"), "|", f.Channels[i%len(f.Channels)].Name)] = v
			}
		}
		for key, v := range want {
			w, ok := got[key]
			require.True(t, ok, "%s: %s\n%s\n%s", key, settings, f, text)
			require.Equal(t, math.IsNaN(v), math.IsNaN(w), "%s: %v, want %v: %s\n%s\n%s", key, w, v, settings, f, text)
			require.True(t, v != v || math.Abs(v-w) < 1e-9, "%s: %v, want %v: %s\n%s\n%s", key, w, v, settings, f, text)
		}
		require.Len(t, got, len(want), "%s\n%s\n%s", settings, f, text)
		back(t, text, f)
	}
}

// randomFile returns a file, its numbers by entity, time and channel, and the choices that made it.
func randomFile(r *rand.Rand) (text string, want map[string]float64, settings string) {
	sep := pick(r, ",", ";", "\t", "|")
	decimal := pick(r, ".", ".", ",")
	group := ""
	if r.IntN(3) == 0 {
		group = map[string]string{".": pick(r, ",", "'", " ", "\u00a0"), ",": pick(r, ".", "'", " ", "\u202f")}[decimal]
	}
	scale := pick(r, 1.0, 1, 40)
	around := pick(r, "%s", "%s", "%s", "$%s", "%s €", "%s%%", "€ %s", "%s kWh")
	layout := pick(r, "2006-01-02", "02.01.2006", "01/02/2006", "02/01/2006", "2/1/06", "20060102", "Jan 2 2006", "02-Jan-2006", "2006/01/02", "Monday, 2 January 2006", "02012006T")
	step := 24 * time.Hour
	if r.IntN(3) == 0 {
		step = pick(r, time.Hour, 15*time.Minute, 6*time.Hour)
		layout = pick(r, "2006-01-02 15:04", "2006-01-02T15:04:05Z", "02.01.2006 15:04", "01/02/2006 03:04 PM", "2006-01-02 15:04:05+01:00", "2 Jan 2006 15:04:05", "20060102 150405", "200601021504")
	}
	if layout == "02012006T" {
		layout = "2006-01-02"
	}
	number := r.IntN(8) == 0 // seconds since 1970
	n := 30
	start := time.Date(2024, 1, 14, 0, 0, 0, 0, time.UTC)
	missing := pick(r, "", "NA", "nan", "-", "NULL", "#N/A", "n/a", "?")
	entities := []string{""}
	names := pick(r, []string{"AAA", "BBB", "CCC"}, []string{"101", "102", "210"}, []string{"north east", "south", "west"})
	var column string
	if r.IntN(2) == 0 {
		entities = names
		column = pick(r, "ticker", "sensor_id", "station", "Symbol")
	}
	channels := pick(r, []string{"a"}, []string{"temp", "rain"}, []string{"Open", "Close", "Volume"})
	units := pick(r, "", "", "name", "line")
	quoted := r.IntN(4) == 0 || decimal == "," && sep == "," || group == "," && sep == ","
	trailing := r.IntN(6) == 0
	index := r.IntN(6) == 0
	note := r.IntN(4) == 0
	ending := pick(r, "\n", "\n", "\r\n", "\r")
	order := pick(r, "old", "old", "new", "mixed", "blocks")
	settings = fmt.Sprintf("sep %q decimal %q group %q around %q layout %q step %v number %v missing %q entities %v column %q channels %v units %q quoted %v trailing %v index %v note %v ending %q order %q",
		sep, decimal, group, around, layout, step, number, missing, entities, column, channels, units, quoted, trailing, index, note, ending, order)

	cell := func(s string) string {
		if quoted || strings.Contains(s, sep) || strings.Contains(s, "\"") || strings.ContainsAny(s, "\r\n") {
			return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
		}
		return s
	}
	want = map[string]float64{}
	zone := time.UTC
	if strings.Contains(layout, "+01:00") {
		zone = time.FixedZone("", 3600)
		layout = strings.Replace(layout, "+01:00", "-07:00", 1)
	}
	type row struct {
		at    time.Time
		e     int
		cells []string
	}
	var rows []row
	for i := range n {
		at := start.Add(time.Duration(i) * step)
		for e, entity := range entities {
			absent := i > 2 && i < n-3 && r.IntN(20) == 0
			if absent {
				for _, c := range channels {
					want[fmt.Sprint(entity, "|", at.Format("2006-01-02 15:04"), "|", c)] = math.NaN()
				}
				continue
			}
			when := at.In(zone).Format(layout)
			if number {
				when = fmt.Sprint(at.Unix())
			}
			out := []string{cell(when)}
			if column != "" {
				out = append(out, cell(entity))
			}
			for c, name := range channels {
				v := math.Round(100*scale*worth(e, c, i)) / 100
				key := fmt.Sprint(entity, "|", at.Format("2006-01-02 15:04"), "|", name)
				if i > 2 && r.IntN(15) == 0 {
					want[key] = math.NaN()
					out = append(out, cell(missing))
					continue
				}
				want[key] = v
				out = append(out, cell(fmt.Sprintf(around, grouped(v, decimal, group))))
			}
			if note {
				out = append(out, cell(pick(r, "ok", "by hand, see list", "a \"good\" one", "two"+ending+"lines")))
			}
			rows = append(rows, row{at, e, out})
		}
	}
	switch order {
	case "new":
		slices.Reverse(rows)
	case "mixed":
		r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	case "blocks":
		slices.SortStableFunc(rows, func(a, b row) int { return a.e - b.e })
	}
	when := "date"
	if number {
		when = "timestamp"
	}
	head, below := []string{cell(when)}, []string{""}
	if column != "" {
		head, below = append(head, cell(column)), append(below, "")
	}
	for _, c := range channels {
		if units == "name" {
			c += " [m/s]"
		}
		head, below = append(head, cell(c)), append(below, "m/s")
	}
	if note {
		head, below = append(head, cell("note")), append(below, "")
	}
	var b strings.Builder
	line := func(k int, cells []string, first string) {
		if index {
			cells = append([]string{first}, cells...)
		}
		if trailing {
			cells = append(slices.Clone(cells), "")
		}
		b.WriteString(strings.Join(cells, sep) + ending)
	}
	line(0, head, "")
	if units == "line" && len(head) > 1 {
		line(0, below, "")
	}
	for k, w := range rows {
		line(k, w.cells, fmt.Sprint(k))
	}
	text = b.String()
	switch r.IntN(8) {
	case 0:
		text = "\ufeff" + text
	case 1:
		text = utf16Of(text, binary.LittleEndian)
	}
	return text, want, settings
}

// periods are the ways in which months, quarters, weeks and years are written.
var periods = map[string]struct {
	column string
	start  time.Time
	months int // 0: seven days
	spell  func(t time.Time) string
}{
	"2024-01":         {"date", day1(2019), 1, func(t time.Time) string { return t.Format("2006-01") }},
	"Jan 2024":        {"month", day1(2019), 1, func(t time.Time) string { return t.Format("Jan 2006") }},
	"Jan-24":          {"month", day1(2019), 1, func(t time.Time) string { return t.Format("Jan-06") }},
	"202401":          {"yyyymm", day1(2019), 1, func(t time.Time) string { return t.Format("200601") }},
	"2024M1":          {"TIME", day1(2019), 1, func(t time.Time) string { return t.Format("2006M1") }},
	"2024M01":         {"TIME", day1(2019), 1, func(t time.Time) string { return t.Format("2006M01") }},
	"01/2024":         {"Period", day1(2019), 1, func(t time.Time) string { return t.Format("01/2006") }},
	"2024.01":         {"Date", day1(2019), 1, func(t time.Time) string { return t.Format("2006.01") }},
	"März 2024":       {"Monat", day1(2019), 1, func(t time.Time) string { return german[t.Month()-1] + t.Format(" 2006") }},
	"fin de mois":     {"date", time.Date(2019, 1, 31, 0, 0, 0, 0, time.UTC), 1, func(t time.Time) string { return t.Format("02/01/2006") }},
	"2024Q1":          {"date", day1(2010), 3, func(t time.Time) string { return fmt.Sprintf("%dQ%d", t.Year(), quarterOfYear(t)) }},
	"Q1-2024":         {"quarter", day1(2010), 3, func(t time.Time) string { return fmt.Sprintf("Q%d-%d", quarterOfYear(t), t.Year()) }},
	"2024-Q1":         {"TIME_PERIOD", day1(2010), 3, func(t time.Time) string { return fmt.Sprintf("%d-Q%d", t.Year(), quarterOfYear(t)) }},
	"20241":           {"yyyyq", day1(2010), 3, func(t time.Time) string { return fmt.Sprintf("%d%d", t.Year(), quarterOfYear(t)) }},
	"2024-S1":         {"TIME_PERIOD", day1(2000), 6, func(t time.Time) string { return fmt.Sprintf("%d-S%d", t.Year(), (quarterOfYear(t)+1)/2) }},
	"2024":            {"Year", day1(1970), 12, func(t time.Time) string { return t.Format("2006") }},
	"2024-12-31":      {"date", time.Date(1970, 12, 31, 0, 0, 0, 0, time.UTC), 12, func(t time.Time) string { return t.Format("2006-01-02") }},
	"2024-W01":        {"week", time.Date(2019, 12, 2, 0, 0, 0, 0, time.UTC), 0, func(t time.Time) string { return weekText(t, "%d-W%02d") }},
	"2024W1":          {"week", time.Date(2019, 12, 2, 0, 0, 0, 0, time.UTC), 0, func(t time.Time) string { return weekText(t, "%dW%d") }},
	"202401 of weeks": {"yearweek", time.Date(2019, 12, 2, 0, 0, 0, 0, time.UTC), 0, func(t time.Time) string { return weekText(t, "%d%02d") }},
	"KW 01/2024": {"Woche", time.Date(2019, 12, 2, 0, 0, 0, 0, time.UTC), 0, func(t time.Time) string {
		y, w := t.ISOWeek()
		return fmt.Sprintf("KW %02d/%d", w, y)
	}},
}

var german = strings.Fields("Januar Februar März April Mai Juni Juli August September Oktober November Dezember")

func day1(year int) time.Time { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC) }

func quarterOfYear(t time.Time) int { return (int(t.Month()) + 2) / 3 }

func weekText(t time.Time, format string) string {
	y, w := t.ISOWeek()
	return fmt.Sprintf(format, y, w)
}

// Every way to write a period is read as its truth, down the file and across it, in CSV and JSON, with
// and without entities, gaps and missing numbers.
func TestRandomPeriods(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 49))
	for name, p := range periods {
		rounds := 12
		if testing.Short() {
			rounds = 4
		}
		for range rounds {
			n, entities, form := 16+r.IntN(20), pick(r, []string{""}, []string{"AA", "BB"}), pick(r, "rows", "rows", "JSON", "across")
			if form == "across" {
				entities = []string{"AA", "BB", "CC"}
			}
			newest := r.IntN(3) == 0
			var times []time.Time
			for i := range n {
				at := p.start.AddDate(0, 0, 7*i)
				if p.months > 0 {
					at = time.Date(p.start.Year(), p.start.Month()+time.Month(p.months*i), p.start.Day(), 0, 0, 0, 0, time.UTC)
					if p.start.Day() == 31 {
						at = time.Date(p.start.Year(), p.start.Month()+time.Month(p.months*i)+1, 0, 0, 0, 0, 0, time.UTC)
					}
				}
				times = append(times, at)
			}
			want := map[string]float64{}
			var rows [][]string
			table := map[string][]string{}
			for i, at := range times {
				for e, entity := range entities {
					key, v := fmt.Sprint(entity, "|", at.Format(time.DateOnly)), worth(e, 0, i)
					if i > 2 && i < n-3 && r.IntN(12) == 0 && form != "across" {
						want[key] = math.NaN()
						continue
					}
					s := two(v)
					if i > 2 && r.IntN(12) == 0 {
						v, s = math.NaN(), ""
					}
					want[key] = v
					rows = append(rows, []string{p.spell(at), entity, s})
					table[entity] = append(table[entity], s)
				}
			}
			head := []string{"name"}
			for _, at := range times {
				head = append(head, p.spell(at))
			}
			if newest {
				slices.Reverse(rows)
				slices.Reverse(head[1:])
				for _, s := range table {
					slices.Reverse(s)
				}
			}
			var b strings.Builder
			switch form {
			case "across":
				b.WriteString(strings.Join(head, ";") + "\n")
				for _, e := range entities {
					b.WriteString(e + ";" + strings.Join(table[e], ";") + "\n")
				}
			case "JSON":
				for _, row := range rows {
					v := row[2]
					if v == "" {
						v = "null"
					}
					fmt.Fprintf(&b, "{%q:%q,\"ticker\":%q,\"v\":%s}\n", p.column, row[0], row[1], v)
				}
			default:
				fmt.Fprintf(&b, "%s,ticker,v\n", p.column)
				for _, row := range rows {
					b.WriteString(strings.Join(row, ",") + "\n")
				}
			}
			text := b.String()
			if entities[0] == "" {
				text = strings.NewReplacer(",ticker", "", ",,", ",", "\"ticker\":\"\",", "").Replace(text)
			}
			f, err := Read(strings.NewReader(text), Options{})
			require.NoError(t, err, "%s, %s:\n%s", name, form, text)
			count := 0
			for _, e := range f.Entities {
				for i, v := range e.Values {
					key := fmt.Sprint(e.Name, "|", time.UnixMicro(int64(e.Times[i])).UTC().Format(time.DateOnly))
					w, ok := want[key]
					require.True(t, ok, "%s, %s, %s:\n%s\n%s", name, form, key, f, text)
					require.True(t, v == w || v != v && w != w, "%s, %s, %s: %v, want %v\n%s\n%s", name, form, key, v, w, f, text)
					count++
				}
			}
			require.Equal(t, len(want), count, "%s, %s:\n%s\n%s", name, form, f, text)
			back(t, text, f)
		}
	}
}
