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

// Fix returns b, row-major, in fixed point, and origin, to which products are added. It
// keeps neither. It panics unless len(b) = k·n, with k, n ≥ 1, and len(origin) = n;
// numbers must be finite.
func Fix(b, origin []float32, n, k int) *Fixed {
	checkLen("b", len(b), k*n)
	checkLen("origin", len(origin), n)
	wide := (n + 2*fixedColumns - 1) / (2 * fixedColumns) * (2 * fixedColumns)
	f := &Fixed{n: n, k: k, scale: make([]float32, wide), origin: make([]float32, wide)}
	f.panels = make([]int16, wide*f.Words())
	copy(f.origin, origin)
	units := fixedUnits(b, n, k)
	for j, u := range units {
		f.scale[j] = float32(math.Ldexp(u, -fixedPlaces))
	}
	for l := range k {
		for j, v := range b[l*n : (l+1)*n] {
			f.panels[f.at(l, j)] = int16(fixedInteger(v, units[j]))
		}
	}
	return f
}

// fixedInteger returns v in whole units, a power of two that is not less than 2⁻¹⁰⁰.
func fixedInteger(v float32, unit float64) float64 {
	return math.RoundToEven(float64(v) / unit)
}

// fixedUnits returns u_j. It goes by rows, as the entries lie.
func fixedUnits(b []float32, n, k int) []float64 {
	units, sum, most := make([]float64, n), make([]float64, n), make([]float64, n)
	count := func(of func(v float32, j int) float64) {
		clear(sum)
		clear(most)
		for l := range k {
			for j, v := range b[l*n : (l+1)*n] {
				a := math.Abs(of(v, j))
				sum[j], most[j] = sum[j]+a, max(most[j], a)
			}
		}
	}
	count(func(v float32, _ int) float64 { return float64(v) })
	for j := range units {
		e := -100
		if most[j] > 0 {
			_, e = math.Frexp(max(sum[j]/fixedSum, most[j]/math.MaxInt16))
		}
		units[j] = math.Ldexp(1, max(e-1, -100))
	}
	for more := true; more; { // twice at most: rounding may want one more
		more = false
		count(func(v float32, j int) float64 { return fixedInteger(v, units[j]) })
		for j := range units {
			if sum[j] > fixedSum || most[j] > math.MaxInt16 {
				units[j], more = 2*units[j], true
			}
		}
	}
	return units
}

// at returns the place of an entry.
func (f *Fixed) at(l, j int) int {
	return j/fixedColumns*fixedColumns*f.Words() + (l/2*fixedColumns+j%fixedColumns)*2 + l%2
}

// Words returns how many entries a row of the other factor has: k or, if that is odd, one
// more, which has no effect.
func (f *Fixed) Words() int { return f.k + f.k&1 }

// Unit returns u_j.
func (f *Fixed) Unit(j int) float64 { return math.Ldexp(float64(f.scale[j]), fixedPlaces) }
