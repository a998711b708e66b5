package grammar

import (
	"context"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// SchemaConfig holds the options of [JSONSchema]. The zero value is the recommended
// setting.
type SchemaConfig struct {
	// Compact allows no white space between the tokens of JSON.
	Compact bool

	// Limits bound the automaton of every pattern (0 means 2¹⁴ states) and that of the
	// schema over tokens. Bytes also bounds the expanded schema (2¹⁸ nodes of 256 bytes
	// at most).
	Limits constraint.Limits
}

// JSONSchema compiles a JSON Schema (drafts 4, 6, 7, 2019-09 and 2020-12).
func JSONSchema(ctx context.Context, schema []byte, config SchemaConfig) (*Grammar, error) {
	meter := &poll.Meter{}
	meter.Watch(ctx)
	root, err := decode(schema, meter)
	if err != nil {
		return nil, err
	}
	limits := config.Limits
	if limits.States == 0 {
		limits.States = 1 << 14 // TestPatternExplosion
	}
	c := &compiler{
		schemas:  schemas{references{root: root, byID: map[string]*value{}, negated: map[*value]bool{}}, map[*value][]part{}},
		patterns: patterns{ctx, limits, map[string][]test{}},
		n:        newNetwork(config.Limits), compact: config.Compact, ids: map[*value]int{}, locations: map[string]*location{}, rules: map[string]int32{},
	}
	c.all = c.every
	if x := root.get("$schema"); x != nil && x.kind == str {
		c.legacy, c.strict = legacy(x.text), strict(x.text)
	}
	c.index(root)
	c.negate(root, false)
	top := c.n.rule(root.path)
	start, end := c.n.rules[top].start, c.n.rules[top].end
	in := c.n.add()
	c.n.link(start, in)
	c.space(in)
	c.space(end)
	l, err := c.locate([]*value{root})
	if err != nil {
		return nil, err
	}
	if err := c.all([]*value{root}, l, in, end); err != nil {
		return nil, err
	}
	if poll.Err(ctx) != nil {
		return nil, context.Cause(ctx)
	}
	return &Grammar{name: "JSONSchema", limits: config.Limits, states: newSubsets(c.n)}, nil
}

// more returns an error if the network has too many nodes or the context ended.
func (c *compiler) more() error {
	if poll.Err(c.ctx) != nil {
		return context.Cause(c.ctx)
	}
	return c.n.checkSize("JSONSchema")
}

// every leads from in to out by the values that satisfy every schema; nil ones
// are satisfied by all.
func (c *compiler) every(schemas []*value, l *location, in, out int32) error {
	if err := c.more(); err != nil {
		return err
	}
	var parts []part
	depth := len(c.building)
	defer func() { c.building = c.building[:depth] }()
	for _, s := range schemas {
		if s == nil {
			continue
		}
		if slices.Contains(c.building[:depth], s) {
			return &SchemaError{Path: s.path.String(), What: "the schema refers to itself before it reads anything", Unsupported: true}
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
				return &SchemaError{Path: v.path.String(), What: err.Error(), Unsupported: true}
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
		spec, err := numberOf(s, t, c.strict, c.exact)
		if err != nil {
			return err
		}
		if c.freeNumber == nil || !spec.free() {
			a, err := newNumber(spec)
			if err != nil {
				return unsupported(s, "multipleOf", "%v", err)
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
		spec, err := c.stringOf(s, c.exact, c.negated[s])
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
