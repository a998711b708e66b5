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
			lowest := bits.TrailingZeros32(tie)
			if p := o.next[sum[lowest]]; tie&(tie-1) == 0 && second != p {
				if second < p {
					below |= tie
				}
			} else {
				n := bits.OnesCount32(tie)
				if 2*n > len(ties) {
					return done, used
				}
				used += n
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
			}
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
