// Package algebra holds the number types and algorithms that the dynamic programs over sequences
// share. [Number] has an unbounded exponent. [Sums] is a semiring over Numbers, [Best] over
// log-weights and [Counts] over counts. [Edges.Refine] partitions the elements of a labelled graph;
// automata are minimised with it. [Numbering] numbers values. Errors name the weight at which a sum
// failed, or the site (position in the sequence).
package algebra

import "fmt"

// DeadError reports that no sequence is left. Either the automaton accepts no sequence, or all
// sequences that it accepts have weight zero.
type DeadError struct {
	// Site is the first site at which no token of positive weight leads to an accepted sequence. If
	// every site has such a token but no sequence has positive weight, Site is the number of sites.
	Site int
}

// Error returns a message that contains Site.
func (e *DeadError) Error() string { return fmt.Sprintf("no sequence left at site %d", e.Site) }

// WeightError reports a log-weight that is NaN, or infinite with a sign that is not allowed.
type WeightError struct {
	Site, Level int
	Weight      float64
}

// Error returns a message with the site, the level (token) and the log-weight.
func (e *WeightError) Error() string {
	return fmt.Sprintf("weight at site %d, level %d is %v", e.Site, e.Level, e.Weight)
}
