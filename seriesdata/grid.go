package seriesdata

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// grid is the rule of a regular time axis: it computes the time that follows a given time.
type grid struct {
	name string
	next func(v float64) float64 // returns the time that follows v; nil if times are irregular
	wall bool                    // whether next expects and returns local times rather than UTC
}

// near is the largest deviation of a time from the grid, in steps. Recorded times may jitter.
const near = 0.1

// most is the maximum ratio of grid rows to rows of the file. Beyond it, the times are irregular
// events.
const most = 20

// gridOf finds the grid rule of several series of ascending times. wall holds the same times as
// local times.
func gridOf(dated bool, times, wall [][]float64) grid {
	step := usual(times)
	if step <= 0 {
		return grid{name: "none: one time"}
	}
	if !dated {
		if regular(times, step) {
			return grid{name: fmt.Sprint(step), next: func(v float64) float64 { return v + step }}
		}
		return grid{name: "irregular"}
	}
	if g, ok := monthly(wall); ok {
		g.wall = true
		return g
	}
	if wholeDays(wall) {
		g := daily(wall, usual(wall))
		g.wall = true
		return g
	}
	if !regular(times, step) {
		if step = usual(wall); !regular(wall, step) {
			return grid{name: "irregular"}
		}
	}
	g := grid{name: spokenStep(step), next: func(v float64) float64 { return v + step }}
	if open := sessions(wall, step); open != nil {
		g.name += ", in sessions"
		shift := 0.0
		if len(wall) > 0 && len(wall[0]) > 0 {
			shift = wall[0][0] - times[0][0]
		}
		g.next = func(v float64) float64 {
			for range 20 * int(7*day/step) {
				if v += step; open[slot(v+shift)] {
					return v
				}
			}
			return v
		}
	}
	return g
}

// usual returns the most frequent distance between neighbouring times, or the smaller one of a tie.
// If no distance is frequent, it returns the median distance, rounded to a common unit if one is
// near.
func usual(times [][]float64) float64 {
	tally, total := map[float64]int{}, 0
	var all []float64
	for _, s := range times {
		for i := 1; i < len(s); i++ {
			d := round(s[i] - s[i-1])
			tally[d]++
			total++
			all = append(all, d)
		}
	}
	best, count := 0.0, 0
	for d, n := range tally {
		if n > count || n == count && d < best {
			best, count = d, n
		}
	}
	if 3*count > total || total == 0 {
		return best
	}
	// The clock jitters: use the median step, rounded to a whole unit if one is close enough.
	slices.Sort(all)
	middle := all[total/2]
	for _, unit := range []float64{day, hour, minute, 15 * second, 5 * second, second, second / 10, second / 100} {
		if r := math.Round(middle/unit) * unit; r > 0 && math.Abs(r-middle) < near/4*middle {
			return r
		}
	}
	return best
}

// round removes floating-point noise from a distance by rounding it to nine significant digits.
func round(v float64) float64 {
	if v == 0 {
		return 0
	}
	scale := math.Pow(10, 9-math.Ceil(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

// regular reports whether all distances between neighbouring times are positive multiples of step,
// up to jitter, and the grid would not have too many absent times.
func regular(times [][]float64, step float64) bool {
	rows, need := 0, 0.0
	for _, s := range times {
		for i := 1; i < len(s); i++ {
			k := (s[i] - s[i-1]) / step
			if math.Abs(k-math.Round(k)) > near || math.Round(k) < 1 {
				return false
			}
			need += math.Round(k)
			rows++
		}
	}
	return need <= float64(most*max(rows, 1))
}

// monthly recognises steps of months, quarters and years. The times must be on the same day of the
// month, on its last day, or on its last weekday.
func monthly(wall [][]float64) (grid, bool) {
	same, last, work := true, true, true
	at, steps, rows := -1, 0, 0
	clock := math.Mod(wall[0][0], day)
	tally := map[int]int{}
	for _, s := range wall {
		for i, v := range s {
			t := time.UnixMicro(int64(v)).UTC()
			end := time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC)
			if at < 0 {
				at = t.Day()
			}
			same = same && t.Day() == at
			last = last && t.Day() == end.Day()
			for end.Weekday() == time.Saturday || end.Weekday() == time.Sunday {
				end = end.AddDate(0, 0, -1)
			}
			work = work && t.Day() == end.Day()
			if i > 0 {
				p := time.UnixMicro(int64(s[i-1])).UTC()
				d := 12*(t.Year()-p.Year()) + int(t.Month()-p.Month())
				if d < 1 || math.Mod(v, day) != clock {
					return grid{}, false
				}
				tally[d]++
				rows++
			}
		}
	}
	for d, n := range tally {
		if steps == 0 || n > tally[steps] || n == tally[steps] && d < steps {
			steps = d
		}
	}
	need := 0
	for d, n := range tally {
		if d%steps != 0 {
			return grid{}, false
		}
		need += d / steps * n
	}
	if !same && !last && !work || rows == 0 || need > most*rows {
		return grid{}, false
	}
	name := map[int]string{1: "1 month", 3: "1 quarter", 12: "1 year"}[steps]
	if name == "" && steps%12 == 0 {
		name = fmt.Sprintf("%d years", steps/12)
	} else if name == "" {
		name = fmt.Sprintf("%d months", steps)
	}
	return grid{name: name, next: func(v float64) float64 {
		t := time.UnixMicro(int64(v)).UTC()
		clock := v - float64(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC).UnixMicro())
		next := time.Date(t.Year(), t.Month()+time.Month(steps), at, 0, 0, 0, 0, time.UTC)
		if !same {
			next = time.Date(t.Year(), t.Month()+time.Month(steps)+1, 0, 0, 0, 0, 0, time.UTC)
			for !last && (next.Weekday() == time.Saturday || next.Weekday() == time.Sunday) {
				next = next.AddDate(0, 0, -1)
			}
		}
		return float64(next.UnixMicro()) + clock
	}}, true
}

// wholeDays reports whether all distances between neighbouring times are whole days.
func wholeDays(wall [][]float64) bool {
	for _, s := range wall {
		for i := 1; i < len(s); i++ {
			if d := (s[i] - s[i-1]) / day; d != math.Round(d) {
				return false
			}
		}
	}
	return true
}

func weekend(v float64) bool {
	w := time.UnixMicro(int64(v)).UTC().Weekday()
	return w == time.Saturday || w == time.Sunday
}

// daily returns the grid rule of times that are whole days apart: every day, weekdays with or
// without the holidays of a market, weeks, or several days.
func daily(wall [][]float64, step float64) grid {
	if !regular(wall, day) && !regular(wall, step) {
		return grid{name: "irregular"}
	}
	if step != day {
		if regular(wall, step) {
			return grid{name: spokenStep(step), next: func(v float64) float64 { return v + step }}
		}
		if step > 2*day { // such as weekly data on varying weekdays
			return grid{name: "irregular"}
		}
	}
	span, work := 0.0, true
	present := map[float64]bool{}
	for _, s := range wall {
		span = max(span, s[len(s)-1]-s[0])
		for _, v := range s {
			work = work && !weekend(v)
			present[math.Floor(v/day)] = true
		}
	}
	if !work || span < 7*day {
		return grid{name: "1 day", next: func(v float64) float64 { return v + day }}
	}
	name, holiday := "1 weekday", func(time.Time) bool { return false }
	for _, c := range calendars {
		closed, open := 0, 0
		for _, s := range wall {
			for v := s[0]; v <= s[len(s)-1]; v += day {
				if !weekend(v) && c.holiday(time.UnixMicro(int64(v)).UTC()) {
					if present[math.Floor(v/day)] {
						open++
					} else {
						closed++
					}
				}
			}
		}
		if closed > 0 && open*20 <= closed {
			name, holiday = "1 weekday, without holidays of "+c.name, c.holiday
			break
		}
	}
	return grid{name: name, next: func(v float64) float64 {
		for v += day; weekend(v) || holiday(time.UnixMicro(int64(v)).UTC()) && !present[math.Floor(v/day)]; v += day {
		}
		return v
	}}
}

// calendars lists groups of stock exchanges, each with a function that reports its weekday
// holidays.
var calendars = []struct {
	name    string
	holiday func(t time.Time) bool
}{
	{"the stock exchanges of the United States", american},
	{"the stock exchanges of Europe", european},
}

// easter returns the date of Easter Sunday (algorithm of Meeus, Jones and Butcher).
func easter(year int) time.Time {
	a, b, c := year%19, year/100, year%100
	d, e := b/4, b%4
	f := (b + 8) / 25
	g := (b - f + 1) / 3
	h := (19*a + b - d - g + 15) % 30
	i, k := c/4, c%4
	l := (32 + 2*e + 2*i - h - k) % 7
	m := (a + 11*h + 22*l) / 451
	n := h + l - 7*m + 114
	return time.Date(year, time.Month(n/31), n%31+1, 0, 0, 0, 0, time.UTC)
}

// american reports whether the New York Stock Exchange is closed on the weekday t for a holiday, as
// observed under its rule 7.2.
func american(t time.Time) bool {
	y, m, d, w := t.Year(), t.Month(), t.Day(), t.Weekday()
	observed := func(month time.Month, on int) bool {
		h := time.Date(y, month, on, 0, 0, 0, 0, time.UTC)
		switch h.Weekday() {
		case time.Saturday:
			h = h.AddDate(0, 0, -1)
		case time.Sunday:
			h = h.AddDate(0, 0, 1)
		}
		return m == h.Month() && d == h.Day()
	}
	week := (d-1)/7 + 1
	last := time.Date(y, m, d+7, 0, 0, 0, 0, time.UTC).Month() != m
	switch {
	case m == time.January && w == time.Monday && week == 3 && y >= 1998,
		m == time.February && w == time.Monday && week == 3,
		m == time.May && w == time.Monday && last,
		m == time.September && w == time.Monday && week == 1,
		m == time.November && w == time.Thursday && week == 4,
		m == time.January && d == 1, m == time.January && d == 2 && w == time.Monday:
		return true
	case y >= 2022 && observed(time.June, 19):
		return true
	}
	good := easter(y).AddDate(0, 0, -2)
	return observed(time.July, 4) || observed(time.December, 25) || m == good.Month() && d == good.Day()
}

// european reports whether Euronext and Xetra are closed on the day t for a holiday.
func european(t time.Time) bool {
	m, d := t.Month(), t.Day()
	e := easter(t.Year())
	good, monday := e.AddDate(0, 0, -2), e.AddDate(0, 0, 1)
	return m == time.January && d == 1 || m == time.May && d == 1 || m == time.December && (d == 25 || d == 26) ||
		m == good.Month() && d == good.Day() || m == monday.Month() && d == monday.Day()
}

// weekSlot is a time of day together with the kind of day: weekday, Saturday or Sunday.
type weekSlot struct {
	day   int
	clock float64
}

func slot(v float64) weekSlot {
	s := weekSlot{clock: math.Round((v-math.Floor(v/day)*day)/second) * second}
	switch time.UnixMicro(int64(v)).UTC().Weekday() {
	case time.Saturday:
		s.day = 1
	case time.Sunday:
		s.day = 2
	}
	return s
}

// sessionDays is the number of days of a kind that a file must span before a time of day that never
// occurs on them counts as outside of trading sessions.
const sessionDays = 3

// sessions returns the slots of the week in which there are rows. It returns nil if there are rows
// in all slots or the file is too short to tell.
func sessions(wall [][]float64, step float64) map[weekSlot]bool {
	if step >= day {
		return nil
	}
	open, span := map[weekSlot]bool{}, [3]int{}
	for _, s := range wall {
		for _, v := range s {
			open[slot(v)] = true
		}
		var here [3]int
		for v := math.Floor(s[0] / day); v <= math.Floor(s[len(s)-1]/day); v++ {
			here[slot(v*day).day]++
		}
		for k, n := range here {
			span[k] = max(span[k], n)
		}
	}
	closed := false
	for _, s := range wall {
		for i := 1; i < len(s); i++ {
			if k := (s[i] - s[i-1]) / step; math.Abs(k-math.Round(k)) > 1e-6 {
				return nil // the clock jitters
			}
			for v := s[i-1] + step; v < s[i]-step/2; v += step {
				c := slot(v)
				if span[c.day] < sessionDays {
					open[c] = true
				}
				closed = closed || !open[c]
			}
		}
	}
	if !closed {
		return nil
	}
	return open
}

// spokenStep formats a step in its largest unit, such as "2 hours".
func spokenStep(step float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{7 * day, "week"}, {day, "day"}, {hour, "hour"}, {minute, "minute"}, {second, "second"}, {1e3, "millisecond"}, {1, "microsecond"}} {
		if k := step / u.size; k >= 1 && k == math.Round(k) {
			if k == 1 {
				return "1 " + u.name
			}
			return fmt.Sprintf("%v %ss", k, u.name)
		}
	}
	return fmt.Sprintf("%v seconds", step/second)
}

// between returns the times of the grid that lie strictly between the times a and b.
func (g grid) between(a, b float64) []float64 {
	if g.next == nil {
		return nil
	}
	var out []float64
	step := g.next(a) - a
	for v := g.next(a); v < b-0.5*step && len(out) < 1<<22; v = g.next(v) {
		out = append(out, v)
	}
	return slices.Clip(out)
}
