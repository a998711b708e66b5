package simd

import "fmt"

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
// [ARS], whose words they are if ars says so). Where they are those of p, and bit c of
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
	// Visits of octets at the beginning are made at once, and may draw their words as they go.
	octets, drawn := 0, 0
	for kept != nil && atOnce() && octets < len(visits) && visits[octets].Octet == 1 {
		octets += octet
	}
	if !ars {
		drawn = octets
	}
	first := rowByteGroups(len(visits))
	words, next, ties := w.words[:first*GroupWords], w.words[first*GroupWords:][:GroupWords], w.ties[:0]
	draw(w.words[rowWords*drawn:len(words)+len(next)], key, stream, group+uint64(drawn/octet))
	last := group + uint64(first+1)
	for made, used, alone := 0, 0, false; made < len(visits); {
		end, done, n := octets, 0, 0
		if made < octets && !alone {
			done, n = heatOctets(rows, own, visits[made:end], near, odds, words[rowWords*made:], next, made, ties, valid, t, kept, !ars, key, stream, group+uint64(made/octet))
		} else {
			if end = len(visits); made < octets {
				end = made/octet*octet + octet
			}
			done, n = heatRows(rows, own, visits[made:end], near, odds, words[rowWords*made:], next, made, ties, valid, t, kept)
			alone = alone && made+done < end
		}
		near = behind(near, visits[made:made+done])
		made, used = made+done, used+n
		switch {
		case made == end:
			ties = ties[2*n:]
		case made < octets && !alone && len(ties)/2-n >= ChainBits: // they are not enough for all of it
			alone = true
			ties = ties[2*n:]
			if !ars {
				draw(words[rowWords*made:][:GroupWords], key, stream, group+uint64(made/octet))
			}
		default:
			ties = moreTies(&w.ties, used, draw, key, stream, last)
		}
	}
}

// SumRows adds the rows to sum, chain by chain.
func SumRows(sum *[ChainBits]int32, rows []Row) { sumRows(sum, rows) }

// CountRows stores in kept the sums of all visits, each in the row of its site, chain by
// chain.
func CountRows(kept, rows []Row, visits []RowVisit, near []int32) {
	for _, v := range visits {
		kept[v.Row] = refCountRow(rows, near[:v.Plus+v.Minus], v)
		near = near[v.Plus+v.Minus:]
	}
}
