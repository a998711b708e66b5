// Package diagnose records the draws of a run and judges them: [Trace] and its
// [Summary], R-hat, effective sample sizes, Monte Carlo standard errors, and
// export to files. Its figures decide no sample.
package diagnose
