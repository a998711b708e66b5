// Package algebra is what the engines that sum over sequences share, whatever these
// nest in: numbers without a bound on their exponent, semirings over them, over
// log-weights and over counts, the errors that say which weight a sum failed at, and
// the coarsest partition that a set of labelled edges allows.
package algebra

import "fmt"

// DeadError says that no sequence of the language has positive weight.
type DeadError struct {
	// Site is the first site at which no usable token keeps an accepted
	// sequence within reach; it equals the number of sites if everything can
	// be read but nothing is accepted.
	Site int
}

// Error implements error.
func (e *DeadError) Error() string { return fmt.Sprintf("no sequence left at site %d", e.Site) }

// WeightError says that a weight is NaN or on the wrong side of infinity.
type WeightError struct {
	Site, Level int
	Weight      float64
}

// Error implements error.
func (e *WeightError) Error() string {
	return fmt.Sprintf("weight at site %d, level %d is %v", e.Site, e.Level, e.Weight)
}
