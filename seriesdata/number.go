package seriesdata

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// absent reports whether a text stands for a missing number.
func absent(s string) bool {
	switch strings.ToLower(s) {
	case "", "na", "n/a", "n.a.", "nan", "-nan", "nat", "null", "none", "nil", "<na>", `\n`, "missing",
		"-", "--", "---", "–", "—", "?", ".", "..", "...", "#n/a", "#na", "#n/a n/a", "#value!", "#div/0!", "#ref!", "#num!":
		return true
	}
	return strings.Trim(s, "*") == ""
}

// written is a number as a cell has it: sign, digits with their marks, and what
// stands around them.
type written struct {
	negative       bool
	parentheses    bool
	prefix, suffix string // a currency; a unit, per cent or a multiplier
	body           string // digits, points, commas and what groups digits
	exponent       string // with its e
	blank          bool   // in front of the suffix
}

// groupMarks stand between groups of three digits besides points and commas.
const groupMarks = " '’\u00a0\u2009\u202f"

// take splits a cell; ok reports whether it is meant as a number.
func take(s string) (w written, ok bool) {
	if len(s) > 2 && s[0] == '(' && s[len(s)-1] == ')' {
		w.parentheses, w.negative, s = true, true, s[1:len(s)-1]
	}
	sign := func() {
		if w.parentheses {
			return
		}
		switch {
		case strings.HasPrefix(s, "-"):
			w.negative, s = true, s[1:]
		case strings.HasPrefix(s, "−"):
			w.negative, s = true, s[len("−"):]
		case strings.HasPrefix(s, "+"):
			s = s[1:]
		}
	}
	before := s
	sign()
	signed := len(s) < len(before)
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		if !unicode.Is(unicode.Sc, r) {
			break
		}
		w.prefix += s[:n]
		s = strings.TrimLeft(s[n:], " ")
	}
	if w.prefix != "" && !signed {
		sign()
	}
	end := 0
	for i, r := range s {
		if !(r >= '0' && r <= '9' || r == '.' || r == ',' || strings.ContainsRune(groupMarks, r)) {
			break
		}
		end = i + utf8.RuneLen(r)
	}
	w.body = strings.TrimRight(s[:end], groupMarks)
	s = s[len(w.body):]
	if !strings.ContainsAny(w.body, "0123456789") {
		return w, false
	}
	if len(s) > 1 && (s[0] == 'e' || s[0] == 'E') {
		k := 1
		if s[k] == '-' || s[k] == '+' {
			k++
		}
		from := k
		for k < len(s) && s[k] >= '0' && s[k] <= '9' {
			k++
		}
		if k > from {
			w.exponent, s = s[:k], s[k:]
		}
	}
	w.blank = strings.HasPrefix(s, " ")
	s = strings.Trim(s, groupMarks)
	if s == "-" && !w.negative && !w.parentheses { // as SAP writes it
		w.negative, s = true, ""
	}
	w.suffix = s
	return w, isUnit(s)
}

// isUnit reports whether a text may be a unit behind a number.
func isUnit(s string) bool {
	if utf8.RuneCountInString(s) > 10 {
		return false
	}
	for i, r := range s {
		switch {
		case unicode.IsLetter(r), unicode.Is(unicode.Sc, r), strings.ContainsRune("%‰°/²³·*^", r):
		case i > 0 && (r == '2' || r == '3'):
		default:
			return false
		}
	}
	return true
}

// multipliers are the meanings of K, M, B and T after a number.
var multipliers = map[string]int{"K": 3, "k": 3, "M": 6, "B": 9, "T": 12}

// power returns the power of ten that a suffix means; K after a blank means kelvins.
func (w *written) power() (int, bool) {
	k, ok := multipliers[w.suffix]
	return k, ok && w.exponent == "" && !(w.blank && w.suffix == "K")
}

// marks returns what the points and commas of a number imply: whether fractions begin with
// a point or a comma, or 0 if both are possible.
func marks(body string) (decimal byte, comma, point bool) {
	commas, points := strings.Count(body, ","), strings.Count(body, ".")
	comma, point = commas > 0, points > 0
	switch {
	case commas > 0 && points > 0:
		if strings.LastIndexByte(body, ',') > strings.LastIndexByte(body, '.') {
			return ',', comma, point
		}
		return '.', comma, point
	case commas > 1:
		return '.', comma, point
	case points > 1:
		return ',', comma, point
	case commas == 1:
		if !couldGroup(body, ',') {
			return ',', comma, point
		}
	case points == 1:
		if !couldGroup(body, '.') {
			return '.', comma, point
		}
	}
	return 0, comma, point
}

// couldGroup reports whether the only mark of a number may separate thousands.
func couldGroup(body string, mark byte) bool {
	i := strings.IndexByte(body, mark)
	return i >= 1 && i <= 3 && len(body)-i-1 == 3 && body[0] != '0'
}

var errNumber = errors.New("not a number")

// value reads the digits of a number. It returns the digits behind the mark, too, and
// what stands between groups.
func (w *written) value(decimal byte) (v float64, decimals int, group string, err error) {
	whole, fraction, has := strings.Cut(w.body, string(decimal))
	if has && strings.IndexByte(fraction, decimal) >= 0 {
		return 0, 0, "", errNumber
	}
	for _, r := range fraction {
		if r < '0' || r > '9' {
			return 0, 0, "", errNumber
		}
	}
	digits := whole
	if i := strings.IndexFunc(whole, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		r, _ := utf8.DecodeRuneInString(whole[i:])
		group = string(r)
		parts := strings.Split(whole, group)
		for k, p := range parts {
			last := k == len(parts)-1
			for _, r := range p {
				if r < '0' || r > '9' {
					return 0, 0, "", errNumber
				}
			}
			// 12,34,567 counts in lakhs.
			if k == 0 && (len(p) < 1 || len(p) > 3) || last && len(p) != 3 || k > 0 && !last && len(p) != 3 && len(p) != 2 {
				return 0, 0, "", errNumber
			}
		}
		digits = strings.Join(parts, "")
	}
	text := digits + "." + fraction + w.exponent
	if w.negative {
		text = "-" + text
	}
	power := 0
	if k, ok := w.power(); ok {
		power = k
		text += fmt.Sprintf("e%d", k)
	}
	v, err = strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(v, 0) {
		if errors.Is(err, strconv.ErrRange) {
			return 0, 0, "", errors.New("too large for a number of 64 bits")
		}
		return 0, 0, "", errNumber
	}
	return v, len(fraction) - power, group, nil
}

// style is how a column writes numbers.
type style struct {
	decimal        byte
	decimals       int    // digits behind the mark
	group          string // between groups of three, or ""
	prefix, suffix string
	exponent       bool
	parentheses    bool
	multiplied     bool // K, M, B, T
}

// spell writes a number as the column does.
func (s *style) spell(v float64) string {
	suffix, shown := s.suffix, v
	if s.multiplied {
		for _, m := range []struct {
			name string
			size float64
		}{{"T", 1e12}, {"B", 1e9}, {"M", 1e6}, {"K", 1e3}} {
			if math.Abs(v) >= m.size {
				suffix, shown = m.name, v/m.size
				break
			}
		}
	}
	decimals := s.decimals
	if s.multiplied {
		decimals = 2
	}
	format := byte('f')
	if s.exponent && (math.Abs(shown) >= 1e15 || shown != 0 && math.Abs(shown) < 1e-5) {
		format, decimals = 'e', 6
	} else if s.exponent {
		decimals = -1
	}
	t := strconv.FormatFloat(math.Abs(shown), format, decimals, 64)
	negative := shown < 0 && strings.ContainsAny(t, "123456789")
	whole, fraction, has := strings.Cut(t, ".")
	if s.group != "" {
		var b strings.Builder
		for i, r := range whole {
			if i > 0 && (len(whole)-i)%3 == 0 {
				b.WriteString(s.group)
			}
			b.WriteRune(r)
		}
		whole = b.String()
	}
	if t = whole; has {
		t += string(s.decimal) + fraction
	}
	t = s.prefix + t + suffix
	switch {
	case negative && s.parentheses:
		return "(" + t + ")"
	case negative:
		return "-" + t
	}
	return t
}
