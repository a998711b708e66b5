package simd

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// csr returns a matrix with about degree entries a row, some rows empty.
func csr(seed uint64, rows, cols, degree int) (start, adj []int32, w []float64) {
	r := newRand(seed)
	start = []int32{0}
	for range rows {
		for range r.IntN(2*degree + 1) {
			adj = append(adj, r.Int32N(int32(cols)))
			w = append(w, r.NormFloat64())
		}
		start = append(start, int32(len(adj)))
	}
	return start, adj, w
}

func init() {
	for _, degree := range []int{3, 40} {
		start, raw, w := csr(uint64(degree), 20, 1<<30, degree)
		adj := make([]int32, len(raw))
		kernels[fmt.Sprintf("SparseField/%d", degree)] = func(a *arena, from, to int) {
			rows := min(to-from, 20)
			if rows == 0 {
				return
			}
			first := from % (21 - rows)
			for k, j := range raw {
				adj[k] = j % int32(to-from)
			}
			SparseField(a.d[0][from:from+rows], start[first:first+rows+1], adj, w, a.i[3][from:to])
		}
	}
}

func TestSparseField(t *testing.T) {
	start := []int32{1, 1, 4, 6}
	adj := []int32{9, 0, 2, 1, 2, 2, 9}
	w := []float64{9, 1.5, 2, -1, 4, 0.25, 9}
	x := []int32{2, 3, -5}
	dst := make([]float64, 3)
	SparseField(dst, start, adj, w, x)
	assert.Equal(t, []float64{0, 3 - 10 - 3, -20 - 1.25}, dst)
	assert.Panics(t, func() { SparseField(dst[:2], start, adj, w, x) })
	assert.Panics(t, func() { SparseField(dst, []int32{0, 2, 1, 3}, adj, w, x) })
	assert.Panics(t, func() { SparseField(dst, []int32{0, 2, 3, 8}, adj, w, x) })
	assert.Panics(t, func() { SparseField(dst, start, adj[1:], w, x) })
	// A row longer than one call.
	start, adj, w = csr(1, 3, 50, 60000)
	x = make([]int32, 50)
	for i := range x {
		x[i] = int32(i)
	}
	want := make([]float64, 3)
	refSparseField(want, start, adj, w, x)
	SparseField(dst, start, adj, w, x)
	assert.Equal(t, want, dst)
}

func BenchmarkSparse(b *testing.B) {
	for _, degree := range []int{4, 48} {
		start, adj, w := csr(1, 800, 800, degree)
		x, dst := make([]int32, 800), make([]float64, 800)
		for i := range x {
			x[i] = int32(i % 2)
		}
		onEach(b, fmt.Sprintf("Field/%d", degree), func(b *testing.B) {
			for b.Loop() {
				SparseField(dst, start, adj, w, x)
			}
			perElement(b, len(w), 16)
		})
	}
}
