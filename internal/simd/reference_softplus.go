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
	dst = dst[:len(idx)]
	for i, j := range idx {
		x := float64(w[j]) - shift
		if !(x >= expCut64 && x <= expTop64) {
			dst[i] = expOutside(x)
			continue
		}
		// x = n·(ln 2)/16 + r; the low bits of t are n.
		t := float64(x*exp16) + 0x1.8p52
		r := x - float64((t-0x1.8p52)*ln2By16)
		q := float64(r*(1./120)) + 1./24
		q = float64(q*r) + 1./6
		q = float64(q*r) + 1./2
		q = float64(q*r) + 1
		q = float64(q*r) + 1
		n := math.Float64bits(t)
		dst[i] = q * math.Float64frombits(sixteenths[n&15]+n<<48)
	}
}

// expOutside is ExpGather where e^x is 0, overflows or is not a number.
func expOutside(x float64) float64 {
	if x < expCut64 {
		return 0
	}
	return Exp(x)
}

// Constants of ExpGather.
const (
	expCut64 = -708 // e^−708 is normal
	expTop64 = 709
	exp16    = 0x1.71547652b82fep+4 // 16/ln 2
	ln2By16  = 0x1.62e42fefa39efp-5
)

// sixteenths are the bits of 2^(j/16) less j·2⁴⁸: adding n·2⁴⁸ with n = 16k + j
// gives those of 2^(k + j/16).
var sixteenths = [16]uint64{
	0x3ff0000000000000, 0x3fefb5586cf9890f, 0x3fef72b83c7d517b, 0x3fef387a6e756238,
	0x3fef06fe0a31b715, 0x3feedea64c123422, 0x3feebfdad5362a27, 0x3feeab07dd485429,
	0x3feea09e667f3bcd, 0x3feea11473eb0187, 0x3feeace5422aa0db, 0x3feec49182a3f090,
	0x3feee89f995ad3ad, 0x3fef199bdd85529c, 0x3fef5818dcfba487, 0x3fefa4afa2a490da,
}
