package simd

import "math"

// Fixed is a factor b of k×n entries in fixed point, for products with numbers of
// −½ … ½ that have 13 binary places. What is rounded is b, by column,
//
//	B[l,j] = b[l,j]/u_j  to the nearest integer, even ones where two are as near,
//
// with u_j the smallest power of two, 2⁻¹⁰⁰ or more, with |B[l,j]| < 2¹⁵ and
// Σ_l |B[l,j]| < 2¹⁹. Products are exact sums of integers of 32 bits from there on, the
// same on every machine.
type Fixed struct {
	panels        []int16 // of sixteen columns, an even number of them: pairs of rows, column by column
	scale, origin []float32
	n, k          int
}

const (
	fixedColumns = 16
	fixedPlaces  = 13
	fixedSum     = 1<<19 - 1 // 2¹²·2¹⁹ = 2³¹
)

// at returns the place of an entry.
func (f *Fixed) at(l, j int) int {
	return j/fixedColumns*fixedColumns*f.Words() + (l/2*fixedColumns+j%fixedColumns)*2 + l%2
}

// Words returns how many entries a row of the other factor has: k or, if that is odd, one
// more, which has no effect.
func (f *Fixed) Words() int { return f.k + f.k&1 }

// Unit returns u_j.
func (f *Fixed) Unit(j int) float64 { return math.Ldexp(float64(f.scale[j]), fixedPlaces) }
