// Package series puts limits on real-valued series in raw units: means, sums,
// bounds, trends, orders between channels, places of extremes, entries that are
// known, autocorrelations. A [Builder] collects them for series of a
// [Shape] and compiles them to inequalities on the standardised entries
// that a denoiser sees.
//
// Products are written float64(a*b) + c: a compiler may fuse a multiplication
// and an addition, and fused bits differ between processors.
package series
