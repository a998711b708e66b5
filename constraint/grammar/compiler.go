package grammar

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/heap"
)

// compiler turns a schema into a network. It builds arrays and objects by calling the function
// all for the schemas of their items and members.
type compiler struct {
	schemas
	patterns
	n         *network
	compact   bool
	canonical bool
	// true to treat unknown names as different from each other; set only to test whether any
	// value satisfies the schema
	differ   bool
	anyOrder bool
	// number of each schema; equal schemas share one number if parts are merged
	ids       map[*value]int32
	like      []*value             // first schema with each number
	automata  map[string]automaton // automata of scalars, by kind and by the key of their schemas
	locations map[string]*location
	indexes   map[string]*nameIndex // by the names
	rules     map[ruleKey]int32
	encoded   []byte // scratch of the method number
	// automata of unrestricted numbers and strings, shared by all rules; nil until needed
	freeNumber *numberAutomaton
	freeString *stringAutomaton
	// schemas that are being expanded at the same place of the instance, to detect circular
	// references
	building map[*value]bool
	// unions of conjunctions of schemas; nil if schemas are read side by side and combined by
	// gates
	merging *conjunctions
	written map[fragment]bool
	ends    map[fragment]int32

	// all adds to the network, from node in to node out, the values that satisfy every one of the
	// schemas. A nil schema is satisfied by every value.
	all func(schemas []*value, l *location, in, out int32) error
}

// space allows white space at the given node, unless the spelling is compact.
func (c *compiler) space(at int32) {
	if !c.compact {
		c.n.space(at)
	}
}

// location is a place in the JSON instance, with all schemas that apply there, however these
// are combined. All schemas of a location use one order of the properties. Their automata
// therefore read the same texts and can be combined by any Boolean function.
type location struct {
	schemas []*value
	key     string

	names []string // names of the properties with a fixed place, in order
	// names that may occur anywhere among the members with other names: the last few names that
	// are only required, or, with AnyOrder, the last few of all names
	loose    []string
	index    *nameIndex
	patterns []string // patterns of all patternProperties of the schemas
	children map[string]*location
}

// locate returns the location where the given schemas apply, together with all subschemas that
// they apply to the same value.
func (c *compiler) locate(schemas []*value) (*location, error) {
	l := &location{children: map[string]*location{}}
	seen := map[*value]bool{}
	var add func(s *value, depth int) error
	add = func(s *value, depth int) error {
		if s == nil || seen[s] {
			return nil
		}
		if depth > nesting {
			return &SchemaError{Path: s.path.String(), What: fmt.Sprintf("%d schemas apply one within another before anything is read, want ≤ %d", depth, nesting), Unsupported: true}
		}
		seen[s] = true
		if err := c.n.check(1); err != nil {
			return err
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
				if err := add(sub, depth+1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, s := range schemas {
		if err := add(s, 0); err != nil {
			return nil, err
		}
	}
	l.key = c.key(l.schemas)
	if known, ok := c.locations[l.key]; ok {
		return known, nil
	}
	c.locations[l.key] = l
	return l, c.order(l)
}

// loosely bounds the number of names that may occur in any position, because an automaton must
// track which of them it has seen. If more names are required, only the last six are free and
// the earlier ones have a fixed place.
const loosely = 6

// freely bounds the number of names that may occur in any position if AnyOrder is set. If there
// are more names, only the last eight are free.
const freely = 8

// order merges the orders in which the schemas of l list their properties. A name is placed
// after every name that some schema lists directly before it. Where schemas disagree, the first
// schema decides.
func (c *compiler) order(l *location) error {
	type property struct {
		after  []int // names that come after it
		before int   // names that come before it and have no place yet
		placed bool
	}
	var names []string
	var properties []property
	number := map[string]int{}
	known := map[[2]int]bool{}
	for _, s := range l.schemas {
		p := s.get("properties")
		if p == nil || !c.plain(s) {
			continue
		}
		last := -1
		for _, k := range p.keys {
			i, ok := number[k]
			if !ok {
				i = len(names)
				number[k] = i
				names, properties = append(names, k), append(properties, property{})
			}
			if last >= 0 && !known[[2]int{last, i}] {
				known[[2]int{last, i}] = true
				properties[last].after = append(properties[last].after, i)
				properties[i].before++
			}
			last = i
			if err := c.n.check(1); err != nil {
				return err
			}
		}
	}
	less := func(a, b int) bool { return a < b }
	var ready []int
	for i, p := range properties {
		if p.before == 0 {
			ready = heap.Push(ready, i, less)
		}
	}
	for first := 0; len(l.names) < len(names); {
		i := first
		if len(ready) > 0 {
			ready, i = heap.Pop(ready, less)
		}
		if properties[i].placed {
			first = max(first, i+1)
			continue
		}
		properties[i].placed = true
		l.names = append(l.names, names[i])
		for _, next := range properties[i].after {
			if properties[next].before--; properties[next].before == 0 {
				ready = heap.Push(ready, next, less)
			}
		}
	}
	for _, s := range l.schemas {
		p := s.get("required")
		if p == nil || p.kind != array || !c.plain(s) {
			continue
		}
		for _, k := range p.items {
			if _, ok := number[k.text]; !ok && k.kind == str {
				number[k.text] = len(number)
				l.loose = append(l.loose, k.text)
			}
		}
	}
	n := len(l.loose) - loosely
	switch {
	case c.canonical:
		n = len(l.loose)
	case c.anyOrder:
		l.names, l.loose = nil, append(l.names, l.loose...)
		n = len(l.loose) - freely
	}
	if n > 0 {
		l.names, l.loose = append(l.names, l.loose[:n]...), l.loose[n:]
	}
	names = append(slices.Clone(l.names), l.loose...)
	var key []byte
	for _, name := range names {
		key = append(binary.AppendUvarint(key, uint64(len(name))), name...)
	}
	if l.index = c.indexes[string(key)]; l.index == nil {
		l.index = newNameIndex(names)
		c.indexes[string(key)] = l.index
		c.n.charge(trieBytes * len(key))
	}
	for _, s := range l.schemas {
		if p := s.get("patternProperties"); p != nil && c.plain(s) {
			for _, k := range p.keys {
				if !slices.Contains(l.patterns, k) {
					l.patterns = append(l.patterns, k)
				}
			}
		}
	}
	return nil
}

// key returns a key made of the numbers of the schemas, without duplicates and in ascending
// order. Nil schemas are ignored.
func (c *compiler) key(schemas []*value) string {
	ids := make([]int32, 0, len(schemas))
	for _, s := range schemas {
		if s != nil {
			ids = append(ids, c.id(s))
		}
	}
	slices.Sort(ids)
	return words(slices.Compact(ids))
}

func (c *compiler) id(s *value) int32 {
	i, ok := c.ids[s]
	if !ok {
		i = int32(len(c.like))
		c.ids[s], c.like = i, append(c.like, s)
	}
	return i
}

// first returns the first schema with the same number as s, which is equal to s.
func (c *compiler) first(s *value) *value { return c.like[c.id(s)] }

// number assigns the same number to all equal parts of a document, so that each distinct part
// is compiled only once. known maps the encoding of a part to its number.
func (c *compiler) number(v *value, known map[string]int32) (int32, error) {
	begin := len(c.encoded)
	defer func() { c.encoded = c.encoded[:begin] }()
	c.encoded = append(c.encoded, byte(v.kind))
	switch v.kind {
	case boolean:
		if v.truth {
			c.encoded = append(c.encoded, 1)
		}
	case number:
		c.encoded = append(c.encoded, v.num...)
	case str:
		c.encoded = append(c.encoded, v.text...)
	case array:
		for _, x := range v.items {
			i, err := c.number(x, known)
			if err != nil {
				return 0, err
			}
			c.encoded = binary.AppendVarint(c.encoded, int64(i))
		}
	case object:
		for _, name := range v.keys {
			i, err := c.number(v.field[name], known)
			if err != nil {
				return 0, err
			}
			c.encoded = append(binary.AppendVarint(binary.AppendVarint(c.encoded, int64(i)), int64(len(name))), name...)
		}
	}
	k := c.encoded[begin:]
	if c.n.meter.Done(16 + len(k)) {
		return 0, c.n.meter.Err()
	}
	i, ok := known[string(k)]
	if ok {
		c.ids[v] = i
		return i, nil
	}
	i = c.id(v)
	known[string(k)] = i
	return i, nil
}

// automaton returns the automaton of the scalars of one kind that satisfy the given schemas
// and, if among is not empty, are among its values. It calls make only the first time and
// caches the result.
func (c *compiler) automaton(kind string, schemas, among []*value, make func() (automaton, error)) (automaton, error) {
	k := kind + c.key(schemas) + "|" + c.key(among)
	a, ok := c.automata[k]
	if !ok {
		var err error
		if a, err = make(); err != nil {
			return nil, err
		}
		c.automata[k] = a
	}
	return a, nil
}

// property returns the location of the value of the property called name.
func (c *compiler) property(l *location, name string) (*location, error) {
	return c.child(l, "."+name, func(s *value) ([]*value, error) { return c.valueOf(s, name) })
}

// other returns the location of the value of a property that l does not list, if its name
// matches exactly the given patterns of l. If l has more than several patterns, the location is
// for a name that matches any of them.
func (c *compiler) other(l *location, matched []string) (*location, error) {
	return c.child(l, "other "+strings.Join(matched, "\x00"), func(s *value) ([]*value, error) {
		subs := c.otherOf(s, matched)
		if len(l.patterns) > several {
			subs = append(subs, s.get("additionalProperties"))
		}
		return subs, nil
	})
}

// otherOf returns the subschemas of s for a property that s does not list and whose name
// matches exactly the given patterns.
func (c *compiler) otherOf(s *value, matched []string) (subs []*value) {
	if p := s.get("patternProperties"); p != nil {
		for _, k := range p.keys {
			if slices.Contains(matched, k) {
				subs = append(subs, p.field[k])
			}
		}
	}
	if len(subs) == 0 {
		subs = append(subs, s.get("additionalProperties"))
	}
	return subs
}

// item returns the location of the item with index at of an array.
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
	if c.merging != nil {
		return nil, nil
	}
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

// valueOf returns the subschemas of s that apply to the value of the property called name.
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

// prefix returns the schemas that s gives for individual leading items, or nil.
func prefix(s *value) []*value {
	if p := s.get("prefixItems"); p != nil && p.kind == array {
		return p.items
	}
	if p := s.get("items"); p != nil && p.kind == array {
		return p.items
	}
	return nil
}

// itemOf returns the schema that s gives for the item with index at, or nil if the item is
// unrestricted.
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
