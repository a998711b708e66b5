package bolt

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/projection/novelty"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/stretchr/testify/require"
)

var (
	_ novelty.Fallible = (*Set)(nil)
	_ novelty.Checked  = (*Set)(nil)
	_ novelty.Lasting  = (*Set)(nil)
	_ novelty.Fallible = (*Corpus)(nil)
	_ novelty.Checked  = (*Corpus)(nil)
	_ novelty.Lasting  = (*Corpus)(nil)
	_ novelty.Crowded  = (*Corpus)(nil)
)

// TestNoveltyAcrossRuns: every run opens the file anew and makes what none made
// before, until everything is known.
func TestNoveltyAcrossRuns(t *testing.T) {
	for name, open := range forms {
		path := filepath.Join(t.TempDir(), "known.db")
		made := map[[3]int32]bool{}
		v := []float32{0, 1, 2, 0, 1, 0}
		for run := range 4 {
			s, err := open(t.Context(), path, Config{})
			require.NoError(t, err)
			require.Equal(t, 2*run, s.Len(), name)
			p, err := novelty.Projector{Seen: s}.Bind(t.Context(), 3, 2, 1)
			require.NoError(t, err)
			for range 2 {
				x := []int32{1, 0, 0}
				require.NoError(t, p.(diffusion.Committer).Commit(t.Context(), x, v, rand.NewPCG(1, 1)))
				require.False(t, made[[3]int32(x)], "%s: run %d made %v again", name, run, x)
				made[[3]int32(x)] = true
			}
			require.NoError(t, s.Close())
		}
		s, err := open(t.Context(), path, Config{})
		require.NoError(t, err)
		p, err := novelty.Projector{Seen: s}.Bind(t.Context(), 3, 2, 1)
		require.NoError(t, err)
		require.ErrorIs(t, p.(diffusion.Committer).Commit(t.Context(), []int32{1, 0, 0}, v, rand.NewPCG(1, 1)), constraint.ErrInfeasible, name)
		require.NoError(t, s.Close())
		// A set that has failed is refused, and so is what it says.
		require.Error(t, p.(diffusion.Committer).Commit(t.Context(), []int32{1, 1, 1}, v, rand.NewPCG(1, 1)), name)
		s.Add([]int32{5, 5, 5})
		_, err = novelty.Projector{Seen: s}.Bind(t.Context(), 3, 2, 1)
		require.ErrorContains(t, err, path, name)
	}
}

// TestCorpusIsALexicon: the same draws, bit for bit, as from a lexicon of the same
// sequences.
func TestCorpusIsALexicon(t *testing.T) {
	s, err := OpenCorpus(t.Context(), filepath.Join(t.TempDir(), "known.db"), Config{})
	require.NoError(t, err)
	defer s.Close()
	lexicon := new(constraint.Lexicon)
	r := rand.New(rand.NewPCG(4, 1))
	for range 30 {
		x := []int32{r.Int32N(3), r.Int32N(3), r.Int32N(3), r.Int32N(3)}
		lexicon.Add(x)
		s.Add(x)
	}
	v := make([]float32, 12)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	draw := func(seen novelty.Seen) (z []float64, all []int32) {
		p, err := novelty.Projector{Seen: seen}.Compile(t.Context(), 4, 3)
		require.NoError(t, err)
		src := rand.NewPCG(9, 9)
		for range 50 {
			x := make([]int32, 4)
			logZ, err := p.Draw(t.Context(), x, v, src)
			require.NoError(t, err)
			require.False(t, lexicon.Contains(x))
			z, all = append(z, logZ), append(all, x...)
		}
		return z, all
	}
	wantZ, want := draw(lexicon)
	gotZ, got := draw(s)
	require.Equal(t, want, got)
	require.Equal(t, wantZ, gotZ)
}

// TestResume: a run with a checkpoint that stops on its way goes on with the file:
// its own samples are no error, and everything that it makes is new. Another file is
// another run.
func TestResume(t *testing.T) {
	for name, open := range forms {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			chain, err := model.NewMarkov(6, 2, 1, []float64{0.5, 0.5}, []float64{0.9, 0.1, 0.1, 0.9})
			require.NoError(t, err)
			d, err := denoise.NewMarkov(chain, denoise.Absorbing)
			require.NoError(t, err)
			halfway := func() {}
			run := func(file string) (*diffusion.Runner[int32], set) {
				s, err := open(t.Context(), filepath.Join(folder, file), Config{})
				require.NoError(t, err)
				cfg := diffusion.Config{Seed: 1, Batch: 4, Projector: novelty.Projector{Seen: s.(novelty.Seen)}}
				cfg.Progress = func(done, total int) {
					if s.Len() >= 8 {
						halfway()
					}
				}
				cfg.Checkpoint.Path, cfg.Checkpoint.Every = filepath.Join(folder, "run"), 4
				r, err := diffusion.New(t.Context(), d, diffusion.Masked{Mask: 2, FirstHitting: true}, cfg)
				require.NoError(t, err)
				return r, s
			}
			r, s := run("known.db")
			x := make([]int32, 6*20)
			ctx, cancel := context.WithCancel(t.Context())
			halfway = cancel
			require.ErrorIs(t, r.Sample(ctx, x), context.Canceled)
			require.Positive(t, s.Len())
			require.Less(t, s.Len(), 20)
			begun := s.Len()
			require.NoError(t, s.Close())

			r, s = run("known.db")
			require.NoError(t, r.LoadFile(t.Context(), filepath.Join(folder, "run")))
			require.NoError(t, r.Sample(t.Context(), x))
			require.Less(t, s.Len(), begun+20, "samples of the checkpoint are not drawn again")
			seen := map[[6]int32]bool{}
			for one := range slices.Chunk(x, 6) {
				require.False(t, seen[[6]int32(one)])
				seen[[6]int32(one)] = true
				require.True(t, s.Contains(one))
			}
			require.NoError(t, s.Close())

			r, s = run("other.db")
			require.ErrorContains(t, r.LoadFile(t.Context(), filepath.Join(folder, "run")), "Seen.File")
			require.NoError(t, s.Close())
		})
	}
}
