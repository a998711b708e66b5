package grammar

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// value is a JSON value whose objects keep the order of their keys.
type value struct {
	kind  kind
	text  string // of a string
	num   json.Number
	truth bool
	items []*value
	keys  []string
	field map[string]*value
	path  string // where it stands, as a JSON pointer
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

// decode parses JSON text.
func decode(data []byte) (*value, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := decodeValue(d, "#", 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err == nil {
		return nil, fmt.Errorf("more than one value")
	}
	return v, nil
}

// nesting bounds the depth of a schema, so that a hostile one cannot exhaust
// the stack.
const nesting = 1000

func decodeValue(d *json.Decoder, path string, depth int) (*value, error) {
	if depth > nesting {
		return nil, fmt.Errorf("%d levels, want ≤ %d", depth, nesting)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	v := &value{path: path}
	switch t := t.(type) {
	case nil:
	case bool:
		v.kind, v.truth = boolean, t
	case json.Number:
		v.kind, v.num = number, t
	case string:
		v.kind, v.text = str, t
	case json.Delim:
		if t == '[' {
			v.kind = array
			for d.More() {
				x, err := decodeValue(d, fmt.Sprintf("%s/%d", path, len(v.items)), depth+1)
				if err != nil {
					return nil, err
				}
				v.items = append(v.items, x)
			}
		} else {
			v.kind, v.field = object, map[string]*value{}
			for d.More() {
				k, err := d.Token()
				if err != nil {
					return nil, err
				}
				name := k.(string)
				x, err := decodeValue(d, path+"/"+escapePointer(name), depth+1)
				if err != nil {
					return nil, err
				}
				v.set(name, x)
			}
		}
		if _, err := d.Token(); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func escapePointer(s string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(s)
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

// made returns an object that stands at path, of names and values in turn.
func made(path string, pairs ...any) *value {
	v := &value{kind: object, field: map[string]*value{}, path: path}
	for i := 0; i < len(pairs); i += 2 {
		v.set(pairs[i].(string), pairs[i+1].(*value))
	}
	return v
}

func list(path string, items ...*value) *value {
	return &value{kind: array, items: items, path: path}
}

func word(path, s string) *value { return &value{kind: str, text: s, path: path} }

func truth(path string, b bool) *value { return &value{kind: boolean, truth: b, path: path} }

func count(path string, n int) *value {
	return &value{kind: number, num: json.Number(fmt.Sprint(n)), path: path}
}

// anything is the schema that restricts nothing.
var anything = &value{kind: object, path: "#"}

// onlyIf returns s if it has one of the keywords, and otherwise the schema that
// restricts nothing, so that rules are shared.
func onlyIf(s *value, keywords ...string) *value {
	for _, k := range keywords {
		if s.get(k) != nil {
			return s
		}
	}
	return anything
}

// countOf reads a number of things, which may be spelled 2.0.
func countOf(v *value) (int, error) {
	f, err := strconv.ParseFloat(string(v.num), 64)
	if v.kind != number || err != nil || f < 0 || f > 1<<30 || f != float64(int(f)) {
		return 0, malformed(v, "a whole number in 0…2³⁰")
	}
	return int(f), nil
}

// SchemaError is the error of a JSON Schema, with the place of what is malformed or what
// [JSONSchema] does not understand.
type SchemaError struct {
	Path string // JSON pointer, "#/properties/a/uniqueItems"
	What string
	// Unsupported is true if the schema may be valid but uses what is not understood.
	Unsupported bool
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("grammar: schema: %s: %s", check.Clip(e.Path), e.What)
}

func unsupported(v *value, keyword, format string, args ...any) error {
	return &SchemaError{Path: v.path + "/" + escapePointer(keyword), What: fmt.Sprintf(format, args...), Unsupported: true}
}

func malformed(v *value, want string) error {
	return &SchemaError{Path: v.path, What: "want " + want}
}
