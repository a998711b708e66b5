package simd

// SigmoidTo stores dst[i] = 1/(1+e^−src[i]) with an error below 3.5 ulp. The result is exactly 0
// for src[i] < −87.3. The slice dst may be src. SigmoidTo panics unless len(dst) = len(src).
func SigmoidTo(dst, src []float32) {
	checkLen("dst", len(dst), len(src))
	sigmoid(dst, src)
}

// Slope replaces every entry σ of s by the derivative σ − σ², where σ² is rounded to float32. The
// entries are results of [SigmoidTo].
func Slope(s []float32) { pull(s, s, s, 0, -1) }

func refSigmoid(dst, src []float32) {
	for i, v := range src {
		dst[i] = sigmoid32(v)
	}
}

// GELU stores dst[i] = x·σ(u(x)) for x = src[i]. This is the tanh form of the Gaussian error linear
// unit (Hendrycks and Gimpel 2016). Here u(x) = 2·√(2/π)·(x + 0.044715·x³), with every operation
// rounded to float32, and σ is the logistic function as computed by [SigmoidTo]. The slice dst may
// be src. GELU panics unless len(dst) = len(src).
func GELU(dst, src []float32) {
	checkLen("dst", len(dst), len(src))
	gelu(dst, src)
}

// GELUSlope multiplies d[i] by the derivative of [GELU] at x[i]. In the notation of GELU, this is σ
// + x·u′·σ·(1−σ) with σ = σ(u(x)). GELUSlope panics unless len(d) = len(x).
func GELUSlope(d, x []float32) {
	checkLen("d", len(d), len(x))
	geluSlope(d, x)
}

// Constants of GELU: 2·√(2/π) and the coefficient of the cube.
const (
	geluScale = 1.5957691216057308 // 2·√(2/π), the scale of the argument u of GELU
	geluCubic = 0.044715           // coefficient of the cube in the argument u of GELU
)

// geluArgument returns u(x) and x².
func geluArgument(x float32) (u, square float32) {
	square = float32(x * x)
	return geluScale * float32(x+float32(float32(geluCubic*square)*x)), square
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
		rise := float32(geluScale*float32(1+float32(3*geluCubic*square))) * v
		d[i] *= s + float32(rise*float32(s*(1-s)))
	}
}
