// Package scored draws samples of masked diffusion whose score a judge accepts:
// black boxes and networks, which are no language. It looks ahead before it shows
// a token and takes tokens back where none is left to show.
//
// Most callers want a [Runner], which finds a feasible sample at about the price
// of a plain run and needs no derivatives. [Exact] draws from the distribution of
// the denoiser given the set, by guided rejection, and reports how far it can be
// from it and how likely the set is; it costs several times as much. [Potential]
// makes a score what diffusion.Particles are weighed by.
//
// A projection moves predictions instead, and under masks that fails: a token that
// shows is never reconsidered. For uniform noise, where every token can change
// until the end, projection/lagrange does well.
//
// An error belongs to the sample that it concerns and loses no others: both return
// [diffusion.SampleErrors], and a [Report] of every sample.
//
// Products are written float64(a*b) + c: a compiler may fuse them into one
// rounding otherwise, and fused bits differ between processors.
package scored
