// Package series constrains real-valued time series in raw units, those of the data. Constraints
// can concern means, sums, bounds, trends, the order of channels, times of extremes, known entries
// and autocorrelations. A [Builder] collects them for series of a [Shape] and compiles them to
// inequalities on standardised series, with which diffusions work. In these, each channel is
// shifted and divided by its scale.
package series
