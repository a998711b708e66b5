package grammar

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/pushdown"
)

// ConflictError reports that a grammar is not deterministic. At some byte of a text, its automaton
// has a choice between two moves, so the same text could be counted more than once.
type ConflictError struct {
	Rule string // grammar rule in which the choice between two moves arises
	Byte byte   // byte of the text at which the choice arises
	What string // the two moves, for instance "read it or call a rule"
}

func (e *ConflictError) Error() string {
	if e.Byte == 0 {
		return fmt.Sprintf("grammar: rule %s is not deterministic: it may %s", check.Clip(e.Rule), e.What)
	}
	return fmt.Sprintf("grammar: rule %s is not deterministic: at byte %q a text may %s", check.Clip(e.Rule), e.Byte, e.What)
}

// subsets determinises a network level by level, and creates states only as they are needed. A
// state is a set of items of the rules that were called together.
type subsets struct {
	n       *network
	classes *byteClasses // classes of bytes of the network; nil until a move is computed
	set     itemSet
	levels  map[string]int32
	rules   [][]int32               // rules of each level
	items   algebra.Numbering[item] // items of all states, by number
	alone   []int32                 // by the number of an item: 1 + the first state that consists of it alone, 0 if there is none
	slots   []uint64                // all other states by their hash, which is in the high half; the low half is 1 + the state, 0 where there is none
	many    int                     // number of states in slots
	states  []state
	parts   []int32 // numbers of the items of one state after another
	codes   []code  // rows of states
	shapes  shapes  // divisions of the classes of bytes by the rows of states
	symbols map[string]int32
	waits   []wait
	returns map[ret]int32
	list    []ret
	resumed map[[2]int32]int32
	calls   []pushdown.Move
	coded   map[pushdown.Move]int32 // index of each move in calls
	afters  map[[2]int32]int32      // results of after, by symbol and number of ends
	ended   map[string]int32        // numbers of the sets of rules that end together
	ends    []string                // these sets, encoded as strings; the first one is empty
	first   []*[4]uint64            // first bytes of each rule as a bit set; nil until needed
	start   int32
	next    []int32 // scratch for the numbers of the items of a state
	meter   poll.Meter
}

type state struct {
	level    int32
	ends     int32 // number of the set of rules that may be complete in this state, 0 if there are none
	from, to int32 // the numbers of its items, in ascending order, are parts[from:to]
	shape    int32 // shape of its row, −1 if no move is known
	row      int32 // where its row begins in codes, with a move for each slot of the shape
	full     bool  // true if all moves are known
}

// code is a move in 32 bits. The low bits are its kind. The high bits are the next state, the
// index in calls or the return symbol.
type code int32

const (
	unknown code = 0
	dead    code = -1
)

// decode returns the move that m encodes, or the dead move if m is unknown.
func (s *subsets) decode(m code) pushdown.Move {
	if m <= unknown {
		return pushdown.Move{}
	}
	switch kind, i := pushdown.Kind(m&3), int32(m>>2); kind {
	case pushdown.Inside:
		return pushdown.Move{Kind: kind, To: i}
	case pushdown.Return:
		return pushdown.Move{Kind: kind, Symbol: i}
	default:
		return s.calls[i]
	}
}

// encode returns the code of the move m. A new call is appended to s.calls.
func (s *subsets) encode(m pushdown.Move) code {
	i := m.To
	switch m.Kind {
	case pushdown.Dead:
		return dead
	case pushdown.Return:
		i = m.Symbol
	case pushdown.Call:
		var ok bool
		if i, ok = s.coded[m]; !ok {
			i = int32(len(s.calls))
			s.coded[m] = i
			s.calls = append(s.calls, m)
		}
	}
	return code(i)<<2 | code(m.Kind)
}

// wait is a stack symbol. It records where the caller, of the given level, continues after each
// of the called rules.
type wait struct {
	level, callee int32
	calls         []callArc
}

// ret is a return symbol: the rules of the level that are complete, and the byte that was read
// beyond their end (−1 if none).
type ret struct {
	level int32
	ends  int32 // number of the set of these rules
	ahead int16
}

func newSubsets(n *network) *subsets {
	s := &subsets{n: n, set: newItemSet(n), levels: map[string]int32{}, slots: make([]uint64, 64),
		symbols: map[string]int32{}, returns: map[ret]int32{}, resumed: map[[2]int32]int32{}, coded: map[pushdown.Move]int32{},
		afters: map[[2]int32]int32{}, ended: map[string]int32{"": 0}, ends: []string{""}, first: make([]*[4]uint64, len(n.rules))}
	s.set.enter(n.rules[0].start)
	s.start = s.find(s.level([]int32{0}))
	return s
}

func (s *subsets) level(rules []int32) int32 {
	k := words(rules)
	if i, ok := s.levels[k]; ok {
		return i
	}
	i := int32(len(s.rules))
	s.levels[k] = i
	s.rules = append(s.rules, rules)
	return i
}

// find closes the set under construction and returns the number of its state, or −1 if the set
// is empty.
func (s *subsets) find(level int32) int32 {
	s.set.close()
	s.next = s.next[:0]
	for _, x := range s.set.items {
		s.next = append(s.next, s.items.Find(x))
	}
	slices.Sort(s.next)
	return s.state(level, s.next)
}

// state returns the number of the state with the given items, −1 if there are none.
func (s *subsets) state(level int32, parts []int32) int32 {
	if len(parts) == 0 {
		return -1
	}
	if len(parts) == 1 {
		for len(s.alone) < len(s.items.Values) {
			s.alone = append(s.alone, 0)
		}
		q := &s.alone[parts[0]]
		if *q == 0 {
			*q = s.add(level, parts) + 1
		}
		if i := *q - 1; s.states[i].level == level {
			return i
		}
	}
	h := uint64(level)
	for _, x := range parts {
		h = algebra.Mix(h, uint64(x))
	}
	at := s.slot(h, func(q *state) bool { return q.level == level && slices.Equal(s.parts[q.from:q.to], parts) })
	if q := uint32(s.slots[at]); q > 0 {
		return int32(q) - 1
	}
	i := s.add(level, parts)
	s.slots[at] = h&^(1<<32-1) | uint64(i+1)
	if s.many++; 2*s.many > len(s.slots) {
		was := s.slots
		s.slots = make([]uint64, 4*len(was))
		for _, x := range was {
			if x > 0 {
				s.slots[s.slot(x, func(*state) bool { return false })] = x
			}
		}
	}
	return i
}

// slot returns the index in slots of the state with hash h for which is returns true, or the free one
// where it belongs.
func (s *subsets) slot(h uint64, is func(q *state) bool) uint64 {
	last := uint64(len(s.slots) - 1)
	for i := h >> 32 & last; ; i = (i + 1) & last {
		x := s.slots[i]
		if x == 0 || (x^h)>>32 == 0 && is(&s.states[uint32(x)-1]) {
			return i
		}
	}
}

// add adds a state with the given items and returns its number.
func (s *subsets) add(level int32, parts []int32) int32 {
	from := len(s.parts)
	s.parts = append(algebra.Grown(s.parts, len(parts)), parts...)
	q := state{level: level, from: int32(from), to: int32(len(s.parts)), shape: -1}
	var ends []int32
	for _, x := range parts {
		if r := s.n.nodes[s.items.Values[x].node].ends; r >= 0 {
			ends = append(ends, r)
		}
	}
	if len(ends) > 0 {
		slices.Sort(ends)
		q.ends = s.ending(slices.Compact(ends))
	}
	s.states = append(algebra.Grown(s.states, 1), q)
	return int32(len(s.states)) - 1
}

// ending returns the number of a set of rules that end together.
func (s *subsets) ending(rules []int32) int32 {
	k := words(rules)
	e, ok := s.ended[k]
	if !ok {
		e = int32(len(s.ends))
		s.ended[k], s.ends = e, append(s.ends, k)
	}
	return e
}

// itemsOf returns the numbers of the items of state q.
func (s *subsets) itemsOf(q int32) []int32 { return s.parts[s.states[q].from:s.states[q].to] }

// Estimated memory in bytes of a state, of an item with the states of the automata of the network that it
// consists of, of an item in a state, and of a move of a row with what follows an item.
const (
	stateBytes = 100
	itemBytes  = 160
	partBytes  = 8
	moveBytes  = 30
)

// memory returns the estimated memory of all states in bytes. The shapes count twice, because the automata
// of strings have them, too.
func (s *subsets) memory() int {
	if max(len(s.parts), len(s.codes)) > math.MaxInt32/2 { // states refer to them by 32 bits
		return math.MaxInt / 2 // a sum with it cannot overflow
	}
	shapes := 0
	if s.classes != nil {
		shapes = s.shapes.memory(len(s.classes.some))
	}
	return stateBytes*len(s.states) + itemBytes*len(s.items.Values) + partBytes*len(s.parts) + moveBytes*len(s.codes) + 2*shapes
}

// lonely is the least estimated memory of a state of an item of its own.
const lonely = stateBytes + itemBytes + partBytes + moveBytes

// accepts reports whether a text may end in state q, which must be of the top level.
func (s *subsets) accepts(q int32) bool {
	return s.states[q].level == s.states[s.start].level && s.states[q].ends > 0
}

// move returns the move of state q on the byte b.
func (s *subsets) move(q int32, b byte) (pushdown.Move, error) {
	m, err := s.code(q, b)
	if err != nil {
		return pushdown.Move{}, err
	}
	return s.decode(m), nil
}

// code returns the encoded move of state q on b. It computes and caches the move if necessary.
func (s *subsets) code(q int32, b byte) (code, error) {
	if k := s.known(q, b); k != unknown {
		return k, nil
	}
	c := s.byteClasses().of[b]
	m, err := s.compute(q, b)
	if err != nil {
		return unknown, err
	}
	if s.states[q].shape < 0 {
		each := s.shapes.each(len(s.classes.some))
		s.setRow(q, each, slices.Repeat([]code{unknown}, len(s.classes.some)))
	}
	k := s.encode(m)
	s.codes[s.states[q].row+int32(c)] = k
	return k, nil
}

// setRow sets the row of state q to a shape and a move for each of its slots.
func (s *subsets) setRow(q, shape int32, moves []code) {
	s.states[q].shape, s.states[q].row = shape, int32(len(s.codes))
	s.codes = append(algebra.Grown(s.codes, len(moves)), moves...)
}

// rowOf returns the known moves of state q, one for each slot of the shape of its row.
func (s *subsets) rowOf(q int32) []code {
	v := &s.states[q]
	if v.shape < 0 {
		return nil
	}
	return s.codes[v.row:][:s.shapes.Width(v.shape)]
}

// known returns the encoded move of state q on b, or unknown if it has not been computed.
func (s *subsets) known(q int32, b byte) code {
	v := &s.states[q]
	if v.shape < 0 {
		return unknown
	}
	return s.codes[v.row+int32(s.shapes.Slots(v.shape)[s.classes.of[b]])]
}

// byteClasses returns the classes of bytes that all states treat alike. The result is cached.
func (s *subsets) byteClasses() *byteClasses {
	if s.classes == nil {
		s.classes = s.n.byteClasses()
	}
	return s.classes
}

// compute computes the move of state q on the byte b by one step of the subset construction.
func (s *subsets) compute(q int32, b byte) (pushdown.Move, error) {
	s.set.reset()
	if s.meter.Done(64 + 8*len(s.itemsOf(q))) {
		return pushdown.Move{}, s.meter.Err()
	}
	var calls []callArc
	for _, p := range s.itemsOf(q) {
		x := s.items.Values[p]
		v := &s.n.nodes[x.node]
		if v.scalar != nil {
			if to := v.scalar.next(x.state, b); to >= 0 {
				s.set.put(item{s.n.nodeOf(x.node, to), to})
			}
			continue
		}
		for _, a := range v.arcs {
			if a.low <= b && b <= a.high {
				s.set.enter(a.to)
			}
		}
		calls = append(calls, v.calls...)
	}
	inside := len(s.set.items) > 0
	if m, left, err := s.leave(q, b, inside, calls); left || err != nil {
		return m, err
	}
	level := s.states[q].level
	return s.settle(level, s.find(level)), nil
}

// leave returns the move of state q on the byte b if it calls rules, ends a rule or is dead. The result
// left reports whether it does; otherwise, some item reads b. The argument inside tells whether some
// item reads b, and calls are those of all items.
func (s *subsets) leave(q int32, b byte, inside bool, calls []callArc) (m pushdown.Move, left bool, err error) {
	from := &s.states[q]
	if calls = s.beginning(calls, b); len(calls) > 0 {
		if inside {
			return pushdown.Move{}, false, s.conflict(from.level, b, "stay in the rule or call another")
		}
		m, err = s.enterCalls(from.level, calls, b)
		return m, true, err
	}
	if !inside && from.ends > 0 && from.level != s.states[s.start].level {
		return pushdown.Move{Kind: pushdown.Return, Symbol: s.ret(ret{from.level, from.ends, int16(b)})}, true, nil
	}
	return pushdown.Move{}, !inside, nil
}

// settle returns the move to the state to of the same level. If that state only ends rules, it
// returns the corresponding return instead.
func (s *subsets) settle(level, to int32) pushdown.Move {
	switch {
	case to < 0:
		return pushdown.Move{}
	case level != s.states[s.start].level && s.complete(to):
		return pushdown.Move{Kind: pushdown.Return, Symbol: s.ret(ret{level, s.states[to].ends, -1})}
	}
	return pushdown.Move{Kind: pushdown.Inside, To: to}
}

// complete reports whether state q ends rules and has no moves.
func (s *subsets) complete(q int32) bool {
	for _, p := range s.itemsOf(q) {
		if v := &s.n.nodes[s.items.Values[p].node]; v.scalar != nil || len(v.arcs) > 0 || len(v.calls) > 0 {
			return false
		}
	}
	return true
}

// beginning returns the calls whose rule can begin with b, sorted and without duplicates.
func (s *subsets) beginning(calls []callArc, b byte) (begin []callArc) {
	for _, c := range calls {
		if !slices.Contains(begin, c) && s.begins(c.rule, b) {
			begin = append(begin, c)
		}
	}
	slices.SortFunc(begin, func(a, b callArc) int {
		if a.rule != b.rule {
			return int(a.rule - b.rule)
		}
		return int(a.to - b.to)
	})
	return begin
}

// begins reports whether rule r can begin with the byte b.
func (s *subsets) begins(r int32, b byte) bool {
	if s.first[r] == nil {
		f := &[4]uint64{}
		s.firstBytes(f, s.n.rules[r].start, map[int32]bool{})
		s.first[r] = f
	}
	return s.first[r][b>>6]>>(b&63)&1 == 1
}

// firstBytes adds to set the bytes with which a text may continue at the node at.
func (s *subsets) firstBytes(set *[4]uint64, at int32, seen map[int32]bool) {
	if seen[at] {
		return
	}
	seen[at] = true
	v := &s.n.nodes[at]
	if v.scalar != nil {
		for b := range 256 {
			if v.scalar.next(v.scalar.start(), byte(b)) >= 0 {
				set[b>>6] |= 1 << (b & 63)
			}
		}
	}
	for _, a := range v.arcs {
		for b := int(a.low); b <= int(a.high); b++ {
			set[b>>6] |= 1 << (b & 63)
		}
	}
	for _, c := range v.calls {
		if f := s.first[c.rule]; f != nil {
			for i := range set {
				set[i] |= f[i]
			}
		} else {
			s.firstBytes(set, s.n.rules[c.rule].start, seen)
		}
	}
	if v.scalar == nil || v.scalar.final(v.scalar.start()) {
		for _, to := range v.free {
			s.firstBytes(set, to, seen)
		}
	}
}

// enterCalls returns the move that calls all rules of calls and reads their first byte b. It
// pushes a symbol that records where the caller continues.
func (s *subsets) enterCalls(level int32, calls []callArc, b byte) (pushdown.Move, error) {
	var rules []int32
	key := []int32{level}
	for _, c := range calls {
		rules = append(rules, c.rule)
		key = append(key, c.rule, c.to)
	}
	callee := s.level(slices.Compact(rules))
	g, ok := s.symbols[words(key)]
	if !ok {
		g = int32(len(s.waits))
		s.symbols[words(key)] = g
		s.waits = append(s.waits, wait{level, callee, calls})
	}
	s.set.reset()
	for _, r := range s.rules[callee] {
		s.set.enter(s.n.rules[r].start)
	}
	s.set.close()
	begin := slices.Clone(s.set.items)
	s.set.reset()
	for _, x := range begin {
		v := &s.n.nodes[x.node]
		if v.scalar != nil {
			if to := v.scalar.next(x.state, b); to >= 0 {
				s.set.put(item{x.node, to})
			}
			continue
		}
		for _, a := range v.arcs {
			if a.low <= b && b <= a.high {
				s.set.enter(a.to)
			}
		}
		if len(s.beginning(v.calls, b)) > 0 {
			return pushdown.Move{}, s.conflict(callee, b, "enter this rule and, at the same byte, a rule that it begins with")
		}
	}
	to := s.find(callee)
	if to < 0 {
		return pushdown.Move{}, nil
	}
	if s.complete(to) { // rules of one byte
		return s.settle(level, s.after(g, s.states[to].ends)), nil
	}
	return pushdown.Move{Kind: pushdown.Call, Symbol: g, To: to}, nil
}

func (s *subsets) ret(r ret) int32 {
	if i, ok := s.returns[r]; ok {
		return i
	}
	i := int32(len(s.list))
	s.returns[r] = i
	s.list = append(s.list, r)
	return i
}

// resume returns the state in which a caller continues after a return, or −1 if it is dead.
func (s *subsets) resume(symbol, returned int32) (int32, error) {
	k := [2]int32{symbol, returned}
	if q, ok := s.resumed[k]; ok {
		return q, nil
	}
	w, r := s.waits[symbol], s.list[returned]
	q := int32(-1)
	if w.callee == r.level {
		q = s.after(symbol, r.ends)
		if q >= 0 && r.ahead >= 0 {
			m, err := s.move(q, byte(r.ahead))
			if err != nil {
				return -1, err
			}
			if m.Kind == pushdown.Call || m.Kind == pushdown.Return {
				return -1, s.conflict(w.level, byte(r.ahead), "end a rule and move the stack once more")
			}
			q = -1
			if m.Kind == pushdown.Inside {
				q = m.To
			}
		}
	}
	s.resumed[k] = q
	return q, nil
}

// after returns the state in which the caller of a symbol continues once the rules in ends are
// complete, or −1 if it is dead.
func (s *subsets) after(symbol, ends int32) int32 {
	k := [2]int32{symbol, ends}
	if q, ok := s.afters[k]; ok {
		return q
	}
	rules := s.ends[ends]
	w := s.waits[symbol]
	s.set.reset()
	for _, c := range w.calls {
		for i := 0; i < len(rules); i += 4 {
			if int32(binary.LittleEndian.Uint32([]byte(rules[i:i+4]))) == c.rule {
				s.set.enter(c.to)
			}
		}
	}
	q := s.find(w.level)
	s.afters[k] = q
	return q
}

func (s *subsets) conflict(level int32, b byte, what string) error {
	return &ConflictError{Rule: s.n.rules[s.rules[level][0]].name.String(), Byte: b, What: what}
}

// read reads a text from the start and reports whether it is accepted.
func (s *subsets) read(text string) (bool, error) {
	q := s.start
	if q < 0 {
		return false, nil
	}
	var stack []int32
	for i := range len(text) {
		m, err := s.move(q, text[i])
		if err != nil {
			return false, err
		}
		switch m.Kind {
		case pushdown.Dead:
			return false, nil
		case pushdown.Inside:
			q = m.To
		case pushdown.Call:
			stack = append(stack, m.Symbol)
			q = m.To
		case pushdown.Return:
			n := len(stack)
			if n == 0 {
				return false, nil
			}
			if q, err = s.resume(stack[n-1], m.Symbol); err != nil || q < 0 {
				return false, err
			}
			stack = stack[:n-1]
		}
	}
	return len(stack) == 0 && s.accepts(q), nil
}

// unbounded is the value that States returns for automata whose states are numbered when they
// are first reached: 2³⁰, or 2²² where int has 32 bits. The bound is low enough for products
// with other languages to fit an int. No state number reaches it.
const unbounded = 1 << (22 + 8*(^uint(0)>>63))

// explore finds all states that a run can reach and returns their automaton, which is not minimal. It
// returns nil if no text has a run.
func (r *runs) explore(ctx context.Context, name string, limits constraint.Limits) (*pushdown.Machine, error) {
	s := r.subsets
	s.meter.Watch(ctx)
	defer s.meter.Unwatch()
	if err := s.meter.Poll(); err != nil {
		return nil, err
	}
	if s.start < 0 {
		return nil, nil
	}
	x := &exploration{subsets: s}
	x.reach(s.start)
	var done []int // for each symbol, the number of returns that have been resumed
	for again := true; again; {
		for ; x.head < len(x.list); x.head++ {
			if s.meter.Done(64 * 256) { // automata of many numbers take a long time for a byte
				return nil, s.meter.Err()
			}
			if r.fill(x.list[x.head]); r.err != nil {
				return nil, r.err
			}
			for _, k := range s.rowOf(x.list[x.head]) {
				if m := s.decode(k); m.Kind == pushdown.Inside || m.Kind == pushdown.Call {
					x.reach(m.To)
				}
			}
			if err := limits.Check(name, len(s.states), 0, r.memory()); err != nil {
				return nil, err
			}
			if fewest := s.fewest(x.list[x.head], limits); fewest > 0 {
				if err := limits.Check(r.n.name+": a string of great length", fewest, 0, min(fewest, math.MaxInt/lonely)*lonely); err != nil {
					return nil, err
				}
			}
			if err := s.meter.Err(); err != nil { // the count of these states may have ended
				return nil, err
			}
			if most := max(limits.States, defaultStates); len(s.parts)/itemsOfState > most {
				return nil, &constraint.LimitError{What: r.n.name + ": parts of states (see Limits.States)", Value: len(s.parts), Bound: itemsOfState * most}
			}
		}
		again = false
		done = append(done, make([]int, len(s.waits)-len(done))...)
		for g := range s.waits {
			for ; done[g] < len(s.list); done[g]++ {
				r := done[g]
				if s.meter.Done(8) {
					return nil, s.meter.Err()
				}
				if s.waits[g].callee != s.list[r].level {
					continue
				}
				q, err := s.resume(int32(g), int32(r))
				if err != nil {
					return nil, err
				}
				again = x.reach(q) || again
			}
		}
	}
	if err := x.unambiguous(); err != nil {
		return nil, err
	}
	return s.machine()
}

// The values that [constraint.Limits] stands for by 0.
const (
	defaultStates = 1 << 18
	defaultBytes  = 1 << 29
)

// itemsOfState bounds the total number of items of explored states, for each state that the limits
// allow. There are about as many items as states unless many schemas are read side by side, where every
// state takes a long time.
const itemsOfState = 8

// fewest returns a number of states that will be explored if q is the first state within a string whose
// characters are counted. It returns 0 otherwise.
func (s *subsets) fewest(q int32, limits constraint.Limits) int {
	parts := s.itemsOf(q)
	if len(parts) != 1 {
		return 0
	}
	x := s.items.Values[parts[0]]
	t, _ := s.n.nodes[x.node].scalar.(*table)
	if t == nil {
		return 0
	}
	if a, is := t.automaton.(*counted); is && max(a.least, a.most) > 0 && x.state == a.next(a.start(), '"') {
		most, bytes := limits.States, limits.Bytes
		if most == 0 {
			most = defaultStates
		}
		if bytes == 0 {
			bytes = defaultBytes
		}
		return a.reaches(x.state, min(most, bytes/lonely), &s.meter)
	}
	return 0
}

// exploration is the set of states that a run can reach, as found so far.
type exploration struct {
	*subsets
	list    []int32
	head    int
	reached []bool // by state
}

func (x *exploration) reach(q int32) bool {
	for len(x.reached) < len(x.states) {
		x.reached = append(algebra.Grown(x.reached, 1), false)
	}
	if q < 0 || x.reached[q] {
		return false
	}
	x.reached[q] = true
	x.list = append(algebra.Grown(x.list, 1), q)
	return true
}

// unambiguous checks the states in which a rule may, but need not, be complete. It returns an
// error if a caller could continue with the same byte as the rule. It also returns an error if
// the caller could be complete itself, because nothing would mark the end of both rules.
func (x *exploration) unambiguous() error {
	s := x.subsets
	for _, q := range x.list {
		v := s.states[q]
		if v.ends == 0 || v.level == s.states[s.start].level {
			continue
		}
		for g, w := range s.waits {
			if s.meter.Done(8) {
				return s.meter.Err()
			}
			if w.callee != v.level {
				continue
			}
			after := s.after(int32(g), v.ends)
			if after < 0 {
				continue
			}
			if s.states[after].ends > 0 {
				return s.conflict(v.level, 0, "end together with the rule around it")
			}
			for _, b := range s.classes.some {
				m := s.decode(s.known(q, b))
				if m.Kind == pushdown.Dead || m.Kind == pushdown.Return && s.list[m.Symbol].ahead >= 0 {
					continue
				}
				if t, err := s.move(after, b); err != nil {
					return err
				} else if t.Kind != pushdown.Dead {
					return s.conflict(v.level, b, "go on in the rule or end it")
				}
			}
		}
	}
	return nil
}

// machine returns the explored states as a pushdown.Machine. Returns after which no caller can
// continue are dead moves in it.
func (s *subsets) machine() (*pushdown.Machine, error) {
	symbol, returns := make([]int32, len(s.list)), int32(0) // return symbols of the machine, −1 for dead ones
	for r := range symbol {
		symbol[r] = -1
		for g := range s.waits {
			if s.meter.Done(8) {
				return nil, s.meter.Err()
			}
			if q, ok := s.resumed[[2]int32{int32(g), int32(r)}]; ok && q >= 0 {
				symbol[r] = returns
				returns++
				break
			}
		}
	}
	n, classes := len(s.states), s.byteClasses()
	empty, idle := s.shapes.Find(make([]uint8, len(classes.some))), 0 // states that no run reaches
	for _, v := range s.states {
		idle += int(bit(v.shape < 0))
	}
	m := &pushdown.Machine{Levels: len(s.rules), Start: s.start, Class: classes.of, Classes: len(classes.some),
		Level: make([]int32, n), Accept: make([]bool, n), Rows: pushdown.NewRows(s.shapes.Shapes, n, len(s.codes)+idle)}
	var moves []pushdown.Move
	for q := range s.states {
		v := &s.states[q]
		m.Level[q], m.Accept[q] = v.level, s.accepts(int32(q))
		if v.shape < 0 { // no run reaches the state
			m.Rows.Add(empty, pushdown.Move{})
			continue
		}
		if s.meter.Done(16 + 4*len(s.rowOf(int32(q)))) {
			return nil, s.meter.Err()
		}
		moves = moves[:0]
		for _, k := range s.rowOf(int32(q)) {
			a := s.decode(k)
			if a.Kind == pushdown.Return {
				if a.Symbol = symbol[a.Symbol]; a.Symbol < 0 {
					a = pushdown.Move{}
				}
			}
			moves = append(moves, a)
		}
		m.Rows.Add(v.shape, moves...)
	}
	for g := range s.waits {
		if s.meter.Done(64 + len(s.list)) {
			return nil, s.meter.Err()
		}
		row := slices.Repeat([]int32{-1}, int(returns))
		for r, to := range symbol {
			if to >= 0 {
				if q, ok := s.resumed[[2]int32{int32(g), int32(r)}]; ok {
					row[to] = q
				}
			}
		}
		m.Resume = append(m.Resume, row)
	}
	return m, nil
}
