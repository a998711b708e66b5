// Package scratch lends buffers, for the duration of a call, to values that goroutines
// share.
package scratch

import (
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/apart"
)

// Buffers by element type. Their contents are unspecified.
var (
	Int32s   Pool[int32]
	Float32s Pool[float32]
	Float64s Pool[float64]
)

// Pool lends buffers. It is safe for concurrent use.
type Pool[T any] struct{ pool sync.Pool }

// Get returns a buffer of n entries; give it back with [Pool.Put].
func (s *Pool[T]) Get(n int) *[]T {
	b, _ := s.pool.Get().(*[]T)
	if b == nil {
		b = apart.New([]T(nil))
	}
	if cap(*b) < n {
		*b = apart.Make[T](n)
	}
	*b = (*b)[:n]
	return b
}

// Put takes a buffer back.
func (s *Pool[T]) Put(b *[]T) { s.pool.Put(b) }
