package novelty

import "github.com/gibbsite-go/gibbsite/internal/simd"

// pair is a pair of a language state and a corpus state, with the total weight of all prefixes
// that lead there, or its log.
type pair struct {
	language, corpus int
	mass             float64
}

// frontier is the set of pairs at one site, in the order in which they were added. It is a list
// with a hash table that uses open addressing and linear probing.
type frontier struct {
	pairs []pair
	// round and index of a pair; the length is a power of two, and at most half of the slots
	// are in use
	slot  []uint64
	round uint64  // slots with an earlier round are empty
	near  float64 // result of early reads in addAll, stored so that the compiler keeps them
}

// clear empties the frontier.
func (f *frontier) clear() {
	if f.slot == nil {
		f.slot = make([]uint64, 64)
	}
	f.pairs = f.pairs[:0]
	f.next()
}

// next starts a new round, in which all slots are empty.
func (f *frontier) next() {
	if f.round++; f.round == 1<<32 {
		clear(f.slot)
		f.round = 1
	}
}

// at returns a pointer to the mass of a pair, and the index of the pair. If the pair is new, at
// adds the pair with mass 0 and returns fresh = true.
func (f *frontier) at(language, corpus int) (mass *float64, n int32, fresh bool) {
	mask := len(f.slot) - 1
	i := home(language, corpus) & mask
	for ; f.slot[i]>>32 == f.round; i = (i + 1) & mask {
		n := uint32(f.slot[i])
		if p := &f.pairs[n]; p.corpus == corpus && p.language == language {
			return &p.mass, int32(n), false
		}
	}
	n = int32(len(f.pairs))
	f.slot[i] = f.round<<32 | uint64(n)
	f.pairs = append(f.pairs, pair{language: language, corpus: corpus})
	if 2*len(f.pairs) > len(f.slot) {
		f.grow()
	}
	return &f.pairs[n].mass, n, true
}

// add adds mass to a pair.
func (f *frontier) add(language, corpus int, mass float64) {
	m, _, _ := f.at(language, corpus)
	*m += mass
}

// crowd is the number of prefixes that are processed together. They are enough for the
// processor to overlap their memory accesses, and few enough for the first-level cache.
const crowd = 64

// addAll adds the masses of the given pairs in order.
func (f *frontier) addAll(pairs []pair) {
	for 2*(len(f.pairs)+len(pairs)) > len(f.slot) { // none of them grows it
		f.grow()
	}
	mask := len(f.slot) - 1
	var found [crowd]uint64
	for len(pairs) > 0 {
		n := min(len(pairs), crowd)
		// Reads that wait for memory and for nothing else overlap, and what add
		// asks for is near then.
		for i, p := range pairs[:n] {
			found[i] = f.slot[home(p.language, p.corpus)&mask]
		}
		near := 0.0
		for _, at := range found[:n] {
			if k := uint32(at); at>>32 == f.round && int(k) < len(f.pairs) {
				near += f.pairs[k].mass
			}
		}
		f.near = near
		for _, p := range pairs[:n] {
			f.add(p.language, p.corpus, p.mass)
		}
		pairs = pairs[n:]
	}
}

// addLog is add for masses given as logs. It returns the index of the pair.
func (f *frontier) addLog(language, corpus int, mass float64) int32 {
	m, n, fresh := f.at(language, corpus)
	if fresh {
		*m = mass
	} else {
		*m = simd.LogAdd(*m, mass)
	}
	return n
}

// home returns the hash of a pair of states. It multiplies by 2⁶⁴/φ (Knuth, The Art of Computer
// Programming 3, section 6.4). The choice of the hash affects only speed.
func home(language, corpus int) int {
	h := (uint64(corpus) ^ uint64(language)<<32 ^ uint64(language)>>32) * 0x9E3779B97F4A7C15
	return int(h >> 34)
}

// grow doubles the number of slots.
func (f *frontier) grow() {
	f.slot = make([]uint64, 2*len(f.slot))
	f.round = 1
	mask := len(f.slot) - 1
	for n, p := range f.pairs {
		i := home(p.language, p.corpus) & mask
		for f.slot[i] != 0 {
			i = (i + 1) & mask
		}
		f.slot[i] = f.round<<32 | uint64(n)
	}
}
