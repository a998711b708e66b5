package grammar

// The complement of a schema is also a union of conjunctions, by De Morgan's laws. An assertion
// about one type is violated only by values of that type. For some assertions, such as
// minProperties, only some of the violating values can be described.

// complement returns the values that the schema s rejects, as a union of conjunctions.
func (c *compiler) complement(s *value) ([]conjunction, error) {
	return c.once(c.merging.complements, s, func(parts []part) (all []conjunction, err error) {
		for i := range parts {
			u, err := c.complementOf(&parts[i])
			if err != nil {
				return nil, err
			}
			if all = append(all, u...); len(all) > alternatives {
				return nil, errGates
			}
		}
		if c.canonical && len(all) > 1 { // a value in two of them might have two texts
			return nil, errGates
		}
		return all, nil
	})
}

// complementOf returns the values that the part p of a schema rejects, as a union of
// conjunctions.
func (c *compiler) complementOf(p *part) (all []conjunction, err error) {
	switch p.op {
	case opNever:
		return []conjunction{{}}, nil
	case opPlain:
		return c.refusals(p.s)
	case opEnum:
		return c.others(p.values)
	case opNot:
		return c.union(p.subs[0])
	case opAll:
		for _, s := range p.subs {
			u, err := c.complement(s)
			if err != nil {
				return nil, err
			}
			all = append(all, u...)
		}
		return all, nil
	}
	all, err = c.none(p.subs)
	if err != nil || p.op == opAny {
		return all, err
	}
	for i, a := range p.subs { // or two of them
		x, err := c.union(a)
		if err != nil {
			return nil, err
		}
		for _, b := range p.subs[:i] {
			if c.apart(a, b, 0) {
				continue
			}
			y, err := c.union(b)
			if err != nil {
				return nil, err
			}
			z, err := c.times(x, y)
			if err != nil {
				return nil, err
			}
			all = append(all, z...)
		}
	}
	return all, nil
}

// none returns the values that every one of the schemas rejects, as a union of conjunctions.
func (c *compiler) none(subs []*value) ([]conjunction, error) {
	all := []conjunction{{}}
	for _, s := range subs {
		u, err := c.complement(s)
		if err != nil {
			return nil, err
		}
		if all, err = c.times(all, u); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// one returns the values that exactly one of the schemas accepts, as a union of conjunctions.
func (c *compiler) one(subs []*value) (all []conjunction, err error) {
	for i, a := range subs {
		u, err := c.union(a)
		if err != nil {
			return nil, err
		}
		var others []*value
		for k, b := range subs {
			if k != i && !c.apart(a, b, 0) {
				others = append(others, b)
			}
		}
		lacks, err := c.none(others)
		if err != nil {
			return nil, err
		}
		if u, err = c.times(u, lacks); err != nil {
			return nil, err
		}
		all = append(all, u...)
	}
	return all, nil
}

// ofType returns a schema for the values of type t that satisfy the given keywords. pairs holds
// keywords and their values in turn.
func (c *compiler) ofType(at *place, t string, pairs ...any) *value {
	return c.plainly(made(at, append([]any{"type", word(at, t)}, pairs...)...))
}

// ofTypes returns a schema for all values of the given types.
func (c *compiler) ofTypes(at *place, types ...string) *value {
	names := list(at)
	for _, t := range types {
		names.items = append(names.items, word(at, t))
	}
	return c.plainly(made(at, "type", names))
}

// plainly registers the new schema s as one with only assertions about types, and returns it.
func (c *compiler) plainly(s *value) *value {
	c.made[s] = []part{{op: opPlain, s: s}}
	return s
}

// is returns the conjunction that consists of the schema s alone.
func is(s *value) conjunction { return conjunction{plains: []*value{s}} }

// refusals returns the values that violate an assertion of s about types, as a union of
// conjunctions.
func (c *compiler) refusals(s *value) (all []conjunction, err error) {
	t, err := typesOf(s)
	if err != nil {
		return nil, err
	}
	var types []string
	for _, x := range []struct {
		name string
		has  bool
	}{{"null", t.null}, {"boolean", t.boolean}, {"object", t.object}, {"array", t.array}, {"number", t.number || t.integer}, {"string", t.str}} {
		if !x.has {
			types = append(types, x.name)
		}
	}
	if types != nil {
		all = append(all, is(c.ofTypes(s.path, types...)))
	}
	if t.integer && !t.number {
		all = append(all, c.noMultiple(s.path, decimal{whole: "1"}))
	}
	for _, k := range s.keys {
		x := s.field[k]
		if assertions[k] == nil || k == "type" {
			continue
		}
		u, err := c.refusal(s, k, x)
		if err != nil {
			return nil, err
		}
		all = append(all, u...)
	}
	return all, nil
}

// noMultiple returns the numbers that are not a multiple of d, as a conjunction.
func (c *compiler) noMultiple(at *place, d decimal) conjunction {
	s := c.ofType(at, "number")
	s.numbers = &numberSpec{steps: []step{{by: d}}}
	return is(s)
}

// refusal returns the values that violate the keyword k of the schema s, as a union of
// conjunctions. x is the value of the keyword.
func (c *compiler) refusal(s *value, k string, x *value) (all []conjunction, err error) {
	at := x.path
	add := func(t string, pairs ...any) *value {
		x := c.ofType(at, t, pairs...)
		all = append(all, is(x))
		return x
	}
	bound := func(k string, n int) {
		t := map[string]string{"minLength": "string", "maxLength": "string", "minItems": "array", "maxItems": "array", "maxProperties": "object", "minProperties": "object"}[k]
		add(t, k, count(at, n))
	}
	lacks := func(s *value) *value { return made(s.path, "not", s) }
	// any reports whether a schema accepts everything.
	any := func(s *value) bool {
		p, err := c.parts(s)
		return err == nil && len(p) == 0
	}
	n := 0
	if x.kind == number {
		n, _ = countOf(x)
	}
	switch k {
	case "required":
		for _, name := range x.items {
			if name.kind != str {
				return nil, malformed(name, "a string")
			}
			add("object", "properties", made(at, name.text, truth(at, false)))
		}
	case "properties":
		for _, name := range x.keys {
			if p := x.field[name]; !any(p) {
				add("object", "required", list(at, word(at, name)), "properties", made(at, name, lacks(p)))
			}
		}
	case "minProperties":
		if n > 0 {
			bound("maxProperties", n-1)
		}
	case "maxProperties":
		if n > 0 { // names may repeat: more members may be one
			return nil, errGates
		}
		bound("minProperties", n+1)
	case "patternProperties":
		for _, p := range x.keys {
			tests, err := c.pattern(p, at)
			if err != nil {
				return nil, err
			}
			if v := x.field[p]; !any(v) {
				add("object").some = &some{names: tests, value: lacks(v)}
			}
		}
	case "additionalProperties":
		if any(x) {
			break
		}
		others := &some{value: lacks(x)}
		if listed := s.get("properties"); listed != nil && len(listed.keys) > 0 {
			for _, name := range listed.keys {
				c.n.charge(trieBytes * len(name))
			}
			others.names = append(others.names, test{a: newTrie(listed.keys)})
		}
		if patterns := s.get("patternProperties"); patterns != nil {
			for _, p := range patterns.keys {
				tests, err := c.pattern(p, at)
				if err != nil {
					return nil, err
				}
				if len(tests) != 1 {
					return nil, errGates
				}
				others.names = append(others.names, test{a: tests[0].a, want: !tests[0].want})
			}
		}
		add("object").some = others
	case "propertyNames":
		names := &keys{stringSpec: stringSpec{most: -1}, negated: true}
		if err := c.restrict(names, x, 0); err != nil {
			return nil, err
		}
		if names.never {
			bound("minProperties", 1)
			break
		}
		if names.least > 0 {
			names.tests = append(names.tests, test{a: lengthOver(names.least - 1), want: true})
		}
		if names.most >= 0 {
			names.tests = append(names.tests, test{a: lengthOver(names.most)})
		}
		for _, t := range names.tests {
			add("object").some = &some{names: []test{{a: t.a, want: !t.want}}}
		}
	case "prefixItems", "items":
		if x.kind == array {
			for i, p := range x.items {
				items := list(at)
				for range i {
					items.items = append(items.items, truth(at, true))
				}
				items.items = append(items.items, lacks(p))
				add("array", "prefixItems", items, "minItems", count(at, i+1))
			}
		} else if first := s.get("prefixItems"); first != nil && !any(x) {
			add("array").some = &some{from: len(first.items), value: lacks(x)}
		} else if !any(x) {
			add("array", "contains", lacks(x))
		}
	case "additionalItems":
		if first := s.get("items"); first != nil && first.kind == array && s.get("prefixItems") == nil && !any(x) {
			add("array").some = &some{from: len(first.items), value: lacks(x)}
		}
	case "contains":
		least, most, err := containsOf(s)
		if err != nil {
			return nil, err
		}
		if least == 1 {
			add("array", "items", lacks(x))
		} else if least > 1 {
			add("array", "contains", x, "minContains", count(at, 0), "maxContains", count(at, least-1))
		}
		if most >= 0 {
			add("array", "contains", x, "minContains", count(at, most+1))
		}
	case "minItems", "minLength":
		if n > 0 {
			bound("max"+k[3:], n-1)
		}
	case "maxItems", "maxLength":
		bound("min"+k[3:], n+1)
	case "pattern", "format":
		var tests []test
		if k == "pattern" {
			tests, err = c.pattern(x.text, at)
		} else {
			tests, err = c.wide(s, x.text)
		}
		if err != nil {
			return nil, err
		}
		for _, t := range tests {
			t.want = !t.want
			add("string").tests = []test{t}
		}
	case "minimum", "maximum":
		other := map[string]string{"minimum": "maximum", "maximum": "minimum"}[k]
		excluded := s.get("exclusiveM" + k[1:])
		if excluded == nil || excluded.kind != boolean || !excluded.truth {
			other = "exclusiveM" + other[1:]
		}
		add("number", other, x)
	case "exclusiveMinimum":
		if x.kind == number {
			add("number", "maximum", x)
		}
	case "exclusiveMaximum":
		if x.kind == number {
			add("number", "minimum", x)
		}
	case "uniqueItems":
		if x.truth {
			return nil, errGates
		}
	case "multipleOf":
		d, err := parseDecimal(x.num)
		if err != nil {
			return nil, unsupported(s, k, "%v", err)
		}
		all = append(all, c.noMultiple(at, d))
	}
	return all, nil
}

// others returns all values that differ from each of the given scalars, as a union of
// conjunctions.
func (c *compiler) others(values []*value) (all []conjunction, err error) {
	var texts []string
	var numbers []decimal
	at := c.root.path
	types := []string{"object", "array"}
	isNull, isTrue, isFalse := true, true, true
	for _, v := range values {
		switch v.kind {
		case null:
			isNull = false
		case boolean:
			isTrue, isFalse = isTrue && !v.truth, isFalse && v.truth
		case str:
			texts = append(texts, v.text)
		default:
			d, err := parseDecimal(v.num)
			if err != nil {
				return nil, &SchemaError{Path: v.path.String(), What: err.Error(), Unsupported: true}
			}
			numbers = append(numbers, d)
		}
	}
	if isNull {
		types = append(types, "null")
	}
	if isTrue && isFalse {
		types = append(types, "boolean")
	} else if isTrue || isFalse {
		all = append(all, conjunction{enums: []*part{{op: opEnum, values: []*value{truth(at, isTrue)}}}})
	}
	if texts == nil {
		types = append(types, "string")
	} else {
		for _, text := range texts {
			c.n.charge(trieBytes * len(text))
		}
		s := c.ofType(at, "string")
		s.tests = []test{{a: newTrie(texts)}}
		all = append(all, is(s))
	}
	if numbers == nil {
		types = append(types, "number")
	} else {
		s := c.ofType(at, "number")
		s.numbers = &numberSpec{except: numbers}
		all = append(all, is(s))
	}
	return append(all, is(c.ofTypes(at, types...))), nil
}

// wide returns tests that every text in the named format passes, under any reading of the
// format. A text that fails them is therefore certainly not in the format. If the compiler only
// checks whether any value exists, the tests accept just the undisputed texts.
func (c *compiler) wide(s *value, name string) ([]test, error) {
	if f := formats[name]; f.beyond != "" {
		if c.n.below = true; !c.differ {
			return c.whole(s, name, f.beyond)
		}
	}
	return c.format(s, name, false)
}
