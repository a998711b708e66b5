package grammar

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// numberOf collects the keywords of s about numbers. whole states that an integer must be
// spelled without a fraction, plain that numbers have no exponent because several schemas must
// read the same texts.
func numberOf(s *value, t typeSet, whole, plain bool) (numberSpec, error) {
	spec := numberSpec{integer: !t.number, whole: !t.number && whole, plain: plain}
	for _, k := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} {
		x := s.get(k)
		if x == nil || x.kind == boolean {
			continue
		}
		d, err := parseDecimal(x.num)
		if err != nil {
			return spec, unsupported(s, k, "%v", err)
		}
		b := bound{at: d, lower: strings.HasSuffix(k, "inimum"), excluded: k[0] == 'e'}
		if y := s.get("exclusiveMinimum"); k == "minimum" && y != nil && y.kind == boolean { // draft 4
			b.excluded = y.truth
		}
		if y := s.get("exclusiveMaximum"); k == "maximum" && y != nil && y.kind == boolean {
			b.excluded = y.truth
		}
		spec.bounds = append(spec.bounds, b)
	}
	if x := s.get("multipleOf"); x != nil {
		d, err := parseDecimal(x.num)
		if err != nil {
			return spec, unsupported(s, "multipleOf", "%v", err)
		}
		spec.steps = append(spec.steps, step{d, true})
	}
	if x := s.numbers; x != nil {
		spec.except, spec.steps = x.except, append(spec.steps, x.steps...)
	}
	return spec, nil
}

// stringOf collects the keywords of s about strings. low states that several schemas must read
// the same texts, so that \u escapes are restricted. negated states that s is below a negation,
// where failing s may make a value valid.
func (c *patterns) stringOf(s *value, low, negated bool) (stringSpec, error) {
	spec := stringSpec{most: -1, low: low, tests: slices.Clip(s.tests)}
	var err error
	if x := s.get("minLength"); x != nil {
		if spec.least, err = countOf(x); err != nil {
			return spec, err
		}
	}
	if x := s.get("maxLength"); x != nil {
		if spec.most, err = countOf(x); err != nil {
			return spec, err
		}
	}
	if max(spec.least, spec.most) >= 1<<24 {
		return spec, unsupported(s, "maxLength", "lengths from 2²⁴ are not supported")
	}
	if x := s.get("pattern"); x != nil {
		p := x.text
		if low, high, is := lengthOf(p); is {
			p = "^.*$"
			spec.least = max(spec.least, low)
			if high >= 0 && (spec.most < 0 || high < spec.most) {
				spec.most = high
			}
		}
		tests, err := c.pattern(p, x.path)
		if err != nil {
			return spec, err
		}
		spec.tests = append(spec.tests, tests...)
	}
	if x := s.get("format"); x != nil {
		tests, err := c.format(s, x.text, negated)
		if err != nil {
			return spec, err
		}
		spec.tests = append(spec.tests, tests...)
	}
	return spec, nil
}

// onlyDots is a pattern that, apart from line breaks, asserts only a length.
var onlyDots = regexp.MustCompile(`^\^(?:(\.+)|\.\{([0-9]{1,4})(,?)([0-9]{0,4})\})\$$`)

// lengthOf reports whether a pattern is equivalent to ^.*$ and bounds on the number of characters, and
// returns these. high is −1 if there is no upper bound.
func lengthOf(pattern string) (low, high int, is bool) {
	m := onlyDots.FindStringSubmatch(pattern)
	if m == nil {
		return 0, -1, false
	}
	if m[1] != "" {
		return len(m[1]), len(m[1]), true
	}
	low, _ = strconv.Atoi(m[2])
	switch {
	case m[3] == "":
		return low, low, m[4] == ""
	case m[4] == "":
		return low, -1, true
	}
	high, _ = strconv.Atoi(m[4])
	return low, high, low <= high // otherwise, the pattern is invalid
}

// typeSet is a set of the JSON Schema types.
type typeSet struct{ null, boolean, object, array, number, integer, str bool }

// typesOf returns the types that the keyword type of s allows, or all types if s lacks the
// keyword.
func typesOf(s *value) (t typeSet, err error) {
	x := s.get("type")
	if x == nil {
		return typeSet{true, true, true, true, true, true, true}, nil
	}
	names := x.items
	if x.kind == str {
		names = []*value{x}
	}
	for _, n := range names {
		switch {
		case n.kind != str:
			return t, malformed(n, "the name of a type")
		case n.text == "null":
			t.null = true
		case n.text == "boolean":
			t.boolean = true
		case n.text == "object":
			t.object = true
		case n.text == "array":
			t.array = true
		case n.text == "number":
			t.number, t.integer = true, true
		case n.text == "integer":
			t.integer = true
		case n.text == "string":
			t.str = true
		default:
			return t, malformed(n, "null, boolean, object, array, number, integer or string")
		}
	}
	return t, nil
}

// has reports whether v is of one of the types in the set.
func (t typeSet) has(v *value) bool {
	switch v.kind {
	case null:
		return t.null
	case boolean:
		return t.boolean
	case str:
		return t.str
	case array:
		return t.array
	case object:
		return t.object
	}
	d, err := parseDecimal(v.num)
	return t.number || t.integer && err == nil && d.fraction == ""
}
