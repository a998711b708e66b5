package simd

import (
	"fmt"
)

// States of up to ChainBits chains may be held in lanes of 32 bits, one lane a site and
// one bit a chain: lane p of a string is the lower or, for odd p, the upper half of word
// ⌊p/2⌋.

// ChainBits is the number of bits in a lane. A lane is half of a 64-bit word. It holds the state of
// one site in all chains, one bit per chain.
const ChainBits = 32

// TallyDown is added to [ChainTally].Sum for every change from 1 to 0, so that Sum cannot become
// negative. The change of a site with m neighbours in state 1 then adds TallyDown − m.
const TallyDown = 7

// ChainTally counts the changes in a redraw of sites, for each chain. Up is the number of sites
// that changed from 0 to 1, and Moved is the number of all sites that changed. Sum is a sum over
// the changed sites, defined by [TallyBits].
type ChainTally struct{ Up, Moved, Sum [ChainBits]int32 }

// GraphBits counts, for each of n sites, its neighbours in state 1 in every chain. The slice lanes
// holds the states in lanes (see [ChainBits]); lanes 2i and 2i+1 are the lower and upper half of
// word i. The neighbours of site p are described by the entries
//
//	v_k = neighbours[k·n + p],  k = 0, …, degree−1.
//
// The lower 31 bits of v_k are the index of a lane. If v_k is negative, all bits of this lane are
// flipped first. For each chain, lane p of count receives the sum of the chain's bits in these
// lanes. Lanes from n on are not changed.
//
// GraphBits panics unless 0 ≤ degree ≤ 7, n is a multiple of 16 from 0 to 1024, len(neighbours) =
// n·degree, and the lanes of all neighbours exist.
func GraphBits(count *Counts, lanes []uint64, neighbours []int32, n, degree int) {
	if degree < 0 || degree > 7 || n < 0 || n%16 != 0 || n > 2*len(count[0]) || len(neighbours) != n*degree {
		panic(fmt.Sprintf("simd: GraphBits: n = %d, degree = %d and len(neighbours) = %d, want a multiple of 16 up to %d, 0 … 7 and their product", n, degree, len(neighbours), 2*len(count[0])))
	}
	graphBits(count, lanes, neighbours, n, degree)
}

// TallyBits compares the new states (newBits) with the earlier ones (oldBits), and adds the changes
// in every chain to t. Both slices consist of lanes (see [ChainBits]), and count holds each site's
// number m of neighbours in state 1. A change from 0 to 1 adds 1 to Up, 1 to Moved and m to Sum. A
// change from 1 to 0 adds 1 to Moved and TallyDown − m to Sum. TallyBits panics unless len(newBits)
// = len(oldBits) is a multiple of 8 and at most 512.
func TallyBits(t *ChainTally, newBits, oldBits []uint64, count *Counts) {
	checkBits("newBits", len(newBits), len(count[0]))
	checkLen("oldBits", len(oldBits), len(newBits))
	if best < tallyBitsLevel {
		refTallyBits(t, newBits, oldBits, count)
		return
	}
	for at := 0; at < len(newBits); at += byteLanes / 2 {
		end := min(at+byteLanes/2, len(newBits))
		tallyBitsRun(t, newBits[at:end], oldBits[at:end], count[0][at:])
	}
}

// SpreadChains stores the states of chains as values 0 or 1, with one row of n = len(place) sites
// per chain:
//
//	x[c·n + i] = bit c of lane place[i] in the slice lanes.
//
// A lane is described at [ChainBits]. SpreadChains panics unless len(x) is a multiple of n and at
// most ChainBits·n, and all lanes place[i] exist.
func SpreadChains(x []int32, lanes []uint64, place []int32) {
	n := len(place)
	if n == 0 || len(x)%n != 0 || len(x) > ChainBits*n {
		panic(fmt.Sprintf("simd: SpreadChains: len(x) = %d, want a multiple of %d up to %d times", len(x), n, ChainBits))
	}
	if best < spreadChainsLevel {
		refSpreadChains(x, lanes, place)
		return
	}
	chains := len(x) / n
	for at, most := 0, max(16, chainTerms/max(1, chains)); at < n && chains > 0; at += most {
		spreadChainsRun(x[at:], lanes, place[at:min(at+most, n)], chains, n)
	}
}

// lane returns lane p of a string in the lower half of the result.
func lane(own []uint64, p int32) uint64 { return own[p>>1] >> (uint(p&1) * 32) }

func refGraphBits(count *Counts, own []uint64, near []int32, n, degree int) {
	const place = 1<<31 - 1
	for p := 0; p < n; p += 2 {
		var c0, c1, c2 uint64
		for k := range degree {
			a, b := near[k*n+p], near[k*n+p+1]
			v := uint64(uint32(lane(own, a&place))^uint32(a>>31)) | (lane(own, b&place)^uint64(b>>31))<<32
			carry := c0 & v
			c0 ^= v
			v = c1 & carry
			c1 ^= carry
			c2 ^= v
		}
		count[0][p/2], count[1][p/2], count[2][p/2] = c0, c1, c2
	}
}

func refTallyBits(t *ChainTally, now, old []uint64, count *Counts) {
	var changed [8]uint64
	for at := 0; at < len(now); at += 8 {
		w, u := now[at:at+8], old[at:at+8]
		for j, v := range w {
			changed[j] = v ^ u[j]
		}
		sumLanes(&t.Moved, 1, &changed)
		up := changed
		for j, v := range w {
			up[j] &= v
		}
		sumLanes(&t.Up, 1, &up)
		for b := range count {
			c := count[b][at : at+8]
			for j, v := range w {
				up[j] = changed[j] & (c[j] ^ ^v)
			}
			sumLanes(&t.Sum, 1<<b, &up)
		}
	}
}

// sumLanes adds to sum[c], for each chain c, weight times the number of lanes in v whose bit c is
// set. It adds the words by binary adders.
func sumLanes(sum *[ChainBits]int32, weight int32, v *[8]uint64) {
	a, b := full(v[0], v[1], v[2])
	c, d := full(v[3], v[4], v[5])
	e, f := full(v[6], v[7], a)
	ones, g := full(c, e, 0)
	h, i := full(b, d, f)
	twos, j := full(h, g, 0)
	fours, eights := full(i, j, 0)
	for c := range sum {
		n := ones>>c&1 + ones>>(c+32)&1 + (twos>>c&1+twos>>(c+32)&1)<<1 + (fours>>c&1+fours>>(c+32)&1)<<2 + (eights>>c&1+eights>>(c+32)&1)<<3
		sum[c] += weight * int32(n)
	}
}

// full is a full adder: it adds three bits in each of 64 positions.
func full(a, b, c uint64) (sum, carry uint64) {
	d := a ^ b
	return d ^ c, a&b | d&c
}

func refSpreadChains(x []int32, own []uint64, place []int32) {
	n := len(place)
	for i, p := range place {
		v := lane(own, p)
		for at := i; at < len(x); at += n {
			x[at] = int32(v & 1)
			v >>= 1
		}
	}
}

// Largest sizes that one call of assembly processes.
const (
	// nearTerms is the largest number of neighbours in one call of graphBits, which takes up to
	// 5 ns for a neighbour that is read from memory.
	nearTerms = 7 * 2 * maxBits / 64

	// byteLanes is the largest number of lanes in one call of tallyBits, which counts in bytes.
	byteLanes = 240

	// chainTerms is the largest number of entries in one call of spreadChains, which takes up to
	// 0.5 ns per entry.
	chainTerms = 1 << 16
)
