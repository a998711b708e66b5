package trellis

import "fmt"

// Automaton is a deterministic automaton over token ids, constraint.Automaton
// in all but name: this package imports nothing of the module's public part.
type Automaton interface {
	States() int
	Start() int
	Next(state int, token int32) int
	Accepting(state int) bool
}

// classed automata know which tokens they cannot tell apart: of[v] ∈ 0…n−1 for
// every token v < levels, each class with a token.
type classed interface {
	Classes(levels int) (of []int32, n int)
}

// Config says what [Compile] unrolls the automaton over.
type Config struct {
	// Sites and Levels are the length of the sequences and the number of
	// tokens, both ≥ 1.
	Sites, Levels int

	// Padded admits shorter sequences: an accepted sequence of length
	// n ≤ Sites is followed by Sites−n times the token Pad. The automaton is
	// not asked about Pad, so Pad cannot be a letter of the language.
	Padded bool
	Pad    int32

	// Edge, if not nil, returns the log-weight of reading token in state, in
	// nats; −Inf removes the edge. It is called while compiling only. It does
	// not apply to padding.
	Edge func(state int, token int32) float64

	// Allows, if not nil, says whether a site may take a token: a mask beside
	// the automaton. It is called while compiling only. Padding is always
	// allowed.
	Allows func(site int, token int32) bool

	// Limit is the greatest number of edges to store, 0 for 1<<24 (about
	// 128 MiB).
	Limit int
}

// defaultLimit keeps a compiled graph near 128 MiB: two int32 per edge.
const defaultLimit = 1 << 24

// check returns an error unless the shape makes sense.
func (c Config) check() error {
	switch {
	case c.Sites < 1:
		return fmt.Errorf("trellis: Compile: sites = %d, want ≥ 1", c.Sites)
	case c.Levels < 1:
		return fmt.Errorf("trellis: Compile: levels = %d, want ≥ 1", c.Levels)
	case c.Padded && (c.Pad < 0 || int(c.Pad) >= c.Levels):
		return fmt.Errorf("trellis: Compile: padding token = %d, want in 0…%d", c.Pad, c.Levels-1)
	case c.Limit < 0:
		return fmt.Errorf("trellis: Compile: limit = %d, want ≥ 0", c.Limit)
	}
	return nil
}

// DeadError says that no sequence of the language has positive weight.
type DeadError struct {
	// Site is the first site at which no usable token keeps an accepted
	// sequence within reach; it equals the number of sites if everything can
	// be read but nothing is accepted.
	Site int
}

// Error implements error.
func (e *DeadError) Error() string {
	return fmt.Sprintf("trellis: no sequence left at site %d", e.Site)
}

// LimitError says that the unrolled automaton is too large.
type LimitError struct {
	// Limit is the number of edges allowed.
	Limit int
}

// Error implements error.
func (e *LimitError) Error() string {
	return fmt.Sprintf("trellis: more than %d edges", e.Limit)
}

// WeightError says that a weight is NaN or on the wrong side of infinity.
type WeightError struct {
	Site, Level int
	Weight      float64
}

// Error implements error.
func (e *WeightError) Error() string {
	return fmt.Sprintf("weight at site %d, level %d is %v", e.Site, e.Level, e.Weight)
}
