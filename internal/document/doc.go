// Package document reads JSON into values that know on which line and column of
// the text they begin, so that readers of files can say where an error is.
package document
