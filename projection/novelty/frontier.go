package novelty

import "github.com/gibbsite-go/gibbsite/internal/simd"

// pair is a prefix of the corpus on its way through the language: the states of
// both, and the weight of all prefixes that lead there, or its log.
type pair struct {
	language, corpus int
	mass             float64
}

// frontier is the set of pairs of one site, in the order in which they were met:
// a hash table with open addressing and linear probing over a list.
type frontier struct {
	pairs []pair
	slot  []uint64 // round and number of a pair; at most half full, a power of two
	round uint64   // slots of earlier ones are empty
	near  float64  // keeps reads that addAll makes early
}

// clear empties the frontier.
func (f *frontier) clear() {
	if f.slot == nil {
		f.slot = make([]uint64, 64)
	}
	f.pairs = f.pairs[:0]
	f.next()
}

// next begins a round: all slots are empty.
func (f *frontier) next() {
	if f.round++; f.round == 1<<32 {
		clear(f.slot)
		f.round = 1
	}
}

// at returns where the mass of a pair is, 0 if the pair is fresh, and its number.
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

// crowd is the number of prefixes that are processed together: enough for a
// processor to wait for the memory of several at once, and few enough for its first
// cache.
const crowd = 64

// addAll adds the masses of pairs, one after the other.
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

// addLog is add for logs of masses and returns the number of the pair.
func (f *frontier) addLog(language, corpus int, mass float64) int32 {
	m, n, fresh := f.at(language, corpus)
	if fresh {
		*m = mass
	} else {
		*m = simd.LogAdd(*m, mass)
	}
	return n
}

// home mixes the states by multiplication with 2⁶⁴/φ (Knuth, The Art of Computer
// Programming 3, section 6.4). Any mixing is correct.
func home(language, corpus int) int {
	h := (uint64(corpus) ^ uint64(language)<<32 ^ uint64(language)>>32) * 0x9E3779B97F4A7C15
	return int(h >> 34)
}

// grow doubles the slots.
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
