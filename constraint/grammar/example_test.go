package grammar_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/projection"
)

func ExampleParse() {
	g, err := grammar.Parse(context.Background(), `
		sum     = product (("+" | "-") product)*
		product = factor ("*" factor)*
		factor  = /[0-9]+/ | "(" sum ")"
	`, constraint.Limits{})
	if err != nil {
		panic(err)
	}
	fmt.Println(g.Accepts("2*(3+(4-1)*5)"), g.Accepts("2*(3+4"))
	_, err = grammar.Parse(context.Background(), `s = "a" s "a" | "b" | t`, constraint.Limits{})
	fmt.Println(err)
	var bad *grammar.SyntaxError
	fmt.Println(errors.As(err, &bad), bad.Line)
	// Output:
	// true false
	// grammar: line 1, column 23: no rule defines t
	// true 1
}

func ExampleParseGBNF() {
	g, err := grammar.ParseGBNF(context.Background(), `
root   ::= "(" answer ("," " " answer)* ")"
answer ::= "yes" | "no" | root
`, constraint.Limits{})
	if err != nil {
		panic(err)
	}
	fmt.Println(g.Accepts("(yes, (no, no))"), g.Accepts("(yes,)"))
	// Output: true false
}

// Formats that are not known are listed instead of refused.
func ExampleGrammar_Annotations() {
	g, err := grammar.JSONSchema(context.Background(), []byte(`{"properties": {"a": {"format": "non-blank", "order": 1}}}`), grammar.SchemaConfig{Annotations: true})
	if err != nil {
		panic(err)
	}
	fmt.Println(g.Annotations())
	// Output: [#/properties/a/format #/properties/a/order]
}

// A text in the middle of which nothing shows where it turns is not
// deterministic.
func ExampleConflictError() {
	_, err := grammar.Parse(context.Background(), `s = "a" s "a" | "a"`, constraint.Limits{})
	var conflict *grammar.ConflictError
	fmt.Println(errors.As(err, &conflict), conflict.Rule)
	// Output: true s
}

const tree = `{
	"$ref": "#/$defs/node",
	"$defs": {"node": {
		"type": "object",
		"properties": {
			"name": {"type": "string", "pattern": "^[a-z]+$"},
			"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}
		},
		"required": ["name"],
		"additionalProperties": false
	}}
}`

func ExampleJSONSchema() {
	g, err := grammar.JSONSchema(context.Background(), []byte(tree), grammar.SchemaConfig{})
	if err != nil {
		panic(err)
	}
	fmt.Println(g.Accepts(`{"name": "root", "children": [{"name": "leaf"}]}`))
	fmt.Println(g.Accepts(`{"name": "root", "children": [{"nom": "leaf"}]}`))
	_, err = grammar.JSONSchema(context.Background(), []byte(`{"items": {"uniqueItems": true}}`), grammar.SchemaConfig{})
	fmt.Println(err)
	// Output:
	// true
	// false
	// grammar: schema: #/items/uniqueItems: supported only where items are of an enum, a const, Booleans or a range of at most 64 integers
}

func ExampleGrammar() {
	g, err := grammar.Parse(context.Background(), `s = "(" s ")" s | ""`, constraint.Limits{})
	if err != nil {
		panic(err)
	}
	fmt.Println(g.Accepts("(()())()"), g.Accepts("(()"))
	// Output: true false
}

// Draws from the trees of at most ten tokens, all texts of which are as likely
// as the product of their tokens' weights says.
func ExampleLanguage() {
	ctx := context.Background()
	g, err := grammar.JSONSchema(ctx, []byte(tree), grammar.SchemaConfig{Compact: true})
	if err != nil {
		panic(err)
	}
	v := text.Vocabulary{Tokens: []string{`{"name":"`, `"}`, `","children":[`, `]}`, "]}]}", ",", "a", "b", `"`, ""}, Padding: []int32{9}}
	l, err := g.Over(ctx, v)
	if err != nil {
		panic(err)
	}
	p, err := projection.Path{Language: l}.Compile(ctx, 10, len(v.Tokens))
	if err != nil {
		panic(err)
	}
	n, err := p.Count(ctx, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(n, "sequences")
	x := make([]int32, 10)
	if _, err := p.Draw(ctx, x, make([]float32, 10*len(v.Tokens)), rand.NewPCG(1, 4)); err != nil {
		panic(err)
	}
	fmt.Println(v.Text(x), constraint.Accepts(l, x))
	// Output:
	// 1232 sequences
	// {"name":"bb","children":[{"name":"ab","children":[]}]} true
}

// One vocabulary, sorted once, for many schemas.
func ExampleVocabulary() {
	ctx := context.Background()
	v, err := grammar.Prepare(text.Bytes())
	if err != nil {
		panic(err)
	}
	for _, schema := range []string{`{"type":"boolean"}`, `{"enum":["a",[]]}`} {
		g, err := grammar.JSONSchema(ctx, []byte(schema), grammar.SchemaConfig{Compact: true})
		if err != nil {
			panic(err)
		}
		l, err := g.OverPrepared(ctx, v)
		if err != nil {
			panic(err)
		}
		states, _, _ := l.Size()
		fmt.Println(states > 1, g.Accepts("true"), g.Accepts("[]"))
	}
	_, err = (&grammar.Grammar{}).OverPrepared(ctx, nil)
	fmt.Println(err)
	// Output:
	// true true false
	// true false true
	// constraint: OverPrepared: v = nil, want a vocabulary of Prepare
}

// What is wrong with a grammar or a schema, and where.
func ExampleSchemaError() {
	_, err := grammar.Parse(context.Background(), "list = item item", constraint.Limits{})
	if syntax := new(grammar.SyntaxError); errors.As(err, &syntax) {
		fmt.Println(syntax.Line, syntax.Column, syntax.What)
	}
	_, err = grammar.JSONSchema(context.Background(), []byte(`{"type": "array", "uniqueItems": true}`), grammar.SchemaConfig{})
	if schema := new(grammar.SchemaError); errors.As(err, &schema) {
		fmt.Println(schema.Path, schema.What, schema.Unsupported)
	}
	// Output:
	// 1 8 no rule defines item
	// #/uniqueItems supported only where items are of an enum, a const, Booleans or a range of at most 64 integers true
}

// Test data for a struct with an int: every value has one text, which encoding/json reads.
func ExampleSpelling() {
	ctx := context.Background()
	schema := []byte(`{
		"type": "object",
		"properties": {"id": {"type": "integer", "minimum": 1, "maximum": 120}},
		"required": ["id"],
		"additionalProperties": false
	}`)
	v := text.Bytes()
	v.Padding = []int32{int32(len(v.Tokens))}
	v.Tokens = append(v.Tokens, "")
	for _, spelling := range []grammar.Spelling{grammar.Free, grammar.Canonical} {
		g, err := grammar.JSONSchema(ctx, schema, grammar.SchemaConfig{Compact: true, Spelling: spelling})
		if err != nil {
			panic(err)
		}
		l, err := g.Over(ctx, v)
		if err != nil {
			panic(err)
		}
		p, err := projection.Path{Language: l}.Compile(ctx, 40, len(v.Tokens))
		if err != nil {
			panic(err)
		}
		n, err := p.Count(ctx, nil)
		if err != nil {
			panic(err)
		}
		fmt.Println(n, "texts,", g.Accepts(`{"id":71.000}`), g.Accepts(`{"i\u0064":71}`), g.Accepts(`{"id":71}`))
	}
	// Output:
	// 12432 texts, true true true
	// 120 texts, false false true
}

// A server asks for a mask before every token that it draws, and takes tokens back when a draft
// of several was wrong.
func ExampleMasks() {
	ctx := context.Background()
	g, err := grammar.JSONSchema(ctx, []byte(`{"type": "object", "properties": {"unit": {"enum": ["celsius", "kelvin"]}}, "required": ["unit"], "additionalProperties": false}`),
		grammar.SchemaConfig{Spelling: grammar.Canonical})
	if err != nil {
		panic(err)
	}
	v := text.Bytes()
	v.Tokens = append(v.Tokens, `{"`, "unit", `":"`, "cel", "kel", `"}`, "")
	v.Padding = []int32{262} // ends a text
	vocabulary, err := grammar.Prepare(v)
	if err != nil {
		panic(err)
	}
	masks, err := g.Masks(ctx, vocabulary) // once for each schema
	if err != nil {
		panic(err)
	}
	m := masks.Matcher() // one for each text
	mask := make([]uint32, masks.Words())
	show := func() {
		if err := m.Mask(mask); err != nil {
			panic(err)
		}
		for t, token := range v.Tokens {
			if mask[t/32]>>(t%32)&1 == 1 {
				fmt.Printf("%q ", token)
			}
		}
		fmt.Println(m.MayEnd())
	}
	show()
	forced, _, err := m.Forced()
	fmt.Println(forced, err)
	for _, token := range []int32{256, 257, 258} {
		if ok, err := m.Accept(token); !ok {
			panic(err)
		}
	}
	show()
	draft := m.Fork()
	fmt.Println(draft.Accept(260))
	fmt.Println(draft.Accept('x'))
	fmt.Println(draft.Rollback(1), m.MaskWithin(mask, 4))
	groups, err := m.Groups()
	fmt.Println(len(groups), groups[0].Tokens, err)
	// Output:
	// "{" "{\"" false
	// {"unit":" <nil>
	// "c" "k" "cel" "kel" false
	// true <nil>
	// false <nil>
	// <nil> <nil>
	// 4 [99] <nil>
}

// The masks of a lexicon over tokens.
func ExampleMasksOf() {
	lexicon := &constraint.Lexicon{}
	lexicon.Add([]int32{'n', 'o'})
	lexicon.Add([]int32{'y', 'e', 's'})
	vocabulary, err := grammar.Prepare(text.Bytes())
	if err != nil {
		panic(err)
	}
	masks, err := grammar.MasksOf(context.Background(), lexicon, vocabulary, constraint.Limits{})
	if err != nil {
		panic(err)
	}
	m := masks.Matcher()
	fmt.Println(m.Accept('y'))
	fmt.Println(m.Forced())
	// Output:
	// true <nil>
	// es [101 115] <nil>
}

// Tokens that lead to the same masks from here on form a group, of which a sampler needs the
// sum of weights only.
func ExampleMatcher_Groups() {
	g, err := grammar.Parse(context.Background(), `text = [a-c]+ "."`, constraint.Limits{})
	if err != nil {
		panic(err)
	}
	vocabulary, err := grammar.Prepare(text.Bytes())
	if err != nil {
		panic(err)
	}
	masks, err := g.Masks(context.Background(), vocabulary)
	if err != nil {
		panic(err)
	}
	var groups []grammar.Group
	if groups, err = masks.Matcher().Groups(); err != nil {
		panic(err)
	}
	for _, g := range groups {
		fmt.Println(g.Tokens)
	}
	// Output: [97 98 99]
}

func ExampleParseLark() {
	g, err := grammar.ParseLark(context.Background(), `
		start: "{" [pair ("," pair)*] "}"
		pair: CNAME "=" SIGNED_INT
		%import common (CNAME, SIGNED_INT, WS)
		%ignore WS
	`, constraint.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(g.Accepts("{ a = 1, b=-20 }"), g.Accepts("{a=1,}"))
	// Output: true false
}
