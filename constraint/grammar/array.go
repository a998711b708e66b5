package grammar

import "slices"

// arrays is the construction of one rule.
type arrays struct {
	*compiler
	of                          []*value // the schemas that hold
	l                           *location
	least, most                 int // items; most < 0: any number
	contains, lacks             *value
	containsLeast, containsMost int
	at                          map[slot]int32
	todo                        []slot
	end                         int32
}

// slot is a place between items: how many items came before, and how many of
// them satisfied contains, both only as far as an assertion depends on it.
type slot struct{ items, matched int }

// array returns the rule for the arrays that satisfy all schemas.
func (c *compiler) array(all []*value, l *location) (int32, error) {
	all = caring(all, "items", "prefixItems", "additionalItems", "contains", "minItems", "maxItems", "uniqueItems")
	l, err := c.locationOf(all, l)
	if err != nil {
		return 0, err
	}
	key := c.ruleKey("array", all, l)
	if r, ok := c.rules[key]; ok {
		return r, nil
	}
	r := c.n.rule(all[0].path)
	c.rules[key] = r
	a := &arrays{compiler: c, of: all, l: l, most: -1, containsMost: -1, at: map[slot]int32{}, end: c.n.rules[r].end}
	building := c.building
	c.building = map[*value]bool{}
	defer func() { c.building = building }()
	for _, s := range all {
		if err := a.bounds(s); err != nil {
			return 0, err
		}
	}
	for _, s := range all {
		if x := s.get("uniqueItems"); x != nil && x.truth && (a.most < 0 || a.most > 1) {
			return 0, unsupported(s, "uniqueItems", "not supported")
		}
	}
	c.n.arc(c.n.rules[r].start, '[', '[', a.place(slot{}))
	for len(a.todo) > 0 {
		p := a.todo[len(a.todo)-1]
		a.todo = a.todo[:len(a.todo)-1]
		if err := a.grow(p); err != nil {
			return 0, err
		}
		if err := c.n.check(1); err != nil {
			return 0, err
		}
	}
	return r, nil
}

// bounds notes what a schema says of the number of items.
func (a *arrays) bounds(s *value) error {
	if x := s.get("minItems"); x != nil {
		n, err := countOf(x)
		if err != nil {
			return err
		}
		a.least = max(a.least, n)
	}
	if x := s.get("maxItems"); x != nil {
		n, err := countOf(x)
		if err != nil {
			return err
		}
		if a.most < 0 || n < a.most {
			a.most = n
		}
	}
	x := s.get("contains")
	if x == nil {
		return nil
	}
	if a.contains != nil {
		return errGates
	}
	a.contains, a.containsLeast = x, 1
	for k, n := range map[string]*int{"minContains": &a.containsLeast, "maxContains": &a.containsMost} {
		if x := s.get(k); x != nil {
			var err error
			if *n, err = countOf(x); err != nil {
				return err
			}
		}
	}
	a.lacks = made(x.path, "not", x)
	return nil
}

func (a *arrays) place(p slot) int32 {
	if at, ok := a.at[p]; ok {
		return at
	}
	at := a.n.add()
	a.space(at)
	a.at[p] = at
	a.todo = append(a.todo, p)
	return at
}

func (a *arrays) grow(p slot) error {
	at := a.at[p]
	if p.items >= a.least && p.matched >= a.containsLeast {
		a.n.arc(at, ']', ']', a.end)
	}
	if p.items == a.most {
		return nil
	}
	if p.items > 0 {
		next := a.n.add()
		a.n.arc(at, ',', ',', next)
		a.space(next)
		at = next
	}
	inner, err := a.item(a.l, p.items)
	if err != nil {
		return err
	}
	var subs []*value
	for _, s := range a.of {
		subs = append(subs, itemOf(s, p.items))
	}
	with := func(s *value) []*value { return append(slices.Clone(subs), s) }
	q := p
	q.items++
	if a.most < 0 {
		q.items = min(q.items, max(a.least, a.deepest(), 1))
	}
	if a.contains == nil {
		return a.all(subs, inner, at, a.place(q))
	}
	// One more that matches, or one that need not, or must not, be counted.
	if a.containsMost < 0 {
		if err := a.all(subs, inner, at, a.place(q)); err != nil {
			return err
		}
		q.matched = min(p.matched+1, a.containsLeast)
	} else {
		if err := a.all(with(a.lacks), inner, at, a.place(q)); err != nil {
			return err
		}
		if q.matched = p.matched + 1; q.matched > a.containsMost {
			return nil
		}
	}
	return a.all(with(a.contains), inner, at, a.place(q))
}

// deepest returns the greatest number of first items that a schema of the
// location distinguishes.
func (a *arrays) deepest() int {
	n := 0
	for _, s := range append(slices.Clone(a.l.schemas), a.of...) {
		n = max(n, len(prefix(s)))
	}
	return n
}
