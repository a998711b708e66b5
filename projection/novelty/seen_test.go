package novelty

import (
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/sorted"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A corpus is one by its methods: what embeds a lexicon draws jointly, too, and
// hears about its errors. A set that is none projects, and is refused by Compile.
func TestAnyFormOfACorpusIsTheSame(t *testing.T) {
	type wrapped struct{ *constraint.Lexicon }
	v := []float32{0, 1, 2, 0, 1, 0}
	draw := func(set Seen) []int32 {
		s, err := Projector{Seen: set}.Compile(t.Context(), 3, 2)
		require.NoError(t, err)
		x := make([]int32, 3)
		_, err = s.Draw(t.Context(), x, v, rand.NewPCG(1, 1))
		require.NoError(t, err)
		return x
	}
	lexicon := func() *constraint.Lexicon {
		l := new(constraint.Lexicon)
		l.Add([]int32{1, 0, 0})
		return l
	}
	want := draw(lexicon())
	assert.Equal(t, want, draw(wrapped{lexicon()}))
	assert.Equal(t, want, draw(&wrapped{lexicon()}))

	_, err := Projector{Seen: plainSet{}}.Compile(t.Context(), 3, 2)
	require.ErrorContains(t, err, "want a Corpus")
	s, err := Projector{Seen: brokenCorpus{lexicon()}}.Compile(t.Context(), 3, 2)
	require.NoError(t, err)
	_, err = s.Draw(t.Context(), make([]int32, 3), v, rand.NewPCG(1, 1))
	require.ErrorIs(t, err, errDisk)
	_, err = s.LogZ(t.Context(), v)
	require.ErrorIs(t, err, errDisk)
	_, err = s.Project(t.Context(), 0, v, 1, .5, nil)
	require.ErrorIs(t, err, errDisk)
}

// brokenCorpus has lost its disk.
type brokenCorpus struct{ *constraint.Lexicon }

func (brokenCorpus) Err() error { return errDisk }

// Sets that are nil, or that say that they are not whole, are refused by Bind.
func TestUnusableSets(t *testing.T) {
	_, err := Projector{Seen: (*constraint.Lexicon)(nil)}.Bind(t.Context(), 2, 2, 1)
	require.ErrorContains(t, err, "Seen = (*constraint.Lexicon)(nil)")
	_, err = Projector{Seen: sorted.Layered{Top: new(constraint.Lexicon)}}.Bind(t.Context(), 2, 2, 1)
	require.ErrorContains(t, err, "Seen: sorted: Layered.Base = nil")
}

// lasting is a lexicon that outlives a run.
type lasting struct{ *constraint.Lexicon }

func (l lasting) Recall(x []int32) { l.Add(x) }

// A run that resumes finds its samples in a set that outlives it, and in no other.
func TestRecallOfWhatIsKnown(t *testing.T) {
	for _, outlives := range []bool{false, true} {
		l := new(constraint.Lexicon)
		var set Seen = l
		if outlives {
			set = &lasting{l}
		}
		s, err := Projector{Seen: set}.Compile(t.Context(), 2, 2)
		require.NoError(t, err)
		require.NoError(t, s.Recall([]int32{0, 1}))
		require.True(t, l.Contains([]int32{0, 1}))
		err = s.Recall([]int32{0, 1})
		if outlives {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "the set has the sequence already")
		}
		require.Equal(t, 1, l.Len())
	}
}
