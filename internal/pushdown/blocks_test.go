package pushdown

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBlocks compares sums of blocks with those of package math, where a class has most tokens and
// where none has, also with dead tokens that have no finite weight and others of weight 0. Every token
// of a class is in one of its blocks, of which none is too large for a draw.
func TestBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 45))
	stretched := 0
	for _, tokens := range []int{1, 7, 255, 256, 257, 2048, 5000, 6144} {
		for _, share := range []float64{0, 0.4, 0.6, 1} {
			classes, sizes := make([][]int32, 5), make([]int32, 5)
			for i := range tokens {
				k := 3
				if r.Float64() >= share {
					k = r.IntN(6) // 5 is dead
				}
				if k < 5 {
					classes[k] = append(classes[k], int32(i))
					sizes[k]++
				}
			}
			great, set, lists := -1, make([]uint64, (tokens+63)/64), slices.Clone(classes)
			for k, members := range classes {
				if len(members) > tokens/2 {
					great, lists[k] = k, nil
					stretched++
					for _, i := range members {
						set[i/64] |= 1 << (i % 64)
					}
				}
			}
			b, scratch := newBlocks(tokens, sizes, great, set, slices.Concat(lists...)), new(tokenBuffer)
			require.Equal(t, great >= 0, b.great >= 0)
			all, sample := slices.Concat(classes...), []int32{}
			for i := 0; i < len(all); i += len(all)/16 + 1 {
				sample = append(sample, all[i])
			}
			require.ElementsMatch(t, sample, b.sampled)
			row := make([]float32, tokens+3) // a row may be longer
			for i := range row {
				row[i] = float32(3 * r.NormFloat64())
			}
			odd := slices.Clone(row)
			for i := range odd {
				odd[i] = []float32{float32(math.NaN()), float32(math.Inf(1)), 1e30}[i%3]
			}
			for _, members := range classes {
				for i, token := range members {
					if odd[token] = row[token]; i%4 == 0 {
						odd[token] = float32(math.Inf(-1))
					}
				}
			}
			for _, row := range [][]float32{row, odd} {
				sums, want := make([]float64, b.count()), 0.0
				for i := range sums {
					sums[i] = math.NaN() // left from an earlier call
				}
				total := b.sum(sums, row, 0.5, new([block]float64))
				for k, members := range classes {
					var seen []int32
					for i := b.class[k]; i < b.class[k+1]; i++ {
						own := b.tokens(i, scratch)
						require.LessOrEqual(t, len(own), blockSize)
						require.Len(t, own, b.size(i))
						sum := 0.0
						for _, token := range own {
							sum += math.Exp(float64(row[token]) - 0.5)
						}
						require.InDelta(t, sum, sums[i], 1e-12*sum)
						seen, want = append(seen, own...), want+sum
					}
					require.Equal(t, members, seen)
				}
				require.InDelta(t, want, total, 1e-12*want)
			}
		}
	}
	require.Greater(t, stretched, 8)
	require.Less(t, stretched, 32)
}

// TestPaddingInAnyOrder compares log Z of vocabularies whose padding, most of all tokens, is listed in
// another order and twice.
func TestPaddingInAnyOrder(t *testing.T) {
	const tokens, sites = 600, 8
	r := rand.New(rand.NewPCG(1, 2))
	texts, spells, pad := make([]string, tokens), make([]bool, tokens), []int32{}
	for i := range texts {
		if texts[i], spells[i] = string(rune('a'+i)), i < 3; !spells[i] {
			pad = append(pad, int32(i))
		}
	}
	mixed := append(slices.Clone(pad), pad[7])
	r.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	w, found := randomWeights(r, sites*tokens, 1), 0
	for range 40 {
		m := randomMachine(r, 3)
		want, err := NewRunner(lifted(t, m, Prepare(texts, spells, pad)), sites, tokens).Filter(w)
		got, err2 := NewRunner(lifted(t, m, Prepare(texts, spells, mixed)), sites, tokens).Filter(w)
		require.Equal(t, err, err2)
		require.Equal(t, want, got)
		if err == nil {
			found++
		}
	}
	require.Greater(t, found, 5)
}
