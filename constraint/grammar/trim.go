package grammar

import "slices"

// trimmed returns the network without the nodes and moves from which the end of their rule
// cannot be reached, even if all gates are open. In a network without gates, every state that a
// run reaches can then be completed. The second result marks the nodes from which the end of
// the rule can be reached without a gate.
func (n *network) trimmed() (*network, []bool, error) {
	t, bytes := newTrimmer(n), n.bytes
	ok, err := t.completable(true)
	if err != nil {
		return nil, nil, err
	}
	free := ok
	if len(n.gates) > 0 {
		if free, err = t.completable(false); err != nil {
			return nil, nil, err
		}
	}
	to := *n
	to.bytes = bytes // the memory of the searches is free again
	to.nodes = slices.Clone(n.nodes)
	for at := range to.nodes {
		v := &to.nodes[at]
		if !ok[at] {
			*v = node{ends: -1}
			continue
		}
		v.free = keep(v.free, func(to int32) bool { return ok[to] })
		v.arcs = keep(v.arcs, func(a arc) bool { return ok[a.to] })
		v.inputs = keep(v.inputs, func(g int32) bool { return ok[n.gates[g].out] })
		v.calls = keep(v.calls, func(c callArc) bool { return ok[c.to] && ok[n.rules[c.rule].start] })
		if v.leads {
			x := newTable(v.scalar)
			x.leads, x.ok = v.lead(), ok
			v.scalar = x
		} else if v.scalar != nil {
			v.scalar = t.table(v.scalar)
		}
	}
	return &to, free, nil
}

// keep returns the elements of x for which f returns true. If these are all, it returns x
// itself.
func keep[E any](x []E, f func(E) bool) []E {
	for i, e := range x {
		if !f(e) {
			y := slices.Clone(x[:i])
			for _, e := range x[i+1:] {
				if f(e) {
					y = append(y, e)
				}
			}
			return y
		}
	}
	return x
}

// trimmer finds the nodes from which the end of their rule can be reached.
type trimmer struct {
	*network
	paths  *paths
	tables map[automaton]*table
	never  map[int32]bool // nodes that read names, none of which leads to a useful node
	names  map[*objects]*nameEnds
}

// newTrimmer returns a trimmer, which charges the memory of its searches to n.
func newTrimmer(n *network) *trimmer {
	return &trimmer{network: n, paths: n.paths(false), tables: map[automaton]*table{}, never: map[int32]bool{}, names: map[*objects]*nameEnds{}}
}

func (t *trimmer) table(a automaton) *table {
	x := t.tables[a]
	if x == nil {
		x = newTable(a)
		t.tables[a] = x
	}
	return x
}

// completable returns, for every node, whether the end of its rule can be reached. Gates count
// as open if gates is true and as closed otherwise.
func (t *trimmer) completable(gates bool) ([]bool, error) {
	n := t.network
	for {
		ok, err := t.paths.leading(func(at int32) bool {
			a := n.nodes[at].scalar
			if _, isName := a.(*nameRun); isName {
				return !t.never[at]
			}
			return t.table(a).live(a.start(), n)
		}, gates)
		if err == nil {
			err = n.check(0) // after the searches
		}
		if err != nil {
			return nil, err
		}
		// A known name can be spelled, but there may be none that matches just some patterns.
		again := false
		for at := range n.nodes {
			r, is := n.nodes[at].scalar.(*nameRun)
			if !ok[at] || !is || ok[t.paths.place(r)] {
				continue
			}
			ends, err := t.ends(r, ok)
			if err != nil {
				return nil, err
			}
			if !ends {
				t.never[int32(at)], again = true, true
			}
		}
		if !again {
			return ok, nil
		}
	}
}

// ends reports whether some name of r leads to a node for which ok is true.
func (t *trimmer) ends(r *nameRun, ok []bool) (bool, error) {
	if r.o.keys.least > 0 || r.o.keys.most >= 0 { // the characters of names are counted
		x := newTable(r)
		x.leads, x.ok = r, ok
		live := x.live(r.start(), t.network)
		return live, t.check(0)
	}
	x := t.names[r.o]
	if x == nil {
		x = newNameEnds(r.o, t.network)
		t.names[r.o] = x
	}
	return x.any(t.network, func(e nameEnd) bool {
		to := r.leads(e)
		return to >= 0 && ok[to]
	})
}

// table is an automaton without the states from which no text can be completed, unless all is
// true. Its moves are computed when they are needed.
type table struct {
	automaton
	// keeps all states, because deciding which to remove takes a search; a table of names (leads) then
	// stores no moves, because its object does
	all    bool
	direct bool    // true if the automaton stores its moves itself, and all is true
	leads  leading // the automaton if it implements leading, otherwise nil
	ok     []bool  // nodes to which a name may lead
	// nodes where the names are the same, apart from those that have passed, and the numbers of names that
	// have passed there, in ascending order; nil if there is only one or they are not known
	group, passed []int32
	rows          []*tableRow

	classes *byteClasses // classes of bytes of the automaton; nil until a move is computed
}

type tableRow struct {
	next  []int32 // next state by class of bytes, unmade if not computed; nil if none has been computed
	alive int8    // whether a text can be completed: 1 yes, −1 no, 0 not known
	ends  int8
}

func newTable(a automaton) *table { return &table{automaton: a} }

func (t *table) at(q int32) *tableRow {
	for int(q) >= len(t.rows) {
		t.rows = append(t.rows, nil)
	}
	r := t.rows[q]
	if r == nil {
		r = &tableRow{}
		t.rows[q] = r
	}
	return r
}

func (t *table) to(q int32) int32 {
	if to := t.leads.to(q); to >= 0 && t.ok[to] {
		return to
	}
	return -1
}

func (t *table) targets(nodes []int32) []int32 { return t.leads.targets(nodes) }

func (t *table) final(q int32) bool {
	if t.all {
		return t.mayEnd(q)
	}
	r := t.at(q)
	if r.ends == 0 {
		r.ends = -1
		if t.mayEnd(q) {
			r.ends = 1
		}
	}
	return r.ends > 0
}

// mayEnd computes what final returns.
func (t *table) mayEnd(q int32) bool {
	if t.leads != nil {
		return t.to(q) >= 0
	}
	return t.automaton.final(q)
}

func (t *table) next(q int32, b byte) int32 {
	if t.direct || t.all && t.leads != nil {
		return t.automaton.next(q, b)
	}
	r := t.at(q)
	if r.next == nil {
		r.next = slices.Repeat(unmadeMove, len(t.byteClasses().some))
	}
	c := t.classes.of[b]
	to := r.next[c]
	if to == unmade {
		if to = t.automaton.next(q, b); to < 0 || !t.all && !t.live(to, nil) {
			to = -1
		}
		r.next[c] = to
	}
	return to
}

// byteClasses returns the classes of bytes of the automaton. The result is cached.
func (t *table) byteClasses() *byteClasses {
	if t.classes == nil {
		t.classes = classesOf(t.automaton)
	}
	return t.classes
}

// reads returns bytes that represent all bytes in state q: a text continues with none of the
// others, or as with one of these.
func (t *table) reads(bytes []byte, q int32) []byte {
	if a, is := t.automaton.(chooser); is {
		if bytes, only := a.choices(bytes, q); only {
			return bytes
		}
	}
	return append(bytes, t.byteClasses().some...)
}

// unmade marks a move that has not been computed.
const unmade = -2

var unmadeMove = []int32{unmade}

// bytes returns the bytes with which a text may continue in state q, the likely ones first.
func (t *table) bytes(q int32) []byte {
	if a, is := t.automaton.(chooser); is {
		if bytes, only := a.choices(nil, q); only {
			return bytes
		}
	}
	return likely
}

// completes reports whether a text can be completed from state q. sure is false if deciding
// this would take a search.
func (t *table) completes(q int32) (yes, sure bool) {
	switch a := t.automaton.(type) {
	case *stringAutomaton:
		return a.completes(q)
	case *numberAutomaton:
		return a.completes(q)
	case *nameRun:
		return a.completes(q, func(to int32) bool { return t.ok[to] })
	}
	return false, false
}

// live reports whether a text can be completed from state q. If a search finds no completion,
// all states that it visited are recorded as dead. A search ends when the check of the network n
// fails, and live then returns false. n may be nil.
func (t *table) live(q int32, n *network) bool {
	r := t.at(q)
	if r.alive != 0 {
		return r.alive > 0
	}
	if yes, sure := t.completes(q); sure {
		r.alive = -1
		if yes {
			r.alive = 1
		}
		return yes
	}
	type place struct {
		q    int32
		next int // of its bytes
		of   []byte
	}
	path := []place{{q, 0, t.bytes(q)}}
	seen := map[int32]bool{q: true}
	for len(path) > 0 {
		if n != nil && n.check(0) != nil {
			return false
		}
		p := &path[len(path)-1]
		if t.at(p.q).alive > 0 || p.next == 0 && t.final(p.q) {
			for _, x := range path {
				t.at(x.q).alive = 1
			}
			return true
		}
		if p.next == len(p.of) {
			path = path[:len(path)-1]
			continue
		}
		to := t.automaton.next(p.q, p.of[p.next])
		p.next++
		if to >= 0 && !seen[to] && t.at(to).alive >= 0 {
			if yes, sure := t.completes(to); sure && !yes {
				t.at(to).alive = -1
				continue
			} else if sure {
				t.at(to).alive = 1
			}
			if n != nil {
				n.charge(nodeBytes)
			}
			seen[to] = true
			path = append(path, place{to, 0, t.bytes(to)})
		}
	}
	for x := range seen {
		t.at(x).alive = -1
	}
	return false
}
