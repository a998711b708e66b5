package grammar

import (
	"slices"
	"strings"
)

// schemas splits the schemas of a document into their assertions.
type schemas struct {
	references
	made      map[*value][]part
	annotated map[string]bool // paths of the keywords and formats that no draft defines
}

// part is one assertion of a schema. A schema is the conjunction of its parts.
type part struct {
	op     op
	s      *value   // schema of an opPlain part
	values []*value // allowed scalars of an opEnum part
	whole  bool     // for opEnum: integers must be spelled without a fraction
	subs   []*value
}

type op uint8

const (
	opPlain op = iota // type, and the keywords that concern one type
	opEnum            // equality with one of the scalars in values
	opAll
	opAny
	opOne
	opNot
	opNever
)

// assertions holds the keywords of opPlain parts, with a function that checks the form of the
// keyword's value.
var assertions = map[string]func(v *value) bool{
	"type": isStringOrList, "properties": isObject, "patternProperties": isObject, "additionalProperties": isSchema,
	"required": isList, "minProperties": isCount, "maxProperties": isCount, "propertyNames": isSchema,
	"items": func(v *value) bool { return isSchema(v) || isList(v) }, "prefixItems": isList, "additionalItems": isSchema,
	"contains": isSchema, "minContains": isCount, "maxContains": isCount, "minItems": isCount, "maxItems": isCount,
	"uniqueItems": isBoolean, "minLength": isCount, "maxLength": isCount, "pattern": isString, "format": isString,
	"minimum": isNumber, "maximum": isNumber, "multipleOf": isNumber,
	"exclusiveMinimum": func(v *value) bool { return isNumber(v) || isBoolean(v) },
	"exclusiveMaximum": func(v *value) bool { return isNumber(v) || isBoolean(v) },
}

// refused lists the keywords of draft 3 that are not supported.
var refused = []string{"extends", "disallow", "divisibleBy"}

// silent lists the keywords that assert nothing by themselves, and those that other functions
// handle.
var silent = []string{"$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$ref", "$dynamicRef", "$recursiveRef",
	"$vocabulary", "$comment", "$defs", "definitions", "title", "description", "default", "deprecated", "readOnly", "writeOnly", "examples",
	"contentEncoding", "contentMediaType", "contentSchema", "enum", "const", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
	"dependencies", "dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems"}

// annotations records the keywords and the format of s that no draft defines.
func (c *schemas) annotations(s *value) {
	for _, k := range s.keys {
		_, asserts := assertions[k]
		unknown := !asserts && !slices.Contains(silent, k)
		if x := s.field[k]; k == "format" && x.kind == str {
			_, known := formats[x.text]
			unknown = !known
		}
		if unknown && s != anything {
			c.annotated[s.path.in(k).String()] = true
		}
	}
}

func isObject(v *value) bool  { return v.kind == object }
func isSchema(v *value) bool  { return v.kind == object || v.kind == boolean }
func isList(v *value) bool    { return v.kind == array }
func isBoolean(v *value) bool { return v.kind == boolean }
func isString(v *value) bool  { return v.kind == str }
func isNumber(v *value) bool  { return v.kind == number }
func isCount(v *value) bool   { _, err := countOf(v); return err == nil }
func isStringOrList(v *value) bool {
	return v.kind == str || v.kind == array
}

// plain reports whether s has assertions about types.
func (c *schemas) plain(s *value) bool {
	return slices.ContainsFunc(c.made[s], func(p part) bool { return p.op == opPlain })
}

// parts returns the assertions of s. The result is cached.
func (c *schemas) parts(s *value) ([]part, error) {
	if p, ok := c.made[s]; ok {
		return p, nil
	}
	p, err := c.split(s)
	if err == nil {
		c.made[s] = p
	}
	return p, err
}

func (c *schemas) split(s *value) (parts []part, err error) {
	switch {
	case s.kind == boolean && s.truth:
		return nil, nil
	case s.kind == boolean:
		return []part{{op: opNever}}, nil
	case s.kind != object:
		return nil, malformed(s, "a schema: an object or a Boolean")
	}
	targets, err := c.targets(s)
	if err != nil {
		return nil, err
	}
	for _, x := range targets {
		parts = append(parts, part{op: opAll, subs: []*value{x}})
	}
	if c.legacy && s.get("$ref") != nil {
		return parts, nil
	}
	for _, k := range refused {
		if x := s.get(k); x != nil && c.third {
			return nil, unsupported(s, k, "not supported")
		}
	}
	c.annotations(s)
	isPlain := false
	for _, k := range s.keys {
		if ok := assertions[k]; ok != nil {
			if !ok(s.field[k]) {
				return nil, malformed(s.field[k], "what the standard says of "+k)
			}
			isPlain = true
		}
	}
	if isPlain {
		parts = append(parts, part{op: opPlain, s: s})
	}
	for _, k := range []string{"allOf", "anyOf", "oneOf"} {
		x := s.get(k)
		if x == nil {
			continue
		}
		if x.kind != array || len(x.items) == 0 {
			return nil, malformed(x, "a list of schemas")
		}
		switch {
		case k == "allOf":
			for _, sub := range x.items {
				parts = append(parts, part{op: opAll, subs: []*value{sub}})
			}
		case k == "anyOf" || len(x.items) == 1:
			parts = append(parts, part{op: opAny, subs: x.items})
		default:
			parts = append(parts, part{op: opOne, subs: x.items})
		}
	}
	if x := s.get("not"); x != nil {
		parts = append(parts, part{op: opNot, subs: []*value{x}})
	}
	parts = append(parts, c.conditions(s)...)
	enums, err := c.enums(s)
	if err != nil {
		return nil, err
	}
	if len(enums) > 0 && typeOnly(s) {
		parts = slices.DeleteFunc(parts, func(p part) bool { return p.op == opPlain })
	}
	dependent, err := c.dependencies(s)
	if err != nil {
		return nil, err
	}
	rest, err := c.unevaluated(s)
	return append(append(append(parts, enums...), dependent...), rest...), err
}

// typeOnly reports whether type is the only assertion of s about types. enums has already
// applied that keyword to the listed values.
func typeOnly(s *value) bool {
	for _, k := range s.keys {
		if assertions[k] != nil && k != "type" {
			return false
		}
	}
	return true
}

// conditions rewrites if/then/else as (¬if ∨ then) ∧ (if ∨ else).
func (c *schemas) conditions(s *value) (parts []part) {
	x := s.get("if")
	if x == nil {
		return nil
	}
	if then := s.get("then"); then != nil {
		parts = append(parts, part{op: opAny, subs: []*value{made(x.path, "not", x), then}})
	}
	if other := s.get("else"); other != nil {
		parts = append(parts, part{op: opAny, subs: []*value{x, other}})
	}
	return parts
}

// enums rewrites enum and const as a choice between scalars and schemas, where each schema
// describes one array or object.
func (c *schemas) enums(s *value) (parts []part, err error) {
	for _, k := range []string{"enum", "const"} {
		x := s.get(k)
		if x == nil {
			continue
		}
		all := []*value{x}
		if k == "enum" {
			if x.kind != array {
				return nil, malformed(x, "a list")
			}
			all = x.items
		}
		var scalars, subs []*value
		for _, v := range all {
			if types, err := typesOf(s); err != nil {
				return nil, err
			} else if !types.has(v) {
				continue
			}
			switch v.kind {
			case array:
				subs = append(subs, constArray(v))
			case object:
				subs = append(subs, constObject(v))
			default:
				scalars = append(scalars, v)
			}
		}
		switch {
		case len(subs) == 0:
			types, err := typesOf(s)
			if err != nil {
				return nil, err
			}
			parts = append(parts, part{op: opEnum, values: scalars, whole: types.integer && !types.number})
		default:
			if len(scalars) > 0 {
				subs = append(subs, scalarsOf(s, x, scalars))
			}
			parts = append(parts, part{op: opAny, subs: subs})
		}
	}
	return parts, nil
}

// scalarsOf returns a schema for the given scalars of an enum of s. It keeps the keyword type
// of s.
func scalarsOf(s, enum *value, scalars []*value) *value {
	v := made(enum.path, "enum", list(enum.path, scalars...))
	if t := s.get("type"); t != nil {
		v.set("type", t)
	}
	return v
}

func constArray(v *value) *value {
	items := list(v.path)
	for _, x := range v.items {
		items.items = append(items.items, made(x.path, "const", x))
	}
	return made(v.path, "type", word(v.path, "array"), "prefixItems", items, "minItems", count(v.path, len(v.items)),
		"maxItems", count(v.path, len(v.items)))
}

func constObject(v *value) *value {
	properties, required := made(v.path), list(v.path)
	for _, k := range v.keys {
		properties.set(k, made(v.field[k].path, "const", v.field[k]))
		required.items = append(required.items, word(v.path, k))
	}
	return made(v.path, "type", word(v.path, "object"), "properties", properties, "required", required,
		"additionalProperties", truth(v.path, false))
}

// dependencies rewrites each dependency "if there is a property, then …" as a choice.
func (c *schemas) dependencies(s *value) (parts []part, err error) {
	for _, keyword := range []string{"dependencies", "dependentRequired", "dependentSchemas"} {
		x := s.get(keyword)
		if x == nil {
			continue
		}
		if x.kind != object {
			return nil, malformed(x, "an object")
		}
		for _, k := range x.keys {
			then := x.field[k]
			switch then.kind {
			case array:
				then = made(then.path, "required", then)
			case str:
				then = made(then.path, "required", list(then.path, then))
			}
			has := made(x.path, "type", word(x.path, "object"), "required", list(x.path, word(x.path, k)))
			parts = append(parts, part{op: opAny, subs: []*value{made(x.path, "not", has), then}})
		}
	}
	return parts, nil
}

// draft records the rules by which the named draft differs from the latest one.
func (c *references) draft(name string) {
	is := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.Contains(name, n) })
	}
	c.strict = is("draft-03", "draft-04")
	c.legacy = is("draft-03", "draft-04", "draft-06", "draft-07")
	c.older = is("2019-09")
	c.third = is("draft-03") || !c.legacy && !is("draft")
}
