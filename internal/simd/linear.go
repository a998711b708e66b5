package simd

import (
	"math"
)

// Dot returns Σ x_i·y_i in float32, with every product and sum rounded. There are 16 partial sums,
// called lanes: term i is added to lane i mod 16. The lanes are then added pairwise. Dot panics
// unless len(x) = len(y).
func Dot(x, y []float32) float32 {
	checkLen("x", len(x), len(y))
	if best < dotLevel {
		return refDot(x, y)
	}
	var lane [lanes]float32
	for len(x) > 0 {
		n := min(len(x), runTerms)
		dotRun(&lane, x[:n], y)
		x, y = x[n:], y[n:]
	}
	return halve32(&lane)
}

// Axpy adds alpha·x to y, rounding the product and the sum. The slice y may be x. Axpy panics
// unless len(x) = len(y).
func Axpy(alpha float32, x, y []float32) {
	checkLen("x", len(x), len(y))
	axpy(alpha, x, y)
}

// Scale multiplies every entry of x by alpha.
func Scale(alpha float32, x []float32) { scale(alpha, x) }

// Sum returns Σ x_i in float64. There are 16 partial sums, called lanes: term i is added to lane i
// mod 16. The lanes are then added pairwise.
func Sum(x []float32) float64 {
	if best < sumLevel {
		return refSum(x)
	}
	var lane [lanes]float64
	for len(x) > 0 {
		n := min(len(x), runTerms)
		sumRun(&lane, x[:n])
		x = x[n:]
	}
	return halve(&lane)
}

// WeightsMarked stores p[i] = e^(w[i]−m), where m is the [Peak] of w, in a single pass over w. The
// array marks holds two bit masks. A mask marks entry i if bit i mod 16 of its word ⌊i/16⌋ is set.
// For each mask, WeightsMarked returns the [Sum] of the marked entries of p. WeightsMarked panics
// unless len(p) = len(w) and the masks have ⌈len(w)/16⌉ words.
func WeightsMarked(p, w []float32, m float32, marks [2][]uint16) (sums [2]float64) {
	checkLen("p", len(p), len(w))
	for _, bits := range marks {
		checkLen("bits", len(bits), (len(w)+lanes-1)/lanes)
	}
	if best < weightsMarkedLevel {
		return refWeightsMarked(p, w, m, marks)
	}
	var lane [2 * lanes]float64
	for len(w) >= lanes {
		n := min(len(w)/lanes, scratchTerms/lanes)
		weightsMarkedRun(&lane, p[:n*lanes], w[:n*lanes], marks[0][:n], marks[1][:n], m)
		p, w, marks[0], marks[1] = p[n*lanes:], w[n*lanes:], marks[0][n:], marks[1][n:]
	}
	if len(w) > 0 {
		weightBlock(p, w, m, 0)
	}
	for i, bits := range marks {
		own := (*[lanes]float64)(lane[i*lanes:])
		if len(w) > 0 {
			addMarked(own, p, bits[0])
		}
		sums[i] = halve(own)
	}
	return sums
}

func refDot(x, y []float32) float32 {
	var lane [lanes]float32
	for len(x) >= lanes {
		for j := range lane {
			lane[j] += float32(x[j] * y[j])
		}
		x, y = x[lanes:], y[lanes:]
	}
	for j, v := range x {
		lane[j] += float32(v * y[j])
	}
	return halve32(&lane)
}

// halve32 adds 16 lanes of float32 pairwise.
func halve32(lane *[lanes]float32) float32 {
	for j := range 8 {
		lane[j] += lane[j+8]
	}
	for j := range 4 {
		lane[j] += lane[j+4]
	}
	return (lane[0] + lane[2]) + (lane[1] + lane[3])
}

func refAxpy(alpha float32, x, y []float32) {
	for i, v := range x {
		y[i] += float32(alpha * v)
	}
}

func refScale(alpha float32, x []float32) {
	for i := range x {
		x[i] *= alpha
	}
}

func refSum(x []float32) float64 {
	var lane [lanes]float64
	for len(x) >= lanes {
		for j := range lane {
			lane[j] += float64(x[j])
		}
		x = x[lanes:]
	}
	for j, v := range x {
		lane[j] += float64(v)
	}
	return halve(&lane)
}

func refWeightsMarked(p, w []float32, m float32, marks [2][]uint16) (sums [2]float64) {
	weightBlock(p, w, m, 0)
	for i, bits := range marks {
		var lane [lanes]float64
		for g, b := range bits {
			addMarked(&lane, p[g*lanes:min((g+1)*lanes, len(p))], b)
		}
		sums[i] = halve(&lane)
	}
	return sums
}

// addMarked adds the entries of one group of 16 that are set in the mask b to the lanes.
func addMarked(lane *[lanes]float64, x []float32, b uint16) {
	for j, v := range x {
		set := -uint32(b >> j & 1)
		lane[j] += float64(math.Float32frombits(math.Float32bits(v) & set))
	}
}
