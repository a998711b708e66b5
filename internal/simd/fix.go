package simd

import "math"

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
