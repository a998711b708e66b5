// Package series constrains real-valued time series in raw units, those of the data. The
// constraints can be on means, sums, bounds, trends, the order of channels, times of extremes,
// known entries and autocorrelations. A [Builder] collects constraints for series of a [Shape] and
// compiles them to inequalities on standardised series, in which each channel is shifted and
// divided by its scale. Diffusions work on these.
package series
