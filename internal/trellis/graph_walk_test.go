package trellis

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGraphAsAutomaton: unrolling a graph again changes nothing.
func TestGraphAsAutomaton(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	for range 500 {
		p := newInstance(r)
		g, err := Compile(context.Background(), p.a, p.config)
		if err != nil {
			continue
		}
		again, err := Compile(context.Background(), g, Config{Sites: p.config.Sites, Levels: p.config.Levels})
		require.NoError(t, err)
		require.Equal(t, number(t, g, nil), number(t, again, nil))
		require.Equal(t, g.States(), again.States())
		all, _ := p.brute()
		for _, s := range all {
			require.True(t, again.Accepts(s.x))
		}
		require.Equal(t, none, g.Next(g.States()-1, 0))
	}
}
