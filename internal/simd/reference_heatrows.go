package simd

import (
	"encoding/binary"
	"math/bits"
)

// The definitions, in plain Go, of the bits that every backend of heatrows.go gives.

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
