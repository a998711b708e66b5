// Package scratch provides pools of buffers. They serve values that several goroutines share: a
// method of such a value borrows buffers from a pool while the method runs.
package scratch

import (
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/padded"
)

// Pools of buffers by element type. The contents of a buffer are unspecified.
var (
	Int32s   Pool[int32]   // pool of []int32
	Float32s Pool[float32] // pool of []float32
	Float64s Pool[float64] // pool of []float64
)

// Pool is a pool of buffers. It is safe for concurrent use.
type Pool[T any] struct{ pool sync.Pool }

// Get returns a buffer of n entries. Return it with [Pool.Put].
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

// Put returns a buffer to the pool.
func (s *Pool[T]) Put(b *[]T) { s.pool.Put(b) }

// Stock is a pool of values that are expensive to create. Unlike a sync.Pool, a Stock keeps all
// values that are returned to it. The zero value is empty. A Stock is safe for concurrent use.
type Stock[T any] struct {
	mu   sync.Mutex
	idle []*T
}

// Take removes a value from the stock and returns it, in the state in which its last user left it.
// If the stock is empty, Take returns the result of create, which is a new value.
func (s *Stock[T]) Take(create func() *T) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.idle)
	if n == 0 {
		return create()
	}
	v := s.idle[n-1]
	s.idle = s.idle[:n-1]
	return v
}

// Give returns a value to the stock.
func (s *Stock[T]) Give(v *T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, v)
}
