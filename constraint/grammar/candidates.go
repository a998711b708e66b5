package grammar

// chooser is an automaton that can list the bytes with which a text may continue from a state.
// All other bytes are dead.
type chooser interface {
	automaton
	// choices appends the bytes with which a text may continue and returns true. It returns
	// false if it cannot narrow them down, so that any byte must be tried.
	choices(bytes []byte, state int32) ([]byte, bool)
}

// choices returns the bytes that can occur in a number, whatever the state.
func (a *numberAutomaton) choices(bytes []byte, _ int32) ([]byte, bool) {
	return append(bytes, "0123456789.-+eE"...), true
}

// choices returns the bytes on the arcs of the current trie node if the terminal is a trie of
// literals. For a regular expression it returns false.
func (t terminal) choices(bytes []byte, state int32) ([]byte, bool) {
	x, is := t.byteAutomaton.(*trie)
	if !is {
		return bytes, false
	}
	return x.bytes(bytes, int(state)), true
}

// bytes appends the bytes on the arcs that leave the node at.
func (t *trie) bytes(bytes []byte, at int) []byte {
	if t.next == nil {
		t.build()
	}
	for _, a := range t.next[at] {
		bytes = append(bytes, a.b)
	}
	return bytes
}

// choices returns the bytes that may follow at the current stage of the string. Inside the
// string, it can list them only if a test requires the text to be one of a set of texts.
func (a *stringAutomaton) choices(bytes []byte, q int32) ([]byte, bool) {
	s := &a.states[q]
	switch s.at {
	case before:
		return append(bytes, '"'), true
	case escaped:
		return append(bytes, `"\/bfnrtu`...), true
	case hex:
		if s.left >= 3 && a.latin1() {
			return append(bytes, '0'), true
		}
		return append(bytes, "0123456789abcdefABCDEF"...), true
	case second:
		return append(bytes, '\\'), true
	case secondSign:
		return append(bytes, 'u'), true
	case closed:
		return bytes, true
	}
	for i, t := range a.tests {
		if x, is := t.a.(*trie); is && t.want {
			return x.bytes(append(bytes, '"', '\\'), int(s.tests[i])), true
		}
	}
	return bytes, false
}

// choices returns the bytes that continue a known name. It returns false if names that the
// schema does not list are allowed, too.
func (r *nameRun) choices(bytes []byte, q int32) ([]byte, bool) {
	k := r.o.keys
	s := &k.states[q]
	if s.at != plain && s.at != trailing {
		return k.choices(bytes, q)
	}
	if r.reads(q) {
		return bytes, false
	}
	return r.o.l.index.bytes(append(bytes, '"', '\\'), int(s.tests[len(r.o.names.tests)])), true
}

// reads reports whether bytes other than those of known names may follow.
func (r *nameRun) reads(q int32) bool {
	s := &r.o.keys.states[q]
	return r.open || s.at != plain && s.at != trailing || s.tests[len(r.o.names.tests)] < 0
}
