package grammar

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
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
	rules   [][]int32                // rules of each level
	slots   []uint64                 // the states of several items by their hash, which is in the high half; the low half is 1 + the state, 0 where there is none
	many    int                      // number of states in slots
	single  map[single]*[alone]int32 // 1 + states of one item, 0 if there is none
	last    single                   // key in single of the last such state
	page    *[alone]int32            // single[last]
	states  []state
	symbols map[string]int32
	waits   []wait
	returns map[ret]int32
	list    []ret
	resumed map[[2]int32]int32
	calls   []pushdown.Move
	coded   map[pushdown.Move]int32 // index of each move in calls
	afters  map[[2]int32]int32      // results of after, by symbol and number of ends
	ended   map[string]int32        // numbers of ends
	first   []*[4]uint64            // first bytes of each rule as a bit set; nil until needed
	start   int32
	items   int    // total number of items in all states
	stored  int    // estimated memory of the rows of automata in bytes, see [runs.rowOf]
	block   []item // block of memory from which the items of states are cut
	codes   []code // block of memory from which the rows of states are cut
	meter   poll.Meter
}

// single identifies the states of one item in a level for alone consecutive items, because the items of a
// text lie close together. These are the states page·alone … of the automaton of a node. With a node of
// −1, they are the nodes page·alone … without an automaton.
type single struct{ level, node, page int32 }

// alone is the number of states that a single identifies.
const alone = 32

type state struct {
	level int32
	full  bool // true if all moves are known
	items []item
	ends  string  // rules that may be complete in this state, encoded as a string
	row   []code  // moves by class of bytes; nil if none is known
	loop  *uint64 // set of kinds of bytes on which the state does not change; nil until computed
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
	ends  string
	ahead int16
}

func newSubsets(n *network) *subsets {
	s := &subsets{n: n, set: newItemSet(n), levels: map[string]int32{}, slots: make([]uint64, 64), single: map[single]*[alone]int32{},
		symbols: map[string]int32{}, returns: map[ret]int32{}, resumed: map[[2]int32]int32{}, coded: map[pushdown.Move]int32{},
		afters: map[[2]int32]int32{}, ended: map[string]int32{}, first: make([]*[4]uint64, len(n.rules))}
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
	if len(s.set.items) == 0 {
		return -1
	}
	if len(s.set.items) == 1 {
		return s.findSingle(level, s.set.items[0])
	}
	h := uint64(level)
	for _, x := range s.set.items {
		h = (h ^ h>>29 ^ x.hash()) * 0xBF58476D1CE4E5B9
	}
	at := s.slot(h, func(q *state) bool { return q.level == level && slices.Equal(q.items, s.set.items) })
	if q := uint32(s.slots[at]); q > 0 {
		return int32(q) - 1
	}
	i := s.add(level, s.set.items)
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

// findSingle returns the index of the state whose only item is x.
func (s *subsets) findSingle(level int32, x item) int32 {
	node, at := x.node, x.state
	if s.n.nodes[node].scalar == nil {
		node, at = -1, node
	}
	k := single{level, node, at / alone}
	if s.page == nil || k != s.last {
		page := s.single[k]
		if page == nil {
			page = &[alone]int32{}
			s.single[k] = page
		}
		s.last, s.page = k, page
	}
	i := &s.page[at%alone]
	if *i == 0 {
		*i = 1 + s.add(level, []item{x})
	}
	return *i - 1
}

// add adds a state with the given items, which it copies, and returns its number.
func (s *subsets) add(level int32, items []item) int32 {
	i := int32(len(s.states))
	q := state{level: level, items: append(carve(&s.block, len(items)), items...)}
	var ends []int32
	for _, x := range q.items {
		if r := s.n.nodes[x.node].ends; r >= 0 {
			ends = append(ends, r)
		}
	}
	if len(ends) > 0 {
		slices.Sort(ends)
		q.ends = words(slices.Compact(ends))
	}
	if len(s.states) == cap(s.states) {
		s.states = slices.Grow(s.states, max(64, len(s.states))) // append alone copies large automata five times
	}
	s.states = append(s.states, q)
	s.items += len(q.items)
	return i
}

// Estimated memory in bytes of a state, with its number and the states of the automata of the network
// that it consists of, of a class of bytes in its row, and of an item.
const (
	stateBytes = 400
	classBytes = 4
	itemBytes  = 8
	slotBytes  = 48 // of a row in the map of its automaton
)

// memory returns the estimated memory of all states in bytes.
func (s *subsets) memory() int {
	return itemBytes*s.items + s.bytesOfState()*len(s.states) + s.stored
}

// bytesOfState returns the estimated memory of a state without its items in bytes.
func (s *subsets) bytesOfState() int { return stateBytes + classBytes*len(s.byteClasses().some) }

// accepts reports whether a text may end in state q, which must be of the top level.
func (s *subsets) accepts(q int32) bool {
	return s.states[q].level == s.states[s.start].level && s.states[q].ends != ""
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
	c := s.byteClasses().of[b]
	if row := s.states[q].row; row != nil && row[c] != unknown {
		return row[c], nil
	}
	m, err := s.compute(q, int(c), nil)
	if err != nil {
		return unknown, err
	}
	if s.states[q].row == nil {
		s.states[q].row = s.newRow()
	}
	k := s.encode(m)
	s.states[q].row[c] = k
	return k, nil
}

// newRow returns a row of which no move is known.
func (s *subsets) newRow() []code {
	n := len(s.byteClasses().some)
	if len(s.codes) < n {
		s.codes = make([]code, 16*n)
	}
	row := s.codes[:n:n]
	s.codes = s.codes[n:]
	return row
}

// known returns the encoded move of state q on b, or unknown if it has not been computed.
func (s *subsets) known(q int32, b byte) code {
	if row := s.states[q].row; row != nil {
		return row[s.classes.of[b]]
	}
	return unknown
}

// byteClasses returns the classes of bytes that all states treat alike. The result is cached.
func (s *subsets) byteClasses() *byteClasses {
	if s.classes == nil {
		s.classes = s.n.byteClasses()
	}
	return s.classes
}

// compute computes the move of state q on a class of bytes by one step of the subset construction. If
// rows are known, they are the results of [runs.rowOf] for the items.
func (s *subsets) compute(q int32, class int, rows [][]int32) (pushdown.Move, error) {
	from, b := s.states[q], s.classes.some[class]
	s.set.reset()
	if s.meter.Done(64 + 8*len(from.items)) {
		return pushdown.Move{}, s.meter.Err()
	}
	var calls []callArc
	for i, x := range from.items {
		v := &s.n.nodes[x.node]
		if v.scalar != nil {
			if rows == nil {
				if to := v.scalar.next(x.state, b); to >= 0 {
					s.set.put(item{s.n.nodeOf(x.node, to), to})
				}
			} else if m := rows[i][class]; m >= 0 {
				if y := (item{s.n.nodeOf(x.node, m>>1), m >> 1}); m&1 > 0 {
					s.set.put(y)
				} else {
					s.set.add(y)
				}
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
	if calls = s.beginning(calls, b); len(calls) > 0 {
		if inside {
			return pushdown.Move{}, s.conflict(from.level, b, "stay in the rule or call another")
		}
		return s.enterCalls(from.level, calls, b)
	}
	top := s.states[s.start].level
	if !inside {
		if from.ends != "" && from.level != top {
			return pushdown.Move{Kind: pushdown.Return, Symbol: s.ret(ret{from.level, from.ends, int16(b)})}, nil
		}
		return pushdown.Move{}, nil
	}
	return s.settle(from.level, s.find(from.level)), nil
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
	for _, x := range s.states[q].items {
		if v := &s.n.nodes[x.node]; v.scalar != nil || len(v.arcs) > 0 || len(v.calls) > 0 {
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
func (s *subsets) after(symbol int32, ends string) int32 {
	e, ok := s.ended[ends]
	if !ok {
		e = int32(len(s.ended))
		s.ended[ends] = e
	}
	k := [2]int32{symbol, e}
	if q, ok := s.afters[k]; ok {
		return q
	}
	w := s.waits[symbol]
	s.set.reset()
	for _, c := range w.calls {
		for i := 0; i < len(ends); i += 4 {
			if int32(binary.LittleEndian.Uint32([]byte(ends[i:i+4]))) == c.rule {
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
			last := unknown
			for _, k := range s.states[x.list[x.head]].row {
				if k == last {
					continue
				}
				last = k
				m := s.decode(k)
				if m.Kind == pushdown.Inside || m.Kind == pushdown.Call {
					x.reach(m.To)
				}
			}
			if err := limits.Check(name, len(s.states), 0, s.memory()); err != nil {
				return nil, err
			}
			if fewest := s.fewest(x.list[x.head], limits); fewest > 0 {
				if err := limits.Check(r.n.name+": a string of great length", fewest, 0, min(fewest, math.MaxInt/s.bytesOfState())*s.bytesOfState()); err != nil {
					return nil, err
				}
			}
			if err := s.meter.Err(); err != nil { // the count of these states may have ended
				return nil, err
			}
			if most := max(limits.States, defaultStates); s.items/itemsOfState > most {
				return nil, &constraint.LimitError{What: r.n.name + ": parts of states (see Limits.States)", Value: s.items, Bound: itemsOfState * most}
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
	x := s.states[q].items
	if len(x) != 1 {
		return 0
	}
	t, _ := s.n.nodes[x[0].node].scalar.(*table)
	if t == nil {
		return 0
	}
	if a, is := t.automaton.(*counted); is && max(a.least, a.most) > 0 && x[0].state == a.next(a.start(), '"') {
		most, bytes := limits.States, limits.Bytes
		if most == 0 {
			most = defaultStates
		}
		if bytes == 0 {
			bytes = defaultBytes
		}
		return a.reaches(x[0].state, min(most, bytes/s.bytesOfState()), &s.meter)
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
		x.reached = append(x.reached, false)
	}
	if q < 0 || x.reached[q] {
		return false
	}
	x.reached[q] = true
	x.list = append(x.list, q)
	return true
}

// unambiguous checks the states in which a rule may, but need not, be complete. It returns an
// error if a caller could continue with the same byte as the rule. It also returns an error if
// the caller could be complete itself, because nothing would mark the end of both rules.
func (x *exploration) unambiguous() error {
	s := x.subsets
	for _, q := range x.list {
		v := s.states[q]
		if v.ends == "" || v.level == s.states[s.start].level {
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
			if s.states[after].ends != "" {
				return s.conflict(v.level, 0, "end together with the rule around it")
			}
			for c, k := range v.row {
				m := s.decode(k)
				if m.Kind == pushdown.Dead || m.Kind == pushdown.Return && s.list[m.Symbol].ahead >= 0 {
					continue
				}
				b := s.classes.some[c]
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
	m := &pushdown.Machine{Levels: len(s.rules), Start: s.start, Class: classes.of, Classes: len(classes.some),
		Level: make([]int32, n), Accept: make([]bool, n), Rows: pushdown.NewRows(len(classes.some), n)}
	none := slices.Repeat([]code{dead}, m.Classes)
	var splitter pushdown.Splitter[code]
	var moves []pushdown.Move
	for q := range s.states {
		if s.meter.Done(4 * m.Classes) {
			return nil, s.meter.Err()
		}
		m.Level[q], m.Accept[q] = s.states[q].level, s.accepts(int32(q))
		row := s.states[q].row
		if row == nil { // no run reaches the state
			row = none
		}
		slots, codes := splitter.Split(row)
		moves = moves[:0]
		for _, k := range codes {
			a := s.decode(k)
			if a.Kind == pushdown.Return {
				if a.Symbol = symbol[a.Symbol]; a.Symbol < 0 {
					a = pushdown.Move{}
				}
			}
			moves = append(moves, a)
		}
		m.Rows.Add(m.Rows.Shape(slots), moves...)
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
