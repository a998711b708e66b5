package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// window bounds the GC content of all windows of size bases whose starts are step bases apart.
type window struct {
	size, step int
	low, high  float64
}

// required is a site that a design must contain. It must occur exactly as often as the field
// times says, or at least once if times is 0.
type required struct {
	site  string
	times int
}

func (r required) String() string {
	if r.times > 0 {
		return fmt.Sprintf("%s %d ×", r.site, r.times)
	}
	return r.site
}

// mostTimes is the maximum number of times that a site can be required.
const mostTimes = 100

// scan parses the options that are lists. If own is set, the sites to avoid are the default
// ones.
func (o *options) scan(gc, windows, avoid, require string, own bool) error {
	var err error
	if o.low, o.high, err = shares("-gc", gc, strings.Split(gc, ",")); err != nil {
		return err
	}
	if windows != "" {
		if o.windows, err = scanWindows(windows); err != nil {
			return err
		}
	}
	if o.before, err = flankOf("-before", o.before); err != nil {
		return err
	}
	if o.after, err = flankOf("-after", o.after); err != nil {
		return err
	}
	for item := range strings.SplitSeq(require, ",") {
		site, times, counted := strings.Cut(item, "=")
		r := required{}
		if counted {
			if r.times, err = strconv.Atoi(strings.TrimSpace(times)); err != nil || r.times < 1 || r.times > mostTimes {
				return fmt.Errorf("-require: %q, want a site and a number of 1 … %d such as GGATCC=1", item, mostTimes)
			}
		}
		list, err := patterns("-require", site)
		if err != nil {
			return err
		}
		if len(list) == 0 && counted {
			return fmt.Errorf("-require: %q, want a site before the number", item)
		}
		for _, r.site = range list {
			o.require = append(o.require, r)
		}
	}
	if o.avoid, err = patterns("-avoid", avoid); err != nil {
		return err
	}
	asked := func(site string) bool {
		return slices.ContainsFunc(o.require, func(r required) bool { return r.site == site })
	}
	if own {
		o.avoid = slices.DeleteFunc(o.avoid, asked)
	}
	if at := slices.IndexFunc(o.avoid, asked); at >= 0 {
		return fmt.Errorf("-avoid and -require both have %s", o.avoid[at])
	}
	return nil
}

// shares parses the least and greatest share from fields. The option and its text are for
// errors.
func shares(option, text string, fields []string) (low, high float64, err error) {
	if len(fields) == 2 {
		var errA, errB error
		low, errA = strconv.ParseFloat(strings.TrimSpace(fields[0]), 64)
		high, errB = strconv.ParseFloat(strings.TrimSpace(fields[1]), 64)
		if errA == nil && errB == nil && 0 <= low && low <= high && high <= 1 && !math.IsNaN(low+high) {
			return low, high, nil
		}
	}
	if option == "-windows" {
		return 0, 0, fmt.Errorf("-windows = %q, want size,low,high or size,low,high,step such as 60,0.3,0.7,6 with 0 ≤ low ≤ high ≤ 1", text)
	}
	return 0, 0, fmt.Errorf("%s = %q, want two numbers such as 0.45,0.55 with 0 ≤ low ≤ high ≤ 1", option, text)
}

func scanWindows(text string) (*window, error) {
	fields := strings.Split(text, ",")
	w := &window{step: 1}
	var err error
	if w.low, w.high, err = shares("-windows", text, fields[min(1, len(fields)):min(3, len(fields))]); err != nil {
		return nil, err
	}
	if w.size, err = strconv.Atoi(strings.TrimSpace(fields[0])); err != nil || w.size < 1 || w.size > 10000 {
		return nil, fmt.Errorf("-windows = %q: size = %s, want 1 … 10000 bases", text, fields[0])
	}
	if len(fields) > 3 {
		if w.step, err = strconv.Atoi(strings.TrimSpace(fields[3])); err != nil || w.step < 1 || len(fields) > 4 {
			return nil, fmt.Errorf("-windows = %q: step = %s, want one number of bases ≥ 1", text, strings.Join(fields[3:], ","))
		}
	}
	if least, most := counts(w.size, w.low, w.high); least > most {
		return nil, fmt.Errorf("-windows = %q: no number of G and C among %d bases is in [%v, %v]", text, w.size, w.low, w.high)
	}
	return w, nil
}

// flankOf normalises and checks the bases of a flank.
func flankOf(option, text string) (string, error) {
	text = strings.ReplaceAll(strings.ToUpper(strings.Join(strings.Fields(text), "")), "U", "T")
	for i, c := range text {
		if !strings.ContainsRune("ACGT", c) {
			return "", fmt.Errorf("%s: letter %d is %q, want A, C, G or T", option, i+1, c)
		}
	}
	if len(text) > 1000 {
		return "", fmt.Errorf("%s: %d bases, want at most 1000", option, len(text))
	}
	return text, nil
}

// patterns splits a list of sites and checks their letters.
func patterns(option, list string) ([]string, error) {
	var all []string
	for _, s := range strings.Split(list, ",") {
		if s = strings.ToUpper(strings.TrimSpace(s)); s == "" {
			continue
		}
		for _, c := range s {
			if _, ok := iupac[c]; !ok {
				return nil, fmt.Errorf("%s: %q in the site %s is no IUPAC letter of a base", option, c, s)
			}
		}
		all = append(all, s)
	}
	return all, nil
}
