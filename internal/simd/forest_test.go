package simd

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestForest compares the backends with the references, bit for bit: forests with hubs, roots,
// empty parts and several calls of assembly, and chains that keep their states.
func TestForest(t *testing.T) {
	if !HasForests() {
		t.Skip("this backend moves one chain after the other")
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 15, 100, 3000} {
		sites := n + 20
		f := Forest{From: []int32{0}}
		for k := range n {
			l := ForestLink{Site: int32(k), Parent: int32(k), Place: int32(n), Couple: [2]float64{1, 1}}
			if k+1 < n && r.IntN(10) > 0 {
				l.Place = int32(k + 1 + r.IntN(min(n-k-1, 5)))
				l.Parent, l.Couple[1] = l.Place, math.Exp(4*r.NormFloat64())
			}
			degree := r.IntN(4)
			if k == n/2 {
				degree = 2 * forestTerms / 3
			}
			for range degree {
				f.Bonds = append(f.Bonds, ForestBond{Place: int32(k), To: int32(n + r.IntN(20)), Factor: [2]float64{1, math.Exp(.1 * r.NormFloat64())}})
			}
			f.Links, f.Field, f.From = append(f.Links, l), append(f.Field, math.Exp(r.NormFloat64())), append(f.From, int32(len(f.Bonds)))
		}
		f.Bonds = append(f.Bonds, ForestBond{})
		own := make([]uint8, (sites+63)&^63)
		for i := range sites {
			own[i] = uint8(r.Uint32())
		}
		bonds := make([]SpinBond, n+n/2)
		for k := range bonds {
			bonds[k] = SpinBond{I: int32(r.IntN(sites)), J: int32(r.IntN(sites)), V: r.Int64() >> 20 * int64(1-2*r.IntN(2))}
		}
		pendants, ld := make([]ForestPendant, 2*((n+1)/2)), (n+8)&^7
		words, rows := make([]uint32, ForestChains*ld), make([]uint32, ForestChains*ld)
		for i := range rows {
			rows[i] = r.Uint32()
		}
		for k := range pendants {
			pendants[k] = ForestPendant{Site: int32(k), Parent: int32(sites - 1 - r.IntN(20)), High: [2]uint32{r.Uint32() &^ 0xffff, r.Uint32() &^ 0xffff}}
			if k == 7*n/8 { // the bits of chain 2
				high := rows[2*ld+k/2] << (16 * (1 - k%2)) &^ 0xffff
				pendants[k].High = [2]uint32{high, high}
			}
		}
		type result struct {
			pairs [3]int
			odds  []float64
			own   []uint8
			moved [ForestChains]int64
			sum   [ForestChains]int64
			x     []int32
		}
		run := func(cuts ...int) (v result) {
			v.odds, v.own, v.x = make([]float64, ForestChains*(n+1)), append([]uint8(nil), own...), make([]int32, 5*sites)
			lo := 0
			for _, hi := range append(cuts, n) {
				f.Odds(v.odds, v.own, lo, hi)
				lo = hi
			}
			EightColumns(words, rows, ld)
			for k := range ld {
				for c := range ForestChains {
					require.Equal(t, rows[c*ld+k], words[ForestChains*k+c])
				}
			}
			v.pairs[0] = f.Draw(v.own, words, v.odds, f.Links[:n&^1], 0b10110111)
			const w = 0x8000
			for c, at := range []int{2, 6} { // in chain 2, and in a chain without an effect
				rare := append([]float64(nil), v.odds...)
				rare[ForestChains*(n&1)+at] = 1 / (0x1p16/(w+.5) - 1)
				same := append([]uint32(nil), words...)
				if n > 1 {
					links := append([]ForestLink(nil), f.Links[n&1:]...)
					links[0].Couple = [2]float64{1, 1}
					rare = rare[ForestChains*(n&1):]
					same[ForestChains*(n/2-1)+at] = w<<16 | w
					v.pairs[1+c] = f.Draw(v.own, same, rare, links, 0b10110111)
					require.Equal(t, n/2-1+c, v.pairs[1+c])
				}
			}
			require.LessOrEqual(t, DrawPendants(v.own, words, pendants, 0b10110111), 7*n/16)
			ForestMoved(&v.moved, own, v.own)
			SpinEnergies(&v.sum, v.own, bonds)
			SpreadForest(v.x, v.own, sites)
			return v
		}
		got := run()
		defer func(l level) { best = l }(best)
		was := best
		best = purego
		require.Equal(t, run(), got)
		whole := run(n / 3)
		best = was
		require.Equal(t, whole, run(n/3))
		var moved [ForestChains]int64
		for i, v := range got.own {
			for c := range moved {
				moved[c] += int64((v ^ own[i]) >> c & 1)
			}
		}
		require.Equal(t, moved, got.moved)
		for c := range 5 {
			for i := range sites {
				require.Equal(t, int32(got.own[i]>>c&1), got.x[c*sites+i])
			}
		}
	}
}
