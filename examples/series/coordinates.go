package main

import (
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/seriesdata"
)

// coordinate describes how the numbers of a channel are modelled. They are mapped by a monotone
// function so that they become nearly normal. Then the usual value at their place in the period
// is subtracted and the result is divided by the standard deviation. Both are estimated for each
// series separately.
type coordinate struct {
	kind    scale
	sorted  []float64   // sorted numbers, for normal scores
	centre  [][]float64 // usual value, by series and place in the period
	slope   []float64   // slope per row, by series; 0 for series without a linear trend
	width   []float64   // standard deviation, by series
	stretch float64     // factor for deviations from the mean, calibrated on held-out numbers
}

// scale is the monotone function of a coordinate.
type scale uint8

const (
	level     scale = iota
	logarithm       // logarithm, for positive numbers with relative changes
	scores          // normal scores: ranks replace numbers with few distinct values or many zeros
)

// shapeOf returns the function for the numbers of a channel.
func shapeOf(kind string, x []float64) scale {
	low, high := slices.Min(x), slices.Max(x)
	zeros, distinct := 0, map[float64]bool{}
	for _, v := range x {
		if v == 0 {
			zeros++
		}
		if len(distinct) < 20 {
			distinct[v] = true
		}
	}
	switch {
	case len(distinct) < 20 && len(x) > 60, low == 0 && 100*zeros > len(x):
		return scores
	case low > 0 && (kind == "price" || kind == "volume" || high > 4*low):
		return logarithm
	}
	return level
}

// normal is the standard normal distribution function. The function quantile is its inverse.
func normal(z float64) float64   { return 0.5 * math.Erfc(-z/math.Sqrt2) }
func quantile(u float64) float64 { return math.Sqrt2 * math.Erfinv(2*u-1) }

// to applies the coordinate's function to a number.
func (c *coordinate) to(v float64) float64 {
	switch c.kind {
	case logarithm:
		return math.Log(v)
	case scores:
		n := float64(len(c.sorted))
		from, _ := slices.BinarySearch(c.sorted, v)
		to := from
		for to < len(c.sorted) && c.sorted[to] == v {
			to++
		}
		return quantile(min(max((float64(from)+float64(to))/2/n, 0.5/n), 1-0.5/n))
	}
	return v
}

// from is the inverse of to. For normal scores it interpolates linearly between ranks and
// returns the common value within a range of equal numbers.
func (c *coordinate) from(y float64) float64 {
	switch c.kind {
	case logarithm:
		return math.Exp(y)
	case scores:
		at := normal(y)*float64(len(c.sorted)) - 0.5
		i := min(max(int(math.Floor(at)), 0), len(c.sorted)-1)
		j := min(i+1, len(c.sorted)-1)
		return c.sorted[i] + min(max(at-float64(i), 0), 1)*(c.sorted[j]-c.sorted[i])
	}
	return y
}

// periodOf returns the usual period of a time step, in steps, or 0 if there is none.
func periodOf(step string) int {
	return map[string]int{
		"1 hour": 24, "30 minutes": 48, "15 minutes": 96, "10 minutes": 144, "20 minutes": 72, "2 hours": 12, "3 hours": 8, "6 hours": 4,
		"1 day": 7, "1 month": 12, "1 quarter": 4,
	}[step]
}

// seasonal is the share of the variance that a period must explain to be removed.
const seasonal = 0.1

// settle computes centre and width from the mapped numbers of every series, in which NaN marks
// missing ones. The function slot returns the place of a row in the period.
func (c *coordinate) settle(y [][]float64, period int, slot func(e, r int) int) {
	c.stretch = 1
	for e := range y {
		sum, square, n := 0.0, 0.0, 0.0
		sums, counts := make([]float64, max(period, 1)), make([]float64, max(period, 1))
		for r, v := range y[e] {
			if v != v {
				continue
			}
			sum, square, n = sum+v, square+v*v, n+1
			if period > 1 {
				sums[slot(e, r)] += v
				counts[slot(e, r)]++
			}
		}
		if n == 0 {
			sum, n = 0, 1
		}
		slope := trend(y[e])
		if c.slope = append(c.slope, slope); slope != 0 {
			sum, square = 0, 0
			for r, v := range y[e] {
				if v == v {
					d := v - slope*float64(r)
					sum, square = sum+d, square+d*d
				}
			}
			period = 0
		}
		mean := sum / n
		variance := max(square/n-mean*mean, 0)
		centre := []float64{mean}
		if period > 1 && n > float64(3*period) && variance > 0 {
			between := 0.0
			for s := range sums {
				if counts[s] > 0 {
					d := sums[s]/counts[s] - mean
					between += d * d * counts[s] / n
				}
			}
			if between/variance-float64(period)/n > seasonal {
				centre = make([]float64, period)
				for s := range centre {
					if centre[s] = mean; counts[s] > 0 {
						centre[s] = sums[s] / counts[s]
					}
				}
				variance = max(variance-between, 1e-12*variance)
			}
		}
		width := math.Sqrt(variance)
		if !(width > 1e-12*math.Abs(mean)) {
			width = 1
		}
		c.centre, c.width = append(c.centre, centre), append(c.width, width)
	}
}

// straightOn is the share of the variance that a linear trend must explain to be removed.
const straightOn = 0.97

// trend returns the slope of a series with a clear linear trend, and 0 for others.
func trend(y []float64) float64 {
	n, sx, sy, sxx, sxy, syy := 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
	for r, v := range y {
		if v == v {
			x := float64(r)
			n, sx, sy, sxx, sxy, syy = n+1, sx+x, sy+v, sxx+x*x, sxy+x*v, syy+v*v
		}
	}
	cov, vx, vy := sxy-sx*sy/n, sxx-sx*sx/n, syy-sy*sy/n
	if n < 20 || !(cov*cov > straightOn*vx*vy) || !(vy > 0) {
		return 0
	}
	return cov / vx
}

// at returns the centre of row r.
func (c *coordinate) at(e, r, slot int) float64 {
	if c.slope[e] != 0 {
		return c.centre[e][0] + c.slope[e]*float64(r)
	}
	if len(c.centre[e]) == 1 {
		return c.centre[e][0]
	}
	return c.centre[e][slot]
}

// slots returns a function that maps every row to its place in the period, according to its
// time.
func slots(f *seriesdata.Frame, period int) func(e, r int) int {
	if period < 2 {
		return func(int, int) int { return 0 }
	}
	step := 0.0
	for e := range f.Entities {
		if t := f.Entities[e].Times; len(t) > 1 {
			step = (t[len(t)-1] - t[0]) / float64(len(t)-1)
			break
		}
	}
	return func(e, r int) int {
		t := math.Round((f.Entities[e].Times[r] - f.Entities[0].Times[0]) / step)
		return ((int(t) % period) + period) % period
	}
}
