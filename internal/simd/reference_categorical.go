package simd

// The definitions, in plain Go, of the bits that every backend of categorical.go gives.

import (
	"math"
)

const (
	lanes      = 16
	blockTerms = 8 * lanes // 128, see Pick
)

func refWeights(p []float32, total []float64, w []float32, cols int, floor float32) {
	for r := range total {
		total[r] = weightRow(p[r*cols:(r+1)*cols], w[r*cols:(r+1)*cols], floor)
	}
}

// weightRow is Weights on one row; it returns the total.
func weightRow(p, w []float32, floor float32) float64 {
	return weightRowFrom(p, w, rowMax(w), floor)
}

// weightRowFrom is weightRow given the maximum.
func weightRowFrom(p, w []float32, m, floor float32) float64 {
	total := 0.0
	for i := 0; i < len(w); i += blockTerms {
		end := min(i+blockTerms, len(w))
		weightBlock(p[i:end], w[i:end], m, floor)
		total += blockSum(p[i:end])
	}
	return total
}

func weightBlock(p, w []float32, m, floor float32) {
	inf := float32(math.Inf(-1))
	for i, v := range w {
		e := exp32(v - m)
		if floor > e && v != inf {
			e = floor
		}
		p[i] = e
	}
}

// rowMax returns the maximum of w, NaN aside: +0 rather than −0, and 0 if
// nothing exceeds −Inf, so that differences to it are never NaN for nothing.
func rowMax(w []float32) float32 {
	inf := float32(math.Inf(-1))
	m := inf
	for _, v := range w {
		if v > m {
			m = v
		}
	}
	if m == inf {
		return 0
	}
	return m + 0
}

// blockSum adds up to 128 terms in 16 lanes.
func blockSum(p []float32) float64 {
	var lane [lanes]float64
	for len(p) >= lanes {
		for j := range lane {
			lane[j] += float64(p[j])
		}
		p = p[lanes:]
	}
	for j, v := range p {
		lane[j] += float64(v)
	}
	return halve(&lane)
}

// halve adds 16 lanes by halving.
func halve(lane *[lanes]float64) float64 {
	for j := range 8 {
		lane[j] += lane[j+8]
	}
	for j := range 4 {
		lane[j] += lane[j+4]
	}
	return (lane[0] + lane[2]) + (lane[1] + lane[3])
}

func refPick(p []float32, target float64) int {
	before := 0.0
	for i := 0; i < len(p); i += blockTerms {
		block := p[i:min(i+blockTerms, len(p))]
		c := before + blockSum(block)
		if c > target {
			return i + pickBlock(block, target-before)
		}
		before = c
	}
	return lastPositive(p)
}

// pickBlock is Pick within a block of up to 128 terms.
func pickBlock(p []float32, target float64) int {
	before := 0.0
	last, rest := 0, 0.0
	for i := 0; i < len(p); i += lanes {
		s := blockSum(p[i:min(i+lanes, len(p))])
		if s > 0 {
			last, rest = i, target-before
		}
		before += s
		if before > target {
			break
		}
	}
	return last + pickGroup(p[last:min(last+lanes, len(p))], rest)
}

// pickGroup is Pick within a group of up to 16 terms.
func pickGroup(p []float32, target float64) int {
	s := 0.0
	for i, v := range p {
		s += float64(v)
		if s > target {
			return i
		}
	}
	return lastPositive(p)
}

func lastPositive(p []float32) int {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] > 0 {
			return i
		}
	}
	return -1
}

func refCategorical(idx []int32, w []float32, cols int, u []float64) {
	for r := range idx {
		idx[r] = int32(categoricalRow(w[r*cols:(r+1)*cols], u[r]))
	}
}

// categoricalRow keeps one block of weights at a time: it sums all blocks, then
// computes them again up to the one that is hit.
func categoricalRow(w []float32, u float64) int {
	var p [blockTerms]float32
	m := rowMax(w)
	total := 0.0
	for i := 0; i < len(w); i += blockTerms {
		block := w[i:min(i+blockTerms, len(w))]
		weightBlock(p[:len(block)], block, m, 0)
		total += blockSum(p[:len(block)])
	}
	if !(total > 0) {
		return -1
	}
	target := float64(u * total)
	before, last := 0.0, -1
	for i := 0; i < len(w); i += blockTerms {
		block := w[i:min(i+blockTerms, len(w))]
		weightBlock(p[:len(block)], block, m, 0)
		c := before + blockSum(p[:len(block)])
		if c > target {
			return i + pickBlock(p[:len(block)], target-before)
		}
		if l := lastPositive(p[:len(block)]); l >= 0 {
			last = i + l
		}
		before = c
	}
	return last
}

// refWeightRows is refWeights that stores the maxima of the rows too.
func refWeightRows(p, w, maxes []float32, total []float64, cols int, floor float32) {
	for r := range maxes {
		row := w[r*cols : (r+1)*cols]
		maxes[r], total[r] = rowMax(row), weightRow(p[r*cols:(r+1)*cols], row, floor)
	}
}
