package simd

// The definitions, in plain Go, of the bits that every backend of softmax.go gives.

import "math"

func refLogSumExp(dst []float64, w []float32, cols int) {
	for r := range dst {
		row := w[r*cols : (r+1)*cols]
		m := rowMax(row)
		dst[r] = float64(m) + Log(weightTotal(row, m))
	}
}

// weightTotal returns the total of the weights e^(w−m).
func weightTotal(w []float32, m float32) float64 {
	var p [blockTerms]float32
	total := 0.0
	for i := 0; i < len(w); i += blockTerms {
		block := w[i:min(i+blockTerms, len(w))]
		weightBlock(p[:len(block)], block, m, 0)
		total += blockSum(p[:len(block)])
	}
	return total
}

func refSoftmax(dst, w []float32, cols int) {
	for i := 0; i < len(w); i += cols {
		p := dst[i : i+cols]
		total := weightRow(p, w[i:i+cols], 0)
		least, scale := softmaxScale(total)
		for j, v := range p {
			if v < least {
				p[j] = 0
			} else {
				p[j] = v * scale
			}
		}
	}
}

// softmaxScale returns the factor that normalises weights and the smallest
// weight that it keeps: its product is normal.
func softmaxScale(total float64) (least, scale float32) {
	return float32(total * 0x1p-125), float32(1 / total)
}

func refLogSoftmax(dst, w []float32, cols int) {
	for i := 0; i < len(w); i += cols {
		row := w[i : i+cols]
		m := rowMax(row)
		l := float32(Log(weightTotal(row, m)))
		for j, v := range row {
			dst[i+j] = (v - m) - l
		}
	}
}

func refArgMax(idx []int32, w []float32, cols int) {
	for r := range idx {
		best, at := float32(math.Inf(-1)), int32(-1)
		for j, v := range w[r*cols : (r+1)*cols] {
			if v != v {
				at = -1
				break
			}
			if v > best {
				best, at = v, int32(j)
			}
		}
		idx[r] = at
	}
}

// refWeightSegment is refWeights on a segment of a row, given its maximum; total
// is carried on.
func refWeightSegment(p, w []float32, m, floor float32, total *float64) {
	for i := 0; i < len(w); i += blockTerms {
		end := min(i+blockTerms, len(w))
		weightBlock(p[i:end], w[i:end], m, floor)
		*total += blockSum(p[i:end])
	}
}
