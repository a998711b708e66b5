package simd

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unsafe"
)

// Sites of up to ChainBits chains may be held as rows of bytes, so that the neighbours
// of a site are counted by adding rows.

// Row is the state of a site, 0 or 1, in each chain.
type Row [ChainBits]byte

// RowVisit describes the redraw of a site.
type RowVisit struct {
	Row         int32 // the site's
	Plus, Minus int32 // neighbours that are added, and those behind them that are taken away: multiples of 4
	Bias        int32 // what their sum begins with
	Odds        int32 // the table, in bytes from the first: its number times RowTable

	// Eight is 0, or 1 … 8 in turn for eight visits that follow each other and are to
	// sites whose rows do so, too. None of them is a neighbour of another, and they have
	// one table, as many entries that are added and as many that are taken away: they can
	// be made at once, to the same bits.
	Eight int32
	_     [2]int32
}

// eight is the number of visits that are made at once.
const eight = 8

// behind returns the neighbours behind those of visits.
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

// RowCounts is the number of sums that RowOdds has odds for.
const RowCounts = 128

// RowOdds holds the probability of a site to be in state 1 for each sum 0 … RowCounts−1
// of its neighbours. It is immutable.
type RowOdds struct {
	high, next [RowCounts]byte // the two highest of the eight bytes of p
	p          [RowCounts]uint64
}

// RowTable is the bytes of a table of odds.
const RowTable = 10 * RowCounts

// NewRowOdds returns the odds p[k]·2⁻⁶⁴ for sums k. It panics unless len(p) ≤ RowCounts.
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

// At returns the odds of sum k, times 2⁶⁴.
func (o *RowOdds) At(k int) uint64 { return o.p[k] }

// RowTally counts for each chain the sites that a redraw has changed, and adds up the
// sums of those that went from 0 to 1 less those of the others.
type RowTally struct{ Moved, Sum [ChainBits]int32 }

const (
	// RowVisits bounds the visits of a call of HeatRows: what they count is added up in
	// bytes and in numbers of 16 bits.
	RowVisits = 128

	// RowNear bounds the neighbours of its visits.
	RowNear = 1 << 13

	// groupTies are the ties that a group of random words decides.
	groupTies = GroupWords / 2
)

// rowWords is the number of words whose bytes are the first of a visit.
const rowWords = ChainBits / 4

// pairStop is what a visit that heatPairs does not make has drawn: what is below, as far as
// that is known, where it is tied, and the sums.
type pairStop struct {
	below, equal uint64
	_            [6]uint64
	sums         [2]Row
}

// rowByteGroups are those of the first bytes of random numbers.
func rowByteGroups(visits int) int { return (visits*ChainBits/4 + GroupWords - 1) / GroupWords }

// moreTies returns the digits of ties behind so many that have been used, enough for any
// visit, of those from a group of the stream on.
func moreTies(buf *[2 * GroupWords]uint32, used int, draw func(dst []uint32, key, stream, group uint64), key, stream, group uint64) []uint32 {
	ties := buf[:]
	if used%groupTies == 0 {
		ties = ties[:GroupWords]
	}
	draw(ties, key, stream, group+uint64(used/groupTies))
	return ties[2*(used%groupTies):]
}

// RowScratch is what HeatRows works with. Its zero value is ready.
type RowScratch struct {
	words [RowVisits*rowWords + GroupWords]uint32
	ties  [2 * GroupWords]uint32 // what is left of a group, and enough for any visit
}

// RowGroups returns the number of groups of a random stream that belong to so many
// visits. Few of them are ever computed.
func RowGroups(visits int) uint64 { return uint64(rowByteGroups(visits) + 1 + visits) }

// HeatRows draws sites of all chains afresh given their neighbours (heat bath), one after
// the other: chain c of site v.Row becomes
//
//	1 where u < p, else 0,
//
// for each v of visits, p being the odds of the sum v.Bias + Σ rows[near[k]/32][c] over the
// next v.Plus entries of near − the same over the v.Minus entries behind them, and u a
// random integer of 64 binary digits. Its highest eight are byte c of words 8i … 8i+7 of
// the stream from the given group on, i being the number of the visit (see [Philox], or
// [ARS], whose words they are if ars is true). Where they are those of p, and bit c of
// valid is set, there is a tie. If it is the visit's only one, the next eight digits are
// byte i of the group behind the words of all visits, and decide unless they are those of p
// as well. Otherwise all ties of the visit take the next two words each, the first the
// lower, of those from the following group on, in the order of visits and of chains: the
// first of them its last 48 digits, after these eight, from the highest of the two words,
// the others all 56. Where bit c of valid is not set, ties make 0.
//
// Bit c of lane v.Row of own is the same as byte c of the row, before and after.
//
// If kept is not nil, the sum of a visit is kept[v.Row], see [CountRows], and what
// changes is added to those of its neighbours: to the same bits where the neighbours of a
// site have it as theirs, with the same sign. That takes less time where few visits
// change a chain.
//
// It panics unless visits are RowVisits and entries of near RowNear at most. It does not
// look whether numbers of rows, of tables and of entries of near are those that there are,
// nor whether sums are from 0 to RowCounts−1, as they have to be.
func HeatRows(rows []Row, own []uint64, visits []RowVisit, near []int32, odds []RowOdds, valid uint32, t *RowTally, kept []Row, w *RowScratch, ars bool, key, stream, group uint64) {
	if len(visits) > RowVisits || len(near) > RowNear {
		panic(fmt.Sprintf("simd: HeatRows: len(visits) = %d and len(near) = %d, want ≤ %d and ≤ %d", len(visits), len(near), RowVisits, RowNear))
	}
	draw := Philox
	if ars {
		draw = ARS
	}
	// Visits in eights at the beginning are made at once, and may draw their words as they go.
	eights, drawn := 0, 0
	for kept != nil && hasHeatEights() && eights < len(visits) && visits[eights].Eight == 1 {
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
			done, n = heatEightsRun(rows, own, visits[made:end], near[:min(len(near), RowNear)], odds, words[rowWords*made:], next, made, ties, valid, t, kept, !ars, key, stream, group+uint64(made/eight))
			done *= eight
		} else {
			if end = len(visits); made < eights {
				end = made/eight*eight + eight
			}
			done, n = heatRows(rows, own, visits[made:end], near, odds, words[rowWords*made:], next, made, ties, valid, t, kept)
			alone = alone && made+done < end
		}
		near = behind(near, visits[made:made+done])
		made, used = made+done, used+n
		switch {
		case made == end:
			ties = ties[2*n:]
		case made < eights && !alone && len(ties)/2-n >= ChainBits: // they are not enough for all of it
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

// SumRows adds the rows to sum, chain by chain.
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

// CountRows stores in kept the sums of all visits, each in the row of its site, chain by
// chain.
func CountRows(kept, rows []Row, visits []RowVisit, near []int32) {
	for _, v := range visits {
		kept[v.Row] = refCountRow(rows, near[:v.Plus+v.Minus], v)
		near = near[v.Plus+v.Minus:]
	}
}

// refHeatRows makes the visits up to the first that needs more than what is left of ties,
// and returns how many it made and how many ties it used. The first visit is number made of
// those that next belongs to.
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

// decideTies returns below with those chains of tie that are, the first having eight more
// digits, and how many of ties that took. It reports false if it needs more than there are.
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

// refCountRow returns the sum of a visit in each chain, eight of them added at once: no
// byte of theirs overflows, nor goes below 0.
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

// refHeatPairs makes the visits up to the first that digits of both blocks do not decide,
// and returns how many it made. Of that one stop has what it has drawn, and it is among
// those whose entries of near were walked along; the next call has it as its first visit,
// which is decided and has no entries. That is number made of those that next belongs to.
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

// sumTerms bounds calls of sumRows, which counts in bytes.
const sumTerms = 255

// byteAt returns byte i of words.
func byteAt(words []uint32, i int) *byte {
	return (*byte)(unsafe.Add(unsafe.Pointer(&words[0]), i))
}

// head returns the first entry of s, of which there may be none.
func head[T any](s []T) *T { return unsafe.SliceData(s) }
