package ground_test

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler/ground"
)

// Binary words that differ in at least four places, as independent sets of the graph of nearer
// words: the largest code of eight bits has 16 words, that of ten bits 40 (A(8,4), A(10,4)). A
// random state violates dozens of bonds per site, a good one none.
func TestPenalties(t *testing.T) {
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
		s, err := ground.New(m, ground.Config{Seed: 1, Stop: func(e float64) bool { return e == -float64(c.most) }})
		require.NoError(t, err)
		require.NoError(t, s.Run(t.Context(), 30))
		_, e := s.Best()
		assert.Equal(t, -float64(c.most), e, "%d bits, penalty %v, %d rounds", c.bits, c.penalty, s.Len())
	}
}
