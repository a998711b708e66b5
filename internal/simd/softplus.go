package simd

import (
	"math"
)

// SoftplusSum returns Σ_i log(1 + e^x_i), such as the sum over the hidden units of a restricted
// Boltzmann machine. It computes in float64. With n terms, the error is below 1e−15·(n + Σ_i
// max(x_i, 0)).
func SoftplusSum(x []float32) float64 {
	if best < softplusLevel {
		return refSoftplusSum(x)
	}
	var positive [lanes]float64
	logs := 0.0
	for ; len(x) > 0; x = x[min(len(x), softplusBlock):] {
		product := [lanes]float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
		block := x[:min(len(x), softplusBlock)]
		n := len(block) &^ (lanes - 1)
		if n > 0 {
			softplusRun(&product, &positive, block[:n])
		}
		addSoftplus(&product, &positive, block[n:])
		logs += Log(multiply(&product))
	}
	return halve(&positive) + logs
}

// ExpGather stores dst[i] = e^(w[idx[i]] − shift) in float64. Results below e^−708 become 0. The
// relative error is below 3e−13 (TestExpGather). Rounding a weight to float32 causes a larger
// error. ExpGather takes half the time of [Exp]. Indices must be valid; they are not checked.
// ExpGather panics unless len(idx) = len(dst).
func ExpGather(dst []float64, w []float32, idx []int32, shift float64) {
	checkLen("idx", len(idx), len(dst))
	for best >= expGatherLevel && len(dst) >= 8 {
		n := min(len(dst)&^7, runTerms)
		if expGatherRun(dst[:n], w, idx, shift) != 0 {
			refExpGather(dst[:n], w, idx[:n], shift)
		}
		dst, idx = dst[n:], idx[n:]
	}
	refExpGather(dst, w, idx, shift)
}

// ExpMarked stores dst[i] = e^(w[i] − shift) in float64. Results below e^−708 become 0. Entry i is
// marked if bit i mod 8 of mark[i/8] is set. The entries of dst form blocks of [MarkBlock] entries.
// In sums[b], ExpMarked stores the sum of the marked entries in block b. The relative error of a
// term is below 1e−13 (TestExpMarked). ExpMarked panics unless len(dst) = len(w), len(mark) =
// ⌈len(w)/8⌉ and len(sums) = ⌈len(w)/MarkBlock⌉.
func ExpMarked(sums, dst []float64, w []float32, mark []uint8, shift float64) {
	checkLen("dst", len(dst), len(w))
	checkLen("mark", len(mark), (len(w)+7)/8)
	checkLen("sums", len(sums), (len(w)+MarkBlock-1)/MarkBlock)
	for best >= expMarkedLevel && len(w) >= MarkBlock {
		blocks := min(len(w), runTerms) / MarkBlock
		n := blocks * MarkBlock
		if expMarkedRun(sums[:blocks], dst[:n], w[:n], mark[:n/8], shift) != 0 {
			refExpMarked(sums[:blocks], dst[:n], w[:n], mark[:n/8], shift)
		}
		sums, dst, w, mark = sums[blocks:], dst[n:], w[n:], mark[n/8:]
	}
	refExpMarked(sums, dst, w, mark, shift)
}

// MarkBlock is the number of consecutive entries in a block. [ExpMarked] computes one sum for each
// block.
const MarkBlock = 256

// softplusBlock is the number of terms that share a logarithm. The product of their factors, which
// are in (1, 2], stays below 2⁵¹².
const softplusBlock = 512

func refSoftplusSum(x []float32) float64 {
	var positive [lanes]float64
	logs := 0.0
	for ; len(x) > 0; x = x[min(len(x), softplusBlock):] {
		product := [lanes]float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
		addSoftplus(&product, &positive, x[:min(len(x), softplusBlock)])
		logs += Log(multiply(&product))
	}
	return halve(&positive) + logs
}

// addSoftplus multiplies the factors of the terms into the lanes of product, and adds their
// positive parts to the lanes of positive.
func addSoftplus(product, positive *[lanes]float64, x []float32) {
	for i, v := range x {
		z := float64(v)
		if z > 0 {
			positive[i%lanes] += z
		}
		product[i%lanes] *= 1 + Exp(-math.Abs(z))
	}
}

// multiply returns the product of 16 lanes, multiplied pairwise.
func multiply(lane *[lanes]float64) float64 {
	for half := lanes / 2; half > 0; half /= 2 {
		for j := range half {
			lane[j] *= lane[j+half]
		}
	}
	return lane[0]
}

// refExpGather is the reference of ExpGather. It uses expNear, and switches to expAny for a stretch
// if weights are outside the table; each stretch is longer than the previous one.
func refExpGather(dst []float64, w []float32, idx []int32, shift float64) {
	const least, most = 4, 256
	dst = dst[:len(idx)]
	for far := least; len(idx) > 0; {
		n := expNear(dst, w, idx, shift)
		far = min(2*far, most)
		if n > 0 {
			far = least
		}
		dst, idx = dst[n:], idx[n:]
		n = min(far, len(idx))
		expAny(dst[:n], w, idx[:n], shift)
		dst, idx = dst[n:], idx[n:]
	}
}

// expAny computes ExpGather for any weights.
func expAny(dst []float64, w []float32, idx []int32, shift float64) {
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
		dst[i] = q * sixteenth(math.Float64bits(t))
	}
}

// expNear computes ExpGather, four entries at a time, as long as all four are within expTable. It
// returns the number of entries stored. The table holds the values that depend on n alone, and four
// independent chains of products keep the processor busy.
func expNear(dst []float64, w []float32, idx []int32, shift float64) int {
	c1, c2, c3, c4, c5 := expSeries[0], expSeries[1], expSeries[2], expSeries[3], expSeries[4]
	dst = dst[:len(idx)]
	i := 0
	for ; i < len(idx)-3; i += 4 {
		a, b, c, d := float64(w[idx[i]])-shift, float64(w[idx[i+1]])-shift, float64(w[idx[i+2]])-shift, float64(w[idx[i+3]])-shift
		j := math.Float64bits(float64(a*exp16)+0x1.8p52) - tableFirst
		k := math.Float64bits(float64(b*exp16)+0x1.8p52) - tableFirst
		l := math.Float64bits(float64(c*exp16)+0x1.8p52) - tableFirst
		m := math.Float64bits(float64(d*exp16)+0x1.8p52) - tableFirst
		if j >= tableSize || k >= tableSize || l >= tableSize || m >= tableSize {
			break
		}
		a, b, c, d = a-expTable[j].less, b-expTable[k].less, c-expTable[l].less, d-expTable[m].less
		p, q, r, s := float64(a*c1)+c2, float64(b*c1)+c2, float64(c*c1)+c2, float64(d*c1)+c2
		p, q, r, s = float64(p*a)+c3, float64(q*b)+c3, float64(r*c)+c3, float64(s*d)+c3
		p, q, r, s = float64(p*a)+c4, float64(q*b)+c4, float64(r*c)+c4, float64(s*d)+c4
		p, q, r, s = float64(p*a)+c5, float64(q*b)+c5, float64(r*c)+c5, float64(s*d)+c5
		p, q, r, s = float64(p*a)+c5, float64(q*b)+c5, float64(r*c)+c5, float64(s*d)+c5
		dst[i], dst[i+1] = p*expTable[j].times, q*expTable[k].times
		dst[i+2], dst[i+3] = r*expTable[l].times, s*expTable[m].times
	}
	return i
}

// expSeries holds the polynomial coefficients of expAny. Variables stay in registers, whereas
// constants would be loaded each time.
var expSeries = [5]float64{1. / 120, 1. / 24, 1. / 6, 1. / 2, 1}

// expTable holds n·(ln 2)/16 and 2^(n/16) for tableSize integers n. Three quarters of them are
// negative, and x = n·(ln 2)/16 ranges from −33 to 11: weights are seldom much above the shift.
var expTable = func() (table [tableSize]struct{ less, times float64 }) {
	for i := range table {
		n := i - 3*tableSize/4
		table[i].less, table[i].times = float64(n)*ln2By16, sixteenth(uint64(n))
	}
	return table
}()

const (
	tableSize  = 1024
	tableFirst = 0x4338<<48 - 3*tableSize/4 // bits of the float64 1.5·2⁵² + n for the first n
)

// sixteenth returns 2^(n/16), where n is a signed integer in the low bits.
func sixteenth(n uint64) float64 { return math.Float64frombits(sixteenths[n&15] + n<<48) }

// expOutside computes ExpGather for an x at which e^x is 0, overflows or is NaN.
func expOutside(x float64) float64 {
	if x < expCut64 {
		return 0
	}
	return Exp(x)
}

// refExpMarked is the reference of ExpMarked.
func refExpMarked(sums, dst []float64, w []float32, mark []uint8, shift float64) {
	for b := range sums {
		n := min(MarkBlock, len(w))
		x, e := w[:n], dst[:n]
		for len(x) >= 4 {
			expFour((*[4]float64)(e), (*[4]float32)(x), shift)
			x, e = x[4:], e[4:]
		}
		for i, v := range x {
			e[i] = expSplit(float64(v) - shift)
		}
		var lane [8]float64
		for e, own := dst[:n], mark; len(e) > 0; e, own = e[min(8, len(e)):], own[1:] {
			if len(e) >= 8 {
				addSet(&lane, (*[8]float64)(e), own[0])
				continue
			}
			for j, v := range e {
				lane[j] += keepSet(v, own[0]>>j)
			}
		}
		for j := range 4 {
			lane[j] += lane[j+4]
		}
		sums[b] = (lane[0] + lane[2]) + (lane[1] + lane[3])
		w, dst, mark = w[n:], dst[n:], mark[(n+7)/8:]
	}
}

// addSet adds the entries of x that own contains to the lanes.
func addSet(lane, x *[8]float64, own uint8) {
	lane[0] += keepSet(x[0], own)
	lane[1] += keepSet(x[1], own>>1)
	lane[2] += keepSet(x[2], own>>2)
	lane[3] += keepSet(x[3], own>>3)
	lane[4] += keepSet(x[4], own>>4)
	lane[5] += keepSet(x[5], own>>5)
	lane[6] += keepSet(x[6], own>>6)
	lane[7] += keepSet(x[7], own>>7)
}

// keepSet returns x if the lowest bit is set, else 0.
func keepSet(x float64, bit uint8) float64 {
	return math.Float64frombits(math.Float64bits(x) & -uint64(bit&1))
}

// Constants of expSplit: 256/ln 2, and the coefficients of 6/h³·(1 + h·r + …) for h = (ln 2)/256.
// The polynomial is the Taylor polynomial of degree four whose last term is replaced by the best
// polynomial of a lower degree.
const (
	finePart = math.Ln2 / 256
	exp256   = 1 / finePart
	cube2    = 3/finePart + finePart/16
	cube1    = 6 / (finePart * finePart)
	cube0    = 6 / (finePart * finePart * finePart) * (1 - finePart*finePart*finePart*finePart/3072)
)

// expSplit returns e^x, and 0 below e^−708. It computes 2^(n/16)·2^(f/256)·(1 + h·r + …), where h =
// (ln 2)/256, n and f < 16 are integers and |r| ≤ ½.
func expSplit(x float64) float64 {
	if !(x >= expCut64 && x <= expTop64) {
		return expOutside(x)
	}
	y := float64(x * exp256)
	t := y + 0x1.8p52
	r := y - (t - 0x1.8p52)
	q := float64((r+cube2)*r) + cube1
	q = float64(q*r) + cube0
	n := math.Float64bits(t)
	return float64(q*math.Float64frombits(fines[n&15])) * sixteenth(n>>4)
}

// The integers that expFour knows to be those of an x in [−708, 709], and the bits of the float64
// 1.5·2⁵² + n for the first n.
const (
	splitSize  = 2 * 261120
	splitFirst = 0x4338<<48 - splitSize/2
)

// expFour computes expSplit of four differences. Four independent chains of products keep the
// processor busy.
func expFour(dst *[4]float64, w *[4]float32, shift float64) {
	a, b, c, d := float64(w[0])-shift, float64(w[1])-shift, float64(w[2])-shift, float64(w[3])-shift
	i, j, k, l := float64(a*exp256)+0x1.8p52, float64(b*exp256)+0x1.8p52, float64(c*exp256)+0x1.8p52, float64(d*exp256)+0x1.8p52
	m, n, o, u := math.Float64bits(i), math.Float64bits(j), math.Float64bits(k), math.Float64bits(l)
	if m-splitFirst >= splitSize || n-splitFirst >= splitSize || o-splitFirst >= splitSize || u-splitFirst >= splitSize {
		dst[0], dst[1], dst[2], dst[3] = expSplit(a), expSplit(b), expSplit(c), expSplit(d)
		return
	}
	a, b, c, d = float64(a*exp256), float64(b*exp256), float64(c*exp256), float64(d*exp256)
	a, b, c, d = a-(i-0x1.8p52), b-(j-0x1.8p52), c-(k-0x1.8p52), d-(l-0x1.8p52)
	p, q, r, s := float64((a+cube2)*a)+cube1, float64((b+cube2)*b)+cube1, float64((c+cube2)*c)+cube1, float64((d+cube2)*d)+cube1
	p, q, r, s = float64(p*a)+cube0, float64(q*b)+cube0, float64(r*c)+cube0, float64(s*d)+cube0
	dst[0] = float64(p*math.Float64frombits(fines[m&15])) * sixteenth(m>>4)
	dst[1] = float64(q*math.Float64frombits(fines[n&15])) * sixteenth(n>>4)
	dst[2] = float64(r*math.Float64frombits(fines[o&15])) * sixteenth(o>>4)
	dst[3] = float64(s*math.Float64frombits(fines[u&15])) * sixteenth(u>>4)
}

// fines holds the bits of 2^(f/256)·h³/6.
var fines = [16]uint64{
	0x3e2c6b08d704a0c0, 0x3e2c7ec257b064c4, 0x3e2c92898926b24c, 0x3e2ca65e74e82a19,
	0x3e2cba41247c055e, 0x3e2cce31a1701a56, 0x3e2ce22ff558e0df, 0x3e2cf63c29d1770b,
	0x3e2d0a56487ba5c8, 0x3e2d1e7e5affe579, 0x3e2d32b46b0d629c, 0x3e2d46f8825a0276,
	0x3e2d5b4aaaa267b3, 0x3e2d6faaeda9f71f, 0x3e2d8419553adc50, 0x3e2d9895eb260e59,
}

// Constants of ExpGather.
const (
	expCut64 = -708 // smallest x that is not cut to 0; e^−708 is a normal number
	expTop64 = 709
	exp16    = 0x1.71547652b82fep+4 // 16/ln 2
	ln2By16  = 0x1.62e42fefa39efp-5
)

// sixteenths holds the bits of 2^(j/16) minus j·2⁴⁸. Adding n·2⁴⁸ with n = 16k + j gives the bits
// of 2^(k + j/16).
var sixteenths = [16]uint64{
	0x3ff0000000000000, 0x3fefb5586cf9890f, 0x3fef72b83c7d517b, 0x3fef387a6e756238,
	0x3fef06fe0a31b715, 0x3feedea64c123422, 0x3feebfdad5362a27, 0x3feeab07dd485429,
	0x3feea09e667f3bcd, 0x3feea11473eb0187, 0x3feeace5422aa0db, 0x3feec49182a3f090,
	0x3feee89f995ad3ad, 0x3fef199bdd85529c, 0x3fef5818dcfba487, 0x3fefa4afa2a490da,
}
