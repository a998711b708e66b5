// Package heap implements a binary heap in a slice h. The caller's function before(x, y) defines
// the order: it reports whether x must leave the heap before y. No element comes before h[0]. The
// order of tied elements depends only on the sequence of pushes and pops.
package heap

// Push adds x to the heap h and returns the extended slice.
func Push[T any](h []T, x T, before func(a, b T) bool) []T {
	h = append(h, x)
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !before(h[i], h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	return h
}

// Pop removes the first element of h. It returns the shortened slice and the removed element. The
// heap must not be empty.
func Pop[T any](h []T, before func(a, b T) bool) ([]T, T) {
	x, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	Down(h, 0, before)
	return h, x
}

// Down restores the heap order below element i, by moving the element down as far as necessary.
// Calling it for every i from the middle of a slice down to 0 turns the slice into a heap.
func Down[T any](h []T, i int, before func(a, b T) bool) {
	for {
		down := 2*i + 1
		if down >= len(h) {
			return
		}
		if down+1 < len(h) && before(h[down+1], h[down]) {
			down++
		}
		if !before(h[down], h[i]) {
			return
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
}
