package grammar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/stretchr/testify/require"
)

// oracle matches texts by the definition of the notation, with backtracking.
type oracle struct {
	rules map[string]*expression
	text  string
	memo  map[string][]int
}

func (o *oracle) ends(e *expression, at int) []int {
	k := fmt.Sprintf("%p %d", e, at)
	if x, ok := o.memo[k]; ok {
		return x
	}
	o.memo[k] = nil // left recursion ends here
	var out []int
	switch e.op {
	case literal:
		if strings.HasPrefix(o.text[at:], e.text) {
			out = []int{at + len(e.text)}
		}
	case regular:
		re := regexp.MustCompile(`\A(?:` + e.text + `)\z`)
		for j := at; j <= len(o.text); j++ {
			if re.MatchString(o.text[at:j]) {
				out = append(out, j)
			}
		}
	case reference:
		out = o.ends(o.rules[e.text], at)
	case choice:
		for _, x := range e.parts {
			out = append(out, o.ends(x, at)...)
		}
	case sequence:
		out = []int{at}
		for _, x := range e.parts {
			var next []int
			for _, i := range out {
				next = append(next, o.ends(x, i)...)
			}
			slices.Sort(next)
			out = slices.Compact(next)
		}
	case repetition:
		here := []int{at}
		for n := 0; len(here) > 0 && (e.high < 0 && n <= len(o.text)+e.low || n <= e.high); n++ {
			if n >= e.low {
				out = append(out, here...)
			}
			var next []int
			for _, i := range here {
				next = append(next, o.ends(e.parts[0], i)...)
			}
			slices.Sort(next)
			here = slices.Compact(next)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	o.memo[k] = out
	return out
}

func parsed(t require.TestingT, source string) map[string]*expression {
	rules, err := (&parser{source: source}).grammar()
	require.NoError(t, err)
	m := map[string]*expression{"": rules[0].body}
	for _, r := range rules {
		m[r.name] = r.body
	}
	return m
}

var sources = []struct{ source, alphabet string }{
	{`s = "(" s ")" s | ""`, "()"},
	{`s ::= ("(" s ")")*`, "()"},
	{`sum = product (("+" | "-") product)*
product = factor ("*" factor)*
factor = number | "(" sum ")"
number = /[0-9]+(\.[0-9]+)?/`, "12.+*()"},
	{`s = "a" s "b" | "cb"`, "abc"},
	{`list = "[" (item ("," item)*)? "]"; item = [0-9]{1,2} | list`, "[],1"},
	{`s = "a" (t | "b")  t = "x" t "y" | "z"`, "abxyz"},
	{`s = "a"{2,3} 'b'? [^a]+`, "abc"},
	{`s = "x" s | "y"`, "xy"},
	{`s = "a" s | "(" s ")" s | "b"`, "ab()"},
}

func TestParseAgainstBacktracking(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 17))
	for _, c := range sources {
		g, err := Parse(context.Background(), c.source, constraint.Limits{})
		require.NoError(t, err, c.source)
		rules := parsed(t, c.source)
		yes := 0
		for range 3000 {
			b := make([]byte, r.IntN(9))
			for i := range b {
				b[i] = c.alphabet[r.IntN(len(c.alphabet))]
			}
			o := &oracle{rules: rules, text: string(b), memo: map[string][]int{}}
			want := slices.Contains(o.ends(rules[""], 0), len(b))
			require.Equal(t, want, g.Accepts(string(b)), "%s: %q", c.source, b)
			if want {
				yes++
			}
		}
		require.Positive(t, yes, c.source)
	}
}

const jsonGrammar = `
value   = ws (object | array | string | number | "true" | "false" | "null") ws
object  = "{" (ws | member ("," member)*) "}"
member  = ws string ws ":" value
array   = "[" (ws | value ("," value)*) "]"
string  = /"(?:[^"\\\x00-\x1f]|\\(?:["\\\/bfnrt]|u[0-9a-fA-F]{4}))*"/
number  = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/
ws      = [ \t\n\r]*
`

func TestParseJSON(t *testing.T) {
	g, err := Parse(context.Background(), jsonGrammar, constraint.Limits{})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(2, 17))
	pieces := []string{"{", "}", "[", "]", ",", ":", `"a"`, "1", "-0.5e3", "true", "null", " ", `"\u00e9"`, `"é\n"`}
	yes := 0
	for range 20_000 {
		s := ""
		for range 1 + r.IntN(7) {
			s += pieces[r.IntN(len(pieces))]
		}
		require.Equal(t, json.Valid([]byte(s)), g.Accepts(s), "%q", s)
		if json.Valid([]byte(s)) {
			yes++
		}
	}
	require.Greater(t, yes, 500)
	require.True(t, g.Accepts(strings.Repeat("[", 5000)+strings.Repeat("]", 5000)))
}

// TestLeftRecursion goes round, where backtracking would not end.
func TestLeftRecursion(t *testing.T) {
	g, err := Parse(context.Background(), `s = s "a" | "b" | "(" s ")"`, constraint.Limits{})
	require.NoError(t, err)
	for text, want := range map[string]bool{"b": true, "baa": true, "((ba)a)a": true, "ab": false, "(b": false, "": false, "b)": false} {
		require.Equal(t, want, g.Accepts(text), text)
	}
}

func TestSyntaxErrors(t *testing.T) {
	for source, want := range map[string]string{
		"":                                 "line 1, column 1: want a rule",
		"s":                                "line 1, column 2: want = or ::= after s, not \"the end\"",
		"s = t":                            "line 1, column 5: no rule defines t",
		"# é\ns = \"a":                     "line 2, column 5: the text has no end on its line",
		"s = (\"a\"\n":                     "line 2, column 1: want ) for the ( of line 1, column 5, not \"the end\"",
		"s = \"a\"\ns = \"b\"":             "line 2, column 1: rule s is defined twice",
		"s = \"a\"{2,1}":                   "line 1, column 8: want {m}, {m,} or {m,n} with 0 ≤ m ≤ n ≤ 10000",
		"s = \"a\"{":                       "line 1, column 8: want } for this {",
		"s = /a(/":                         "line 1, column 5: error parsing regexp: missing closing )",
		"s = é | /a":                       "line 1, column 9: the pattern has no end on its line",
		"s = [a":                           "line 1, column 5: the class has no end on its line",
		"s = \"\\q\"":                      "line 1, column 6: an escape that is none of Go's",
		"s = \"a\" )":                      "line 1, column 9: want a rule, an alternative or the end, not \")\"",
		"s = *":                            "line 1, column 5: want a name, \"text\", /pattern/, [class] or (, not \"*\"",
		"= \"a\"":                          "line 1, column 1: want the name of a rule, not \"=\"",
		"s = " + strings.Repeat("(", 2000): "line 1, column 1005: 1001 parentheses within each other, want ≤ 1000",
	} {
		_, err := Parse(context.Background(), source, constraint.Limits{})
		var bad *SyntaxError
		require.ErrorAs(t, err, &bad, source)
		require.Contains(t, err.Error(), want, source)
	}
}

func TestConflicts(t *testing.T) {
	for source, want := range map[string]string{
		`s = t "a" | "b"  t = s "c"`: "deterministic",
		`s = "a" s "a" | "a"`:        "rule",
		`s = "a" | t  t = "x" s`:     "deterministic",
		`s = "a" s "b" | "ab"`:       "stay in the rule or call another",
	} {
		_, err := Parse(context.Background(), source, constraint.Limits{})
		var conflict *ConflictError
		require.ErrorAs(t, err, &conflict, source)
		require.Contains(t, err.Error(), want, source)
	}
	var limit *constraint.LimitError
	_, err := Parse(context.Background(), `s = (("a"{1000}){1000}){1000}`, constraint.Limits{})
	require.ErrorAs(t, err, &limit)
	_, err = Parse(context.Background(), `s = ("a"|"b")* "a" ("a"|"b"){30}`, constraint.Limits{States: 1000})
	require.ErrorAs(t, err, &limit)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = Parse(ctx, `s = "a"`, constraint.Limits{})
	require.ErrorIs(t, err, context.Canceled)
}

func FuzzParse(f *testing.F) {
	for _, c := range sources {
		f.Add(c.source, "(a)")
	}
	f.Add(jsonGrammar, "[1]")
	fuzzNotation(f, Parse)
}

func FuzzParseGBNF(f *testing.F) {
	for _, c := range gbnfs {
		for _, text := range append(c.yes, c.no...) {
			f.Add(c.source, text)
		}
	}
	fuzzNotation(f, ParseGBNF)
}

func FuzzParseLark(f *testing.F) {
	for _, c := range larks {
		for _, text := range append(c.yes, c.no...) {
			f.Add(c.source, text)
		}
	}
	fuzzNotation(f, ParseLark)
}

// fuzzNotation checks that a source gives a grammar or an error of a documented type.
func fuzzNotation(f *testing.F, parse func(context.Context, string, constraint.Limits) (*Grammar, error)) {
	f.Fuzz(func(t *testing.T, source, text string) {
		if len(source) > 1000 {
			return
		}
		g, err := parse(context.Background(), source, constraint.Limits{States: 300, Bytes: 1 << 20})
		var syntax *SyntaxError
		var conflict *ConflictError
		var limit *constraint.LimitError
		switch {
		case err == nil:
			g.Accepts(text)
		case errors.As(err, &syntax):
			if syntax.Line < 1 || syntax.Column < 1 {
				t.Fatal(err)
			}
		case !errors.As(err, &conflict) && !errors.As(err, &limit) && !errors.Is(err, constraint.ErrInfeasible):
			t.Fatalf("%T: %v", err, err)
		}
	})
}
