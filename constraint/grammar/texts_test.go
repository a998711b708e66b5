package grammar

import (
	"context"
	"regexp"
	"testing"
	"unicode/utf8"
)

// TestStringsAsOneAutomaton compares schemas whose strings are compiled to one automaton with the
// definition of their keywords, for all short strings over an alphabet.
func TestStringsAsOneAutomaton(t *testing.T) {
	is := func(p string) func(s string) bool { return regexp.MustCompile(p).MatchString }
	long := func(low, high int) func(s string) bool {
		return func(s string) bool {
			n := utf8.RuneCountInString(s)
			return n >= low && (high < 0 || n <= high)
		}
	}
	ab, ba, end1, é := is("ab"), is("ba"), is("1$"), is("é")
	none := func(string) bool { return false }
	for schema, want := range map[string]func(s string) bool{
		`{"type":"string","anyOf":[{"pattern":"ab"},{"pattern":"1$"},{"pattern":"é","maxLength":2}]}`: func(s string) bool {
			return ab(s) || end1(s) || é(s) && long(0, 2)(s)
		},
		`{"type":"string","oneOf":[{"pattern":"ab"},{"pattern":"ba"},{"pattern":"1$"}],"minLength":2}`: func(s string) bool {
			n := 0
			for _, f := range []func(string) bool{ab, ba, end1} {
				if f(s) {
					n++
				}
			}
			return n == 1 && len(s) >= 2 && long(2, -1)(s)
		},
		`{"type":"string","not":{"anyOf":[{"allOf":[{"pattern":"ab"},{"pattern":"1$"}]},{"pattern":"^...$"},{"not":{"pattern":"é"}}]}}`: func(s string) bool {
			return !(ab(s) && end1(s) || long(3, 3)(s) || !é(s))
		},
		`{"type":"string","anyOf":[{"enum":["ab","1a"]},{"pattern":"^b","minLength":3},{"pattern":"^é"}]}`: func(s string) bool {
			return s == "ab" || s == "1a" || is("^b")(s) && long(3, -1)(s) || is("^é")(s)
		},
		`{"type":"string","allOf":[{"pattern":"^.{2,3}$"},{"pattern":"^..$"}]}`:                                                                        long(2, 2),
		`{"anyOf":[{"type":"null"},{"type":"string","pattern":"^a"},{"type":"string","pattern":"b$"}]}`:                                                func(s string) bool { return is("^a")(s) || is("b$")(s) },
		`{"anyOf":[{"type":"integer"},{"type":"string","pattern":"ab","not":{"pattern":"a"}},{"type":"string","pattern":"ba","not":{"pattern":"b"}}]}`: none,
	} {
		g, err := JSONSchema(context.Background(), []byte(schema), SchemaConfig{Compact: true})
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		level := []string{""}
		for range 5 {
			var next []string
			for _, s := range level {
				if got := g.Accepts(`"` + s + `"`); got != want(s) {
					t.Fatalf("%s: %q is accepted: %v, want %v", schema, s, got, want(s))
				}
				for _, c := range []string{"a", "b", "1", "é"} {
					next = append(next, s+c)
				}
			}
			level = next
		}
	}
}

// TestManyTestsNeedNoGates compiles strings whose tests, as one product, have too many states.
func TestManyTestsNeedNoGates(t *testing.T) {
	schema := `{"type":"string","maxLength":200,"allOf":[{"pattern":"^.{60}$"},{"pattern":"ab1"},{"pattern":"bc1"},{"pattern":"ca1"},{"pattern":"b12"},` +
		`{"pattern":"c12"},{"pattern":"^\\w*$"},{"pattern":"1.*2"},{"not":{"pattern":"ba"}},{"not":{"anyOf":[{"pattern":"bb"},{"pattern":"a.b.c"}]}}]}`
	g, err := JSONSchema(context.Background(), []byte(schema), SchemaConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.trimmed(context.Background()); err != nil {
		t.Fatal(err)
	}
	if g.runs.gated {
		t.Error("the schema is compiled with gates")
	}
}

func TestLengthOf(t *testing.T) {
	for _, c := range []struct {
		pattern   string
		low, high int
		is        bool
	}{
		{"^...$", 3, 3, true}, {"^.{4}$", 4, 4, true}, {"^.{2,}$", 2, -1, true}, {"^.{2,7}$", 2, 7, true},
		{"^.{,7}$", 0, -1, false}, {"^.*$", 0, -1, false}, {"...", 0, -1, false}, {"^..a$", 0, -1, false}, {"^.{12345}$", 0, -1, false}, {"^.{7,2}$", 0, -1, false},
	} {
		low, high, is := lengthOf(c.pattern)
		if is != c.is || is && (low != c.low || high != c.high) {
			t.Errorf("lengthOf(%q) = %d, %d, %v, want %d, %d, %v", c.pattern, low, high, is, c.low, c.high, c.is)
		}
	}
}
