package simd

import (
	"fmt"
	"math"
)

// FlipThresholds computes the probabilities t_i/2³¹ with which sites flip in the binary discrete
// Langevin proposal (Zhang, Liu and Liu 2022, Algorithm 2). The field of site i, with state x_i ∈
// {0,1}, is h_i = E(x_i=1) − E(x_i=0), where E is the energy. In float32,
//
//	Δ_i = h_i·(1−2x_i),  l_i = −beta·Δ_i − c_i,
//	t_i = min(max(⌊2³¹·σ(l_i)⌋, 1), 2³¹−2⁷),
//
// where σ is the logistic function with an error below 3.5 ulp. The integer t_i is 0 if l_i = −Inf
// (never flips) and −1 if l_i is NaN. The proposal of step size α has beta = ½ and c = 1/(2α).
// [Flip] draws with exactly the probabilities t_i/2³¹, so the Hastings ratio is exact.
//
// The slice c holds one entry for all sites or one per site. FlipThresholds panics unless len(t) =
// len(x) = len(h) and len(c) is 1 or len(h).
func FlipThresholds(t []int32, h []float32, x []int32, beta float32, c []float32) {
	checkLen("t", len(t), len(h))
	checkLen("x", len(x), len(h))
	if len(c) != 1 && len(c) != len(h) {
		panic(fmt.Sprintf("simd: len(c) = %d, want 1 or %d", len(c), len(h)))
	}
	if best < flipThresholdsLevel {
		refFlipThresholds(t, h, x, beta, c)
		return
	}
	for len(t) > 0 {
		n := min(len(t), runTerms)
		flipThresholdsRun(t[:n], h, x, -beta, c)
		t, h, x = t[n:], h[n:], x[n:]
		if len(c) > 1 {
			c = c[n:]
		}
	}
}

// Flip draws y from the state x: site i flips, that is, y_i = 1−x_i, with probability t_i/2³¹. It
// does so if ⌊bits_i/2⌋ < t_i. Flip returns the number of sites that flip and the log-probability
// of the draw,
//
//	logq = Σ_i log q_i(y_i),  q_i = t_i/2³¹ if y_i ≠ x_i, else 1 − t_i/2³¹,
//
// which is NaN if some t_i is negative. The error of logq is below 1e−15·(len(t) + |logq|). The
// slice y may be x. Flip panics unless all slices have the same length.
func Flip(y, x, t []int32, bits []uint32) (moved int, logq float64) {
	checkLen("y", len(y), len(t))
	checkLen("x", len(x), len(t))
	checkLen("bits", len(bits), len(t))
	for len(t) > 0 {
		n := min(len(t), flipBlockSites)
		m, q := flipBlock(y[:n], x[:n], t[:n], bits[:n])
		moved += m
		logq += q
		y, x, t, bits = y[n:], x[n:], t[n:], bits[n:]
	}
	return moved, logq
}

// FlipLogProb returns the log-probability with which [Flip] draws y from the state x, given t. This
// is logq in the notation of Flip. It is −Inf if a site with t_i = 0 flips, and NaN if some t_i is
// negative. It panics unless all slices have the same length.
func FlipLogProb(x, y, t []int32) (logq float64) {
	checkLen("x", len(x), len(t))
	checkLen("y", len(y), len(t))
	for len(t) > 0 {
		n := min(len(t), flipBlockSites)
		logq += flipLogProbBlock(x[:n], y[:n], t[:n])
		x, y, t = x[n:], y[n:], t[n:]
	}
	return logq
}

// flipBlockSites is the number of sites that share one logarithm; it is part of the definition of
// logq.
const flipBlockSites = 1 << 16

// flipOne represents probability 1 in a flip threshold.
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

// product multiplies integers f_i ≤ 2³¹ in 16 lanes of 53 bits and unbounded exponent. Rounding
// depends on mantissas only, so it does not matter when a lane is renormalised.
type product struct {
	lane [16]float64
	exp  int64
	nan  bool
	zero bool
}

// productRun is the number of factors that a lane multiplies between renormalisations: 2·(2³¹)³² <
// 2¹⁰²³.
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

// renorm scales lane j to [1, 2) and adds its exponent to p.exp.
func (p *product) renorm(j int) {
	b := math.Float64bits(p.lane[j])
	p.exp += int64(b>>52) - 1023
	p.lane[j] = math.Float64frombits(b&(1<<52-1) | 1023<<52)
}

// log returns log(Π f_i / 2^(31n)) for n factors f_i.
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

// flipSums is the result of the assembly of Flip and FlipLogProb. It holds the product of the
// mantissas of 16 lanes and the sum of their biased exponents over all renormalisations. The low
// half of the next word holds the bitwise OR of the thresholds. The low half of the word after that
// holds the smallest factor. The last word is the number of moves.
type flipSums [5]uint64

// log returns log(Π f_i / 2^(31n)), or the special values of product.log.
func (s *flipSums) log(n int) float64 {
	switch {
	case int32(s[2]) < 0:
		return math.NaN()
	case uint32(s[3]) == 0:
		return math.Inf(-1)
	}
	renorms := int64(n/(lanes*productRun) + 1)
	exp := int64(s[1]) - renorms*lanes*1023 - 31*int64(n)
	return float64(float64(exp)*math.Ln2) + Log(math.Float64frombits(s[0]))
}

// flipBlock computes Flip for up to flipBlockSites sites.
//
//go:noinline
func flipBlock(y, x, t []int32, bits []uint32) (moved int, logq float64) {
	if best < flipDrawLevel || len(t) == 0 {
		return refFlip(y, x, t, bits)
	}
	s := flipSums{3: 1}
	flipDrawRun((*[5]uint64)(&s), y, x, t, bits)
	return int(s[4]), s.log(len(t))
}

// flipLogProbBlock computes FlipLogProb for up to flipBlockSites sites.
//
//go:noinline
func flipLogProbBlock(x, y, t []int32) float64 {
	if best < flipScoreLevel || len(t) == 0 {
		return refFlipLogProb(x, y, t)
	}
	var s flipSums
	flipScoreRun((*[5]uint64)(&s), y, x, t)
	return s.log(len(t))
}
