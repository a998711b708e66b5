package simd

import "math"

// The definitions, in plain Go, of the bits that every backend of fixed.go gives.

func refFixedGemm(c []float32, a []int16, f *Fixed, m int) {
	words := f.Words()
	for j := 0; j < f.n; j += fixedColumns {
		panel, cols := f.panels[j*words:(j+fixedColumns)*words], min(fixedColumns, f.n-j)
		scale, origin := f.scale[j:j+cols], f.origin[j:j+cols]
		for i := range m {
			var sums [fixedColumns]int32
			row, b := a[i*words:(i+1)*words], panel
			for len(row) >= 2 && len(b) >= 2*fixedColumns {
				x, y := int32(row[0]), int32(row[1])
				pairs := (*[2 * fixedColumns]int16)(b)
				for l := range sums {
					sums[l] += x*int32(pairs[2*l]) + y*int32(pairs[2*l+1])
				}
				row, b = row[2:], b[2*fixedColumns:]
			}
			refFixedRow(c[i*f.n+j:][:cols], sums[:], scale, origin)
		}
	}
}

// refFixedRow stores what sums stand for in a row.
func refFixedRow(c []float32, sums []int32, scale, origin []float32) {
	for l := range c {
		c[l] = origin[l] + float32(float32(sums[l])*scale[l])
	}
}

func refLogisticWords(dst []int16, src []float32) {
	for i, v := range src {
		dst[i] = fixedWord(sigmoid32(v))
	}
}

// fixedWord returns s − ½ in units of 2⁻¹³, and 0 for NaN.
func fixedWord(s float32) int16 {
	if s != s {
		return 0
	}
	return int16(math.RoundToEven(float64(float32(s*(1<<fixedPlaces)) - 1<<(fixedPlaces-1))))
}
