// Package algebra is shared by the engines that sum over sequences: numbers without a
// bound on their exponent, semirings over these, over log-weights and over counts, errors
// that name the weight at which a sum failed, and the coarsest partition of a set of
// labelled edges.
package algebra

import "fmt"

// DeadError means that no sequence of the language has positive weight.
type DeadError struct {
	// Site is the first site at which no usable token leads to an accepted sequence. It
	// is the number of sites if every site has a token but no sequence is accepted.
	Site int
}

// Error implements error.
func (e *DeadError) Error() string { return fmt.Sprintf("no sequence left at site %d", e.Site) }

// WeightError reports a weight that is NaN, or infinite with the wrong sign.
type WeightError struct {
	Site, Level int
	Weight      float64
}

// Error implements error.
func (e *WeightError) Error() string {
	return fmt.Sprintf("weight at site %d, level %d is %v", e.Site, e.Level, e.Weight)
}
