package simd

// The definitions, in plain Go, of the bits that every backend of gelu.go gives.

// The constants of GELU: 2·√(2/π) and the coefficient of the cube.
const (
	geluSlope = 1.5957691216057308
	geluCubic = 0.044715
)

// geluArgument returns u(x) and x².
func geluArgument(x float32) (u, square float32) {
	square = float32(x * x)
	return geluSlope * float32(x+float32(float32(geluCubic*square)*x)), square
}

func refGELU(dst, src []float32) {
	for i, x := range src {
		u, _ := geluArgument(x)
		dst[i] = x * sigmoid32(u)
	}
}

func refGELUSlope(d, x []float32) {
	for i, v := range x {
		u, square := geluArgument(v)
		s := sigmoid32(u)
		rise := float32(geluSlope*float32(1+float32(3*geluCubic*square))) * v
		d[i] *= s + float32(rise*float32(s*(1-s)))
	}
}
