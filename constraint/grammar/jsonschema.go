package grammar

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// SchemaConfig holds the options of [JSONSchema]. The zero value is the recommended
// setting.
type SchemaConfig struct {
	// Compact forbids white space between the tokens of JSON.
	Compact bool

	// Spelling selects which spellings of a JSON value are in the language.
	Spelling Spelling

	// AnyOrder lets the properties that a schema lists come in any order. If there are more than
	// eight, the last eight come after the others, and only their order is free. AnyOrder requires
	// that Spelling be Free.
	AnyOrder bool

	// Annotations treats unknown formats as annotations, as JSON Schema specifies, instead
	// of as errors. [Grammar.Annotations] lists them.
	Annotations bool

	// Limits bounds the automaton of every pattern and the automaton of the schema over tokens. By
	// default a pattern may have 2¹⁴ states. Limits.Bytes also bounds the expanded schema, which
	// may take at most 2²⁶ bytes. Parts of a schema that are read side by side are bounded by eight
	// times Limits.States, or by 2²¹ if that is larger.
	Limits constraint.Limits
}

// Spelling selects among the possible spellings of a JSON value.
type Spelling uint8

const (
	// Free allows all spellings that [JSONSchema] describes. They may differ, for example, in white
	// space, in escapes, and in the order of members.
	Free Spelling = iota

	// Canonical allows only one text for a value whose members are all listed in the schema.
	// The text has no white space, no exponents, no -0 and no trailing zeros in fractions. It
	// has only the escapes that JSON requires, each in its shortest form (\n, \u001f). Required
	// names are in the order of the schema. Members that no schema names may still come in any
	// order.
	Canonical
)

// String returns "free" or "canonical".
func (s Spelling) String() string {
	return check.Name("Spelling", s, "free", "canonical")
}

// MarshalText returns the result of String as bytes. It implements encoding.TextMarshaler.
func (s Spelling) MarshalText() ([]byte, error) {
	return check.MarshalName("spelling", s, Canonical)
}

// UnmarshalText sets s to the value with the given name, "free" or "canonical". It implements
// encoding.TextUnmarshaler.
func (s *Spelling) UnmarshalText(name []byte) error {
	return check.UnmarshalName("spelling", s, Canonical, name)
}

// JSONSchema compiles a JSON Schema (drafts 4, 6, 7, 2019-09 and 2020-12) to the language of the
// JSON texts that match it. The error is a [*SchemaError], a [*constraint.LimitError] or the cause
// of ctx. A schema that no value satisfies yields a SchemaError, which names keywords that exclude
// each other. If detecting this takes too long, [Grammar.Over] returns the error instead.
//
// # Spellings
//
// One JSON value can be spelled in many ways. These spellings are in the language:
//
//   - Properties that the schema lists come first, in the order of the schema (in any order with
//     AnyOrder), each at most once. All other members follow.
//   - Names that are required but not listed stand anywhere among these other members, each at most
//     once. If there are more than six such names, all but the last six have a fixed place.
//   - White space is as JSON allows it, or none (see [SchemaConfig]).
//   - Characters are spelled as themselves or by an escape. If a keyword restricts the string, \u
//     escapes are allowed up to U+00FF.
//   - Numbers that a keyword restricts have no exponent. If the schema uses negation (not, oneOf,
//     if, dependencies), no number has an exponent.
//   - With [Canonical] a value has one spelling, except for the order of members that no schema
//     names.
//
// Schemas are rewritten as unions of conjunctions, and these rules apply to each conjunction. A
// oneOf counts as a union if its schemas plainly exclude each other. Schemas that cannot be
// rewritten, because of not, oneOf, if or dependencies, are read side by side: every schema has its
// own automaton, and the automata read the text at the same time. The rules then apply jointly to
// all schemas that read the same part of the value. A property counts as listed if one of these
// schemas lists it.
//
// # Assertions
//
// Within these spellings the assertions are exact, with two exceptions, which reject too much
// rather than too little:
//
//   - Names unknown to the schema may repeat, so all of them together count as one towards
//     minProperties.
//   - Formats on which implementations differ (email, hostname, time, date-time, duration, uri and
//     its relatives, regex) accept only texts that all implementations accept. Below a negation,
//     every text that some implementation accepts counts as valid.
//
// If schemas are read side by side, JSONSchema returns a [*SchemaError] where one of these
// exceptions would apply below a negation. The negation of additionalProperties, patternProperties
// or propertyNames holds if the keyword rejects some member, even if another member has the same
// name.
//
// The keyword uniqueItems is exact for items with few possible values (an enum, a const, Booleans,
// a short range of integers). For other items it is an error. So are unknown formats, unless
// SchemaConfig.Annotations is set, and lookarounds or backreferences within a pattern. Errors name
// the path.
//
// Keywords that no draft defines are annotations, which [Grammar.Annotations] lists. The keyword
// $schema names the draft. Without it, the schema is read as draft 2020-12 plus the keywords that
// only earlier drafts define. A dynamic reference leads to the schema with its anchor in the root
// of the document, or to the only schema with that anchor.
func JSONSchema(ctx context.Context, schema []byte, config SchemaConfig) (*Grammar, error) {
	meter := &poll.Meter{}
	meter.Watch(ctx)
	root, err := decode(schema, meter)
	if err != nil {
		return nil, err
	}
	n, annotations, err := schemaNetwork(ctx, root, meter, config, false)
	if err != nil {
		return nil, err
	}
	empty, err := n.empty(ctx)
	isEmpty := func() bool {
		n, _, err := schemaNetwork(ctx, root, meter, config, true)
		if err != nil {
			return false
		}
		empty, err := n.empty(ctx)
		return empty && err == nil
	}
	if empty && n.below && !isEmpty() {
		return nil, &SchemaError{Path: root.path.String(), Unsupported: true, What: "values satisfy it, but none of their texts is in the language: " +
			"names that no schema knows count as one towards minProperties, and what a format surely lacks may be nothing; list the names, or assert the format where it is not negated"}
	}
	if empty {
		err = explain(root, isEmpty)
	}
	if meter.Poll() != nil {
		return nil, meter.Err()
	}
	var conflict *ConflictError
	if err != nil && !errors.As(err, &conflict) {
		return nil, err
	}
	return &Grammar{name: "JSONSchema", limits: config.Limits, annotations: annotations, network: n}, nil
}

// schemaNetwork compiles a schema to a network. It also returns the paths of annotations.
// differ states that names unknown to the schema are to be treated as different from each
// other.
func schemaNetwork(ctx context.Context, root *value, meter *poll.Meter, config SchemaConfig, differ bool) (*network, []string, error) {
	if config.Spelling > Canonical {
		return nil, nil, &constraint.ArgumentError{Func: "JSONSchema", Arg: "SchemaConfig.Spelling", Value: config.Spelling, Want: "Free or Canonical"}
	}
	if config.AnyOrder && config.Spelling == Canonical {
		return nil, nil, &constraint.ArgumentError{Func: "JSONSchema", Arg: "SchemaConfig.AnyOrder", Value: true, Want: "false, since a value with Canonical spelling has one text"}
	}
	limits := config.Limits
	if limits.States == 0 {
		limits.States = 1 << 14 // TestPatternExplosion
	}
	compile := func(merges bool) (*compiler, *network, error) {
		c := newCompiler(ctx, root, meter, config, limits, merges)
		c.differ = differ
		n, err := c.schema()
		return c, n, err
	}
	// Most schemas are unions of conjunctions, which need no gates.
	c, n, err := compile(true)
	var schema *SchemaError
	var limit *constraint.LimitError
	if errors.Is(err, errGates) || errors.As(err, &schema) || errors.As(err, &limit) {
		c, n, err = compile(false)
	}
	if err != nil {
		return nil, nil, err
	}
	return n, slices.Sorted(maps.Keys(c.annotated)), meter.Poll()
}

// newCompiler returns a compiler for the document root. If merges is true, the compiler
// rewrites schemas as unions of conjunctions. Otherwise it reads schemas side by side and
// combines them by gates.
func newCompiler(ctx context.Context, root *value, meter *poll.Meter, config SchemaConfig, limits constraint.Limits, merges bool) *compiler {
	canonical := config.Spelling == Canonical
	c := &compiler{
		schemas: schemas{references{root: root, byID: map[string]*value{}, anchors: map[anchor]*value{}, dynamic: map[string][]*value{},
			resource: map[*value]*resource{}, negated: map[*value]bool{}}, map[*value][]part{}, map[string]bool{}},
		patterns: patterns{ctx: ctx, limits: limits, compiled: map[string][]test{}, lenient: config.Annotations},
		n:        newNetwork("JSONSchema", meter, config.Limits), canonical: canonical, anyOrder: config.AnyOrder, compact: config.Compact || canonical, ids: map[*value]int32{}, automata: map[string]automaton{}, locations: map[string]*location{}, indexes: map[string]*nameIndex{},
		rules: map[ruleKey]int32{}, building: map[*value]bool{}, written: map[fragment]bool{}, ends: map[fragment]int32{},
	}
	c.all = c.every
	if merges {
		c.merging = &conjunctions{unions: map[*value][]conjunction{}, complements: map[*value][]conjunction{}, parts: map[*part]int{}, great: config.Limits}
		if n := &c.merging.great.States; *n == 0 || *n > greatCrowd {
			*n = greatCrowd
		}
		c.all = c.merged
	}
	return c
}

// schema compiles the document and returns its network.
func (c *compiler) schema() (*network, error) {
	name := ""
	if x := c.root.get("$schema"); x != nil && x.kind == str {
		name = x.text
	}
	c.draft(name)
	c.index(c.root, &resource{c.root, &url.URL{}})
	if c.merging != nil {
		c.exact = false
		if _, err := c.number(c.root, map[string]int32{}); err != nil {
			return nil, err
		}
	} else {
		c.negate(c.root, false)
	}
	top := c.n.rule(c.root.path)
	start, end := c.n.rules[top].start, c.n.rules[top].end
	in := c.n.add()
	c.n.link(start, in)
	c.space(in)
	c.space(end)
	var l *location
	if c.merging == nil {
		var err error
		if l, err = c.locate([]*value{c.root}); err != nil {
			return nil, err
		}
	}
	return c.n, c.all([]*value{c.root}, l, in, end)
}

// every adds the values that satisfy every schema between the nodes in and out, reading the
// schemas side by side. Nil schemas are satisfied by every value. Values that already lead from
// in to out are not added again.
func (c *compiler) every(schemas []*value, l *location, in, out int32) error {
	schemas = slices.DeleteFunc(slices.Clone(schemas), func(s *value) bool { return s == nil })
	for _, s := range schemas {
		if c.building[s] {
			return &SchemaError{Path: s.path.String(), What: "the schema refers to itself before it reads anything", Unsupported: true}
		}
		if len(c.building) > nesting {
			return &SchemaError{Path: s.path.String(), What: fmt.Sprintf("%d schemas apply one within another before anything is read, want ≤ %d", len(c.building), nesting), Unsupported: true}
		}
	}
	ids := c.key(schemas)
	k := fragment{in, out, ids}
	if c.written[k] {
		return nil
	}
	c.written[k] = true
	if err := c.n.check(len(ids)); err != nil {
		return err
	}
	for _, s := range schemas {
		if !c.building[s] {
			c.building[s] = true
			defer delete(c.building, s)
		}
	}
	var parts []part
	for _, s := range schemas {
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
	k.out = -1
	if at, ok := c.ends[k]; ok {
		c.n.link(at, out)
		return nil
	}
	var inputs []int32
	for _, p := range parts {
		at, err := c.partEnd(p, l, in)
		if err != nil {
			return err
		}
		if !slices.Contains(inputs, at) {
			inputs = append(inputs, at)
		}
	}
	c.ends[k] = c.n.join(inputs, func(ended []bool) bool { return !slices.Contains(ended, false) })
	c.n.link(c.ends[k], out)
	return nil
}

// fragment identifies a part of the network: the values that satisfy some schemas, between two
// nodes. schemas is the key of the schemas.
type fragment struct {
	in, out int32
	schemas string
}

// end returns a node that is reached from in by exactly the values that satisfy every schema. l
// is their location.
func (c *compiler) end(schemas []*value, l *location, in int32) (int32, error) {
	k := fragment{in, -2, c.key(schemas)}
	if at, ok := c.ends[k]; ok {
		return at, nil
	}
	at := c.n.add()
	if err := c.all(schemas, l, in, at); err != nil {
		return -1, err
	}
	c.ends[k] = at
	return at, nil
}

// partEnd returns a node that is reached from in by exactly the values that satisfy the part p
// of a schema.
func (c *compiler) partEnd(p part, l *location, in int32) (int32, error) {
	if p.op == opAll {
		return c.end(p.subs, l, in)
	}
	at := c.n.add()
	return at, c.part(p, l, in, at)
}

func (c *compiler) part(p part, l *location, in, out int32) error {
	switch p.op {
	case opPlain:
		return c.typed(p.s, l, in, out)
	case opEnum:
		return c.enum(p.values, p.whole && c.strict, in, out)
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

// each reads the schemas side by side and adds a gate to the node out. The gate opens according
// to decide, which receives for every schema whether it accepts the value.
func (c *compiler) each(schemas []*value, l *location, in, out int32, decide func(ended []bool) bool) error {
	var inputs []int32
	for _, s := range schemas {
		at, err := c.end([]*value{s}, l, in)
		if err != nil {
			return err
		}
		inputs = append(inputs, at)
	}
	c.n.link(c.n.join(inputs, decide), out)
	return nil
}

// enum adds the given scalars between the nodes in and out. If whole is true, integers must be
// spelled without a fraction.
func (c *compiler) enum(values []*value, whole bool, in, out int32) error {
	var texts []string
	var numbers []decimal
	for _, v := range values {
		if c.n.meter.Done(64) {
			return c.n.meter.Err()
		}
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
	for _, text := range texts {
		c.n.charge(trieBytes * len(text))
	}
	if texts != nil {
		a, _ := c.automaton("texts", nil, values, func() (automaton, error) {
			return newString(stringSpec{most: -1, tests: []test{{a: newTrie(texts), want: true}}, canonical: c.canonical}), nil
		})
		c.n.run(in, a, out)
	}
	if numbers != nil {
		kind := "numbers"
		if whole {
			kind = "whole numbers"
		}
		a, err := c.automaton(kind, nil, values, func() (automaton, error) {
			return newNumber(numberSpec{among: numbers, whole: whole, canonical: c.canonical})
		})
		if err != nil {
			return err
		}
		c.n.run(in, a, out)
	}
	return nil
}

// nullOrBoolean reads null, true or false. It is one automaton because places where any value
// is allowed are common.
var nullOrBoolean = terminal{newTrie([]string{"null", "true", "false"}).build()}

// typed adds the values that satisfy the assertions of s about types, between the nodes in and
// out.
func (c *compiler) typed(s *value, l *location, in, out int32) error {
	t, err := typesOf(s)
	if err != nil {
		return err
	}
	switch {
	case t.null && t.boolean:
		c.n.run(in, nullOrBoolean, out)
	case t.null:
		c.n.text(in, "null", out)
	case t.boolean:
		c.n.text(in, "true", out)
		c.n.text(in, "false", out)
	}
	if t.number || t.integer {
		a, err := c.automaton("number", []*value{s}, nil, func() (automaton, error) {
			spec, err := numberOf(s, t, c.strict, c.exact)
			if err != nil {
				return nil, err
			}
			return c.newNumber(spec, s)
		})
		if err != nil {
			return err
		}
		c.n.run(in, a, out)
	}
	if t.str {
		a, err := c.automaton("string", []*value{s}, nil, func() (automaton, error) {
			spec, err := c.stringOf(s, c.exact, c.negated[s])
			if err != nil {
				return nil, err
			}
			return c.newString(spec)
		})
		if err != nil {
			return err
		}
		c.n.run(in, a, out)
	}
	if t.array {
		r, err := c.array([]*value{s}, l)
		if err != nil {
			return err
		}
		c.n.call(in, r, out)
	}
	if t.object {
		r, err := c.object([]*value{s}, l)
		if err != nil {
			return err
		}
		c.n.call(in, r, out)
	}
	return nil
}

// newNumber returns an automaton for the numbers that spec describes, shared if the spec has no
// restriction. s is the schema that errors name.
func (c *compiler) newNumber(spec numberSpec, s *value) (automaton, error) {
	spec.canonical = c.canonical
	if c.freeNumber != nil && spec.free() {
		return c.freeNumber, nil
	}
	a, err := newNumber(spec)
	if err != nil {
		return nil, unsupported(s, "multipleOf", "%v", err)
	}
	if spec.free() {
		c.freeNumber = a
	}
	return a, nil
}

// newString returns an automaton for the strings that spec describes, shared if the spec has no
// restriction.
func (c *compiler) newString(spec stringSpec) (automaton, error) {
	spec.canonical = c.canonical
	if len(spec.tests) > 0 || spec.least > 0 || spec.most >= 0 {
		spec, err := c.joined(spec)
		if err != nil {
			return nil, err
		}
		return newString(spec), nil
	}
	if c.freeString == nil {
		c.freeString = newString(spec)
	}
	return c.freeString, nil
}
