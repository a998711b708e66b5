package grammar

import "slices"

// arrays builds the rule for the arrays that satisfy some schemas.
type arrays struct {
	*compiler
	of          []*value // schemas that every array of the rule satisfies
	l           *location
	least, most int // bounds on the number of items; most < 0 means no upper bound
	contains    []contains
	distinct    []*value // possible values of the items if items must be unique; otherwise nil
	at          map[slot]int32
	todo        []slot
	end         int32
}

// contains is an assertion on the number of items that satisfy a schema, which is the field is.
// Only items with index ≥ from are considered. The field lacks holds the negated schema.
type contains struct {
	is, lacks *value
	// index of the first item considered, and bounds on the number of matching items; most < 0
	// means no upper bound
	from, least, most int
}

// kinds bounds the number of contains assertions that one rule can count.
const kinds = 4

// slot is the state between two items of an array: the number of items before it, the numbers
// of items that matched each contains assertion, and a bit set of the distinct values that
// occurred. Each number is kept only as far as an assertion depends on it.
type slot struct {
	items   int
	matched [kinds]int
	seen    uint64
}

// array returns the rule for the arrays that satisfy all of the given schemas.
func (c *compiler) array(all []*value, l *location) (int32, error) {
	all = caring(all, "items", "prefixItems", "additionalItems", "contains", "minItems", "maxItems", "uniqueItems")
	l, err := c.locationOf(all, l)
	if err != nil {
		return 0, err
	}
	key := ruleKey{array, c.key(all), l.key}
	if r, ok := c.rules[key]; ok {
		return r, nil
	}
	r := c.n.rule(all[0].path)
	c.rules[key] = r
	a := &arrays{compiler: c, of: all, l: l, most: -1, at: map[slot]int32{}, end: c.n.rules[r].end}
	building := c.building
	c.building = map[*value]bool{}
	defer func() { c.building = building }()
	for _, s := range all {
		if err := a.bounds(s); err != nil {
			return 0, err
		}
	}
	for _, s := range all {
		if x := s.get("uniqueItems"); x != nil && x.truth && a.distinct == nil && (a.most < 0 || a.most > 1) {
			if err := a.enumerate(s); err != nil {
				return 0, err
			}
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

// bounds records the assertions of the schema s about the number of items.
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
	if x := s.get("contains"); x != nil {
		least, most, err := containsOf(s)
		if err != nil {
			return err
		}
		a.contains = append(a.contains, contains{is: x, lacks: made(x.path, "not", x), least: least, most: most})
	}
	if x := s.some; x != nil {
		a.contains = append(a.contains, contains{is: x.value, from: x.from, least: 1, most: -1})
	}
	if len(a.contains) > kinds {
		return errGates
	}
	return nil
}

// containsOf returns the bounds that minContains and maxContains set for the keyword contains
// of s. most < 0 means no upper bound.
func containsOf(s *value) (least, most int, err error) {
	least, most = 1, -1
	for name, n := range map[string]*int{"minContains": &least, "maxContains": &most} {
		if x := s.get(name); x != nil {
			if *n, err = countOf(x); err != nil {
				return 0, 0, err
			}
		}
	}
	return least, most, nil
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
	enough := p.items >= a.least
	for i, k := range a.contains {
		enough = enough && p.matched[i] >= k.least
	}
	if enough {
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
	q := p
	q.items++
	if a.most < 0 {
		q.items = min(q.items, max(a.least, a.deepest(), 1))
	}
	if a.distinct == nil {
		return a.counted(0, p, q, subs, inner, at)
	}
	for i, v := range a.distinct {
		if q.seen = p.seen | 1<<i; q.seen != p.seen {
			if err := a.counted(0, p, q, append(slices.Clone(subs), v), inner, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// counted adds an item that satisfies subs and leads from the state p to q. It handles the
// contains assertions from index first on. For each of them it adds up to two variants: the
// item matches and is counted, or the item is not counted. If the assertion has an upper bound,
// an item that is not counted must not match.
func (a *arrays) counted(first int, p, q slot, subs []*value, inner *location, at int32) error {
	if first == len(a.contains) {
		return a.all(subs, inner, at, a.place(q))
	}
	k, n := &a.contains[first], p.matched[first]
	with := func(s *value) []*value { return append(slices.Clone(subs), s) }
	if p.items < k.from || k.most < 0 && n >= k.least {
		return a.counted(first+1, p, q, subs, inner, at)
	}
	without := subs
	if k.most >= 0 {
		without = with(k.lacks)
	}
	if err := a.counted(first+1, p, q, without, inner, at); err != nil || n == k.most {
		return err
	}
	q.matched[first]++
	return a.counted(first+1, p, q, with(k.is), inner, at)
}

// deepest returns the number of leading items that some schema treats differently from later
// items.
func (a *arrays) deepest() int {
	n := 0
	for _, s := range append(slices.Clone(a.l.schemas), a.of...) {
		n = max(n, len(prefix(s)))
	}
	for _, k := range a.contains {
		n = max(n, k.from)
	}
	return n
}
