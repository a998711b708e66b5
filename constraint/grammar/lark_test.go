package grammar

import (
	"context"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/stretchr/testify/require"
)

// Grammars in the notation of Lark, as its documentation has them.
var larks = map[string]struct {
	source  string
	yes, no []string
}{
	"json": {`
    ?start: value

    ?value: object
          | array
          | string
          | SIGNED_NUMBER      -> number
          | "true"             -> true
          | "false"            -> false
          | "null"             -> null

    array  : "[" [value ("," value)*] "]"
    object : "{" [pair ("," pair)*] "}"
    pair   : string ":" value

    string : ESCAPED_STRING

    %import common.ESCAPED_STRING
    %import common.SIGNED_NUMBER
    %import common.WS

    %ignore WS
`, []string{`{"a": [1, -2.5e+3, {"b" : null}], "ü":"x\"" } `, " []", "true"}, []string{``, `[1,]`, `{"a" 1}`, `{"a":1`, `"a`, "tr ue"}},
	"calculator": {`
    // sums
    ?start: sum
    ?sum: product
        | sum "+" product   -> add
        | sum "-" product   -> sub
    ?product: atom
        | product "*" atom  -> mul
        | product "/" atom
    ?atom: NUMBER           -> number
         | "-" atom         -> neg
         | NAME             -> var
         | "(" sum ")"
    %import common.CNAME -> NAME
    %import common (NUMBER, WS_INLINE)
    %ignore WS_INLINE
`, []string{"1 + 2 * (x - -3)", "  a1*(b)/.5e3"}, []string{"1 +", "(1", "1 2", "a\n", "1..2"}},
	"terms": {`start: "A".."C"~2..3 word? ("x" | "yes"i)~2 /k+z/i
word.2: LOWER+ "!"
LOWER: "a".."f"
!other: "never"
`, []string{"ABxxKz", "CCCabf!YESxkkz"}, []string{"Axxkz", "ABxkz", "ABg!xxkz", "ABxxz"}},
}

func TestLark(t *testing.T) {
	for name, c := range larks {
		g, err := ParseLark(context.Background(), c.source, constraint.Limits{})
		require.NoError(t, err, name)
		for _, s := range c.yes {
			require.True(t, g.Accepts(s), "%s refuses %q", name, s)
		}
		for _, s := range c.no {
			require.False(t, g.Accepts(s), "%s accepts %q", name, s)
		}
	}
}

func TestLarkErrors(t *testing.T) {
	for source, want := range map[string]string{
		"a: \"x\"":                   "grammar: line 1, column 7: want a rule start",
		"start: \"x\"\nstart: \"y\"": "grammar: line 2, column 1: start is defined twice",
		"start: f{\"x\"}":            "grammar: line 1, column 9: templates are not supported",
		"start: \"x":                 "grammar: line 1, column 8: the text has no end on its line",
		"%import python.NAME\n":      `grammar: line 1, column 9: %import of "p", want common`,
		"%import common.NAMES\n":     "grammar: line 1, column 16: common has no regular terminal NAMES",
		"%declare A\n":               "grammar: line 1, column 1: %declare is not supported, want %import common or %ignore",
		"start: (\"x\"":              `grammar: line 1, column 12: want ) for the ( of line 1, column 8, not "the end"`,
		"start: [\"x\"":              `grammar: line 1, column 12: want ] for the [ of line 1, column 8, not "the end"`,
		"start: \"x\"~3..2":          "grammar: line 1, column 11: want ~n or ~n..m with n ≤ m ≤ 10000",
		"start: \"x\"~":              "grammar: line 1, column 11: want a number, or two with .. between them, after ~",
		"start: \"z\"..\"a\"":        `grammar: line 1, column 8: the range "z".."a", want two characters in order`,
		"start: \"z\"..a":            `grammar: line 1, column 13: want "text" after .., not "a"`,
		"start: \"x\"u":              "grammar: line 1, column 8: the flags u of a text, want i",
		"start: /x/u":                "grammar: line 1, column 8: the flags u of a pattern, want i, m or s",
		"start \"x\"":                `grammar: line 1, column 7: want : after start, not "\""`,
		"start: = x":                 `grammar: line 1, column 8: want a name, "text", /pattern/, ( or [, not "="`,
		"start: A\n: B":              `grammar: line 2, column 1: want the name of a rule or a terminal, not ":"`,
		"start: x":                   "grammar: line 1, column 8: no rule defines x",
		"%import common(WS":          `grammar: line 1, column 18: want ) after the names of %import, not "the end"`,
		"%import common WS":          `grammar: line 1, column 16: want . or ( after common, not "W"`,
		"start: \"x\" ) \"y\"":       `grammar: line 1, column 12: want a term, an alternative or the end of the line, not ")"`,
	} {
		_, err := ParseLark(context.Background(), source, constraint.Limits{})
		require.EqualError(t, err, want, source)
	}
}

func TestExceptions(t *testing.T) {
	g, err := Parse(context.Background(), `s = name ("." name)*; name = /[a-z]+/ - ("if" | 'else') | [A-Z] - "X" {2}`, constraint.Limits{})
	require.NoError(t, err)
	for _, s := range []string{"a.b", "iff.i", "AB", "els.CD"} {
		require.True(t, g.Accepts(s), s)
	}
	for _, s := range []string{"if", "a.else", "AX", "A", ""} {
		require.False(t, g.Accepts(s), s)
	}
	for source, want := range map[string]string{
		`s = "a" - "b"`:         "grammar: line 1, column 9: - follows a pattern or a class, of which it excepts texts",
		`s = /a/ - s`:           "grammar: line 1, column 11: want a text or texts between | after -",
		`s = /a/ - ("a" "b")`:   "grammar: line 1, column 11: want a text or texts between | after -",
		`s = /a/ - ("a" | /b/)`: "grammar: line 1, column 11: want a text or texts between | after -",
		`s = /a/ - `:            `grammar: line 1, column 11: want a name, "text", /pattern/, [class] or (, not "the end"`,
	} {
		_, err := Parse(context.Background(), source, constraint.Limits{})
		require.EqualError(t, err, want, source)
	}
}
