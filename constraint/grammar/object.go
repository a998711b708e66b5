package grammar

import (
	"fmt"
	"slices"
)

// objects is the construction of one rule: members in the order of the
// location, then others.
type objects struct {
	*compiler
	s           *value
	l           *location
	required    map[string]bool
	least, most int // members; most < 0: any number
	names       *keys
	at          map[member]int32
	todo        []member
	end         int32
}

// member is a place between members: how many names of the location have
// passed, how many members were there (as far as a bound depends on it), and
// whether there was any.
type member struct {
	passed, known, others int
	seen                  uint8 // of the loose names
	started               bool
}

// object returns the rule for the objects that satisfy s.
func (c *compiler) object(s *value, l *location) (int32, error) {
	s = onlyIf(s, "properties", "patternProperties", "additionalProperties", "required", "minProperties", "maxProperties", "propertyNames")
	key := fmt.Sprintf("object %d %s", c.id(s), l.key)
	if r, ok := c.rules[key]; ok {
		return r, nil
	}
	r := c.n.rule(s.path)
	c.rules[key] = r
	o := &objects{compiler: c, s: s, l: l, required: map[string]bool{}, most: -1, at: map[member]int32{}, end: c.n.rules[r].end}
	building := c.building
	c.building = nil
	defer func() { c.building = building }()
	var err error
	if x := s.get("required"); x != nil {
		for _, k := range x.items {
			if k.kind != str {
				return 0, malformed(k, "a string")
			}
			o.required[k.text] = true
		}
	}
	if x := s.get("minProperties"); x != nil {
		if o.least, err = countOf(x); err != nil {
			return 0, err
		}
	}
	if x := s.get("maxProperties"); x != nil {
		if o.most, err = countOf(x); err != nil {
			return 0, err
		}
	}
	if (o.least > 0 || o.most >= 0) && c.negated[s] {
		// Names that the schema does not know may repeat, so that members are
		// not counted exactly.
		if s.get("additionalProperties") == nil || s.get("additionalProperties").kind != boolean || s.get("patternProperties") != nil {
			if o.least > 1 || o.most >= 0 {
				return 0, unsupported(s, "minProperties", "bounds on unknown members are not supported in a schema with not, oneOf, if or dependencies")
			}
		}
	}
	if o.names, err = c.keysOf(s.get("propertyNames")); err != nil {
		return 0, err
	}
	c.n.arc(c.n.rules[r].start, '{', '{', o.place(member{}))
	for len(o.todo) > 0 {
		m := o.todo[len(o.todo)-1]
		o.todo = o.todo[:len(o.todo)-1]
		if err := o.grow(m); err != nil {
			return 0, err
		}
		if err := c.more(); err != nil {
			return 0, err
		}
	}
	return r, nil
}

func (o *objects) place(m member) int32 {
	if at, ok := o.at[m]; ok {
		return at
	}
	at := o.n.add()
	o.space(at)
	o.at[m] = at
	o.todo = append(o.todo, m)
	return at
}

// after counts one more member.
func (o *objects) after(m member, known bool) (member, bool) {
	m.started = true
	if known {
		m.passed++
		m.known++
	} else {
		m.others++
	}
	if o.most >= 0 {
		return m, m.known+m.others <= o.most
	}
	// Names that the schema does not know may repeat: one of them is sure.
	m.known, m.others = min(m.known, o.least), min(m.others, 1)
	if o.least == 0 {
		m.others = 0
	}
	return m, true
}

func (o *objects) grow(m member) error {
	at := o.at[m]
	if m.passed < len(o.l.names) {
		name := o.l.names[m.passed]
		if !o.required[name] {
			skip := m
			skip.passed++
			o.n.link(at, o.place(skip))
		}
		to, ok := o.after(m, true)
		if !ok || !o.names.has(name) {
			return nil
		}
		return o.named(m, at, name, to)
	}
	need := uint8(0)
	for i, name := range o.l.loose {
		if o.required[name] {
			need |= 1 << i
		}
		if m.seen>>i&1 == 0 {
			if err := o.looseMember(m, at, i, name); err != nil {
				return err
			}
		}
	}
	if m.seen&need == need && m.known+min(m.others, 1) >= o.least {
		o.n.arc(at, '}', '}', o.end)
	}
	to, ok := o.after(m, false)
	if !ok || o.names.never {
		return nil
	}
	return o.others(m, at, to)
}

// looseMember adds a member with a name that may stand anywhere, once.
func (o *objects) looseMember(m member, at int32, i int, name string) error {
	to, ok := o.after(m, true)
	if !ok || !o.names.has(name) {
		return nil
	}
	to.passed--
	to.seen |= 1 << i
	return o.named(m, at, name, to)
}

// named adds a member with a given name.
func (o *objects) named(m member, at int32, name string, to member) error {
	subs, err := o.valueOf(o.s, name)
	if err != nil {
		return err
	}
	inner, err := o.property(o.l, name, true)
	if err != nil {
		return err
	}
	key := newString(stringSpec{most: -1, tests: []test{{newTrie([]string{name}), true}}})
	return o.member(at, m.started, key, subs, inner, to)
}

// several bounds the patterns of one schema: every set of them that a name may
// match has an automaton of its own.
const several = 5

// others adds the members whose names the location does not know.
func (o *objects) others(m member, at int32, to member) error {
	inner, err := o.property(o.l, "", false)
	if err != nil {
		return err
	}
	spec := o.names.stringSpec
	known := append(slices.Clone(o.l.names), o.l.loose...)
	spec.tests = append([]test{{newTrie(known), false}}, spec.tests...)
	p := o.s.get("patternProperties")
	if p == nil {
		p = anything
	}
	if len(p.keys) > several {
		return unsupported(o.s, "patternProperties", "%d patterns, want ≤ %d", len(p.keys), several)
	}
	for set := range 1 << len(p.keys) {
		key := spec
		key.tests = append([]test(nil), spec.tests...)
		subs := []*value{}
		for i, k := range p.keys {
			tests, err := o.pattern(k, p.path)
			if err != nil {
				return err
			}
			if len(tests) > 1 {
				return unsupported(o.s, "patternProperties", "lookaheads are not supported here")
			}
			want := set>>i&1 == 1
			key.tests = append(key.tests, test{tests[0].a, want})
			if want {
				subs = append(subs, p.field[k])
			}
		}
		if set == 0 {
			subs = append(subs, o.s.get("additionalProperties"))
		}
		if err := o.member(at, m.started, newString(key), subs, inner, to); err != nil {
			return err
		}
	}
	return nil
}

// member reads one member, after a comma unless it is the first.
func (o *objects) member(at int32, started bool, key *stringAutomaton, subs []*value, inner *location, to member) error {
	for _, s := range subs {
		if s != nil && s.kind == boolean && !s.truth {
			return nil
		}
	}
	if started {
		next := o.n.add()
		o.n.arc(at, ',', ',', next)
		o.space(next)
		at = next
	}
	named, colon := o.n.add(), o.n.add()
	o.n.run(at, key, named)
	o.space(named)
	o.n.arc(named, ':', ':', colon)
	o.space(colon)
	return o.all(subs, inner, colon, o.place(to))
}

// keys is what propertyNames says.
type keys struct {
	stringSpec
	never bool
}

// keysOf reads a schema for names, which may only describe strings.
func (c *compiler) keysOf(s *value) (*keys, error) {
	k := &keys{stringSpec: stringSpec{most: -1}}
	return k, c.restrict(k, s, 0)
}

func (c *compiler) restrict(k *keys, s *value, depth int) error {
	if s == nil || s.kind == boolean {
		k.never = k.never || s != nil && !s.truth
		return nil
	}
	parts, err := c.parts(s)
	if err != nil {
		return err
	}
	if depth > nesting {
		return &SchemaError{Path: s.path.String(), What: "the schema refers to itself before it reads anything", Unsupported: true}
	}
	for _, p := range parts {
		switch p.op {
		case opPlain:
			t, err := typesOf(p.s)
			if err != nil {
				return err
			}
			k.never = k.never || !t.str
			spec, err := c.stringOf(p.s, c.exact, c.negated[p.s])
			if err != nil {
				return err
			}
			k.least = max(k.least, spec.least)
			if spec.most >= 0 && (k.most < 0 || spec.most < k.most) {
				k.most = spec.most
			}
			k.tests = append(k.tests, spec.tests...)
		case opEnum:
			var texts []string
			for _, v := range p.values {
				if v.kind == str {
					texts = append(texts, v.text)
				}
			}
			k.tests = append(k.tests, test{newTrie(texts), true})
		case opAll:
			for _, sub := range p.subs {
				if err := c.restrict(k, sub, depth+1); err != nil {
					return err
				}
			}
		case opNever:
			k.never = true
		case opNot:
			inner := &keys{stringSpec: stringSpec{most: -1}}
			if err := c.restrict(inner, p.subs[0], depth+1); err != nil {
				return err
			}
			if inner.least > 0 || inner.most >= 0 || inner.never || len(inner.tests) != 1 {
				return unsupported(s, "not", "not supported in propertyNames")
			}
			k.tests = append(k.tests, test{inner.tests[0].a, !inner.tests[0].want})
		default:
			return &SchemaError{Path: s.path.String(), What: "anyOf, oneOf, if and dependencies are not supported in propertyNames", Unsupported: true}
		}
	}
	return nil
}

// has reports whether a name is allowed.
func (k *keys) has(name string) bool {
	n := len([]rune(name))
	return !k.never && n >= k.least && (k.most < 0 || n <= k.most) && passes(k.tests, name)
}
