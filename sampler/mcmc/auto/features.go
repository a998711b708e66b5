package auto

import (
	"math/bits"
)

// features computes the numbers by which states are compared: the energy, the number of
// sites at each level, and projections.
type features struct {
	sites, levels int
	counts        int // of levels, from the last on; or 1: the sum of the levels
	count         []int32
}

const (
	projections = 8
	mostCounts  = 4
)

func newFeatures(sites, levels int) features {
	f := features{sites: sites, levels: levels, counts: max(levels-1, 1), count: make([]int32, levels)}
	if f.counts > mostCounts {
		f.counts = 1
	}
	return f
}

// len returns the number of features.
func (f *features) len() int { return 1 + f.counts + projections }

// store stores the features of the state x of energy e.
func (f *features) store(dst []float64, e float64, x []int32) {
	dst[0] = e
	clear(f.count)
	var sum [projections]int64
	packed, held := uint64(0), 0
	for i, l := range x {
		f.count[l]++
		packed += spread[byte(signs(uint64(i)*uint64(f.levels)+uint64(l)))]
		if held++; held == 255 || i == len(x)-1 {
			for p := range sum {
				sum[p] += int64(packed >> (8 * p) & 255)
			}
			packed, held = 0, 0
		}
	}
	if f.counts < f.levels-1 {
		total := int64(0)
		for l, n := range f.count {
			total += int64(l) * int64(n)
		}
		dst[1] = float64(total)
	} else {
		for l := range f.counts {
			dst[1+l] = float64(f.count[f.levels-1-l])
		}
	}
	for p, n := range sum {
		dst[1+f.counts+p] = float64(n)
	}
}

// signs returns random bits for v = i·levels+l, level l of site i: the finalizer of
// SplitMix64 (Steele, Lea and Flood 2014).
func signs(v uint64) uint64 {
	v = (v + 1) * 0x9e3779b97f4a7c15
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// spread has bit p of a byte as the lowest bit of byte p.
var spread = func() (t [256]uint64) {
	for b := range t {
		for v := uint8(b); v != 0; v &= v - 1 {
			t[b] |= 1 << (8 * bits.TrailingZeros8(v))
		}
	}
	return t
}()
