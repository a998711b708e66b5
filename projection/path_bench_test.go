package projection

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/stretchr/testify/require"
)

// BenchmarkNearest is the projection onto a random automaton with the given
// number of token classes.
func BenchmarkNearest(b *testing.B) {
	for _, c := range []struct{ sites, levels, states, classes int }{{32, 40, 64, 40}, {128, 32768, 40, 256}} {
		b.Run(fmt.Sprintf("sites=%d/levels=%d/states=%d/classes=%d", c.sites, c.levels, c.states, c.classes), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			next, accepting := make([]int32, c.states*c.levels), make([]bool, c.states)
			for s := range c.states {
				accepting[s] = s%4 == 0
				to := make([]int32, c.classes)
				for k := range to {
					to[k] = int32(r.IntN(c.states))
				}
				for v := range c.levels {
					next[s*c.levels+v] = to[v%c.classes]
				}
			}
			a, err := constraint.NewDFA(b.Context(), c.levels, next, accepting)
			require.NoError(b, err)
			e, err := Path{Language: a}.Compile(context.Background(), c.sites, c.levels)
			require.NoError(b, err)
			v, w := make([]float32, c.sites*c.levels), make([]float32, c.sites*c.levels)
			for i := range v {
				v[i] = 4 * float32(r.NormFloat64())
			}
			x := make([]int32, c.sites)
			b.ReportAllocs()
			for b.Loop() {
				copy(w, v)
				if _, err := e.Nearest(b.Context(), x, w); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
