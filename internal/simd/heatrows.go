package simd

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unsafe"
)

// Sites of up to ChainBits chains may be held as rows of bytes, so that the neighbours
// of a site are counted by adding rows.

// Row holds the state (0 or 1) of one site in up to ChainBits chains. Each chain has one byte.
type Row [ChainBits]byte

// RowVisit describes a visit to a site: a redraw of the site given its neighbours.
type RowVisit struct {
	Row int32 // index of the site's row
	// Plus is the number of neighbours whose states are added. Minus is the number of neighbours,
	// listed after these, whose states are subtracted. Both are multiples of 4.
	Plus, Minus int32
	Bias        int32 // initial value of the sum over neighbours
	// offset in bytes of the visit's table of odds: the index of the table times RowTable
	Odds int32

	// Eight is the position 1 … 8 of the visit in a group of eight consecutive visits that can be
	// made at once. It is 0 if the visit is in no group. The sites of a group have consecutive rows
	// and are not neighbours. The visits of a group have the same table of odds, and the same Plus
	// and Minus.
	Eight int32
	_     [2]int32
}

// eight is the number of visits that are made at once.
const eight = 8

// behind returns the entries of near that follow those of the given visits.
func behind(near []int32, visits []RowVisit) []int32 {
	n := int32(0)
	for i := 0; i < len(visits); {
		if v := &visits[i]; v.Eight == 1 && len(visits)-i >= eight {
			n += eight * (v.Plus + v.Minus)
			i += eight
		} else {
			n += v.Plus + v.Minus
			i++
		}
	}
	return near[n:]
}

// RowCounts is the number of values that the sum over the neighbours of a site can take: 0 …
// RowCounts−1. A RowOdds holds a probability for each of them.
const RowCounts = 128

// RowOdds holds the probability that a redraw gives a site state 1, for each sum 0 … RowCounts−1
// over the site's neighbours. It is immutable.
type RowOdds struct {
	high, next [RowCounts]byte // the two highest bytes of each probability in p
	p          [RowCounts]uint64
}

// RowTable is the size in bytes of a RowOdds.
const RowTable = 10 * RowCounts

// NewRowOdds returns the RowOdds with p[k]·2⁻⁶⁴ as the probability of state 1 for a site whose sum
// over the neighbours is k. It panics unless len(p) ≤ RowCounts.
func NewRowOdds(p []uint64) (o RowOdds) {
	if len(p) > RowCounts {
		panic(fmt.Sprintf("simd: NewRowOdds: len(p) = %d, want ≤ %d", len(p), RowCounts))
	}
	copy(o.p[:], p)
	for k, v := range o.p {
		o.high[k], o.next[k] = byte(v>>56), byte(v>>48)
	}
	return o
}

// At returns 2⁶⁴ times the probability of state 1 for the sum k over the neighbours.
func (o *RowOdds) At(k int) uint64 { return o.p[k] }

// RowTally counts, for each chain, the changes by redraws. Moved is the number of changed sites.
// Sum adds a site's sum over its neighbours if the site changed from 0 to 1, and subtracts it if
// the site changed from 1 to 0.
type RowTally struct{ Moved, Sum [ChainBits]int32 }

const (
	// RowVisits is the largest number of visits in a call of HeatRows. This limit keeps counters of
	// 8 and 16 bits from overflowing.
	RowVisits = 128

	// RowNear is the largest number of entries of neighbours that a call of HeatRows reads in all
	// its visits together.
	RowNear = 1 << 13

	// groupTies is the number of ties that a group of random words decides.
	groupTies = GroupWords / 2
)

// rowWords is the number of random words that hold the first random byte of each chain for one
// visit.
const rowWords = ChainBits / 4

// pairStop holds the random results of a visit that heatPairs could not finish. It has the chains
// known to be below their probability, the tied chains, and the sums over neighbours.
type pairStop struct {
	below, equal uint64
	_            [6]uint64
	sums         [2]Row
}

// rowByteGroups returns the number of random groups that hold the first bytes of the given visits.
func rowByteGroups(visits int) int { return (visits*ChainBits/4 + GroupWords - 1) / GroupWords }

// moreTies returns random words for more ties, enough for any visit. The argument used is the
// number of ties that have already taken their words. The words come from the stream from the given
// group on; buf is their memory.
func moreTies(buf *[2 * GroupWords]uint32, used int, draw func(dst []uint32, key, stream, group uint64), key, stream, group uint64) []uint32 {
	ties := buf[:]
	if used%groupTies == 0 {
		ties = ties[:GroupWords]
	}
	draw(ties, key, stream, group+uint64(used/groupTies))
	return ties[2*(used%groupTies):]
}

// RowScratch is the workspace of [HeatRows]. Its zero value is ready for use.
type RowScratch struct {
	words [RowVisits*rowWords + GroupWords]uint32
	// The rest of a group of random words, and as many more as any visit may need.
	ties [2 * GroupWords]uint32
}

// RowGroups returns how many groups of random words [HeatRows] may need for the given number of
// visits. A group has [GroupWords] words. Most of them are never computed.
func RowGroups(visits int) uint64 { return uint64(rowByteGroups(visits) + 1 + visits) }

// HeatRows redraws sites in all chains by heat bath: it draws the state of a site from the site's
// distribution given its neighbours. It makes the visits in order. In a visit v, chain c of site
// v.Row becomes
//
//	1 if u < p, else 0,
//
// where u is a random integer of 64 bits, and p is 2⁶⁴ times the probability of state 1. The
// visit's table of odds gives p for a sum over neighbours. That sum is v.Bias, plus
// rows[neighbours[k]/32][c] for each of the next v.Plus entries of neighbours, minus
// rows[neighbours[k]/32][c] for each of the v.Minus entries after them.
//
// The bits of u come from a random stream, from the given group on. [ARS] generates the stream if
// ars is true, and otherwise [Philox]. Only as many bits are used as are needed to decide whether u
// < p:
//
//   - The highest eight bits of u in visit i are byte c of the 32 bytes in words 8i … 8i+7. If they
//     equal the highest eight bits of p and bit c of valid is set, the chain has a tie. If they are
//     equal but the bit is not set, the chain becomes 0.
//   - If this is the visit's only tie, the next eight bits are byte i of the group that follows the
//     words of all visits.
//   - If these equal the next bits of p, too, or if the visit has several ties, each tie takes the
//     next two words of the following groups, low word first. Ties are in the order of visits, and
//     within a visit in the order of chains. The visit's first tie uses byte i as described, and
//     then the highest 48 bits of its two words. The later ties of the visit use the highest 56
//     bits of their words.
//
// Lane v.Row of lanes (see [ChainBits]) must hold the same states as the row: bit c equals byte c.
// HeatRows changes both.
//
// If sums is not nil, sums[v.Row] must hold the sums of the visit (see [CountRows]). HeatRows then
// updates the sums of the neighbours of every site that changes. This is faster if few visits
// change a chain. It gives the same results if the neighbour relation is symmetric, with equal
// signs in both directions.
//
// HeatRows panics if there are more than RowVisits visits or RowNear entries of neighbours. It does
// not check row indices, table offsets, entries of neighbours and sums (0 … RowCounts−1), which
// must be valid.
func HeatRows(rows []Row, lanes []uint64, visits []RowVisit, neighbours []int32, odds []RowOdds, valid uint32, t *RowTally, sums []Row, w *RowScratch, ars bool, key, stream, group uint64) {
	if len(visits) > RowVisits || len(neighbours) > RowNear {
		panic(fmt.Sprintf("simd: HeatRows: len(visits) = %d and len(neighbours) = %d, want ≤ %d and ≤ %d", len(visits), len(neighbours), RowVisits, RowNear))
	}
	draw := Philox
	if ars {
		draw = ARS
	}
	// Leading visits that come in groups of eight are redrawn in one call, which may also draw
	// their random words.
	eights, drawn := 0, 0
	for sums != nil && hasHeatEights() && eights < len(visits) && visits[eights].Eight == 1 {
		eights += eight
	}
	if !ars {
		drawn = eights
	}
	first := rowByteGroups(len(visits))
	words, next, ties := w.words[:first*GroupWords], w.words[first*GroupWords:][:GroupWords], w.ties[:0]
	draw(w.words[rowWords*drawn:len(words)+len(next)], key, stream, group+uint64(drawn/eight))
	last := group + uint64(first+1)
	for made, used, alone := 0, 0, false; made < len(visits); {
		end, done, n := eights, 0, 0
		if made < eights && !alone {
			done, n = heatEightsRun(rows, lanes, visits[made:end], neighbours[:min(len(neighbours), RowNear)], odds, words[rowWords*made:], next, made, ties, valid, t, sums, !ars, key, stream, group+uint64(made/eight))
			done *= eight
		} else {
			if end = len(visits); made < eights {
				end = made/eight*eight + eight
			}
			done, n = heatRows(rows, lanes, visits[made:end], neighbours, odds, words[rowWords*made:], next, made, ties, valid, t, sums)
			alone = alone && made+done < end
		}
		neighbours = behind(neighbours, visits[made:made+done])
		made, used = made+done, used+n
		switch {
		case made == end:
			ties = ties[2*n:]
		// The words for ties do not suffice for the whole group of eight.
		case made < eights && !alone && len(ties)/2-n >= ChainBits:
			alone = true
			ties = ties[2*n:]
			if !ars {
				draw(words[rowWords*made:][:GroupWords], key, stream, group+uint64(made/eight))
			}
		default:
			ties = moreTies(&w.ties, used, draw, key, stream, last)
		}
	}
}

// SumRows adds to sum[c], for each chain c, the sum of the chain's states over all rows.
func SumRows(sum *[ChainBits]int32, rows []Row) {
	if best < sumRowsLevel {
		refSumRows(sum, rows)
		return
	}
	for len(rows) > 0 {
		n := min(len(rows), sumTerms)
		sumRowsRun(sum, rows[:n])
		rows = rows[n:]
	}
}

// CountRows computes, for each visit v and each chain c, the sum over neighbours that [HeatRows]
// defines. It stores the sum in sums[v.Row][c].
func CountRows(sums, rows []Row, visits []RowVisit, neighbours []int32) {
	for _, v := range visits {
		sums[v.Row] = refCountRow(rows, neighbours[:v.Plus+v.Minus], v)
		neighbours = neighbours[v.Plus+v.Minus:]
	}
}

// refHeatRows is the reference of HeatRows. It makes visits until one needs more random words than
// ties has left. It returns the number of visits made and the number of ties used. The first visit
// has the number made in the group next, which holds the second bytes.
func refHeatRows(rows []Row, own []uint64, visits []RowVisit, near []int32, odds []RowOdds, words, next []uint32, made int, ties []uint32, valid uint32, t *RowTally, kept []Row) (done, used int) {
	for _, v := range visits {
		o := &odds[v.Odds/RowTable]
		others := near[:v.Plus+v.Minus]
		near = near[len(others):]
		var sum Row
		if kept == nil {
			sum = refCountRow(rows, others, v)
		} else {
			sum = kept[v.Row]
		}
		var below, tie uint32
		for c, k := range sum {
			u, p := byte(words[c/4]>>(c%4*8)), o.high[k%RowCounts]
			_, less := bits.Sub32(uint32(u), uint32(p), 0)
			_, same := bits.Sub32(uint32(u^p), 1, 0)
			below |= less << c
			tie |= same << c
		}
		words = words[rowWords:]
		if tie &= valid; tie != 0 {
			second := byte(next[(made+done)/4] >> ((made + done) % 4 * 8))
			to, n, ok := decideTies(o, &sum, below, tie, second, ties)
			if !ok {
				return done, used
			}
			below, used, ties = to, used+n, ties[2*n:]
		}
		lane, shift := &own[v.Row>>1], uint(v.Row&1)*32
		changed := uint32(*lane>>shift) ^ below
		*lane ^= uint64(changed) << shift
		for ; changed != 0; changed &= changed - 1 {
			c := bits.TrailingZeros32(changed)
			now := below >> c & 1
			rows[v.Row][c] = byte(now)
			t.Moved[c]++
			t.Sum[c] += (2*int32(now) - 1) * int32(sum[c])
			if kept == nil {
				continue
			}
			for k, at := range others {
				if by := 2*byte(now) - 1; k < int(v.Plus) {
					kept[at/ChainBits][c] += by
				} else {
					kept[at/ChainBits][c] -= by
				}
			}
		}
		done++
	}
	return done, used
}

// decideTies decides the tied chains in the mask tie. It adds to the mask below the chains whose
// random number is below the probability. The byte second holds eight more bits for the first tied
// chain. The result used is the number of ties that took words of ties. It returns ok = false if
// there are not enough words.
func decideTies(o *RowOdds, sum *Row, below, tie uint32, second byte, ties []uint32) (to uint32, used int, ok bool) {
	lowest := bits.TrailingZeros32(tie)
	if p := o.next[sum[lowest]]; tie&(tie-1) == 0 && second != p {
		if second < p {
			below |= tie
		}
		return below, 0, true
	}
	if used = bits.OnesCount32(tie); 2*used > len(ties) {
		return below, 0, false
	}
	for ; tie != 0; tie &= tie - 1 {
		c := bits.TrailingZeros32(tie)
		u := uint64(ties[1])<<32 | uint64(ties[0])
		ties = ties[2:]
		if u >>= 8; c == lowest {
			u = uint64(second)<<48 | u>>8
		}
		if u < o.p[sum[c]]<<8>>8 {
			below |= 1 << c
		}
	}
	return below, used, true
}

// refCountRow returns the sum over neighbours of a visit in each chain. It adds eight chains at
// once; no byte overflows or becomes negative.
func refCountRow(rows []Row, near []int32, v RowVisit) (sum Row) {
	const each = 0x0101010101010101
	a, b, c, d := uint64(v.Bias)*each, uint64(v.Bias)*each, uint64(v.Bias)*each, uint64(v.Bias)*each
	for _, at := range near[:v.Plus] {
		row := &rows[at/ChainBits]
		a += binary.LittleEndian.Uint64(row[:])
		b += binary.LittleEndian.Uint64(row[8:])
		c += binary.LittleEndian.Uint64(row[16:])
		d += binary.LittleEndian.Uint64(row[24:])
	}
	for _, at := range near[v.Plus:] {
		row := &rows[at/ChainBits]
		a -= binary.LittleEndian.Uint64(row[:])
		b -= binary.LittleEndian.Uint64(row[8:])
		c -= binary.LittleEndian.Uint64(row[16:])
		d -= binary.LittleEndian.Uint64(row[24:])
	}
	binary.LittleEndian.PutUint64(sum[:], a)
	binary.LittleEndian.PutUint64(sum[8:], b)
	binary.LittleEndian.PutUint64(sum[16:], c)
	binary.LittleEndian.PutUint64(sum[24:], d)
	return sum
}

func refSumRows(sum *[ChainBits]int32, rows []Row) {
	for i := range rows {
		for c, v := range rows[i] {
			sum[c] += int32(v)
		}
	}
}

// refHeatPairs is the reference of HeatPairs. It makes visits until one is not decided by the first
// digits of both blocks, stores the results of that visit in stop, and returns the number of visits
// made. The result walked is the number of entries of near that it read, including those of the
// stopped visit. In the next call, that visit is the first, is decided, and has no entries. The
// first visit has the number made in the groups next.
func refHeatPairs(rows []Row, own []uint64, visits []RowVisit, near []int32, odds []RowOdds, words, next [2][]uint32, made int, valid uint64, decided bool, t *[2]RowTally, stop *pairStop) (done, walked int) {
	for ; done < len(visits); done++ {
		v := &visits[done]
		if decided && done == 0 {
			refStorePair(rows, own, v, stop, t)
			continue
		}
		o := &odds[v.Odds/RowTable]
		others := near[walked:][:v.Plus+v.Minus]
		walked += len(others)
		*stop = pairStop{}
		for b := range stop.sums {
			for c := range ChainBits {
				k := v.Bias
				for n, at := range others {
					if by := int32(rows[at/ChainBits][c] >> (4 * b) & 1); n < int(v.Plus) {
						k += by
					} else {
						k -= by
					}
				}
				stop.sums[b][c] = byte(k)
				u, bit := byte(words[b][rowWords*done+c/4]>>(c%4*8)), uint64(1)<<(32*b+c)
				if u < o.high[k] {
					stop.below |= bit
				} else if u == o.high[k] {
					stop.equal |= valid & bit
				}
			}
		}
		more := false
		for b := range stop.sums {
			if tie := uint32(stop.equal >> (32 * b)); tie != 0 {
				to, _, ok := decideTies(o, &stop.sums[b], 0, tie, byte(next[b][(made+done)/4]>>((made+done)%4*8)), nil)
				stop.below |= uint64(to) << (32 * b)
				more = more || !ok
			}
		}
		if more {
			return done, walked
		}
		refStorePair(rows, own, v, stop, t)
	}
	return done, walked
}

func refStorePair(rows []Row, own []uint64, v *RowVisit, stop *pairStop, t *[2]RowTally) {
	changed := own[v.Row] ^ stop.below
	own[v.Row] = stop.below
	row := &rows[v.Row]
	for c := range row {
		row[c] = byte(stop.below>>c&1) | byte(stop.below>>(c+32)&1)<<4
		for b := range t {
			if at := c + 32*b; changed>>at&1 != 0 {
				t[b].Moved[c]++
				t[b].Sum[c] += (2*int32(stop.below>>at&1) - 1) * int32(stop.sums[b][c])
			}
		}
	}
}

// sumTerms is the largest number of rows in a call of sumRows, which counts in bytes.
const sumTerms = 255

// byteAt returns byte i of words.
func byteAt(words []uint32, i int) *byte {
	return (*byte)(unsafe.Add(unsafe.Pointer(&words[0]), i))
}

// head returns a pointer to the first entry of s, which may be empty.
func head[T any](s []T) *T { return unsafe.SliceData(s) }
