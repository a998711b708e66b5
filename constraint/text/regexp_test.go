package text

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// corpus exercises every operator and flag.
var corpus = []string{
	``, `a`, `ab`, `a|b`, `a*`, `a+b?`, `(a|b)*abb`, `(a|b)*a(a|b){3}`, `[^a]*`, `.`, `.*`, `a{2}`, `a{2,}`, `a{1,3}b{0,2}`,
	`(?:a|ab)(?:c|bcd|b)*`, `a*?b`, `(a+)(b+)`, `^a$`, `^`, `$`, `^*a`, `a$b`, `a^b`, `(^a|b)*`, `(a$|b)*`, `\Aa\z`, `a\zb`,
	`\ba\b`, `\b`, `\B`, `\Ba\B`, `(\ba|b\b)*`, `a\b.\bb`, `.*\b.\B.*`, `(?i)a`, `(?i)aB*`, `(?i:a)b`, `(?s).`, `(?s).*`, `(?-s).*`,
	`(?m)^a$`, `(?m)(^a$\n?)*`, `(?m).*$`, `(?m)a$.b`, `(?ms)a$.^b`, `(?m)^*`, `(?s)a$.b`, `(?U)a*b+`, `[a-b\n]*`, `\n`, `[[:alpha:]]+`, `\w+\W\w+`,
	`\d*`, `\s*a`, `\pL*`, `\PL*`, `[^\n]`, `a||b`, `(|a)*`, `(|a)+b`, `(a*)*`, `(a*)+`, `((a?)(b?))*`, `x*`, `\x61`, `\Qa+\E|a`,
}

func requireRegexp(t require.TestingT, pattern string, v Vocabulary, length int) {
	want := regexp.MustCompile(`\A(?:` + pattern + `)\z`)
	d, err := Regexp(context.Background(), pattern, v, constraint.Limits{})
	if err != nil {
		require.ErrorIs(t, err, constraint.ErrInfeasible, pattern)
	}
	exact.Sequences(len(v.Tokens), length, func(x []int32) {
		s := v.Text(x)
		ok := utf8.ValidString(s) && want.MatchString(s)
		if got := err == nil && constraint.Accepts(d, x); got != ok {
			require.Failf(t, "disagreement", "%q on %q (%v): %v", pattern, s, x, got)
		}
	})
}

func TestRegexpAgainstPackageRegexp(t *testing.T) {
	for _, pattern := range corpus {
		requireRegexp(t, pattern, Runes("ab"), 8)
		requireRegexp(t, pattern, Runes("a\nB"), 8)
		requireRegexp(t, pattern, Runes("a_ é"), 6)
	}
}

func TestRegexpOverMultiByteTokens(t *testing.T) {
	v := Vocabulary{Tokens: []string{"a", "b", "ab", "ba", "\n", "abb"}}
	for _, pattern := range corpus {
		requireRegexp(t, pattern, v, 4)
	}
}

func TestRegexpOverPartsOfRunes(t *testing.T) {
	// é = C3 A9, € = E2 82 AC, 😀 = F0 9F 98 80, and bytes that are never valid.
	v := Vocabulary{Tokens: []string{"a", "\xc3", "\xa9", "\xe2\x82", "\xac", "é", "\x82\xac", "\xe2", "\xff"}}
	for _, pattern := range []string{`.*`, `(?s).*`, `é*`, `[é€]+`, `[^a]*`, `€|a`, `\x{20ac}a?`, `a[^é]`, `\PL+`, `\pL*`, `(?i)É+`} {
		requireRegexp(t, pattern, v, 5)
	}
	v = Vocabulary{Tokens: []string{"\xf0\x9f", "\x98", "\x80", "😀", "\xed\xa0", "\xf4\x90", "\xc0\x80", "\xe0"}}
	for _, pattern := range []string{`.*`, `[^a]{1,2}`, `[\x{10000}-\x{10ffff}]*`, `😀+`} {
		requireRegexp(t, pattern, v, 5)
	}
	requireRegexp(t, `(?i)k+ſ`, Runes("kK\u212asSſ"), 4) // folds beyond ASCII
}

// TestRegexpOnEveryByte checks the decoding tree against package utf8 on every
// text of at most two bytes, and on longer ones that go on around the borders
// of trailing bytes.
func TestRegexpOnEveryByte(t *testing.T) {
	exact.SkipUnderRace(t)
	d, err := Regexp(context.Background(), `(?s).`, Bytes(), constraint.Limits{})
	require.NoError(t, err)
	var x [4]int32
	check := func(b ...byte) {
		for i, v := range b {
			x[i] = int32(v)
		}
		r, size := utf8.DecodeRune(b)
		want := size == len(b) && (r != utf8.RuneError || size == 3)
		if constraint.Accepts(d, x[:len(b)]) != want {
			t.Fatalf("% x: %v", b, !want)
		}
	}
	borders := []byte{0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBD, 0xBF, 0xC0, 0xFF}
	for first := range 256 {
		check(byte(first))
		for second := range 256 {
			check(byte(first), byte(second))
			for _, third := range borders {
				check(byte(first), byte(second), third)
				for _, fourth := range borders {
					check(byte(first), byte(second), third, fourth)
				}
			}
		}
	}
}

// drawPattern draws a pattern over the letters of the test alphabets.
func drawPattern(t *rapid.T, depth int) string {
	atoms := []string{"a", "b", ".", "[ab]", "[^a]", "\\n", "^", "$", "\\b", "\\B", "\\w", "\\W", "(?i:A)", "é", "\\pL", "", "[^\\n]", "\\z", "\\A", "\\s"}
	if depth == 0 {
		return rapid.SampledFrom(atoms).Draw(t, "atom")
	}
	sub := func() string { return drawPattern(t, depth-1) }
	switch rapid.IntRange(0, 6).Draw(t, "op") {
	case 0:
		return sub() + sub()
	case 1:
		return "(?:" + sub() + "|" + sub() + ")"
	case 2:
		return "(?:" + sub() + ")" + rapid.SampledFrom([]string{"*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,}"}).Draw(t, "repeat")
	case 3:
		return "(" + sub() + sub() + ")"
	case 4:
		return "(?" + rapid.SampledFrom([]string{"i", "m", "s", "U", "ms", "im", "-s"}).Draw(t, "flag") + ":" + sub() + ")"
	}
	return sub()
}

func TestRegexpOnRandomPatterns(t *testing.T) {
	vocabularies := []Vocabulary{Runes("ab\n"), Runes("aé_"), {Tokens: []string{"a", "ab", "\n", "\xc3", "\xa9b"}}}
	rapid.Check(t, func(rt *rapid.T) {
		pattern := drawPattern(rt, rapid.IntRange(0, 4).Draw(rt, "depth"))
		requireRegexp(rt, pattern, rapid.SampledFrom(vocabularies).Draw(rt, "vocabulary"), 5)
	})
}

func FuzzRegexp(f *testing.F) {
	for _, pattern := range corpus {
		f.Add(pattern, "ab\n")
	}
	f.Add(`\xff`, "\xff")
	f.Add("\xff", "é")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		v := Bytes()
		limits := constraint.Limits{States: 2000, Bytes: 1 << 22}
		d, err := Regexp(context.Background(), pattern, v, limits)
		want, parseErr := regexp.Compile(`\A(?:` + pattern + `)\z`)
		var limit *constraint.LimitError
		switch {
		case errors.As(err, &limit):
			return
		case err != nil && !errors.Is(err, constraint.ErrInfeasible):
			var bad *PatternError
			require.ErrorAs(t, err, &bad)
			return // the anchored pattern may parse where the bare one does not: a)|(b
		case parseErr != nil:
			return // size limits of the anchored pattern
		}
		x := make([]int32, len(text))
		for i := range x {
			x[i] = int32(text[i])
		}
		got := err == nil && constraint.Accepts(d, x)
		require.Equal(t, utf8.ValidString(text) && want.MatchString(text), got, "%q on %q", pattern, text)
	})
}

func TestRegexpErrors(t *testing.T) {
	ctx := context.Background()
	for _, pattern := range []string{`(`, `a)`, `a)|(b`, `[b-a]`, `a**`, `\8`, "\xff", `a{1001}`, `(?<n`, `(?z)`} {
		_, err := Regexp(ctx, pattern, Runes("ab"), constraint.Limits{})
		var bad *PatternError
		require.ErrorAs(t, err, &bad, pattern)
		require.Equal(t, pattern, bad.Pattern)
		var reason *syntax.Error
		require.ErrorAs(t, err, &reason)
		require.Contains(t, err.Error(), "text: pattern ")
	}
	for _, pattern := range []string{`c`, `[^\x00-\x{10FFFF}]`, `a\bb`, `é`, `a$b`} {
		_, err := Regexp(ctx, pattern, Runes("ab"), constraint.Limits{})
		require.ErrorIs(t, err, constraint.ErrInfeasible, pattern)
	}
	// b is spelled by no token, though ab is.
	_, err := Regexp(ctx, `(ba)*b`, Vocabulary{Tokens: []string{"ab", "ba"}}, constraint.Limits{})
	require.ErrorIs(t, err, constraint.ErrInfeasible)
	_, err = Regexp(ctx, `a`, Runes("ab"), constraint.Limits{States: -1})
	var argument *constraint.ArgumentError
	require.ErrorAs(t, err, &argument)
}

func TestRegexpExplosion(t *testing.T) {
	exact.SkipUnderRace(t)
	const pattern = `(a|b)*a(a|b){40}`
	var limit *constraint.LimitError
	_, err := Regexp(context.Background(), pattern, Runes("ab"), constraint.Limits{})
	require.ErrorAs(t, err, &limit)
	for _, limits := range []constraint.Limits{{States: 1000}, {Bytes: 100_000}} {
		_, err = Regexp(context.Background(), pattern, Runes("ab"), limits)
		require.ErrorAs(t, err, &limit)
		require.Greater(t, limit.Value, limit.Bound)
		require.True(t, strings.HasPrefix(limit.What, "Regexp: "))
	}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(stop)
	_, err = Regexp(ctx, pattern, Runes("ab"), constraint.Limits{})
	require.ErrorIs(t, err, stop)
}

// Short patterns for which regexp/syntax needs seconds or a gigabyte are refused before it sees them,
// and others of their kind compile.
func TestPatternsAreBounded(t *testing.T) {
	for what, patterns := range map[string][]string{
		"bytes of the pattern": {
			strings.Repeat("(", 1<<20),
			strings.Repeat("x*", 1<<19),
			"[" + strings.Repeat(`\pL`, 1000) + "]",
			"(?i)[" + strings.Repeat(`B-\x{1e942}`, 100) + "]",
			"(?s-Ui:[" + strings.Repeat("b-𞥂", 100) + "])",
		},
		"instructions of the pattern": {
			strings.Repeat("a{0,1000}", 1600),
			strings.Repeat("(?:ab?){1000}", 1000),
			strings.Repeat(`(?:a{30,}){30}`, 100),
		},
	} {
		for _, pattern := range patterns {
			var limit *constraint.LimitError
			_, err := Regexp(t.Context(), pattern, Runes("ab"), constraint.Limits{})
			require.ErrorAs(t, err, &limit, "%.40s", pattern)
			require.Contains(t, limit.What, what)
		}
	}
	for _, pattern := range []string{`[\pL\d]{1,30}`, `(?i)[À-ÿ]*`, `[!-𞥂]*` + strings.Repeat(`[b-\x{1e942}]?`, 100), `a{0,1000}`} {
		_, err := Regexp(t.Context(), pattern, Runes("abé"), constraint.Limits{})
		require.NoError(t, err, "%.40s", pattern)
	}
}

func TestRegexpIsMinimal(t *testing.T) {
	for _, pattern := range corpus {
		d, err := Regexp(context.Background(), pattern, Runes("ab\n_é"), constraint.Limits{})
		if err == nil {
			exact.Minimal(t, d)
		}
	}
	// The textbook case: 2^(n+1) states for the n-th letter from the end.
	for n := range 8 {
		d, err := Regexp(context.Background(), fmt.Sprintf(`(a|b)*a(a|b){%d}`, n), Runes("ab"), constraint.Limits{})
		require.NoError(t, err)
		require.Equal(t, 1<<(n+1), d.States())
	}
}

// Messages and names show the beginning of a pattern, however long it is.
func TestLongPatternsAreClipped(t *testing.T) {
	long := strings.Repeat("x", 1<<15)
	for _, pattern := range []string{"(" + long, "[" + long, long + "{2000}", "x{1000}{1000}" + long, `(?P<` + long + `1é>x)`} {
		_, err := Regexp(t.Context(), pattern, Bytes(), constraint.Limits{})
		var bad *PatternError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, pattern, bad.Pattern)
		require.Less(t, len(err.Error()), 500)
	}
	v := Vocabulary{Tokens: []string{"x"}}
	_, err := Regexp(t.Context(), "y"+long[:1<<12], v, constraint.Limits{})
	require.ErrorIs(t, err, constraint.ErrInfeasible)
	require.Less(t, len(err.Error()), 500)
	d, err := Regexp(t.Context(), long[:1<<12], v, constraint.Limits{})
	require.NoError(t, err)
	require.Less(t, len(d.String()), 200)
}
