package neural

import "math"

// DType is how a .safetensors file stores the numbers of a tensor.
type DType string

// The types that are read and written.
const (
	F32  DType = "F32"
	F16  DType = "F16"
	BF16 DType = "BF16"
)

// size returns the bytes of a number; 0 for a type that is not known.
func (d DType) size() int {
	switch d {
	case F32:
		return 4
	case F16, BF16:
		return 2
	}
	return 0
}

// fromHalf returns an IEEE 754 binary16 number.
func fromHalf(h uint16) float32 {
	sign, e, m := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	switch {
	case e == 31:
		return math.Float32frombits(sign | 0xff<<23 | m<<13)
	case e > 0:
		return math.Float32frombits(sign | (e+112)<<23 | m<<13)
	}
	f := float32(m) * 0x1p-24
	return math.Float32frombits(sign | math.Float32bits(f))
}

// toHalf rounds to the nearest binary16 number, ties to even; too large ones
// become infinite.
func toHalf(f float32) uint16 {
	b := math.Float32bits(f)
	sign, a := uint16(b>>16&0x8000), b&0x7fffffff
	switch {
	case a > 0x7f800000:
		return sign | 0x7e00
	case a >= 0x477ff000: // 65520 and above
		return sign | 0x7c00
	case a < 0x38800000: // below 2⁻¹⁴: a multiple of 2⁻²⁴
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(a))*0x1p24))
	}
	a += 0xfff + a>>13&1 // round; a carry goes into the exponent
	return sign | uint16((a-112<<23)>>13)
}

// toBrain rounds to the nearest bfloat16 number, ties to even.
func toBrain(f float32) uint16 {
	b := math.Float32bits(f)
	if f != f {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}
