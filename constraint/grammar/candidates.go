package grammar

// chooser is an automaton that knows with which bytes a text may go on at a state; all others are
// dead.
type chooser interface {
	automaton
	// choices appends these bytes, and reports whether it has; otherwise any byte may be.
	choices(bytes []byte, state int32) ([]byte, bool)
}

// choices of a number.
func (a *numberAutomaton) choices(bytes []byte, _ int32) ([]byte, bool) {
	return append(bytes, "0123456789.-+eE"...), true
}

// choices of a literal or a regular expression.
func (t terminal) choices(bytes []byte, state int32) ([]byte, bool) {
	x, is := t.byteAutomaton.(*trie)
	if !is {
		return bytes, false
	}
	return x.bytes(bytes, int(state)), true
}

// bytes appends those of the arcs of a node.
func (t *trie) bytes(bytes []byte, at int) []byte {
	if t.next == nil {
		t.build()
	}
	for _, a := range t.next[at] {
		bytes = append(bytes, a.b)
	}
	return bytes
}

// choices of a string: by the stage, and where a test wants one of some texts.
func (a *stringAutomaton) choices(bytes []byte, q int32) ([]byte, bool) {
	s := &a.states[q]
	switch s.at {
	case before:
		return append(bytes, '"'), true
	case escaped:
		return append(bytes, `"\/bfnrtu`...), true
	case hex:
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

// choices of names: only known ones, unless others may come.
func (r *nameRun) choices(bytes []byte, q int32) ([]byte, bool) {
	k := r.o.keys
	s := &k.states[q]
	if s.at != plain && s.at != trailing {
		return k.choices(bytes, q)
	}
	at := s.tests[len(r.o.names.tests)]
	if r.open || at < 0 {
		return bytes, false
	}
	return r.o.l.index.bytes(append(bytes, '"', '\\'), int(at)), true
}
