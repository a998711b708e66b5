package simd

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// eightProblem returns a graph of pairs, some against, whose sites are visited in the order
// of their rows: those of whole eights together, where eights is true. Odds are few bytes
// and small ones, so that there can be ties.
func eightProblem(r *rand.Rand, sites, most int, eights []bool) *rowProblem {
	near := [2][][]int32{make([][]int32, sites), make([][]int32, sites)}
	together := func(i, j int) bool { return i/eight == j/eight && i/eight < len(eights) && eights[i/eight] }
	for range sites * most {
		i, j, side := r.IntN(sites), r.IntN(sites), r.IntN(3)/2
		if i == j || together(i, j) || max(len(near[side][i]), len(near[side][j])) >= most {
			continue
		}
		near[side][i], near[side][j] = append(near[side][i], int32(j)), append(near[side][j], int32(i))
	}
	g := &rowProblem{rows: make([]Row, sites+1), own: make([]uint64, (sites+1)/2)}
	for i := range sites {
		for c := range ChainBits {
			v := byte(r.IntN(2))
			g.rows[i][c] = v
			g.own[i/2] |= uint64(v) << (32*(i%2) + c)
		}
	}
	for range 3 {
		p := make([]uint64, RowCounts)
		for k := range p {
			p[k] = uint64(r.IntN(3)*99)<<56 | r.Uint64()>>8
		}
		g.odds = append(g.odds, NewRowOdds(p))
	}
	odds := int32(0)
	for i := range sites {
		v := RowVisit{Row: int32(i), Bias: int32(len(near[1][i]))}
		first := i
		if together(i, i) {
			v.Eight = int32(i%eight + 1)
			first = i / eight * eight
		}
		if i == first {
			odds = RowTable * r.Int32N(3)
		}
		v.Odds = odds
		for side := range near {
			filled := len(near[side][i])
			for j := first; j < first+eight && v.Eight > 0; j++ {
				filled = max(filled, len(near[side][j]))
			}
			filled = (filled + 3) / 4 * 4
			for n := range filled {
				at := int32(sites)
				if n < len(near[side][i]) {
					at = near[side][i][n]
				}
				g.near = append(g.near, ChainBits*at)
			}
			if side == 0 {
				v.Plus = int32(filled)
			} else {
				v.Minus = int32(filled)
			}
		}
		g.visits = append(g.visits, v)
	}
	return g
}

// The words of eights are drawn as they go, or before, to the bits of one visit after the
// other.
func TestHeatRowsEights(t *testing.T) {
	r := newRand(45)
	for trial := range 60 {
		eights := make([]bool, r.IntN(RowVisits/eight+1))
		for i := range eights {
			eights[i] = i < 3 || r.IntN(5) > 0
		}
		sites := min(RowVisits, eight*len(eights)+r.IntN(12))
		g := eightProblem(r, sites, []int{3, 12, 28}[trial%3], eights)
		kept, valid := make([]Row, sites+1), []uint32{1<<32 - 1, 1<<20 - 1}[trial%2]
		CountRows(kept, g.rows, g.visits, g.near)
		key, stream, group := r.Uint64(), r.Uint64(), r.Uint64()>>8
		run := func() (got *rowProblem, t RowTally, sums []Row) {
			got, sums = g.clone(), slices.Clone(kept)
			for sweep := range uint64(20) {
				HeatRows(got.rows, got.own, got.visits, got.near, got.odds, valid, &t, sums, new(RowScratch), trial%4 == 0, key, stream, group+1000*sweep)
			}
			return got, t, sums[:sites]
		}
		var want *rowProblem
		var counted RowTally
		var sums []Row
		withBackend(purego, func() { want, counted, sums = run() })
		onEveryRow(func(name string) {
			got, tally, sum := run()
			require.Equal(t, want, got, "%s, trial %d", name, trial)
			require.Equal(t, counted, tally, "%s, trial %d", name, trial)
			require.Equal(t, sums, sum, "%s, trial %d", name, trial)
		})
	}
}

// Visits in eights are made as one by one, with few ties or many and whatever is left of
// their digits, and so are those between and behind them.
func TestHeatEights(t *testing.T) {
	r := newRand(44)
	ties, calls := 0, 0
	for trial := range 400 {
		sites := []int{8, 16, 17, 24, 61}[trial%5]
		eights := make([]bool, sites/eight)
		for i := range eights {
			eights[i] = i == 0 || r.IntN(3) > 0
		}
		g := eightProblem(r, sites, []int{0, 3, 12, 40}[trial/5%4], eights)
		words, next := make([]uint32, rowWords*sites), make([]uint32, GroupWords)
		for i := range words {
			words[i] = r.Uint32()
			if often := []int{1, 3, 30, 1000}[trial/20%4]; r.IntN(often) == 0 {
				words[i] = 99 * (1 + r.Uint32N(2)) * 0x01010101
			} else if r.IntN(often) == 0 {
				words[i] = words[i]&^255 | 99
			}
		}
		for i := range next { // some of them are those of the odds
			next[i] = r.Uint32()
			for j := range 4 {
				if o := &g.odds[r.IntN(3)]; r.IntN(8) == 0 {
					next[i] = next[i]&^(255<<(8*j)) | uint32(o.next[r.IntN(RowCounts)])<<(8*j)
				}
			}
		}
		made := r.IntN(RowVisits - sites)
		digits := make([]uint32, 2*ChainBits*sites)
		for i := range digits {
			digits[i] = r.Uint32()
		}
		valid := []uint32{1<<32 - 1, 1<<20 - 1, 1}[trial%3]
		kept := make([]Row, sites+1)
		CountRows(kept, g.rows, g.visits, g.near)
		want, counted, sums := g.clone(), RowTally{}, slices.Clone(kept)
		done, used := refHeatRows(want.rows, want.own, want.visits, want.near, want.odds, words, next, made, digits, valid, &counted, sums)
		require.Equal(t, sites, done)
		ties += used
		onEveryRow(func(name string) {
			got, tally, sum := g.clone(), RowTally{}, slices.Clone(kept)
			at, left, alone := 0, 2*r.IntN(3), false // a part of the digits
			for done := 0; done < sites; calls++ {
				n, took, end := 0, 0, done/eight*eight+eight
				some, from := digits[at:min(at+left, len(digits))], words[rowWords*done:]
				if end = min(end, sites); hasHeatEights() && g.visits[done].Eight == 1 && !alone {
					for end < sites && g.visits[end].Eight == 1 && r.IntN(4) > 0 {
						end += eight
					}
					n, took = heatEightsRun(got.rows, got.own, got.visits[done:end], behind(got.near, got.visits[:done]), got.odds, from, next, made+done, some, valid, &tally, sum, false, 0, 0, 0)
					n *= eight
					require.Zero(t, n%eight)
					alone = n == 0 // it may need more digits than there are
				} else {
					n, took = heatRows(got.rows, got.own, got.visits[done:end], behind(got.near, got.visits[:done]), got.odds, from, next, made+done, some, valid, &tally, sum)
					if left >= 2*ChainBits {
						require.Positive(t, n)
					}
					alone = alone && done+n < end
				}
				done, at, left = done+n, at+2*took, 2*(ChainBits+r.IntN(ChainBits))
			}
			require.Equal(t, want, got, "%s, trial %d", name, trial)
			require.Equal(t, counted, tally, "%s, trial %d", name, trial)
			require.Equal(t, used, at/2, "%s, trial %d", name, trial)
			require.Equal(t, sums[:sites], sum[:sites], "%s, trial %d", name, trial)
		})
	}
	assert.Greater(t, ties, 10000)
	assert.Greater(t, calls, 1000)
}
