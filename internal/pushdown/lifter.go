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

// limit bounds what a lift keeps, in units of 8 bytes: the pairs of its effects and rows, the steps
// between them, the exits and the classes of its weights. It also bounds the number of edges. The
// number waiting bounds the waits.
const (
	limit     = 1 << 23
	waitLimit = 1 << 22
)

// lifter reads every token from every state and groups tokens with equal outcomes into classes. It
// divides the states into families: the rows of a family have the same shape, but shapes of few states
// share a family. What a text does to the states of one family is an effect. What it does to all states is
// an action, a list of effects, one for each family with a state that is alive. Few effects occur, since
// most texts that differ in one family are alike in the others.
type lifter struct {
	reader
	v        *Vocabulary
	n        int32             // number of states
	family   []int32           // of each state
	families int               // number of families
	next     []int32           // where the moves of all rows lead: the next state, dead or leave
	numbers  map[outcome]int32 // of outcomes that leave the level
	list     []outcome         // outcome n+i is list[i]; outcome q < n is to continue at state q
	rows     table[pair]       // states and outcomes: what the tokens of a class do to a family
	classes  table[int32]      // rows of each class
	runs     []classRun        // of all tokens that spell a text, in the order of their texts
	sizes    []int32           // number of tokens of each class
	pairs    int               // number of pairs in rows

	effects memory[pair, effect]
	actions memory[int32, action]
	depth   []int32     // actions of the beginnings of the current token, by length
	space   space[pair] // of rows and effects
	lists   space[int32]
	waits   []wait
	waiting []int32 // for each state, the wait at its call or return, 0 if unknown
	queue   []int32 // scratch of begin and resolve
	alike   partitions

	fill []int32 // scratch of begin, divide and blocks
	// scratch of blocks
	class []int32  // class of each token that is not in the set
	great []uint64 // set of the tokens in the class with most tokens

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
	from    int32 // first state from which the last token leads here
}

// memory numbers the different effects or actions of texts.
type memory[E comparable, I any] struct {
	table[E]
	about []I
	steps []int32 // 2 + the number after one more byte, by number and byte class; 0 if unknown
}

// effect holds what is known of an effect.
type effect struct {
	nested bool    // whether some pair leads to a wait
	asked  bool    // whether some step was computed
	row    int32   // 1 + the row of the tokens with this effect, 0 if unknown
	first  []uint8 // see the method first, nil if unknown
	loop   uint64  // see the method loop, 0 if unknown
}

// action holds what is known of an action.
type action struct {
	nested bool  // whether some effect is nested
	class  int32 // 2 + the class of the tokens with this action, 0 if unknown
	// the set of the kinds of bytes that do not change the action, if some byte was seen not to. It
	// contains the kind end unless the action is nested.
	loop uint64
}

// clear forgets everything.
func (m *memory[E, I]) clear() {
	m.table.clear()
	clear(m.about)
	m.about, m.steps = m.about[:0], m.steps[:0]
}

// add adds x, which is not in the memory, with no steps yet.
func (m *memory[E, I]) add(h uint64, x []E, about I, classes int) {
	m.table.add(h, x)
	m.about = append(m.about, about)
	m.steps = append(m.steps, make([]int32, classes)...)
}

// read walks the sorted tokens as a trie, together with the states that are alive at every
// prefix, and groups tokens by their action.
func (l *lifter) read(ctx context.Context) error {
	l.depth = append(l.depth[:0], l.begin())
	v := l.v
	l.work = 0
	for i := 0; i < len(v.order); {
		l.depth = l.depth[:v.shared[i]+1]
		same := i + 1  // index of the first token whose action may differ from that of token i
		at := int32(0) // first byte of token i that it does not share with the one before
		if i > 0 {
			at = v.upto[i-1]
		}
		for ; at < v.upto[i]; at++ {
			from, class := l.depth[len(l.depth)-1], l.m.Class[v.rest[at]]
			l.work += 64
			to := l.actions.steps[int(from)*l.m.Classes+int(class)] - 2
			if to < 0 {
				to = l.act(from, class)
				if err := l.full(); err != nil {
					return err
				}
			}
			l.depth = append(l.depth, to)
			if v.kinds[at]&^l.actions.about[to].loop == 0 {
				// No byte that follows changes the action, so all tokens that begin like this have it.
				same = int(v.ends[at])
				break
			}
		}
		if i == 0 || l.work > 1<<20 {
			l.work = 0
			if poll.Err(ctx) != nil {
				return context.Cause(ctx)
			}
		}
		c := l.classify(v.order[i], l.depth[len(l.depth)-1])
		if err := l.full(); err != nil {
			return err
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

// full returns an error if the lift keeps too much.
func (l *lifter) full() error {
	switch {
	case len(l.waits) > waitLimit:
		return &constraint.LimitError{What: "positions in tokens within calls", Value: len(l.waits), Bound: waitLimit}
	case l.kept > limit:
		return &constraint.LimitError{What: "memory of a lift in units of 8 bytes", Value: l.kept, Bound: limit}
	}
	return nil
}

// begin returns the action of the empty text.
func (l *lifter) begin() int32 {
	from := resize(l.fill, l.families+1)
	for _, k := range l.family {
		from[k+1]++
	}
	l.queue = upTo(from, l.queue)
	pairs := l.space.take(int(l.n))
	for q, k := range l.family {
		pairs[l.queue[k]] = pair{int32(q), int32(q)}
		l.queue[k]++
	}
	l.fill = from
	list, h := l.lists.take(l.families)[:0], uint64(0)
	for k, end := range from[1:] {
		if end == from[k] { // no states
			continue
		}
		x, sum := pairs[from[k]:end:end], uint64(0)
		for _, y := range x {
			sum += y.hash()
		}
		id := l.keep(x, sum, false)
		list, h = append(list, id), h+hash(id)
	}
	return l.keepAction(list, h, false)
}

// act returns the action of a text with the given action followed by a byte of the given class.
func (l *lifter) act(from int32, class uint8) int32 {
	m, effects := &l.actions, &l.effects
	was, classes := m.list[from], l.m.Classes
	list, h, nested := l.lists.peek(len(was))[:0], uint64(0), false
	l.work += len(was)
	for _, e := range was {
		to := effects.steps[int(e)*classes+int(class)] - 2
		if to == -2 {
			to = l.extend(e, class)
		}
		if to >= 0 {
			list = append(list, to)
			h += hash(to)
			nested = nested || effects.about[to].nested
		}
	}
	to, ok := m.find(h, list)
	if !ok {
		to = l.keepAction(l.lists.take(len(list)), h, nested)
	}
	m.steps[int(from)*classes+int(class)] = to + 2
	if a := &m.about[to]; to == from && a.loop == 1<<end {
		a.loop = ^uint64(0)
		for _, e := range list {
			a.loop &= l.loop(e)
		}
	}
	return to
}

// keepAction adds an action that is not known yet and returns its number.
func (l *lifter) keepAction(list []int32, h uint64, nested bool) int32 {
	a := action{nested: nested}
	if !nested {
		a.loop = 1 << end
	}
	l.kept += (len(list) + l.m.Classes) / 2
	l.actions.add(h, list, a, l.m.Classes)
	return int32(len(l.actions.list)) - 1
}

// keep adds an effect that is not known yet and returns its number.
func (l *lifter) keep(pairs []pair, h uint64, nested bool) int32 {
	l.kept += len(pairs) + l.m.Classes/2
	l.effects.add(h, pairs, effect{nested: nested}, l.m.Classes)
	return int32(len(l.effects.list)) - 1
}

// classify returns the class of the tokens with the same outcomes as token t, −1 if all are dead.
// The token's text has the given action.
func (l *lifter) classify(t, of int32) int32 {
	a := &l.actions.about[of]
	if a.class > 0 {
		return a.class - 2
	}
	effects := l.actions.list[of]
	if a.nested {
		l.resolve(t, effects)
	}
	list, h := l.lists.peek(len(effects))[:0], uint64(0)
	for _, e := range effects {
		if r := l.row(e); r >= 0 {
			list = append(list, r)
			h += hash(r)
		}
	}
	c := int32(-1)
	if len(list) > 0 {
		var ok bool
		if c, ok = l.classes.find(h, list); !ok {
			l.classes.add(h, l.lists.take(len(list)))
			l.kept += len(list) / 2
			l.sizes = append(l.sizes, 0)
		}
	}
	if !a.nested {
		a.class = c + 2
	}
	return c
}

// resolve finds the outcomes of token t at the waits to which the given effects lead. The token is read
// from the waits in the order of the states that lead there.
func (l *lifter) resolve(t int32, effects []int32) {
	l.queue = l.queue[:0]
	for _, e := range effects {
		if !l.effects.about[e].nested {
			continue
		}
		l.work += 8 * len(l.effects.list[e])
		for _, x := range l.effects.list[e] {
			if x.o < l.n {
				continue
			}
			if w := &l.waits[x.o-l.n]; w.token != t {
				w.token, w.from = t, x.q
				l.queue = append(l.queue, x.o-l.n)
			} else {
				w.from = min(w.from, x.q)
			}
		}
	}
	slices.SortFunc(l.queue, func(a, b int32) int { return cmp.Compare(l.waits[a].from, l.waits[b].from) })
	text := l.v.Text(t)
	for _, i := range l.queue {
		w := &l.waits[i]
		w.outcome = -1
		if o := l.run(w.q, text[len(text)-int(w.ago):]); o.kind != Dead {
			w.outcome = l.number(o)
		}
	}
}

// row returns the row of the tokens with the given effect, −1 if it is dead. If the effect is nested,
// its waits must have been resolved.
func (l *lifter) row(e int32) int32 {
	x := &l.effects.about[e]
	if x.row > 0 {
		return x.row - 1
	}
	row, h := l.effects.list[e], l.effects.hashes[e]
	if x.nested {
		if row, h = l.outcomes(row); len(row) == 0 {
			return -1
		}
	}
	r, ok := l.rows.find(h, row)
	if !ok {
		if x.nested {
			row = l.space.take(len(row)) // the entries that outcomes has filled
			l.kept += len(row)
		}
		l.rows.add(h, row)
		l.pairs += len(row)
	}
	if !x.nested {
		x.row = r + 1
	}
	return r
}

// outcomes returns the pairs of an effect with the outcomes at its waits, and their hash. The result is
// in the space's next entries, which are not taken yet.
func (l *lifter) outcomes(effect []pair) (row []pair, h uint64) {
	row = l.space.peek(len(effect))[:0]
	for _, x := range effect {
		if x.o >= l.n {
			if x.o = l.waits[x.o-l.n].outcome; x.o < 0 {
				continue
			}
		}
		row = append(row, x)
		h += x.hash()
	}
	return row, h
}

// blocks returns the tokens of each class and, as the last class, the padding tokens.
func (l *lifter) blocks() blocks {
	all, padding := l.v.Tokens(), len(l.sizes)
	if len(l.v.Pad) > 0 {
		l.sizes = append(l.sizes, int32(len(l.v.Pad)))
	}
	// Often a class has most tokens, that of plain text. They are found as those that are not in any
	// other class. If there is no such class, the dead tokens are found in this way.
	great, n := -1, int32(0)
	l.fill = l.fill[:0] // end of the tokens of each class that are known
	for c, size := range l.sizes {
		l.fill = append(l.fill, n)
		if int(size) > all/2 {
			great = c
		} else {
			n += size
		}
	}
	token := make([]int32, n)
	set, class := append(l.great[:0], l.v.spelled...), scratch(l.class, all)
	l.great, l.class = set, class
	i := int32(0)
	for _, x := range l.runs {
		if int(x.class) != great {
			for _, t := range l.v.order[i:x.end] {
				class[t] = x.class
				set[t/64] &^= 1 << (t % 64)
			}
		}
		i = x.end
	}
	for i, own := range set {
		for others := l.v.spelled[i] &^ own; others != 0; others &= others - 1 {
			t := int32(64*i + bits.TrailingZeros64(others))
			if c := class[t]; c >= 0 {
				token[l.fill[c]] = t
				l.fill[c]++
			}
		}
	}
	for i, t := range l.v.Pad {
		if padding == great {
			set[t/64] |= 1 << (t % 64)
		} else {
			token[int(l.fill[padding])+i] = t
		}
	}
	return newBlocks(all, l.sizes, great, set, token)
}

// extend returns the effect of a text with effect e followed by a byte of the given class, −1 if it is
// dead.
func (l *lifter) extend(e int32, class uint8) int32 {
	m := &l.effects
	step := m.steps[int(e)*l.m.Classes:][:l.m.Classes]
	if x := &m.about[e]; x.asked {
		// Most effects are asked for only one step. The others are worth finding out which classes act
		// alike.
		like := l.first(e)[class]
		step[class], class = step[like], like
	} else {
		x.asked = true
	}
	if step[class] > 0 {
		return step[class] - 2
	}
	pairs := m.list[e]
	l.work += len(pairs)
	row, h, nested := l.space.peek(len(pairs)), uint64(0), false
	n := 0
	for _, x := range pairs {
		if x.o >= l.n {
			x.o = l.longer(x.o)
			nested = true
		} else if q := l.step(x.o, class); q >= 0 {
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
	id := int32(-1)
	if n > 0 {
		var ok bool
		if id, ok = m.find(h, row[:n]); !ok {
			id = l.keep(l.space.take(n), h, nested)
		}
	}
	m.steps[int(e)*l.m.Classes+int(class)] = id + 2 // the method keep may have moved the steps
	return id
}

// step returns the state after a byte of the given class in state q, dead or leave.
func (l *lifter) step(q int32, class uint8) int32 {
	r := &l.m.Rows
	x := r.rows[q]
	return l.next[x.moves+int32(r.slots[int(x.shape)*r.classes+int(class)])]
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

// loop returns the set of the kinds of bytes that do not change the effect e, which has no wait. It
// contains the kind end.
func (l *lifter) loop(e int32) uint64 {
	x := &l.effects.about[e]
	if x.loop > 0 {
		return x.loop
	}
	first, pairs := l.first(e), l.effects.list[e]
	var known, loops [256]bool // by byte class
	set := ^uint64(0)
	for b, k := range kind {
		if set>>k&1 == 0 {
			continue
		}
		c := first[l.m.Class[b]]
		if !known[c] {
			known[c], loops[c] = true, !slices.ContainsFunc(pairs, func(x pair) bool { return l.step(x.o, c) != x.o })
		}
		if !loops[c] {
			set &^= 1 << k
		}
	}
	x.loop = set
	return set
}

// first returns, for each byte class, a class that has the same effect after a text with effect e.
func (l *lifter) first(e int32) []uint8 {
	x := &l.effects.about[e]
	if x.first == nil {
		x.first = l.alike.of(&l.m.Rows, l.effects.list[e])
	}
	return x.first
}

// partitionLimit bounds the entries of the field next of partitions.
const partitionLimit = 1 << 21

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
	p.list, p.next, p.shapes = p.list[:0], p.next[:0], m.Rows.Len()
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
	p.next = append(p.next, make([]int32, p.shapes)...)
	return int32(len(p.list)) - 1
}

// of returns a partition of the byte classes into sets that act alike on the positions of an effect.
func (p *partitions) of(r *Rows, effect []pair) []uint8 {
	n, at := int32(len(r.rows)), int32(0)
	for _, x := range effect {
		if x.o >= n {
			continue
		}
		k := r.rows[x.o].shape
		to := p.next[int(at)*p.shapes+int(k)] - 1
		if to < 0 {
			if len(p.next) > partitionLimit {
				return p.list[1]
			}
			to = p.refined(at, r.Slots(k))
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

// table numbers lists. The hash of a list is the sum of its entries' hashes.
type table[E comparable] struct {
	list   [][]E
	hashes []uint64 // of the lists
	// 1 + the number of a list, 0 if free. The number is at the place that the hash determines, or at the
	// first free place after it. The length is a power of two.
	places []int32
}

// find returns the number of x. If x is not in the table, find returns the number that x would get,
// and false.
func (t *table[E]) find(h uint64, x []E) (int32, bool) {
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
func (t *table[E]) add(h uint64, x []E) {
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

func (t *table[E]) place(h uint64) int { return int(h>>32) & (len(t.places) - 1) }

// clear removes all lists.
func (t *table[E]) clear() {
	clear(t.list)
	clear(t.places)
	t.list, t.hashes = t.list[:0], t.hashes[:0]
}

func (x pair) hash() uint64 { return mix(uint64(uint32(x.q))<<32 | uint64(uint32(x.o))) }

// hash returns the hash of a number in a list.
func hash(x int32) uint64 { return mix(uint64(uint32(x))) }

func mix(x uint64) uint64 {
	hi, lo := bits.Mul64(x^0xD6E8FEB86659FD93, 0x9E3779B97F4A7C15)
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

// pooled bounds the memory of a lift that is used again, in units of 8 bytes: that of its pairs, and as
// much for each of its other tables. Scratch of the size of the vocabulary is not counted.
const pooled = 1 << 18

// release puts the lifter, which must not be used any more, among those that later lifts use.
func (l *lifter) release() {
	if max(l.kept, len(l.waits), cap(l.after.list), cap(l.effects.list), cap(l.actions.list), cap(l.next), cap(l.effects.steps)/2, cap(l.actions.steps)/2, cap(l.alike.next)/2) > pooled {
		return
	}
	l.v, l.m, l.starts, l.exits, l.numbers, l.find = nil, nil, nil, nil, nil, nil
	l.builder.release()
	lifters.Put(l)
}

// reset prepares for a lift. It keeps nothing of an earlier one but memory.
func (l *lifter) reset(m *Machine, v *Vocabulary) {
	n := m.States()
	l.v, l.n, l.pairs, l.kept = v, int32(n), 0, 0
	l.m, l.starts, l.exits, l.find = m, nil, map[exit]int32{}, map[start]int32{}
	l.after.clear()
	l.resumptions.reset()
	l.numbers, l.list = map[outcome]int32{}, l.list[:0]
	l.rows.clear()
	l.classes.clear()
	l.effects.clear()
	l.actions.clear()
	l.runs, l.sizes, l.waits = l.runs[:0], l.sizes[:0], l.waits[:0]
	l.waiting = resize(l.waiting, n)
	l.alike.reset(m)
	l.space.reset()
	l.lists.reset()
	l.next = scratch(l.next, len(m.Rows.moves))
	for i, a := range m.Rows.moves {
		switch a.Kind {
		case Dead:
			l.next[i] = dead
		case Inside:
			l.next[i] = a.To
		case Call, Return:
			l.next[i] = leave
		}
	}
	l.divide()
}

// few is the number of states below which shapes share a family. An action then has fewer effects.
const few = 4

// divide divides the states into families.
func (l *lifter) divide() {
	l.family = resize(l.family, int(l.n))
	states := resize(l.fill, l.m.Rows.Len()) // of each shape
	for _, x := range l.m.Rows.rows {
		states[x.shape]++
	}
	for q, x := range l.m.Rows.rows {
		if states[x.shape] >= few {
			l.family[q] = 1 + x.shape
		}
	}
	l.fill, l.families = states, 1+len(states)
}

// trim returns the graph of those parts that are reachable from the start. It works level by level.
// The error is the cause of ctx or a [*constraint.LimitError].
func (l *lifter) trim(ctx context.Context) (*Graph, error) {
	var meter poll.Meter
	meter.Watch(ctx)
	n := l.m.States()
	g := &Graph{m: l.m, v: l.v, blocks: l.blocks(),
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
		if err := cmp.Or(meter.Poll(), l.full()); err != nil {
			return nil, err
		}
	}
	b.pad()
	for lv := range g.levels {
		b.fans(int32(lv))
	}
	g.weights = newWeights(b.lists.list)
	for s, yes := range b.entered {
		if yes {
			g.order = append(g.order, int32(s))
		}
	}
	slices.SortFunc(g.order, func(x, y int32) int {
		return cmp.Or(cmp.Compare(g.starts[x].depth, g.starts[y].depth), cmp.Compare(x, y))
	})
	g.plan = newPlan(g, depths(l.after.list))
	return g, meter.Poll()
}
