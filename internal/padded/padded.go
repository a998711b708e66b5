// Package padded allocates values that share no cache line with others. Use it for values
// that one goroutine writes frequently while others work: small values allocated one after
// the other lie side by side, and cores that write to the same cache line wait for each
// other.
package padded

import "unsafe"

// line is what processors exchange: a cache line and the one fetched with it.
const line = 128

// Make returns n zeros.
func Make[T any](n int) []T {
	size := max(1, int(unsafe.Sizeof(*new(T))))
	gap := (line + size - 1) / size
	s := make([]T, gap+n+gap)
	return s[gap : gap+n : gap+n]
}

// New returns a copy of v.
func New[T any](v T) *T {
	s := Make[T](1)
	s[0] = v
	return &s[0]
}
