package seriesdata

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// absent reports whether s is one of the usual texts for a missing number.
func absent(s string) bool {
	switch strings.ToLower(s) {
	case "", "na", "n/a", "n.a.", "nan", "-nan", "nat", "null", "(null)", "<null>", "none", "nil", "<na>", `\n`, "missing", "no data", "nodata", "no_data", "n.d.", "n/d", "n/e", "-1.#ind", "1.#ind", "-1.#qnan", "1.#qnan", "unavailable", "unknown",
		"-", "--", "---", "–", "—", "?", ":", ".", "..", "...", "#n/a", "#na", "#n/a n/a":
		return true
	}
	return strings.Trim(s, "*") == "" || cellError.MatchString(s)
}

// cellError matches the errors of spreadsheets in several languages, such as #DIV/0!, #NV, #N/D and
// #¿NOMBRE?. Words without such marks, such as #BTC, may be names.
var cellError = regexp.MustCompile(`^#(?:NA|NV|DIV/0|GETTING_DATA|\p{Lu}/\p{Lu}|[¡¿]?[\p{Lu}/0]{2,15}[!?]|¡[\p{Lu}/0]{2,15})$`)

// currency matches a currency before a number: a symbol with or without letters, or a code.
var currency = regexp.MustCompile(`^(?:[A-Z]{0,3}\p{Sc}|(?:USD|EUR|GBP|JPY|CHF|CAD|AUD|NZD|CNY|HKD|SGD|INR|KRW|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR|TRY|Rs\.?|kr\.?|Fr\.?)[ \x{a0}]?)`)

// written is a number as it is written in a cell: sign, digits with separators, and the text around
// them.
type written struct {
	negative       bool
	parentheses    bool
	prefix, suffix string // prefix: a currency sign; suffix: a unit, per cent sign or multiplier
	body           string // digits with decimal and group separators
	exponent       string // exponent including its e; "" if none
	blank          bool   // whether a blank precedes the suffix
}

// groupMarks lists the characters, besides points and commas, that separate groups of three digits.
const groupMarks = " '’\u00a0\u2009\u202f"

// take splits the cell s into the parts of a number; ok reports whether s is meant as a number.
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
		case strings.HasPrefix(s, "−"), strings.HasPrefix(s, "–"): // U+2212 and the en dash
			w.negative, s = true, s[len("−"):]
		case strings.HasPrefix(s, "+"):
			s = s[1:]
		}
	}
	before := s
	sign()
	signed := len(s) < len(before)
	if s != "" && (s[0] < '0' || s[0] > '9') {
		w.prefix = currency.FindString(s)
		s = strings.TrimLeft(s[len(w.prefix):], " ")
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
	if s == "-" && !w.negative && !w.parentheses { // SAP writes the minus sign at the end
		w.negative, s = true, ""
	}
	w.suffix = s
	return w, isUnit(s)
}

// isUnit reports whether s may be a unit after a number.
func isUnit(s string) bool {
	if utf8.RuneCountInString(s) > 10 {
		return false
	}
	letters := false
	for _, r := range s {
		switch {
		case unicode.IsLetter(r):
			letters = true
		case unicode.Is(unicode.Sc, r), strings.ContainsRune("%‰°/²³·*^", r):
		case letters && (r == '2' || r == '3'): // as in m2, but 5/2 and 10^3 are not 5 and 10
		default:
			return false
		}
	}
	return true
}

var (
	// footnote matches a number with the mark of a footnote behind it, such as 12.5†, 12.5 (a) or 12.5 [1].
	footnote = regexp.MustCompile(`^[-+−–]?\d[\d.,'’ \x{a0}\x{2009}\x{202f}]*?[ \x{a0}]?([*†‡§¶#^¹²³⁰⁴-⁹]+|\([\pL\d*]{1,3}\)|\[[^\[\]]{1,12}\]|[A-Za-z\d]\)|[A-Za-z*]{1,2}(?:[ ,/][A-Za-z*]{1,2})+)$`)
	// deviation matches a number with its uncertainty behind it, such as 5.1±0.2, 5.1 (0.2) or 5.1 [4.9; 5.3].
	deviation = regexp.MustCompile(`^[-+−–]?[\d.,]+ ?(?:(?:±|\+/-|\+-|\+/−) ?[\d.,]+|[(\[][-−–\d.,; ]*[.,;][-−–\d.,; ]*[)\]]$)`)
)

// duration matches a duration such as 7h 30m.
var duration = regexp.MustCompile(`^\d+ ?h(?:rs?|ours?)?,? ?\d+ ?m(?:in|inutes)?\.?(?: ?\d+ ?s(?:ec|econds)?\.?)?$`)

// removal is the cure for marks behind numbers.
const removal = "remove it, write it into a column of its own, or count the cell as missing by Options.Missing (-missing.text)"

// marked says what is wrong with the cell s if it is a number with a mark or an uncertainty behind it,
// or a duration, and what to do. Otherwise it returns "".
func marked(s string) string {
	if deviation.MatchString(s) {
		return fmt.Sprintf("%q is a number with its uncertainty; write the uncertainty into a column of its own", s)
	}
	if p, ok := parseStamp(s); ok && !p.hasDate || duration.MatchString(s) {
		return fmt.Sprintf("%q is a time of day or a duration; write it as a number of one unit, such as minutes", s)
	}
	if m := footnote.FindStringSubmatch(s); m != nil {
		if m[1][0] == '(' && len(m[1]) > 3 {
			return fmt.Sprintf("%q has %q behind the number; if it is a unit, write it without brackets; if it is a mark, %s", s, m[1], removal)
		}
		return fmt.Sprintf("%q has the mark %q behind the number; %s", s, m[1], removal)
	}
	return ""
}

// isMark reports whether suffix, which is behind a number of a column, may be a mark such as p for
// provisional, if other is behind another number of the column.
func isMark(suffix, other string) bool {
	switch letters := strings.Trim(strings.ToLower(suffix), "abcdefghijklmnopqrstuvwxyz*") == ""; {
	case suffix == "" || strings.Trim(suffix, "*^") == "":
		return suffix != ""
	case len(suffix) > 2 || !letters:
		return false
	case other == "":
		return len(suffix) == 1 || !knownUnits.MatchString(suffix)
	}
	return len(suffix) == 1 && len(other) == 1 && suffix >= "a" && other >= "a" // two letters that differ
}

// unlike says that the cell s ends in a suffix that the number of another line does not have, and
// what to do.
func unlike(s, suffix string, line int) string {
	if strings.Trim(suffix, "*^") == "" {
		return fmt.Sprintf("%q has the mark %q behind the number; %s", s, suffix, removal)
	}
	return fmt.Sprintf("%q ends in %q, which line %d does not have; if it is a unit, write it behind all numbers; if it is a mark, %s", s, suffix, line, removal)
}

// multipliers maps the suffixes K, M, B and T of a number to powers of ten.
var multipliers = map[string]int{"K": 3, "k": 3, "M": 6, "B": 9, "T": 12}

// power returns the power of ten that the suffix means; ok is false if it is not a multiplier. K
// after a blank means kelvin.
func (w *written) power() (int, bool) {
	k, ok := multipliers[w.suffix]
	return k, ok && w.exponent == "" && !(w.blank && w.suffix == "K")
}

// marks infers the decimal separator of a number: '.', ',' or 0 if both are possible. comma and
// point report whether the number contains these characters.
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

// couldGroup reports whether mark, the only separator in body, may separate thousands.
func couldGroup(body string, mark byte) bool {
	i := strings.IndexByte(body, mark)
	return i >= 1 && i <= 3 && len(body)-i-1 == 3 && body[0] != '0'
}

var errNumber = errors.New("not a number")

// value parses the number with the given decimal separator. It also returns the number of decimals,
// negative for multiples of a power of ten, and the group separator.
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
	if decimal == ',' && has && len(whole) > 1 && whole[0] == '0' && whole[1] != ',' {
		return 0, 0, "", errNumber // 0100,1 is two numbers
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
			// Groups of two digits, as in 12,34,567, are Indian notation (lakhs).
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

// style is the number format of a column.
type style struct {
	decimal        byte
	decimals       int    // number of digits after the decimal separator
	group          string // separator between groups of three digits; "" if none
	prefix, suffix string
	exponent       bool
	parentheses    bool
	multiplied     bool // whether suffixes K, M, B and T are used
}

// spell formats v in the number format s.
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
