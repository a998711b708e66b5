package sorted

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"os"
	"sort"
	"sync/atomic"

	"golang.org/x/exp/mmap"

	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/durable"
)

// Lexicon is a set of sequences in a file, mapped into memory. As an automaton, it accepts the
// sequences of the set. A state stands for a prefix, and every transition takes a binary search. A
// Lexicon is immutable and safe for concurrent use until Close. The zero value is the empty set.
//
// If the file is truncated or written to while it is open, Err returns an error, and earlier
// results must not be used. Replacing the file, as [Build] does, has no effect on an open Lexicon.
type Lexicon struct {
	head
	file   mapped
	path   string
	opened *os.File
	was    os.FileInfo // file information of opened at the time of opening
	failed atomic.Pointer[error]
}

// mapped is a file that is mapped into memory.
type mapped interface {
	At(i int) byte
	Len() int
	Close() error
}

// Open maps a file that [Build] has written. It reads only the header; use [Lexicon.Verify] to
// check the contents. Open returns a *[constraint.LimitError] if the number of states (see
// [Lexicon.States]) exceeds 2³¹, or 2⁸ where int has 32 bits. Other errors come from the operating
// system or describe what is wrong with the file.
func Open(path string) (*Lexicon, error) {
	opened, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("sorted: %w", err)
	}
	l := &Lexicon{path: path, opened: opened}
	if l.was, err = opened.Stat(); err == nil {
		l.file, err = mmap.Open(path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sorted: %w", err), opened.Close())
	}
	if err := l.read(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), l.Close())
	}
	return l, nil
}

func (l *Lexicon) read() (err error) {
	if !l.guard(func() {
		b := make([]byte, min(headSize, l.file.Len()))
		for i := range b {
			b[i] = l.file.At(i)
		}
		l.head, err = readHead(b, l.file.Len())
	}) {
		return l.Err()
	}
	return err
}

// Close unmaps the file. Afterwards, the lexicon is the empty set. During Close, the lexicon must
// not be in use.
func (l *Lexicon) Close() error {
	if l.file == nil {
		return nil
	}
	file := l.file
	l.head, l.file = head{}, nil
	return errors.Join(file.Close(), l.opened.Close())
}

// Err returns an error if the file was truncated or written to since it was opened, and nil
// otherwise. Call Err after other methods and before using their results. A novelty.Projector makes
// these calls itself.
func (l *Lexicon) Err() error {
	if err := l.failed.Load(); err != nil {
		return *err
	}
	if l.file == nil {
		return nil
	}
	now, err := l.opened.Stat()
	switch {
	case err != nil:
		l.fail(err)
	case now.Size() != l.was.Size():
		l.fail(fmt.Errorf("%d bytes, want %d", now.Size(), l.was.Size()))
	case !now.ModTime().Equal(l.was.ModTime()):
		l.fail(fmt.Errorf("written to at %v", now.ModTime()))
	default:
		return nil
	}
	return *l.failed.Load()
}

// Validate returns the error of [Lexicon.Err]. Code that compiles a language calls it before and
// after the compilation.
func (l *Lexicon) Validate() error { return l.Err() }

// fail stores err for the method Err, unless an error is already stored.
func (l *Lexicon) fail(err error) {
	err = fmt.Errorf("sorted: %s changed while it was open: %w", l.path, err)
	l.failed.CompareAndSwap(nil, &err)
}

// guard calls read, which accesses the mapped file, and reports whether it completed. If the
// access causes a memory fault, guard stores the error for the method Err.
func (l *Lexicon) guard(read func()) (whole bool) {
	if err := durable.Guard(read); err != nil {
		l.fail(err)
		return false
	}
	return true
}

// readable reports whether the set is not empty and no error is stored.
func (l *Lexicon) readable() bool { return l.count > 0 && l.failed.Load() == nil }

// Verify reads the whole file and returns an error if the contents do not match the checksum.
func (l *Lexicon) Verify() (err error) {
	if l.file == nil {
		return nil
	}
	l.guard(func() { err = l.verify() })
	if changed := l.Err(); changed != nil {
		return changed
	}
	return err
}

func (l *Lexicon) verify() error {
	end := l.file.Len() - 8
	sum := uint64(0)
	buf := make([]byte, 0, 1<<16)
	for i := range end {
		if buf = append(buf, l.file.At(i)); len(buf) == cap(buf) || i == end-1 {
			sum, buf = crc64.Update(sum, table, buf), buf[:0]
		}
	}
	if got := l.word(end); got != sum {
		return fmt.Errorf("sorted: the file is damaged: checksum %016x, want %016x", sum, got)
	}
	return nil
}

// Len returns the number of sequences.
func (l *Lexicon) Len() int { return l.count }

// word reads the 8-byte word at offset at of the file.
func (l *Lexicon) word(at int) uint64 {
	var b [8]byte
	for i := range b {
		b[i] = l.file.At(at + i)
	}
	return binary.LittleEndian.Uint64(b[:])
}

// span returns the index of the first token of sequence i and the number of its tokens. If the
// file is damaged at this place, the number is 0.
func (l *Lexicon) span(i int) (at, n int) {
	from, end := l.word(headSize+8*i), l.word(headSize+8*i+8)
	if from > end || end > uint64(l.tokens) || end-from > uint64(l.longest) {
		return 0, 0
	}
	return int(from), int(end - from)
}

// token returns the token with index t in the concatenation of all sequences.
func (l *Lexicon) token(t int) int32 {
	at := headSize + 8*(l.count+1) + t*l.width
	switch l.width {
	case 1:
		return int32(l.file.At(at))
	case 2:
		return int32(l.file.At(at))<<8 | int32(l.file.At(at+1))
	}
	return int32(l.file.At(at))<<24 | int32(l.file.At(at+1))<<16 | int32(l.file.At(at+2))<<8 | int32(l.file.At(at+3))
}

// prefix is a state of the automaton: a prefix of the given length that the sequences from
// first on have in common. at is the index of its first token.
type prefix struct{ first, length, at int }

// prefixOf decodes a state.
func (l *Lexicon) prefixOf(state int) prefix {
	check.Index("sorted", "state", state, l.States())
	p := prefix{first: state / (l.longest + 1), length: state % (l.longest + 1)}
	p.at, _ = l.span(p.first)
	return p
}

// state encodes the prefix of the given length of the sequence first as a state.
func (l *Lexicon) state(first, length int) int { return first*(l.longest+1) + length }

// next returns the token with which sequence i continues the prefix p. It returns ended if the
// sequence equals p, and beyond if it does not begin with p.
func (l *Lexicon) next(i int, p prefix) int32 {
	at, n := l.span(i)
	if n < p.length {
		return beyond
	}
	if i != p.first {
		for d := p.length - 1; d >= 0; d-- { // neighbours differ near the end
			if l.token(at+d) != l.token(p.at+d) {
				return beyond
			}
		}
	}
	if n == p.length {
		return ended
	}
	return l.token(at + p.length)
}

const (
	ended  = -1
	beyond = -2
)

// after returns the index of the first sequence, from i on, that neither equals p nor continues
// p with a token less than token.
func (l *Lexicon) after(i int, p prefix, token int32) int {
	less := func(j int) bool {
		t := l.next(j, p)
		return t == ended || t >= 0 && t < token
	}
	step := 1
	for i < l.count && less(i) { // doubling: most searches end near by
		if j := i + step; j < l.count && less(j) {
			i, step = j, 2*step
			continue
		}
		low, high := i+1, min(i+step, l.count)
		return low + sort.Search(high-low, func(k int) bool { return !less(low + k) })
	}
	return i
}

// States returns n·(L+1) for n sequences with up to L tokens, but at least 1. Every state is below
// this number.
func (l *Lexicon) States() int { return max(1, l.count*(l.longest+1)) }

// Start returns 0, which is the state of the empty prefix.
func (l *Lexicon) Start() int { return 0 }

// Next returns the state after the given token is read in the given state, or −1 (dead) if no
// sequence of the set continues with this token.
func (l *Lexicon) Next(state int, token int32) int {
	to := -1
	if token >= 0 && l.readable() {
		l.guard(func() { to = l.step(state, token) })
	}
	return to
}

// step implements Next for a set that is not empty.
func (l *Lexicon) step(state int, token int32) int {
	p := l.prefixOf(state)
	i := l.after(p.first, p, token)
	if i == l.count || l.next(i, p) != token {
		return -1
	}
	return l.state(i, p.length+1)
}

// Accepting reports whether the prefix of the given state is itself a sequence of the set.
func (l *Lexicon) Accepting(state int) (ok bool) {
	if l.readable() {
		l.guard(func() { ok = l.accepts(state) })
	}
	return ok
}

// accepts implements Accepting for a set that is not empty.
func (l *Lexicon) accepts(state int) bool {
	p := l.prefixOf(state)
	_, n := l.span(p.first)
	return n == p.length
}

// appendEdges lists the transitions that leave state. It appends their tokens to tokens, in
// ascending order, and their targets to states.
func (l *Lexicon) appendEdges(tokens []int32, states []int, state int) (_ []int32, _ []int) {
	if l.readable() && !l.guard(func() {
		p := l.prefixOf(state)
		for i := l.after(p.first, p, 0); i < l.count; {
			token := l.next(i, p)
			if token < 0 {
				break
			}
			tokens, states = append(tokens, token), append(states, l.state(i, p.length+1))
			i = l.after(i, p, token+1)
		}
	}) {
		return nil, nil
	}
	return tokens, states
}

// Contains reports whether x is in the set.
func (l *Lexicon) Contains(x []int32) (ok bool) {
	if l.readable() {
		l.guard(func() { ok = l.contains(x) })
	}
	return ok
}

// contains implements Contains for a set that is not empty.
func (l *Lexicon) contains(x []int32) bool {
	state := l.Start()
	for _, token := range x {
		if token < 0 {
			return false
		}
		if state = l.step(state, token); state < 0 {
			return false
		}
	}
	return l.accepts(state)
}

// Classes puts every token that the file format can represent into a class by itself, and all
// larger tokens into one class.
func (l *Lexicon) Classes(levels int) (of []int32, n int) {
	most := int32(1)<<(8*min(l.width, 3)) - 1
	if l.width == 4 {
		most = 1<<31 - 1
	}
	return automata.ClassesBy(levels, func(t int32) int32 {
		if t > most {
			return -1
		}
		return t
	})
}
