package pushdown

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"sync"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// limit bounds the number of pairs of a state and a token class that a lift stores, and waiting the
// number of its waits.
const (
	limit   = 1 << 24
	waiting = 1 << 22
)

// lifter reads every token from every state and groups tokens with equal outcomes into classes.
type lifter struct {
	reader
	v       *Vocabulary
	n       int32             // number of states
	next    []int32           // next[c·n+q] is the state after a byte of class c in state q, dead or leave
	numbers map[outcome]int32 // of outcomes that leave the level
	list    []outcome         // outcome n+i is list[i]; outcome q < n is to continue at state q
	rows    table             // of the states and outcomes of each class
	runs    []classRun        // of all tokens that spell a text, in the order of their texts
	sizes   []int32           // number of tokens of each class
	pairs   int

	// cache of the effects of texts; most texts have the effect of an earlier one
	memory  memory
	most    int         // maximum number of pairs in memory
	depth   []prefix    // of the current token, by length
	space   space[pair] // of rows and effects
	waits   []wait
	waiting []int32 // for each state, the wait at its call or return, 0 if unknown
	alike   partitions

	fill []int32 // of reset and members
	// scratch of members
	class []int32  // class of each token that is not in the greatest class
	great []uint64 // set of the tokens in the greatest class

	builder builder
}

// classRun means that consecutive tokens of a vocabulary's order, up to the token with index end, have the
// same class, −1 if they are dead in every state.
type classRun struct{ class, end int32 }

const (
	dead  = -1 // no move
	leave = -2 // a call or return
)

// pair means that a token, read in state q, has the outcome with index o. In the effect of a text,
// it means that the text leads from state q to state o or, if o ≥ n, to waits[o−n].
type pair struct{ q, o int32 }

// wait is a position in a token: state q makes a call or return, at the given number of bytes before
// the end of the text read so far. The remaining bytes are read at the end of the token.
type wait struct {
	q, ago  int32
	longer  int32 // the wait after one more byte, 0 if unknown
	token   int32 // last token that ended here, and its outcome, −1 if dead
	outcome int32
}

// prefix is the effect of a text on all states. It has a number in the memory of its generation.
// While that is the memory, the field pairs may be missing.
type prefix struct {
	pairs      []pair
	id         int32
	generation int32
}

// memory caches and numbers the effects of texts.
type memory struct {
	generation int32
	table
	effects []effect
	steps   []int32 // 1 + the number of the effect after one more byte, by effect and byte class; 0 if unknown
	kept    int
}

// effect holds what is known of an effect in the memory.
type effect struct {
	nested bool    // whether some pair leads to a wait
	class  int32   // 2 + the class of the tokens with this effect, 0 if unknown
	first  []uint8 // see the method first, nil if unknown
	asked  bool    // whether some step was computed
	// the set of the kinds of bytes that do not change the effect, if some byte was seen not to. It
	// contains the kind end unless the effect is nested.
	loop uint64
}

// clear forgets all effects.
func (m *memory) clear() {
	m.table.clear()
	clear(m.effects)
	m.effects, m.steps, m.kept = m.effects[:0], m.steps[:0], 0
	m.generation++
}

// remembered bounds the number of pairs in a memory. A memory that would exceed it is cleared.
const remembered = 1 << 21

// read walks the sorted tokens as a trie, together with the states that are alive at every
// prefix, and groups tokens by their effect.
func (l *lifter) read(ctx context.Context) error {
	root := prefix{pairs: l.space.take(int(l.n)), generation: -1}
	for q := range root.pairs {
		root.pairs[q] = pair{int32(q), int32(q)}
	}
	l.depth = append(l.depth[:0], root)
	v, m := l.v, &l.memory
	work := 0
	for i := 0; i < len(v.order); {
		l.depth = l.depth[:v.shared[i]+1]
		same := i + 1  // index of the first token whose effect may differ from that of token i
		at := int32(0) // first byte of token i that it does not share with the one before
		if i > 0 {
			at = v.upto[i-1]
		}
		for ; at < v.upto[i]; at++ {
			p := &l.depth[len(l.depth)-1]
			work += 64
			next := l.known(p, l.m.Class[v.rest[at]])
			if next.generation < 0 {
				work += len(l.pairsOf(p))
				if next = l.extend(p, v.rest[at]); len(l.waits) > waiting {
					return &constraint.LimitError{What: "positions in tokens within calls", Value: len(l.waits), Bound: waiting}
				}
			}
			l.depth = append(l.depth, next)
			if next.generation >= 0 && v.kinds[at]&^m.effects[next.id].loop == 0 {
				// No byte that follows changes the effect, so all tokens that begin like this have it.
				same = int(v.ends[at])
				break
			}
		}
		if i == 0 || work > 1<<20 {
			work = 0
			if poll.Err(ctx) != nil {
				return context.Cause(ctx)
			}
		}
		p := &l.depth[len(l.depth)-1]
		c := int32(-2)
		if p.generation == m.generation {
			c = m.effects[p.id].class - 2
		}
		if c == -2 {
			work += 8 * len(l.pairsOf(p)) // the rest of the token is read from states that wait
			var err error
			if c, err = l.classify(v.order[i], p); err != nil {
				return err
			}
		}
		if c >= 0 {
			l.sizes[c] += int32(same - i)
		}
		if n := len(l.runs); n > 0 && l.runs[n-1].class == c {
			l.runs[n-1].end = int32(same)
		} else {
			l.runs = append(l.runs, classRun{c, int32(same)})
		}
		i = same
	}
	return nil
}

// known returns the effect of the text of p followed by a byte of the given class, with generation −1
// if the memory does not have it.
func (l *lifter) known(p *prefix, class uint8) prefix {
	if m := &l.memory; p.generation == m.generation {
		if x := m.steps[int(p.id)*l.m.Classes+int(class)]; x > 0 {
			return prefix{id: x - 1, generation: m.generation}
		}
	}
	return prefix{generation: -1}
}

// pairsOf returns the pairs of the effect p.
func (l *lifter) pairsOf(p *prefix) []pair {
	if p.generation == l.memory.generation {
		return l.memory.list[p.id]
	}
	return p.pairs
}

// classify returns the class of the tokens with the same outcomes as token t, −1 if all are dead.
// The prefix p is the effect of the token's text.
func (l *lifter) classify(t int32, p *prefix) (int32, error) {
	l.remember(p)
	e := &l.memory.effects[p.id]
	if e.class > 0 {
		return e.class - 2, nil
	}
	row, h := l.pairsOf(p), l.memory.hashes[p.id]
	if e.nested {
		row, h = l.outcomes(t, row)
	}
	if len(row) == 0 {
		return -1, nil
	}
	c, ok := l.rows.find(h, row)
	if !ok {
		if e.nested {
			row = l.space.take(len(row)) // it is there
		}
		l.rows.add(h, row)
		l.sizes = append(l.sizes, 0)
		if l.pairs += len(row); l.pairs > limit {
			return 0, &constraint.LimitError{What: "pairs of state and token class", Value: l.pairs, Bound: limit}
		}
	}
	if !e.nested {
		e.class = c + 2
	}
	return c, nil
}

// outcomes returns the outcomes of token t, whose text has the given effect, and their hash. The
// outcomes are in the space's next entries, which are not taken yet.
func (l *lifter) outcomes(t int32, effect []pair) (row []pair, h uint64) {
	row = l.space.peek(len(effect))[:0]
	text := l.v.Text(t)
	for _, x := range effect {
		if x.o >= l.n {
			w := &l.waits[x.o-l.n]
			if w.token != t {
				w.token, w.outcome = t, -1
				if o := l.run(w.q, text[len(text)-int(w.ago):]); o.kind != Dead {
					w.outcome = l.number(o)
				}
			}
			if x.o = w.outcome; x.o < 0 {
				continue
			}
		}
		row = append(row, x)
		h += x.hash()
	}
	return row, h
}

// members returns the tokens of each class in ascending order, and then the padding tokens. The
// slices in m are the parts of this list that hold the classes. If a class has most tokens, then
// great is the set of its tokens, which is valid until the lifter's next call.
func (l *lifter) members() (all []int32, m [][]int32, great []uint64) {
	n := int32(0)
	for _, size := range l.sizes {
		n += size
	}
	// Most tokens have the class most, often that of plain text, or are dead. They are found last, as
	// the tokens that are not in any other class.
	most, count := int32(-1), int32(len(l.v.order))-n
	all, m = make([]int32, int(n)+len(l.v.Pad)), make([][]int32, len(l.sizes), len(l.sizes)+1)
	l.fill = l.fill[:0] // end of the tokens of each class that are known
	n = 0
	for c, size := range l.sizes {
		l.fill = append(l.fill, n)
		m[c] = all[n : n+size : n+size]
		n += size
		if size > count {
			most, count = int32(c), size
		}
	}
	great = append(l.great[:0], l.v.spelled...)
	class := slices.Grow(l.class[:0], l.v.Tokens())[:l.v.Tokens()]
	l.great, l.class = great, class
	i := int32(0)
	for _, x := range l.runs {
		if x.class != most {
			for _, t := range l.v.order[i:x.end] {
				class[t] = x.class
				great[t/64] &^= 1 << (t % 64)
			}
		}
		i = x.end
	}
	for i, set := range great {
		for others := l.v.spelled[i] &^ set; others != 0; others &= others - 1 {
			t := int32(64*i + bits.TrailingZeros64(others))
			if c := class[t]; c >= 0 {
				all[l.fill[c]] = t
				l.fill[c]++
			}
		}
	}
	if most >= 0 {
		to := m[most]
		for i, set := range great {
			for ; set != 0; set &= set - 1 {
				to[0] = int32(64*i + bits.TrailingZeros64(set))
				to = to[1:]
			}
		}
	}
	if len(l.v.Pad) > 0 {
		copy(all[n:], l.v.Pad)
		m = append(m, all[n:])
		if len(l.v.Pad) > len(l.v.order) {
			clear(great)
			for _, t := range l.v.Pad {
				great[t/64] |= 1 << (t % 64)
			}
		}
	}
	return all, m, great
}

// extend returns the effect of the text of p followed by the byte b.
func (l *lifter) extend(p *prefix, b byte) prefix {
	m := &l.memory
	l.remember(p)
	step, class := l.step(p.id), l.m.Class[b]
	if e := &m.effects[p.id]; e.asked {
		// Most effects are asked for only one step. The others are worth finding out which classes act
		// alike.
		like := l.first(p)[class]
		step[class], class = step[like], like
	} else {
		e.asked = true
	}
	if x := step[class]; x > 0 {
		return prefix{id: x - 1, generation: m.generation}
	}
	pairs := m.list[p.id]
	row, h, nested := l.space.peek(len(pairs)), uint64(0), false
	to := l.column(class)
	n := 0
	for _, x := range pairs {
		if x.o >= l.n {
			x.o = l.longer(x.o)
			nested = true
		} else if q := to[x.o]; q >= 0 {
			x.o = q
		} else if q == dead {
			continue
		} else {
			x.o = l.wait(x.o)
			nested = true
		}
		row[n] = x
		n++
		h += x.hash()
	}
	row = row[:n]
	if m.kept+len(row) > l.most {
		// remembered by the next generation, if anyone asks
		return prefix{pairs: l.space.take(n), generation: -1}
	}
	known := len(m.list)
	id := l.store(row, h, nested)
	if len(m.list) > known {
		l.space.take(n)
	}
	l.step(p.id)[class] = id + 1 // the method store may have moved the step
	if e := &m.effects[id]; id == p.id && e.loop == 1<<end {
		e.loop = l.loop(p)
	}
	return prefix{id: id, generation: m.generation}
}

// step returns the part of the memory's steps for an effect.
func (l *lifter) step(id int32) []int32 {
	return l.memory.steps[int(id)*l.m.Classes:][:l.m.Classes]
}

// column returns the part of next for a byte class.
func (l *lifter) column(class uint8) []int32 {
	return l.next[int(class)*int(l.n):][:l.n]
}

// wait returns the position after the first byte of the call or return that state q makes.
func (l *lifter) wait(q int32) int32 {
	if l.waiting[q] == 0 {
		l.waiting[q] = l.n + int32(len(l.waits))
		l.waits = append(l.waits, wait{q: q, ago: 1, token: -1})
	}
	return l.waiting[q]
}

// longer returns the position that is the wait o after one more byte.
func (l *lifter) longer(o int32) int32 {
	w := &l.waits[o-l.n]
	if w.longer == 0 {
		w.longer = l.n + int32(len(l.waits))
		l.waits = append(l.waits, wait{q: w.q, ago: w.ago + 1, token: -1})
	}
	return l.waits[o-l.n].longer
}

// loop returns the set of the kinds of bytes that do not change the effect p, which has no wait.
func (l *lifter) loop(p *prefix) uint64 {
	first, pairs := l.first(p), l.pairsOf(p)
	var known, loops [256]bool // by byte class
	set := ^uint64(0)
	for b, k := range kind {
		if set>>k&1 == 0 {
			continue
		}
		c := first[l.m.Class[b]]
		if !known[c] {
			to := l.column(c)
			known[c], loops[c] = true, !slices.ContainsFunc(pairs, func(x pair) bool { return to[x.o] != x.o })
		}
		if !loops[c] {
			set &^= 1 << k
		}
	}
	return set
}

// first returns, for each byte class, a class that has the same effect after the text of p.
func (l *lifter) first(p *prefix) []uint8 {
	e := &l.memory.effects[p.id]
	if e.first == nil {
		e.first = l.alike.of(l.m, l.pairsOf(p))
	}
	return e.first
}

// partitions divides byte classes into sets that act alike. A partition is stored as the first class
// of the set of each class. It is refined by one shape of rows after another.
type partitions struct {
	list   [][]uint8 // partition 0 is one set; in partition 1, every class is a set
	next   []int32   // 1 + the partition that is partition i refined by shape k, at i·shapes+k; 0 if unknown
	shapes int
	space  space[uint8]
}

// reset prepares for a machine.
func (p *partitions) reset(m *Machine) {
	p.space.reset()
	p.list, p.next, p.shapes = p.list[:0], p.next[:0], len(m.Rows.width)
	one, single := p.space.take(m.Classes), p.space.take(m.Classes)
	clear(one)
	for c := range single {
		single[c] = uint8(c)
	}
	p.add(one)
	p.add(single)
}

// add adds a partition and returns its number.
func (p *partitions) add(row []uint8) int32 {
	p.list = append(p.list, row)
	n := len(p.next)
	p.next = slices.Grow(p.next, p.shapes)[:n+p.shapes]
	clear(p.next[n:])
	return int32(len(p.list)) - 1
}

// of returns a partition of the byte classes into sets that act alike on the positions of an effect.
func (p *partitions) of(m *Machine, effect []pair) []uint8 {
	n, at := int32(m.States()), int32(0)
	if len(effect) == int(n) { // no state is dead; the positions then mostly tell all classes apart
		return p.list[1]
	}
	for _, x := range effect {
		if x.o >= n {
			continue
		}
		k := m.Rows.shape(x.o)
		to := p.next[int(at)*p.shapes+int(k)] - 1
		if to < 0 {
			if len(p.next) > remembered {
				return p.list[1]
			}
			to = p.refined(at, m.Rows.slotsOf(k))
			p.next[int(at)*p.shapes+int(k)] = to + 1
		}
		if at = to; at == 1 {
			break
		}
	}
	return p.list[at]
}

// refined returns the partition that is partition i refined by a shape with the given slots.
func (p *partitions) refined(i int32, slots []uint8) int32 {
	was := p.list[i]
	row := p.space.take(len(was))
	copy(row, was)
	refine(row, func(a, b uint8) bool { return slots[a] == slots[b] })
	for _, known := range []int32{i, 1} {
		if slices.Equal(row, p.list[known]) {
			return known
		}
	}
	return p.add(row)
}

// refine divides the sets of a partition into sets of equal classes.
func refine(row []uint8, equal func(a, b uint8) bool) {
	var next [256]uint8 // first class of the next part of a set, 0 if there is none
	for c := range row {
		a := row[c]
		for !equal(a, uint8(c)) {
			if next[a] == 0 {
				next[a] = uint8(c)
			}
			a = next[a]
		}
		row[c] = a
	}
}

// remember stores the effect p in the memory and sets the number of p.
func (l *lifter) remember(p *prefix) {
	m := &l.memory
	if p.generation == m.generation {
		return
	}
	if m.kept+len(p.pairs) > l.most && m.kept > 0 {
		for i := range l.depth { // their pairs are known only to this memory
			x := &l.depth[i]
			x.pairs = l.pairsOf(x)
		}
		m.clear()
		l.space = space[pair]{} // what it holds is used as long as needed
	}
	h, nested := uint64(0), false
	for _, x := range p.pairs {
		h += x.hash()
		nested = nested || x.o >= l.n
	}
	id := l.store(p.pairs, h, nested)
	p.id, p.generation = id, m.generation
}

// store returns the number in the memory of an effect, and stores it, without a copy, if it is new.
func (l *lifter) store(pairs []pair, h uint64, nested bool) int32 {
	m := &l.memory
	id, ok := m.find(h, pairs)
	if !ok {
		m.add(h, pairs)
		e := effect{nested: nested}
		if !nested {
			e.loop = 1 << end
		}
		if len(pairs) == 0 {
			e.class = 1
		}
		m.effects = append(m.effects, e)
		n := len(m.steps)
		m.steps = slices.Grow(m.steps, l.m.Classes)[:n+l.m.Classes]
		clear(m.steps[n:])
		m.kept += len(pairs)
	}
	return id
}

// space hands out slices that are parts of larger ones. Their entries are arbitrary.
type space[E any] struct {
	all  [][]E
	used int // number of slices in all of which parts were taken
	free []E
}

// spaceSize is the least number of entries that a space allocates at once.
const spaceSize = 1 << 13

// take returns the next n entries.
func (s *space[E]) take(n int) []E {
	x := s.peek(n)
	s.free = s.free[n:]
	return x
}

// peek returns the next n entries without taking them.
func (s *space[E]) peek(n int) []E {
	for n > len(s.free) {
		if s.used == len(s.all) {
			s.all = append(s.all, make([]E, max(spaceSize, 8*n)))
		}
		s.free = s.all[s.used]
		s.used++
	}
	return s.free[:n:n]
}

// reset takes back all entries.
func (s *space[E]) reset() { s.used, s.free = 0, nil }

// table numbers lists of pairs. The hash of a list is the sum of its pairs' hashes.
type table struct {
	list   [][]pair
	hashes []uint64 // of the lists
	// 1 + the number of a list, 0 if free. The number is at the place that the hash determines, or at the
	// first free place after it. The length is a power of two.
	places []int32
}

// find returns the number of x. If x is not in the table, find returns the number that x would get,
// and false.
func (t *table) find(h uint64, x []pair) (int32, bool) {
	if len(t.places) > 0 {
		for at := t.place(h); t.places[at] > 0; at = (at + 1) % len(t.places) {
			if i := t.places[at] - 1; t.hashes[i] == h && slices.Equal(t.list[i], x) {
				return i, true
			}
		}
	}
	return int32(len(t.list)), false
}

// add adds x, which is not in the table.
func (t *table) add(h uint64, x []pair) {
	t.list, t.hashes = append(t.list, x), append(t.hashes, h)
	from := len(t.list) - 1
	if 2*len(t.list) > len(t.places) {
		t.places, from = make([]int32, max(1<<8, 2*len(t.places))), 0
	}
	for i, h := range t.hashes[from:] {
		at := t.place(h)
		for t.places[at] > 0 {
			at = (at + 1) % len(t.places)
		}
		t.places[at] = int32(from+i) + 1
	}
}

func (t *table) place(h uint64) int { return int(h>>32) & (len(t.places) - 1) }

// clear removes all lists.
func (t *table) clear() {
	clear(t.list)
	clear(t.places)
	t.list, t.hashes = t.list[:0], t.hashes[:0]
}

func (x pair) hash() uint64 {
	hi, lo := bits.Mul64((uint64(uint32(x.q))<<32|uint64(uint32(x.o)))^0xD6E8FEB86659FD93, 0x9E3779B97F4A7C15)
	return hi ^ lo
}

// number returns the number of outcome o, and assigns one if necessary.
func (l *lifter) number(o outcome) int32 {
	if o.kind == Inside {
		return o.a
	}
	i, ok := l.numbers[o]
	if !ok {
		i = l.n + int32(len(l.list))
		l.numbers[o] = i
		l.list = append(l.list, o)
	}
	return i
}

// outcome returns the outcome with index o.
func (l *lifter) outcome(o int32) outcome {
	if o < l.n {
		return outcome{Inside, o, 0}
	}
	return l.list[o-l.n]
}

// Lift converts the machine m, which reads bytes, to a graph that reads the tokens of the
// vocabulary v. The machine must have passed [Machine.Check]. The error is the cause of ctx or a
// [*constraint.LimitError].
func Lift(ctx context.Context, m *Machine, v *Vocabulary) (*Graph, error) {
	l := lifters.Get().(*lifter)
	defer l.release()
	l.reset(m, v)
	if err := l.read(ctx); err != nil {
		return nil, err
	}
	return l.trim(ctx)
}

// lifters holds lifters that are not in use. Their memory is used again by later lifts, most of which
// are small.
var lifters = sync.Pool{New: func() any { return new(lifter) }}

// pooled bounds the memory of a lift that is used again: the number of its pairs, and as much for each
// of its other tables.
const pooled = 1 << 18

func newLifter(m *Machine, v *Vocabulary) *lifter {
	l := new(lifter)
	l.reset(m, v)
	return l
}

// release puts the lifter, which must not be used any more, among those that later lifts use.
func (l *lifter) release() {
	m := &l.memory
	if max(l.pairs, len(l.waits), m.kept, cap(m.list), cap(l.next)/2, cap(m.steps)/2) > pooled || m.generation > 0 {
		return
	}
	l.v, l.reader = nil, reader{}
	b := &l.builder // its graph and all that belongs to it are let go
	b.Graph, b.l, b.lists, b.entered, b.half = nil, nil, nil, nil, nil
	lifters.Put(l)
}

// reset prepares for a lift. It keeps nothing of an earlier one but memory.
func (l *lifter) reset(m *Machine, v *Vocabulary) {
	n := m.States()
	l.v, l.n, l.most, l.pairs = v, int32(n), remembered, 0
	l.reader = reader{m: m, exits: map[exit]int32{}, find: map[start]int32{}, same: map[string]int32{}}
	l.numbers, l.list = map[outcome]int32{}, l.list[:0]
	l.rows.clear()
	l.memory.clear()
	l.memory.generation = 0
	l.runs, l.sizes, l.waits = l.runs[:0], l.sizes[:0], l.waits[:0]
	l.waiting = resize(l.waiting, n)
	l.alike.reset(m)
	l.space.reset()
	l.next = slices.Grow(l.next[:0], n*m.Classes)[:n*m.Classes]
	l.fill = l.fill[:0] // where the moves lead
	for _, a := range m.Rows.moves {
		to := int32(dead)
		switch a.Kind {
		case Inside:
			to = a.To
		case Call, Return:
			to = leave
		}
		l.fill = append(l.fill, to)
	}
	for c := range m.Classes {
		column := l.column(uint8(c))
		for q, x := range m.Rows.list {
			column[q] = l.fill[x.moves+int32(m.Rows.slots[int(x.slots)+c])]
		}
	}
}

// trim returns the graph of those parts that are reachable from the start. It works level by level.
// The error is the cause of ctx or a [*constraint.LimitError].
func (l *lifter) trim(ctx context.Context) (*Graph, error) {
	var meter poll.Meter
	meter.Watch(ctx)
	n := l.m.States()
	tokens, members, great := l.members()
	g := &Graph{m: l.m, v: l.v, members: members,
		levels: make([]level, l.m.Levels), starts: l.starts, local: make([]int32, n+1)}
	b := l.build(g)
	for i := range g.local {
		g.local[i] = -1
	}
	g.top = l.m.Level[l.m.Start]
	g.begin = b.state(g.top, l.m.Start)
	done := make([]int, len(g.levels))
	for again := true; again; {
		again = false
		for lv := range g.levels {
			again = b.grow(int32(lv), &done[lv], &meter) || again
		}
		if err := meter.Poll(); err != nil {
			return nil, err
		}
	}
	b.pad()
	for s := range b.entered {
		g.order = append(g.order, s)
	}
	slices.SortFunc(g.order, func(x, y int32) int {
		return cmp.Or(cmp.Compare(g.starts[x].depth, g.starts[y].depth), cmp.Compare(x, y))
	})
	g.plan = newPlan(g, depths(l.after))
	g.blocks = newBlocks(g, tokens, great)
	return g, meter.Poll()
}
