package energy

import "sync"

// slab lends scratch slices to the methods of a model, which several goroutines
// call at once. The zero value is ready. Slices come back as they were left.
type slab[T any] struct{ pool sync.Pool }

// get returns a slice of length n, to be given back with put.
func (s *slab[T]) get(n int) *[]T {
	b, ok := s.pool.Get().(*[]T)
	if !ok {
		b = new([]T)
	}
	if cap(*b) < n {
		*b = make([]T, n)
	}
	*b = (*b)[:n]
	return b
}

// put takes back what get returned.
func (s *slab[T]) put(b *[]T) { s.pool.Put(b) }
