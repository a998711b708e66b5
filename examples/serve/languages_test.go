package main

import (
	"context"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/grammar"
)

func language(t *testing.T, name string) *grammar.Grammar {
	t.Helper()
	source, err := grammars.ReadFile("grammars/" + name + ".ebnf")
	if err != nil {
		t.Fatal(err)
	}
	g, err := grammar.Parse(context.Background(), string(source), constraint.Limits{})
	if err != nil {
		t.Fatal(name, err)
	}
	return g
}

func TestLanguages(t *testing.T) {
	for name, c := range map[string]struct{ yes, no []string }{
		"json5": {[]string{`{a: 1, 'b': [.5, +0x1F, Infinity,], /* c */ "d": 'it\'s',} // end`, "[]", "-NaN", `"\0a\x41\
"`}, []string{`{a 1}`, `[,]`, `01`, `"a`, `{1: 2}`, `"\01"`, `"\u12"`, `/* `}},
	} {
		g := language(t, name)
		for _, s := range c.yes {
			if !g.Accepts(s) {
				t.Errorf("%s refuses %q", name, s)
			}
		}
		for _, s := range c.no {
			if g.Accepts(s) {
				t.Errorf("%s accepts %q", name, s)
			}
		}
	}
}
