package grammar

import (
	"errors"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// The strings that satisfy a schema with allOf, anyOf, oneOf and not form a regular language. Its
// automaton is built from those of the parts by Boolean operations and is kept minimal, which is
// smaller and faster than an automaton for every conjunction of a union.

// texts adds the strings that satisfy all schemas, between the nodes in and out. It returns false and
// adds nothing if a keyword is not supported here or an automaton has too many states.
func (c *compiler) texts(schemas []*value, in, out int32) (bool, error) {
	a, err := c.automaton("texts", schemas, nil, func() (automaton, error) {
		spec := stringSpec{most: -1}
		for _, s := range schemas {
			if s == nil {
				continue
			}
			if err := c.textsIn(&spec, s, false, 0); err != nil {
				return nil, err
			}
		}
		t, err := c.automatonOf(stringSpec{most: -1, tests: spec.tests})
		if err != nil {
			return nil, err
		}
		spec.tests = []test{{a: t, want: true}}
		return c.newString(spec)
	})
	if err != nil {
		return false, c.unlessBeyond(err)
	}
	c.n.run(in, a, out)
	return true, nil
}

// errBeyond means that the strings of a schema cannot be written as one automaton.
var errBeyond = errors.New("grammar: no automaton for the strings of the schema")

// unlessBeyond returns the error err, or nil if it only means that a schema is not supported.
func (c *compiler) unlessBeyond(err error) error {
	var schema *SchemaError
	var limit *constraint.LimitError
	if errors.Is(err, errBeyond) || errors.As(err, &schema) || errors.As(err, &limit) {
		return nil
	}
	return err
}

// textsIn adds to spec the assertions of the schema s about strings. negated tells whether s is
// below not or oneOf.
func (c *compiler) textsIn(spec *stringSpec, s *value, negated bool, depth int) error {
	if depth > nesting {
		return errBeyond
	}
	parts, err := c.parts(s)
	if err != nil {
		return err
	}
	if c.n.meter.Done(64) {
		return c.n.meter.Err()
	}
	for i := range parts {
		p := &parts[i]
		switch p.op {
		case opPlain:
			t, err := typesOf(p.s)
			if err != nil {
				return err
			}
			if !t.str {
				spec.tests = append(spec.tests, test{a: newTrie(nil), want: true})
				continue
			}
			y, err := c.stringOf(p.s, c.exact, negated || c.negated[p.s])
			if err != nil {
				return err
			}
			spec.least, spec.low = max(spec.least, y.least), spec.low || y.low
			if y.most >= 0 && (spec.most < 0 || y.most < spec.most) {
				spec.most = y.most
			}
			spec.tests = append(spec.tests, y.tests...)
		case opAll:
			for _, sub := range p.subs {
				if err := c.textsIn(spec, sub, negated, depth+1); err != nil {
					return err
				}
			}
		default:
			t, err := c.textsOf(p, negated, depth)
			if err != nil {
				return err
			}
			spec.tests = append(spec.tests, test{a: t, want: true})
		}
	}
	return nil
}

// textsOf returns an automaton for the strings that satisfy the part p of a schema.
func (c *compiler) textsOf(p *part, negated bool, depth int) (byteAutomaton, error) {
	negated = negated || p.op == opNot || p.op == opOne
	var all []byteAutomaton
	for _, sub := range p.subs {
		spec := stringSpec{most: -1}
		if err := c.textsIn(&spec, sub, negated, depth+1); err != nil {
			return nil, err
		}
		a, err := c.automatonOf(spec)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	switch p.op {
	case opEnum:
		var texts []string
		for _, v := range p.values {
			if v.kind == str {
				texts = append(texts, v.text)
			}
		}
		return newTrie(texts), nil
	case opAny:
		var texts []string
		all = slices.DeleteFunc(all, func(a byteAutomaton) bool {
			x, is := a.(*trie)
			if is {
				texts = append(texts, x.texts...)
			}
			return is
		})
		if len(texts) > 0 || len(all) == 0 {
			all = append(all, newTrie(texts))
		}
		return c.fold(all, func(ok []bool) bool { return ok[0] || ok[1] })
	case opOne:
		return c.combine(all, func(ok []bool) bool {
			n := 0
			for _, is := range ok {
				n += int(bit(is))
			}
			return n == 1
		})
	case opNot:
		return c.combine(all, func(ok []bool) bool { return !ok[0] })
	}
	return newTrie(nil), nil // opNever
}

// automatonOf returns an automaton for the texts that satisfy spec.
func (c *compiler) automatonOf(spec stringSpec) (byteAutomaton, error) {
	if max(spec.least, spec.most) > longText {
		return nil, errBeyond
	}
	if spec.least > 0 {
		spec.tests = append(spec.tests, test{a: lengthOver(spec.least - 1), want: true})
	}
	if spec.most >= 0 {
		spec.tests = append(spec.tests, test{a: lengthOver(spec.most), want: false})
	}
	var tests []test
	for _, t := range spec.tests {
		if x, is := t.a.(*trie); is && t.want && len(x.texts) == 0 {
			return t.a, nil
		}
		if !slices.Contains(tests, t) {
			tests = append(tests, t)
		}
	}
	if len(tests) == 1 && tests[0].want {
		return tests[0].a, nil
	}
	any, err := c.allTexts()
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(tests, func(a, b test) int { return sizeOf(a.a) - sizeOf(b.a) })
	all := test{a: any, want: true}
	for _, t := range tests {
		switch d, err := c.crowd(newJoint([]test{all, t})); {
		case errors.Is(err, constraint.ErrInfeasible):
			return newTrie(nil), nil
		case err != nil:
			return nil, err
		default:
			all.a = d
		}
	}
	return all.a, nil
}

// sizeOf returns about the number of states of an automaton.
func sizeOf(a byteAutomaton) int {
	switch a := a.(type) {
	case *constraint.DFA:
		return a.States()
	case lengthOver:
		return int(a)
	}
	return 0
}

// longText bounds the lengths that an automaton for the strings of a schema counts.
const longText = 256

// fold combines automata one after another.
func (c *compiler) fold(all []byteAutomaton, decide func(ok []bool) bool) (byteAutomaton, error) {
	a := all[0]
	for _, b := range all[1:] {
		var err error
		if a, err = c.combine([]byteAutomaton{a, b}, decide); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// combine returns a minimal automaton for the UTF-8 texts for which decide returns true. The
// argument of decide tells which automata accept the text.
func (c *compiler) combine(all []byteAutomaton, decide func(ok []bool) bool) (byteAutomaton, error) {
	any, err := c.allTexts()
	if err != nil {
		return nil, err
	}
	tests := []test{{a: any, want: true}}
	for _, a := range all {
		tests = append(tests, test{a: a})
	}
	j := &decided{newJoint(tests), make([]bool, len(all)), decide}
	d, err := c.crowd(j)
	switch {
	case errors.Is(err, constraint.ErrInfeasible):
		return newTrie(nil), nil
	case err != nil:
		return nil, err
	}
	return d, nil
}

// decided is a joint automaton whose first test is required, and whose other tests decide
// together.
type decided struct {
	*joint
	ok     []bool
	decide func(ok []bool) bool
}

func (d *decided) Accepting(state int) bool {
	q := d.at(state)
	for i, t := range d.tests[1:] {
		d.ok[i] = q[i+1] >= 0 && t.a.Accepting(int(q[i+1]))
	}
	return d.tests[0].a.Accepting(int(q[0])) && d.decide(d.ok)
}
