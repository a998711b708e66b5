package generate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// node is a JSON value whose object members keep their order.
type node struct {
	raw   json.RawMessage // JSON text of a scalar; nil for arrays and objects
	items []*node
	keys  []string // names of the members in order; nil unless the value is an object
	field map[string]*node
}

// parse parses the JSON text of a schema.
func parse(ctx context.Context, data []byte) (*node, error) {
	p := &parser{data: data, Decoder: json.NewDecoder(bytes.NewReader(data))}
	p.meter.Watch(ctx)
	return p.value()
}

type parser struct {
	*json.Decoder
	data  []byte
	meter poll.Meter
}

// value reads the next value.
func (p *parser) value() (*node, error) {
	if p.meter.Done(256) {
		return nil, p.meter.Err()
	}
	from := p.InputOffset()
	first, err := p.Token()
	if err != nil {
		return nil, err
	}
	n := made()
	switch first {
	default:
		raw := p.data[from:p.InputOffset()]
		return &node{raw: bytes.TrimLeft(raw, " \t\r\n:,")}, nil
	case json.Delim('['):
		n = &node{items: []*node{}}
		for p.More() {
			x, err := p.value()
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, x)
		}
	case json.Delim('{'):
		for p.More() {
			key, err := p.Token()
			if err != nil {
				return nil, err
			}
			x, err := p.value()
			if err != nil {
				return nil, err
			}
			n.set(key.(string), x)
		}
	}
	_, err = p.Token() // ] or }
	return n, err
}

// made returns an object with the given members. The slice pairs holds names and nodes in turn.
func made(pairs ...any) *node {
	n := &node{keys: []string{}, field: map[string]*node{}}
	for i := 0; i < len(pairs); i += 2 {
		n.set(pairs[i].(string), pairs[i+1].(*node))
	}
	return n
}

func list(items ...*node) *node { return &node{items: items} }

func scalar(v any) *node {
	raw, _ := json.Marshal(v) // numbers, texts and Booleans
	return &node{raw: raw}
}

func (n *node) set(key string, x *node) {
	if _, ok := n.field[key]; !ok {
		n.keys = append(n.keys, key)
	}
	n.field[key] = x
}

// with returns a copy of an object in which the member with the given key is x. If x is nil, the
// member is removed.
func (n *node) with(key string, x *node) *node {
	m := &node{keys: slices.Clone(n.keys), field: maps.Clone(n.field)}
	if x != nil {
		m.set(key, x)
		return m
	}
	m.keys = slices.DeleteFunc(m.keys, func(k string) bool { return k == key })
	delete(m.field, key)
	return m
}

// and returns a copy of the schema n to which the schema x is added as a further condition.
func (n *node) and(x *node) *node {
	all := &node{items: []*node{x}}
	if old := n.field["allOf"]; old != nil {
		all.items = append(all.items, old.items...)
	}
	return n.with("allOf", all)
}

func (n *node) MarshalJSON() ([]byte, error) {
	if n.raw != nil {
		return n.raw, nil
	}
	var b bytes.Buffer
	if n.keys == nil {
		return json.Marshal(n.items)
	}
	b.WriteByte('{')
	for i, k := range n.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(k) // a text
		b.Write(name)
		b.WriteByte(':')
		value, err := n.field[k].MarshalJSON()
		if err != nil {
			return nil, err
		}
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// number returns the value of a whole number. The result ok is false if n is not a whole number.
func (n *node) number() (int, bool) {
	f, err := strconv.ParseFloat(string(n.raw), 64)
	return int(f), err == nil && f == float64(int(f))
}

// mutation is a modified schema, with the JSON pointer of the keyword that was changed.
type mutation struct {
	schema  []byte
	keyword string
}

// change returns modified versions of the schema s that differ from s because of one keyword.
// Values must satisfy the modified schema instead of s.
type change func(s *node, keyword string) []*node

// deepest bounds the depth of nested schemas that mutations follows, because recursion through
// $ref has no end.
const deepest = 6

// mutations returns the schemas in which one keyword is changed by c. So that the changed part
// applies to every value, properties on the path to it are made required, and arrays get at least
// one item.
//
// If the context ends, so does the sequence.
func (n *node) mutations(ctx context.Context, c change) iter.Seq[mutation] {
	return func(yield func(mutation) bool) {
		n.within(ctx, n, "#", 0, c, func(s *node, keyword string) bool {
			raw, err := s.MarshalJSON()
			return err != nil || yield(mutation{raw, keyword})
		})
	}
}

// within yields copies of s with one change each, until the function yield returns false or the
// context ends. The argument pointer is the JSON pointer of s. References are resolved in root.
func (s *node) within(ctx context.Context, root *node, pointer string, depth int, c change, yield func(s *node, keyword string) bool) bool {
	if s.keys == nil || depth > deepest {
		return true
	}
	if poll.Err(ctx) != nil {
		return false
	}
	if ref := s.field["$ref"]; ref != nil {
		target := root.follow(ref)
		if target == nil {
			return true
		}
		// What is referred to is changed in place, other references to it are not.
		return target.within(ctx, root, pointer+"/$ref", depth+1, c, func(x *node, keyword string) bool { return yield(s.with("$ref", nil).and(x), keyword) })
	}
	for _, k := range s.keys {
		here := pointer + "/" + escape(k)
		for _, x := range c(s, k) {
			if !yield(x, here) {
				return false
			}
		}
		x := s.field[k]
		switch {
		case k == "properties" && x.keys != nil:
			for _, name := range x.keys {
				ok := x.field[name].within(ctx, root, here+"/"+escape(name), depth+1, c, func(y *node, keyword string) bool {
					return yield(s.with(k, x.with(name, y)).and(typed("object", "required", list(scalar(name)))), keyword)
				})
				if !ok {
					return false
				}
			}
		case k == "items" && x.keys != nil, k == "additionalProperties" && x.keys != nil:
			some := typed("array", "minItems", scalar(1))
			if k != "items" {
				some = typed("object", "required", list(scalar("other")))
			}
			if !x.within(ctx, root, here, depth+1, c, func(y *node, keyword string) bool { return yield(s.with(k, y).and(some), keyword) }) {
				return false
			}
		case (k == "prefixItems" || k == "allOf") && x.keys == nil:
			for i, y := range x.items {
				ok := y.within(ctx, root, here+"/"+strconv.Itoa(i), depth+1, c, func(y *node, keyword string) bool {
					items := slices.Clone(x.items)
					items[i] = y
					changed := s.with(k, list(items...))
					if k == "prefixItems" {
						changed = changed.and(typed("array", "minItems", scalar(i+1)))
					}
					return yield(changed, keyword)
				})
				if !ok {
					return false
				}
			}
		}
	}
	return true
}

// typed returns a schema for one type, with the given keywords. The slice pairs holds keywords and
// their values in turn.
func typed(name string, pairs ...any) *node {
	return made(append([]any{"type", scalar(name)}, pairs...)...)
}

func constant(x *node) *node { return made("const", x) }

// about holds, for each keyword, the type of values that the keyword restricts.
var about = map[string]string{
	"minimum": "number", "maximum": "number", "exclusiveMinimum": "number", "exclusiveMaximum": "number", "multipleOf": "number",
	"minLength": "string", "maxLength": "string", "pattern": "string", "format": "string",
	"minItems": "array", "maxItems": "array", "contains": "array", "uniqueItems": "array",
	"minProperties": "object", "maxProperties": "object", "propertyNames": "object", "dependentRequired": "object", "dependentSchemas": "object",
}

func escape(k string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(k) }

// follow returns the schema to which a local reference (#/…) leads. It returns nil if the reference
// is not local or there is no such schema.
func (n *node) follow(ref *node) *node {
	var text string
	if json.Unmarshal(ref.raw, &text) != nil || !strings.HasPrefix(text, "#") {
		return nil
	}
	at := n
	for _, k := range strings.Split(strings.TrimPrefix(text, "#"), "/")[1:] {
		if at = at.field[strings.NewReplacer("~1", "/", "~0", "~").Replace(k)]; at == nil {
			return nil
		}
	}
	return at
}

// limits returns versions of the schema s whose values meet the limit set by the keyword k
// exactly.
func limits(s *node, k string) []*node {
	x := s.field[k]
	switch k {
	case "minLength", "minItems", "minProperties":
		return []*node{s.and(typed(about[k], "max"+k[3:], x))}
	case "maxLength", "maxItems", "maxProperties":
		return []*node{s.and(typed(about[k], "min"+k[3:], x))}
	case "minimum", "maximum":
		return []*node{s.and(constant(x))}
	case "exclusiveMinimum", "exclusiveMaximum": // the nearest integer
		if n, ok := x.number(); ok && k == "exclusiveMinimum" {
			return []*node{s.and(constant(scalar(n + 1)))}
		} else if ok {
			return []*node{s.and(constant(scalar(n - 1)))}
		}
	case "enum":
		if n := len(x.items); n > 0 {
			return []*node{s.and(constant(x.items[0])), s.and(constant(x.items[n-1]))}
		}
	case "properties":
		var all []*node
		for _, name := range x.keys {
			all = append(all, s.and(typed("object", "properties", made(name, scalar(false)))), s.and(typed("object", "required", list(scalar(name)))))
		}
		return all
	}
	return nil
}

// negations returns versions of the schema s whose values violate the keyword k but satisfy all
// other keywords.
func negations(s *node, k string) []*node {
	x := s.field[k]
	rest := s.with(k, nil)
	not := func(keys ...string) *node {
		is := made()
		for _, k := range keys {
			if s.field[k] != nil {
				is.set(k, s.field[k])
			}
		}
		return rest.and(made("not", is))
	}
	switch k {
	case "type", "enum", "const", "anyOf", "oneOf", "not":
		return []*node{not(k)}
	case "if":
		return []*node{not("if", "then", "else")}
	case "required":
		var all []*node
		for _, name := range x.items {
			var text string
			if json.Unmarshal(name.raw, &text) != nil {
				continue
			}
			kept := list(slices.DeleteFunc(slices.Clone(x.items), func(y *node) bool { return y == name })...)
			all = append(all, s.with(k, kept).and(typed("object", "properties", made(text, scalar(false)))))
		}
		return all
	case "additionalProperties":
		if string(x.raw) != "false" {
			return nil
		}
		name := "other"
		for i := 0; s.field["properties"] != nil && s.field["properties"].field[name] != nil; i++ {
			name = fmt.Sprint("other", i)
		}
		return []*node{rest.and(typed("object", "properties", made(name, scalar(true)), "required", list(scalar(name))))}
	}
	if t, ok := about[k]; ok { // the value has that type
		return []*node{not(k).and(typed(t))}
	}
	return nil
}
