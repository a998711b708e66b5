package grammar

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/pushdown"
)

// bitset is a set of tokens: bit t mod 32 of word t/32.
type bitset []uint32

func (b bitset) set(t int32)      { b[t>>5] |= 1 << (t & 31) }
func (b bitset) clear(t int32)    { b[t>>5] &^= 1 << (t & 31) }
func (b bitset) has(t int32) bool { return b[t>>5]>>(t&31)&1 == 1 }

// union adds the tokens of another set.
func (b bitset) union(c bitset) {
	for i, x := range c {
		b[i] |= x
	}
}

// all reports whether the set contains all tokens from … to−1.
func (b bitset) all(from, to int32) bool {
	for from < to {
		w := b[from>>5] >> (from & 31)
		n := min(32-from&31, to-from)
		if uint32(bits.TrailingZeros32(^w)) < uint32(n) {
			return false
		}
		from += n
	}
	return true
}

// key returns the set as a string, for use as a map key.
func (b bitset) key() string {
	k := make([]byte, 0, 4*len(b))
	for _, w := range b {
		k = binary.LittleEndian.AppendUint32(k, w)
	}
	return string(k)
}

// byteTrie is a trie of token texts, with nodes in preorder. The subtree of node i consists of
// the nodes i to nodes[i].skip−1, and its first child, if there is one, is node i+1. Node 0 is the
// root. One more element of nodes follows the last node.
type byteTrie struct {
	nodes []trieNode
	list  []int32
}

// trieNode is a node of a byteTrie. The tokens that end at node i are
// list[nodes[i].from:nodes[i+1].from]. The fields kinds, height, whole and tidy are set by survey.
type trieNode struct {
	kinds      uint64 // kinds of bytes below the node as a bit set
	skip, from int32
	height     int32 // the largest number of characters that begin below the node
	label      byte
	whole      bool // whether the node ends a character
	// whether all tokens below the node consist of whole characters, counted from the root
	tidy bool
}

// newByteTrie returns the trie of the given texts, which must be sorted. text(i) is the text of
// the token list[i].
func newByteTrie(list []int32, text func(i int) string) *byteTrie {
	t := &byteTrie{nodes: make([]trieNode, 1), list: list}
	path := []int32{0}
	last := ""
	for i := range list {
		s, n := text(i), 0
		for n < len(last) && n < len(s) && last[n] == s[n] {
			n++
		}
		for len(path) > n+1 {
			t.nodes[path[len(path)-1]].skip = int32(len(t.nodes))
			path = path[:len(path)-1]
		}
		for k := n; k < len(s); k++ {
			path = append(path, int32(len(t.nodes)))
			t.nodes = append(t.nodes, trieNode{label: s[k], from: int32(i)})
		}
		last = s
	}
	for _, p := range path {
		t.nodes[p].skip = int32(len(t.nodes))
	}
	t.nodes = append(t.nodes, trieNode{from: int32(len(list))})
	return t
}

// tokens returns the tokens whose text ends at node i.
func (t *byteTrie) tokens(i int32) []int32 { return t.list[t.nodes[i].from:t.nodes[i+1].from] }

// under returns the tokens in the subtree of node i.
func (t *byteTrie) under(i int32) []int32 {
	return t.list[t.nodes[i].from:t.nodes[t.nodes[i].skip].from]
}

// below returns the tokens in the subtree of node i, without the tokens that end at i itself.
func (t *byteTrie) below(i int32) []int32 {
	return t.list[t.nodes[i+1].from:t.nodes[t.nodes[i].skip].from]
}

// maskVocabulary is a vocabulary that has been prepared for computing masks, for any number of
// grammars.
type maskVocabulary struct {
	*pushdown.Vocabulary
	spell []bool // for every token, whether it spells its text
	trie  *byteTrie

	// trie of the tokens other than whole characters without a quote or backslash, up to safeReach
	// of them
	leaving *byteTrie

	longest int      // largest number of bytes in a token
	lacks   int      // a byte that is not a token by itself, −1 if there is none
	begun   []uint16 // for every token, the number of characters that begin in it
	groups  []kindGroup
	index   []int32 // for every token of trie, its index in trie.list

	mu  sync.Mutex
	own map[kindsKey]*kindSet // cached results of ofKinds, guarded by mu

	strings [canonicalSpelling + 1]*stringSet // sets of tokens for strings, by kind of string
}

func (v *maskVocabulary) words() int { return (v.Tokens() + 31) / 32 }

// forMasks returns the vocabulary prepared for masks. It prepares the vocabulary on the first
// call.
func (v *Vocabulary) forMasks() *maskVocabulary {
	v.once.Do(func() {
		order := v.sorted.Order()
		m := &maskVocabulary{Vocabulary: v.sorted, spell: make([]bool, v.sorted.Tokens())}
		for _, t := range order {
			m.spell[t] = true
		}
		m.trie = newByteTrie(order, func(i int) string { return m.Text(order[i]) })
		m.trie.survey()
		m.group()
		var single [256]bool
		for _, t := range order {
			text := m.Text(t)
			if m.longest = max(m.longest, len(text)); len(text) == 1 {
				single[text[0]] = true
			}
		}
		m.lacks = slices.Index(single[:], false)
		for kind := range m.strings {
			m.strings[kind] = newStringSet(m, kind)
		}
		v.masks = m
	})
	return v.masks
}

// cut divides a text into tokens, taking the longest possible token at each step. It stops
// where a longer token might extend beyond the end of the text.
func (v *maskVocabulary) cut(text string) (tokens []int32) {
	t := v.trie
	for text != "" {
		node, n, token := int32(0), 0, int32(-1)
		for i := 0; i < len(text); i++ {
			to := int32(-1)
			for c := node + 1; c < t.nodes[node].skip; c = t.nodes[c].skip {
				if t.nodes[c].label == text[i] {
					to = c
					break
				}
			}
			if to < 0 {
				break
			}
			if node = to; len(t.tokens(node)) > 0 {
				n, token = i+1, t.tokens(node)[0]
			}
			if i == len(text)-1 && t.nodes[node].skip > node+1 {
				return tokens
			}
		}
		if token < 0 {
			return tokens
		}
		tokens, text = append(tokens, token), text[n:]
	}
	return tokens
}

// kindOf groups bytes that patterns often treat alike. It holds, for every byte, the number of
// its bit in a set of kinds.
var kindOf = func() (kind [256]uint8) {
	n := uint8(1)
	for b := range 256 {
		switch {
		case b == '\t' || b == '\n' || b == '\r':
			kind[b] = 57
		case b < 0x20:
			kind[b] = 0
		case b >= '0' && b <= '9':
			kind[b] = 58
		case b >= 'a' && b <= 'f':
			kind[b] = 59
		case b >= 'g' && b <= 'z':
			kind[b] = 60
		case b >= 'A' && b <= 'F':
			kind[b] = 61
		case b >= 'G' && b <= 'Z':
			kind[b] = 62
		case b >= 0x80:
			kind[b] = beyondASCII
		default:
			kind[b] = n
			n++
		}
	}
	return kind
}()

const beyondASCII = 63

// survey computes the fields kinds, height, whole and tidy of all nodes.
func (t *byteTrie) survey() {
	n := int32(len(t.nodes) - 1)
	places := make([]character, n)
	for i := range n {
		for c := i + 1; c < t.nodes[i].skip; c = t.nodes[c].skip {
			places[c] = places[i].after(t.nodes[c].label)
		}
	}
	for i := n - 1; i >= 0; i-- {
		v := &t.nodes[i]
		v.whole, v.tidy = places[i].whole(), true
		for c := i + 1; c < v.skip; c = t.nodes[c].skip {
			x := &t.nodes[c]
			v.kinds |= x.kinds | 1<<kindOf[x.label]
			v.tidy = v.tidy && x.tidy && (x.whole || len(t.tokens(c)) == 0)
			v.height = max(v.height, begins(x.label)+x.height)
		}
	}
	for i := range t.nodes {
		t.nodes[i].tidy = t.nodes[i].tidy && t.nodes[i].whole
	}
}

// kindGroup lists the tokens of whole characters with the same kinds of bytes.
type kindGroup struct {
	kinds  uint64
	tokens []int32
}

// group computes the fields begun, groups, index and leaving.
func (v *maskVocabulary) group() {
	t := v.trie
	v.begun = make([]uint16, v.Tokens())
	for token := range v.begun {
		for _, b := range []byte(v.Text(int32(token))) {
			v.begun[token] += uint16(begins(b))
		}
	}
	v.index = make([]int32, v.Tokens())
	for i, token := range t.list {
		v.index[token] = int32(i)
	}
	number := map[uint64]int{}
	var leaving []int32
	var walk func(node int32, kinds uint64)
	walk = func(node int32, kinds uint64) {
		for i := node + 1; i < t.nodes[node].skip; i = t.nodes[i].skip {
			k := kinds | 1<<kindOf[t.nodes[i].label]
			tokens := t.tokens(i)
			for _, token := range tokens {
				if !t.nodes[i].whole || k&leavingKinds != 0 || v.begun[token] > safeReach {
					leaving = append(leaving, token)
				}
			}
			if len(tokens) > 0 && t.nodes[i].whole {
				g, ok := number[k]
				if !ok {
					g = len(v.groups)
					number[k] = g
					v.groups = append(v.groups, kindGroup{kinds: k})
				}
				v.groups[g].tokens = append(v.groups[g].tokens, tokens...)
			}
			walk(i, k)
		}
	}
	walk(0, 0)
	v.leaving = newByteTrie(leaving, func(i int) string { return v.Text(leaving[i]) })
	v.leaving.survey()
}

// leavingKinds are the kinds of bytes after which a text may leave a string of any characters.
var leavingKinds = uint64(1)<<kindOf['"'] | 1<<kindOf['\\']

// trieBeyond returns a trie of tokens that includes all those of v that s does not decide.
func (v *maskVocabulary) trieBeyond(s *safe) *byteTrie {
	if s.exits&^leavingKinds == 0 && s.most >= safeReach {
		return v.leaving
	}
	return v.trie
}

// kindsKey identifies a set of tokens of ofKinds.
type kindsKey struct {
	kinds uint64
	most  int32
}

// kindSets bounds the number of cached results of ofKinds, for the life of the vocabulary.
const kindSets = 256

// kindSet is a set of tokens, and the same set by the index of the tokens in the trie.
type kindSet struct {
	tokens, order bitset
	cached        bool // whether the vocabulary keeps it for others
}

// ofKinds returns the tokens of whole characters of the given kinds with at most the given number
// of characters. The caller must not change the result.
func (v *maskVocabulary) ofKinds(kinds uint64, most int32) *kindSet {
	k := kindsKey{kinds, min(most, v.trie.nodes[0].height)}
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.own[k]
	if s == nil {
		s = &kindSet{make(bitset, v.words()), make(bitset, v.words()), len(v.own) < kindSets}
		for _, g := range v.groups {
			if g.kinds&^kinds != 0 {
				continue
			}
			for _, t := range g.tokens {
				if int32(v.begun[t]) <= most {
					s.tokens.set(t)
					s.order.set(v.index[t])
				}
			}
		}
		if s.cached {
			if v.own == nil {
				v.own = map[kindsKey]*kindSet{}
			}
			v.own[k] = s
		}
	}
	return s
}

// covers reports whether the tokens below the node consist of whole characters, at most the given
// number of them.
func (x *trieNode) covers(most int32) bool {
	return x.height <= most && (x.tidy || x.kinds>>beyondASCII == 0)
}

// begins returns 1 if b is the first byte of a UTF-8 character and 0 otherwise.
func begins(b byte) int32 { return int32(bit(b&0xC0 != 0x80)) }

// character is a position within a UTF-8 character: the number of bytes still to come, and the
// bounds of the next byte. bad means that the bytes read are not UTF-8.
type character struct {
	left, low, high byte
	bad             bool
}

func (c character) whole() bool { return c.left == 0 && !c.bad }

func (c character) after(b byte) character {
	switch {
	case c.bad || c.left > 0 && (b < c.low || b > c.high):
		return character{bad: true}
	case c.left > 1:
		return character{left: c.left - 1, low: 0x80, high: 0xBF}
	case c.left == 1 || b < 0x80:
		return character{}
	}
	left, low, high := leadByte(b)
	return character{left, low, high, left == 0}
}

// mask is a set of tokens in compact form: the tokens of base except those in del, and the
// tokens in add and more.
type mask struct {
	base           bitset // the set to start from; nil means the empty set
	add, del, more []int32
	ends           bool // true if tokens that end the text are included
	shared         bool // true if base, add and del share memory with other masks
}

// own returns the number of bytes of memory that belong to this mask alone.
func (k *mask) own() int {
	n := cap(k.more)
	if !k.shared {
		n += cap(k.base) + cap(k.add) + cap(k.del)
	}
	return 4 * n
}

// write stores the set in dst.
func (k *mask) write(dst bitset, v *maskVocabulary) {
	if k.base != nil {
		copy(dst, k.base)
	} else {
		clear(dst)
	}
	for _, t := range k.del {
		dst.clear(t)
	}
	for _, t := range k.add {
		dst.set(t)
	}
	for _, t := range k.more {
		dst.set(t)
	}
	if k.ends {
		for _, t := range v.Pad {
			dst.set(t)
		}
	}
}

// setOf returns the mask of a list of tokens.
func (v *maskVocabulary) setOf(list []int32) *mask {
	if len(list) <= v.words() {
		return &mask{add: slices.Clone(list)}
	}
	b := make(bitset, v.words())
	for _, t := range list {
		b.set(t)
	}
	return &mask{base: b}
}
