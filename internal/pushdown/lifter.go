package pushdown

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// limit bounds what a lift may keep: pairs of a state and a token class.
const limit = 1 << 24

// lifter reads every token from every state.
type lifter struct {
	reader
	v       *Vocabulary
	numbers map[outcome]int32
	list    []outcome
	classes map[string]int32
	rows    [][]pair // of each class
	class   []int32  // of each token, −1 if it is dead everywhere
	pairs   int
	key     []byte

	// What texts do is remembered: most of them do what another has done.
	memory  memory
	most    int // cursors that it may keep
	scratch []cursor
	ran     []ran // by state: its last outcome
}

// pair means that a token leads state q to outcome o.
type pair struct{ q, o int32 }

// cursor is where the text read so far leads from a state. Where it calls or
// returns, ago bytes before its end, now is the state that does so: the rest is
// read at the end of the token.
type cursor struct{ from, now, ago int32 }

// prefix is what a text does, and its number in the memory of a generation.
type prefix struct {
	cursors    []cursor
	id         int32
	generation int
}

// memory numbers what texts do.
type memory struct {
	generation int
	number     map[string]int32
	list       [][]cursor
	step       []int32 // [number][class of a byte]: 1 + the number after it, 0 if unknown
	nested     []bool  // some cursor calls or returns
	class      []int32 // 1 + the class of tokens that do this, 0 if unknown
	kept       int
}

// remembered bounds the cursors in a memory, which is emptied beyond.
const remembered = 1 << 21

type ran struct{ token, ago, outcome int32 }

// read walks the sorted tokens as a trie, with the states that live at every
// prefix, and groups tokens by what they do.
func (l *lifter) read(ctx context.Context) error {
	n := int32(l.m.States())
	root := prefix{generation: -1}
	for q := range n {
		root.cursors = append(root.cursors, cursor{from: q, now: q})
	}
	l.classes, l.ran = map[string]int32{}, make([]ran, n)
	for q := range l.ran {
		l.ran[q].token = -1
	}
	l.memory.number = map[string]int32{}
	depth := []prefix{root}
	work := 0
	from := int32(0)
	for i, t := range l.v.order {
		depth = depth[:l.v.shared[i]+1]
		for _, b := range l.v.rest[from:l.v.upto[i]] {
			p := &depth[len(depth)-1]
			work += 64 + len(p.cursors)
			depth = append(depth, l.extend(p, b))
		}
		from = l.v.upto[i]
		if i == 0 || work > 1<<20 {
			work = 0
			if poll.Err(ctx) != nil {
				return context.Cause(ctx)
			}
		}
		if err := l.classify(t, &depth[len(depth)-1]); err != nil {
			return err
		}
	}
	return nil
}

// classify adds a token to the class of those that do the same.
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
	l.key = l.key[:0]
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
		l.key = binary.LittleEndian.AppendUint32(l.key, uint32(c.from))
		l.key = binary.LittleEndian.AppendUint32(l.key, uint32(number))
	}
	if len(l.key) == 0 {
		return nil
	}
	id, ok := l.classes[string(l.key)]
	if !ok {
		id = int32(len(l.rows))
		l.classes[string(l.key)] = id
		row := make([]pair, 0, len(l.key)/8)
		for k := 0; k < len(l.key); k += 8 {
			row = append(row, pair{int32(binary.LittleEndian.Uint32(l.key[k:])), int32(binary.LittleEndian.Uint32(l.key[k+4:]))})
		}
		l.rows = append(l.rows, row)
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

// members returns the tokens of each class, in ascending order: what is read of
// a row lies side by side.
func (l *lifter) members() [][]int32 {
	from, list := algebra.Group(l.class, len(l.rows))
	m := make([][]int32, len(l.rows))
	for c := range m {
		m[c] = list[from[c]:from[c+1]:from[c+1]]
	}
	return m
}

// extend returns what p does with one byte more.
func (l *lifter) extend(p *prefix, b byte) prefix {
	m := &l.memory
	l.remember(p)
	slot := int(p.id)*l.m.Classes + int(l.m.Class[b])
	if x := m.step[slot]; x > 0 {
		return prefix{m.list[x-1], x - 1, m.generation}
	}
	l.scratch = l.scratch[:0]
	for _, c := range p.cursors {
		if c.ago > 0 {
			l.scratch = append(l.scratch, cursor{c.from, c.now, c.ago + 1})
			continue
		}
		switch a := l.m.move(c.now, b); a.Kind {
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
	return next
}

// remember gives a prefix its number in the memory.
func (l *lifter) remember(p *prefix) {
	m := &l.memory
	if p.generation == m.generation {
		return
	}
	if m.kept+len(p.cursors) > l.most && m.kept > 0 {
		*m = memory{generation: m.generation + 1, number: map[string]int32{}}
	}
	key := l.key[:0]
	for _, c := range p.cursors {
		key = binary.LittleEndian.AppendUint32(key, uint32(c.from))
		key = binary.LittleEndian.AppendUint32(key, uint32(c.now))
		key = binary.LittleEndian.AppendUint32(key, uint32(c.ago))
	}
	l.key = key
	id, ok := m.number[string(key)]
	if !ok {
		id = int32(len(m.list))
		m.number[string(key)] = id
		nested := false
		for _, c := range p.cursors {
			nested = nested || c.ago > 0
		}
		m.list, m.nested, m.class = append(m.list, slices.Clone(p.cursors)), append(m.nested, nested), append(m.class, 0)
		m.step = append(m.step, make([]int32, l.m.Classes)...)
		m.kept += len(p.cursors)
	}
	p.cursors, p.id, p.generation = m.list[id], id, m.generation
}

func (l *lifter) number(o outcome) int32 {
	if i, ok := l.numbers[o]; ok {
		return i
	}
	i := int32(len(l.list))
	l.numbers[o] = i
	l.list = append(l.list, o)
	return i
}

// Lift converts m, which must have passed [Machine.Check], to the tokens of v. The error is
// that of ctx or a [*constraint.LimitError].
func Lift(ctx context.Context, m *Machine, v *Vocabulary) (*Graph, error) {
	l := newLifter(m, v)
	if err := l.read(ctx); err != nil {
		return nil, err
	}
	return l.trim(ctx)
}

func newLifter(m *Machine, v *Vocabulary) *lifter {
	l := &lifter{v: v, numbers: map[outcome]int32{}, most: remembered, class: make([]int32, len(v.Tokens))}
	for t := range l.class {
		l.class[t] = -1
	}
	l.m, l.exits, l.find, l.alike = m, map[exit]int32{}, map[start]int32{}, map[string]int32{}
	return l
}

// trim keeps what is reachable from the start, level by level. The error is that of ctx.
func (l *lifter) trim(ctx context.Context) (*Graph, error) {
	var meter poll.Meter
	meter.Watch(ctx)
	n := l.m.States()
	g := &Graph{m: l.m, v: l.v, members: l.members(), class: l.class,
		levels: make([]level, l.m.Levels), starts: l.starts, local: make([]int32, n+1)}
	b := &builder{Graph: g, l: l, byState: make([][]struct{ o, class int32 }, n),
		weight: map[[4]int32]int32{}, entered: map[int32]bool{}, half: make([]map[outcome]int32, l.m.Levels)}
	for c, row := range l.rows {
		for _, p := range row {
			b.byState[p.q] = append(b.byState[p.q], struct{ o, class int32 }{p.o, int32(c)})
		}
	}
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

// Vocabulary holds the text of every token, sorted once for any number of lifts. It is
// immutable.
type Vocabulary struct {
	Tokens []string
	Pad    []int32 // tokens that may follow an accepted text, and only each other
	order  []int32 // tokens with a text, sorted by it
	shared []int32 // bytes that a token shares with the one before
	rest   []byte  // the other bytes of all tokens, one after the other
	upto   []int32 // where those of a token end
}

// Prepare sorts the tokens for which spells is true (all tokens if it is nil). Tokens in
// pad must not be among them. The slices are kept.
func Prepare(tokens []string, spells []bool, pad []int32) *Vocabulary {
	v := &Vocabulary{Tokens: tokens, Pad: pad}
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
	return v
}

// Order returns the tokens that spell a text, in the order of their texts. The slice is v's
// own and must not be modified.
func (v *Vocabulary) Order() []int32 { return v.order }
