package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/constraint/text"
)

// maskLanguage is a language of few texts, and how masks of it are made.
type maskLanguage struct {
	name  string
	make  func(ctx context.Context, v *grammar.Vocabulary, tokens text.Vocabulary) (*grammar.Masks, error)
	texts []string
	bytes bool // masks are of a language of bytes, and so is what is forced
}

func maskLanguages() []maskLanguage {
	parsed := func(source string) func(context.Context, *grammar.Vocabulary, text.Vocabulary) (*grammar.Masks, error) {
		return func(ctx context.Context, v *grammar.Vocabulary, _ text.Vocabulary) (*grammar.Masks, error) {
			g, err := grammar.Parse(ctx, source, constraint.Limits{})
			if err != nil {
				return nil, err
			}
			return g.Masks(ctx, v)
		}
	}
	schema := func(source string) func(context.Context, *grammar.Vocabulary, text.Vocabulary) (*grammar.Masks, error) {
		return func(ctx context.Context, v *grammar.Vocabulary, _ text.Vocabulary) (*grammar.Masks, error) {
			g, err := grammar.JSONSchema(ctx, []byte(source), grammar.SchemaConfig{Compact: true, Spelling: grammar.Canonical})
			if err != nil {
				return nil, err
			}
			return g.Masks(ctx, v)
		}
	}
	automaton := func(build func(ctx context.Context, v text.Vocabulary) (constraint.Automaton, error)) func(context.Context, *grammar.Vocabulary, text.Vocabulary) (*grammar.Masks, error) {
		return func(ctx context.Context, v *grammar.Vocabulary, tokens text.Vocabulary) (*grammar.Masks, error) {
			tokens.Forbidden, tokens.Padding = append(slices.Clone(tokens.Forbidden), tokens.Padding...), nil // MasksOf adds padding
			a, err := build(ctx, tokens)
			if err != nil {
				return nil, err
			}
			return grammar.MasksOf(ctx, a, v, constraint.Limits{})
		}
	}
	return []maskLanguage{
		{"pattern of a grammar", parsed(`s = /a{1,2}(bc|cb)?/`), []string{"a", "aa", "abc", "aabc", "acb", "aacb"}, true},
		{"nested rules", parsed(`s = "(" t ")" | "x"; t = "[" u "]" | "x"; u = "x" | "yy"`), []string{"x", "(x)", "([x])", "([yy])"}, true},
		{"one text", parsed(`s = "abcab"`), []string{"abcab"}, true},
		{"runes of several bytes", parsed(`s = "é" ("ü" | "èa")?`), []string{"é", "éü", "éèa"}, true},
		{"enum", schema(`{"enum":["ab","a",1,11,true]}`), []string{`"ab"`, `"a"`, "1", "11", "true"}, true},
		{"array", schema(`{"type":"array","items":{"enum":[1,12]},"maxItems":2}`), []string{"[]", "[1]", "[12]", "[1,1]", "[1,12]", "[12,1]", "[12,12]"}, true},
		{"object", schema(`{"type":"object","properties":{"a":{"enum":[1,12]},"b":{"const":1}},"required":["a"],"additionalProperties":false}`),
			[]string{`{"a":1}`, `{"a":12}`, `{"a":1,"b":1}`, `{"a":12,"b":1}`}, true},
		{"pattern with a length", schema(`{"type":"string","pattern":"^a*b?$","minLength":1,"maxLength":3}`), []string{`"a"`, `"aa"`, `"aaa"`, `"b"`, `"ab"`, `"aab"`}, true},
		{"side by side", schema(`{"oneOf":[{"enum":[1,2,"a"]},{"enum":[2,12]}]}`), []string{"1", "12", `"a"`}, true},
		{"integers but some", schema(`{"type":"integer","minimum":8,"maximum":12,"not":{"enum":[9,11]}}`), []string{"8", "10", "12"}, true},
		{"automaton of a pattern", automaton(func(ctx context.Context, v text.Vocabulary) (constraint.Automaton, error) {
			return text.Regexp(ctx, `a{1,2}(bc|cb)?`, v, constraint.Limits{})
		}), []string{"a", "aa", "abc", "aabc", "acb", "aacb"}, false},
		{"automaton of texts that are left", automaton(func(ctx context.Context, v text.Vocabulary) (constraint.Automaton, error) {
			a, err := text.Regexp(ctx, `[ab]{1,3}`, v, constraint.Limits{})
			if err != nil {
				return nil, err
			}
			b, err := text.Regexp(ctx, `[ab]*b`, v, constraint.Limits{})
			if err != nil {
				return nil, err
			}
			return constraint.Intersect(a, b)
		}), []string{"b", "ab", "bb", "aab", "abb", "bab", "bbb"}, false},
	}
}

// Vocabularies of masks.
var maskVocabularies = []string{"runes", "runes and longer tokens", "tokens twice", "bytes", "bytes and longer tokens", "forbidden tokens"}

// maskVocabulary returns a vocabulary for some texts, with so many tokens that end a text.
func maskVocabulary(kind string, texts []string, ends int, r *rand.Rand) text.Vocabulary {
	alphabet := ""
	for _, c := range strings.Join(texts, "") + "z" {
		if !strings.ContainsRune(alphabet, c) {
			alphabet += string(c)
		}
	}
	v := text.Runes(alphabet)
	if strings.HasPrefix(kind, "bytes") {
		v = text.Bytes()
	}
	if kind != "runes" && kind != "bytes" {
		for range 20 {
			s := texts[r.IntN(len(texts))]
			from := r.IntN(len(s))
			v.Tokens = append(v.Tokens, s[from:from+1+r.IntN(len(s)-from)]) // cuts runes, too
		}
		v.Tokens = append(v.Tokens, "zz", texts[0]+"z")
	}
	switch kind {
	case "tokens twice":
		v.Tokens = append(v.Tokens, v.Tokens...)
	case "forbidden tokens":
		v.Forbidden = []int32{int32(len(v.Tokens)), int32(len(v.Tokens) + 1)}
		v.Tokens = append(v.Tokens, texts[0], "")
	}
	for range ends {
		v.Padding = append(v.Padding, int32(len(v.Tokens)))
		v.Tokens = append(v.Tokens, texts[0]) // whose text does not matter
	}
	return v
}

// maskPosition is a matcher, and what it has read.
type maskPosition struct {
	at   *grammar.Matcher
	read []int32
}

// maskCase is a combination for masks.
type maskCase struct {
	language maskLanguage
	v        text.Vocabulary
	masks    *grammar.Masks
	within   bool // every byte is a token
}

// text returns what a position has read, and whether the text has ended.
func (c *maskCase) text(p maskPosition) (s string, ended bool) {
	for _, t := range p.read {
		if slices.Contains(c.v.Padding, t) {
			return s, true
		}
		s += c.v.Tokens[t]
	}
	return s, false
}

// allowed reports whether a token may come next and the text end at most so many bytes after it.
func (c *maskCase) allowed(s string, ended bool, token int32, left int) bool {
	switch {
	case slices.Contains(c.v.Padding, token):
		return ended || slices.Contains(c.language.texts, s)
	case ended || slices.Contains(c.v.Forbidden, token):
		return false
	}
	s += c.v.Tokens[token]
	return slices.ContainsFunc(c.language.texts, func(t string) bool { return strings.HasPrefix(t, s) && len(t)-len(s) <= left })
}

// look compares everything that a position says with the texts of the language.
func (c *maskCase) look(p maskPosition, left int) error {
	s, ended := c.text(p)
	said := func(what string, got, want any) error {
		return fmt.Errorf("after %q (tokens %v): %s is %v, want %v", s, p.read, what, got, want)
	}
	is := ended || slices.Contains(c.language.texts, s)
	if got := p.at.MayEnd(); got != is {
		return said("MayEnd", got, is)
	}
	const most = 1 << 20
	dst := make([]uint32, c.masks.Words())
	has := func(t int) bool { return dst[t/32]>>(t%32)&1 != 0 }
	if err := p.at.Mask(dst); err != nil {
		return fmt.Errorf("Mask: %w", err)
	}
	var open []int32
	for t := range c.v.Tokens {
		want := c.allowed(s, ended, int32(t), most)
		if has(t) != want {
			return said(fmt.Sprintf("the bit of token %d, %q", t, c.v.Tokens[t]), has(t), want)
		}
		if want && !slices.Contains(c.v.Padding, int32(t)) {
			open = append(open, int32(t))
		}
	}
	groups, err := p.at.Groups()
	if err != nil {
		return fmt.Errorf("Groups: %w", err)
	}
	var grouped []int32
	for _, g := range groups {
		grouped = append(grouped, g.Tokens...)
		for _, t := range g.Tokens {
			if now, want := g.At.MayEnd(), slices.Contains(c.language.texts, s+c.v.Tokens[t]); now != want {
				return said(fmt.Sprintf("MayEnd of the group of token %d", t), now, want)
			}
		}
	}
	if slices.Sort(grouped); !slices.Equal(grouped, open) {
		return said("the tokens of all groups", grouped, open)
	}
	forced, tokens, err := p.at.Forced()
	if err != nil {
		return fmt.Errorf("Forced: %w", err)
	}
	spelled := ""
	for _, t := range tokens {
		spelled += c.v.Tokens[t]
	}
	if c.language.bytes {
		want := ""
		for !ended && !slices.Contains(c.language.texts, s+want) {
			next := map[byte]bool{}
			for _, t := range c.language.texts {
				if rest, ok := strings.CutPrefix(t, s+want); ok && rest != "" {
					next[rest[0]] = true
				}
			}
			if len(next) != 1 {
				break
			}
			for b := range next {
				want += string([]byte{b})
			}
		}
		if forced != want {
			return said("the forced text", fmt.Sprintf("%q", forced), fmt.Sprintf("%q", want))
		}
	}
	if !strings.HasPrefix(forced, spelled) {
		return said("the text of the forced tokens", fmt.Sprintf("%q", spelled), fmt.Sprintf("a beginning of %q", forced))
	}
	if !c.within || !c.language.bytes {
		return nil
	}
	if err := p.at.MaskWithin(dst, left); errors.Is(err, errors.ErrUnsupported) {
		return nil
	} else if err != nil {
		return fmt.Errorf("MaskWithin: %w", err)
	}
	for t := range c.v.Tokens {
		if want := c.allowed(s, ended, int32(t), left-1); has(t) != want {
			return said(fmt.Sprintf("the bit of token %d, %q, within %d", t, c.v.Tokens[t], left), has(t), want)
		}
	}
	return nil
}

// walk moves some matchers at random: they accept, are forked, and step back.
func (c *maskCase) walk(ctx context.Context, steps int, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 5))
	all := []maskPosition{{at: c.masks.Matcher()}}
	for range steps {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		i := r.IntN(len(all))
		p := &all[i]
		switch r.IntN(6) {
		case 0:
			if n := r.IntN(len(p.read) + 2); n > len(p.read) {
				if p.at.Rollback(n) == nil {
					return fmt.Errorf("Rollback(%d) of %d tokens is no error", n, len(p.read))
				}
			} else if err := p.at.Rollback(n); err != nil {
				return fmt.Errorf("Rollback(%d): %w", n, err)
			} else {
				p.read = p.read[:len(p.read)-n]
			}
		case 1:
			f := maskPosition{p.at.Fork(), slices.Clone(p.read)}
			if len(all) < 6 {
				all = append(all, f)
			} else {
				all[r.IntN(len(all))] = f
			}
		default:
			s, ended := c.text(*p)
			token := int32(r.IntN(len(c.v.Tokens)))
			for range 40 { // mostly one that may come
				if r.IntN(8) == 0 || c.allowed(s, ended, token, 1<<20) {
					break
				}
				token = int32(r.IntN(len(c.v.Tokens)))
			}
			want := c.allowed(s, ended, token, 1<<20)
			got, err := p.at.Accept(token)
			if err != nil {
				return fmt.Errorf("Accept(%d): %w", token, err)
			}
			if got != want {
				return fmt.Errorf("after %q: Accept(%d), %q, is %v, want %v", s, token, c.v.Tokens[token], got, want)
			}
			if got {
				p.read = append(p.read, token)
			}
		}
		for _, q := range all {
			if err := c.look(q, r.IntN(8)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *maskCase) judge(ctx context.Context, walks, scale int, seed uint64) error {
	prepared, err := grammar.Prepare(c.v)
	if err != nil {
		return refusal{err}
	}
	if c.masks, err = c.language.make(ctx, prepared, c.v); err != nil {
		return refusal{err}
	}
	errs := make(chan error, walks)
	for w := range walks {
		go func() { errs <- c.walk(ctx, 24*scale, seed+uint64(w)<<40) }()
	}
	for range walks {
		err = errors.Join(err, <-errs)
	}
	return err
}

// maskPairing is everything that masks and matchers accept.
func maskPairing() pairing {
	all := maskLanguages()
	walks := []int{1, 3}
	p := pairing{name: "masks", share: 1, again: 1, factors: []factor{
		{"language", namesOf(all, func(l maskLanguage) string { return l.name })},
		{"vocabulary", maskVocabularies},
		{"tokens that end a text", []string{"0", "1", "2"}},
		{"matchers at a time", namesOf(walks, func(n int) string { return fmt.Sprint(n) })},
	}}
	p.judge = func(ctx context.Context, pick []int, draws int, seed uint64) error {
		l, kind := all[pick[0]], maskVocabularies[pick[1]]
		c := maskCase{language: l, v: maskVocabulary(kind, l.texts, pick[2], rand.New(rand.NewPCG(seed, 6))), within: strings.HasPrefix(kind, "bytes")}
		return c.judge(ctx, walks[pick[3]], draws, seed)
	}
	p.program = func(pick []int) string {
		l := &listing{}
		l.add("l := maskLanguages()[%d] // %s", pick[0], all[pick[0]].name)
		l.add("v := maskVocabulary(%q, l.texts, %d, rand.New(rand.NewPCG(seed, 6)))", maskVocabularies[pick[1]], pick[2])
		l.add("masks := exact.Must(l.make(t.Context(), exact.Must(grammar.Prepare(v)), v))")
		l.add("// %d matchers accept, are forked and step back at random", walks[pick[3]])
		return l.String()
	}
	return p
}
