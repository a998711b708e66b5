package grammar

import (
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// nodes bounds the places of a network.
const nodes = 1 << 19

// anything is the schema that says nothing.
var anything = &value{kind: object, path: "#"}

// space lets white space pass at a place.
func (c *compiler) space(at int32) {
	if !c.config.Compact {
		c.n.arc(at, ' ', ' ', at)
		c.n.arc(at, '\t', '\n', at)
		c.n.arc(at, '\r', '\r', at)
	}
}

// all leads from in to out by the values that satisfy every schema; nil ones
// are satisfied by all.
func (c *compiler) all(schemas []*value, l *location, in, out int32) error {
	if len(c.n.nodes) > nodes {
		return &constraint.LimitError{What: "JSONSchema: nodes", Value: len(c.n.nodes), Bound: nodes}
	}
	var parts []part
	depth := len(c.building)
	defer func() { c.building = c.building[:depth] }()
	for _, s := range schemas {
		if s == nil {
			continue
		}
		if slices.Contains(c.building[:depth], s) {
			return &SchemaError{Path: s.path, What: "the schema refers to itself before it reads anything", Unsupported: true}
		}
		c.building = append(c.building, s)
		p, err := c.parts(s)
		if err != nil {
			return err
		}
		parts = append(parts, p...)
	}
	switch len(parts) {
	case 0:
		return c.typed(anything, l, in, out)
	case 1:
		return c.part(parts[0], l, in, out)
	}
	var inputs []int32
	for _, p := range parts {
		at := c.n.add()
		inputs = append(inputs, at)
		if err := c.part(p, l, in, at); err != nil {
			return err
		}
	}
	c.n.join(inputs, out, func(ended []bool) bool { return !slices.Contains(ended, false) })
	return nil
}

func (c *compiler) part(p part, l *location, in, out int32) error {
	switch p.op {
	case opPlain:
		return c.typed(p.s, l, in, out)
	case opEnum:
		return c.enum(p.values, in, out)
	case opAll:
		return c.all(p.subs, l, in, out)
	case opAny:
		for _, s := range p.subs {
			if err := c.all([]*value{s}, l, in, out); err != nil {
				return err
			}
		}
	case opOne:
		return c.each(p.subs, l, in, out, func(ended []bool) bool {
			n := 0
			for _, e := range ended {
				if e {
					n++
				}
			}
			return n == 1
		})
	case opNot:
		return c.each(append([]*value{anything}, p.subs...), l, in, out, func(ended []bool) bool { return ended[0] && !ended[1] })
	}
	return nil
}

// each runs the schemas side by side into a gate.
func (c *compiler) each(schemas []*value, l *location, in, out int32, decide func(ended []bool) bool) error {
	var inputs []int32
	for _, s := range schemas {
		at := c.n.add()
		inputs = append(inputs, at)
		if err := c.all([]*value{s}, l, in, at); err != nil {
			return err
		}
	}
	c.n.join(inputs, out, decide)
	return nil
}

// enum leads from in to out by scalars.
func (c *compiler) enum(values []*value, in, out int32) error {
	var texts []string
	var numbers []decimal
	for _, v := range values {
		switch v.kind {
		case null:
			c.n.text(in, "null", out)
		case boolean:
			c.n.text(in, map[bool]string{true: "true", false: "false"}[v.truth], out)
		case str:
			texts = append(texts, v.text)
		case number:
			d, err := parseDecimal(v.num)
			if err != nil {
				return &SchemaError{Path: v.path, What: err.Error(), Unsupported: true}
			}
			numbers = append(numbers, d)
		}
	}
	if texts != nil {
		c.n.run(in, newString(stringSpec{most: -1, tests: []test{{newTrie(texts), true}}}), out)
	}
	if numbers != nil {
		a, err := newNumber(numberSpec{among: numbers})
		if err != nil {
			return err
		}
		c.n.run(in, a, out)
	}
	return nil
}

// typed leads from in to out by the values that satisfy the assertions of s
// about types.
func (c *compiler) typed(s *value, l *location, in, out int32) error {
	t, err := typesOf(s)
	if err != nil {
		return err
	}
	if t.null {
		c.n.text(in, "null", out)
	}
	if t.boolean {
		c.n.text(in, "true", out)
		c.n.text(in, "false", out)
	}
	if t.number || t.integer {
		spec, err := c.numberOf(s, t)
		if err != nil {
			return err
		}
		if c.freeNumber == nil || !spec.free() {
			a, err := newNumber(spec)
			if err != nil {
				return c.unsupported(s, "multipleOf", "%v", err)
			}
			if spec.free() {
				c.freeNumber = a
			}
			c.n.run(in, a, out)
		} else {
			c.n.run(in, c.freeNumber, out)
		}
	}
	if t.str {
		spec, err := c.stringOf(s)
		if err != nil {
			return err
		}
		free := len(spec.tests) == 0 && spec.least == 0 && spec.most < 0
		if c.freeString == nil && free {
			c.freeString = newString(spec)
		}
		if free {
			c.n.run(in, c.freeString, out)
		} else {
			c.n.run(in, newString(spec), out)
		}
	}
	if t.array {
		r, err := c.array(s, l)
		if err != nil {
			return err
		}
		c.n.call(in, r, out)
	}
	if t.object {
		r, err := c.object(s, l)
		if err != nil {
			return err
		}
		c.n.call(in, r, out)
	}
	return nil
}

// onlyIf returns s if it has one of the keywords, and otherwise the schema that
// says nothing, so that rules are shared.
func onlyIf(s *value, keywords ...string) *value {
	for _, k := range keywords {
		if s.get(k) != nil {
			return s
		}
	}
	return anything
}
