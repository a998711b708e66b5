// Package corpus holds what the examples that learn strings share: the strings,
// from a file or all small molecules, their tokens, the languages that runs are
// held to, and the judges, which know nothing of either.
package corpus
