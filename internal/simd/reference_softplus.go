package simd

// The definitions, in plain Go, of the bits that every backend of softplus.go gives.

import "math"

// softplusBlock is how many terms share a logarithm: the product of their
// factors in (1, 2] stays below 2⁵¹².
const softplusBlock = 512

func refSoftplusSum(x []float32) float64 {
	var positive [lanes]float64
	logs := 0.0
	for ; len(x) > 0; x = x[min(len(x), softplusBlock):] {
		product := [lanes]float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
		for i, v := range x[:min(len(x), softplusBlock)] {
			z := float64(v)
			if z > 0 {
				positive[i%lanes] += z
			}
			product[i%lanes] *= 1 + Exp(-math.Abs(z))
		}
		logs += Log(multiply(&product))
	}
	return halve(&positive) + logs
}

// multiply multiplies 16 lanes by halving.
func multiply(lane *[lanes]float64) float64 {
	for half := lanes / 2; half > 0; half /= 2 {
		for j := range half {
			lane[j] *= lane[j+half]
		}
	}
	return lane[0]
}

func refExpGather(dst []float64, w []float32, idx []int32, shift float64) {
	for i, j := range idx {
		dst[i] = Exp(float64(w[j]) - shift)
	}
}
