// Package weighted adds vectors of energies and of their differences, some of which may
// be infinite.
package weighted

// Add adds c·b to a; where a is infinite it stays so.
func Add[T float32 | float64](a, b []T, c float64) {
	a = a[:len(b)]
	if c == 1 { // the same bits with fewer roundings to look at
		for i, v := range b {
			if finite(a[i]) {
				a[i] += v
			}
		}
		return
	}
	for i, v := range b {
		if finite(a[i]) {
			a[i] = T(float64(a[i]) + float64(c*float64(v)))
		}
	}
}

// finite reports whether v is neither infinite nor NaN, which sums and products leave as it is.
func finite[T float32 | float64](v T) bool { return v-v == 0 }

// Scale multiplies v by c; infinities stay what they are.
func Scale[T float32 | float64](v []T, c float64) {
	if c == 1 {
		return
	}
	for i, a := range v {
		if finite(a) {
			v[i] = T(float64(a) * c)
		}
	}
}

// Dot returns Σ a_j b_j, 0·b being 0 whatever b is.
func Dot(a, b []float64) float64 {
	sum := 0.0
	for j, v := range a {
		if v != 0 {
			sum += float64(v * b[j])
		}
	}
	return sum
}
