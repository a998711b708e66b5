package text

import (
	"encoding/binary"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/automata"
)

// spelled is an automaton over bytes that is equivalent to a given automaton over rune classes.
// Its state is a pair of a state of the rune automaton and a node of the UTF-8 decoding tree.
type spelled struct {
	next  []int32 // table of the rune automaton, by state and class
	width int     // number of classes of the rune automaton
	final []bool  // whether each state of the rune automaton accepts
	// successors of each node by byte: −1 is invalid, n ≥ 0 is node n, −2−c is a complete rune
	// of class c
	nodes [][256]int32
	used  *[256]bool // bytes that occur in the vocabulary; all others are dead

	// number of 64-bit words in a set of classes. ends holds, for every node, the classes of
	// the runes that begin with the node. alive holds, for every state, the classes that are
	// not dead. A node is dead in a state if the two sets are disjoint.
	words int
	ends  []uint64
	alive []uint64
}

// newSpelled builds the decoding tree for the automaton d over the classes r. The tree
// distinguishes only runes that d distinguishes.
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

// look computes ends and alive. It relies on the order of nodes: the children of a node come
// before the node, and only the root, number 0, comes first.
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

// leads reports whether some rune that begins with node can be read in state q.
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

// Accepting reports whether the text may end in state. A text that ends within a rune is not
// accepted.
func (s *spelled) Accepting(state int) bool {
	return state%len(s.nodes) == 0 && s.final[state/len(s.nodes)]
}

func (s *spelled) Classes(levels int) (of []int32, n int) {
	return automata.ClassesByBytes(levels, func(column []byte, b int32) []byte {
		for i := range s.nodes {
			to := int32(-1)
			if s.used[b] {
				to = s.nodes[i][b]
			}
			column = binary.LittleEndian.AppendUint32(column, uint32(to))
		}
		return column
	})
}

// decoder builds the decoding tree of spelled from the bottom up, sharing equal nodes.
type decoder struct {
	*spelled
	low    []rune
	class  []int32
	shared map[[256]int32]int32
	// nodes for runes of a single class, by class and number of trailing bytes
	even map[[2]int32]int32
}

func dead() (node [256]int32) {
	for b := range node {
		node[b] = -1
	}
	return node
}

// interval returns the index of the interval that contains the rune r ≤ MaxRune.
func (b *decoder) interval(r rune) int {
	j, ok := slices.BinarySearch(b.low, r)
	if !ok {
		j--
	}
	return j
}

// leaf returns the tree entry of a complete rune, or −1 if the rune is invalid.
func (b *decoder) leaf(r rune) int32 {
	if r > unicode.MaxRune {
		return -1
	}
	if c := b.class[b.interval(r)]; c >= 0 {
		return -2 - c
	}
	return -1
}

// build returns the tree entry for the runes that begin at first and share all but their last n
// bytes. Runes below least would be overlong and are invalid. The entry is −1 if all of them
// are invalid.
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

// node builds the tree node for build, byte by byte.
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
