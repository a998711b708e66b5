package constraint

// Masked languages carry a mask beside the rest of them: [Mask] and
// [Intersection] are Masked.
//
// A mask is an automaton like any other: its state is the site. A consumer that
// has a weight for every (site, level) does better with weights of −Inf, because
// a mask tells apart tokens that the rest of the language cannot, and the cost
// of a trellis grows with the number of token classes.
type Masked interface {
	Automaton

	// Split takes the language apart: a sequence is in it exactly if it is in
	// rest and mask allows every token of it. mask is nil if there is none.
	Split() (rest Automaton, mask *Mask)
}

// Split takes a language apart, as [Masked.Split] does; one that is not Masked
// is all rest.
func Split(a Automaton) (rest Automaton, mask *Mask) {
	if m, ok := a.(Masked); ok {
		return m.Split()
	}
	return a, nil
}
