package distance

import (
	"fmt"
	"math"
)

// DTW computes the dynamic time warping distance between two series, each length × channels,
// row-major. It is the smallest cost of a monotone alignment of the series from start to end (Sakoe
// and Chiba 1978). The cost of aligning two times is the Euclidean distance of their values. A
// distance takes length² operations, or length·(2·Window + 1) if Window is set.
//
// A DTW holds scratch memory and is not safe for concurrent use. The zero value is ready for use
// once Channels is set.
type DTW struct {
	Channels int  // number of channels of a series, ≥ 1
	Window   *int // largest difference between aligned times, ≥ 0; nil means no limit

	before, now []float64
}

// Distance returns the distance between two series, whose lengths may differ. It returns +Inf if
// the window is too narrow for the difference in length. It panics if a length is not a positive
// multiple of Channels, or if the window is negative.
func (d *DTW) Distance(a, b []float32) float64 {
	if d.Channels < 1 || len(a) == 0 || len(b) == 0 || len(a)%d.Channels != 0 || len(b)%d.Channels != 0 {
		panic(fmt.Sprintf("distance: DTW: series of %d and %d entries, want positive multiples of Channels = %d ≥ 1", len(a), len(b), d.Channels))
	}
	if d.Window != nil && *d.Window < 0 {
		panic(fmt.Sprintf("distance: DTW: Window = %d, want ≥ 0", *d.Window))
	}
	n, m := len(a)/d.Channels, len(b)/d.Channels
	if cap(d.now) < m+1 {
		d.before, d.now = make([]float64, m+1), make([]float64, m+1)
	}
	before, now := d.before[:m+1], d.now[:m+1]
	for j := range before {
		before[j] = math.Inf(1)
	}
	before[0] = 0
	for i := range n {
		for j := range now {
			now[j] = math.Inf(1)
		}
		from, to := 0, m
		if d.Window != nil {
			from, to = max(0, i-*d.Window), min(m, i+*d.Window+1)
		}
		for j := from; j < to; j++ {
			sum := 0.0
			for c := range d.Channels {
				e := float64(a[i*d.Channels+c]) - float64(b[j*d.Channels+c])
				sum += float64(e * e)
			}
			now[j+1] = math.Sqrt(sum) + min(before[j], before[j+1], now[j])
		}
		before, now = now, before
	}
	return before[m]
}

// Nearest measures how far generated series are from real ones. For each series in x it finds the
// distance to the nearest real series, and it returns the mean of these distances. The second
// argument holds the real series. A series has one entry per site. Nearest panics unless sites
// divides both lengths, which must be positive.
func (d *DTW) Nearest(x, real []float32, sites int) float64 {
	if sites < 1 || len(x) == 0 || len(real) == 0 || len(x)%sites != 0 || len(real)%sites != 0 {
		panic(fmt.Sprintf("distance: DTW: %d and %d entries, want positive multiples of sites = %d ≥ 1", len(x), len(real), sites))
	}
	total := 0.0
	for at := 0; at < len(x); at += sites {
		best := math.Inf(1)
		for k := 0; k < len(real); k += sites {
			best = min(best, d.Distance(x[at:at+sites], real[k:k+sites]))
		}
		total += best
	}
	return total / float64(len(x)/sites)
}
