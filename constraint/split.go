package constraint

// Masked languages carry a mask beside the rest of them.
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
