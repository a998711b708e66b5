package scratch

import "unsafe"

// line is what processors exchange: a cache line and the one fetched with it.
const line = 128

// Apart returns n zeros that share no cache line with other values. What one
// goroutine writes all the time belongs there if another one works beside it:
// small values made one after another lie side by side, and cores that write to
// the same line wait for each other.
func Apart[T any](n int) []T {
	var zero T
	gap := (line + int(unsafe.Sizeof(zero)) - 1) / max(1, int(unsafe.Sizeof(zero)))
	s := make([]T, gap+n+gap)
	return s[gap : gap+n : gap+n]
}

// Alone returns a copy of v that shares no cache line with other values.
func Alone[T any](v T) *T {
	s := Apart[T](1)
	s[0] = v
	return &s[0]
}
