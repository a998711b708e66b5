package novelty

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/stretchr/testify/require"
)

// chemistry generates strings like those of molecules: fragments one after the
// other, with branches and rings that may be anywhere, filled up with the last
// token. There are 34 tokens.
func chemistry(r *rand.Rand, n, sites int) (all [][]int32, levels int) {
	const letters = "CcNnOoSsFIPBHlr()[]=#123456789@+-/"
	fragments := []string{"CC", "c1ccccc1", "C(=O)", "N", "O", "CO", "C(C)", "[C@@H]", "[nH]", "S(=O)(=O)", "C=C", "Cl",
		"F", "C#N", "CN", "c2nc(C)cc2", "[N+]", "[O-]", "/C=C/", "C3CC3", "OC", "Br", "P", "I", "c4sccc4"}
	levels = len(letters)
	pad := int32(levels - 1)
	for range n {
		x := make([]int32, 0, sites)
		for most := sites/3 + r.IntN(sites*2/3); len(x) < most; {
			for _, c := range fragments[r.IntN(len(fragments))] {
				for t, l := range letters {
					if l == c && len(x) < sites {
						x = append(x, int32(t))
					}
				}
			}
		}
		for len(x) < sites {
			x = append(x, pad)
		}
		all = append(all, x)
	}
	return all, levels
}

// TestNovelBeyondTheLimitOfEdges: P(novel) over 30 000 long strings, whose
// unrolled automaton would be too large, against the sum over the strings, one by
// one: for predictions that know everything, something and nothing.
func TestNovelBeyondTheLimitOfEdges(t *testing.T) {
	strings := 30000
	if testing.Short() {
		strings = 2000
	}
	const sites = 105
	r := rand.New(rand.NewPCG(44, 1))
	all, levels := chemistry(r, strings, sites)
	require.Equal(t, 34, levels)
	lexicon := new(constraint.Lexicon)
	distinct := all[:0]
	for _, x := range all {
		if lexicon.Add(x) {
			distinct = append(distinct, x)
		}
	}
	all = distinct
	s, err := Projector{Seen: lexicon}.Compile(t.Context(), sites, levels)
	require.NoError(t, err)
	checked := map[bool]int{}
	for _, bonus := range []float64{0, 2, 4, 5, 6, 7, 8, 12, 20} {
		for _, v := range predictions(r, all, levels, 2, bonus) {
			logZ, err := s.within.LogZ(t.Context(), v)
			require.NoError(t, err)
			known := 0.0
			for _, x := range all {
				weight := -logZ
				for i, token := range x {
					weight += float64(v[i*levels+int(token)])
				}
				known += math.Exp(weight)
			}
			got, err := s.LogProb(t.Context(), v)
			require.NoError(t, err)
			checked[known > 0.5]++
			// The reference is good to 1e-12 of 1, and so of P(new) to less.
			require.InEpsilon(t, 1-known, math.Exp(got), max(1e-9, 1e-12/(1-known)))
			x := make([]int32, sites)
			for range 4 {
				z, err := s.Draw(t.Context(), x, v, r)
				require.NoError(t, err)
				require.InDelta(t, logZ+got, z, 1e-9)
				require.False(t, lexicon.Contains(x))
			}
		}
	}
	require.Positive(t, checked[true])
	require.Positive(t, checked[false])
}

// BenchmarkNovelChemistry sums over sets as large as those of people.
func BenchmarkNovelChemistry(b *testing.B) {
	for _, size := range []struct{ strings, sites int }{{30000, 105}, {1000000, 25}} {
		r := rand.New(rand.NewPCG(44, 1))
		all, levels := chemistry(r, size.strings, size.sites)
		lexicon := new(constraint.Lexicon)
		for _, x := range all {
			lexicon.Add(x)
		}
		s, err := Projector{Seen: lexicon}.Compile(b.Context(), size.sites, levels)
		require.NoError(b, err)
		for _, bonus := range []float64{0, 3, 4, 5, 6, 9} {
			vs := predictions(r, all, levels, 16, bonus)
			name := fmt.Sprintf("strings=%d/sites=%d/bonus=%g", size.strings, size.sites, bonus)
			b.Run(name+"/logprob", func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					if _, err := s.LogProb(b.Context(), vs[i%len(vs)]); err != nil {
						b.Fatal(err)
					}
				}
				w := s.walk(b.Context())
				b.ReportMetric(float64(w.visited)/float64(b.N), "transitions/op")
				w.visited = 0
				s.rest(w)
			})
			b.Run(name+"/draw", func(b *testing.B) {
				x := make([]int32, size.sites)
				for i := 0; b.Loop(); i++ {
					if _, err := s.Draw(b.Context(), x, vs[i%len(vs)], r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
