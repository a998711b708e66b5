// Package weighted adds and scales vectors of energies or energy differences, whose entries may be
// infinite.
package weighted

// Add adds c·b to a, entry by entry. Infinite entries of a are not changed. See simd.AddFinite for
// float32.
func Add(a, b []float64, c float64) {
	a = a[:len(b)]
	for i, v := range b {
		if finite(a[i]) {
			a[i] += float64(c * v)
		}
	}
}

// finite reports whether v is neither infinite nor NaN.
func finite[T float32 | float64](v T) bool { return v-v == 0 }

// Scale multiplies the finite entries of v by c. Infinite entries are not changed.
func Scale[T float32 | float64](v []T, c float64) {
	switch {
	case c == 1:
		return
	case c > 0: // infinite entries stay what they are
		for i, a := range v {
			v[i] = T(float64(a) * c)
		}
		return
	}
	for i, a := range v {
		if finite(a) {
			v[i] = T(float64(a) * c)
		}
	}
}

// Dot returns Σ a_j b_j, where terms with a_j = 0 count as 0 even if b_j is infinite or NaN.
func Dot(a, b []float64) float64 {
	sum := 0.0
	for j, v := range a {
		if v != 0 {
			sum += float64(v * b[j])
		}
	}
	return sum
}
