package main

import (
	"encoding/binary"
)

// unique is the walker that forbids a word of k bases to occur twice, except for pairs of
// positions that both lie in the flanks. Only pairs of positions that the protein allows to be
// equal are tracked. The key holds the pairs that may still become equal and whose first word
// has begun, and the bases of those first words.
type unique struct {
	frame
	k      int
	tokens [][]int32
	pairs  []pair // pairs of positions, ordered by first position
	begun  []int  // by base: number of pairs whose first position is before it
}

// pair is two positions, first < second, at which equal words would begin.
type pair struct{ first, second int }

func newUnique(f frame, k int, tokens [][]int32) *unique {
	u := &unique{frame: f, k: k, tokens: tokens}
	free := make([]byte, u.total()) // bases allowed at each position, as bits
	for p := range free {
		free[p] = u.free(p)
	}
	start, end := len(f.before), len(f.before)+f.bases
	for i := 0; i+k <= len(free); i++ {
		u.begun = append(u.begun, len(u.pairs))
		for j := i + 1; j+k <= len(free); j++ {
			apart := func(p int) bool { return p+k <= start || p >= end }
			if apart(i) && apart(j) {
				continue
			}
			x := 0
			for x < k && free[i+x]&free[j+x] != 0 {
				x++
			}
			if x == k && u.equals(i, j) {
				u.pairs = append(u.pairs, pair{i, j})
			}
		}
	}
	for len(u.begun) <= len(free) {
		u.begun = append(u.begun, len(u.pairs))
	}
	return u
}

func (u *unique) total() int { return len(u.before) + u.bases + len(u.after) }

// fixed returns the flank's base at p, or 0 if p is within the design.
func (u *unique) fixed(p int) byte {
	switch p -= len(u.before); {
	case p < 0:
		return u.before[p+len(u.before)]
	case p >= u.bases:
		return u.after[p-u.bases]
	}
	return 0
}

func (u *unique) free(p int) byte {
	bits := func(base byte) byte { return 1 << (base >> 1 & 3) } // of A, C, G, T
	if c := u.fixed(p); c != 0 {
		return bits(c)
	}
	p -= len(u.before)
	var all byte
	for _, t := range u.tokens[p/3] {
		all |= bits(codons.Tokens[t][p%3])
	}
	return all
}

// equals reports whether the words at two positions can be equal: whether the allowed codons of
// both can spell the same bases.
func (u *unique) equals(i, j int) bool {
	type both struct{ a, b uint8 } // codons that fit so far, as bits
	now := map[both]bool{{0xff, 0xff}: true}
	for x := range u.k {
		after := make(map[both]bool)
		for s := range now {
			if x > 0 && u.boundary(i+x) {
				s.a = 0xff
			}
			if x > 0 && u.boundary(j+x) {
				s.b = 0xff
			}
			for _, base := range []byte("ACGT") {
				if t := (both{u.with(i+x, s.a, base), u.with(j+x, s.b, base)}); t.a != 0 && t.b != 0 {
					after[t] = true
				}
			}
		}
		if now = after; len(now) == 0 {
			return false
		}
	}
	return true
}

// boundary reports whether a codon, or a base of a flank, begins at p.
func (u *unique) boundary(p int) bool { return u.fixed(p) != 0 || (p-len(u.before))%3 == 0 }

// with returns the subset of a set of codons that have the given base at p.
func (u *unique) with(p int, set uint8, base byte) uint8 {
	if c := u.fixed(p); c != 0 {
		if c != base {
			return 0
		}
		return set
	}
	p -= len(u.before)
	var left uint8
	for k, t := range u.tokens[p/3] {
		if codons.Tokens[t][p%3] == base {
			left |= set & (1 << k)
		}
	}
	return left
}

// live reports whether the words of a pair can still be equal when the bases before here are
// known. They were equal so far, so that the first word's known bases also hold for the second.
// It checks whether every codon of the second word still to come can have the bases of the
// first.
func (u *unique) live(q pair, here int, known func(p int) byte) bool {
	for p := max(here, q.second); p < q.second+u.k; {
		if c := u.fixed(p); c != 0 {
			if from := p - q.second + q.first; from < here && known(from) != c {
				return false
			}
			p++
			continue
		}
		at := p - len(u.before)
		codon := at - at%3 + len(u.before) // its first base
		fits := false
		for _, t := range u.tokens[at/3] {
			ok := true
			for r := range 3 {
				second := codon + r
				from := second - q.second + q.first
				if second < q.second || second >= q.second+u.k || from >= here {
					continue
				}
				ok = ok && known(from) == codons.Tokens[t][r]
			}
			fits = fits || ok
		}
		if !fits {
			return false
		}
		p = codon + 3
	}
	return true
}

// seen holds the pairs of a key and the known bases of their first words.
type seen struct {
	pairs []uint32
	bases map[int]byte
}

// remembered yields the positions, in ascending order, of the known bases that the pairs need.
func (u *unique) remembered(pairs []uint32, here int, yield func(p int)) {
	next := 0
	for _, n := range pairs { // their first places ascend
		i := u.pairs[n].first
		for p := max(i, next); p < min(i+u.k, here); p++ {
			yield(p)
		}
		next = max(next, min(i+u.k, here))
	}
}

func (u *unique) encode(s seen, here int) string {
	key := binary.LittleEndian.AppendUint32(nil, uint32(len(s.pairs)))
	for _, n := range s.pairs {
		key = binary.LittleEndian.AppendUint32(key, n)
	}
	u.remembered(s.pairs, here, func(p int) { key = append(key, s.bases[p]) })
	return string(key)
}

func (u *unique) decode(key string, here int) seen {
	b := []byte(key)
	s := seen{bases: make(map[int]byte)}
	n := int(binary.LittleEndian.Uint32(b))
	for b = b[4:]; n > 0; n-- {
		s.pairs = append(s.pairs, binary.LittleEndian.Uint32(b))
		b = b[4:]
	}
	u.remembered(s.pairs, here, func(p int) {
		s.bases[p] = b[0]
		b = b[1:]
	})
	return s
}

// read reads a word that begins at from. It returns ok = false if a pair of words is now equal.
func (u *unique) read(s seen, from int, word string) (after seen, ok bool) {
	here := from + len(word)
	known := func(p int) byte {
		if p >= from {
			return word[p-from]
		}
		return s.bases[p]
	}
	after = seen{bases: make(map[int]byte)}
	for n := u.begun[min(from, len(u.begun)-1)]; n < u.begun[min(here, len(u.begun)-1)]; n++ {
		s.pairs = append(s.pairs, uint32(n))
	}
	for _, n := range s.pairs {
		q := u.pairs[n]
		equal := true
		for p := max(from, q.second); p < min(here, q.second+u.k) && equal; p++ {
			equal = word[p-from] == known(p-q.second+q.first)
		}
		switch {
		case !equal:
		case q.second+u.k <= here:
			return after, false
		case u.live(q, here, known):
			after.pairs = append(after.pairs, n)
		}
	}
	u.remembered(after.pairs, here, func(p int) { after.bases[p] = known(p) })
	return after, true
}

func (u *unique) start() string {
	s, _ := u.read(seen{}, 0, u.before) // no pair is equal yet: it would lie in the flank
	return u.encode(s, len(u.before))
}

func (u *unique) next(site int, key, codon string) (string, bool) {
	from := len(u.before) + 3*site
	s, ok := u.read(u.decode(key, from), from, codon)
	if !ok {
		return "", false
	}
	return u.encode(s, from+3), true
}

func (u *unique) accepts(key string) bool {
	from := len(u.before) + u.bases
	_, ok := u.read(u.decode(key, from), from, u.after)
	return ok
}
