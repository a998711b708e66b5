package generate_test

import (
	"context"
	"encoding/json"
	"fmt"
	mathrand "math/rand"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/quick"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/generate"
	"pgregory.net/rapid"
)

type order struct {
	ID    int      `json:"id"`
	Lines []string `json:"lines"`
}

const orders = `{
	"type": "object",
	"properties": {
		"id": {"type": "integer", "minimum": 1, "maximum": 999},
		"lines": {"type": "array", "items": {"enum": ["tea", "milk"]}, "minItems": 1, "maxItems": 3}
	},
	"required": ["id", "lines"],
	"additionalProperties": false
}`

func ExampleJSON() {
	ctx := context.Background()
	g, err := generate.JSON(ctx, []byte(orders), generate.Config{})
	if err != nil {
		panic(err)
	}
	n, err := g.Count(ctx)
	fmt.Println(n, "orders", err)
	var o order
	if err := g.Into(&o, 1); err != nil {
		panic(err)
	}
	fmt.Println(o.ID >= 1 && o.ID <= 999, len(o.Lines) > 0, g.Valid(`{"lines": ["tea"], "id": 1.0}`))
	// Output:
	// 13986 orders <nil>
	// true true true
}

// A fuzz target that starts from the edges.
func ExampleGenerator_Edges() {
	target := func(f *testing.F) {
		g, err := generate.JSON(f.Context(), []byte(orders), generate.Config{})
		if err != nil {
			f.Fatal(err)
		}
		for s := range g.Edges(f.Context()) {
			f.Add(s)
		}
		f.Fuzz(func(t *testing.T, s string) {
			if err := json.Unmarshal([]byte(s), &order{}); g.Valid(s) && err != nil {
				t.Fatal(s, err)
			}
		})
	}
	_ = target
}

// A property of package rapid, which shrinks seeds.
func ExampleGenerator_Seeded() {
	g, err := generate.Regexp(context.Background(), `[a-z]+(-[a-z]+)*`, generate.Config{Bytes: 20})
	if err != nil {
		panic(err)
	}
	slugs := rapid.Custom(func(t *rapid.T) string { return g.Seeded(rapid.Uint64().Draw(t, "seed")) })
	fmt.Println(g.Valid(slugs.Example(1)), g.Valid("a--b"))
	// Output: true false
}

func ExampleInstance() {
	ctx := context.Background()
	g, err := generate.JSON(ctx, []byte(orders), generate.Config{})
	if err != nil {
		panic(err)
	}
	for x, err := range g.Invalid(ctx) {
		if err != nil {
			panic(err)
		}
		fmt.Println(x.Keyword, json.Valid([]byte(x.Text)), g.Valid(x.Text))
	}
	// Output:
	// #/type true false
	// #/properties/id/type true false
	// #/properties/id/minimum true false
	// #/properties/id/maximum true false
	// #/properties/lines/type true false
	// #/properties/lines/items/enum true false
	// #/properties/lines/minItems true false
	// #/properties/lines/maxItems true false
	// #/required true false
	// #/required true false
	// #/additionalProperties true false
}

// A weight makes long lists rare. A format that no draft knows is an annotation.
func ExampleConfig() {
	ctx := context.Background()
	g, err := generate.JSON(ctx, []byte(`{"type": "array", "items": {"type": "boolean", "format": "switch"}, "maxItems": 2}`), generate.Config{
		Annotations: true, Limits: constraint.Limits{States: 1 << 12},
		Weight: func(text string) float64 {
			if strings.Contains(text, ",") {
				return 0.01
			}
			return 1
		},
	})
	if err != nil {
		panic(err)
	}
	long, src := 0, rand.NewPCG(1, 2)
	for range 300 { // of seven texts four are long
		text, err := g.Draw(ctx, src)
		if err != nil {
			panic(err)
		}
		long += strings.Count(text, ",")
	}
	fmt.Println(long < 30)
	// Output: true
}

// Arguments of a function that package testing/quick calls.
func ExampleGenerator_Values() {
	g, err := generate.JSON(context.Background(), []byte(orders), generate.Config{})
	if err != nil {
		panic(err)
	}
	positive := func(o order) bool { return o.ID > 0 && len(o.Lines) > 0 }
	fmt.Println(quick.Check(positive, &quick.Config{Values: func(args []reflect.Value, r *mathrand.Rand) {
		g.Values(args, []reflect.Type{reflect.TypeFor[order]()}, r.Uint64)
	}}))
	// Output: <nil>
}

func ExampleGrammar() {
	ctx := context.Background()
	g, err := generate.Grammar(ctx, `sum = number ("+" number)*; number = [1-3] | "(" sum ")"`, generate.Config{Bytes: 5})
	if err != nil {
		panic(err)
	}
	n, err := g.Count(ctx)
	fmt.Println(n, g.Valid(g.Seeded(7)), err)
	// Output: 72 true <nil>
}
