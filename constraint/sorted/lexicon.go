package sorted

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"sort"

	"golang.org/x/exp/mmap"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Lexicon is a set of sequences in a file, mapped into memory. As an automaton its
// language is the set; a state is a prefix, identified by the first sequence that has it
// and its length, and a transition takes a binary search among those that follow. It is
// immutable and safe for concurrent use until Close. The zero value is the empty set.
type Lexicon struct {
	head
	file mapped
}

// mapped is a mapped file.
type mapped interface {
	At(i int) byte
	Len() int
	Close() error
}

// Open maps a file that [Build] has written. It reads the head only; see
// [Lexicon.Verify]. The error states what is wrong with the file, is a
// *[constraint.LimitError] if the number of sequences times their length is beyond 2³¹
// (2⁸ where an int has 32 bits), or is one of the operating system.
func Open(path string) (*Lexicon, error) {
	file, err := mmap.Open(path)
	if err != nil {
		return nil, fmt.Errorf("sorted: %w", err)
	}
	l, err := read(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	return l, nil
}

func read(file mapped) (*Lexicon, error) {
	b := make([]byte, min(headSize, file.Len()))
	for i := range b {
		b[i] = file.At(i)
	}
	h, err := readHead(b, file.Len())
	if err != nil {
		return nil, err
	}
	return &Lexicon{h, file}, nil
}

// Close unmaps the file; the lexicon is the empty set afterwards. It must not be in use
// during Close.
func (l *Lexicon) Close() error {
	if l.file == nil {
		return nil
	}
	file := l.file
	l.head, l.file = head{}, nil
	return file.Close()
}

// Verify reads the whole file and returns an error unless it is as written.
func (l *Lexicon) Verify() error {
	if l.file == nil {
		return nil
	}
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

// word reads 8 bytes.
func (l *Lexicon) word(at int) uint64 {
	var b [8]byte
	for i := range b {
		b[i] = l.file.At(at + i)
	}
	return binary.LittleEndian.Uint64(b[:])
}

// span returns where the tokens of sequence i begin, and how many there are. A
// damaged file gives none rather than others'.
func (l *Lexicon) span(i int) (at, n int) {
	from, end := l.word(headSize+8*i), l.word(headSize+8*i+8)
	if from > end || end > uint64(l.tokens) || end-from > uint64(l.longest) {
		return 0, 0
	}
	return int(from), int(end - from)
}

// token returns token t of those of all sequences.
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

// prefix is what the sequences from first on have in common.
type prefix struct{ first, length, at int }

// prefixOf takes a state apart.
func (l *Lexicon) prefixOf(state int) prefix {
	check.Index("sorted", "state", state, l.States())
	p := prefix{first: state / (l.longest + 1), length: state % (l.longest + 1)}
	p.at, _ = l.span(p.first)
	return p
}

// state puts a state together.
func (l *Lexicon) state(first, length int) int { return first*(l.longest+1) + length }

// next returns the token that sequence i goes on with after p: ended if it is p
// itself, beyond if it does not begin with p.
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

// after returns the first sequence from i on that is not p itself and does not
// continue p with a token less than token.
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

// States returns the number of sequences times one more than the length of the longest.
func (l *Lexicon) States() int { return max(1, l.count*(l.longest+1)) }

// Start returns 0.
func (l *Lexicon) Start() int { return 0 }

// Next finds the first sequence that continues with token.
func (l *Lexicon) Next(state int, token int32) int {
	if l.count == 0 || token < 0 {
		return -1
	}
	p := l.prefixOf(state)
	i := l.after(p.first, p, token)
	if i == l.count || l.next(i, p) != token {
		return -1
	}
	return l.state(i, p.length+1)
}

// Accepting reports whether the prefix is a sequence of the set.
func (l *Lexicon) Accepting(state int) bool {
	if l.count == 0 {
		return false
	}
	p := l.prefixOf(state)
	_, n := l.span(p.first)
	return n == p.length
}

// appendEdges appends to tokens those that lead on from state, ascending, and to
// states where they lead.
func (l *Lexicon) appendEdges(tokens []int32, states []int, state int) ([]int32, []int) {
	if l.count == 0 {
		return tokens, states
	}
	p := l.prefixOf(state)
	for i := l.after(p.first, p, 0); i < l.count; {
		token := l.next(i, p)
		if token < 0 {
			break
		}
		tokens, states = append(tokens, token), append(states, l.state(i, p.length+1))
		i = l.after(i, p, token+1)
	}
	return tokens, states
}

// Contains reports whether x is in the set.
func (l *Lexicon) Contains(x []int32) bool { return constraint.Accepts(l, x) }

// Classes puts every token that can occur into a class of its own and the others
// into one.
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
