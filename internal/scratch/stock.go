package scratch

import "sync"

// Stock lends values that are expensive to make, and keeps all returned ones. The zero
// value is empty. It is safe for concurrent use.
type Stock[T any] struct {
	mu   sync.Mutex
	idle []*T
}

// Take returns a value that nobody else holds: a returned one, as its last user left it,
// or one from fresh.
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
