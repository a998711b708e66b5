// Package series constrains real-valued time series in raw units, that is, in the units of the
// data. Constraints can concern means, sums, bounds, trends, the order of channels, times of
// extremes, known entries and autocorrelations. A [Builder] collects the constraints for series of
// a [Shape] and compiles them to inequalities on standardised series. In a standardised series,
// which diffusions use, each channel is shifted and divided by its scale.
package series
