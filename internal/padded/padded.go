// Package padded allocates values that share no cache line with others. Use it for values that one
// goroutine writes often while other goroutines run. Small values that are allocated one after the
// other share cache lines. Cores that write to the same cache line wait for each other.
package padded

import "unsafe"

// line is the unit of sharing in bytes: a cache line and the adjacent one that processors fetch
// with it.
const line = 128

// Make returns a slice of n zero values that shares no cache line with other values.
func Make[T any](n int) []T {
	size := max(1, int(unsafe.Sizeof(*new(T))))
	gap := (line + size - 1) / size
	s := make([]T, gap+n+gap)
	return s[gap : gap+n : gap+n]
}

// New returns a pointer to a copy of v that shares no cache line with other values.
func New[T any](v T) *T {
	s := Make[T](1)
	s[0] = v
	return &s[0]
}
