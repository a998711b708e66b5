package grammar

import (
	"fmt"
)

// arrays is the construction of one rule.
type arrays struct {
	*compiler
	s                           *value
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

// array returns the rule for the arrays that satisfy s.
func (c *compiler) array(s *value, l *location) (int32, error) {
	s = onlyIf(s, "items", "prefixItems", "additionalItems", "contains", "minItems", "maxItems", "uniqueItems")
	key := fmt.Sprintf("array %d %s", c.id(s), l.key)
	if r, ok := c.rules[key]; ok {
		return r, nil
	}
	r := c.n.rule(s.path)
	c.rules[key] = r
	a := &arrays{compiler: c, s: s, l: l, most: -1, containsMost: -1, at: map[slot]int32{}, end: c.n.rules[r].end}
	building := c.building
	c.building = map[*value]bool{}
	defer func() { c.building = building }()
	for k, n := range map[string]*int{"minItems": &a.least, "maxItems": &a.most} {
		if x := s.get(k); x != nil {
			var err error
			if *n, err = countOf(x); err != nil {
				return 0, err
			}
		}
	}
	if x := s.get("uniqueItems"); x != nil && x.truth && (a.most < 0 || a.most > 1) {
		return 0, unsupported(s, "uniqueItems", "not supported")
	}
	if a.contains = s.get("contains"); a.contains != nil {
		a.containsLeast = 1
		for k, n := range map[string]*int{"minContains": &a.containsLeast, "maxContains": &a.containsMost} {
			if x := s.get(k); x != nil {
				var err error
				if *n, err = countOf(x); err != nil {
					return 0, err
				}
			}
		}
		a.lacks = made(a.contains.path, "not", a.contains)
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
	s := itemOf(a.s, p.items)
	q := p
	q.items++
	if a.most < 0 {
		q.items = min(q.items, max(len(prefix(a.s)), a.least, a.deepest(), 1))
	}
	if a.contains == nil {
		return a.all([]*value{s}, inner, at, a.place(q))
	}
	// One more that matches, or one that need not, or must not, be counted.
	if a.containsMost < 0 {
		if err := a.all([]*value{s}, inner, at, a.place(q)); err != nil {
			return err
		}
		q.matched = min(p.matched+1, a.containsLeast)
	} else {
		if err := a.all([]*value{s, a.lacks}, inner, at, a.place(q)); err != nil {
			return err
		}
		if q.matched = p.matched + 1; q.matched > a.containsMost {
			return nil
		}
	}
	return a.all([]*value{s, a.contains}, inner, at, a.place(q))
}

// deepest returns the greatest number of first items that a schema of the
// location distinguishes.
func (a *arrays) deepest() int {
	n := 0
	for _, s := range a.l.schemas {
		n = max(n, len(prefix(s)))
	}
	return n
}
