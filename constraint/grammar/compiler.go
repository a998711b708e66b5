package grammar

import (
	"fmt"
	"slices"
	"strings"
)

// compiler turns a schema into a network. Arrays and objects are built by what
// builds their parts in turn, all.
type compiler struct {
	schemas
	patterns
	n          *network
	compact    bool
	strict     bool // drafts up to 4: 1.0 is no integer
	ids        map[*value]int
	locations  map[string]*location
	rules      map[string]int32
	freeNumber *numberAutomaton // shared where nothing is asked
	freeString *stringAutomaton
	building   []*value // values under construction in place

	// all leads from in to out by the values that satisfy every schema; nil ones
	// are satisfied by all.
	all func(schemas []*value, l *location, in, out int32) error
}

// space lets white space pass at a place.
func (c *compiler) space(at int32) {
	if !c.compact {
		c.n.arc(at, ' ', ' ', at)
		c.n.arc(at, '\t', '\n', at)
		c.n.arc(at, '\r', '\r', at)
	}
}

// location is a place in the instance: all schemas that apply there, however
// they are combined. They agree on one order of the properties, so that their
// automata read the same texts and may be combined by any Boolean function.
type location struct {
	schemas []*value
	key     string

	names    []string // the properties, in order
	loose    []string // names that are only required: anywhere among the others
	children map[string]*location
}

// locate returns the location of the schemas and of all that they apply in
// place.
func (c *compiler) locate(schemas []*value) (*location, error) {
	l := &location{children: map[string]*location{}}
	var add func(s *value) error
	add = func(s *value) error {
		if s == nil || slices.Contains(l.schemas, s) {
			return nil
		}
		parts, err := c.parts(s)
		if err != nil {
			return err
		}
		if len(parts) == 0 {
			return nil
		}
		l.schemas = append(l.schemas, s)
		for _, p := range parts {
			for _, sub := range p.subs {
				if err := add(sub); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, s := range schemas {
		if err := add(s); err != nil {
			return nil, err
		}
	}
	var ids []string
	for _, s := range l.schemas {
		ids = append(ids, fmt.Sprint(c.id(s)))
	}
	slices.Sort(ids)
	l.key = strings.Join(ids, " ")
	if known, ok := c.locations[l.key]; ok {
		return known, nil
	}
	c.locations[l.key] = l
	c.order(l)
	return l, nil
}

// loosely bounds the names that may stand anywhere: an automaton remembers
// which of them it has seen.
const loosely = 4

// order merges the orders in which the schemas of l name their properties. A
// name comes after those that some schema has before it; where schemas
// disagree, the first one wins.
func (c *compiler) order(l *location) {
	var first []string
	before := map[string]map[string]bool{}
	for _, s := range l.schemas {
		p := s.get("properties")
		if p == nil || !c.plain(s) {
			continue
		}
		for i, k := range p.keys {
			if before[k] == nil {
				before[k] = map[string]bool{}
				first = append(first, k)
			}
			if i > 0 {
				before[k][p.keys[i-1]] = true
			}
		}
	}
	placed := map[string]bool{}
	for len(l.names) < len(first) {
		next := ""
		found := false
		for _, k := range first {
			if placed[k] {
				continue
			}
			ready := true
			for b := range before[k] {
				ready = ready && placed[b]
			}
			if !found || ready {
				next, found = k, true
			}
			if ready {
				break
			}
		}
		placed[next] = true
		l.names = append(l.names, next)
	}
	for _, s := range l.schemas {
		p := s.get("required")
		if p == nil || p.kind != array || !c.plain(s) {
			continue
		}
		for _, k := range p.items {
			switch {
			case placed[k.text]:
				continue
			case len(l.loose) < loosely:
				l.loose = append(l.loose, k.text)
			default:
				l.names = append(l.names, k.text)
			}
			placed[k.text] = true
		}
	}
}

func (c *compiler) id(s *value) int {
	i, ok := c.ids[s]
	if !ok {
		i = len(c.ids)
		c.ids[s] = i
	}
	return i
}

// property returns the location of the value of a named property, "" for
// others.
func (c *compiler) property(l *location, name string, named bool) (*location, error) {
	k := "other"
	if named {
		k = "." + name
	}
	return c.child(l, k, func(s *value) ([]*value, error) {
		if named {
			return c.valueOf(s, name)
		}
		subs := []*value{s.get("additionalProperties")}
		if p := s.get("patternProperties"); p != nil {
			for _, k := range p.keys {
				subs = append(subs, p.field[k])
			}
		}
		return subs, nil
	})
}

// item returns the location of an item of an array.
func (c *compiler) item(l *location, at int) (*location, error) {
	most := 0
	for _, s := range l.schemas {
		most = max(most, len(prefix(s)))
	}
	at = min(at, most)
	return c.child(l, fmt.Sprint(at), func(s *value) ([]*value, error) {
		return []*value{itemOf(s, at), s.get("contains")}, nil
	})
}

func (c *compiler) child(l *location, k string, of func(s *value) ([]*value, error)) (*location, error) {
	if known, ok := l.children[k]; ok {
		return known, nil
	}
	var all []*value
	for _, s := range l.schemas {
		if !c.plain(s) {
			continue
		}
		subs, err := of(s)
		if err != nil {
			return nil, err
		}
		all = append(all, subs...)
	}
	m, err := c.locate(all)
	if err != nil {
		return nil, err
	}
	l.children[k] = m
	return m, nil
}

// valueOf returns the schemas that s has for a property.
func (c *compiler) valueOf(s *value, name string) (subs []*value, err error) {
	if x := s.get("properties").get(name); x != nil {
		subs = append(subs, x)
	}
	if p := s.get("patternProperties"); p != nil {
		for _, k := range p.keys {
			tests, err := c.pattern(k, p.path)
			if err != nil {
				return nil, err
			}
			if passes(tests, name) {
				subs = append(subs, p.field[k])
			}
		}
	}
	if len(subs) == 0 {
		subs = append(subs, s.get("additionalProperties"))
	}
	return subs, nil
}

func passes(tests []test, text string) bool {
	for _, t := range tests {
		if holds(t.a, text) != t.want {
			return false
		}
	}
	return true
}

// prefix returns the schemas of the first items.
func prefix(s *value) []*value {
	if p := s.get("prefixItems"); p != nil && p.kind == array {
		return p.items
	}
	if p := s.get("items"); p != nil && p.kind == array {
		return p.items
	}
	return nil
}

// itemOf returns the schema of an item, nil if it is free.
func itemOf(s *value, at int) *value {
	if p := prefix(s); at < len(p) {
		return p[at]
	}
	if p := s.get("items"); p != nil && p.kind != array {
		return p
	}
	if p := s.get("items"); p != nil && s.get("prefixItems") == nil {
		return s.get("additionalItems")
	}
	return nil
}
