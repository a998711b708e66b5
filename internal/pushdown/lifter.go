package pushdown

import (
	"cmp"
	"context"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// limit bounds the number of pairs of a state and a token class that a lift stores.
const limit = 1 << 24

// lifter reads every token from every state and groups tokens with equal outcomes into classes.
type lifter struct {
	reader
	v       *Vocabulary
	numbers map[outcome]int32 // of outcomes that leave the level
	inside  []int32           // 1 + the number of the outcome that continues at each state, 0 if none
	list    []outcome
	classes map[uint64]int32 // by hash of the pairs, see find
	rows    [][]pair         // pairs of a state and an outcome for each class
	class   []int32          // class of each token, −1 if it is dead in every state
	pairs   int
	row     []pair // scratch of classify

	// cache of the effects of texts; most texts have the effect of an earlier one
	memory  memory
	most    int // maximum number of cursors in memory
	scratch []cursor
	ran     []ran // last outcome computed for each state
}

// pair means that a token, read in state q, has the outcome with number o.
type pair struct{ q, o int32 }

// cursor is the position that the text read so far reaches from the state in field from. If field
// ago is 0, the position is the state in field now. Otherwise, that state makes a call or return,
// at the given number of bytes before the end of the text. The remaining bytes are read at the end
// of the token.
type cursor struct{ from, now, ago int32 }

// prefix is the effect of a text on all states. It has a number in the memory of its generation.
type prefix struct {
	cursors    []cursor
	id         int32
	generation int
}

// memory caches and numbers the effects of texts.
type memory struct {
	generation int
	number     map[uint64]int32 // by hash of the cursors, see find
	list       [][]cursor
	// 1 + the number of the effect after one more byte, by number and byte class; 0 if unknown
	step   []int32
	nested []bool  // whether some cursor of each effect makes a call or return
	class  []int32 // 1 + the class of the tokens with each effect, 0 if unknown
	// for each effect that some byte was seen not to change, the set of the kinds of such bytes;
	// otherwise empty
	loop []uint64
	kept int
}

// remembered bounds the number of cursors in a memory. A memory that would exceed it is cleared.
const remembered = 1 << 21

type ran struct{ token, ago, outcome int32 }

// read walks the sorted tokens as a trie, together with the states that are alive at every
// prefix, and groups tokens by their effect.
func (l *lifter) read(ctx context.Context) error {
	n := int32(l.m.States())
	root := prefix{generation: -1}
	for q := range n {
		root.cursors = append(root.cursors, cursor{from: q, now: q})
	}
	l.classes, l.ran = map[uint64]int32{}, make([]ran, n)
	for q := range l.ran {
		l.ran[q].token = -1
	}
	l.memory.number = map[uint64]int32{}
	depth := []prefix{root}
	work := 0
	for i := 0; i < len(l.v.order); {
		depth = depth[:l.v.shared[i]+1]
		same := i + 1  // index of the first token that may have another effect than token i
		at := int32(0) // first byte of token i that it does not share with the one before
		if i > 0 {
			at = l.v.upto[i-1]
		}
		for ; at < l.v.upto[i]; at++ {
			p := &depth[len(depth)-1]
			work += 64 + len(p.cursors)
			depth = append(depth, l.extend(p, l.v.rest[at]))
			if next := &depth[len(depth)-1]; l.loops(next, at) {
				same = int(l.v.ends[at])
				break
			}
		}
		if i == 0 || work > 1<<20 {
			work = 0
			if poll.Err(ctx) != nil {
				return context.Cause(ctx)
			}
		}
		t := l.v.order[i]
		if err := l.classify(t, &depth[len(depth)-1]); err != nil {
			return err
		}
		for i++; i < same; i++ {
			l.class[l.v.order[i]] = l.class[t]
		}
	}
	return nil
}

// loops reports whether no byte changes the effect p that follows, in some token, the text up to the
// byte rest[at]. All tokens that begin with this text then have its effect, which is p.
func (l *lifter) loops(p *prefix, at int32) bool {
	m := &l.memory
	if p.generation != m.generation || m.nested[p.id] {
		return false
	}
	return l.v.kinds[at]&^m.loop[p.id] == 0
}

// classify adds token t to the class of the tokens with the same outcomes. The prefix p is the
// effect of the token's text.
func (l *lifter) classify(t int32, p *prefix) error {
	if len(p.cursors) == 0 {
		return nil
	}
	m := &l.memory
	l.remember(p)
	if c := m.class[p.id]; c > 0 && !m.nested[p.id] {
		l.class[t] = c - 1
		return nil
	}
	row, h := l.row[:0], uint64(0)
	text := l.v.Tokens[t]
	for _, c := range p.cursors {
		o := outcome{Inside, c.now, 0}
		number := int32(-1)
		if c.ago > 0 {
			last := &l.ran[c.now]
			if last.token != t || last.ago != c.ago {
				*last = ran{t, c.ago, -1}
				if o = l.run(c.now, text[len(text)-int(c.ago):]); o.kind != Dead {
					last.outcome = l.number(o)
				}
			}
			if number = last.outcome; number < 0 {
				continue
			}
		} else {
			number = l.number(o)
		}
		row = append(row, pair{c.from, number})
		h = hash(h, c.from, number)
	}
	l.row = row
	if len(row) == 0 {
		return nil
	}
	id, ok := find(l.classes, h, l.rows, row)
	if !ok {
		l.rows = append(l.rows, slices.Clone(row))
		if l.pairs += len(row); l.pairs > limit {
			return &constraint.LimitError{What: "pairs of state and token class", Value: l.pairs, Bound: limit}
		}
	}
	if !m.nested[p.id] {
		m.class[p.id] = id + 1
	}
	l.class[t] = id
	return nil
}

// members returns the tokens of each class in ascending order. The classes are parts of one
// slice.
func (l *lifter) members() [][]int32 {
	from, list := algebra.Group(l.class, len(l.rows))
	m := make([][]int32, len(l.rows))
	for c := range m {
		m[c] = list[from[c]:from[c+1]:from[c+1]]
	}
	return m
}

// extend returns the effect of the text of p followed by the byte b.
func (l *lifter) extend(p *prefix, b byte) prefix {
	m := &l.memory
	l.remember(p)
	class := l.m.Class[b]
	slot := int(p.id)*l.m.Classes + int(class)
	if x := m.step[slot]; x > 0 {
		return prefix{m.list[x-1], x - 1, m.generation}
	}
	l.scratch = l.scratch[:0]
	for _, c := range p.cursors {
		if c.ago > 0 {
			l.scratch = append(l.scratch, cursor{c.from, c.now, c.ago + 1})
			continue
		}
		switch a := l.m.Rows.at(c.now, class); a.Kind {
		case Inside:
			l.scratch = append(l.scratch, cursor{c.from, a.To, 0})
		case Call, Return:
			l.scratch = append(l.scratch, cursor{c.from, c.now, 1})
		}
	}
	next := prefix{cursors: l.scratch, generation: -1}
	if m.kept+len(l.scratch) > l.most {
		next.cursors = slices.Clone(l.scratch)
		return next // remembered by the next generation, if anyone asks
	}
	l.remember(&next)
	m.step[slot] = next.id + 1
	if next.id == p.id && next.generation == p.generation && !m.nested[p.id] && m.loop[p.id] == 0 {
		m.loop[p.id] = l.loop(p.cursors)
	}
	return next
}

// loop returns the set of the kinds of bytes that change none of the cursors, which have read no
// byte of a call or return.
func (l *lifter) loop(cursors []cursor) uint64 {
	set := ^uint64(0)
	for b, k := range kind {
		if set>>k&1 == 1 && slices.ContainsFunc(cursors, func(c cursor) bool {
			a := l.m.Next(c.now, byte(b))
			return a.Kind != Inside || a.To != c.now
		}) {
			set &^= 1 << k
		}
	}
	return set
}

// remember stores the effect p in the memory and sets the number of p.
func (l *lifter) remember(p *prefix) {
	m := &l.memory
	if p.generation == m.generation {
		return
	}
	if m.kept+len(p.cursors) > l.most && m.kept > 0 {
		*m = memory{generation: m.generation + 1, number: map[uint64]int32{}}
	}
	h := uint64(0)
	for _, c := range p.cursors {
		h = hash(hash(h, c.from, c.now), c.ago, 0)
	}
	id, ok := find(m.number, h, m.list, p.cursors)
	if !ok {
		nested := false
		for _, c := range p.cursors {
			nested = nested || c.ago > 0
		}
		m.list, m.nested, m.class = append(m.list, slices.Clone(p.cursors)), append(m.nested, nested), append(m.class, 0)
		m.loop = append(m.loop, 0)
		m.step = append(m.step, make([]int32, l.m.Classes)...)
		m.kept += len(p.cursors)
	}
	p.cursors, p.id, p.generation = m.list[id], id, m.generation
}

// hash adds two numbers to the hash h.
func hash(h uint64, a, b int32) uint64 {
	h = (h ^ (uint64(uint32(a)) | uint64(uint32(b))<<32)) * 0x9E3779B97F4A7C15
	return h ^ h>>32
}

// find returns the index of x in list. If x is not in it, find returns the index at which the caller
// must append x, and false. Indices are kept by the hash h of their element, or by the next free number
// after it.
func find[E comparable](index map[uint64]int32, h uint64, list [][]E, x []E) (int32, bool) {
	for ; ; h++ {
		i, ok := index[h]
		if !ok {
			index[h] = int32(len(list))
			return int32(len(list)), false
		}
		if slices.Equal(list[i], x) {
			return i, true
		}
	}
}

func (l *lifter) number(o outcome) int32 {
	if o.kind == Inside {
		if l.inside[o.a] == 0 {
			l.list = append(l.list, o)
			l.inside[o.a] = int32(len(l.list))
		}
		return l.inside[o.a] - 1
	}
	if i, ok := l.numbers[o]; ok {
		return i
	}
	i := int32(len(l.list))
	l.numbers[o] = i
	l.list = append(l.list, o)
	return i
}

// Lift converts the machine m, which reads bytes, to a graph that reads the tokens of the
// vocabulary v. The machine must have passed [Machine.Check]. The error is the cause of ctx or a
// [*constraint.LimitError].
func Lift(ctx context.Context, m *Machine, v *Vocabulary) (*Graph, error) {
	l := newLifter(m, v)
	if err := l.read(ctx); err != nil {
		return nil, err
	}
	return l.trim(ctx)
}

func newLifter(m *Machine, v *Vocabulary) *lifter {
	l := &lifter{v: v, numbers: map[outcome]int32{}, inside: make([]int32, m.States()), most: remembered, class: make([]int32, len(v.Tokens))}
	for t := range l.class {
		l.class[t] = -1
	}
	l.m, l.exits, l.find, l.alike = m, map[exit]int32{}, map[start]int32{}, map[string]int32{}
	return l
}

// trim returns the graph of those parts that are reachable from the start. It works level by level.
// The error is the cause of ctx or a [*constraint.LimitError].
func (l *lifter) trim(ctx context.Context) (*Graph, error) {
	var meter poll.Meter
	meter.Watch(ctx)
	n := l.m.States()
	g := &Graph{m: l.m, v: l.v, members: l.members(), class: l.class,
		levels: make([]level, l.m.Levels), starts: l.starts, local: make([]int32, n+1)}
	b := newBuilder(g, l)
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
	g.blocks = newBlocks(g)
	return g, meter.Poll()
}

// Vocabulary holds the text of every token and, for [Lift], an order of the tokens by text. One
// vocabulary can be used for many calls of Lift. It is immutable.
type Vocabulary struct {
	Tokens []string // text of each token
	// padding tokens: they may follow an accepted text, and only padding may follow them
	Pad   []int32
	order []int32 // tokens that spell a text, sorted by text
	// for each token in order, the number of leading bytes shared with the previous token
	shared []int32
	rest   []byte  // remaining bytes of all tokens in order, concatenated
	upto   []int32 // for each token in order, the end of its bytes in rest
	// for each byte in rest, the end in order of the tokens that begin with the text up to it, which
	// are consecutive, and the kinds of bytes that follow this text in them
	ends  []int32
	kinds []uint64
}

// kind divides the bytes into fewer than 64 kinds. Within a string, most states read all control
// characters alike, and likewise all small letters, all capital letters and all digits. Each
// punctuation character is a kind of its own. The bytes from 0x7F on are one kind although strings
// read them differently: the first byte of a character of several bytes always leads to another
// state. The kinds affect only the time that Lift takes, because the method loop tests every byte.
var kind = func() (kind [256]uint8) {
	n := uint8(5)
	for b := range kind {
		switch {
		case b < ' ':
			kind[b] = 0
		case b >= 'a' && b <= 'z':
			kind[b] = 1
		case b >= 'A' && b <= 'Z':
			kind[b] = 2
		case b >= '0' && b <= '9':
			kind[b] = 3
		case b > '~':
			kind[b] = 4
		default:
			kind[b] = n
			n++
		}
	}
	return kind
}()

// prepare computes the fields ends and kinds. It reads the tokens as a trie.
func (v *Vocabulary) prepare() {
	v.ends, v.kinds = make([]int32, len(v.rest)), make([]uint64, len(v.rest))
	var path []int32 // indices in rest of the bytes of the current token
	leave := func(depth int32, end int) {
		for n := len(path) - 1; n >= int(depth); n-- {
			at := path[n]
			v.ends[at] = int32(end)
			if n > 0 {
				v.kinds[path[n-1]] |= v.kinds[at] | 1<<kind[v.rest[at]]
			}
			path = path[:n]
		}
	}
	for i, from := 0, int32(0); i < len(v.order); i++ {
		leave(v.shared[i], i)
		for ; from < v.upto[i]; from++ {
			path = append(path, from)
		}
	}
	leave(0, len(v.order))
}

// Prepare returns a vocabulary with the given texts of tokens. It sorts the tokens t for which
// spells[t] is true, or all tokens if spells is nil. None of these tokens may be in pad, which may be
// in any order. The result keeps a reference to the slice tokens.
func Prepare(tokens []string, spells []bool, pad []int32) *Vocabulary {
	v := &Vocabulary{Tokens: tokens, Pad: slices.Compact(slices.Sorted(slices.Values(pad)))}
	for t := range tokens {
		if spells == nil || spells[t] {
			v.order = append(v.order, int32(t))
		}
	}
	slices.SortFunc(v.order, func(a, b int32) int {
		switch x, y := tokens[a], tokens[b]; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return int(a - b)
	})
	v.shared = make([]int32, len(v.order))
	for i := 1; i < len(v.order); i++ {
		a, b := tokens[v.order[i-1]], tokens[v.order[i]]
		n := 0
		for n < len(a) && n < len(b) && a[n] == b[n] {
			n++
		}
		v.shared[i] = int32(n)
	}
	v.upto = make([]int32, len(v.order))
	for i, t := range v.order {
		v.rest = append(v.rest, tokens[t][v.shared[i]:]...)
		v.upto[i] = int32(len(v.rest))
	}
	v.prepare()
	return v
}

// Order returns the tokens that spell a text, in the order of their texts. The slice is shared
// with the vocabulary and must not be modified.
func (v *Vocabulary) Order() []int32 { return v.order }
