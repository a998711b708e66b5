package seriesdata

import (
	"math"
	"slices"
)

// stand lists numbers that are commonly used in files for missing values.
var stand = []float64{-99, -999, -9999, -99999, -999999, -200, -99.9, -999.9, -9999.9, -99.99, -999.99, -999.25, -888, -8888, -777, -7777,
	999, 9999, 99999, 999999, 9999999, 99.99, 999.9, 9999.9, 99999.9, 999.99, 9999.99, -32768, -2147483648, 1e20, -1e20, 1e30, -1e30, 1e34, -1e34, 1e36,
	9.96921e36, 9.969209968386869e36} // what netCDF fills with

// Thresholds that decide whether a number from the list stand counts as missing. They apply to its
// distance from all other values, in widths of the range of those values. The unit of apartChange
// is the largest change from one of those values to the next.
const (
	apartRange = 1.0
	// Threshold in widths of the range for a number that occurs once, below all others.
	apartOnce   = 2.0
	apartChange = 5
	// Threshold in widths of the range for a number that occurs once, above all others.
	apartAbove = 10
)

// reading is the interpretation of a number from the list stand.
type reading uint8

const (
	number  reading = iota
	missing         // the number stands for a missing value
	unclear
)

// judge decides how to interpret the number s from the list stand among the values of a column,
// given in the order of the file. NaNs are ignored.
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
	case count == 0:
		return number
	case others < 2:
		if (s < 0 || s >= 1e20) && (others == 0 || low >= 0) { // too few numbers to compare it with
			return unclear
		}
		return number
	case s >= low && s <= high:
		return number
	case s > 0 && s < low && count == 1:
		return unclear
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
