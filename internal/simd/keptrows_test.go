package simd

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Sums that are kept draw what sums that are added up do, and stay those that they would
// be, on graphs with pairs of either sign, some of them twice.
func TestHeatRowsKept(t *testing.T) {
	r := newRand(43)
	for trial := range 60 {
		sites := []int{1, 2, 9, 60, RowVisits}[trial%5]
		plus, minus := make([][]int32, sites), make([][]int32, sites)
		for range sites * []int{0, 2, 12}[trial%3] {
			i, j := r.Int32N(int32(sites)), r.Int32N(int32(sites))
			if i == j || len(plus[i])+len(minus[i]) > 60 || len(plus[j])+len(minus[j]) > 60 {
				continue
			}
			to := plus
			if r.IntN(3) == 0 {
				to = minus
			}
			to[i], to[j] = append(to[i], j), append(to[j], i)
		}
		g := &rowProblem{rows: make([]Row, sites+1), own: make([]uint64, (sites+1)/2)}
		for i := range sites {
			for c := range ChainBits {
				v := byte(r.IntN(2))
				g.rows[i][c] = v
				g.own[i/2] |= uint64(v) << (32*(i%2) + c)
			}
		}
		p := make([]uint64, RowCounts)
		for k := range p {
			p[k] = r.Uint64() >> []int{0, 4, 9}[trial/5%3]
		}
		g.odds = []RowOdds{NewRowOdds(p)}
		for _, i := range r.Perm(sites) {
			v := RowVisit{Row: int32(i), Bias: int32(len(minus[i]))}
			for side, others := range [2][]int32{plus[i], minus[i]} {
				n := len(g.near)
				for _, j := range others {
					g.near = append(g.near, ChainBits*j)
				}
				for (len(g.near)-n)%4 > 0 {
					g.near = append(g.near, ChainBits*int32(sites))
				}
				if n = len(g.near) - n; side == 0 {
					v.Plus = int32(n)
				} else {
					v.Minus = int32(n)
				}
			}
			g.visits = append(g.visits, v)
		}
		want, counted := g.clone(), RowTally{}
		for sweep := range 3 {
			HeatRows(want.rows, want.own, want.visits, want.near, want.odds, 1<<32-1, &counted, nil, new(RowScratch), trial%2 == 0, 1, 2, uint64(1000*sweep))
		}
		sums := make([]Row, sites+1)
		CountRows(sums, want.rows, want.visits, want.near)
		onEveryRow(func(name string) {
			got, tally, kept := g.clone(), RowTally{}, make([]Row, sites+1)
			CountRows(kept, got.rows, got.visits, got.near)
			for sweep := range 3 {
				HeatRows(got.rows, got.own, got.visits, got.near, got.odds, 1<<32-1, &tally, kept, new(RowScratch), trial%2 == 0, 1, 2, uint64(1000*sweep))
			}
			require.Equal(t, want, got, "%s, trial %d", name, trial)
			require.Equal(t, counted, tally, "%s, trial %d", name, trial)
			require.Equal(t, sums[:sites], kept[:sites], "%s, trial %d", name, trial)
		})
	}
}
