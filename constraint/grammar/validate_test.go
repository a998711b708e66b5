package grammar

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/stretchr/testify/require"
)

// valid is JSON Schema by its definition, on decoded values: it shares nothing
// with the compiler.
func valid(s any, v any, root map[string]any) bool {
	ok, _ := judged(s, v, root)
	return ok
}

// unjudged is a panic about a text of which ofFormats does not know whether it has a format.
type unjudged struct{}

// judgeable is valid where that is known.
func judgeable(s, v any, root map[string]any) (want, known bool) {
	defer func() {
		if p := recover(); p != nil && p != (unjudged{}) {
			panic(p)
		}
	}()
	return valid(s, v, root), true
}

// seen are the members and items that a schema evaluated.
type seen struct {
	names map[string]bool
	items map[int]bool
}

func (e seen) add(o seen) {
	maps.Copy(e.names, o.names)
	maps.Copy(e.items, o.items)
}

// ofFormats are texts with a format and without, by hand.
var ofFormats = func() map[string]map[string]bool {
	all := map[string]map[string]bool{
		"date":          {"2024-02-29": true, "2023-02-29": false, "2024-13-01": false},
		"time":          {"12:30:00Z": true, "12:30:00+01:00": true, "25:00:00Z": false},
		"date-time":     {"2024-02-29T12:30:00Z": true, "2023-02-30T12:30:00Z": false},
		"duration":      {"P1Y2M": true, "PT1H": true, "P": false, "1Y": false},
		"ipv4":          {"127.0.0.1": true, "256.0.0.1": false, "1.2.3": false},
		"ipv6":          {"::1": true, "1:2:3:4:5:6:7:8": true, "1::2::3": false, ":": false},
		"email":         {"a@b.example": true, "a@": false},
		"uri":           {"http://a.example/b?c#d": true, "urn:a:b": true, "//a": false, "http://a b": false},
		"uri-reference": {"/a?b": true, "//a/b": true, "": true, "a": true, "ab": true, "abc": true, "a b": false},
		"uri-template":  {"/a/{b}": true, "{+a,b*}": true, "{": false, "": true, "a": true, "ab": true, "abc": true, "é": true},
		"json-pointer":  {"": true, "/a/~0": true, "/~": false},
		"uuid":          {"123e4567-e89b-12d3-a456-426614174000": true, "123e4567": false},
		"hostname":      {"a.example": true, "a": true, "ab": true, "abc": true, "-a": false, "a b": false},
		"regex":         {"a(b|[^c])*": true, "": true, "a": true, "ab": true, "abc": true, "é": true, "a\n": true},

		"relative-json-pointer": {"0": true, "1/a": true, "2#": true, "01": false, "/a": false},
	}
	for _, f := range all {
		for _, text := range pool {
			if _, ok := f[text]; !ok {
				f[text] = false
			}
		}
	}
	return all
}()

// pool are the texts of values otherwise.
var pool = []string{"", "a", "ab", "é", "a\n", "abc"}

// judged reports whether a value satisfies a schema, and what the schema evaluated if so.
func judged(s any, v any, root map[string]any) (ok bool, done seen) {
	done = seen{map[string]bool{}, map[int]bool{}}
	if b, ok := s.(bool); ok {
		return b, done
	}
	m := s.(map[string]any)
	list := func(k string) []any { l, _ := m[k].([]any); return l }
	in := func(s any) bool {
		ok, e := judged(s, v, root)
		if ok {
			done.add(e)
		}
		return ok
	}
	if ref, ok := m["$ref"].(string); ok && !in(root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")]) {
		return false, done
	}
	if ref, ok := m["$dynamicRef"].(string); ok && !in(root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#")]) {
		return false, done
	}
	if t, ok := m["type"]; ok {
		names := list("type")
		if name, ok := t.(string); ok {
			names = []any{name}
		}
		f, isNumber := v.(float64)
		name := map[string]string{"string": "string", "float64": "number", "bool": "boolean", "map[string]interface {}": "object", "[]interface {}": "array"}[fmt.Sprintf("%T", v)]
		if v == nil {
			name = "null"
		}
		if !slices.Contains(names, any(name)) && !(isNumber && f == float64(int(f)) && slices.Contains(names, any("integer"))) {
			return false, done
		}
	}
	if e, ok := m["enum"]; ok && !slices.ContainsFunc(e.([]any), func(x any) bool { return reflect.DeepEqual(x, v) }) {
		return false, done
	}
	if c, ok := m["const"]; ok && !reflect.DeepEqual(c, v) {
		return false, done
	}
	number := func(k string) (float64, bool) { f, ok := m[k].(float64); return f, ok }
	switch v := v.(type) {
	case float64:
		for k, fails := range map[string]func(b float64) bool{
			"minimum": func(b float64) bool { return v < b }, "maximum": func(b float64) bool { return v > b },
			"exclusiveMinimum": func(b float64) bool { return v <= b }, "exclusiveMaximum": func(b float64) bool { return v >= b },
			"multipleOf": func(b float64) bool { return v/b != float64(int(v/b)) },
		} {
			if b, ok := number(k); ok && fails(b) {
				return false, done
			}
		}
	case string:
		n := utf8.RuneCountInString(v)
		if b, ok := number("minLength"); ok && n < int(b) {
			return false, done
		}
		if b, ok := number("maxLength"); ok && n > int(b) {
			return false, done
		}
		if p, ok := m["pattern"].(string); ok && !regexp.MustCompile(p).MatchString(v) {
			return false, done
		}
		if f, ok := m["format"].(string); ok {
			has, known := ofFormats[f][v]
			if !known {
				panic(unjudged{})
			}
			if !has {
				return false, done
			}
		}
	case []any:
		if b, ok := number("minItems"); ok && len(v) < int(b) {
			return false, done
		}
		if b, ok := number("maxItems"); ok && len(v) > int(b) {
			return false, done
		}
		first := list("prefixItems")
		matched := 0
		for i, x := range v {
			if i < len(first) {
				if !valid(first[i], x, root) {
					return false, done
				}
				done.items[i] = true
			} else if rest, ok := m["items"]; ok {
				if !valid(rest, x, root) {
					return false, done
				}
				done.items[i] = true
			}
			if c, ok := m["contains"]; ok && valid(c, x, root) {
				matched++
				done.items[i] = true
			}
			for _, y := range v[:i] {
				if m["uniqueItems"] == true && reflect.DeepEqual(x, y) {
					return false, done
				}
			}
		}
		if _, ok := m["contains"]; ok {
			most, bounded := number("maxContains")
			least, given := number("minContains")
			if !given {
				least = 1
			}
			if matched < int(least) || bounded && matched > int(most) {
				return false, done
			}
		}
	case map[string]any:
		if b, ok := number("minProperties"); ok && len(v) < int(b) {
			return false, done
		}
		if b, ok := number("maxProperties"); ok && len(v) > int(b) {
			return false, done
		}
		for _, k := range list("required") {
			if _, ok := v[k.(string)]; !ok {
				return false, done
			}
		}
		if d, ok := m["dependentRequired"].(map[string]any); ok {
			for k, needs := range d {
				for _, n := range needs.([]any) {
					_, has := v[k]
					if _, also := v[n.(string)]; has && !also {
						return false, done
					}
				}
			}
		}
		if d, ok := m["dependentSchemas"].(map[string]any); ok {
			for k, s := range d {
				if _, has := v[k]; has && !in(s) {
					return false, done
				}
			}
		}
		properties, _ := m["properties"].(map[string]any)
		patterns, _ := m["patternProperties"].(map[string]any)
		for k, x := range v {
			known := false
			if s, ok := properties[k]; ok {
				known = true
				if !valid(s, x, root) {
					return false, done
				}
			}
			for p, s := range patterns {
				if regexp.MustCompile(p).MatchString(k) {
					known = true
					if !valid(s, x, root) {
						return false, done
					}
				}
			}
			if s, ok := m["additionalProperties"]; ok && !known {
				known = true
				if !valid(s, x, root) {
					return false, done
				}
			}
			if known {
				done.names[k] = true
			}
			if s, ok := m["propertyNames"]; ok && !valid(s, k, root) {
				return false, done
			}
		}
	}
	for _, x := range list("allOf") {
		if !in(x) {
			return false, done
		}
	}
	passing := func(xs []any) (n int) {
		for _, x := range xs {
			if in(x) {
				n++
			}
		}
		return n
	}
	if x := list("anyOf"); x != nil && passing(x) == 0 {
		return false, done
	}
	if x := list("oneOf"); x != nil && passing(x) != 1 {
		return false, done
	}
	if x, ok := m["not"]; ok && valid(x, v, root) {
		return false, done
	}
	if x, ok := m["if"]; ok {
		k := "else"
		if in(x) {
			k = "then"
		}
		if y, ok := m[k]; ok && !in(y) {
			return false, done
		}
	}
	if s, ok := m["unevaluatedProperties"]; ok {
		if o, is := v.(map[string]any); is {
			for k, x := range o {
				if !done.names[k] && !valid(s, x, root) {
					return false, done
				}
				done.names[k] = true
			}
		}
	}
	if s, ok := m["unevaluatedItems"]; ok {
		if l, is := v.([]any); is {
			for i, x := range l {
				if !done.items[i] && !valid(s, x, root) {
					return false, done
				}
				done.items[i] = true
			}
		}
	}
	return true, done
}

// texts writes a value with its members in every order.
func texts(v any) []string {
	switch v := v.(type) {
	case []any:
		out := []string{""}
		for i, x := range v {
			var next []string
			for _, o := range out {
				for _, t := range texts(x) {
					if i > 0 {
						t = "," + t
					}
					next = append(next, o+t)
				}
			}
			out = next
		}
		for i := range out {
			out[i] = "[" + out[i] + "]"
		}
		return out
	case map[string]any:
		var names []string
		for k := range v {
			names = append(names, k)
		}
		slices.Sort(names)
		var out []string
		var permute func(done string, left []string)
		permute = func(done string, left []string) {
			if len(left) == 0 {
				out = append(out, "{"+done+"}")
			}
			for i, k := range left {
				rest := slices.Delete(slices.Clone(left), i, i+1)
				for _, t := range texts(v[k]) {
					sep := ""
					if done != "" {
						sep = ", "
					}
					permute(fmt.Sprintf("%s%s%q: %s", done, sep, k, t), rest)
				}
			}
		}
		permute("", names)
		return out
	}
	b, _ := json.Marshal(v)
	return []string{string(b)}
}

func pick[T any](r *rand.Rand, xs ...T) T { return xs[r.IntN(len(xs))] }

func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(9); {
	case n == 0:
		return nil
	case n == 1:
		return r.IntN(2) == 0
	case n == 2:
		return pick(r, -1.0, 0, 1, 2, 2.5, 10, 12)
	case n <= 4 || depth == 0:
		return pick(r, pool...)
	case n == 5:
		l := []any{}
		for range r.IntN(4) {
			l = append(l, randomValue(r, depth-1))
		}
		return l
	}
	m := map[string]any{}
	for range r.IntN(4) {
		m[pick(r, "a", "b", "c")] = randomValue(r, depth-1)
	}
	return m
}

// fitting returns a value that mostly satisfies a schema, so that valid instances are as many as
// others.
func fitting(r *rand.Rand, s any, root map[string]any, depth int) any {
	m, is := s.(map[string]any)
	if !is || depth == 0 || r.IntN(8) == 0 {
		return randomValue(r, min(depth, 2))
	}
	list := func(k string) []any { l, _ := m[k].([]any); return l }
	sub := func(k string) (any, bool) { x, ok := m[k]; return x, ok }
	if ref, ok := m["$ref"].(string); ok {
		return fitting(r, root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")], root, depth-1)
	}
	if c, ok := sub("const"); ok {
		return c
	}
	for _, k := range []string{"enum"} {
		if l := list(k); len(l) > 0 {
			return pick(r, l...)
		}
	}
	if f, ok := m["format"].(string); ok && r.IntN(2) == 0 {
		return pick(r, slices.Sorted(maps.Keys(ofFormats[f]))...)
	}
	for _, k := range []string{"allOf", "anyOf", "oneOf"} {
		if l := list(k); len(l) > 0 && r.IntN(2) == 0 {
			return fitting(r, pick(r, l...), root, depth-1)
		}
	}
	for _, k := range []string{"then", "else", "if"} {
		if x, ok := sub(k); ok && r.IntN(3) == 0 {
			return fitting(r, x, root, depth-1)
		}
	}
	is = false
	for _, k := range []string{"items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems", "unevaluatedItems"} {
		is = is || m[k] != nil
	}
	if t := m["type"]; t == "array" || is && t == nil {
		l := []any{}
		first := list("prefixItems")
		for i := range 1 + r.IntN(3) {
			x, ok := sub("items")
			if i < len(first) {
				x, ok = first[i], true
			}
			if c, has := sub("contains"); has && r.IntN(2) == 0 {
				x, ok = c, true
			}
			if !ok {
				x = true
			}
			l = append(l, fitting(r, x, root, depth-1))
		}
		return l
	}
	for _, k := range []string{"properties", "required", "additionalProperties", "patternProperties", "minProperties", "maxProperties", "propertyNames",
		"unevaluatedProperties", "dependentRequired", "dependentSchemas"} {
		is = is || m[k] != nil
	}
	if t := m["type"]; t == "object" || is && t == nil {
		o := map[string]any{}
		p, _ := m["properties"].(map[string]any)
		for _, k := range []string{"a", "b", "c", "d"} {
			x, listed := p[k]
			if r.IntN(3) == 0 && !slices.Contains(list("required"), any(k)) || !listed && r.IntN(3) > 0 {
				continue
			}
			if !listed {
				if x, listed = sub("additionalProperties"); !listed {
					x = true
				}
			}
			o[k] = fitting(r, x, root, depth-1)
		}
		return o
	}
	return randomValue(r, min(depth, 2))
}

func randomSchema(r *rand.Rand, depth int) any {
	if r.IntN(8) == 0 {
		return r.IntN(3) > 0
	}
	m := map[string]any{}
	sub := func() any {
		if depth == 0 {
			return true
		}
		return randomSchema(r, depth-1)
	}
	subs := func() []any { return []any{sub(), sub()} }
	for range 1 + r.IntN(3) {
		switch r.IntN(34) {
		case 0, 1, 2:
			m["type"] = pick[any](r, "object", "object", "array", "string", "integer", "number", []any{"null", "boolean", "object"})
		case 3:
			m["enum"] = []any{randomValue(r, 1), randomValue(r, 1), "a"}
		case 4:
			m["const"] = randomValue(r, 2)
		case 5, 6, 7, 8:
			p := map[string]any{}
			for _, k := range []string{"a", "b"} {
				if r.IntN(2) == 0 {
					p[k] = sub()
				}
			}
			m["properties"] = p
		case 9:
			m["required"] = []any{pick(r, "a", "b", "c")}
		case 10:
			m["additionalProperties"] = sub()
		case 11:
			m["patternProperties"] = map[string]any{pick(r, "a", "^[bc]"): sub()}
		case 12:
			m["items"] = sub()
		case 13:
			m["prefixItems"] = []any{sub()}
		case 14:
			m["contains"] = sub()
			if r.IntN(2) == 0 {
				m["maxContains"] = 1.0
			}
			if r.IntN(2) == 0 {
				m["minContains"] = pick(r, 0.0, 1, 2)
			}
		case 15:
			m["minItems"], m["maxItems"] = 1.0, 2.0
		case 16:
			m["minimum"] = pick(r, 0.0, 1.5, -1)
		case 17:
			m["exclusiveMaximum"] = pick(r, 2.5, 10.0)
		case 18:
			m["multipleOf"] = pick(r, 2.0, 0.5, 5)
		case 19:
			m["minLength"], m["maxLength"] = 1.0, 2.0
		case 20:
			m["pattern"] = pick(r, "a", "^a.?$", "b$")
		case 21:
			m["anyOf"] = subs()
		case 22:
			m["oneOf"] = subs()
		case 23:
			m["not"] = sub()
		case 24:
			m["if"], m["then"], m["else"] = sub(), sub(), sub()
		case 25:
			m["allOf"] = subs()
			if r.IntN(2) == 0 {
				m["dependentRequired"] = map[string]any{"a": []any{"b"}}
			}
			if r.IntN(2) == 0 {
				m["propertyNames"] = pick(r, map[string]any{"enum": []any{"a", "b"}}, map[string]any{"maxLength": 0.0}, map[string]any{"pattern": "[ab]", "minLength": 1.0})
			}
			if r.IntN(2) == 0 {
				m["items"] = map[string]any{"$ref": "#/$defs/x"}
			}
		case 26, 27:
			m["unevaluatedProperties"] = sub()
			if r.IntN(2) == 0 {
				m["unevaluatedProperties"] = false
			}
		case 28:
			m["unevaluatedItems"] = sub()
		case 29, 30:
			m["uniqueItems"] = true
			m["items"] = pick[any](r, map[string]any{"enum": []any{"a", "ab", 1.0, []any{}}}, map[string]any{"type": []any{"boolean", "null"}},
				map[string]any{"type": "integer", "minimum": 0.0, "maximum": 2.0})
		case 31:
			m["format"] = pick(r, slices.Sorted(maps.Keys(ofFormats))...)
			m["type"] = "string"
		case 32:
			m["dependentSchemas"] = map[string]any{"a": sub()}
		case 33:
			m["maximum"], m["exclusiveMinimum"] = 10.0, -1.0
			if r.IntN(16) == 0 {
				m["minProperties"] = pick(r, 1.0, 2)
			}
			if r.IntN(4) == 0 {
				m["maxProperties"] = pick(r, 1.0, 2)
			}
		}
	}
	return m
}

// written writes a value with its members in a random order.
func written(r *rand.Rand, v any) string {
	switch v := v.(type) {
	case []any:
		var items []string
		for _, x := range v {
			items = append(items, written(r, x))
		}
		return "[" + strings.Join(items, ",") + "]"
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		var members []string
		for _, k := range names {
			members = append(members, fmt.Sprintf("%q: %s", k, written(r, v[k])))
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	b, _ := json.Marshal(v)
	return string(b)
}

var (
	fuzzedSchemas   = flag.Int("schemas", 0, "random schemas of TestSchemasAgainstTheirDefinition, 0 for a few")
	fuzzedInstances = flag.Int("instances", 25, "and instances of each")
	fuzzSeed        = flag.Uint64("fuzzseed", 17, "and their seed")
	ajvFolder       = flag.String("ajv", "", "`folder` with the npm packages ajv and ajv-formats, which judge the instances, too")
)

// TestSchemasAgainstTheirDefinition judges random instances of random schemas, whose members come
// in random orders. What is accepted must be valid; of what is valid one in a thousand may be
// refused, because unknown names together count as one member. What is refused in the order that
// comes must be accepted in some order if the schema's own is asked for.
//
//	go test ./constraint/grammar -run AgainstTheirDefinition -schemas 100000 -instances 50 -ajv FOLDER -v -timeout 0
func TestSchemasAgainstTheirDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(3, *fuzzSeed))
	schemas := *fuzzedSchemas
	if schemas == 0 {
		if schemas = 2000; testing.Short() {
			schemas = 300
		}
	}
	second := newAjv(t, *ajvFolder)
	var yes, no, refused, unsupported, agree int
	for range schemas {
		root := map[string]any{"allOf": []any{randomSchema(r, 2)}, "$defs": map[string]any{"x": randomSchema(r, 1)}}
		if strings.Contains(fmt.Sprint(root["$defs"]), "$ref") {
			continue // may refer to itself before it reads anything
		}
		source, err := json.Marshal(root)
		require.NoError(t, err)
		g, err := JSONSchema(t.Context(), source, SchemaConfig{AnyOrder: true})
		var e *SchemaError
		if errors.As(err, &e) && e.Unsupported {
			unsupported++
			continue
		}
		ordered, orderedErr := JSONSchema(t.Context(), source, SchemaConfig{})
		if !errors.Is(err, constraint.ErrInfeasible) {
			require.NoError(t, err, "%s", source)
			require.NoError(t, orderedErr, "%s", source)
		}
		var values []any
		var wants []bool
		for range *fuzzedInstances {
			v := fitting(r, root["allOf"].([]any)[0], root, 3)
			want, known := judgeable(root, v, root)
			if !known {
				continue
			}
			got := err == nil && g.Accepts(written(r, v))
			values, wants = append(values, v), append(wants, want)
			switch {
			case want && !got:
				if refused++; refused <= 100 {
					t.Logf("refused: %s\n%s", source, written(r, v))
				}
			case want:
				yes++
				if orderedErr == nil {
					require.True(t, slices.ContainsFunc(texts(v), ordered.Accepts), "%s\n%s", source, texts(v)[0])
				}
			default:
				no++
			}
			if got && !want || orderedErr == nil && !want && slices.ContainsFunc(texts(v), ordered.Accepts) {
				require.Fail(t, "accepted", "%s\n%s", source, texts(v)[0])
			}
		}
		agree += second.judge(t, root, values, wants)
	}
	t.Logf("%d schemas, %d unsupported; %d valid instances accepted, %d refused; %d invalid ones refused; ajv agrees on %d",
		schemas, unsupported, yes, refused, no, agree)
	require.LessOrEqual(t, float64(refused), 1e-3*float64(yes+refused)+3)
	if second != nil {
		require.Less(t, second.failed, schemas/100+3)
		require.Greater(t, agree, schemas)
	}
	require.Greater(t, min(yes, no), schemas)
	require.Less(t, unsupported, schemas/4)
}

// ajv is the validator of that name, run by node; nil agrees with everything.
type ajv struct {
	in     *json.Encoder
	out    *json.Decoder
	failed int // schemas on which ajv itself ends with an error, as version 8.20 does on a few of a thousand
}

func newAjv(t *testing.T, folder string) *ajv {
	if folder == "" {
		return nil
	}
	c := exec.CommandContext(t.Context(), "node", "-e", `
		const Ajv = require("ajv/dist/2020"), formats = require("ajv-formats")
		require("readline").createInterface({input: process.stdin}).on("line", line => {
			const {schema, values} = JSON.parse(line)
			const ajv = new Ajv({strict: false, logger: false, unicodeRegExp: true})
			formats(ajv)
			try {
				const f = ajv.compile(schema)
				console.log(JSON.stringify({valid: values.map(v => f(v))}))
			} catch (e) { console.log(JSON.stringify({error: String(e)})) }
		})`)
	c.Dir, c.Stderr = folder, os.Stderr
	in, err := c.StdinPipe()
	require.NoError(t, err)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() { in.Close(); c.Wait() })
	return &ajv{in: json.NewEncoder(in), out: json.NewDecoder(out)}
}

// judge compares answers and returns how many there are.
func (a *ajv) judge(t *testing.T, schema any, values []any, want []bool) (judged int) {
	if a == nil {
		return 0
	}
	source, err := json.Marshal(schema)
	require.NoError(t, err)
	has := func(k string) bool { return strings.Contains(string(source), `"`+k) }
	if has("unevaluated") && slices.ContainsFunc([]string{"contains", "anyOf", "oneOf", "if", "not"}, has) {
		return 0 // to ajv, contains evaluates all items, and branches that fail may evaluate, too
	}
	require.NoError(t, a.in.Encode(map[string]any{"schema": schema, "values": values}))
	var answer struct {
		Valid []bool
		Error string
	}
	require.NoError(t, a.out.Decode(&answer))
	if strings.HasPrefix(answer.Error, "TypeError: Cannot ") || answer.Error == "ReferenceError: props0 is not defined" {
		a.failed++
		return 0
	}
	require.Empty(t, answer.Error, "%s", source)
	for i, v := range values {
		text, err := json.Marshal(v)
		require.NoError(t, err)
		if has("contains") && strings.Contains(string(text), "[]") {
			continue // ajv 8.20 forgets contains in an empty array with prefixItems, and within another contains
		}
		require.Equal(t, want[i], answer.Valid[i], "ajv: %s\n%s", source, text)
		judged++
	}
	return judged
}

// TestComplements judges what schemas refuse without reading anything side by side.
func TestComplements(t *testing.T) {
	for schema, texts := range map[string]map[string]bool{
		`{"not":{"type":"integer"}}`:                                      {`1`: false, `1.0`: false, `1.5`: true, `"a"`: true, `-0.25`: true},
		`{"not":{"multipleOf":2.5},"type":"number"}`:                      {`5`: false, `2.50`: false, `2.51`: true, `1`: true, `0`: false},
		`{"allOf":[{"multipleOf":4},{"multipleOf":0.6}],"type":"number"}`: {`12`: true, `4`: false, `0.6`: false, `24.0`: true},
		`{"not":{"enum":[1,2.50,"a"]}}`:                                   {`1.0`: false, `2.5`: false, `2.51`: true, `"a"`: false, `"b"`: true, `[1]`: true},
		`{"not":{"enum":[true]}}`:                                         {`true`: false, `false`: true, `null`: true},
		`{"not":{"additionalProperties":false,"properties":{"a":true}}}`:  {`{}`: false, `{"a":1}`: false, `{"b":1}`: true, `{"b":1,"c":2}`: true, `1`: false},
		`{"not":{"additionalProperties":{"type":"null"}}}`:                {`{}`: false, `{"a":null}`: false, `{"a":null,"b":1}`: true, `{"b":1,"a":null}`: true},
		`{"not":{"patternProperties":{"^a":{"const":1}}}}`:                {`{"b":2}`: false, `{"ab":1}`: false, `{"ab":1,"ac":2}`: true},
		`{"not":{"propertyNames":{"maxLength":1}}}`:                       {`{"é":1}`: false, `{"a":1,"éé":2}`: true, `{}`: false},
		`{"not":{"propertyNames":{"minLength":2,"enum":["aa","b"]}}}`:     {`{"aa":1}`: false, `{"b":1}`: true, `{"cc":1}`: true},
		`{"not":{"format":"date-time"},"type":"string"}`:                  {`"2024-02-29T10:00:00Z"`: false, `"soon"`: true},
		`{"not":{"format":"date"},"type":"string"}`:                       {`"2024-02-29"`: false, `"2023-02-29"`: true},
		`{"oneOf":[{"format":"uri"},{"const":"a:b"}],"type":"string"}`:    {`"a:b"`: false, `"c:d"`: true, `"a"`: false},
		// six assertions about some name, of which two members may satisfy three each
		`{"type":"object","not":{"anyOf":[{"propertyNames":{"pattern":"^[^a]*$"}},{"propertyNames":{"pattern":"^[^b]*$"}},{"propertyNames":{"pattern":"^[^c]*$"}},` +
			`{"propertyNames":{"pattern":"^[^d]*$"}},{"propertyNames":{"pattern":"^[^e]*$"}},{"propertyNames":{"not":{"enum":["fab","edc"]}}}]}}`: {
			`{}`: false, `{"fab":1,"edc":2}`: true, `{"fab":1,"ed":2}`: false, `{"abcde":1}`: false, `{"x":1,"abcde":1,"edc":0}`: true, `{"fab":1,"\u0065dc":2}`: true},
		`{"not":{"propertyNames":false}}`:                                   {`{}`: false, `{"a":1}`: true},
		`{"not":{"minProperties":2},"type":"object"}`:                       {`{}`: true, `{"a":1}`: true, `{"a":1,"b":1}`: false},
		`{"not":{"contains":{"const":1},"minContains":2},"type":"array"}`:   {`[]`: true, `[1]`: true, `[1,1]`: false, `[1,0,1]`: false, `[1,0]`: true},
		`{"not":{"contains":{"const":1},"maxContains":1},"type":"array"}`:   {`[]`: true, `[1]`: false, `[1,1]`: true, `[0]`: true, `[1,0]`: false},
		`{"not":{"prefixItems":[true],"items":{"const":1}},"type":"array"}`: {`[]`: false, `[2]`: false, `[2,1]`: false, `[1,2]`: true, `[2,1,2]`: true},
		`{"allOf":[{"contains":{"const":1}},{"contains":{"type":"string"}},{"contains":{"enum":[1,2]},"maxContains":1}]}`: {
			`["a",1]`: true, `[1]`: false, `[1,"a",2]`: false, `["b",2]`: false, `[1,3,"c"]`: true},
		`{"type":"object","dependencies":{"a":["b"],"b":["c"],"c":["d"],"d":["e"],"e":["f"]}}`: {
			`{"a":1}`: false, `{"e":1,"f":2}`: true, `{"d":1,"f":2}`: false, `{}`: true, `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1}`: true},
	} {
		g, err := JSONSchema(t.Context(), []byte(schema), SchemaConfig{})
		require.NoError(t, err, schema)
		require.Empty(t, g.network.gates, schema)
		for text, want := range texts {
			require.Equal(t, want, g.Accepts(text), "%s %s", schema, text)
		}
	}
}
