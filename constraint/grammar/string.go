package grammar

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/pushdown"
)

// stringSpec describes a set of JSON strings by the number of characters and by the required
// result of every test of the decoded text.
type stringSpec struct {
	least, most int // bounds on the number of characters; most < 0 means no upper bound
	tests       []test
	low         bool // true if \u escapes are allowed only for characters below U+0100
	canonical   bool // true if every character has exactly one spelling
}

// test is an automaton that must accept (want is true) or reject the decoded text. A watched
// test requires nothing, but its state is kept at the end of the string.
type test struct {
	a             byteAutomaton
	want, watched bool
}

// byteAutomaton is a deterministic automaton over the UTF-8 bytes of texts. A negative state is
// dead.
type byteAutomaton interface {
	Start() int
	Next(state int, b int32) int
	Accepting(state int) bool
}

// stringAutomaton reads a JSON string with its quotes.
type stringAutomaton struct {
	stringSpec
	states []stringState
	slots  []int32   // 1 + the states by hash, 0 where there is none
	shapes shapes    // divisions of the classes of bytes by rows
	rows   []reading // results of row: the shape, and where the moves begin in moves; a shape of −1 if not yet needed
	moves  []int32
	alive  []int8 // for states within a \u escape: 1 if some hex digits complete it, −1 if none do, 0 if not known
	// by the states of the tests before and after each last digit: the value seen first
	effects map[string]int32
	rests   *rests // rests of the only test; nil if not measured or not known
	known   bool   // true once rests has been measured

	// states of the only test after every character that a \u escape can spell, −1 if it fails, for the
	// state latin before it; nil until needed
	spelled []int32
	latin   int32
	block   []int32 // block of memory from which the tests of states are cut
	latest  int32   // last result of find

	// cached results of byteClasses and insideClasses; nil until they are called
	classes, inside *byteClasses
	fed             []int32 // scratch of feed
	split           pushdown.Splitter[int32]
}

// stringState is the position within a character, the number of characters read, and the states
// of the tests.
type stringState struct {
	at    stage
	left  uint8 // number of bytes or hex digits of the character still to come
	low   byte  // bounds of the next trailing byte
	high  byte
	code  uint16 // value of the hex digits read
	lead  uint16 // high surrogate that precedes, 0 if none
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
	second     // after a high surrogate, where a backslash must follow
	secondSign // after the backslash of the second surrogate, where u must follow
	closed
)

func newString(spec stringSpec) *stringAutomaton {
	a := &stringAutomaton{stringSpec: spec, effects: map[string]int32{}}
	s := stringState{}
	for _, t := range spec.tests {
		s.tests = append(s.tests, int32(t.a.Start()))
	}
	a.find(s)
	return a
}

func (a *stringAutomaton) start() int32 { return 0 }

func (a *stringAutomaton) final(q int32) bool { return a.states[q].at == closed }

// find returns the number of the state s.
func (a *stringAutomaton) find(s stringState) int32 {
	if len(a.states) > 0 && a.states[a.latest].is(&s) { // one byte after another often leads to the same state
		return a.latest
	}
	if 2*len(a.states) >= len(a.slots) {
		a.slots = make([]int32, max(16, 4*len(a.slots)))
		for q := range a.states {
			*a.slot(&a.states[q]) = int32(q) + 1
		}
	}
	p := a.slot(&s)
	if *p == 0 {
		s.tests = append(carve(&a.block, len(s.tests)), s.tests...)
		a.states = append(algebra.Grown(a.states, 1), s)
		*p = int32(len(a.states))
	}
	a.latest = *p - 1
	return a.latest
}

// slot returns the slot of the state s, or the free one where it belongs.
func (a *stringAutomaton) slot(s *stringState) *int32 {
	h := uint64(s.at) | uint64(s.left)<<8 | uint64(s.low)<<16 | uint64(s.high)<<24 | uint64(s.code)<<32 | uint64(s.lead)<<48
	h = algebra.Mix(h*algebra.Golden, uint64(s.count))
	for _, q := range s.tests {
		h = algebra.Mix(h, uint64(uint32(q)))
	}
	last := uint64(len(a.slots) - 1)
	for i := h >> 32 & last; ; i = (i + 1) & last {
		if p := &a.slots[i]; *p == 0 || a.states[*p-1].is(s) {
			return p
		}
	}
}

// is reports whether two states are the same.
func (s *stringState) is(x *stringState) bool {
	return x.at == s.at && x.left == s.left && x.low == s.low && x.high == s.high && x.code == s.code && x.lead == s.lead &&
		x.count == s.count && slices.Equal(x.tests, s.tests)
}

// feedRune is feed of the bytes of a character.
func (a *stringAutomaton) feedRune(tests []int32, r rune) ([]int32, bool) {
	if r < utf8.RuneSelf {
		return a.feed(tests, byte(r))
	}
	var text [utf8.UTFMax]byte
	return a.feed(tests, utf8.AppendRune(text[:0], r)...)
}

// feed returns the states of the tests after bytes of a character. It returns false if a required test
// fails. The result is scratch that the next call overwrites.
func (a *stringAutomaton) feed(tests []int32, text ...byte) ([]int32, bool) {
	a.fed = append(a.fed[:0], tests...)
	for i, q := range a.fed {
		if q < 0 {
			if a.tests[i].want {
				return a.fed, false
			}
			continue
		}
		for _, b := range text {
			if q >= 0 {
				q = int32(a.tests[i].a.Next(int(q), int32(b)))
			}
		}
		if a.fed[i] = max(q, -1); q < 0 && a.tests[i].want {
			return a.fed, false
		}
	}
	return a.fed, true
}

// completes reports whether some text completes the string from state q. sure is false if
// deciding this would take a search. No search is needed if the length is free and at most one
// test is still open, provided that this test has no dead ends.
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

// left returns the least and largest number of characters that may still follow in state s.
// high < 0 means no upper bound.
func (a *stringAutomaton) left(s *stringState) (low, high int) {
	if low, high = max(0, a.least-s.count), -1; a.most >= 0 {
		high = a.most - s.count
	}
	return low, high
}

// only returns the automaton of the string's only test. It returns nil if there is no test,
// more than one, or a test of another type.
func (a *stringAutomaton) only() *constraint.DFA {
	if len(a.tests) != 1 || !a.tests[0].want {
		return nil
	}
	d, _ := a.tests[0].a.(*constraint.DFA)
	return d
}

// measure returns the rests of the only test, or nil if they are not known. The result is
// cached.
func (a *stringAutomaton) measure() *rests {
	if !a.known {
		a.known = true
		if d := a.only(); d != nil {
			a.rests = restsOf(d)
		}
	}
	return a.rests
}

// goesOn reports whether low to high further characters complete the string from state s. high
// < 0 means no upper bound. sure is false unless the string has exactly one test that decides
// this.
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

// spells reports whether f returns true for the state of the only test after some character
// that the current, unfinished escape can spell.
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

// readsASCII reports whether f returns true for a printable ASCII character.
func readsASCII(f func(b byte) bool) bool {
	for b := byte(' '); b < 0x7F; b++ {
		if f(b) {
			return true
		}
	}
	return false
}

// begin counts one more character. It returns false if there are then too many.
func (a *stringAutomaton) begin(s stringState) (stringState, bool) {
	s.count++
	if a.most >= 0 {
		return s, s.count <= a.most
	}
	s.count = min(s.count, a.least)
	return s, true
}

// character returns the state after a whole character, or −1.
func (a *stringAutomaton) character(s stringState, r rune) int32 {
	s, ok := a.begin(s)
	if ok {
		s.tests, ok = a.feedRune(s.tests, r)
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
		return a.read(s, b)
	case trailing:
		if b < s.low || b > s.high {
			return -1
		}
		var ok bool
		if s.tests, ok = a.feed(s.tests, b); !ok {
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

// row returns a shape and the next state of q for each of its slots, −1 where it is dead.
func (a *stringAutomaton) row(q int32) (shape int32, moves []int32) {
	for len(a.rows) <= int(q) {
		a.rows = append(algebra.Grown(a.rows, 1), reading{shape: -1})
	}
	if a.rows[q].shape < 0 {
		var row [256]int32
		n := len(a.byteClasses().some)
		a.fill(row[:n], q)
		slots, moves := a.split.Split(row[:n])
		a.rows[q] = reading{a.shapes.Find(slots), int32(len(a.moves))}
		a.moves = append(algebra.Grown(a.moves, len(moves)), moves...)
	}
	x := a.rows[q]
	return x.shape, a.moves[x.at:][:a.shapes.Width(x.shape)]
}

// fill sets moves to the next state by class of bytes, −1 where it is dead.
func (a *stringAutomaton) fill(moves []int32, q int32) {
	classes := a.byteClasses()
	for i := range moves {
		moves[i] = -1
	}
	var buffer [256]byte
	bytes, only := a.choices(buffer[:0], q)
	if only {
		for _, b := range bytes {
			if a.states[q].at == hex && b >= 'A' && b <= 'F' && !a.canonical {
				moves[classes.of[b]] = moves[classes.of[b|' ']]
			} else {
				moves[classes.of[b]] = a.next(q, b)
			}
		}
		return
	}
	var to [256]int32
	inside := a.insideClasses()
	for i, b := range inside.some {
		to[i] = a.next(q, b)
	}
	for i, b := range classes.some {
		moves[i] = to[inside.of[b]]
	}
}

// read reads the first byte of a character, or the closing quote.
func (a *stringAutomaton) read(s stringState, b byte) int32 {
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
		s.tests, ok = a.feed(s.tests, b)
	}
	if !ok {
		return -1
	}
	return a.find(s)
}

// leadByte returns the number of bytes that follow b, the first byte of a character beyond
// ASCII, and the bounds of the second byte (RFC 3629, section 4). left is 0 if b is not such a
// byte.
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

// latin1 reports whether \u escapes are allowed only for characters below U+0100.
func (a *stringAutomaton) latin1() bool { return a.canonical || a.low || len(a.tests) > 0 }

// digit reads a hex digit of a \u escape. If no test depends on the character, only the
// information about surrogates is kept, not the character's code.
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
	if a.latin1() {
		switch {
		case s.left >= 2 && d != 0:
			return -1
		case a.canonical && s.left == 1 && d > 1, a.canonical && s.left == 0 && !control(rune(s.code)):
			return -1
		case s.left == 0:
			return a.character(s, rune(s.code))
		}
		if s.left == 1 {
			return a.lastDigit(s)
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

// lastDigit returns the state of an escape before its last digit, or −1 if no digit completes it.
// Digits before it that have the same effect on the tests, whatever the last digit, share a state,
// which stores the digits seen first.
func (a *stringAutomaton) lastDigit(s stringState) int32 {
	if _, ok := a.begin(s); !ok {
		return -1
	}
	if !a.canonical && !slices.ContainsFunc(s.tests, func(q int32) bool { return q >= 0 }) {
		s.code = 0 // no test depends on the character
		return a.find(s)
	}
	code := a.firstAlike(s)
	if code < 0 {
		return -1
	}
	s.code = uint16(code)
	return a.find(s)
}

// firstAlike returns the digits seen first that have the same effect on the tests as those of s, or −1
// if no last digit completes the escape.
func (a *stringAutomaton) firstAlike(s stringState) int32 {
	if spelled := a.afterEscape(s.tests); spelled != nil {
		run := spelled[int(s.code)<<4:][:16]
		if a.tests[0].want && !slices.ContainsFunc(run, func(q int32) bool { return q >= 0 }) {
			return -1
		}
		return a.effect(appendWords(appendWords(make([]byte, 0, 128), s.tests), run), s.code)
	}
	k := appendWords(make([]byte, 0, 128), s.tests)
	alive := false
	for d := range rune(16) {
		r := rune(s.code)<<4 | d
		tests, ok := s.tests, !a.canonical || control(r)
		if ok {
			tests, ok = a.feedRune(s.tests, r)
		}
		alive = alive || ok
		if k = append(k, bit(ok)); ok {
			k = appendWords(k, tests)
		}
	}
	if !alive {
		return -1
	}
	return a.effect(k, s.code)
}

// effect returns the digits seen first that have the effect k, which are code if there are none before.
func (a *stringAutomaton) effect(k []byte, effect uint16) int32 {
	code, ok := a.effects[string(k)]
	if !ok {
		code = int32(effect)
		a.effects[string(k)] = code
	}
	return code
}

// afterEscape returns the states of the only test after each character up to U+00FF, −1 if it fails. It
// returns nil unless there is one test, which must pass or is watched. The result is scratch that the
// next call overwrites.
func (a *stringAutomaton) afterEscape(tests []int32) []int32 {
	if len(a.tests) != 1 || !a.tests[0].want && !a.tests[0].watched || a.canonical {
		return nil
	}
	if a.spelled != nil && a.latin == tests[0] {
		return a.spelled
	}
	if a.spelled == nil {
		a.spelled = make([]int32, 0x100)
	}
	a.latin = tests[0]
	t := a.tests[0].a
	next := func(q int32, b byte) int32 {
		if q < 0 {
			return -1
		}
		return int32(max(-1, t.Next(int(q), int32(b))))
	}
	x, is := t.(*trie)
	if i, names := t.(*nameIndex); names {
		x, is = i.trie, true
	}
	if is {
		for r := range a.spelled {
			a.spelled[r] = -1
		}
		if a.latin < 0 {
			return a.spelled
		}
		for _, b := range x.bytes(nil, int(a.latin)) {
			if q := next(a.latin, b); b < utf8.RuneSelf {
				a.spelled[b] = q
			} else if b == 0xC2 || b == 0xC3 {
				for _, c := range x.bytes(nil, int(q)) {
					a.spelled[0x80|b&1<<6|c&0x3F] = next(q, c)
				}
			}
		}
		return a.spelled
	}
	for b := range byte(utf8.RuneSelf) {
		a.spelled[b] = next(a.latin, b)
	}
	for _, lead := range []byte{0xC2, 0xC3} {
		q := next(a.latin, lead)
		for c := byte(0x80); c < 0xC0; c++ {
			a.spelled[0x80|lead&1<<6|c&0x3F] = next(q, c)
		}
	}
	return a.spelled
}

// control reports whether r can be written only as a \u escape.
func control(r rune) bool { return r < ' ' && !strings.ContainsRune("\b\f\n\r\t", r) }

// viable reports whether some hex digits complete the escape at state q with a character that
// is allowed.
func (a *stringAutomaton) viable(q int32) bool {
	for len(a.alive) <= int(q) {
		a.alive = append(algebra.Grown(a.alive, 1), 0)
	}
	if a.alive[q] != 0 {
		return a.alive[q] > 0
	}
	s := a.states[q]
	low, n := rune(s.code)<<(4*s.left), rune(1)<<(4*s.left)
	n = min(n, 0x100)
	ok := false
	if spelled := a.afterEscape(s.tests); spelled != nil {
		_, counts := a.begin(s)
		ok = counts && (!a.tests[0].want || slices.ContainsFunc(spelled[min(low, 0x100):min(low+n, 0x100)], func(q int32) bool { return q >= 0 }))
		a.alive[q] = int8(2*bit(ok)) - 1
		return ok
	}
	for r := low; r < low+n && !ok; r++ {
		if a.canonical && !control(r) {
			continue
		}
		if t, counts := a.begin(s); counts {
			_, ok = a.feedRune(t.tests, r)
		}
	}
	a.alive[q] = int8(2*bit(ok)) - 1
	return ok
}

// lengthOver is a byteAutomaton for the texts with more characters than the given number.
type lengthOver int

func (n lengthOver) Start() int { return 0 }

func (n lengthOver) Next(q int, b int32) int {
	if b&0xC0 != 0x80 { // the first byte of a character
		q++
	}
	return min(q, int(n)+1)
}

func (n lengthOver) Accepting(q int) bool { return q > int(n) }

// Classes puts the bytes with which a character can begin into one class, and all other bytes into
// another.
func (n lengthOver) Classes(levels int) (of []int32, classes int) {
	of = make([]int32, levels)
	for b := range of {
		of[b] = begins(byte(b))
	}
	return of, 2
}

// trie is a byteAutomaton for a finite set of texts. It is built when it is first read, and is
// safe for concurrent use afterwards.
type trie struct {
	texts []string
	next  [][]trieArc // arcs of every node; nil until the trie is built
	ends  []bool
}

type trieArc struct {
	b  byte
	to int
}

func newTrie(texts []string) *trie { return &trie{texts: texts} }

// build builds the trie and returns it.
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

// holds reports whether the automaton a accepts a text.
func holds(a byteAutomaton, text string) bool {
	q := a.Start()
	for i := 0; i < len(text) && q >= 0; i++ {
		q = a.Next(q, int32(text[i]))
	}
	return q >= 0 && a.Accepting(q)
}
