package scratch

import "sync"

// Stock lends values that are dear to make, and keeps all that come back. The zero
// value is empty. It is safe for concurrent use.
type Stock[T any] struct {
	mu   sync.Mutex
	idle []*T
}

// Take returns a value that nobody else has: one that came back, as its last user
// left it, or what fresh makes.
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

// Give takes a value back.
func (s *Stock[T]) Give(v *T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, v)
}
