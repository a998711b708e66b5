package seriesdata

import (
	"math"
	"slices"
)

// stand lists numbers that files use for missing values.
var stand = []float64{-99, -999, -9999, -99999, -999999, -200, -99.9, -999.9, -9999.9, -99.99, -999.99, -999.25, -888, -8888, -777, -7777,
	999, 9999, 99999, 999999, 9999999, 99.99, 999.9, 9999.9, 99999.9, 999.99, 9999.99, 1e20, -1e20, 1e30, -1e30, 1e34, -1e34, 1e36}

// apart is how far a number has to lie from all others to count as a stand-in without
// more to say so: in widths of their range, and in their largest changes.
const (
	apartRange  = 1.0
	apartOnce   = 2.0 // of one that occurs once
	apartChange = 5
	apartAbove  = 10 // of one that is larger than all and occurs once
)

// reading is the interpretation of a number of the list.
type reading uint8

const (
	number  reading = iota
	missing         // it stands for a missing value
	unclear
)

// judge decides what the number s of the list means among the values of a column, given in
// the order of the file. NaNs are ignored.
func judge(values []float64, s float64) reading {
	low, high, change, last := math.Inf(1), math.Inf(-1), 0.0, math.NaN()
	count, others := 0, 0
	for _, v := range values {
		switch {
		case v != v:
		case v == s:
			count++
		case slices.Contains(stand, v):
		default:
			low, high = min(low, v), max(high, v)
			if last == last {
				change = max(change, math.Abs(v-last))
			}
			last = v
			others++
		}
	}
	switch {
	case count == 0 || others < 2:
		return number
	case s >= low && s <= high:
		return number
	case s < low:
		far, ranges := low-s, apartRange
		if count == 1 {
			ranges = apartOnce
		}
		if far > ranges*(high-low) && high > low || far > apartChange*change && change > 0 {
			return missing
		}
		if high == low && s < 0 && low >= 0 {
			return missing
		}
		if low >= 0 && s < 0 {
			if count > 1 {
				return missing
			}
			return unclear
		}
		return number
	}
	far := s - high
	if high > low && (count > 1 && far > apartRange*(high-low) && far > apartChange*change || far > apartAbove*(high-low)) {
		return missing
	}
	return number
}
