package ground_test

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/ground"
)

// Binary words that differ in at least four places, as independent sets of the graph of nearer
// words: the largest code of eight bits has 16 words, that of ten bits 40 (A(8,4), A(10,4)). A
// random state violates dozens of bonds per site, a good one none.
func TestPenalties(t *testing.T) {
	exact.SkipUnderRace(t)
	for _, c := range []struct {
		bits, most int
		penalty    float64
	}{{8, 16, 1}, {8, 16, 100}, {10, 40, 1}} {
		n := 1 << c.bits
		var q []model.Edge
		for i := range n {
			q = append(q, model.Edge{I: i, J: i, W: -1})
			for j := range i {
				if bits.OnesCount(uint(i^j)) < 4 {
					q = append(q, model.Edge{I: i, J: j, W: c.penalty})
				}
			}
		}
		m, err := model.NewQuadratic(n, q, model.Polynomial{})
		require.NoError(t, err)
		s, err := ground.New(m, ground.Config{Seed: 1, Workers: 1, Stop: func(e float64) bool { return e == -float64(c.most) }})
		require.NoError(t, err)
		require.NoError(t, s.Run(t.Context(), 30))
		_, e := s.Best()
		assert.Equal(t, -float64(c.most), e, "%d bits, penalty %v, %d rounds", c.bits, c.penalty, s.Len())
	}
}

// A graph of 60 nodes is to be coloured in three colours, with one level per node and colour and a
// penalty unless a node has exactly one. There is a colouring; single flips do not lead to it.
func TestGroups(t *testing.T) {
	for _, penalty := range []float64{1, 10, 0.3, 1e5 / 3} {
		const nodes, colours = 60, 3
		r := rand.New(rand.NewPCG(1, 3))
		var q []model.Edge
		for i := range nodes * colours {
			q = append(q, model.Edge{I: i, J: i, W: -penalty})
			for j := i / colours * colours; j < i; j++ {
				q = append(q, model.Edge{I: i, J: j, W: 2 * penalty})
			}
		}
		for i := range nodes {
			for j := range i {
				if i%colours != j%colours && r.Float64() < 0.12 {
					for c := range colours {
						q = append(q, model.Edge{I: i*colours + c, J: j*colours + c, W: 1})
					}
				}
			}
		}
		m, err := model.NewQuadratic(nodes*colours, q, model.Polynomial{})
		require.NoError(t, err)
		least := -nodes*penalty + 1e-6
		s, err := ground.New(m, ground.Config{Seed: 1, Stop: func(e float64) bool { return e < least }})
		require.NoError(t, err)
		require.NoError(t, s.Run(t.Context(), 50))
		_, e := s.Best()
		assert.Less(t, e, least, "penalty %v", penalty)
	}
}
