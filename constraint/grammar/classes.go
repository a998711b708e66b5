package grammar

import (
	"math/bits"
	"strings"
)

// byteClasses divides the bytes into classes that an automaton treats alike in every state.
type byteClasses struct {
	of   [256]uint8 // class of each byte
	some []byte     // one byte of each class, in the order of the classes

	kinds []uint64 // for every class, the kinds of its ASCII bytes; set only by insideClasses
}

func newByteClasses() *byteClasses { return &byteClasses{some: []byte{0}} }

// split divides every class by the values of the function kind, and returns c. Classes are in the
// order of their first bytes.
func (c *byteClasses) split(kind func(b byte) int32) *byteClasses {
	var value [256]int32
	for b := range value {
		value[b] = kind(byte(b))
	}
	return c.splitBy(value[:])
}

// splitBy is split with the values of all bytes. If there are fewer than 256 values, the classes
// divide only the numbers that have a value, which may number anything.
func (c *byteClasses) splitBy(value []int32) *byteClasses {
	var of [256]int32 // value of each class
	for i, b := range c.some {
		of[i] = value[b]
	}
	b := 0
	for b < len(value) && value[b] == of[c.of[b]] {
		b++
	}
	if b == len(value) {
		return c
	}
	c.some = make([]byte, 0, 64)
	var first, next [256]int16 // 1 + the new classes within each old one, as lists; 0 ends a list
	was, to := -1, 0           // classes of the byte before
	for b, v := range value {
		if old := int(c.of[b]); old != was || v != value[b-1] {
			was = old
			for to = int(first[old]) - 1; to >= 0 && value[c.some[to]] != v; {
				to = int(next[to]) - 1
			}
			if to < 0 {
				to = len(c.some)
				c.some = append(c.some, byte(b))
				next[to], first[old] = first[old], int16(to+1)
			}
		}
		c.of[b] = uint8(to)
	}
	return c
}

// classifier is a byteAutomaton that knows classes of bytes that it treats alike.
type classifier interface {
	byteAutomaton
	Classes(levels int) (of []int32, n int)
}

// splitFor divides every class by the classes of the automaton a.
func (c *byteClasses) splitFor(a byteAutomaton) *byteClasses {
	if x, is := a.(classifier); is {
		of, _ := x.Classes(256)
		return c.split(func(b byte) int32 { return of[b] })
	}
	return c.split(func(b byte) int32 { return int32(b) })
}

// classesOf returns the classes of bytes of an automaton in the network.
func classesOf(a automaton) *byteClasses {
	switch a := a.(type) {
	case *stringAutomaton:
		return a.byteClasses()
	case *counted:
		return a.a.byteClasses()
	case *nameRun:
		return a.o.keys.byteClasses()
	case *numberAutomaton:
		return numberClasses
	case *table:
		return a.byteClasses()
	case terminal:
		return newByteClasses().splitFor(a.byteAutomaton)
	}
	return newByteClasses().split(func(b byte) int32 { return int32(b) })
}

// byteClasses returns the classes of bytes that all nodes of the network treat alike.
func (n *network) byteClasses() *byteClasses {
	c := newByteClasses()
	var ranges [256][4]uint64 // pairs of the first and last byte of an arc, as bit sets
	split := map[*byteClasses]bool{}
	for at := range n.nodes {
		v := &n.nodes[at]
		for _, a := range v.arcs {
			ranges[a.low][a.high>>6] |= 1 << (a.high & 63)
		}
		if v.scalar == nil {
			continue
		}
		if by := classesOf(v.scalar); !split[by] {
			split[by] = true
			c.split(func(b byte) int32 { return int32(by.of[b]) })
		}
	}
	var single [256]int32 // 1 + each byte with an arc of its own; 0 for all others
	for low := range ranges {
		for w, set := range ranges[low] {
			for ; set != 0; set &= set - 1 {
				high := w<<6 + bits.TrailingZeros64(set)
				if low == high {
					single[low] = int32(low) + 1
					continue
				}
				c.split(func(b byte) int32 { return int32(bit(low <= int(b) && int(b) <= high)) })
			}
		}
	}
	return c.splitBy(single[:])
}

var numberClasses = newByteClasses().split(func(b byte) int32 { return int32(strings.IndexByte("0123456789-+.eE", b)) })

// insideClasses are the classes of bytes between two characters of a JSON string without tests, and
// within a character.
var insideClasses = newByteClasses().split(func(b byte) int32 {
	switch left, low, high := leadByte(b); {
	case b == '"' || b == '\\':
		return int32(b)
	case left > 0:
		return int32(left) | int32(bit(low != 0x80))<<2 | int32(bit(high != 0xBF))<<3
	case b < ' ':
		return -1
	case b < 0x80:
		return -2
	case b < 0x90:
		return -3
	case b < 0xA0:
		return -4
	case b < 0xC0:
		return -5
	}
	return -1
})

// insideClasses returns the classes of bytes between two characters and within one. The result is
// cached.
func (a *stringAutomaton) insideClasses() *byteClasses {
	if a.inside == nil {
		c := *insideClasses
		for _, t := range a.tests {
			c.splitFor(t.a)
		}
		c.kinds = make([]uint64, len(c.some))
		for b := range 0x80 {
			c.kinds[c.of[b]] |= 1 << kindOf[b]
		}
		a.inside = &c
	}
	return a.inside
}

// byteClasses returns the classes of bytes of the string. The result is cached.
func (a *stringAutomaton) byteClasses() *byteClasses {
	if a.classes == nil {
		c := *a.insideClasses()
		c.kinds = nil
		a.classes = c.split(func(b byte) int32 { return int32(strings.IndexByte(`/bfnrtu0123456789acdeABCDEF`, b)) })
	}
	return a.classes
}

// Classes puts every byte that occurs in the texts into a class of its own. All others form one class.
func (t *trie) Classes(levels int) (of []int32, n int) {
	of, n = make([]int32, levels), 1
	for _, text := range t.texts {
		for i := range len(text) {
			if c := &of[text[i]]; *c == 0 {
				*c = int32(n)
				n++
			}
		}
	}
	return of, n
}
