package simd

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pairUp puts the states of two blocks side by side.
func pairUp(a, b *rowProblem) (rows []Row, own []uint64) {
	rows, own = make([]Row, len(a.rows)), make([]uint64, len(a.rows))
	for i := range rows[:len(rows)-1] {
		for c := range ChainBits {
			rows[i][c] = a.rows[i][c] | b.rows[i][c]<<4
			own[i] |= uint64(a.rows[i][c])<<c | uint64(b.rows[i][c])<<(c+32)
		}
	}
	return rows, own
}

// Two blocks side by side get what each gets alone.
func TestHeatPairs(t *testing.T) {
	r := newRand(46)
	for trial := range 150 {
		sites := []int{1, 2, 9, 60, RowVisits}[trial%5]
		var g [2]*rowProblem
		g[0] = eightProblem(r, sites, []int{0, 3, 11, 12, 13, 25}[trial/5%6], nil)
		for i := range g[0].visits { // neighbours of each other, now
			v := &g[0].visits[i]
			v.Row = int32((i + trial) % sites)
		}
		g[1] = g[0].clone()
		for i := range g[1].rows[:sites] {
			for c := range ChainBits {
				v := byte(r.IntN(2))
				g[1].rows[i][c] = v
				g[1].own[i/2] = g[1].own[i/2]&^(1<<(32*(i%2)+c)) | uint64(v)<<(32*(i%2)+c)
			}
		}
		valid := [][2]uint32{{1<<32 - 1, 1<<32 - 1}, {1<<20 - 1, 1}, {0, 1<<32 - 1}}[trial%3]
		key, stream, group := r.Uint64(), [2]uint64{r.Uint64(), r.Uint64()}, [2]uint64{r.Uint64() >> 8, r.Uint64() >> 9}
		ars := trial%4 == 0
		rows, own := pairUp(g[0], g[1])
		var counted [2]RowTally
		counted[1].Sum[3], counted[0].Moved[31] = -7, 1000
		start := counted
		for b := range g {
			for sweep := range uint64(20) {
				HeatRows(g[b].rows, g[b].own, g[b].visits, g[b].near, g[b].odds, valid[b], &counted[b], nil, new(RowScratch), ars, key, stream[b], group[b]+1000*sweep)
			}
		}
		wantRows, wantOwn := pairUp(g[0], g[1])
		onEveryRow(func(name string) {
			gotRows, gotOwn, tally, w := slices.Clone(rows), slices.Clone(own), start, new(PairScratch)
			for sweep := range uint64(20) {
				HeatPairs(gotRows, gotOwn, g[0].visits, g[0].near, g[0].odds, valid, &tally, w, ars, key, stream, [2]uint64{group[0] + 1000*sweep, group[1] + 1000*sweep})
			}
			require.Equal(t, wantRows, gotRows, "%s, trial %d", name, trial)
			require.Equal(t, wantOwn, gotOwn, "%s, trial %d", name, trial)
			require.Equal(t, counted, tally, "%s, trial %d", name, trial)
		})
	}
	assert.EqualValues(t, 64, unsafe.Offsetof(pairStop{}.sums)) // as the assembly has it
	assert.PanicsWithValue(t, "simd: HeatPairs: len(visits) = 129 and len(neighbours) = 0, want ≤ 128 and ≤ 8192", func() {
		HeatPairs(nil, nil, make([]RowVisit, 129), nil, nil, [2]uint32{}, nil, nil, false, 0, [2]uint64{}, [2]uint64{})
	})
}

// Visits of many ties take the digits of either block in turn.
func TestHeatPairsTies(t *testing.T) {
	r := newRand(47)
	g := eightProblem(r, RowVisits, 12, nil)
	stops := 0
	for range 20 {
		words, next := [2][]uint32{}, [2][]uint32{}
		for b := range words {
			words[b], next[b] = make([]uint32, rowWords*RowVisits), make([]uint32, GroupWords)
			for i := range words[b] {
				if words[b][i] = r.Uint32(); r.IntN(3) == 0 {
					words[b][i] = words[b][i]&^255 | 99
				}
			}
			for i := range next[b] {
				next[b][i] = r.Uint32()
				if r.IntN(2) == 0 {
					next[b][i] = uint32(g.odds[0].next[0]) * 0x01010101
				}
			}
		}
		type result struct {
			rows  []Row
			own   []uint64
			tally [2]RowTally
			stops []pairStop
		}
		run := func() (got result) {
			got.rows, got.own = pairUp(g, g)
			near := g.near
			var stop pairStop
			for made := 0; ; {
				done, walked := heatPairs(got.rows, got.own, g.visits[made:], near, g.odds, [2][]uint32{words[0][rowWords*made:], words[1][rowWords*made:]}, next, made, 1<<64-1, len(got.stops) > 0, &got.tally, &stop)
				if near, made = near[walked:], made+done; made == RowVisits {
					break
				}
				stop.below &^= stop.equal // of those that are tied, it may be known or not
				got.stops = append(got.stops, stop)
			}
			return got
		}
		var want result
		withBackend(purego, func() { want = run() })
		stops += len(want.stops)
		onEveryRow(func(name string) { require.Equal(t, want, run(), name) })
	}
	assert.Greater(t, stops, 100)
}
