package simd

import "math"

// The definitions, in plain Go, of the bits that every backend of fixed.go gives.

func refFixedGemm(c []float32, a []int16, f *Fixed, m int) {
	words := f.Words()
	for j := 0; j < f.n; j += fixedColumns {
		panel, cols := f.panels[j*words:(j+fixedColumns)*words], min(fixedColumns, f.n-j)
		for i := 0; i < m; i += len(fixedSums{}) {
			var sums fixedSums
			rows := min(m-i, len(sums))
			for l := 0; l < words; l += len(fixedPart{}) {
				var part fixedPart
				n := min(words-l, len(part))
				for k := range n {
					part.pack(k, panel[(l+k)/2*2*fixedColumns+k%2:])
				}
				for k := range rows {
					sums.add(k, a[(i+k)*words+l:][:n], &part)
				}
			}
			for k := range rows {
				var row [fixedColumns]int32
				sums.apart(&row, k)
				refFixedRow(c[(i+k)*f.n+j:][:cols], row[:], f.scale[j:j+cols], f.origin[j:j+cols])
			}
		}
	}
}

// Two integers of 32 bits are in one of 64, the second 2³² times: a multiplication
// serves both, and sums that fit come apart again.
type (
	fixedSums [32][fixedColumns / 2]int64 // of rows
	fixedPart [64][fixedColumns / 2]int64 // rows of a panel
)

// pack makes row k of the columns that begin at b.
func (p *fixedPart) pack(k int, b []int16) {
	for l := range p[k] {
		p[k][l] = int64(b[4*l]) + int64(b[4*l+2])<<32
	}
}

// add adds the products of a row.
func (s *fixedSums) add(k int, row []int16, p *fixedPart) {
	for l := 0; l < fixedColumns/2; l += 4 {
		sum := (*[4]int64)(s[k][l:])
		t, u, v, w := sum[0], sum[1], sum[2], sum[3]
		for i, a := range row {
			x, b := int64(a), (*[4]int64)(p[i&(len(p)-1)][l:])
			t += x * b[0]
			u += x * b[1]
			v += x * b[2]
			w += x * b[3]
		}
		*sum = [4]int64{t, u, v, w}
	}
}

// apart stores the sums of a row.
func (s *fixedSums) apart(row *[fixedColumns]int32, k int) {
	for l, v := range s[k] {
		low := int32(v)
		row[2*l], row[2*l+1] = low, int32((v-int64(low))>>32)
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
