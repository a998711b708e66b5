package grammar

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/pushdown"
)

// tries bounds the number of moves in a search for a text, which limits the search to about ten
// milliseconds. Real schemas take a few hundred moves.
const tries = 1 << 13

// likely lists all bytes in the order in which a search tries them: first those that end a
// value, then those that begin a short value, then the rest.
var likely = func() (order []byte) {
	order = []byte(`}]"0:,tnfrueals1-.[{`)
	for b := range 256 {
		if !slices.Contains(order, byte(b)) {
			order = append(order, byte(b))
		}
	}
	return order
}()

// search looks for a text of the language, depth first. found reports whether there is a text.
// If there is none, all reports whether the search was complete.
func (s *subsets) search() (found, all bool, err error) {
	type place struct {
		configuration
		next int // of the likely bytes
	}
	if s.start < 0 {
		return false, true, nil
	}
	l := Language{number: map[configuration]int{}, stacks: newStacks()}
	path := []place{{configuration: configuration{state: s.start}}}
	for n := 0; len(path) > 0; n++ {
		p := &path[len(path)-1]
		if p.next == 0 && p.stack == 0 && s.accepts(p.state) {
			return true, false, nil
		}
		if p.next == len(likely) {
			path = path[:len(path)-1]
			continue
		}
		if n >= tries {
			return false, false, nil
		}
		b := likely[p.next]
		p.next++
		m, err := s.move(p.state, b)
		if err != nil {
			return false, false, err
		}
		to := p.configuration
		switch m.Kind {
		case pushdown.Dead:
			continue
		case pushdown.Inside:
			to.state = m.To
		case pushdown.Call:
			to.state, to.stack = m.To, l.stacks.over(frame{to.stack, m.Symbol})
		case pushdown.Return:
			top := l.stacks.list[to.stack]
			if to.stack == 0 {
				continue
			}
			if to.state, err = s.resume(top.symbol, m.Symbol); err != nil {
				return false, false, err
			}
			if to.stack = top.below; to.state < 0 {
				continue
			}
		}
		if before := len(l.configs); l.find(to) == before {
			path = append(path, place{configuration: to})
		}
	}
	return false, true, nil
}

// empty reports whether the language is certain to be empty.
func (n *network) empty(ctx context.Context) (bool, error) {
	if yes, sure := n.productive(); sure {
		return !yes, nil
	}
	s := newSubsets(n)
	s.meter.Watch(ctx)
	found, all, err := s.search()
	return !found && all, err
}

// productive reports whether some run reaches the end of the first rule. sure reports whether the
// answer is certain to tell whether the language has a text. It is if even the automata that
// certainly have a text suffice while all gates are closed, or if all automata that may have one
// and open gates do not.
func (n *network) productive() (yes, sure bool) {
	type texts struct{ has, sure bool }
	known := map[automaton]texts{}
	p := n.paths(false)
	reaches := func(has func(t texts) bool, gates bool) (bool, error) {
		ok, err := p.leading(func(at int32) bool {
			a := n.nodes[at].scalar
			if _, isName := a.(*nameRun); isName {
				return true
			}
			t, is := known[a]
			if !is {
				t.has, t.sure = spells(a)
				known[a] = t
			}
			return has(t)
		}, gates)
		return err == nil && ok[n.rules[0].start], err
	}
	if yes, err := reaches(func(t texts) bool { return t.has && t.sure }, false); yes || err != nil { // the caller polls
		return true, err == nil
	}
	yes, err := reaches(func(t texts) bool { return t.has }, true)
	return yes || err != nil, !yes && err == nil
}

// leadsTo reports whether f returns true for some node that can follow a name.
func (r *nameRun) leadsTo(f func(to int32) bool) bool {
	return r.open && slices.ContainsFunc(r.t.others, func(to int32) bool { return to >= 0 && f(to) }) || r.knows(f)
}

// knows reports whether f returns true for some node that can follow a known name.
func (r *nameRun) knows(f func(to int32) bool) bool {
	n := len(r.o.l.names)
	for i := r.m.passed; i < n+len(r.o.l.loose); i++ {
		if i < n && i > r.o.need[r.m.passed] {
			i = n
		}
		if to := r.named(i); to >= 0 && f(to) {
			return true
		}
	}
	return false
}

// spellStates bounds the number of states that spells searches.
const spellStates = 1000

// spells reports whether the automaton a accepts any text. It searches a limited number of
// states. sure reports whether the answer is certain; if it is not, has is true.
func spells(a automaton) (has, sure bool) {
	if t, is := a.(*stringAutomaton); is {
		if has, sure := t.completes(t.start()); sure {
			return has, true
		}
	}
	t := newTable(a)
	seen := map[int32]bool{}
	path := []int32{a.start()}
	for len(path) > 0 {
		q := path[len(path)-1]
		if a.final(q) {
			return true, true
		}
		if len(seen) > spellStates {
			return true, false
		}
		seen[q] = true
		next := int32(-1)
		for _, b := range t.bytes(q) {
			if to := a.next(q, b); to >= 0 && !seen[to] {
				next = to
				break
			}
		}
		if next < 0 {
			path = path[:len(path)-1]
		} else {
			path = append(path, next)
		}
	}
	return false, true
}

// Limits of the search for the reasons why a schema has no value: reasons is the number of
// keywords that an error names, and trials the number of modified schemas that are compiled.
const (
	reasons = 8
	trials  = 300
)

// explain returns the error for a schema that no value satisfies. The error names keywords that
// exclude each other: removing any one of them would admit a value. The function empty decides
// whether the schema in its current, modified form has no value.
func explain(root *value, empty func() bool) error {
	r := &remover{empty: empty, seen: map[*value]bool{}}
	if root.kind == object {
		r.schema(root)
	}
	what := "no value satisfies it"
	slices.Sort(r.kept)
	r.kept = slices.Compact(r.kept)
	if n := len(r.kept); n > reasons {
		r.kept = append(r.kept[:reasons], "more")
	}
	if n := len(r.kept); n > 0 {
		what = "no value satisfies " + strings.Join(r.kept[:n-1], ", ")
		if n > 1 {
			what += " and "
		}
		what += r.kept[n-1]
	}
	return &SchemaError{Path: root.path.String(), What: what, Empty: true}
}

// remover removes keywords of a schema one by one, as long as no value satisfies the remaining
// schema.
type remover struct {
	empty  func() bool
	seen   map[*value]bool
	trials int
	kept   []string
}

// without calls remove and reports whether the schema still has no value. If it now has one,
// without calls restore.
func (r *remover) without(remove, restore func()) bool {
	if r.trials++; r.trials > trials {
		return false
	}
	if remove(); r.empty() {
		return true
	}
	restore()
	return false
}

func (r *remover) schema(v *value) {
	if r.seen[v] || v.kind != object {
		return
	}
	r.seen[v] = true
	for _, k := range slices.Clone(v.keys) {
		keys, field := slices.Clone(v.keys), maps.Clone(v.field)
		if !r.without(func() {
			v.keys = slices.DeleteFunc(slices.Clone(keys), func(x string) bool { return x == k })
			delete(v.field, k)
		}, func() { v.keys, v.field = keys, field }) {
			r.keyword(v, k)
		}
	}
}

// keyword descends into the subschemas of a keyword that cannot be removed, or records the
// keyword if it has none.
func (r *remover) keyword(v *value, k string) {
	x := v.field[k]
	switch {
	case k == "$schema" || k == "$id" || k == "id" || k == "$anchor":
	case k == "properties" || k == "patternProperties" || k == "$defs" || k == "definitions":
		for _, name := range slices.Clone(x.keys) {
			r.part(x.field[name], func(y *value) { x.field[name] = y })
		}
	case k == "allOf" || k == "anyOf" || k == "prefixItems" || k == "items" && x.kind == array:
		for i := range x.items {
			r.part(x.items[i], func(y *value) { x.items[i] = y })
		}
	case (k == "items" || k == "contains" || k == "additionalProperties" || k == "additionalItems" || k == "propertyNames") && x.kind == object:
		r.schema(x)
	case k == "$ref":
	default:
		r.kept = append(r.kept, check.Clip(x.path.String()))
	}
}

// part descends into the subschema x, which set can replace, unless the schema has no value
// without x either.
func (r *remover) part(x *value, set func(y *value)) {
	if r.without(func() { set(truth(x.path, true)) }, func() { set(x) }) {
		return
	}
	if x.kind == boolean {
		r.kept = append(r.kept, check.Clip(x.path.String()))
	}
	r.schema(x)
}
