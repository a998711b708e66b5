package grammar

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/document"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// value is a JSON value whose objects keep the order of their keys.
type value struct {
	kind  kind
	truth bool
	text  string // text of a string
	num   json.Number
	items []*value
	keys  []string
	field map[string]*value
	path  *place

	// additional tests of strings, for a schema that the compiler has made
	tests []test
	// additional restrictions of numbers (only steps and except), for a schema that the
	// compiler has made
	numbers *numberSpec
	// additional assertion about objects and arrays, for a schema that the compiler has made
	some *some
}

// some asserts that an object has a member whose name passes the tests in names and whose value
// satisfies value. For arrays, it asserts that some item with index ≥ from satisfies value.
type some struct {
	names []test
	from  int
	value *value
}

type kind uint8

const (
	null kind = iota
	boolean
	number
	str
	array
	object
)

// place is the position of a value in a document, as a JSON pointer. nil is the root. Places
// share the steps above them.
type place struct {
	above *place
	name  string
}

func (p *place) in(name string) *place { return &place{p, name} }

// pointerEscapes escapes a step of a JSON pointer.
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// String returns the path as a JSON pointer.
func (p *place) String() string {
	var names []string
	for ; p != nil; p = p.above {
		names = append(names, pointerEscapes.Replace(p.name))
	}
	names = append(names, "#")
	slices.Reverse(names)
	return strings.Join(names, "/")
}

// decoder parses the text of a schema, which must be valid JSON.
type decoder struct {
	text   string
	at     int
	names  []string // names and values that have been read in all unfinished objects and arrays
	values []*value
	meter  *poll.Meter
}

// decode parses JSON text. The error is a [*SchemaError] or the error of the meter m.
func decode(data []byte, m *poll.Meter) (*value, error) {
	var syntax *json.SyntaxError
	if !json.Valid(data) && errors.As(json.Unmarshal(data, &json.RawMessage{}), &syntax) {
		return nil, &SchemaError{Path: "#", What: fmt.Sprintf("at byte %d: %s", syntax.Offset, check.Clip(syntax.Error()))}
	}
	return (&decoder{text: string(data), meter: m}).value(nil, 0)
}

// nesting bounds the depth of a schema, so that a malicious schema cannot exhaust the stack.
const nesting = 1000

// skip skips white space and the separators after it, and returns the next byte.
func (d *decoder) skip() byte {
	for strings.IndexByte(" \t\r\n,:", d.text[d.at]) >= 0 {
		d.at++
	}
	return d.text[d.at]
}

// string reads a string. Text that is not valid Unicode is an error, because package json would
// silently replace it by U+FFFD.
func (d *decoder) string(at *place) (s string, err error) {
	from, plain := d.at, true
	for d.at++; d.text[d.at] != '"'; d.at++ {
		if c := d.text[d.at]; c == '\\' || c >= utf8.RuneSelf {
			if plain = false; c == '\\' {
				d.at++
			}
		}
	}
	d.at++
	if plain {
		return d.text[from+1 : d.at-1], nil
	}
	written := []byte(d.text[from:d.at])
	if err := json.Unmarshal(written, &s); err != nil || strings.ContainsRune(s, utf8.RuneError) && !document.Unicode(written) {
		return "", &SchemaError{Path: at.String(), What: "the text " + check.Quote(s) + " is not Unicode: want UTF-8, and escapes of surrogates in pairs"}
	}
	return s, nil
}

func (d *decoder) value(at *place, depth int) (*value, error) {
	if depth > nesting {
		return nil, &SchemaError{Path: at.String(), What: fmt.Sprintf("%d levels, want ≤ %d", depth, nesting)}
	}
	v := &value{path: at}
	first, from := d.skip(), d.at
	switch first {
	case 'n':
		d.at += len("null")
	case 't':
		v.kind, v.truth = boolean, true
		d.at += len("true")
	case 'f':
		v.kind = boolean
		d.at += len("false")
	case '"':
		v.kind = str
		var err error
		if v.text, err = d.string(at); err != nil {
			return nil, err
		}
	case '[', '{':
		v.kind = array
		if first == '{' {
			v.kind = object
		}
		begin := len(d.values)
		for d.at++; ; {
			if c := d.skip(); c == ']' || c == '}' {
				break
			}
			name := strconv.Itoa(len(d.values) - begin)
			if v.kind == object {
				var err error
				if name, err = d.string(at); err != nil {
					return nil, err
				}
			}
			x, err := d.value(at.in(name), depth+1)
			if err != nil {
				return nil, err
			}
			d.names, d.values = append(d.names, name), append(d.values, x)
		}
		d.at++
		names, values := d.names[begin:], d.values[begin:]
		if v.kind == array {
			v.items = slices.Clone(values)
		} else {
			v.keys, v.field = make([]string, 0, len(names)), make(map[string]*value, len(names))
			for i, name := range names {
				v.set(name, values[i])
			}
		}
		d.names, d.values = d.names[:begin], d.values[:begin]
	default:
		v.kind = number
		for d.at < len(d.text) && strings.IndexByte("+-.0123456789eE", d.text[d.at]) >= 0 {
			d.at++
		}
		v.num = json.Number(d.text[from:d.at])
	}
	if d.meter.Done(64 + d.at - from) {
		return nil, d.meter.Err()
	}
	return v, nil
}

func (v *value) set(name string, x *value) {
	if _, ok := v.field[name]; !ok {
		v.keys = append(v.keys, name)
	}
	v.field[name] = x
}

func (v *value) get(name string) *value {
	if v == nil || v.kind != object {
		return nil
	}
	return v.field[name]
}

// made returns an object at the given place. pairs holds names and values in turn.
func made(path *place, pairs ...any) *value {
	v := &value{kind: object, field: map[string]*value{}, path: path}
	for i := 0; i < len(pairs); i += 2 {
		v.set(pairs[i].(string), pairs[i+1].(*value))
	}
	return v
}

func list(path *place, items ...*value) *value {
	return &value{kind: array, items: items, path: path}
}

func word(path *place, s string) *value { return &value{kind: str, text: s, path: path} }

func truth(path *place, b bool) *value { return &value{kind: boolean, truth: b, path: path} }

func count(path *place, n int) *value {
	return &value{kind: number, num: json.Number(fmt.Sprint(n)), path: path}
}

// anything is the schema without restrictions.
var anything = &value{kind: object}

// onlyIf returns s if it has one of the keywords or the field some. Otherwise it returns
// [anything], so that rules can be shared.
func onlyIf(s *value, keywords ...string) *value {
	if s.some != nil {
		return s
	}
	for _, k := range keywords {
		if s.get(k) != nil {
			return s
		}
	}
	return anything
}

// countOf returns the value of a keyword that must be a whole number. The number may be spelled
// 2.0.
func countOf(v *value) (int, error) {
	f, err := strconv.ParseFloat(string(v.num), 64)
	if v.kind != number || err != nil || f < 0 || f > 1<<30 || f != float64(int(f)) {
		return 0, malformed(v, "a whole number in 0…2³⁰")
	}
	return int(f), nil
}

// SchemaError reports a JSON Schema that is malformed, that [JSONSchema] does not support, or that
// no value satisfies. Path locates the problem.
type SchemaError struct {
	Path string // JSON pointer, for instance "#/properties/a/uniqueItems"
	What string
	// Unsupported is true if the schema may be valid but uses an unsupported feature.
	Unsupported bool
	// Empty is true if no value satisfies the schema. The error then wraps
	// constraint.ErrInfeasible.
	Empty bool
}

// Unwrap returns constraint.ErrInfeasible if no value satisfies the schema.
func (e *SchemaError) Unwrap() error {
	if e.Empty {
		return constraint.ErrInfeasible
	}
	return nil
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("grammar: schema: %s: %s", check.Clip(e.Path), e.What)
}

func unsupported(v *value, keyword, format string, args ...any) error {
	return &SchemaError{Path: v.path.in(keyword).String(), What: fmt.Sprintf(format, args...), Unsupported: true}
}

func malformed(v *value, want string) error {
	return &SchemaError{Path: v.path.String(), What: "want " + want}
}
