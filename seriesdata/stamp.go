package seriesdata

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// stamp is a parsed date or time of day. The order of day, month and year may be undecided.
type stamp struct {
	a, b, c    int    // parts of the date in the order of the file
	wa, wb, wc int    // number of digits of each part; 0 if the part is absent
	named      bool   // whether the month is a name; then a is the day, b the month and c the year
	marks      string // separator between a and b
	hasDate    bool
	hasClock   bool
	clock      float64 // time of day in microseconds since midnight
	zoned      bool
	offset     float64 // offset of the time zone, in microseconds east of UTC
	layout     string  // layout of package time, with {a}, {b}, {c} for the parts of the date
	end        *stamp  // end of an interval; nil for a single time
	dash       string  // text between the start and the end of an interval
}

var (
	months     = regexp.MustCompile(`(?i)^(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)$`)
	monthNames = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}

	weekday   = regexp.MustCompile(`(?i)^(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?[,.]? +`)
	digitDate = regexp.MustCompile(`^(\d{1,4})([-/.]|\. )(\d{1,2})([-/.]|\. )(\d{1,4})`)
	eastern   = regexp.MustCompile(`^(\d{4})([年년])( ?\d{1,2})([月월])( ?\d{1,2})[日일]`) // Chinese, Japanese, Korean
	dayFirst  = regexp.MustCompile(`^(\d{1,2})([- ./]*| de )(\pL{3,10}\.?)([- ./,]*| de )(\d{4}|\d{2})\b`)
	monthDay  = regexp.MustCompile(`^(\pL{3,10}\.?)([. ]+)(\d{1,2})(, +| |,)(\d{4})\b`)
	yearNamed = regexp.MustCompile(`^(\d{4})([- /])(\pL{3,10}\.?)([- /])(\d{1,2})\b`)
	monthOnly = regexp.MustCompile(`^(\d{4})([-/M])(\d{1,2})$`)
	onlyMonth = regexp.MustCompile(`^(\d{1,2})(/)(\d{4})$`)
	nameYear  = regexp.MustCompile(`^(\pL{3,10}\.?)([- .]+|/|, ?| de )(\d{4}|\d{2})$`)
	yearName  = regexp.MustCompile(`^(\d{4})([- /]?)(\pL{3,10}\.?)$`)
	quarter   = regexp.MustCompile(`^((?:FY ?'?)?)(\d{4})([-/ :.]?[QqT])([1-4])$|^(FY ?'?)(\d{2})([-/ ]?[Qq])([1-4])$`)
	quarterOf = regexp.MustCompile(`^([QqT])([1-4])([-/ ']{1,2}|[-/ ]?FY ?'?)(\d{4}|\d{2})$`)
	nthQ      = regexp.MustCompile(`^()([1-4])([QqT][-/ ']{0,2})(\d{4}|\d{2})$`)
	ordinal   = regexp.MustCompile(`^(\d{4})-(\d{3})$`)
	half      = regexp.MustCompile(`^(\d{4})([-/ ]?[HhSs])([12])$`)
	halfOf    = regexp.MustCompile(`^([HhSs])([12])([-/ ']{1,2})(\d{4})$`)
	week      = regexp.MustCompile(`^(\d{4})([- /]?[Ww][Kk]?)(\d{1,2})(?:(-?)([1-7]))?$`)
	weekOf    = regexp.MustCompile(`^((?:[Ww][Kk]?|KW|CW)[- ]?)(\d{1,2})([-/ ]+)(\d{4})$`)
	interval  = regexp.MustCompile(`^(.{10,32}\d)( - | – )(.{10,32})$`)
	packed    = regexp.MustCompile(`^(\d{4})(\d{2})(\d{2})(?:([T _-]?)(\d{2})(?:(\d{2})(\d{2})?)?(Z|[+-]\d{4})?)?$`)
	packedDay = regexp.MustCompile(`^(\d{4})(\d{2})(\d{2})([T ]| {2})(\d{1,2}:.*)$`)
	timeOf    = regexp.MustCompile(`^(\d{1,2})([:.h])(\d{2})(?:([:.])(\d{2})(?:([.,])(\d{1,9}))?)?( ?[AaPp]\.?[Mm]\.?)?`)
	zone      = regexp.MustCompile(`^ ?(Z|[+-]\d{2}:\d{2}|[+-]\d{4}|[+-]\d{2}|[A-Z]{2,4})(?:\[[A-Za-z_/]+\])?$`)
)

// zones maps unambiguous abbreviations of time zones to their offset from UTC in hours.
var zones = map[string]float64{"Z": 0, "UTC": 0, "GMT": 0, "WET": 0, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "MSK": 3, "JST": 9,
	"EST": -5, "EDT": -4, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}

const (
	second = 1e6
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour
)

func atoi(s string) int { v, _ := strconv.Atoi(s); return v }

// languages lists the names of months in German, French, Spanish, Italian, Portuguese and Dutch, in
// full and short.
var languages = [][2][]string{
	{strings.Fields("januar februar märz april mai juni juli august september oktober november dezember"), strings.Fields("jan feb mär apr mai jun jul aug sep okt nov dez")},
	{strings.Fields("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"), strings.Fields("janv févr mars avr mai juin juil août sept oct nov déc")},
	{strings.Fields("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"), strings.Fields("ene feb mar abr may jun jul ago sep oct nov dic")},
	{strings.Fields("gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"), strings.Fields("gen feb mar apr mag giu lug ago set ott nov dic")},
	{strings.Fields("janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"), strings.Fields("jan fev mar abr mai jun jul ago set out nov dez")},
	{strings.Fields("januari februari maart april mei juni juli augustus september oktober november december"), strings.Fields("jan feb mrt apr mei jun jul aug sep okt nov dec")},
}

// monthWords maps the names of months in these languages to their numbers.
var monthWords = func() map[string]int {
	words := map[string]int{"jän": 1, "jänner": 1, "jaen": 1, "jaenner": 1, "feber": 2, "mrz": 3, "maer": 3, "maerz": 3,
		"fév": 2, "fevr": 2, "fevrier": 2, "aoû": 8, "aou": 8, "aout": 8, "decembre": 12,
		"ener": 1, "sept": 9, "setiembre": 9, "sett": 9, "marco": 3, "maa": 3, "janr": 1}
	for _, l := range languages {
		for _, names := range l {
			for i, name := range names {
				words[name] = i + 1
			}
		}
	}
	return words
}()

// monthOf returns the number of a month by its name, which may end in a point, or 0.
func monthOf(s string) int {
	s = strings.TrimSuffix(s, ".")
	if !months.MatchString(s) {
		return monthWords[strings.ToLower(s)]
	}
	for i, m := range monthNames {
		if strings.EqualFold(s[:3], m) {
			return i + 1
		}
	}
	return 0
}

// monthPlace begins the place of the name of a month in a layout, such as {month:Jan}.
const monthPlace = "month:"

// monthLayout returns the place in a layout of a month whose name is written s.
func monthLayout(s string) string { return "{" + monthPlace + s + "}" }

// parseStamp parses a date, a time of day, or both. ok reports whether s has a known form. Words such
// as 10dec20, which may also be labels, have none.
func parseStamp(s string) (p stamp, ok bool) {
	if m := dayFirst.FindStringSubmatch(s); m != nil && m[2] == "" && len(m[5]) == 2 {
		return p, false
	}
	return looseStamp(s)
}

// stamp parses the cell s of column i like parseStamp. If the name of the column is one of times,
// 10dec20 is a date.
func (t *table) stamp(i int, s string) (stamp, bool) {
	if timeish(t.columns[i].name) {
		return looseStamp(s)
	}
	return parseStamp(s)
}

// looseStamp parses s like parseStamp, but also 10dec20 as a date.
func looseStamp(s string) (p stamp, ok bool) {
	if len(s) < 4 || len(s) > 64 {
		return p, false
	}
	if m := packed.FindStringSubmatch(s); m != nil {
		p = stamp{a: atoi(m[1]), b: atoi(m[2]), c: atoi(m[3]), wa: 4, wb: 2, wc: 2, hasDate: true, layout: "20060102"}
		if m[5] != "" {
			p.hasClock = true
			p.clock = float64(atoi(m[5]))*hour + float64(atoi(m[6]))*minute + float64(atoi(m[7]))*second
			p.layout += m[4] + "15"
			if m[6] != "" {
				p.layout += "04"
			} else if p.a < 1900 || p.a > 2100 { // ten digits may also be a time in seconds
				return p, false
			}
			if m[7] != "" {
				p.layout += "05"
			}
			if m[8] != "" && !p.readZone(m[8]) {
				return p, false
			}
			if atoi(m[5]) > 24 || atoi(m[6]) > 59 || atoi(m[7]) > 59 {
				return p, false
			}
		}
		return p, p.b >= 1 && p.b <= 12 && p.c >= 1 && p.c <= 31 && p.a >= 1000
	}
	if m := packedDay.FindStringSubmatch(s); m != nil { // a date without marks, a time of day with them
		p = stamp{a: atoi(m[1]), b: atoi(m[2]), c: atoi(m[3]), wa: 4, wb: 2, wc: 2, hasDate: true, layout: "20060102"}
		ok = p.b >= 1 && p.b <= 12 && p.c >= 1 && p.c <= 31 && p.a >= 1000 && p.readClock(m[5], m[4])
		return p, ok
	}
	if strings.Trim(s, "0123456789.") == "" && strings.Count(s, ".") < 2 { // a number: no form below fits
		return p, false
	}
	// An interval stands for the time at which it begins.
	if m := interval.FindStringSubmatch(s); m != nil {
		p, ok = parseStamp(m[1])
		end, fine := parseStamp(m[3])
		p.end, p.dash = &end, m[2]
		return p, ok && fine && p.hasDate && p.hasClock && end.hasDate && end.hasClock && end.zoned == p.zoned
	}
	front := ""
	if w := weekday.FindString(s); w != "" {
		front, s = "Mon"+strings.TrimLeft(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"), s[len(w):]
		if len(strings.TrimRight(w, ",. ")) > 3 {
			front = "Monday" + front[3:]
		}
	}
	rest := s
	switch {
	case digitDate.MatchString(s):
		m := digitDate.FindStringSubmatch(s)
		if m[2] != m[4] {
			return p, false
		}
		p = stamp{a: atoi(m[1]), b: atoi(m[3]), c: atoi(m[5]), wa: len(m[1]), wb: len(m[3]), wc: len(m[5]), marks: m[2]}
		if p.wa == 3 || p.wc == 3 || p.wa == 4 && p.wc > 2 {
			return p, false
		}
		p.layout, rest = "{a}"+m[2]+"{b}"+m[4]+"{c}", s[len(m[0]):]
		if p.marks == "." && rest == "" && !p.anyDate() { // may be the time of day 18.00.00
			q := stamp{}
			return q, q.readClock(s, "")
		}
	case eastern.MatchString(s):
		m := eastern.FindStringSubmatch(s)
		month, date := strings.TrimLeft(m[3], " "), strings.TrimLeft(m[5], " ")
		p = stamp{a: atoi(m[1]), b: atoi(month), c: atoi(date), wa: 4, wb: len(month), wc: len(date), marks: m[2]}
		last := m[0][strings.LastIndexFunc(m[0], func(r rune) bool { return r > '9' }):]
		p.layout, rest = "{a}"+m[2]+m[3][:len(m[3])-len(month)]+"{b}"+m[4]+m[5][:len(m[5])-len(date)]+"{c}"+last, s[len(m[0]):]
	case dayFirst.MatchString(s):
		m := dayFirst.FindStringSubmatch(s)
		p = stamp{a: atoi(m[1]), b: monthOf(m[3]), c: atoi(m[5]), wa: len(m[1]), wb: 3, wc: len(m[5]), named: true}
		p.layout, rest = "{a}"+m[2]+monthLayout(m[3])+m[4]+"{c}", s[len(m[0]):]
	case monthDay.MatchString(s):
		m := monthDay.FindStringSubmatch(s)
		p = stamp{a: atoi(m[3]), b: monthOf(m[1]), c: atoi(m[5]), wa: len(m[3]), wb: 3, wc: 4, named: true}
		p.layout, rest = monthLayout(m[1])+m[2]+"{a}"+m[4]+"{c}", s[len(m[0]):]
	case yearNamed.MatchString(s):
		m := yearNamed.FindStringSubmatch(s)
		p = stamp{a: atoi(m[5]), b: monthOf(m[3]), c: atoi(m[1]), wa: len(m[5]), wb: 3, wc: 4, named: true}
		p.layout, rest = "{c}"+m[2]+monthLayout(m[3])+m[4]+"{a}", s[len(m[0]):]
	case monthOnly.MatchString(s):
		m := monthOnly.FindStringSubmatch(s)
		p, rest = stamp{a: 1, b: atoi(m[3]), c: atoi(m[1]), wb: len(m[3]), wc: 4, named: true, layout: "{c}" + m[2] + "01"}, ""
	case onlyMonth.MatchString(s):
		m := onlyMonth.FindStringSubmatch(s)
		p, rest = stamp{a: 1, b: atoi(m[1]), c: atoi(m[3]), wb: len(m[1]), wc: 4, named: true, layout: "01" + m[2] + "{c}"}, ""
	case nameYear.MatchString(s):
		m := nameYear.FindStringSubmatch(s)
		p, rest = stamp{a: 1, b: monthOf(m[1]), c: atoi(m[3]), wb: 3, wc: len(m[3]), named: true, layout: monthLayout(m[1]) + m[2] + "{c}"}, ""
	case ordinal.MatchString(s): // ISO 8601: year and day of the year
		m := ordinal.FindStringSubmatch(s)
		t := time.Date(atoi(m[1]), 1, atoi(m[2]), 0, 0, 0, 0, time.UTC)
		if t.Year() != atoi(m[1]) {
			return p, false
		}
		p, rest = stamp{a: t.Day(), b: int(t.Month()), c: t.Year(), wa: 2, wb: 2, wc: 4, named: true, layout: "2006-002"}, ""
	case yearName.MatchString(s):
		m := yearName.FindStringSubmatch(s)
		p, rest = stamp{a: 1, b: monthOf(m[3]), c: atoi(m[1]), wb: 3, wc: 4, named: true, layout: "{c}" + m[2] + monthLayout(m[3])}, ""
	case half.MatchString(s):
		m := half.FindStringSubmatch(s)
		p, rest = stamp{a: 1, b: 6*atoi(m[3]) - 5, c: atoi(m[1]), wb: 1, wc: 4, named: true, layout: "{c}" + m[2] + "{h}"}, ""
	case halfOf.MatchString(s):
		m := halfOf.FindStringSubmatch(s)
		p, rest = stamp{a: 1, b: 6*atoi(m[2]) - 5, c: atoi(m[4]), wb: 1, wc: 4, named: true, layout: m[1] + "{h}" + m[3] + "{c}"}, ""
	case quarter.MatchString(s):
		m := quarter.FindStringSubmatch(s)
		if m[2] == "" { // a year of two digits
			m = m[4:]
		}
		p, rest = stamp{a: 1, b: 3*atoi(m[4]) - 2, c: atoi(m[2]), wb: 1, wc: len(m[2]), named: true, layout: m[1] + "{c}" + m[3] + "{q}"}, ""
	case quarterOf.MatchString(s), nthQ.MatchString(s):
		m := quarterOf.FindStringSubmatch(s)
		if m == nil {
			m = nthQ.FindStringSubmatch(s)
		}
		p, rest = stamp{a: 1, b: 3*atoi(m[2]) - 2, c: atoi(m[4]), wb: 1, wc: len(m[4]), named: true, layout: m[1] + "{q}" + m[3] + "{c}"}, ""
	case week.MatchString(s), weekOf.MatchString(s): // ISO 8601 week; without a day it means the Monday
		var year, number, of, layout string
		if m := week.FindStringSubmatch(s); m != nil {
			year, number, of = m[1], m[3], m[5]
			layout = "{year}" + m[2] + "{week}"
			if of != "" {
				layout += m[4] + "{day}"
			}
		} else {
			m := weekOf.FindStringSubmatch(s)
			year, number, layout = m[4], m[2], m[1]+"{week}"+m[3]+"{year}"
		}
		t, ok := mondayOf(atoi(year), atoi(number))
		if !ok {
			return p, false
		}
		if of != "" {
			t = t.AddDate(0, 0, atoi(of)-1)
		}
		if len(number) == 1 {
			layout = strings.Replace(layout, "{week}", "{w}", 1)
		}
		p, rest = stamp{a: t.Day(), b: int(t.Month()), c: t.Year(), wa: 2, wb: 2, wc: 4, named: true, layout: layout}, ""
	default: // 18.00.00 is a time of day, but 18.00 is a number
		return p, (strings.Contains(s, ":") || strings.Count(s, ".") == 2) && p.readClock(s, "")
	}
	p.hasDate, p.layout = true, front+p.layout
	if p.named && (p.b < 1 || p.b > 12) {
		return p, false
	}
	if rest == "" {
		return p, true
	}
	between := rest[:len(rest)-len(strings.TrimLeft(rest, " T,:"))]
	if between == "" || len(between) > 3 {
		return p, false
	}
	return p, p.readClock(rest[len(between):], between)
}

// mondayOf returns the Monday of an ISO 8601 week. ok is false if the year has no such week.
func mondayOf(year, week int) (t time.Time, ok bool) {
	t = time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC) // always in week 1
	t = t.AddDate(0, 0, 7*(week-1)-(int(t.Weekday())+6)%7)
	y, w := t.ISOWeek()
	return t, y == year && w == week
}

// anyDate reports whether the parts form a valid date in some order.
func (p *stamp) anyDate() bool {
	for o := range words {
		if _, ok := p.date(o); ok {
			return true
		}
	}
	return false
}

// readClock parses a time of day and an optional time zone. between is the text before s, which
// becomes part of the layout. It reports whether s has a known form.
func (p *stamp) readClock(s, between string) bool {
	m := timeOf.FindStringSubmatch(s)
	if m == nil {
		return false
	}
	h, mi, sec := atoi(m[1]), atoi(m[3]), atoi(m[5])
	p.layout += between
	hours := "15"
	if half := strings.ToLower(strings.NewReplacer(".", "", " ", "").Replace(m[8])); half != "" {
		if h < 1 || h > 12 {
			return false
		}
		if h %= 12; half == "pm" {
			h += 12
		}
		if hours = "3"; len(m[1]) == 2 {
			hours = "03"
		}
	}
	if h > 24 || mi > 59 || sec > 60 || h == 24 && (mi > 0 || sec > 0) {
		return false
	}
	p.layout += hours + m[2] + "04"
	p.clock = float64(h)*hour + float64(mi)*minute + float64(sec)*second
	if m[4] != "" {
		p.layout += m[4] + "05"
	}
	if m[7] != "" {
		v, _ := strconv.ParseFloat("0."+m[7], 64)
		p.clock += math.Round(v * second)
		p.layout += m[6] + strings.Repeat("0", len(m[7]))
	}
	if m[8] != "" {
		space := m[8][:len(m[8])-len(strings.TrimLeft(m[8], " "))]
		if p.layout += space + "PM"; strings.ContainsAny(m[8], "ap") {
			p.layout = p.layout[:len(p.layout)-2] + "pm"
		}
	}
	p.hasClock = true
	rest := s[len(m[0]):]
	if rest == "" {
		return true
	}
	z := zone.FindStringSubmatch(rest)
	if z == nil {
		return false
	}
	p.layout += rest[:strings.Index(rest, z[1])]
	return p.readZone(z[1])
}

// furthestZone is the largest offset of a time zone from UTC, that of the Line Islands.
const furthestZone = 14 * hour

// readZone parses a time zone, such as Z, CET or +01:00, and appends it to the layout. It reports
// whether there may be such a zone.
func (p *stamp) readZone(name string) bool {
	p.zoned = true
	if v, ok := zones[name]; ok {
		p.offset = v * hour
		p.layout += "{z" + name + "}"
		return true
	}
	if name[0] != '+' && name[0] != '-' {
		return false
	}
	digits := strings.ReplaceAll(name[1:], ":", "")
	p.offset = float64(atoi(digits[:2])) * hour
	if len(digits) == 4 {
		p.offset += float64(atoi(digits[2:])) * minute
	}
	if p.offset > furthestZone || len(digits) == 4 && digits[2:] > "59" {
		return false
	}
	if name[0] == '-' {
		p.offset = -p.offset
	}
	p.layout += map[int]string{3: "-07", 5: "-0700", 6: "-07:00"}[len(name)]
	return true
}

// order is the order of the parts of a date in the file, such as "dmy" for day, month, year.
type order string

// words maps each order to its description in messages.
var words = map[order]string{"ymd": "year/month/day", "ydm": "year/day/month", "dmy": "day/month/year", "mdy": "month/day/year"}

// date returns the date as days since 1970 if its parts are in the order o. ok is false if there is
// no such day.
func (p *stamp) date(o order) (days float64, ok bool) {
	y, m, d, w := p.c, p.b, p.a, p.wc
	if !p.named {
		part, width := [3]int{p.a, p.b, p.c}, [3]int{p.wa, p.wb, p.wc}
		for i, r := range o {
			switch r {
			case 'y':
				y, w = part[i], width[i]
			case 'm':
				m = part[i]
			case 'd':
				d = part[i]
			}
		}
		if w != 4 && w != 2 {
			return 0, false
		}
	}
	if w == 2 {
		if y += 1900; y < 1970 {
			y += 100
		}
	}
	if m < 1 || m > 12 || d < 1 || d > 31 {
		return 0, false
	}
	t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	if t.Day() != d {
		return 0, false
	}
	return float64(t.Unix()) / 86400, true
}

// spell formats the time t in the form of the stamp. padded tells whether days and months have two
// digits, and names are those of the twelve months.
func (p *stamp) spell(o order, t time.Time, padded bool, names []string) string {
	if p.end != nil {
		begin, end := *p, *p.end
		begin.end = nil
		x, _ := begin.date(o)
		y, _ := end.date(o)
		long := time.Duration((y-x)*day+end.clock-begin.clock) * time.Microsecond
		return begin.spell(o, t, padded, names) + p.dash + end.spell(o, t.Add(long), padded, names)
	}
	layout := p.layout
	if strings.Contains(layout, "{w") {
		y, w := t.ISOWeek()
		return strings.NewReplacer("{year}", fmt.Sprint(y), "{week}", fmt.Sprintf("%02d", w), "{w}", fmt.Sprint(w), "{day}", fmt.Sprint((int(t.Weekday())+6)%7+1)).Replace(layout)
	}
	two := map[rune]string{'y': "2006", 'm': "01", 'd': "02"}
	if !padded {
		two['m'], two['d'] = "1", "2"
	}
	if p.named {
		o = "dmy"
	}
	for i, r := range o {
		s := two[r]
		if r == 'y' && [3]int{p.wa, p.wb, p.wc}[i] == 2 {
			s = "06"
		}
		layout = strings.ReplaceAll(layout, "{"+string(rune('a'+i))+"}", s)
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(layout, "{")
		b.WriteString(t.Format(before))
		if !ok {
			return b.String()
		}
		var name string
		name, layout, _ = strings.Cut(rest, "}")
		like, isMonth := strings.CutPrefix(name, monthPlace)
		switch {
		case isMonth:
			b.WriteString(monthLike(t.Month(), like, names))
		case name == "q":
			b.WriteString(strconv.Itoa((int(t.Month())-1)/3 + 1))
		case name == "h":
			b.WriteString(strconv.Itoa((int(t.Month())-1)/6 + 1))
		default: // a time zone
			b.WriteString(name[1:])
		}
	}
}

// namesOfMonths returns the names of the twelve months, in small letters, in the language and form of
// the given words of a column. It is the list that has most of them. If several do, English comes
// first, and short names before full ones. A month that is among the words is written as there.
func namesOfMonths(words []string) []string {
	short, full := slices.Clone(monthNames), []string(nil)
	for m := time.January; m <= time.December; m++ {
		full = append(full, strings.ToLower(m.String()))
	}
	forms := [][]string{short, full}
	for k := range 2 {
		for _, l := range languages {
			forms = append(forms, l[1-k])
		}
	}
	for k, l := range append([][2][]string{{full, short}}, languages...) { // abbreviations with a point
		points := make([]string, 12)
		for m, name := range l[1] {
			if points[m] = name + "."; name == l[0][m] {
				points[m] = name
			}
		}
		if forms = append(forms, points); k == 1 { // German also abbreviates these months
			forms = append(forms, strings.Fields("jan. febr. märz april mai juni juli aug. sept. okt. nov. dez."))
		}
	}
	seen := map[string]int{} // number of the month by its name
	for _, w := range words {
		w = strings.ToLower(w)
		if _, ok := seen[w]; !ok {
			seen[w] = monthOf(w)
		}
	}
	best, most := forms[0], 0
	for _, form := range forms {
		n := 0
		for _, name := range form {
			if seen[name] > 0 {
				n++
			}
		}
		if n > most {
			best, most = form, n
		}
	}
	best = slices.Clone(best)
	for m, name := range best {
		for w, number := range seen {
			if number == m+1 && seen[name] == 0 && (best[m] == name || w < best[m]) {
				best[m] = w
			}
		}
	}
	return best
}

// monthsIn returns the names of the twelve months for a column with the given stamps.
func monthsIn(stamps []stamp) []string {
	var words []string
	for k := range stamps {
		if _, rest, ok := strings.Cut(stamps[k].layout, "{"+monthPlace); ok {
			word, _, _ := strings.Cut(rest, "}")
			words = append(words, word)
		}
	}
	return namesOfMonths(words)
}

// monthLike returns the name of a month from the twelve names, in capital and small letters like the
// word like, the name of a month.
func monthLike(m time.Month, like string, names []string) string {
	word := names[m-1]
	first, size := utf8.DecodeRuneInString(word)
	switch {
	case like == strings.ToUpper(like):
		return strings.ToUpper(word)
	case like != strings.ToLower(like):
		return string(unicode.ToUpper(first)) + word[size:]
	}
	return word
}
