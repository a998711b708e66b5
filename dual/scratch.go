package dual

import "sync"

// Scratch of models that several goroutines use at once. Buffers hold whatever
// their last user left.
var (
	int32s   scratch[int32]
	float32s scratch[float32]
	float64s scratch[float64]
)

// scratch is a pool of buffers.
type scratch[T any] struct{ pool sync.Pool }

// get returns a buffer of n entries; give it back with put.
func (s *scratch[T]) get(n int) *[]T {
	b, _ := s.pool.Get().(*[]T)
	if b == nil {
		b = new([]T)
	}
	if cap(*b) < n {
		*b = make([]T, n)
	}
	*b = (*b)[:n]
	return b
}

func (s *scratch[T]) put(b *[]T) { s.pool.Put(b) }
