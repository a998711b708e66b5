package grammar

import (
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// stringSpec describes a set of JSON strings: by the number of characters, and
// by the required result of every test of the decoded text.
type stringSpec struct {
	least, most int // characters; most < 0: any number
	tests       []test
	low         bool // \u escapes spell characters below U+0100 only
	canonical   bool // every character has one spelling
}

// test wants a byte automaton to accept, or to refuse, the decoded text; one that is
// watched wants nothing, and its state is there at the end.
type test struct {
	a             byteAutomaton
	want, watched bool
}

// byteAutomaton is a deterministic automaton over the UTF-8 bytes of texts; a
// state < 0 is dead.
type byteAutomaton interface {
	Start() int
	Next(state int, b int32) int
	Accepting(state int) bool
}

// stringAutomaton reads a JSON string with its quotes.
type stringAutomaton struct {
	stringSpec
	number map[string]int32
	states []stringState
	alive  map[int32]bool // of places after \u00h
	rests  *rests         // of the test, once measured
	known  bool           // they are, or cannot be
	key    []byte         // scratch of find
	fed    []int32        // and of feed
}

// stringState is the place within a character, the characters so far, and the
// states of the tests.
type stringState struct {
	at    stage
	left  uint8 // bytes or hex digits still to come
	low   byte  // bounds of the next trailing byte
	high  byte
	code  uint16 // hex digits so far
	lead  uint16 // a high surrogate before
	count int
	tests []int32
}

type stage uint8

const (
	before stage = iota
	plain
	trailing
	escaped // after a backslash
	hex
	second     // after a high surrogate: a backslash
	secondSign // then a u
	closed
)

func newString(spec stringSpec) *stringAutomaton {
	a := &stringAutomaton{stringSpec: spec, number: map[string]int32{}, alive: map[int32]bool{}}
	s := stringState{}
	for _, t := range spec.tests {
		s.tests = append(s.tests, int32(t.a.Start()))
	}
	a.find(s)
	return a
}

func (a *stringAutomaton) start() int32 { return 0 }

func (a *stringAutomaton) final(q int32) bool { return a.states[q].at == closed }

func (a *stringAutomaton) find(s stringState) int32 {
	k := append(a.key[:0], byte(s.at), s.left, s.low, s.high, byte(s.code), byte(s.code>>8), byte(s.lead), byte(s.lead>>8),
		byte(s.count), byte(s.count>>8), byte(s.count>>16))
	for _, q := range s.tests {
		k = binary.LittleEndian.AppendUint32(k, uint32(q))
	}
	a.key = k
	if i, ok := a.number[string(k)]; ok {
		return i
	}
	i := int32(len(a.states))
	a.number[string(k)] = i
	s.tests = slices.Clone(s.tests)
	a.states = append(a.states, s)
	return i
}

// feed gives bytes of a character to the tests, whose states are kept until the next feed.
func (a *stringAutomaton) feed(s stringState, text ...byte) (stringState, bool) {
	a.fed = append(a.fed[:0], s.tests...)
	s.tests = a.fed
	for i, t := range a.tests {
		for _, b := range text {
			if s.tests[i] >= 0 {
				s.tests[i] = int32(t.a.Next(int(s.tests[i]), int32(b)))
			}
		}
		if s.tests[i] < 0 {
			s.tests[i] = -1
			if t.want {
				return s, false
			}
		}
	}
	return s, true
}

// completes reports whether a text completes the string from a state, where that takes no
// search: the length is free, at most one test is open, and it has no dead ends.
func (a *stringAutomaton) completes(q int32) (yes, sure bool) {
	s := &a.states[q]
	if low, high := a.left(s); low > 0 || high >= 0 || s.at == escaped || s.at == hex {
		if yes, sure := a.goesOn(s, low, high); sure {
			return yes, true
		}
	}
	if a.most >= 0 && (len(a.tests) > 0 || s.at != before && s.at != plain) || s.at == second || s.at == secondSign {
		return false, false
	}
	escape := s.at == escaped || s.at == hex && s.left == 4
	if len(a.tests) == 0 {
		return a.most < 0 || a.least <= a.most, !escape
	}
	if len(a.tests) > 1 || !a.tests[0].want || s.count < a.least {
		return false, false
	}
	t := a.tests[0].a
	if x, is := t.(*trie); is && len(x.texts) == 0 {
		return false, true
	}
	return true, !escape || s.lead == 0 && !a.canonical && readsASCII(func(b byte) bool { return t.Next(int(s.tests[0]), int32(b)) >= 0 })
}

// left returns how many characters must and may come after a state; high < 0: any number.
func (a *stringAutomaton) left(s *stringState) (low, high int) {
	if low, high = max(0, a.least-s.count), -1; a.most >= 0 {
		high = a.most - s.count
	}
	return low, high
}

// only returns the automaton of the only test, nil if it is not one.
func (a *stringAutomaton) only() *constraint.DFA {
	if len(a.tests) != 1 || !a.tests[0].want {
		return nil
	}
	d, _ := a.tests[0].a.(*constraint.DFA)
	return d
}

// measure returns the rests of the only test, nil if they are not known.
func (a *stringAutomaton) measure() *rests {
	if !a.known {
		a.known = true
		if d := a.only(); d != nil {
			a.rests = restsOf(d)
		}
	}
	return a.rests
}

// goesOn reports whether low … high characters after a state complete the string (high < 0: low or
// more), where its only test tells.
func (a *stringAutomaton) goesOn(s *stringState, low, high int) (yes, sure bool) {
	d := a.only()
	if d == nil {
		return false, false
	}
	free := low <= 0 && high < 0
	r := a.rests
	if !free {
		if r = a.measure(); r == nil {
			return false, false
		}
	}
	switch s.at {
	case before, plain, trailing:
		return free || r.between(s.tests[0], low, high), true
	case escaped, hex:
		if high == 0 {
			return false, true
		}
		yes = a.spells(s, func(q int32) bool { return free || r.between(q, low-1, max(-1, high-1)) })
		return yes, true
	}
	return false, false
}

// spells reports whether f holds for a state of the only test after a character that an escape
// which has begun can spell.
func (a *stringAutomaton) spells(s *stringState, f func(q int32) bool) bool {
	from, to := rune(0), rune(0x100)
	if s.at == hex {
		from = rune(s.code) << (4 * s.left)
		to = min(from+1<<(4*s.left), to)
	}
	for r := from; r < to; r++ {
		if a.canonical && !control(r) && (s.at == hex || !strings.ContainsRune("\"\\\b\f\n\r\t", r)) {
			continue
		}
		q := int(s.tests[0])
		for _, b := range utf8.AppendRune(nil, r) {
			if q >= 0 {
				q = a.tests[0].a.Next(q, int32(b))
			}
		}
		if q >= 0 && f(int32(q)) {
			return true
		}
	}
	return false
}

// readsASCII reports whether f holds for a printable character.
func readsASCII(f func(b byte) bool) bool {
	for b := byte(' '); b < 0x7F; b++ {
		if f(b) {
			return true
		}
	}
	return false
}

// begin counts a character.
func (a *stringAutomaton) begin(s stringState) (stringState, bool) {
	s.count++
	if a.most >= 0 {
		return s, s.count <= a.most
	}
	s.count = min(s.count, a.least)
	return s, true
}

// character adds a whole character.
func (a *stringAutomaton) character(s stringState, r rune) int32 {
	s, ok := a.begin(s)
	if ok {
		s, ok = a.feed(s, utf8.AppendRune(nil, r)...)
	}
	if !ok {
		return -1
	}
	s.at, s.left, s.code, s.lead = plain, 0, 0, 0
	return a.find(s)
}

func (a *stringAutomaton) next(q int32, b byte) int32 {
	s := a.states[q]
	switch s.at {
	case before:
		if b != '"' {
			return -1
		}
		s.at = plain
		return a.find(s)
	case plain:
		return a.inside(s, b)
	case trailing:
		if b < s.low || b > s.high {
			return -1
		}
		s, ok := a.feed(s, b)
		if !ok {
			return -1
		}
		s.low, s.high = 0x80, 0xBF
		if s.left--; s.left == 0 {
			s.at, s.low, s.high = plain, 0, 0
		}
		return a.find(s)
	case escaped:
		if b == 'u' {
			s.at, s.left = hex, 4
			return a.find(s)
		}
		const letters, meant = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
		for i := range len(letters) {
			if letters[i] == b && !(a.canonical && b == '/') {
				return a.character(s, rune(meant[i]))
			}
		}
	case hex:
		return a.digit(s, b)
	case second:
		if b == '\\' {
			s.at = secondSign
			return a.find(s)
		}
	case secondSign:
		if b == 'u' {
			s.at, s.left = hex, 4
			return a.find(s)
		}
	}
	return -1
}

// inside reads the first byte of a character, or the closing quote.
func (a *stringAutomaton) inside(s stringState, b byte) int32 {
	switch {
	case b == '"':
		if s.count < a.least {
			return -1
		}
		a.fed = append(a.fed[:0], s.tests...)
		clear(a.fed)
		end := stringState{at: closed, tests: a.fed}
		for i, t := range a.tests {
			if t.watched {
				end.tests[i] = s.tests[i]
			} else if (s.tests[i] >= 0 && t.a.Accepting(int(s.tests[i]))) != t.want {
				return -1
			}
		}
		return a.find(end)
	case b == '\\':
		s.at = escaped
		return a.find(s)
	case b < 0x20:
		return -1
	case b < utf8.RuneSelf:
		return a.character(s, rune(b))
	}
	if s.left, s.low, s.high = leadByte(b); s.left == 0 {
		return -1
	}
	s.at = trailing
	s, ok := a.begin(s)
	if ok {
		s, ok = a.feed(s, b)
	}
	if !ok {
		return -1
	}
	return a.find(s)
}

// leadByte returns how many bytes follow the first byte of a character beyond ASCII, 0 if it
// is none, and the bounds of the second (RFC 3629, section 4).
func leadByte(b byte) (left, low, high byte) {
	low, high = 0x80, 0xBF
	switch {
	case b >= 0xC2 && b <= 0xDF:
		left = 1
	case b >= 0xE0 && b <= 0xEF:
		left = 2
		if b == 0xE0 {
			low = 0xA0
		} else if b == 0xED {
			high = 0x9F
		}
	case b >= 0xF0 && b <= 0xF4:
		left = 3
		if b == 0xF0 {
			low = 0x90
		} else if b == 0xF4 {
			high = 0x8F
		}
	}
	return left, low, high
}

// digit reads a hex digit. Where no test looks at the code, only what concerns
// surrogates is kept of it.
func (a *stringAutomaton) digit(s stringState, b byte) int32 {
	var d uint16
	switch {
	case b >= '0' && b <= '9':
		d = uint16(b - '0')
	case b >= 'a' && b <= 'f':
		d = uint16(b-'a') + 10
	case b >= 'A' && b <= 'F' && !a.canonical:
		d = uint16(b-'A') + 10
	default:
		return -1
	}
	s.code = s.code<<4 | d
	s.left--
	if a.canonical || a.low || len(a.tests) > 0 {
		switch {
		case s.left >= 2 && d != 0:
			return -1
		case a.canonical && s.left == 1 && d > 1, a.canonical && s.left == 0 && !control(rune(s.code)):
			return -1
		case s.left == 0:
			return a.character(s, rune(s.code))
		}
		q := a.find(s)
		if !a.viable(q) {
			return -1
		}
		return q
	}
	switch s.left {
	case 3:
		if d != 0xD && s.lead == 0 {
			s.code = 0
		} else if d != 0xD {
			return -1
		}
	case 2:
		switch {
		case s.code>>4 != 0xD || d < 8:
			if s.lead != 0 {
				return -1
			}
			s.code = 0
		case d < 0xC:
			if s.lead != 0 {
				return -1
			}
			s.code = 0xD8
		case s.lead == 0:
			return -1
		default:
			s.code = 0xDC
		}
	case 1:
		s.code = s.code &^ 0xF
	case 0:
		switch {
		case s.lead != 0:
			return a.character(s, 0x10000)
		case s.code >= 0xD800:
			s.at, s.lead, s.code = second, 0xD800, 0
			return a.find(s)
		}
		return a.character(s, 'x')
	}
	return a.find(s)
}

// control reports whether a character needs a \u escape.
func control(r rune) bool { return r < ' ' && !strings.ContainsRune("\b\f\n\r\t", r) }

// viable reports whether some digits still make a character that lives.
func (a *stringAutomaton) viable(q int32) bool {
	if ok, known := a.alive[q]; known {
		return ok
	}
	s := a.states[q]
	low, n := rune(s.code)<<(4*s.left), rune(1)<<(4*s.left)
	n = min(n, 0x100)
	ok := false
	for r := low; r < low+n && !ok; r++ {
		if a.canonical && !control(r) {
			continue
		}
		if t, counts := a.begin(s); counts {
			_, ok = a.feed(t, utf8.AppendRune(nil, r)...)
		}
	}
	a.alive[q] = ok
	return ok
}

// lengthOver is the set of texts of more characters than some number, a byteAutomaton.
type lengthOver int

func (n lengthOver) Start() int { return 0 }

func (n lengthOver) Next(q int, b int32) int {
	if b&0xC0 != 0x80 { // the first byte of a character
		q++
	}
	return min(q, int(n)+1)
}

func (n lengthOver) Accepting(q int) bool { return q > int(n) }

// trie is a finite set of texts: a byteAutomaton, made when it is first read. It is safe for
// concurrent use afterwards.
type trie struct {
	texts []string
	next  [][]trieArc // nil until then
	ends  []bool
}

type trieArc struct {
	b  byte
	to int
}

func newTrie(texts []string) *trie { return &trie{texts: texts} }

// build makes the trie.
func (t *trie) build() *trie {
	n := 1
	for _, text := range t.texts {
		n += len(text)
	}
	t.next, t.ends = make([][]trieArc, 1, n), make([]bool, 1, n)
	arcs := make([]trieArc, n)
	for _, text := range t.texts {
		at := 0
		for i := range len(text) {
			to := t.Next(at, int32(text[i]))
			if to < 0 {
				to = len(t.next)
				t.next, t.ends = append(t.next, nil), append(t.ends, false)
				if t.next[at] == nil {
					t.next[at] = carve(&arcs, 1)
				}
				t.next[at] = append(t.next[at], trieArc{text[i], to})
			}
			at = to
		}
		t.ends[at] = true
	}
	return t
}

func (t *trie) Start() int { return 0 }

func (t *trie) Next(at int, b int32) int {
	if t.next == nil {
		t.build()
	}
	for _, x := range t.next[at] {
		if int32(x.b) == b {
			return x.to
		}
	}
	return -1
}

func (t *trie) Accepting(at int) bool {
	if t.next == nil {
		t.build()
	}
	return t.ends[at]
}

// holds reports whether an automaton accepts a text.
func holds(a byteAutomaton, text string) bool {
	q := a.Start()
	for i := 0; i < len(text) && q >= 0; i++ {
		q = a.Next(q, int32(text[i]))
	}
	return q >= 0 && a.Accepting(q)
}
