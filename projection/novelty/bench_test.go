package novelty

import (
	"bufio"
	"context"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/stretchr/testify/require"
)

// molecules returns the QM9 molecules as token sequences of one length, padded
// with the last token, and the number of tokens. It skips where the corpus is
// absent.
func molecules(tb testing.TB) (all [][]int32, levels int) {
	tb.Helper()
	f, err := os.Open("../../../shared/data/qm9_smiles.csv")
	if err != nil {
		tb.Skip("no corpus: ", err)
	}
	defer f.Close()
	var lines []string
	token := map[byte]int32{}
	longest := 0
	scan := bufio.NewScanner(f)
	scan.Scan() // header
	for scan.Scan() {
		s := scan.Text()
		lines = append(lines, s)
		longest = max(longest, len(s))
		for i := range len(s) {
			if _, ok := token[s[i]]; !ok {
				token[s[i]] = int32(len(token))
			}
		}
	}
	require.NoError(tb, scan.Err())
	pad := int32(len(token))
	for _, s := range lines {
		x := make([]int32, longest)
		for i := range x {
			x[i] = pad
			if i < len(s) {
				x[i] = token[s[i]]
			}
		}
		all = append(all, x)
	}
	return all, len(token) + 1
}

// predictions are peaked on known molecules, as those of a good model are:
// log-weight bonus for the molecule's own tokens over noise.
func predictions(r *rand.Rand, all [][]int32, levels, n int, bonus float64) [][]float32 {
	out := make([][]float32, n)
	for j := range out {
		x := all[r.IntN(len(all))]
		v := make([]float32, len(x)*levels)
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		for i, token := range x {
			v[i*levels+int(token)] += float32(bonus)
		}
		out[j] = v
	}
	return out
}

func BenchmarkNovelCorpus(b *testing.B) {
	all, levels := molecules(b)
	lexicon := new(constraint.Lexicon)
	for _, x := range all {
		lexicon.Add(x)
	}
	sites := len(all[0])
	bound, err := Projector{Seen: lexicon}.Bind(b.Context(), sites, levels, 1)
	require.NoError(b, err)
	s := bound.(*CorpusProjection)
	r := rand.New(rand.NewPCG(1, 1))
	vs := predictions(r, all, levels, 64, 6)
	known := 0
	x := make([]int32, sites)
	for _, v := range vs {
		for i := range x {
			best := 0
			for l := range levels {
				if v[i*levels+l] > v[i*levels+best] {
					best = l
				}
			}
			x[i] = int32(best)
		}
		if lexicon.Contains(x) {
			known++
		}
	}
	_, err = s.LogProb(b.Context(), vs[0])
	require.NoError(b, err)
	b.Logf("%d molecules, %d sites, %d tokens, %d of %d modes known; lexicon: %d states",
		len(all), sites, levels, known, len(vs), lexicon.Nodes())
	ctx := context.Background()
	b.Run("project", func(b *testing.B) {
		v := make([]float32, len(vs[0]))
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			copy(v, vs[i%len(vs)])
			if _, err := s.Project(ctx, 0, v, 1, 0, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("load", func(b *testing.B) {
		w := s.take()
		for i := 0; b.Loop(); i++ {
			v := vs[i%len(vs)]
			for j, row := range w.rows {
				row.Load(v[j*levels : (j+1)*levels])
			}
		}
	})
	b.Run("probability", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := s.LogProb(ctx, vs[i%len(vs)]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("draw", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := s.Draw(ctx, x, vs[i%len(vs)], r); err != nil {
				b.Fatal(err)
			}
		}
	})
}
