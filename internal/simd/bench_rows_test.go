package simd

import (
	"fmt"
	"testing"
)

func BenchmarkRows(b *testing.B) {
	for _, s := range [][2]int{{64, 512}, {1024, 40}, {1024, 2}, {32, 50257}, {4, 50000}} {
		rows, cols := s[0], s[1]
		w := randomFloats(1, rows*cols)
		p, total, u, idx := make([]float32, len(w)), make([]float64, rows), make([]float64, rows), make([]int32, rows)
		v, noise, grad, padded := randomFloats(4, len(w)), make([]float32, len(w)), make([]float32, len(w)), make([]uint32, (len(w)+63)/64*64)
		bits := padded[:len(w)]
		r := newRand(2)
		for i := range bits {
			bits[i] = r.Uint32()
		}
		for i := range u {
			u[i] = r.Float64()
		}
		group, words := uint64(0), make([]uint32, (2*rows+63)/64*64)
		fresh := func(words []uint32) {
			group += uint64(len(words) / 64)
			Philox(words, 1, 2, group)
		}
		for _, k := range []struct {
			name string
			f    func()
		}{
			{"Weights", func() { Weights(p, total, w, cols, 0) }},
			{"Softmax", func() { Softmax(p, w, cols) }},
			{"LogSoftmax", func() { LogSoftmax(p, w, cols) }},
			{"LogSumExp", func() { LogSumExp(total, w, cols) }},
			{"Categorical", func() { Categorical(idx, w, cols, u) }},
			{"FreshCategorical", func() { // a search that has not been made before
				fresh(words)
				Unit64(u, words[:2*rows])
				Categorical(idx, w, cols, u)
			}},
			{"Entropy", func() { Entropy(total, w, cols) }},
			{"GumbelSoftmax", func() {
				fresh(padded)
				Gumbel(noise, bits)
				GumbelSoftmax(p, w, noise, cols, 0.5)
				SoftmaxPull(grad, p, v, cols, 2)
			}},
			{"ArgMax", func() { ArgMax(idx, w, cols) }},
		} {
			onEach(b, fmt.Sprintf("%s/%dx%d", k.name, rows, cols), func(b *testing.B) {
				if best == purego && !testing.Verbose() {
					b.Skip("the reference is slow: -v shows it")
				}
				for b.Loop() {
					k.f()
				}
				perElement(b, len(w), 8)
			})
		}
	}
}
