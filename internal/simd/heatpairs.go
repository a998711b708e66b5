package simd

import "fmt"

// PairScratch is the workspace of [HeatPairs]. Its zero value is ready for use.
type PairScratch struct {
	words [2][RowVisits*rowWords + GroupWords]uint32
	ties  [2][2 * GroupWords]uint32
	stop  pairStop
}

// PairOfRows reports whether the backend in use makes one call of [HeatPairs] in less time than two
// calls of [HeatRows].
func PairOfRows() bool { return hasHeatEights() }

// HeatPairs does the work of two calls of [HeatRows] with bit-identical results. It redraws two
// blocks of chains of the same graph, stored side by side. Byte c of a row holds the states of
// chain c of both blocks, of the first block in bit 0 and of the second block in bit 4. In
// own[v.Row], they are bits c and 32 + c. Each block has its own mask of valid chains, tally and
// random stream.
func HeatPairs(rows []Row, own []uint64, visits []RowVisit, near []int32, odds []RowOdds, valid [2]uint32, t *[2]RowTally, w *PairScratch, ars bool, key uint64, stream, group [2]uint64) {
	if len(visits) > RowVisits || len(near) > RowNear {
		panic(fmt.Sprintf("simd: HeatPairs: len(visits) = %d and len(near) = %d, want ≤ %d and ≤ %d", len(visits), len(near), RowVisits, RowNear))
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
		done, walked := heatPairs(rows, own, visits[made:], near, odds, [2][]uint32{words[0][rowWords*made:], words[1][rowWords*made:]}, next, made, uint64(valid[1])<<32|uint64(valid[0]), decided, t, &w.stop)
		if made += done; made == len(visits) {
			return
		}
		near = near[walked:]
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
