package grammar

import "github.com/gibbsite-go/gibbsite/constraint"

// A string with a test and a bound on the length has a separate state for every number of
// characters. What is safe in such a state follows from the same string without the bound, and from
// the number of characters that complete it.

// patternKey identifies the strings with the same pattern: those with the same test and spelling.
type patternKey struct {
	test      *constraint.DFA
	canonical bool
}

// pattern is a string with a test but without a bound on its length.
type pattern struct {
	free   *stringAutomaton
	states *table
	rests  *rests
	needs  map[int32]int32 // cached results of need by state of the test
}

// patternOf returns the pattern of the strings with the test and spelling of a, and creates it
// if necessary.
func (m *Masks) patternOf(a *stringAutomaton) *pattern {
	k := patternKey{a.only(), a.canonical}
	p := m.patterns[k]
	if p == nil {
		free := newString(stringSpec{most: -1, tests: a.tests, canonical: a.canonical})
		p = &pattern{free: free, states: newTable(free), rests: a.measure(), needs: map[int32]int32{}}
		m.patterns[k] = p
	}
	return p
}

// need returns the least number of characters that complete the string from a state of free that is
// between two characters. It returns −1 if not every larger number completes it, too.
func (p *pattern) need(state int32) int32 {
	q := p.free.states[state].tests[0]
	n, ok := p.needs[q]
	if !ok {
		if n = -1; p.rests.endless(q) {
			n = p.rests.least[q]
		}
		p.needs[q] = n
	}
	return n
}
