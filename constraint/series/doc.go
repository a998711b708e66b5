// Package series constrains real-valued time series in raw units, those of the data. It supports
// means, sums, bounds, trends, orders between channels, times of extremes, known entries and
// autocorrelations. A [Builder] collects them for series of a [Shape] and compiles them to
// inequalities on the standardised entries that a denoiser sees.
package series
