package grammar

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/assert"
)

// listed writes n items of a list.
func listed(n int, format string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, strings.ReplaceAll(format, "%d", "%[1]d"), i)
	}
	return b.String()
}

// levels writes schemas, each of which combines the next one twice.
func levels(n int, format, last string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"l%d":`+format+`,`, i, i+1, min(i+2, n))
	}
	return fmt.Sprintf(`{"$ref":"#/$defs/l0","$defs":{%s"l%d":%s}}`, b.String(), n, last)
}

// hostile are schemas that are small and ask for much.
var hostile = map[string]string{
	"anyOf":        levels(29, `{"anyOf":[{"$ref":"#/$defs/l%d"},{"$ref":"#/$defs/l%d"}]}`, `{"type":"object","patternProperties":{"^a":{"type":"integer"}}}`),
	"allOf":        levels(29, `{"allOf":[{"$ref":"#/$defs/l%d"},{"$ref":"#/$defs/l%d"}]}`, `{"type":"object","patternProperties":{"^a":{"type":"integer"}}}`),
	"oneOf":        levels(29, `{"oneOf":[{"$ref":"#/$defs/l%d"},{"$ref":"#/$defs/l%d"}]}`, `{"type":"object"}`),
	"if":           levels(29, `{"if":{"$ref":"#/$defs/l%d"},"else":{"$ref":"#/$defs/l%d"}}`, `{"type":"object"}`),
	"required":     fmt.Sprintf(`{"anyOf":[%s]}`, listed(60, `{"required":["a%d"]}`)),
	"all required": fmt.Sprintf(`{"required":[%s]}`, listed(2000, `"a%d"`)),
	"properties":   fmt.Sprintf(`{"properties":{%s}}`, listed(20000, `"a%d":{}`)),
	"closed":       fmt.Sprintf(`{"properties":{%s},"additionalProperties":false}`, listed(20000, `"a%d":{"type":"string"}`)),
	"ifs":          fmt.Sprintf(`{"allOf":[%s]}`, listed(20, `{"if":{"properties":{"a%d":{"const":1}}},"then":{"required":["b%d"]}}`)),
	"ones":         fmt.Sprintf(`{"allOf":[%s]}`, listed(24, `{"oneOf":[{"required":["a%d"]},{"required":["b%d"]}]}`)),
	"items":        `{"minItems":100000000}`,
	"lengths":      `{"type":"array","items":{"type":"string","minLength":16000000},"minItems":1000}`,
	"enum":         fmt.Sprintf(`{"enum":[%s]}`, listed(20000, `"text %d"`)),
	"numbers":      fmt.Sprintf(`{"enum":[%s]}`, listed(2000, `%d.5`)),
	"patterns":     fmt.Sprintf(`{"properties":{%s}}`, listed(100, `"a%d":{"pattern":"(a|b)*a(a|b){12}x%d"}`)),
	"repeats":      `{"pattern":"^(a{1000}){1000}$"}`,
	"nested":       strings.Repeat(`{"items":`, 900) + "{}" + strings.Repeat("}", 900),
	"long name":    `{"properties":{"` + strings.Repeat("n", 1<<19) + `":` + strings.Repeat(`{"items":`, 900) + "{}" + strings.Repeat("}", 900) + "}}",
	"chain":        levels(5000, `{"$ref":"#/$defs/l%d","title":"%d"}`, `{}`),
	"cycle":        `{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"},{"$ref":"#/$defs/a"}]},"b":{"$ref":"#/$defs/a"}}}`,
}

// endlessNames returns a schema whose only value is {}. A member may have a name with ^ab, but not one
// with ^a. Finding out that there is no such name takes as many states as the other patterns have
// together, which count characters modulo three primes. The text of extra follows in the schema.
func endlessNames(extra string) string {
	return `{"type":"object","patternProperties":{"^ab":{"type":"null"},"^a":false,"^(.{101})+$":false,"^(.{103})+$":false,"^(.{107})+$":false},` +
		`"additionalProperties":false` + extra + `}`
}

// A search for the name of a member ends by its limits and with its context.
func TestEndlessNames(t *testing.T) {
	for _, extra := range []string{"", `,"propertyNames":{"maxLength":1000000}`} {
		g, err := JSONSchema(t.Context(), []byte(endlessNames(extra)), SchemaConfig{Limits: constraint.Limits{Bytes: 1 << 23}})
		assert.NoError(t, err)
		ctx := &ticking{Context: t.Context(), ends: 10}
		_, err = g.Over(ctx, text.Bytes())
		assert.ErrorIs(t, err, context.Canceled)
		for range 2 { // the memory of the first search is free again
			_, err = g.Over(t.Context(), text.Bytes())
			var limit *constraint.LimitError
			assert.ErrorAs(t, err, &limit)
			if limit != nil {
				assert.Equal(t, "JSONSchema: bytes", limit.What)
				assert.Less(t, limit.Value, 1<<23+1<<16)
			}
		}
	}
}

// Patterns whose combined automaton is too large are read side by side.
func TestManyPatternsOfAString(t *testing.T) {
	schema := `{"type":"string","allOf":[{"pattern":"a.{5}b"},{"pattern":"c.{5}d"},{"pattern":"e.{5}f"}],"not":{"const":"a"}}`
	g, err := JSONSchema(t.Context(), []byte(schema), SchemaConfig{Limits: constraint.Limits{States: 1 << 12}})
	if assert.NoError(t, err) {
		assert.True(t, g.Accepts(`"a12345b c12345d e12345f"`))
		assert.False(t, g.Accepts(`"a12345b c12345d e1234f"`))
	}
}

// weighing is a context that measures the memory in use, now and then when it is looked at.
type weighing struct {
	context.Context
	looks int
	most  uint64
}

func (c *weighing) Err() error {
	if c.looks++; c.looks%128 == 0 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		c.most = max(c.most, m.HeapAlloc)
	}
	return nil
}

// The limit of bytes bounds the memory of an exploration of long strings, of which a pattern
// distinguishes most characters.
func TestExploredMemory(t *testing.T) {
	exact.SkipUnderRace(t)
	const bound = 1 << 22
	least := uint64(bound / 2)
	if math.MaxInt == math.MaxInt32 { // the estimate is that of long pointers
		least = bound / 3
	}
	for _, schema := range []string{
		`{"type":"string","pattern":"^( !#%&',:;<=>@ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~)*$","maxLength":3000}`,
		`{"type":"string","minLength":10000}`,
	} {
		schema = `{"anyOf":[{"const":"."},` + schema + `]}` // so that the states are not counted before they are made
		g, err := JSONSchema(t.Context(), []byte(schema), SchemaConfig{Limits: constraint.Limits{Bytes: bound}})
		assert.NoError(t, err)
		runtime.GC()
		runtime.GC() // the first leaves what pools held
		var before runtime.MemStats
		runtime.ReadMemStats(&before)
		ctx := &weighing{Context: t.Context()}
		_, err = g.explored(ctx)
		var limit *constraint.LimitError
		assert.ErrorAs(t, err, &limit)
		assert.Greater(t, ctx.looks, 512)
		assert.Greater(t, ctx.most, before.HeapAlloc+least)
		assert.Less(t, ctx.most, before.HeapAlloc+bound*6/5)
	}
}

// A string whose length may be very great has too many states, which is found before they are made.
func TestExploredLength(t *testing.T) {
	for most, want := range map[int]int{1 << 17: 22<<17 + 1, 40: 0} {
		schema := fmt.Sprintf(`{"properties":{"a":{"type":"string","maxLength":%d}},"additionalProperties":false}`, most)
		g, err := JSONSchema(t.Context(), []byte(schema), SchemaConfig{})
		assert.NoError(t, err)
		m, err := g.explored(t.Context())
		if want == 0 {
			assert.NoError(t, err)
			assert.Greater(t, m.States(), 9*most)
			continue
		}
		var limit *constraint.LimitError
		assert.ErrorAs(t, err, &limit)
		assert.Equal(t, want, limit.Value)
	}
}

// The number of items of states is bounded, too: with many gates, a state has many items.
func TestExploredItems(t *testing.T) {
	exact.SkipUnderRace(t)
	schema := `{"type":"array","oneOf":[` + listed(24, `{"minItems":%d,"contains":{"const":%d}}`) + `]}`
	g, err := JSONSchema(t.Context(), []byte(schema), SchemaConfig{})
	assert.NoError(t, err)
	_, err = g.explored(t.Context())
	var limit *constraint.LimitError
	assert.ErrorAs(t, err, &limit)
	assert.Contains(t, limit.What, "parts of states")
}

// ticking is a context that counts its polls and ends after some of them.
type ticking struct {
	context.Context
	looks, ends int
}

func (c *ticking) Err() error {
	if c.looks++; c.looks > c.ends {
		return context.Canceled
	}
	return nil
}

// Hostile schemas and grammars end within their budget. Whatever they ask for, they poll their
// context after a bounded number of operations and take little memory in all. The memory that they
// take between two polls measures the operations.
func TestHostileInputs(t *testing.T) {
	exact.SkipUnderRace(t)
	compile := map[string]func(ctx context.Context) error{}
	for name, source := range hostile {
		compile[name] = func(ctx context.Context) error {
			g, err := JSONSchema(ctx, []byte(source), SchemaConfig{Limits: constraint.Limits{States: 1 << 14, Bytes: 1 << 26}})
			if err == nil {
				_, err = g.Over(ctx, text.Bytes())
			}
			return err
		}
	}
	for name, source := range hostileGrammars {
		compile[name] = func(ctx context.Context) error {
			_, err := Parse(ctx, source, constraint.Limits{States: 1 << 14, Bytes: 1 << 26})
			return err
		}
	}
	for name, source := range hostileLark {
		compile["Lark "+name] = func(ctx context.Context) error {
			_, err := ParseLark(ctx, source, constraint.Limits{States: 1 << 14, Bytes: 1 << 26})
			return err
		}
	}
	for name, source := range hostileGBNF {
		compile["GBNF "+name] = func(ctx context.Context) error {
			_, err := ParseGBNF(ctx, source, constraint.Limits{States: 1 << 14, Bytes: 1 << 26})
			return err
		}
	}
	for name, f := range compile {
		t.Run(name, func(t *testing.T) {
			for _, ends := range []int{20, 0, 1, 100} {
				if testing.Short() && ends != 20 {
					continue
				}
				ctx := &ticking{Context: t.Context(), ends: ends}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				err := f(ctx)
				runtime.ReadMemStats(&after)
				if ctx.looks > ends {
					assert.ErrorIs(t, err, context.Canceled)
					assert.LessOrEqual(t, ctx.looks, ends+4, "looks after the end")
				} else if err != nil {
					var limit *constraint.LimitError
					var bad *SchemaError
					var syntax *SyntaxError
					assert.True(t, errors.As(err, &limit) || errors.As(err, &bad) || errors.As(err, &syntax), "%v", err)
				}
				if err != nil {
					assert.Less(t, len(err.Error()), 2000)
				}
				assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<27+ends<<21), "bytes allocated in %d looks", ctx.looks)
			}
		})
	}
}

// hostileGrammars are the same for Parse.
var hostileGrammars = map[string]string{
	"laughs":       doubled(40, "r%d = r%d r%d\n") + "r40 = \"ha\"",
	"same laughs":  doubled(40, "r%d = r%d | r%d\n") + "r40 = \"ha\"",
	"counts":       `s = (("a"{1000}){1000}){1000}`,
	"parentheses":  "s = " + strings.Repeat("(", 100000),
	"deep":         "s = " + strings.Repeat("(", 900) + `"a"` + strings.Repeat(")", 900),
	"rule chain":   doubled(20000, "r%d = \"a\" r%d | \"b%d\"\n") + `r20000 = "c"`,
	"rule cycle":   doubled(20000, "r%d = \"(\" r%d \")\" | \"b%d\"\n") + `r20000 = "[" r0 "]"`,
	"rule circle":  doubled(5000, "r%d = \"a\" r%d | \"b%d\"\n") + `r5000 = "c" r0 "d"`,
	"long literal": `s = "` + strings.Repeat("a", 1<<20) + `"`,
	"long pattern": `s = /` + strings.Repeat("a", 1<<18) + `{1000}/`,
}

// hostileLark are the same for ParseLark.
var hostileLark = map[string]string{
	"laughs":           "start: r0\n" + doubled(40, "r%d: r%d r%d\n") + `r40: "ha"`,
	"terminals":        "start: R0\n" + doubled(40, "R%d: R%d R%d\n") + `R40: "ha"`,
	"counts":           `start: (("a"~1000)~1000)~1000`,
	"brackets":         "start: " + strings.Repeat("[", 100000),
	"optional":         "start: " + strings.Repeat(`["a"] `, 1000),
	"ignored":          "start: \"a\"+\n" + doubled(2000, "%%ignore \"i%d %d %d\"\n"),
	"rule chain":       "start: r0\n" + doubled(20000, "r%d: \"a\" r%d | \"b%d\"\n") + `r20000: "c"`,
	"characters":       "start: /" + distinctRunes(3000) + "/",
	"many characters":  "start: /" + distinctRunes(20000) + "/",
	"long pattern":     "start: /" + strings.Repeat("a", 1<<23) + "/",
	"pattern of lists": "start: /(" + strings.Repeat("[a-c]|[b-d]*", 300) + "){40}/",
}

// hostileGBNF are the same for ParseGBNF.
var hostileGBNF = map[string]string{
	"laughs":     "root ::= r0\n" + doubled(40, "r%d ::= r%d r%d\n") + `r40 ::= "ha"`,
	"counts":     `root ::= (("a"{1000}){1000}){1000}`,
	"brackets":   "root ::= " + strings.Repeat("(", 100000),
	"classes":    "root ::= " + strings.Repeat(`[^a-\U0010FFFF] `, 20000),
	"class":      "root ::= [" + strings.Repeat(`\U00010000-\U00010001`, 100000) + "]",
	"characters": "root ::= [" + distinctRunes(20000) + "]",
	"rule chain": "root ::= r0\n" + doubled(20000, "r%d ::= \"a\" r%d | \"b%d\"\n") + `r20000 ::= "c"`,
}

// distinctRunes writes n different runes.
func distinctRunes(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteRune(rune(0x4e00 + i))
	}
	return b.String()
}

// doubled writes rules, each of which names the next one twice.
func doubled(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i, i+1, i+1)
	}
	return b.String()
}

// A limit of any size is no error.
func TestExploredGreatLimits(t *testing.T) {
	for _, states := range []int{math.MaxInt, math.MaxInt/8 + 1} {
		g, err := JSONSchema(t.Context(), []byte(`{"type":"string"}`), SchemaConfig{Limits: constraint.Limits{States: states}})
		assert.NoError(t, err)
		_, err = g.explored(t.Context())
		assert.NoError(t, err)
	}
}
