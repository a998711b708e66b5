package trellis

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// parity returns the automaton of sequences with an even number of tokens from
// the second of two classes of equal size, spread over the vocabulary.
func parity(r *rand.Rand, levels int) *table {
	a := &table{levels: levels, next: make([]int, 2*levels), accepting: []bool{true, false}}
	for i, v := range r.Perm(levels) {
		odd := i % 2
		a.next[v], a.next[levels+v] = odd, 1-odd
	}
	return a
}

// BenchmarkTwoClasses is one draw where classes are large, from a table of which
// nothing is known, half and all.
func BenchmarkTwoClasses(b *testing.B) {
	const sites, levels = 128, 32768
	r := rand.New(rand.NewPCG(1, 1))
	g, err := Compile(context.Background(), parity(r, levels), Config{Sites: sites, Levels: levels})
	require.NoError(b, err)
	run := NewRunner(g)
	v, x := make([]float32, sites*levels), make([]int32, sites)
	for _, shown := range []int{0, sites / 2, sites} {
		for i := range v {
			v[i] = 2 * float32(r.NormFloat64())
			if i/levels < shown {
				v[i] = float32(math.Inf(-1))
			}
		}
		for i := range shown {
			v[i*levels+7] = 0
		}
		b.Run(fmt.Sprintf("shown=%d/filter", shown), func(b *testing.B) {
			for b.Loop() {
				_, _ = run.Filter(v)
			}
		})
		b.Run(fmt.Sprintf("shown=%d/both", shown), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = run.Filter(v)
				run.Draw(x, r)
			}
		})
	}
	var tables [4][]float32 // no row is that of the draw before
	for k := range tables {
		tables[k] = make([]float32, len(v))
		for i := range v {
			tables[k][i] = 2 * float32(r.NormFloat64())
		}
	}
	b.Run("fresh/both", func(b *testing.B) {
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			_, _ = run.Filter(tables[n%len(tables)])
			run.Draw(x, r)
		}
	})
}

// BenchmarkUnlikely is one Filter and one Draw from a language that the weights
// are at odds with: half of the classes may be read in one state alone, and the
// weights favour those classes by more and more.
func BenchmarkUnlikely(b *testing.B) {
	const sites, levels, states, classes = 128, 32768, 40, 256
	r := rand.New(rand.NewPCG(1, 1))
	a := classy(r, states, levels, classes)
	class := map[int]int{} // by the state that a token leads to from 0 and 1
	odd := make([]bool, levels)
	for v := range levels {
		key := a.next[v]*states + a.next[levels+v]
		if _, ok := class[key]; !ok {
			class[key] = len(class)
		}
		if odd[v] = class[key]%2 == 0; odd[v] {
			for s := range states - 1 {
				a.next[s*levels+v] = none
			}
			a.next[(states-1)*levels+v] = v % (states - 1)
		}
	}
	g, err := Compile(context.Background(), a, Config{Sites: sites, Levels: levels})
	require.NoError(b, err)
	run := NewRunner(g)
	v, w, x := make([]float32, sites*levels), make([]float32, sites*levels), make([]int32, sites)
	for i := range v {
		v[i] = 2 * float32(r.NormFloat64())
	}
	for _, favour := range []float32{-4, 0, 4, 8, 16, 40, 120, 1000} {
		for i := range v {
			w[i] = v[i]
			if odd[i%levels] {
				w[i] += favour
			}
		}
		logP, err := run.Filter(w)
		require.NoError(b, err)
		for t := range sites {
			_, z := softmax(w[t*levels : (t+1)*levels])
			logP -= z
		}
		b.Run(fmt.Sprintf("logP=%.0f", logP), func(b *testing.B) {
			for b.Loop() {
				_, _ = run.Filter(w)
				run.Draw(x, r)
			}
		})
	}
}

func softmax(row []float32) (p []float64, logZ float64) {
	top, sum := math.Inf(-1), 0.0
	for _, w := range row {
		top = max(top, float64(w))
	}
	for _, w := range row {
		p = append(p, math.Exp(float64(w)-top))
		sum += p[len(p)-1]
	}
	return p, top + math.Log(sum)
}
