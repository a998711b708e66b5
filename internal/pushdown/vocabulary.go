package pushdown

import (
	"slices"
	"strings"
)

// Vocabulary holds the text of every token and, for [Lift], an order of the tokens by text. One
// vocabulary can be used for many calls of Lift. It is immutable. It holds no slice of strings, because
// every garbage collection of the program would visit each string.
type Vocabulary struct {
	text string  // texts of all tokens, concatenated
	stop []int32 // for each token, the end of its text
	// padding tokens: they may follow an accepted text, and only padding may follow them
	Pad   []int32
	order []int32 // tokens that spell a text, sorted by text
	// for each token in order, the number of leading bytes shared with the previous token
	shared []int32
	rest   []byte  // remaining bytes of all tokens in order, concatenated
	upto   []int32 // for each token in order, the end of its bytes in rest
	// for each byte in rest, the end in order of the tokens that begin with the text up to it, which
	// are consecutive, and the kinds of bytes that follow this text in them, with the kind end
	ends    []int32
	kinds   []uint64
	spelled []uint64 // set of the tokens in order
}

// end is the kind of the end of a token.
const end = 63

// kind divides the bytes into fewer than 63 kinds. Within a string, most states read all control
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
	leave := func(depth int32, to int) {
		for n := len(path) - 1; n >= int(depth); n-- {
			at := path[n]
			v.ends[at] = int32(to)
			v.kinds[at] |= 1 << end
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

// Prepare returns a vocabulary with the given texts of tokens. It sorts the tokens by their texts.
// If spells is not nil, it sorts only the tokens t for which spells[t] is true. The slice padding
// lists the padding tokens in any order. It must not contain a sorted token.
func Prepare(tokens []string, spells []bool, padding []int32) *Vocabulary {
	v := &Vocabulary{text: strings.Join(tokens, ""), stop: make([]int32, len(tokens)), spelled: make([]uint64, (len(tokens)+63)/64), Pad: slices.Compact(slices.Sorted(slices.Values(padding)))}
	at := 0
	for t, text := range tokens {
		at += len(text)
		v.stop[t] = int32(at)
		if spells == nil || spells[t] {
			v.order = append(v.order, int32(t))
			v.spelled[t/64] |= 1 << (t % 64)
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

// Order returns the tokens that [Prepare] sorted, in the order of their texts. The slice is shared
// with the vocabulary and must not be modified.
func (v *Vocabulary) Order() []int32 { return v.order }

// Tokens returns the number of tokens.
func (v *Vocabulary) Tokens() int { return len(v.stop) }

// Text returns the text of token t.
func (v *Vocabulary) Text(t int32) string {
	from := int32(0)
	if t > 0 {
		from = v.stop[t-1]
	}
	return v.text[from:v.stop[t]]
}
