package text

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/automata"
)

// spelled is the byte automaton of an automaton over rune classes. Its state
// is a rune state and a node of the decoding tree.
type spelled struct {
	next  []int32      // table of the rune automaton, by state and class
	width int          // classes of it
	final []bool       // by state of it
	nodes [][256]int32 // −1 invalid, n ≥ 0 node n, −2−c: a rune of class c is complete
	used  *[256]bool   // bytes of the vocabulary; others are dead

	// What may follow, as sets of words 64-bit words over classes: the classes
	// that runes beginning with a node can have, and those alive in a state. A node
	// of which none is alive is dead.
	words int
	ends  []uint64
	alive []uint64
}

// newSpelled builds the decoding tree, which distinguishes only what d
// distinguishes.
func newSpelled(d *constraint.DFA, r *runeClasses, used *[256]bool) *spelled {
	s := &spelled{used: used}
	s.next, s.width = d.Table()
	for q := range d.States() {
		s.final = append(s.final, d.Accepting(q))
	}
	of, _ := d.Classes(d.Levels())
	b := &decoder{spelled: s, shared: map[[256]int32]int32{}, even: map[[2]int32]int32{}}
	for j, c := range r.class {
		if c >= 0 {
			c = of[c]
		}
		if len(b.class) > 0 && b.class[len(b.class)-1] == c {
			continue
		}
		b.low, b.class = append(b.low, r.low[j]), append(b.class, c)
	}
	b.low = append(b.low, unicode.MaxRune+1)

	b.nodes = make([][256]int32, 1) // the root keeps number 0
	root := dead()
	for c := range rune(utf8.RuneSelf) {
		root[c] = b.leaf(c)
	}
	// Lead bytes by length: the number of trailing bytes, the lead of rune 0
	// and the first rune that needs the length (RFC 3629, section 3).
	for lead := 0xC0; lead < 0xF8; lead++ {
		switch {
		case lead < 0xE0:
			root[lead] = b.build(rune(lead-0xC0)<<6, 1, 1<<7)
		case lead < 0xF0:
			root[lead] = b.build(rune(lead-0xE0)<<12, 2, 1<<11)
		default:
			root[lead] = b.build(rune(lead-0xF0)<<18, 3, 1<<16)
		}
	}
	b.nodes[0] = root
	b.look()
	return b.spelled
}

// look fills ends and alive. Children of a node come before it, the root apart,
// which none leads to.
func (s *spelled) look() {
	s.words = (s.width + 63) / 64
	s.ends = make([]uint64, len(s.nodes)*s.words)
	for n := 1; n < len(s.nodes); n++ {
		ends := s.ends[n*s.words : (n+1)*s.words]
		for b, to := range s.nodes[n] {
			switch {
			case to == -1 || !s.used[b]:
			case to >= 0:
				for i, w := range s.ends[int(to)*s.words : (int(to)+1)*s.words] {
					ends[i] |= w
				}
			default:
				ends[(-2-to)/64] |= 1 << ((-2 - to) % 64)
			}
		}
	}
	s.alive = make([]uint64, len(s.final)*s.words)
	for i, to := range s.next {
		if to >= 0 {
			q, c := i/s.width, i%s.width
			s.alive[q*s.words+c/64] |= 1 << (c % 64)
		}
	}
}

// leads reports whether a rune that begins with node can be read in state q.
func (s *spelled) leads(q, node int) bool {
	for i, w := range s.alive[q*s.words : (q+1)*s.words] {
		if w&s.ends[node*s.words+i] != 0 {
			return true
		}
	}
	return false
}

func (s *spelled) States() int { return len(s.final) * len(s.nodes) }
func (s *spelled) Start() int  { return 0 }

func (s *spelled) Next(state int, b int32) int {
	q, node := state/len(s.nodes), state%len(s.nodes)
	to := s.nodes[node][b]
	switch {
	case to == -1 || !s.used[b]:
		return -1
	case to >= 0:
		if !s.leads(q, int(to)) {
			return -1
		}
		return q*len(s.nodes) + int(to)
	}
	if q = int(s.next[q*s.width+int(-2-to)]); q < 0 {
		return -1
	}
	return q * len(s.nodes)
}

// Accepting requires a text that does not end within a rune.
func (s *spelled) Accepting(state int) bool {
	return state%len(s.nodes) == 0 && s.final[state/len(s.nodes)]
}

func (s *spelled) Classes(levels int) (of []int32, n int) {
	column := make([]rune, len(s.nodes))
	return automata.ClassesBy(levels, func(b int32) string {
		for i := range column {
			column[i] = -1
			if s.used[b] {
				column[i] = s.nodes[i][b]
			}
		}
		return columnKey(column)
	})
}

// columnKey returns the bytes of a column.
func columnKey(column []int32) string {
	key := make([]byte, 0, 4*len(column))
	for _, v := range column {
		key = append(key, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	return string(key)
}

// decoder builds the tree of spelled, bottom up, equal nodes shared.
type decoder struct {
	*spelled
	low    []rune
	class  []int32
	shared map[[256]int32]int32
	even   map[[2]int32]int32 // entries for runes of one class only, by class and length
}

func dead() (node [256]int32) {
	for b := range node {
		node[b] = -1
	}
	return node
}

// interval returns the interval of rune r ≤ MaxRune.
func (b *decoder) interval(r rune) int {
	j, ok := slices.BinarySearch(b.low, r)
	if !ok {
		j--
	}
	return j
}

// leaf returns the entry of a complete rune.
func (b *decoder) leaf(r rune) int32 {
	if r > unicode.MaxRune {
		return -1
	}
	if c := b.class[b.interval(r)]; c >= 0 {
		return -2 - c
	}
	return -1
}

// build returns the entry for the runes from first on that n trailing bytes distinguish;
// those below least are overlong. All-dead nodes are −1.
func (b *decoder) build(first rune, n int, least rune) int32 {
	last := first + 1<<(6*n) - 1
	if last < least || first > unicode.MaxRune {
		return -1
	}
	if first < least || last > unicode.MaxRune || b.interval(first) != b.interval(last) {
		return b.node(first, n, least)
	}
	key := [2]int32{b.class[b.interval(first)], int32(n)}
	entry, ok := b.even[key]
	if !ok {
		entry = b.node(first, n, least)
		b.even[key] = entry
	}
	return entry
}

// node does the work of build, byte by byte.
func (b *decoder) node(first rune, n int, least rune) int32 {
	node := dead()
	alive := false
	for k := range rune(64) {
		at := first + k<<(6*(n-1))
		switch {
		case n > 1:
			node[0x80+k] = b.build(at, n-1, least)
		case at >= least:
			node[0x80+k] = b.leaf(at)
		}
		alive = alive || node[0x80+k] != -1
	}
	if !alive {
		return -1
	}
	id, ok := b.shared[node]
	if !ok {
		id = int32(len(b.nodes))
		b.nodes = append(b.nodes, node)
		b.shared[node] = id
	}
	return id
}
