package grammar

import (
	"errors"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// errGates means that a schema cannot be written as a union of conjunctions. Its parts must be
// read side by side and combined by gates.
var errGates = errors.New("grammar: the schema needs gates")

// conjunction is a set of assertions that must all hold: schemas with assertions about types
// (opPlain), and lists of allowed scalars (opEnum).
type conjunction struct {
	plains []*value
	enums  []*part
}

// Limits of unions of conjunctions: alternatives is the number of conjunctions at one place,
// and products the number of pairs when two unions are multiplied.
const (
	alternatives = 1 << 13
	products     = 1 << 10
)

// conjunctions caches the unions of conjunctions that are equivalent to schemas.
type conjunctions struct {
	// unions for schemas and for their complements; a nil entry is still being computed
	unions, complements map[*value][]conjunction
	parts               map[*part]int // numbers of the opEnum parts
	depth               int
	crowds              int // number of automata compiled with the bounds in great
	great               constraint.Limits
}

// conjunctionKey returns a string that identifies a conjunction.
func (c *compiler) conjunctionKey(x conjunction) string {
	k := make([]int32, 0, len(x.enums))
	for _, p := range x.enums {
		i, ok := c.merging.parts[p]
		if !ok {
			i = len(c.merging.parts)
			c.merging.parts[p] = i
		}
		k = append(k, int32(i))
	}
	slices.Sort(k)
	return c.key(x.plains) + "|" + words(slices.Compact(k))
}

// merged adds the values that satisfy every schema, between the nodes in and out. It writes
// them as a union of conjunctions, each with its own order of properties.
func (c *compiler) merged(schemas []*value, _ *location, in, out int32) error {
	k := fragment{in, out, c.key(schemas)}
	if c.written[k] {
		return nil
	}
	c.written[k] = true
	all, err := c.unions(schemas)
	if errors.Is(err, errGates) && c.onlyStrings(schemas, 0) {
		if done, err := c.texts(schemas, in, out); done || err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	whole, err := c.strings(schemas, all, in, out)
	if err != nil {
		return err
	}
	for _, x := range all {
		if err := c.n.check(len(x.plains) + len(x.enums)); err != nil {
			return err
		}
		if err := c.conjunction(x, !whole, in, out); err != nil {
			return err
		}
	}
	return nil
}

// unions returns the values that satisfy every schema, as a union of conjunctions.
func (c *compiler) unions(schemas []*value) ([]conjunction, error) {
	all := []conjunction{{}}
	for _, s := range schemas {
		if s == nil {
			continue
		}
		u, err := c.union(s)
		if err != nil {
			return nil, err
		}
		if all, err = c.times(all, u); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// onlyStrings reports whether it is evident that only strings satisfy all schemas.
func (c *compiler) onlyStrings(schemas []*value, depth int) bool {
	return depth <= nesting && slices.ContainsFunc(schemas, func(s *value) bool {
		if s == nil {
			return false
		}
		parts, err := c.parts(s)
		return err == nil && slices.ContainsFunc(parts, func(p part) bool {
			switch p.op {
			case opAll:
				return c.onlyStrings(p.subs, depth+1)
			case opPlain:
				t, err := typesOf(p.s)
				return err == nil && t == typeSet{str: true}
			}
			return false
		})
	})
}

// strings adds the strings that satisfy every schema, between the nodes in and out, as one
// automaton. all are conjunctions whose union is equivalent to the schemas. It returns false and adds
// nothing if this is not possible, or if at most one conjunction has strings other than of an enum.
func (c *compiler) strings(schemas []*value, all []conjunction, in, out int32) (bool, error) {
	n := 0
	for _, x := range all {
		t, err := types(x.plains)
		if err != nil {
			return false, err
		}
		if !t.str {
			continue
		}
		if len(x.enums) > 0 {
			continue
		}
		tests := 0
		for _, s := range x.plains {
			tests += len(s.tests) + int(bit(s.get("pattern") != nil)+bit(s.get("format") != nil))
		}
		if tests == 0 { // characters have more spellings than in other strings
			return false, nil
		}
		n++
	}
	if n < 2 {
		return false, nil
	}
	return c.texts(schemas, in, out)
}

// times returns the intersection of two unions of conjunctions, as a union of conjunctions.
func (c *compiler) times(x, y []conjunction) ([]conjunction, error) {
	switch {
	case len(x) > 1 && len(y) > 1 && len(x)*len(y) > products:
		return nil, errGates
	case len(x) == 1 && len(x[0].plains)+len(x[0].enums) == 0:
		return y, nil
	case len(y) == 1 && len(y[0].plains)+len(y[0].enums) == 0:
		return x, nil
	}
	var z []conjunction
	for _, a := range x {
		for _, b := range y {
			m := conjunction{slices.Clip(a.plains), slices.Clip(a.enums)}
			for _, p := range b.plains {
				if !slices.Contains(m.plains, p) {
					m.plains = append(m.plains, p)
				}
			}
			for _, p := range b.enums {
				if !slices.Contains(m.enums, p) {
					m.enums = append(m.enums, p)
				}
			}
			possible, err := c.possible(m)
			if err != nil {
				return nil, err
			}
			if possible {
				z = append(z, m)
			}
		}
		if err := c.n.check(len(z)); err != nil {
			return nil, err
		}
	}
	if len(x) > 1 && len(y) > 1 {
		if err := c.n.check(len(z) * len(z)); err != nil {
			return nil, err
		}
		z = absorbed(z)
	}
	return z, nil
}

// absorbed removes every conjunction whose assertions include all those of another one. Its
// values already belong to the other conjunction.
func absorbed(x []conjunction) []conjunction {
	within := func(a, b conjunction) bool {
		for _, p := range a.plains {
			if !slices.Contains(b.plains, p) {
				return false
			}
		}
		for _, p := range a.enums {
			if !slices.Contains(b.enums, p) {
				return false
			}
		}
		return true
	}
	var left []conjunction
	for i, b := range x {
		if !slices.ContainsFunc(x[:i], func(a conjunction) bool { return within(a, b) }) &&
			!slices.ContainsFunc(x[i+1:], func(a conjunction) bool { return within(a, b) && !within(b, a) }) {
			left = append(left, b)
		}
	}
	return left
}

// possible reports whether a conjunction may have a value. It returns false only if it is
// evident that there is none.
func (c *compiler) possible(x conjunction) (bool, error) {
	t, err := types(x.plains)
	if err != nil {
		return false, err
	}
	if len(x.enums) > 0 {
		values, _ := common(x.enums)
		return slices.ContainsFunc(values, t.has), nil
	}
	if t.null || t.boolean || t.array || t.number || t.integer || t.str {
		return true, nil
	}
	return t.object && !c.clash(x, x, closer), nil
}

// once returns a union of conjunctions for the schema s. The function unite computes the union from
// the parts of s, and once caches it in known. If s contains itself, once returns errGates.
func (c *compiler) once(known map[*value][]conjunction, s *value, unite func(parts []part) ([]conjunction, error)) ([]conjunction, error) {
	s = c.first(s)
	if u, ok := known[s]; ok {
		if u == nil {
			return nil, errGates
		}
		return u, nil
	}
	if c.merging.depth++; c.merging.depth > nesting {
		return nil, errGates
	}
	defer func() { c.merging.depth-- }()
	known[s] = nil
	parts, err := c.parts(s)
	if err != nil {
		return nil, err
	}
	all, err := unite(parts)
	if err != nil {
		return nil, err
	}
	if all == nil {
		all = []conjunction{} // known, and empty
	}
	known[s] = all
	return all, nil
}

// union returns the values that satisfy s, as a union of conjunctions.
func (c *compiler) union(s *value) ([]conjunction, error) {
	return c.once(c.merging.unions, s, func(parts []part) ([]conjunction, error) {
		all := []conjunction{{}}
		for i := range parts {
			u, err := c.unionOf(&parts[i])
			if err != nil {
				return nil, err
			}
			if all, err = c.times(all, u); err != nil {
				return nil, err
			}
		}
		return all, nil
	})
}

// unionOf returns the values that satisfy the part p of a schema, as a union of conjunctions.
func (c *compiler) unionOf(p *part) (all []conjunction, err error) {
	switch p.op {
	case opPlain:
		return []conjunction{{plains: []*value{p.s}}}, nil
	case opEnum:
		return []conjunction{{enums: []*part{p}}}, nil
	case opAll:
		all = []conjunction{{}}
		for _, s := range p.subs {
			u, err := c.union(s)
			if err != nil {
				return nil, err
			}
			if all, err = c.times(all, u); err != nil {
				return nil, err
			}
		}
	case opAny, opOne:
		seen := map[string]bool{}
		for _, s := range p.subs {
			u, err := c.union(s)
			if err != nil {
				return nil, err
			}
			for _, x := range u {
				if k := c.conjunctionKey(x); !seen[k] {
					seen[k] = true
					all = append(all, x)
				}
			}
			if len(all) > alternatives {
				return nil, errGates
			}
			if err := c.n.check(len(u)); err != nil {
				return nil, err
			}
		}
		if (p.op == opOne || c.canonical && len(all) > 1) && !c.disjoint(p.subs) {
			if p.op == opAny {
				return nil, errGates
			}
			return c.one(p.subs)
		}
	case opNot:
		return c.complement(p.subs[0])
	}
	return all, nil
}

// and returns the intersection of two sets of types.
func (t typeSet) and(u typeSet) typeSet {
	return typeSet{t.null && u.null, t.boolean && u.boolean, t.object && u.object, t.array && u.array, t.number && u.number, t.integer && u.integer, t.str && u.str}
}

// types returns the types that every one of the schemas allows.
func types(plains []*value) (typeSet, error) {
	t := typeSet{true, true, true, true, true, true, true}
	for _, s := range plains {
		u, err := typesOf(s)
		if err != nil {
			return t, err
		}
		t = t.and(u)
	}
	return t, nil
}

// common returns the scalars that are in every one of the enums. whole reports whether integers
// must be spelled without a fraction.
func common(enums []*part) (values []*value, whole bool) {
	for i, p := range enums {
		whole = whole || p.whole
		if i == 0 {
			values = p.values
			continue
		}
		values = slices.DeleteFunc(slices.Clone(values), func(v *value) bool {
			return !slices.ContainsFunc(p.values, func(w *value) bool { return sameScalar(v, w) })
		})
	}
	return values, whole
}

// sameScalar reports whether two scalars are equal.
func sameScalar(a, b *value) bool {
	if a.kind != b.kind {
		return false
	}
	switch a.kind {
	case boolean:
		return a.truth == b.truth
	case str:
		return a.text == b.text
	case number:
		x, err := parseDecimal(a.num)
		y, also := parseDecimal(b.num)
		return err != nil || also != nil || x == y
	}
	return true
}

// conjunction adds the values of the conjunction x, between the nodes in and out. It leaves out
// strings if strings is false.
func (c *compiler) conjunction(x conjunction, strings bool, in, out int32) error {
	t, err := types(x.plains)
	if err != nil {
		return err
	}
	if len(x.plains) == 0 && len(x.enums) > 0 {
		values, whole := common(x.enums)
		return c.enum(values, whole && c.strict, in, out)
	}
	if len(x.plains) == 0 {
		x.plains = []*value{anything}
	}
	t.str = t.str && strings
	if len(x.plains) == 1 && len(x.enums) == 0 && strings {
		return c.typed(x.plains[0], nil, in, out)
	}
	return c.together(x, t, in, out)
}

// together adds the values that satisfy several schemas and enums at once, between the nodes in
// and out. t is the set of types that they all allow. For a single schema there is
// [compiler.typed].
func (c *compiler) together(x conjunction, t typeSet, in, out int32) error {
	values, whole := common(x.enums)
	enumerated := len(x.enums) > 0
	var texts []string
	var numbers []decimal
	isNull, isTrue, isFalse := t.null && !enumerated, t.boolean && !enumerated, t.boolean && !enumerated
	for _, v := range values {
		if c.n.meter.Done(64) {
			return c.n.meter.Err()
		}
		switch v.kind {
		case null:
			isNull = t.null
		case boolean:
			isTrue, isFalse = isTrue || t.boolean && v.truth, isFalse || t.boolean && !v.truth
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
	for text, is := range map[string]bool{"null": isNull, "true": isTrue, "false": isFalse} {
		if is {
			c.n.text(in, text, out)
		}
	}
	if (t.number || t.integer) && (!enumerated || numbers != nil) {
		kind := "number"
		if whole {
			kind = "whole number"
		}
		a, err := c.automaton(kind, x.plains, values, func() (automaton, error) {
			spec := numberSpec{integer: !t.number, whole: c.strict && (whole || !t.number), among: numbers}
			for _, s := range x.plains {
				y, err := numberOf(s, t, c.strict, c.exact)
				if err != nil {
					return nil, err
				}
				spec.bounds, spec.except = append(spec.bounds, y.bounds...), append(spec.except, y.except...)
				for _, z := range y.steps {
					if !slices.Contains(spec.steps, z) {
						spec.steps = append(spec.steps, z)
					}
				}
			}
			return c.newNumber(spec, x.plains[0])
		})
		if err != nil {
			return err
		}
		c.n.run(in, a, out)
	}
	if t.str && (!enumerated || texts != nil) {
		a, err := c.automaton("string", x.plains, values, func() (automaton, error) {
			spec := stringSpec{most: -1}
			for _, s := range x.plains {
				y, err := c.stringOf(s, c.exact, c.negated[s])
				if err != nil {
					return nil, err
				}
				spec.least, spec.low = max(spec.least, y.least), spec.low || y.low
				if y.most >= 0 && (spec.most < 0 || y.most < spec.most) {
					spec.most = y.most
				}
				spec.tests = append(spec.tests, y.tests...)
			}
			if enumerated {
				for _, text := range texts {
					c.n.charge(trieBytes * len(text))
				}
				spec.tests = append(spec.tests, test{a: newTrie(texts), want: true})
			}
			return c.newString(spec)
		})
		if err != nil {
			return err
		}
		c.n.run(in, a, out)
	}
	if t.array && !enumerated {
		r, err := c.array(x.plains, nil)
		if err != nil {
			return err
		}
		c.n.call(in, r, out)
	}
	if t.object && !enumerated {
		r, err := c.object(x.plains, nil)
		if err != nil {
			return err
		}
		c.n.call(in, r, out)
	}
	return nil
}

// own returns a location for schemas that apply together, and only for these. Its order of
// properties therefore need not agree with that of other schemas.
func (c *compiler) own(plains []*value) (*location, error) {
	l := &location{schemas: plains, key: "own " + c.key(plains)}
	if known, ok := c.locations[l.key]; ok {
		return known, nil
	}
	c.locations[l.key] = l
	return l, c.order(l)
}

// disjoint reports whether it is evident that no value satisfies two of the schemas.
func (c *compiler) disjoint(subs []*value) bool {
	if len(subs) > 8 && c.tagged(subs) {
		return true
	}
	for i, a := range subs {
		for _, b := range subs[:i] {
			if c.n.check(64) != nil || !c.apart(a, b, 0) {
				return false
			}
		}
	}
	return true
}

// tagged reports whether all schemas describe objects with a common required property whose
// value is a different text in each schema.
func (c *compiler) tagged(subs []*value) bool {
	texts := map[string]map[string]bool{} // of each name
	for i, s := range subs {
		u, err := c.union(s)
		if err != nil {
			return false
		}
		here := map[string][]*value{}
		for _, x := range u {
			t, err := types(x.plains)
			if err != nil || len(x.enums) > 0 || t.null || t.boolean || t.array || t.number || t.integer || t.str {
				return false
			}
			for _, p := range x.plains {
				if req := p.get("required"); req != nil {
					for _, k := range req.items {
						v := p.get("properties").get(k.text)
						w, err := c.union(v)
						if v == nil || err != nil || len(w) != 1 || len(w[0].plains) > 0 || len(w[0].enums) != 1 {
							continue
						}
						here[k.text] = append(here[k.text], w[0].enums[0].values...)
					}
				}
			}
			if len(u) > 1 {
				return false
			}
		}
		for name := range here {
			if i > 0 && texts[name] == nil {
				delete(here, name)
			}
		}
		for name := range texts {
			if here[name] == nil {
				delete(texts, name)
			}
		}
		for name, values := range here {
			if texts[name] == nil {
				texts[name] = map[string]bool{}
			}
			for _, v := range values {
				if v.kind != str || texts[name][v.text] {
					delete(texts, name)
					break
				}
				texts[name][v.text] = true
			}
		}
	}
	return len(texts) > 0
}

// closer bounds the depth of the objects in which apart compares properties.
const closer = 3

// apart reports whether it is evident that no value satisfies both schemas.
func (c *compiler) apart(a, b *value, depth int) bool {
	if depth > closer {
		return false
	}
	x, err := c.union(a)
	if err != nil {
		return false
	}
	y, err := c.union(b)
	if err != nil || len(x)*len(y) > 256 {
		return false
	}
	for _, p := range x {
		for _, q := range y {
			if !c.exclusive(p, q, depth) {
				return false
			}
		}
	}
	return true
}

// exclusive reports whether it is evident that no value satisfies both conjunctions.
func (c *compiler) exclusive(x, y conjunction, depth int) bool {
	t, err := types(append(slices.Clone(x.plains), y.plains...))
	if err != nil {
		return false
	}
	if enums := append(slices.Clone(x.enums), y.enums...); len(enums) > 0 {
		values, _ := common(enums)
		return !slices.ContainsFunc(values, t.has)
	}
	switch {
	case t.null || t.boolean || t.number || t.integer || t.str || t.array:
		return false
	case !t.object:
		return true
	}
	return c.clash(x, y, depth) || c.clash(y, x, depth)
}

// clash reports whether x requires a property that y forbids, or one whose schemas in x and y
// exclude each other.
func (c *compiler) clash(x, y conjunction, depth int) bool {
	for _, s := range x.plains {
		required := s.get("required")
		if required == nil {
			continue
		}
		for _, k := range required.items {
			for _, u := range y.plains {
				q := u.get("properties").get(k.text)
				if p := u.get("additionalProperties"); q == nil && p != nil && p.kind == boolean && !p.truth && u.get("patternProperties") == nil {
					return true
				}
				if q == nil {
					continue
				}
				if q.kind == boolean && !q.truth {
					return true
				}
				for _, v := range x.plains {
					if p := v.get("properties").get(k.text); p != nil && c.apart(p, q, depth+1) {
						return true
					}
				}
			}
		}
	}
	return false
}

// caring returns the schemas that have at least one of the keywords, without duplicates. If
// there are none, it returns [anything], which restricts nothing.
func caring(all []*value, keywords ...string) (some []*value) {
	for _, s := range all {
		if s = onlyIf(s, keywords...); s != anything && !slices.Contains(some, s) {
			some = append(some, s)
		}
	}
	if some == nil {
		some = []*value{anything}
	}
	return some
}

// locationOf returns the location of a rule. That is l if schemas are read side by side. If
// they are merged, it is a location for the given schemas alone.
func (c *compiler) locationOf(all []*value, l *location) (*location, error) {
	if c.merging == nil {
		return l, nil
	}
	return c.own(all)
}

// ruleKey identifies the rule for a kind of values that satisfy some schemas at a location. schemas and
// location are keys.
type ruleKey struct {
	kind              kind
	schemas, location string
}
