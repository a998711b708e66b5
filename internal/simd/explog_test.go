package simd

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestExp32 sweeps one in 129 of all arguments down to the cut-off.
func TestExp32(t *testing.T) {
	worst := 0.0
	for b := uint32(1 << 31); ; b += 129 {
		x := math.Float32frombits(b)
		if x < expCut {
			break
		}
		worst = max(worst, ulps32(exp32(x), math.Exp(float64(x))))
	}
	t.Logf("exp32: %.3f ulp", worst)
	assert.Less(t, worst, 2.5)

	inf := float32(math.Inf(1))
	assert.Equal(t, float32(1), exp32(0))
	assert.Equal(t, float32(0), exp32(-inf))
	assert.Equal(t, float32(0), exp32(math.Nextafter32(expCut, -inf)))
	assert.GreaterOrEqual(t, exp32(expCut), float32(0x1p-126), "no denormals")
	assert.True(t, isNaN32(exp32(float32(math.NaN()))))
}

func TestSigmoid32(t *testing.T) {
	worst := 0.0
	for b := uint32(0); b < 1<<31; b += 257 {
		x := math.Float32frombits(b)
		if x > 87 {
			break
		}
		for _, x := range []float32{x, -x} {
			worst = max(worst, ulps32(sigmoid32(x), 1/(1+math.Exp(-float64(x)))))
		}
	}
	t.Logf("sigmoid32: %.3f ulp", worst)
	assert.Less(t, worst, 3.5)
	inf := float32(math.Inf(1))
	assert.Equal(t, float32(1), sigmoid32(inf))
	assert.Equal(t, float32(0), sigmoid32(-inf))
	assert.True(t, isNaN32(sigmoid32(float32(math.NaN()))))
}

func isNaN32(x float32) bool { return x != x }

// ulps32 is |got − want| in units of the last place of want.
func ulps32(got float32, want float64) float64 {
	_, e := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(e-24, -149))
}

// ulpsBig is the float64 analogue with a reference of 200 bits.
func ulpsBig(got float64, want *big.Float) float64 {
	e := want.MantExp(nil)
	d := new(big.Float).SetPrec(200).Sub(big.NewFloat(got), want)
	f, _ := d.SetMantExp(d, -max(e-53, -1074)).Float64()
	return math.Abs(f)
}

func bigf(x float64) *big.Float { return new(big.Float).SetPrec(200).SetFloat64(x) }

// bigExp is e^x by its series after halving the argument.
func bigExp(x *big.Float) *big.Float {
	const halvings = 16
	r := bigf(0).SetMantExp(x, -halvings)
	sum, term := bigf(1), bigf(1)
	for k := 1; k < 24; k++ {
		term.Mul(term, r).Quo(term, bigf(float64(k)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// bigLog corrects math.Log once: log x = y + log(1+d), d = x·e^−y − 1.
func bigLog(x *big.Float) *big.Float {
	m := bigf(0)
	e := x.MantExp(m)
	mf, _ := m.Float64()
	y := bigf(math.Log(mf) + float64(e)*math.Ln2)
	d := bigf(0).Mul(x, bigExp(bigf(0).Neg(y)))
	d.Sub(d, bigf(1))
	d2 := bigf(0).Mul(d, d)
	d3 := bigf(0).Mul(d2, d)
	y.Add(y, d)
	y.Sub(y, d2.Quo(d2, bigf(2)))
	return y.Add(y, d3.Quo(d3, bigf(3)))
}

func TestScalarAccuracy(t *testing.T) {
	if raceEnabled {
		t.Skip("arithmetic of one goroutine: nothing for the race detector")
	}
	one := bigf(1)
	exp := func(x float64) *big.Float { return bigExp(bigf(x)) }
	add1 := func(b *big.Float) *big.Float { return bigf(0).Add(one, b) }
	for _, f := range []struct {
		name  string
		got   func(float64) float64
		want  func(float64) *big.Float
		bound float64
		skip  func(x float64) bool
	}{
		{"Exp", Exp, exp, 1, func(x float64) bool { return x > 709.7 || x < -745 }},
		{"Expm1", Expm1, func(x float64) *big.Float { return bigf(0).Sub(exp(x), one) }, 2,
			func(x float64) bool { return x > 709.7 || x < -38 || math.Abs(x) < 1e-15 }},
		{"Log", Log, func(x float64) *big.Float { return bigLog(bigf(x)) }, 1, func(x float64) bool { return x <= 0 }},
		{"Log1p", Log1p, func(x float64) *big.Float { return bigLog(add1(bigf(x))) }, 1,
			func(x float64) bool { return x <= -1 || math.Abs(x) < 1e-15 }},
		{"Sigmoid", Sigmoid, func(x float64) *big.Float { return bigf(0).Quo(one, add1(exp(-x))) }, 2,
			func(x float64) bool { return x < -700 || x > 700 }},
		{"Softplus", Softplus, func(x float64) *big.Float { return bigLog(add1(exp(x))) }, 2,
			func(x float64) bool { return x < -60 || x > 700 }},
	} {
		r := newRand(1)
		worst, at := 0.0, 0.0
		for i := range 30000 {
			x := r.NormFloat64()
			switch i % 5 {
			case 0:
				x *= 300
			case 1:
				x *= 10
			case 2:
				x = math.Ldexp(x, -r.IntN(60))
			case 3:
				x = math.Ldexp(x, r.IntN(2000)-1000)
			case 4:
				x = 1 + x*0.1
			}
			if f.skip(x) {
				continue
			}
			if u := ulpsBig(f.got(x), f.want(x)); u > worst {
				worst, at = u, x
			}
		}
		t.Logf("%s: %.3f ulp at %v", f.name, worst, at)
		assert.Less(t, worst, f.bound, "%s at %v", f.name, at)
	}
}

func TestScalarSpecial(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name string
		f    func(float64) float64
		x, y float64
	}{
		{"Exp", Exp, 0, 1}, {"Exp", Exp, inf, inf}, {"Exp", Exp, -inf, 0}, {"Exp", Exp, nan, nan},
		{"Exp", Exp, 710, inf}, {"Exp", Exp, -746.5, 0}, {"Exp", Exp, -745.14, 0},
		{"Exp", Exp, -745.1, math.SmallestNonzeroFloat64},
		{"Expm1", Expm1, 0, 0}, {"Expm1", Expm1, inf, inf}, {"Expm1", Expm1, -inf, -1}, {"Expm1", Expm1, nan, nan},
		{"Expm1", Expm1, -50, -1}, {"Expm1", Expm1, 5e-324, 5e-324}, {"Expm1", Expm1, 1e-20, 1e-20},
		{"Log", Log, 0, -inf}, {"Log", Log, 1, 0}, {"Log", Log, inf, inf}, {"Log", Log, -1, nan}, {"Log", Log, nan, nan},
		{"Log", Log, -inf, nan}, {"Log", Log, math.SmallestNonzeroFloat64, -744.4400719213812},
		{"Log1p", Log1p, 0, 0}, {"Log1p", Log1p, -1, -inf}, {"Log1p", Log1p, inf, inf}, {"Log1p", Log1p, -2, nan},
		{"Log1p", Log1p, nan, nan}, {"Log1p", Log1p, 5e-324, 5e-324}, {"Log1p", Log1p, -1e-20, -1e-20},
		{"Sigmoid", Sigmoid, 0, 0.5}, {"Sigmoid", Sigmoid, inf, 1}, {"Sigmoid", Sigmoid, -inf, 0}, {"Sigmoid", Sigmoid, nan, nan},
		{"Sigmoid", Sigmoid, 1000, 1}, {"Sigmoid", Sigmoid, -1000, 0},
		{"Softplus", Softplus, inf, inf}, {"Softplus", Softplus, -inf, 0}, {"Softplus", Softplus, nan, nan},
		{"Softplus", Softplus, 1000, 1000}, {"Softplus", Softplus, 0, math.Ln2},
	} {
		got := c.f(c.x)
		if c.y != c.y {
			require.True(t, got != got, "%s(%v) = %v", c.name, c.x, got)
		} else {
			require.Equal(t, c.y, got, "%s(%v)", c.name, c.x)
		}
	}
	require.True(t, math.Signbit(Expm1(math.Copysign(0, -1))))
	require.True(t, math.Signbit(Log1p(math.Copysign(0, -1))))
}

var sink float64

func BenchmarkScalar(b *testing.B) {
	for _, f := range []struct {
		name string
		f    func(float64) float64
	}{{"Exp", Exp}, {"Log", Log}, {"Log1p", Log1p}, {"Expm1", Expm1}, {"Sigmoid", Sigmoid}, {"Softplus", Softplus}} {
		b.Run(f.name, func(b *testing.B) {
			x := 0.1
			for b.Loop() {
				sink = f.f(x)
				x += 1e-6
			}
		})
	}
}

func TestLogAdd(t *testing.T) {
	never := math.Inf(-1)
	for _, c := range [][3]float64{{0, 0, math.Ln2}, {1, 3, math.Log(math.E + math.Exp(3))}, {-800, -801, -800 + math.Log1p(math.Exp(-1))}, {5, never, 5}, {never, never, never}, {0, -1e4, 0}} {
		for _, p := range [][2]float64{{c[0], c[1]}, {c[1], c[0]}} {
			if got := LogAdd(p[0], p[1]); got != c[2] {
				assert.InDelta(t, c[2], got, 1e-15*max(1, math.Abs(c[2])), "%v", p)
			}
		}
	}
}

func TestLogAdds(t *testing.T) {
	r := rand.New(rand.NewPCG(44, 1))
	inf := math.Inf(-1)
	dst, x := []float64{inf, inf, 1.5, 0, 1, -700, 40, 0}, []float64{inf, -2, inf, 0, -39.99, -700, 0, 800}
	for range 100000 {
		a := 50 * r.NormFloat64()
		dst, x = append(dst, a), append(x, a+float64(10*r.NormFloat64()))
	}
	got := slices.Clone(dst)
	LogAdds(got, x)
	for i, v := range got {
		want := LogAdd(dst[i], x[i])
		if !(v == want || math.Abs(v-want) <= max(3e-16, math.Abs(want)*0x1p-52)) {
			t.Fatalf("log(e^%v + e^%v) = %v, want %v", dst[i], x[i], v, want)
		}
	}
}

func BenchmarkLogAdds(b *testing.B) {
	r := rand.New(rand.NewPCG(44, 2))
	dst, x := make([]float64, 1<<12), make([]float64, 1<<12)
	for i := range x {
		x[i], dst[i] = 5*r.NormFloat64(), 5*r.NormFloat64()
	}
	for b.Loop() {
		LogAdds(dst, x)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x)), "ns/entry")
}
