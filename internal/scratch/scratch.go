// Package scratch lends buffers, for the duration of a call, to values that goroutines
// share.
package scratch

import (
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/padded"
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
		b = padded.New([]T(nil))
	}
	if cap(*b) < n {
		*b = padded.Make[T](n)
	}
	*b = (*b)[:n]
	return b
}

// Put takes a buffer back.
func (s *Pool[T]) Put(b *[]T) { s.pool.Put(b) }

// Stock lends values that are expensive to make, and keeps all values that are returned.
// The zero value is empty. It is safe for concurrent use.
type Stock[T any] struct {
	mu   sync.Mutex
	idle []*T
}

// Take returns a value that is not in use: a returned one, as its last user left it, or a
// new one from fresh.
func (s *Stock[T]) Take(fresh func() *T) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.idle)
	if n == 0 {
		return fresh()
	}
	v := s.idle[n-1]
	s.idle = s.idle[:n-1]
	return v
}

// Give returns a value to s.
func (s *Stock[T]) Give(v *T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, v)
}
