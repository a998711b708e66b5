package simd

// The definitions, in plain Go, of the bits that every backend of flip.go gives.

import (
	"math"
)

// flipBlockSites is how many sites share one logarithm; it is part of the
// definition of logq.
const flipBlockSites = 1 << 16

// flipOne is the integer that stands for probability 1 in a flip threshold.
const flipOne = 1 << 31

func refFlipThresholds(t []int32, h []float32, x []int32, beta float32, c []float32) {
	ci := float32(0)
	if len(c) == 1 {
		ci = c[0]
	}
	for i := range t {
		if len(c) > 1 {
			ci = c[i]
		}
		t[i] = flipThreshold(h[i], x[i], beta, ci)
	}
}

func flipThreshold(h float32, x int32, beta, c float32) int32 {
	delta := math.Float32frombits(math.Float32bits(h) ^ uint32(x)<<31)
	logit := float32(-beta*delta) - c
	switch {
	case logit != logit:
		return -1
	case logit < -math.MaxFloat32:
		return 0
	}
	p := min(sigmoid32(logit)*flipOne, flipOne-1<<7)
	return max(int32(p), 1)
}

func refFlip(y, x, t []int32, bits []uint32) (moved int, logq float64) {
	acc := newProduct()
	for i, ti := range t {
		f := uint32(flipOne - int64(ti))
		yi := x[i]
		if int32(bits[i]>>1) < ti {
			yi = 1 - yi
			f = uint32(ti)
			moved++
		}
		y[i] = yi
		acc.mul(i, f, ti)
	}
	return moved, acc.log(len(t))
}

func refFlipLogProb(x, y, t []int32) float64 {
	acc := newProduct()
	for i, ti := range t {
		f := uint32(flipOne - int64(ti))
		if x[i] != y[i] {
			f = uint32(ti)
		}
		acc.mul(i, f, ti)
	}
	return acc.log(len(t))
}

// product multiplies integers f_i ≤ 2³¹ in 16 lanes of 53 bits and unbounded
// exponent. Rounding depends on mantissas only, so it does not matter when a
// lane is renormalised.
type product struct {
	lane [16]float64
	exp  int64
	nan  bool
	zero bool
}

// productRun is how many factors a lane takes between renormalisations:
// 2·(2³¹)³² < 2¹⁰²³.
const productRun = 32

func newProduct() product {
	var p product
	for j := range p.lane {
		p.lane[j] = 1
	}
	return p
}

func (p *product) mul(i int, f uint32, t int32) {
	if t < 0 {
		p.nan = true
		return
	}
	if f == 0 {
		p.zero = true
		return
	}
	p.lane[i%16] *= float64(f)
	if i/16%productRun == productRun-1 {
		p.renorm(i % 16)
	}
}

// renorm brings lane j to [1, 2).
func (p *product) renorm(j int) {
	b := math.Float64bits(p.lane[j])
	p.exp += int64(b>>52) - 1023
	p.lane[j] = math.Float64frombits(b&(1<<52-1) | 1023<<52)
}

// log returns log(Π f_i / 2^(31n)).
func (p *product) log(n int) float64 {
	switch {
	case p.nan:
		return math.NaN()
	case p.zero:
		return math.Inf(-1)
	}
	for j := range p.lane {
		p.renorm(j)
	}
	for half := 8; half > 0; half /= 2 {
		for j := range half {
			p.lane[j] *= p.lane[j+half]
		}
	}
	return float64(float64(p.exp-31*int64(n))*math.Ln2) + Log(p.lane[0])
}
