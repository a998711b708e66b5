package simd

// Polar replaces squared radii of points in the unit disc, 2⁻¹⁰⁰⁰ ≤ r < 1, by the
// factors √(−2·log(r)/r) that make two normal numbers of a point (Marsaglia and Bray
// 1964), with the bits of [Log]. Of other numbers it leaves something.
func Polar(r []float64) {
	if len(r) > 0 {
		polar(r)
	}
}
