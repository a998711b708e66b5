package trellis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// classy returns a random automaton in which all states are alive, whose
// tokens form the given number of classes.
func classy(r *rand.Rand, states, levels, classes int) *table {
	a := &table{levels: levels, next: make([]int, states*levels), accepting: make([]bool, states)}
	class := make([]int, levels)
	for v := range class {
		class[v] = r.IntN(classes)
		if v < classes {
			class[v] = v
		}
	}
	for s := range states {
		a.accepting[s] = s%4 == 0
		to := make([]int, classes)
		for k := range to {
			to[k] = r.IntN(states)
		}
		for v, k := range class {
			a.next[s*levels+v] = to[k]
		}
	}
	return a
}

// BenchmarkFFBS is one Filter and one Draw.
func BenchmarkFFBS(b *testing.B) {
	for _, c := range []struct{ sites, levels, states, classes int }{
		{32, 40, 64, 40}, {128, 32768, 40, 256}, {32, 64, 8, 3},
	} {
		b.Run(fmt.Sprintf("sites=%d/levels=%d/states=%d/classes=%d", c.sites, c.levels, c.states, c.classes), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			g, err := Compile(context.Background(), classy(r, c.states, c.levels, c.classes), Config{Sites: c.sites, Levels: c.levels})
			require.NoError(b, err)
			run := NewRunner(g)
			v := make([]float32, c.sites*c.levels)
			for i := range v {
				v[i] = 2 * float32(r.NormFloat64())
			}
			x := make([]int32, c.sites)
			b.Run("filter", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, _ = run.Filter(v)
				}
			})
			b.Run("both", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, _ = run.Filter(v)
					run.Draw(x, r)
				}
			})
			b.Run("sums", func(b *testing.B) {
				run.v = v
				for b.Loop() {
					run.enter(summing)
					_ = run.allSums()
				}
			})
		})
	}
}

// BenchmarkCount is one Filter and one Draw of 25 two-level sites with exactly
// ten ones: the proposal of a constrained kernel.
func BenchmarkCount(b *testing.B) {
	const states = 12
	a := &table{levels: 2, accepting: make([]bool, states)}
	for s := range states {
		a.accepting[s] = s == 10
		a.next = append(a.next, s, min(s+1, states-1))
	}
	g, err := Compile(context.Background(), a, Config{Sites: 25, Levels: 2})
	require.NoError(b, err)
	run := NewRunner(g)
	r := rand.New(rand.NewPCG(1, 1))
	v, x := make([]float32, 50), make([]int32, 25)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = run.Filter(v)
		run.Draw(x, r)
	}
}
