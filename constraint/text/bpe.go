package text

import (
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/heap"
)

// BPE is a byte-level byte-pair encoding (GPT-2; Radford et al. 2019). It splits the text into
// words, contractions, numbers, punctuation and white space, by the rules of GPT-2 or of a
// tokenizer.json. Within each piece, it repeatedly merges the adjacent pair of tokens that was
// learned first. Every text has an encoding, even if it is not valid UTF-8. Decoding returns the
// same text, or its normal form (NFC) if the file requests normalisation.
//
// [ReadBPE] and [ReadTokenizer] read a BPE from files. Use [BPE.Vocabulary] to compile languages. A
// BPE is immutable and safe for concurrent use.
type BPE struct {
	vocabulary Vocabulary
	bytes      [256]int32
	merges     map[[2]int32]merge
	splits     []*split // splits that are applied in turn; empty means the split of GPT-2
	normal     bool     // true if texts are converted to the normal form NFC first
	// pieces that are tokens by themselves, without merging; nil if there are none
	whole map[string]int32
	marks []mark
}

// mark is an added token, such as <|endoftext|>.
type mark struct {
	name        string
	token       int32
	left, right bool // true if the mark also consumes white space before or after it
}

// merge is the token that results from merging a pair of tokens, and the pair's rank in the
// order of learning.
type merge struct{ rank, token int32 }

// newBPE returns an encoding with the given text of each token and the given pairs to merge, in
// the order in which they were learned. Tokens that are neither bytes nor results of merges
// have no text. who is the function that errors name.
func newBPE(who string, tokens []string, pairs [][2]string) (*BPE, error) {
	bad := func(arg string, value any, want string) error {
		return &constraint.ArgumentError{Func: who, Arg: arg, Value: value, Want: want}
	}
	b := &BPE{vocabulary: Vocabulary{Tokens: tokens}, merges: make(map[[2]int32]merge, len(pairs))}
	id := make(map[string]int32, len(tokens))
	for t, s := range tokens {
		if _, twice := id[s]; twice {
			return nil, bad(fmt.Sprintf("token %d", t), check.Quote(s), "a text that no other token has")
		}
		id[s] = int32(t)
	}
	made := make(map[int32]bool, len(tokens))
	for c := range b.bytes {
		t, ok := id[string([]byte{byte(c)})]
		if !ok {
			return nil, bad("vocabulary", fmt.Sprintf("without the byte 0x%02x", c), "a token for every byte")
		}
		b.bytes[c] = t
		made[t] = true
	}
	for rank, p := range pairs {
		left, ok1 := id[p[0]]
		right, ok2 := id[p[1]]
		both, ok3 := id[p[0]+p[1]]
		if !ok1 || !ok2 || !ok3 || !made[left] || !made[right] {
			return nil, bad(fmt.Sprintf("merge %d", rank), check.Quote(p[0])+" + "+check.Quote(p[1]), "tokens that bytes and earlier merges make, and a token for the result")
		}
		if _, twice := b.merges[[2]int32{left, right}]; twice {
			return nil, bad(fmt.Sprintf("merge %d", rank), check.Quote(p[0])+" + "+check.Quote(p[1]), "a pair that is not merged before")
		}
		b.merges[[2]int32{left, right}] = merge{int32(rank), both}
		made[both] = true
	}
	for t := range tokens {
		if !made[int32(t)] {
			b.vocabulary.Forbidden = append(b.vocabulary.Forbidden, int32(t))
		}
	}
	return b, nil
}

// Vocabulary returns the text of each token. Tokens that never occur in an encoding, such as an
// end-of-text mark, are listed as Forbidden. The vocabulary must not be modified.
func (b *BPE) Vocabulary() Vocabulary { return b.vocabulary }

// Decode returns the joined texts of the tokens in x. Tokens without a text are skipped. Decode
// panics if a token is out of range.
func (b *BPE) Decode(x []int32) string { return b.vocabulary.Text(x) }

// Encode appends the tokens of s to dst. Names of added tokens in s, such as <|endoftext|>, are
// treated as plain text. To encode them as tokens, use [BPE.EncodeMarked].
func (b *BPE) Encode(dst []int32, s string) []int32 {
	var w word
	if b.normal {
		s = norm.NFC.String(s)
	}
	return b.cut(dst, &w, s, b.splits)
}

// cut appends the tokens of the text s, to which the given splits are still to be applied.
func (b *BPE) cut(dst []int32, w *word, s string, splits []*split) []int32 {
	switch {
	case len(b.splits) == 0:
		for len(s) > 0 {
			n := piece(s)
			dst = w.encode(dst, b, s[:n])
			s = s[n:]
		}
		return dst
	case len(splits) == 0:
		if t, ok := b.whole[s]; ok {
			return append(dst, t)
		}
		return w.encode(dst, b, s)
	}
	for len(s) > 0 {
		from, to, ok := splits[0].next(s)
		if !ok {
			from, to = len(s), len(s)
		}
		if from > 0 {
			dst = b.cut(dst, w, s[:from], splits[1:])
		}
		if to > from {
			dst = b.cut(dst, w, s[from:to], splits[1:])
		}
		s = s[to:]
	}
	return dst
}

// Mark returns the added token with the given name, such as <|endoftext|>. The result ok is false
// if there is none.
func (b *BPE) Mark(name string) (token int32, ok bool) {
	for _, m := range b.marks {
		if m.name == name {
			return m.token, true
		}
	}
	return 0, false
}

// EncodeMarked appends the tokens of s to dst, like Encode, but encodes the name of an added token
// as that token. The templates of chat models contain such names. If several names begin at the
// same place, the longest is used. Use EncodeMarked only for texts that you trust, because anyone
// can write such a name into a text.
func (b *BPE) EncodeMarked(dst []int32, s string) []int32 {
	for len(s) > 0 {
		at, m := len(s), mark{}
		for _, c := range b.marks {
			if i := strings.Index(s, c.name); i >= 0 && (i < at || i == at && len(c.name) > len(m.name)) {
				at, m = i, c
			}
		}
		before := s[:at]
		if m.name == "" {
			return b.Encode(dst, before)
		}
		s = s[at+len(m.name):]
		if m.left {
			before = strings.TrimRightFunc(before, unicode.IsSpace)
		}
		if m.right {
			s = strings.TrimLeftFunc(s, unicode.IsSpace)
		}
		dst = append(b.Encode(dst, before), m.token)
	}
	return dst
}

// piece returns the length in bytes of the first piece of s according to GPT-2's pattern (the
// constant gpt2).
func piece(s string) int {
	for _, c := range []string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"} {
		if len(s) >= len(c) && s[:len(c)] == c {
			return len(c)
		}
	}
	at := 0
	if s[0] == ' ' {
		at = 1
	}
	if at < len(s) {
		r, _ := utf8.DecodeRuneInString(s[at:])
		for _, class := range []func(rune) bool{unicode.IsLetter, unicode.IsNumber, isSign} {
			if class(r) {
				return at + run(s[at:], class)
			}
		}
	}
	// White space: all of it at the end of the text, else but the last rune,
	// which may belong to the next piece, unless it is the only one.
	n := run(s, unicode.IsSpace)
	if n == len(s) {
		return n
	}
	_, last := utf8.DecodeLastRuneInString(s[:n])
	if n > last {
		return n - last
	}
	return n
}

func isSign(r rune) bool { return !unicode.IsSpace(r) && !unicode.IsLetter(r) && !unicode.IsNumber(r) }

// run returns the length in bytes of the longest prefix of s whose runes are all in the class.
func run(s string, class func(rune) bool) int {
	for i, r := range s {
		if !class(r) {
			return i
		}
	}
	return len(s)
}

// word is scratch for encoding one piece. It is a linked list of tokens, and a heap of the
// pairs that may be merged. The top of the heap is the pair that was learned first, and the
// leftmost such pair.
type word struct {
	token      []int32
	prev, next []int32
	heap       []candidate
}

type candidate struct {
	merge
	at          int32 // position of the left token of the pair
	left, right int32 // the two tokens of the pair when it was added to the heap
}

func (c candidate) before(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.at < d.at
}

// encode appends the tokens of one piece, in O(n log n) steps for n bytes.
func (w *word) encode(dst []int32, b *BPE, s string) []int32 {
	w.token, w.prev, w.next, w.heap = w.token[:0], w.prev[:0], w.next[:0], w.heap[:0]
	for i := range len(s) {
		w.token = append(w.token, b.bytes[s[i]])
		w.prev, w.next = append(w.prev, int32(i-1)), append(w.next, int32(i+1))
	}
	for i := range len(s) {
		w.offer(b, int32(i))
	}
	for len(w.heap) > 0 {
		var c candidate
		w.heap, c = heap.Pop(w.heap, candidate.before)
		j := w.next[c.at]
		if w.token[c.at] != c.left || int(j) >= len(s) || w.token[j] != c.right {
			continue // merged otherwise since
		}
		w.token[c.at], w.token[j] = c.token, -1
		k := w.next[j]
		if w.next[c.at] = k; int(k) < len(s) {
			w.prev[k] = c.at
		}
		w.offer(b, c.at)
		if p := w.prev[c.at]; p >= 0 {
			w.offer(b, p)
		}
	}
	for i := 0; i < len(s); i = int(w.next[i]) {
		dst = append(dst, w.token[i])
	}
	return dst
}

// offer adds the pair that begins at position i to the heap, if the pair can be merged.
func (w *word) offer(b *BPE, i int32) {
	j := w.next[i]
	if int(j) >= len(w.token) {
		return
	}
	m, ok := b.merges[[2]int32{w.token[i], w.token[j]}]
	if !ok {
		return
	}
	w.heap = heap.Push(w.heap, candidate{m, i, w.token[i], w.token[j]}, candidate.before)
}

// printable returns the byte that each rune of a vocabulary file denotes. GPT-2 writes bytes
// that are printable in Latin-1 as themselves, and assigns the runes from 256 on to the others.
var printable = sync.OnceValue(func() map[rune]byte {
	m := make(map[rune]byte, 256)
	other := rune(256)
	for c := range 256 {
		if '!' <= c && c <= '~' || 0xa1 <= c && c <= 0xac || 0xae <= c {
			m[rune(c)] = byte(c)
		} else {
			m[other] = byte(c)
			other++
		}
	}
	return m
})

// unprint returns the bytes that a token of a vocabulary file denotes. ok is false if the token
// has a rune that denotes no byte.
func unprint(s string) (text string, ok bool) {
	b := make([]byte, 0, len(s))
	m := printable()
	for _, r := range s {
		c, ok := m[r]
		if !ok {
			return "", false
		}
		b = append(b, c)
	}
	return string(b), true
}
