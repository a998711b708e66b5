package grammar

// The complement of a schema is a union of conjunctions, too, by De Morgan's laws: each of its
// assertions is refused by values of the type of which it speaks. Some assertions have none that
// is exact: what a value has besides names and items that are listed, and how many members.

// complement writes the values that a schema refuses as a union of conjunctions.
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

// complementOf is complement of a part.
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

// none writes the values that all schemas refuse.
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

// one writes the values that exactly one schema accepts.
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

// ofType returns a schema of values of one type, with more keywords.
func (c *compiler) ofType(at *place, t string, pairs ...any) conjunction {
	s := made(at, append([]any{"type", word(at, t)}, pairs...)...)
	c.made[s] = []part{{op: opPlain, s: s}}
	return conjunction{plains: []*value{s}}
}

// refusals writes the values that the assertions of s about types refuse.
func (c *compiler) refusals(s *value) (all []conjunction, err error) {
	t, err := typesOf(s)
	if err != nil {
		return nil, err
	}
	if t.integer && !t.number {
		return nil, errGates
	}
	for _, x := range []struct {
		name string
		has  bool
	}{{"null", t.null}, {"boolean", t.boolean}, {"object", t.object}, {"array", t.array}, {"number", t.number}, {"string", t.str}} {
		if !x.has {
			all = append(all, c.ofType(s.path, x.name))
		}
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

// refusal writes the values that one keyword of s refuses.
func (c *compiler) refusal(s *value, k string, x *value) (all []conjunction, err error) {
	at := x.path
	add := func(t string, pairs ...any) { all = append(all, c.ofType(at, t, pairs...)) }
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
	n, _ := countOf(x)
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
		if n > 1 {
			return nil, errGates
		} else if n == 1 {
			bound("maxProperties", 0)
		}
	case "maxProperties":
		if n > 0 {
			return nil, errGates
		}
		bound("minProperties", 1)
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
		} else if s.get("prefixItems") != nil && !any(x) {
			return nil, errGates
		} else if !any(x) {
			add("array", "contains", lacks(x))
		}
	case "contains":
		if s.get("minContains") != nil || s.get("maxContains") != nil {
			return nil, errGates
		}
		add("array", "items", lacks(x))
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
			tests, err = c.format(s, x.text, true)
		}
		if err != nil {
			return nil, err
		}
		for _, t := range tests {
			t.want = !t.want
			add("string")
			all[len(all)-1].plains[0].tests = []test{t}
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
	case "additionalProperties", "additionalItems", "propertyNames":
		if !any(x) {
			return nil, errGates
		}
	default: // patternProperties, multipleOf, minContains and maxContains
		return nil, errGates
	}
	return all, nil
}

// others writes the values that are none of some scalars.
func (c *compiler) others(values []*value) (all []conjunction, err error) {
	var texts []string
	at := c.root.path
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
			return nil, errGates
		}
	}
	all = []conjunction{c.ofType(at, "object"), c.ofType(at, "array"), c.ofType(at, "number"), c.ofType(at, "string")}
	if texts != nil {
		for _, text := range texts {
			c.n.charge(trieBytes * len(text))
		}
		all[3].plains[0].tests = []test{{a: newTrie(texts)}}
	}
	if isNull {
		all = append(all, c.ofType(at, "null"))
	}
	var truths []*value
	for _, is := range []struct{ truth, left bool }{{false, isFalse}, {true, isTrue}} {
		if is.left {
			truths = append(truths, &value{kind: boolean, truth: is.truth, path: at})
		}
	}
	if truths != nil {
		all = append(all, conjunction{enums: []*part{{op: opEnum, values: truths}}})
	}
	return all, nil
}
