package simd

import "math"

// The definitions, in plain Go, of the bits that every backend of linear.go gives.

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

// halve32 is halve in float32.
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

// addMarked adds the entries of one group that b marks to the lanes.
func addMarked(lane *[lanes]float64, x []float32, b uint16) {
	for j, v := range x {
		set := -uint32(b >> j & 1)
		lane[j] += float64(math.Float32frombits(math.Float32bits(v) & set))
	}
}

func refSigmoidTo(dst, src []float32) {
	for i, v := range src {
		dst[i] = sigmoid32(v)
	}
}
