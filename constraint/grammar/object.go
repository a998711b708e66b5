package grammar

import (
	"slices"
)

// objects builds the rule for the objects that satisfy some schemas. The members with listed
// names come first, in the order of the location, then the others.
type objects struct {
	*compiler
	of       []*value // schemas that every object of the rule satisfies
	l        *location
	required map[string]bool
	// need[i] is the index of the first required name of the location from index i on
	need        []int
	needLoose   uint16
	least, most int // bounds on the number of members; most < 0 means no upper bound
	names       *keys
	some        []*some
	// automata that are run on unknown names: for the patterns, and for the assertions in the
	// field some
	watched []byteAutomaton
	// automaton that reads the name of a member and determines which known name it is and which
	// patterns it matches
	keys    *stringAutomaton
	moves   *table // keys, with moves cached
	at      map[member]int32
	targets map[member]*targets
	entries map[entry]int32
	forks   map[string]int32 // nodes from which several entries are reached, by their key
	sets    []*unlisted      // cached results of unlisted by set; nil until first needed
	todo    []member
	end     int32
}

// member is the state between two members of an object: the number of names of the location
// that have been passed, the numbers of known and other members (as far as a bound depends on
// them), and whether there was any member.
type member struct {
	passed, known, others int
	seen                  uint16 // set of the loose names that occurred
	found                 uint8  // set of the assertions in some that a member has satisfied
	started               bool
}

// targets holds the nodes that follow a name, shared by all states that differ only in the
// number of names passed. named is indexed by the number of a known name. others is indexed by
// the set of watched automata that an unknown name matches. −1 means that the name is not
// allowed.
type targets struct {
	named  map[int]int32
	others []int32
}

// entry identifies the part of a rule after a name: a value that satisfies the schemas, at the
// location l, followed by the state in the field to.
type entry struct {
	to      member
	schemas string
	l       *location
}

// object returns the rule for the objects that satisfy all of the given schemas.
func (c *compiler) object(all []*value, l *location) (int32, error) {
	all = caring(all, "properties", "patternProperties", "additionalProperties", "required", "minProperties", "maxProperties", "propertyNames")
	l, err := c.locationOf(all, l)
	if err != nil {
		return 0, err
	}
	key := ruleKey{object, c.key(all), l.key}
	if r, ok := c.rules[key]; ok {
		return r, nil
	}
	r := c.n.rule(all[0].path)
	c.rules[key] = r
	o := &objects{compiler: c, of: all, l: l, required: map[string]bool{}, most: -1, at: map[member]int32{}, names: &keys{stringSpec: stringSpec{most: -1}},
		targets: map[member]*targets{}, entries: map[entry]int32{}, forks: map[string]int32{}, end: c.n.rules[r].end}
	building := c.building
	c.building = map[*value]bool{}
	defer func() { c.building = building }()
	for _, s := range all {
		if err := o.bounds(s); err != nil {
			return 0, err
		}
	}
	o.need = make([]int, len(l.names)+1)
	o.need[len(l.names)] = len(l.names)
	for i := len(l.names) - 1; i >= 0; i-- {
		if o.need[i] = o.need[i+1]; o.required[l.names[i]] {
			o.need[i] = i
		}
	}
	for i, name := range l.loose {
		if o.required[name] {
			o.needLoose |= 1 << i
		}
	}
	if err = o.reader(); err != nil {
		return 0, err
	}
	c.n.arc(c.n.rules[r].start, '{', '{', o.place(member{}))
	for len(o.todo) > 0 {
		m := o.todo[len(o.todo)-1]
		o.todo = o.todo[:len(o.todo)-1]
		if err := o.grow(m); err != nil {
			return 0, err
		}
		if err := c.n.check(1); err != nil {
			return 0, err
		}
	}
	return r, nil
}

// bounds records the assertions of the schema s that concern all members: required names, the
// number of members and propertyNames.
func (o *objects) bounds(s *value) error {
	if x := s.get("required"); x != nil {
		for _, k := range x.items {
			if k.kind != str {
				return malformed(k, "a string")
			}
			o.required[k.text] = true
		}
	}
	if x := s.get("minProperties"); x != nil {
		n, err := countOf(x)
		if err != nil {
			return err
		}
		o.least = max(o.least, n)
	}
	if x := s.get("maxProperties"); x != nil {
		n, err := countOf(x)
		if err != nil {
			return err
		}
		if o.most < 0 || n < o.most {
			o.most = n
		}
	}
	if s.some != nil {
		o.some = append(o.some, s.some)
		choices := 0
		for _, x := range o.some {
			choices += int(bit(x.value != nil))
		}
		if choices > kinds || len(o.some) > 8 { // the bits of member.found
			return errGates
		}
	}
	if (o.least > 0 || o.most >= 0) && o.negated[s] {
		// Names that the schema does not know may repeat, so that members are
		// not counted exactly.
		if s.get("additionalProperties") == nil || s.get("additionalProperties").kind != boolean || s.get("patternProperties") != nil {
			if o.least > 1 || o.most >= 0 {
				return unsupported(s, "minProperties", "bounds on unknown members are not supported in a schema with not, oneOf, if or dependencies")
			}
		}
	}
	o.n.below = o.n.below || o.least > 1
	return o.restrict(o.names, s.get("propertyNames"), 0)
}

// several bounds the number of patterns that a rule distinguishes, because every set of
// patterns that a name may match needs its own value.
const several = 5

// reader sets keys to an automaton for the names that propertyNames allows, which also tracks the known
// names and the patterns. Rules of the same known names share it unless they restrict names differently.
func (o *objects) reader() error {
	spec := o.names.stringSpec
	spec.canonical = o.canonical
	spec.tests = append(slices.Clone(spec.tests), test{a: o.l.index, watched: true})
	if len(o.patterns()) > several {
		return unsupported(o.of[0], "patternProperties", "%d patterns, want ≤ %d", len(o.patterns()), several)
	}
	for _, k := range o.patterns() {
		tests, err := o.pattern(k, o.of[0].path.in("patternProperties"))
		if err != nil {
			return err
		}
		if len(tests) > 1 {
			return unsupported(o.of[0], "patternProperties", "lookaheads are not supported here")
		}
		o.watched = append(o.watched, tests[0].a)
	}
	for _, x := range o.some {
		for _, t := range x.names {
			if !slices.Contains(o.watched, t.a) {
				o.watched = append(o.watched, t.a)
			}
		}
	}
	if len(o.watched) > several+3 {
		return errGates
	}
	for _, a := range o.watched {
		spec.tests = append(spec.tests, test{a: a, watched: true})
	}
	for _, t := range o.l.index.readers {
		o.moves, o.keys = t, t.automaton.(*stringAutomaton)
		if k := &o.keys.stringSpec; k.least == spec.least && k.most == spec.most && k.low == spec.low && slices.Equal(k.tests, spec.tests) {
			return nil
		}
	}
	o.keys = newString(spec)
	o.moves = newTable(o.keys)
	o.moves.all = true
	o.l.index.readers = append(o.l.index.readers, o.moves)
	return nil
}

// patterns returns the patterns that the rule distinguishes. These are all patterns of the
// location, so that its rules agree on the order of members within a value. If there are too
// many, they are the patterns of the schemas of this rule, and the values of all unknown names
// share one order.
func (o *objects) patterns() []string {
	if len(o.l.patterns) <= several {
		return o.l.patterns
	}
	var own []string
	for _, s := range o.of {
		if p := s.get("patternProperties"); p != nil {
			own = append(own, p.keys...)
		}
	}
	return own
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

// after returns the state after one more member. It returns false if there are then too many
// members.
func (o *objects) after(m member, known bool) (member, bool) {
	m.started = true
	if known {
		m.known++
	} else {
		m.others++
	}
	if o.most >= 0 {
		return m, m.known+m.others <= o.most
	}
	// Names that the schema does not know may repeat: one of them is sure.
	m.known, m.others = min(m.known, o.least), min(m.others, o.sure())
	return m, true
}

// sure returns the number up to which members with unknown names are counted. Such names may
// repeat, so only one member is certain to count.
func (o *objects) sure() int {
	if o.differ {
		return o.least
	}
	return min(o.least, 1)
}

// grow adds the moves from the state m: the end of the object, and a name, preceded by a comma
// unless it is the first.
func (o *objects) grow(m member) error {
	at := o.at[m]
	open := o.need[m.passed] == len(o.l.names) // no name in order is missing
	if open && m.seen&o.needLoose == o.needLoose && m.found == 1<<len(o.some)-1 && m.known+min(m.others, o.sure()) >= o.least {
		o.n.arc(at, '}', '}', o.end)
	}
	group := m
	group.passed, group.started = 0, false
	t := o.targets[group]
	if t == nil {
		t = &targets{named: map[int]int32{}}
		o.targets[group] = t
	}
	// Targets of one name after another are there up to the next required one, if any are.
	for i := m.passed; i <= o.need[m.passed] && i < len(o.l.names); i++ {
		if _, ok := t.named[i]; ok {
			break
		}
		if err := o.named(t, group, i); err != nil {
			return err
		}
	}
	if open {
		for i := range o.l.loose {
			if k := len(o.l.names) + i; m.seen>>i&1 == 0 && t.named[k] == 0 {
				if err := o.named(t, group, k); err != nil {
					return err
				}
			}
		}
		if t.others == nil {
			if err := o.others(t, group); err != nil {
				return err
			}
		}
	}
	if m.started {
		next := o.n.add()
		o.n.arc(at, ',', ',', next)
		o.space(next)
		at = next
	}
	o.n.lead(at, &nameRun{o, m, t, open})
	return nil
}

// named adds the target of the known name with index i.
func (o *objects) named(t *targets, m member, i int) error {
	name := o.l.index.names[i]
	t.named[i] = -1
	to, ok := o.after(m, true)
	if !ok || !o.names.has(name) {
		return nil
	}
	if to.passed = i + 1; i >= len(o.l.names) {
		to.passed = len(o.l.names)
		to.seen |= 1 << (i - len(o.l.names))
	}
	var subs []*value
	for _, s := range o.of {
		of, err := o.valueOf(s, name)
		if err != nil {
			return err
		}
		subs = append(subs, of...)
	}
	inner, err := o.property(o.l, name)
	if err != nil {
		return err
	}
	t.named[i], err = o.either(subs, func(x test) bool { return holds(x.a, name) }, inner, to)
	return err
}

// others adds the targets of the names that the location does not list.
func (o *objects) others(t *targets, m member) error {
	t.others = make([]int32, 1<<len(o.watched))
	to, ok := o.after(m, false)
	to.passed = len(o.l.names)
	for set := range t.others {
		t.others[set] = -1
		if !ok || o.names.never {
			continue
		}
		x, err := o.unlisted(set)
		if err != nil {
			return err
		}
		if x.choice {
			t.others[set], err = o.either(x.subs, func(y test) bool { return x.matches(o, y) }, x.inner, to)
		} else {
			to := to
			to.found |= x.found
			t.others[set], err = o.keyed(x.subs, x.key, x.inner, to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unlisted is what is known of a name that the location does not list from the set of watched
// automata that it matches.
type unlisted struct {
	set    int
	subs   []*value // schemas of its value, and their key
	key    string
	inner  *location
	found  uint8 // assertions in some that the name satisfies, whatever the value
	choice bool  // whether the value may satisfy others
}

func (x *unlisted) matches(o *objects, t test) bool {
	return x.set>>slices.Index(o.watched, t.a)&1 == 1
}

// unlisted returns the description of the names that match the given set of watched automata. The
// result is cached.
func (o *objects) unlisted(set int) (*unlisted, error) {
	if o.sets == nil {
		o.sets = make([]*unlisted, 1<<len(o.watched))
	}
	if o.sets[set] != nil {
		return o.sets[set], nil
	}
	x := &unlisted{set: set}
	var matched []string
	for i, k := range o.patterns() {
		if set>>i&1 == 1 {
			matched = append(matched, k)
		}
	}
	together := matched
	if len(o.l.patterns) > several {
		together = o.l.patterns
	}
	var err error
	if x.inner, err = o.other(o.l, together); err != nil {
		return nil, err
	}
	for _, s := range o.of {
		x.subs = append(x.subs, o.otherOf(s, matched)...)
	}
	x.key = o.key(x.subs)
	for i, y := range o.some {
		if slices.ContainsFunc(y.names, func(t test) bool { return x.matches(o, t) != t.want }) {
			continue
		}
		if y.value == nil {
			x.found |= 1 << i
		} else {
			x.choice = true
		}
	}
	o.sets[set] = x
	return x, nil
}

// either returns the node after the name of a member whose value may, but need not, satisfy one
// of the assertions in some. It returns −1 if no value is allowed. matches reports whether a
// test accepts the name.
func (o *objects) either(subs []*value, matches func(t test) bool, inner *location, to member) (int32, error) {
	choices := []struct {
		subs []*value
		to   member
	}{{subs, to}}
	for i, x := range o.some {
		if to.found>>i&1 == 1 || slices.ContainsFunc(x.names, func(t test) bool { return matches(t) != t.want }) {
			continue
		}
		if x.value == nil { // the name alone decides
			for k := range choices {
				choices[k].to.found |= 1 << i
			}
			continue
		}
		for _, c := range choices[:len(choices):len(choices)] {
			c.to.found |= 1 << i
			c.subs = append(slices.Clip(c.subs), x.value)
			choices = append(choices, c)
		}
	}
	var nodes []int32
	for _, c := range choices {
		at, err := o.member(c.subs, inner, c.to)
		if err != nil {
			return -1, err
		}
		if at >= 0 && !slices.Contains(nodes, at) {
			nodes = append(nodes, at)
		}
	}
	switch len(nodes) {
	case 0:
		return -1, nil
	case 1:
		return nodes[0], nil
	}
	k := words(nodes)
	at, ok := o.forks[k]
	if !ok {
		at = o.n.add()
		o.forks[k] = at
		for _, to := range nodes {
			o.n.link(at, to)
		}
	}
	return at, nil
}

// member returns the node after the name of a member whose value satisfies all of subs, or −1
// if no value is allowed.
func (o *objects) member(subs []*value, inner *location, to member) (int32, error) {
	return o.keyed(subs, o.key(subs), inner, to)
}

// keyed is member with the key of subs.
func (o *objects) keyed(subs []*value, key string, inner *location, to member) (int32, error) {
	for _, s := range subs {
		if s != nil && s.kind == boolean && !s.truth {
			return -1, nil
		}
	}
	k := entry{to, key, inner}
	if at, ok := o.entries[k]; ok {
		return at, nil
	}
	named, colon := o.n.add(), o.n.add()
	o.entries[k] = named
	o.space(named)
	o.n.arc(named, ':', ':', colon)
	o.space(colon)
	return named, o.all(subs, inner, colon, o.place(to))
}

// nameRun reads the names that are possible in one state of an object.
type nameRun struct {
	o    *objects
	m    member
	t    *targets
	open bool
}

func (r *nameRun) start() int32 { return r.o.keys.start() }

func (r *nameRun) next(state int32, b byte) int32 {
	to := r.o.moves.next(state, b)
	if to < 0 || !r.possible(to) {
		return -1
	}
	return to
}

// possible reports whether the text read so far is a prefix of a known name that may come next,
// or of an unknown name if one may.
func (r *nameRun) possible(state int32) bool {
	o := r.o
	if o.keys.states[state].at == closed {
		return r.to(state) >= 0
	}
	first := len(o.names.tests)
	tests := o.keys.states[state].tests
	if r.open {
		for set, to := range r.t.others {
			if to < 0 {
				continue
			}
			alive := true
			for i, at := range tests[first+1:] {
				alive = alive && (at >= 0 || set>>i&1 == 0)
			}
			if alive {
				return true
			}
		}
	}
	return tests[first] >= 0 && r.begins(int(tests[first]), func(int32) bool { return true })
}

// named returns the target of the known name with index i, or −1 if the name may not come
// next.
func (r *nameRun) named(i int) int32 {
	n := len(r.o.l.names)
	switch {
	case i < r.m.passed:
		return -1
	case i < n && i > r.o.need[r.m.passed]:
		return -1
	case i >= n && (!r.open || r.m.seen>>(i-n)&1 == 1):
		return -1
	}
	return r.t.named[i]
}

// nameGroup identifies runs of names that differ only in the number of names that have passed: their
// targets, which are those of all states of an object that are alike in the rest, and whether there was
// a member before.
type nameGroup struct {
	t       *targets
	started bool
}

// groupNames makes the runs of names that differ only in the number of passed names known to each other.
func (n *network) groupNames() {
	groups := map[nameGroup][]int32{}
	for at := range n.nodes {
		if t, is := n.nodes[at].scalar.(*table); is {
			if r, is := t.leads.(*nameRun); is {
				k := nameGroup{r.t, r.m.started}
				groups[k] = append(groups[k], int32(at))
			}
		}
	}
	passed := func(at int32) int { return n.nodes[at].scalar.(*table).leads.(*nameRun).m.passed }
	for _, nodes := range groups {
		if len(nodes) == 1 {
			continue
		}
		slices.SortFunc(nodes, func(a, b int32) int { return passed(a) - passed(b) })
		all := make([]int32, len(nodes))
		for i, at := range nodes {
			all[i] = int32(passed(at))
			t := n.nodes[at].scalar.(*table)
			t.group, t.passed = nodes, all
		}
	}
}

// node returns the node at which a run of names in the given state continues: node itself, or one where
// more names have passed, if no name that is possible begins with the text read so far and has passed
// there. The same names are possible there: the first one that begins with the text comes no later than
// the next required name, or the state would be dead, unless no more names are required.
func (t *table) node(node, state int32) int32 {
	if t.group == nil {
		return node
	}
	r := t.leads.(*nameRun)
	s := &r.o.keys.states[state]
	if s.at == closed {
		return node
	}
	next := len(r.o.l.names)
	if at := s.tests[len(r.o.names.tests)]; at >= 0 {
		next = min(next, r.o.l.index.next(at, r.m.passed))
	}
	i, found := slices.BinarySearch(t.passed, int32(next))
	if !found {
		i--
	}
	return t.group[i]
}

func (r *nameRun) final(state int32) bool { return r.to(state) >= 0 }

// completes reports whether a name can be completed from a state, so that ok returns true for
// the node after it. sure is false if deciding this would take a search. No search is needed
// between two characters of a known name, if names are not restricted in length or otherwise.
func (r *nameRun) completes(state int32, ok func(to int32) bool) (yes, sure bool) {
	k := r.o.keys
	s := &k.states[state]
	if len(r.o.names.tests) > 0 || k.least > 0 || k.most >= 0 || s.at == closed || s.tests[0] < 0 {
		return false, false
	}
	switch s.at {
	case before, plain:
		return true, r.begins(int(s.tests[0]), ok)
	case escaped, hex:
		return true, s.left%4 == 0 && s.lead == 0 && !k.canonical && readsASCII(func(b byte) bool {
			to := r.o.l.index.Next(int(s.tests[0]), int32(b))
			return to >= 0 && r.begins(to, ok)
		})
	}
	return false, false
}

// begins reports whether f returns true for the node after some known name that passes through
// node at of the index.
func (r *nameRun) begins(at int, f func(to int32) bool) bool {
	o := r.o
	end := min(o.need[r.m.passed]+1, len(o.l.names))
	if r.open {
		end = len(o.l.index.names)
	}
	return o.l.index.any(at, r.m.passed, end, func(i int) bool {
		to := r.named(i)
		return to >= 0 && f(to)
	})
}

func (r *nameRun) targets(nodes []int32) []int32 {
	r.leadsTo(func(to int32) bool {
		nodes = append(nodes, to)
		return false
	})
	return nodes
}

// to returns the node that follows a name which ends in the given state, or −1 if no name ends
// there.
func (r *nameRun) to(state int32) int32 {
	s := &r.o.keys.states[state]
	if s.at != closed {
		return -1
	}
	return r.leads(r.o.ended(s.tests))
}

// ended returns what a name is that ends when the tests of the names are in the given states.
func (o *objects) ended(states []int32) nameEnd {
	states = states[len(o.names.tests):]
	e := nameEnd{name: -1}
	if states[0] >= 0 {
		e.name = o.l.index.at(states[0])
	}
	for i, q := range states[1:] {
		if q >= 0 && o.watched[i].Accepting(int(q)) {
			e.set |= 1 << i
		}
	}
	return e
}

// nameEnds finds what names can turn out to be: which known name, and which watched automata accept
// it. All runs of the names of an object share it. It reads the characters of names, whose spellings
// do not matter, and searches no further than a run asks for.
type nameEnds struct {
	o    *objects
	j    *joint         // of the restrictions on names, the index of the known names and the watched automata
	todo [2][]namePlace // places still to be visited: those with which no known name begins come first
	last *namePlace     // place that was visited and whose successors are not in todo yet, nil if there is none
	seen map[namePlace]bool
	list []nameEnd
	is   map[nameEnd]bool
}

// namePlace is a state of a joint automaton within a character.
type namePlace struct {
	q int
	c character
}

// nameEnd is the number of a known name, −1 if it is none, and the set of watched automata that
// accept the name.
type nameEnd struct {
	name int32
	set  int
}

// any reports whether f returns true for what some name turns out to be. It charges the memory of
// the search to n. The error is that of n.check.
func (x *nameEnds) any(n *network, f func(e nameEnd) bool) (bool, error) {
	for i := 0; ; i++ {
		for i == len(x.list) {
			if err := x.follow(n); err != nil {
				return false, err
			}
			if len(x.todo[0])+len(x.todo[1]) == 0 {
				return false, nil
			}
			x.visit()
		}
		if f(x.list[i]) {
			return true, nil
		}
	}
}

// visit visits one place that is still to be visited.
func (x *nameEnds) visit() {
	k := 0
	if len(x.todo[0]) == 0 {
		k = 1
	}
	last := len(x.todo[k]) - 1
	at := x.todo[k][last]
	x.todo[k] = x.todo[k][:last]
	if at.c.whole() && x.accepts(at.q, len(x.o.names.tests)) {
		if e := x.o.ended(x.j.at(at.q)); !x.is[e] {
			x.is[e] = true
			x.list = append(x.list, e)
		}
	}
	x.last = &at
}

// follow adds the successors of the last place that was visited to those still to be visited.
func (x *nameEnds) follow(n *network) error {
	if x.last == nil {
		return nil
	}
	at := *x.last
	x.last = nil
	bytes := x.o.keys.insideClasses().some
	for _, b := range bytes {
		if c := at.c.after(b); !c.bad {
			x.find(n, namePlace{x.j.Next(at.q, int32(b)), c})
		}
	}
	return n.check(len(bytes) * (64 + 8*len(x.j.tests)))
}

func (x *nameEnds) find(n *network, at namePlace) {
	if at.q < 0 || x.seen[at] {
		return
	}
	n.charge(nodeBytes + arcBytes*len(x.j.tests))
	x.seen[at] = true
	k := int(bit(x.j.at(at.q)[len(x.o.names.tests)] >= 0))
	x.todo[k] = append(x.todo[k], at)
}

// accepts reports whether the first n tests have the wanted result in state q.
func (x *nameEnds) accepts(q, n int) bool {
	for i, t := range x.j.tests[:n] {
		if s := x.j.at(q)[i]; (s >= 0 && t.a.Accepting(int(s))) != t.want {
			return false
		}
	}
	return true
}

// newNameEnds returns a search that begins with the empty name. It charges its memory to n.
func newNameEnds(o *objects, n *network) *nameEnds {
	x := &nameEnds{o: o, j: newJoint(o.keys.tests), seen: map[namePlace]bool{}, is: map[nameEnd]bool{}}
	x.find(n, namePlace{q: x.j.Start()})
	return x
}

// leads returns the node that follows a name which turns out to be e, or −1 if there is none.
func (r *nameRun) leads(e nameEnd) int32 {
	if e.name >= 0 {
		return r.named(int(e.name))
	}
	if !r.open {
		return -1
	}
	return r.t.others[e.set]
}

// nameIndex is a trie of names. It is a byteAutomaton and also records, for every trie node,
// the names that pass through it.
type nameIndex struct {
	*trie
	names   []string
	readers []*table  // automata that read the names of members, with their moves
	number  []int32   // for every trie node, the index of the name that ends there, −1 if none
	below   [][]int32 // for every trie node, the names that pass through it, in ascending order
}

func newNameIndex(names []string) *nameIndex {
	return &nameIndex{trie: newTrie(names), names: names}
}

// build builds the trie and the numbers of names. It is called when they are first needed.
func (x *nameIndex) build() {
	x.trie.build()
	x.number, x.below = make([]int32, len(x.ends)), make([][]int32, len(x.ends))
	for i := range x.number {
		x.number[i] = -1
	}
	for i, name := range x.names {
		at := 0
		x.below[0] = append(x.below[0], int32(i))
		for k := range len(name) {
			at = x.Next(at, int32(name[k]))
			x.below[at] = append(x.below[at], int32(i))
		}
		x.number[at] = int32(i)
	}
}

// at returns the index of the name that ends at a trie node, or −1 if none does.
func (x *nameIndex) at(node int32) int32 {
	if x.number == nil {
		x.build()
	}
	return x.number[node]
}

// any reports whether f returns true for one of the names from … to−1 that pass through a trie
// node.
func (x *nameIndex) any(at, from, to int, f func(i int) bool) bool {
	if x.below == nil {
		x.build()
	}
	below := x.below[at]
	k, _ := slices.BinarySearch(below, int32(from))
	for ; k < len(below) && int(below[k]) < to; k++ {
		if f(int(below[k])) {
			return true
		}
	}
	return false
}

// next returns the first name from the given one on that passes through a trie node, or the number of
// all names.
func (x *nameIndex) next(at int32, from int) int {
	name := len(x.names)
	x.any(int(at), from, name, func(i int) bool {
		name = i
		return true
	})
	return name
}

// keys collects the restrictions that propertyNames sets on names. never means that no name is
// allowed.
type keys struct {
	stringSpec
	never bool
	// true if the schema is below a negation, where a name that fails the spec may make the
	// object valid
	negated bool
}

// restrict adds to k the restrictions of the schema s on names. Assertions that cannot concern
// strings are an error.
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
			spec, err := c.stringOf(p.s, c.exact, k.negated || c.negated[p.s])
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
			k.tests = append(k.tests, test{a: newTrie(texts), want: true})
		case opAll:
			for _, sub := range p.subs {
				if err := c.restrict(k, sub, depth+1); err != nil {
					return err
				}
			}
		case opNever:
			k.never = true
		case opNot:
			inner := &keys{stringSpec: stringSpec{most: -1}, negated: true}
			if err := c.restrict(inner, p.subs[0], depth+1); err != nil {
				return err
			}
			if inner.least > 0 || inner.most >= 0 || inner.never || len(inner.tests) != 1 {
				return unsupported(s, "not", "not supported in propertyNames")
			}
			k.tests = append(k.tests, test{a: inner.tests[0].a, want: !inner.tests[0].want})
		default:
			return &SchemaError{Path: s.path.String(), What: "anyOf, oneOf, if and dependencies are not supported in propertyNames", Unsupported: true}
		}
	}
	return nil
}

// has reports whether the name is allowed.
func (k *keys) has(name string) bool {
	n := len([]rune(name))
	return !k.never && n >= k.least && (k.most < 0 || n <= k.most) && passes(k.tests, name)
}
