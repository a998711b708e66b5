package grammar

import "slices"

// straighten writes rules that recur only at an end of their alternatives as
// loops, which need no stack:
//
//	s = A s | B   is   s = A* B
//	s = s A | B   is   s = B A*
func straighten(names []string, rules map[string]*expression) {
	for _, name := range names {
		e := rules[name]
		e = loop(e, name, func(parts []*expression) (rest []*expression, ok bool) {
			n := len(parts) - 1
			if n < 0 || !refers(parts[n], name) {
				return parts, false
			}
			return parts[:n], true
		}, func(again, end *expression) []*expression { return []*expression{again, end} })
		e = loop(e, name, func(parts []*expression) (rest []*expression, ok bool) {
			if len(parts) == 0 || !refers(parts[0], name) {
				return parts, false
			}
			return parts[1:], true
		}, func(again, end *expression) []*expression { return []*expression{end, again} })
		rules[name] = e
	}
}

func refers(e *expression, name string) bool { return e.op == reference && e.text == name }

// loop takes the alternatives that trim shortens apart from the others.
func loop(e *expression, name string, trim func([]*expression) ([]*expression, bool), order func(again, end *expression) []*expression) *expression {
	again := &expression{op: choice, at: e.at}
	end := &expression{op: choice, at: e.at}
	for _, s := range e.parts {
		parts, ok := []*expression{s}, false
		if s.op == sequence {
			parts, ok = trim(s.parts)
		}
		switch {
		case !ok:
			end.parts = append(end.parts, s)
		case len(parts) > 0:
			again.parts = append(again.parts, &expression{op: sequence, parts: slices.Clone(parts), at: s.at})
		}
	}
	if len(again.parts) == 0 || len(end.parts) == 0 {
		return e
	}
	star := &expression{op: repetition, parts: []*expression{again}, high: -1, at: e.at}
	return &expression{op: choice, parts: []*expression{{op: sequence, parts: order(star, end), at: e.at}}, at: e.at}
}
