// Package noise holds the schedules of diffusions: how much of the signal is left
// at a time. All are recipes whose zero value is the recommended setting.
//
// Products are written float64(a*b) + c: a compiler may fuse them into one
// rounding otherwise, and fused bits differ between processors.
package noise
