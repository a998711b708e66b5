package heap_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/heap"
)

// What is pushed leaves in order, and so does what was a slice.
func TestHeap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 6))
	before := func(a, b int) bool { return a < b }
	for range 300 {
		var pushed, made, want []int
		for range r.IntN(40) {
			x := r.IntN(20)
			pushed, made, want = heap.Push(pushed, x, before), append(made, x), append(want, x)
		}
		for i := len(made)/2 - 1; i >= 0; i-- {
			heap.Down(made, i, before)
		}
		slices.Sort(want)
		for _, x := range want {
			var a, b int
			pushed, a = heap.Pop(pushed, before)
			made, b = heap.Pop(made, before)
			require.Equal(t, []int{x, x}, []int{a, b})
		}
		require.Empty(t, pushed)
		require.Empty(t, made)
	}
}
