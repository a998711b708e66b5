package text

// functions are the partial functions from byte states to byte states that texts
// compute: the transition monoid of the byte automaton, as far as a vocabulary
// needs it. Tokens that compute the same function are one class, however many
// bytes they have, so that the vocabulary is walked once and not once a state.
type functions struct {
	next    []int32 // table of the byte automaton
	classes int
	of      []int32 // class of each byte
	child   []int32 // function after a byte class, by function and class; unknown, none
	lists
}

// newFunctions begins with the identity, which is function 0.
func newFunctions(next []int32, classes int, of []int32, states int) *functions {
	f := &functions{next: next, classes: classes, of: of}
	for s := range int32(states) {
		f.put(s, s)
	}
	f.intern()
	f.grow()
	return f
}

// grow makes room for the children of the youngest function.
func (f *functions) grow() {
	for range f.classes {
		f.child = append(f.child, unknown)
	}
}

// after returns function id followed by a byte, none if that is defined nowhere.
func (f *functions) after(id int32, b byte) int32 {
	at := int(id)*f.classes + int(f.of[b])
	if f.child[at] != unknown {
		return f.child[at]
	}
	c, n := int(f.of[b]), f.len()
	for i := f.first[id]; i < f.first[id+1]; i++ {
		if to := f.next[int(f.to[i])*f.classes+c]; to >= 0 {
			f.put(f.from[i], to)
		}
	}
	found := f.intern()
	if f.len() > n {
		f.grow()
	}
	f.child[at] = found
	return found
}
