package grammar

import "slices"

// trimmed returns the network without the nodes and moves from which no text completes
// their rule, gates taken as open: without gates, whatever a run reaches can be completed.
// The second result has the nodes from which a rule is completed without a gate.
func (n *network) trimmed() (*network, []bool, error) {
	t := &trimmer{network: n, tables: map[automaton]*table{}, never: map[int32]bool{}}
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
	to.nodes = slices.Clone(n.nodes)
	to.inputs = map[int32][]int32{}
	for at, gates := range n.inputs {
		if ok[at] {
			to.inputs[at] = keep(gates, func(g int32) bool { return ok[n.gates[g].out] })
		}
	}
	for at := range to.nodes {
		v := &to.nodes[at]
		if !ok[at] {
			*v = node{ends: -1}
			continue
		}
		v.free = keep(v.free, func(to int32) bool { return ok[to] })
		v.arcs = keep(v.arcs, func(a arc) bool { return ok[a.to] })
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

// keep returns the elements for which f holds, x itself if these are all.
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

// trimmer finds the nodes that lead to the end of their rules.
type trimmer struct {
	*network
	tables map[automaton]*table
	never  map[int32]bool // nodes that read names none of which lead on
}

func (t *trimmer) table(a automaton) *table {
	x := t.tables[a]
	if x == nil {
		x = newTable(a)
		t.tables[a] = x
	}
	return x
}

// completable finds the nodes from which the end of their rule is reached: through gates as
// if they were open, or not through gates.
func (t *trimmer) completable(gates bool) ([]bool, error) {
	n := t.network
	for {
		ok, err := n.leading(func(at int32) bool {
			a := n.nodes[at].scalar
			if _, isName := a.(*nameRun); isName {
				return !t.never[at]
			}
			return t.table(a).live(a.start())
		}, gates)
		if err != nil {
			return nil, err
		}
		// A known name can be spelled, but there may be none that matches just some patterns.
		again := false
		for at := range n.nodes {
			r, is := n.nodes[at].scalar.(*nameRun)
			if !ok[at] || !is || r.knows(func(to int32) bool { return ok[to] }) {
				continue
			}
			x := newTable(r)
			x.leads, x.ok = r, ok
			if !x.live(r.start()) {
				t.never[int32(at)], again = true, true
			}
		}
		if !again {
			return ok, nil
		}
	}
}

// table is an automaton without the states from which no text ends. Its moves are made when
// they are needed.
type table struct {
	automaton
	leads leading // if it is one
	ok    []bool  // nodes to which it may lead
	rows  []*tableRow
}

type tableRow struct {
	next  *[256]int32 // nil if none is known, unmade where one is not
	alive int8        // 0: not known, 1: yes, −1: no
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
	r := t.at(q)
	if r.ends == 0 {
		r.ends = -1
		if t.leads == nil && t.automaton.final(q) || t.leads != nil && t.to(q) >= 0 {
			r.ends = 1
		}
	}
	return r.ends > 0
}

func (t *table) next(q int32, b byte) int32 {
	r := t.at(q)
	if r.next == nil {
		row := unmadeRow
		r.next = &row
	}
	to := r.next[b]
	if to == unmade {
		if to = t.automaton.next(q, b); to < 0 || !t.live(to) {
			to = -1
		}
		r.next[b] = to
	}
	return to
}

// unmade is a move that is not known.
const unmade = -2

var unmadeRow = func() (row [256]int32) {
	for b := range row {
		row[b] = unmade
	}
	return row
}()

// bytes returns those with which a text may go on at a state, likely ones first.
func (t *table) bytes(q int32) []byte {
	if a, is := t.automaton.(chooser); is {
		if bytes, only := a.choices(nil, q); only {
			return bytes
		}
	}
	return likely
}

// completes reports whether a text ends after q, where that takes no search.
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

// live reports whether a text ends after q. All that a search without success has seen is
// dead.
func (t *table) live(q int32) bool {
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
			seen[to] = true
			path = append(path, place{to, 0, t.bytes(to)})
		}
	}
	for x := range seen {
		t.at(x).alive = -1
	}
	return false
}
