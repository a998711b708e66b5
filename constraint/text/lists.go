package text

import "slices"

const (
	none    = -1 // defined nowhere
	unknown = -2
)

// lists are partial functions, each kept once, as pairs of arguments and values in
// ascending order of the arguments.
type lists struct {
	from, to []int32
	first    []int32 // list i is from[first[i]:first[i+1]]
	number   map[uint64]int32
	same     []int32 // the next list of the same hash, none
}

// len returns the number of lists.
func (l *lists) len() int { return max(0, len(l.first)-1) }

// put appends a pair to the list under construction.
func (l *lists) put(from, to int32) {
	l.from, l.to = append(l.from, from), append(l.to, to)
}

// intern ends the list under construction and returns its number, none if it is
// empty.
func (l *lists) intern() int32 {
	if l.number == nil {
		l.number, l.first = map[uint64]int32{}, []int32{0}
	}
	n := len(l.first) - 1
	at := l.first[n]
	if int(at) == len(l.from) {
		return none
	}
	hash := uint64(len(l.from)) - uint64(at)
	for i := at; int(i) < len(l.from); i++ {
		// Equality is checked below, so any mixing does.
		hash = (hash ^ uint64(uint32(l.from[i]))<<32 ^ uint64(uint32(l.to[i]))) * 0x9E3779B97F4A7C15
		hash ^= hash >> 29
	}
	last, known := l.number[hash]
	for id := last; known && id != none; id = l.same[id] {
		a, b := l.first[id], l.first[id+1]
		if slices.Equal(l.from[a:b], l.from[at:]) && slices.Equal(l.to[a:b], l.to[at:]) {
			l.from, l.to = l.from[:at], l.to[:at]
			return id
		}
	}
	if !known {
		last = none
	}
	l.number[hash] = int32(n)
	l.same = append(l.same, last)
	l.first = append(l.first, int32(len(l.from)))
	return int32(n)
}
