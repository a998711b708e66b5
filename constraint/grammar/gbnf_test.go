package grammar

import (
	"context"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/stretchr/testify/require"
)

// Grammars in the notation of llama.cpp, as people write them for it.
var gbnfs = map[string]struct {
	source  string
	yes, no []string
}{
	"json": {`
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws

object ::=
  "{" ws (
    string ":" ws value
    ("," ws string ":" ws value)*
  )? "}" ws

array  ::= "[" ws ( value ("," ws value)* )? "]" ws  # items

string ::=
  "\"" (
    [^"\\\x7F\x00-\x1F] |
    "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})
  )* "\"" ws

number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
ws ::= | " " | "\n" [ \t]{0,20}
`, []string{`{}`, `{"a": [1, -2.5e+3, {"b": null}], "ü": "x\u00e9\n"} `}, []string{`[]`, `{"a" 1}`, `{"a":01}`, `{"a":"\x"}`, `{"a":1,}`}},
	"arithmetic": {`root  ::= (expr "=" ws term "\n")+
expr  ::= term ([-+*/] term)*
term  ::= ident | num | "(" ws expr ")" ws
ident ::= [a-z] [a-z0-9_]* ws
num   ::= [0-9]+ ws
ws    ::= [ \t\n]*
`, []string{"1+2=3\n", "x1*(y -(3/z))= 7\n2=2\n"}, []string{"1+=3\n", "(1=1\n", "1=1"}},
	"list": {"root ::= item+\nitem ::= \"- \" [^\\r\\n\\x0b\\x0c\\x85\\u2028\\u2029]+ \"\\n\"\n", []string{"- milk\n- bread ü\n"}, []string{"milk\n", "- \n", "- a"}},
	"chess": {`
root ::= "1. " move " " move "\n" ([1-9] [0-9]? ". " move " " move "\n")+
move ::= (pawn | nonpawn | castle) [+#]?
nonpawn ::= [NBKQR] [a-h]? [1-8]? "x"? [a-h] [1-8]
pawn ::= ([a-h] "x")? [a-h] [1-8] ("=" [NBKQR])?
castle ::= "O-O" "-O"?
`, []string{"1. e4 e5\n2. Nf3 Nc6\n", "1. e4 e5\n2. O-O-O exd8=Q+\n"}, []string{"1. e4 e5\n", "1. e9 e5\n2. a1 a2\n"}},
	"c": {`root ::= declaration*
declaration ::= type " " identifier "(" parameter? ")" ws "{" statement* "}"
type ::= "int" | "float" | "char"
identifier ::= [a-zA-Z_] [a-zA-Z_0-9]*
parameter ::= type " " identifier
statement ::=
    ( type " " identifier ws "=" ws expression ";" ws ) |
    ( "return" ws "(" expression ")" ";" ws ) |
    ( "while" "(" condition ")" "{" statement* "}" ws ) |
    ( "if" "(" condition ")" "{" statement* "}" ws ("else" "{" statement* "}" ws)? )
condition ::= expression [<>] expression
expression ::= term (("+" | "-") term)*
term ::= factor (("*" | "/") factor)*
factor ::= number | "(" expression ")" | identifier
number ::= [0-9]+
ws ::= [ \t\n]*
`, []string{"", "int f(int x) {int y = 2*(x+1);while(y<3){return (y);}}", "int f(){if(a>b){}else{return (1);}}"}, []string{"int f(", "int f(){return 1;}", "int f(){while(1){}}"}},
	"any": {"root ::= . {2} x_1 {,2}\nx_1 ::= \"\\x41\" | \"\\U0001F600\"\n  | [\\]\\-a]", []string{"éü", "\n\nA", "aa😀]", "aa--"}, []string{"a", "aaAAA", "aab"}},
}

func TestGBNF(t *testing.T) {
	for name, c := range gbnfs {
		g, err := ParseGBNF(t.Context(), c.source, constraint.Limits{})
		require.NoError(t, err, name)
		for _, s := range c.yes {
			require.True(t, g.Accepts(s), "%s: %q", name, s)
		}
		for _, s := range c.no {
			require.False(t, g.Accepts(s), "%s: %q", name, s)
		}
	}
}

func TestGBNFErrors(t *testing.T) {
	for source, want := range map[string]string{
		"":                               "line 1, column 1: want a rule root",
		"a ::= \"b\"":                    "want a rule root",
		"root = \"a\"":                   "line 1, column 6: want ::= after root",
		"root ::= \"a\n":                 "line 1, column 10: the text has no end",
		"root ::= [a\n]":                 "line 1, column 10: the class has no end",
		"root ::= []":                    "the class has no characters",
		"root ::= [b-a]":                 "the range 'b'-'a' ends before it begins",
		"root ::= \"\\q\"":               "line 1, column 11: an escape that is none of",
		"root ::= \"\\uD800\"":           "an escape",
		"root ::= <[7]>":                 "a token of a vocabulary",
		"root ::= (\"a\"":                "want ) for the ( of line 1, column 10",
		"root ::= a":                     "line 1, column 10: no rule defines a",
		"root ::= \"a\"\nroot ::= \"b\"": "line 2, column 1: rule root is defined twice",
		"root ::= \"a\" )":               "want a term, an alternative or the end of the line",
		"root ::= \"a\"{,3} )":           "line 1, column 18: want a term, an alternative or the end of the line",
		"root ::= \"a\"{3,2}":            "want {m}, {m,} or {m,n}",
		"root ::= \"\xff\"":              "a byte that is not UTF-8",
		"::= \"a\"":                      "want the name of a rule",
		"root ::= /a/":                   `want a name, "text", [class], . or (`,
	} {
		_, err := ParseGBNF(t.Context(), source, constraint.Limits{})
		require.ErrorContains(t, err, want, "%q", source)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err := ParseGBNF(ctx, gbnfs["c"].source, constraint.Limits{})
	require.ErrorIs(t, err, context.Canceled)
	_, err = ParseGBNF(t.Context(), "root ::= [a-z]{9999}", constraint.Limits{States: 100})
	var limit *constraint.LimitError
	require.ErrorAs(t, err, &limit)
	_, err = ParseGBNF(t.Context(), "root ::= \"a\" root \"a\" | \"a\"", constraint.Limits{})
	var conflict *ConflictError
	require.ErrorAs(t, err, &conflict)
}
