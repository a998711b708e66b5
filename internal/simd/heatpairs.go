package simd

import "fmt"

// PairScratch is the workspace of [HeatPairs]. Its zero value is ready for use.
type PairScratch struct {
	words [2][RowVisits*rowWords + GroupWords]uint32
	ties  [2][2 * GroupWords]uint32
	stop  pairStop
}

// PairOfRows reports whether one call of [HeatPairs] takes less time than two calls of [HeatRows]
// on the backend in use.
func PairOfRows() bool { return hasHeatEights() }

// HeatPairs redraws two blocks of chains on one graph. The results have the same bits as two calls
// of [HeatRows]. The blocks are stored together. Byte c of a row has the state of chain c of the
// first block in bit 0, and of the second block in bit 4. The word lanes[v.Row] holds the same
// states for the site of a visit v: bit c for the first block, and bit 32 + c for the second. The
// arrays valid, t, stream and group have one entry per block.
func HeatPairs(rows []Row, lanes []uint64, visits []RowVisit, neighbours []int32, odds []RowOdds, valid [2]uint32, t *[2]RowTally, w *PairScratch, ars bool, key uint64, stream, group [2]uint64) {
	if len(visits) > RowVisits || len(neighbours) > RowNear {
		panic(fmt.Sprintf("simd: HeatPairs: len(visits) = %d and len(neighbours) = %d, want ≤ %d and ≤ %d", len(visits), len(neighbours), RowVisits, RowNear))
	}
	draw := Philox
	if ars {
		draw = ARS
	}
	first := rowByteGroups(len(visits))
	var words, next, ties [2][]uint32
	var used [2]int
	for b := range words {
		words[b], next[b] = w.words[b][:first*GroupWords], w.words[b][first*GroupWords:][:GroupWords]
		draw(w.words[b][:(first+1)*GroupWords], key, stream[b], group[b])
	}
	for made, decided := 0, false; ; decided = true {
		done, walked := heatPairs(rows, lanes, visits[made:], neighbours, odds, [2][]uint32{words[0][rowWords*made:], words[1][rowWords*made:]}, next, made, uint64(valid[1])<<32|uint64(valid[0]), decided, t, &w.stop)
		if made += done; made == len(visits) {
			return
		}
		neighbours = neighbours[walked:]
		o := &odds[visits[made].Odds/RowTable]
		for b := range words {
			shift := uint(32 * b)
			tie := uint32(w.stop.equal >> shift)
			if tie == 0 {
				continue
			}
			below, digits := uint32(w.stop.below>>shift)&^tie, byte(next[b][made/4]>>(made%4*8))
			to, n, ok := decideTies(o, &w.stop.sums[b], below, tie, digits, ties[b])
			if !ok {
				ties[b] = moreTies(&w.ties[b], used[b], draw, key, stream[b], group[b]+uint64(first+1))
				to, n, _ = decideTies(o, &w.stop.sums[b], below, tie, digits, ties[b])
			}
			ties[b], used[b] = ties[b][2*n:], used[b]+n
			w.stop.below = w.stop.below&^((1<<32-1)<<shift) | uint64(to)<<shift
		}
	}
}
