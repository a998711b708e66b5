package grammar

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/stretchr/testify/require"
)

// words256 is a vocabulary of bytes, some pieces of JSON and a token that ends a text.
func words256(more ...string) text.Vocabulary {
	v := text.Bytes()
	v.Tokens = append(v.Tokens, more...)
	v.Padding = []int32{int32(len(v.Tokens))}
	v.Tokens = append(v.Tokens, "")
	return v
}

var pieces = []string{`{"`, `":`, `": "`, `",`, `", "`, `"}`, `}}`, "true", "name", "unit", "celsius", "cel", "  ", `\u00`, "é", "ab", "12", "],", "[["}

func masksOf(t *testing.T, schema string, v text.Vocabulary) *Masks {
	t.Helper()
	g, err := JSONSchema(context.Background(), []byte(schema), SchemaConfig{})
	require.NoError(t, err)
	p, err := Prepare(v)
	require.NoError(t, err)
	m, err := g.Masks(context.Background(), p)
	require.NoError(t, err)
	return m
}

// allowed returns the tokens of a mask.
func allowed(mask bitset) (tokens []int32) {
	for t := range int32(32 * len(mask)) {
		if mask.has(t) {
			tokens = append(tokens, t)
		}
	}
	return tokens
}

const tool = `{"type":"object","properties":{"name":{"type":"string","maxLength":6},"unit":{"enum":["celsius","kelvin"]},` +
	`"days":{"type":"array","items":{"type":"integer","minimum":1,"maximum":14},"minItems":1},"note":{"type":"string","pattern":"^a.*b$"}},` +
	`"required":["name","unit","days"]}`

// A walk with forks and steps back meets the masks of a matcher that has read the same tokens.
func TestForkAndRollback(t *testing.T) {
	v := words256(pieces...)
	m := masksOf(t, tool, v)
	r := rand.New(rand.NewPCG(1, 2))
	got, want := make([]uint32, m.Words()), make([]uint32, m.Words())
	for range 40 {
		p := m.Matcher()
		var path []int32
		for range 25 {
			require.NoError(t, p.Mask(got))
			tokens := allowed(got)
			if len(tokens) == 0 {
				t.Fatalf("%q goes on with nothing", v.Text(path))
			}
			next := tokens[r.IntN(len(tokens))]
			f := p.Fork()
			ok, err := p.Accept(next)
			require.NoError(t, err)
			require.True(t, ok)
			require.NoError(t, f.Mask(want))
			require.Equal(t, got, want, "the fork has stayed")
			path = append(path, next)
			if r.IntN(4) == 0 {
				back := r.IntN(len(path) + 1)
				require.NoError(t, p.Rollback(back))
				path = path[:len(path)-back]
			}
			q := m.Matcher()
			for _, x := range path {
				ok, err := q.Accept(x)
				require.True(t, ok && err == nil)
			}
			require.NoError(t, p.Mask(got))
			require.NoError(t, q.Mask(want))
			require.Equal(t, got, want, "%q", v.Text(path))
			require.Equal(t, p.MayEnd(), q.MayEnd())
		}
	}
}

// What a token does is one thing in the mask, in Accept and in Groups.
func TestGroups(t *testing.T) {
	v := words256(pieces...)
	for _, schema := range []string{tool, `{}`, `{"not":{"type":"array","minItems":2}}`, `{"not":{"type":"integer"}}`} {
		m := masksOf(t, schema, v)
		r := rand.New(rand.NewPCG(3, 4))
		mask := make(bitset, m.Words())
		p := m.Matcher()
		for range 30 {
			require.NoError(t, p.Mask(mask))
			groups, err := p.Groups()
			require.NoError(t, err)
			in := map[int32]int{}
			for i, g := range groups {
				for _, x := range g.Tokens {
					in[x] = i + 1
				}
			}
			reference := make([]bitset, len(groups))
			for x := range int32(len(v.Tokens)) {
				f := p.Fork()
				ok, err := f.Accept(x)
				require.NoError(t, err)
				require.Equal(t, mask.has(x), ok, "%q", v.Tokens[x])
				if i := in[x]; i == 0 {
					require.True(t, !ok || int(x) == len(v.Tokens)-1)
				} else if r.IntN(8) == 0 {
					a := make(bitset, m.Words())
					require.NoError(t, f.Mask(a))
					if reference[i-1] == nil {
						reference[i-1] = make(bitset, m.Words())
						require.NoError(t, groups[i-1].At.Mask(reference[i-1]))
					}
					require.Equal(t, reference[i-1], a)
				}
			}
			if len(groups) == 0 {
				break
			}
			g := groups[r.IntN(len(groups))]
			_, err = p.Accept(g.Tokens[0])
			require.NoError(t, err)
		}
	}
}

// Texts that follow MaskWithin end in time, whatever is chosen.
func TestMaskWithin(t *testing.T) {
	v := words256(pieces...)
	end := int32(len(v.Tokens) - 1)
	r := rand.New(rand.NewPCG(5, 6))
	for _, schema := range []string{tool, `{"type":"object","patternProperties":{"^[ab]{3}$":{"minItems":2,"type":"array"}},"additionalProperties":false,"minProperties":1}`} {
		m := masksOf(t, schema, v)
		mask, all := make(bitset, m.Words()), make(bitset, m.Words())
		need := 0
		for p := m.Matcher(); ; need++ {
			require.NoError(t, p.MaskWithin(mask, need))
			if len(allowed(mask)) > 0 {
				break
			}
		}
		require.Greater(t, need, 10)
		for n := range 60 {
			budget := need + n
			p := m.Matcher()
			var x []int32
			for left := budget; !p.MayEnd() || r.IntN(2) == 0 && left > 0; left-- {
				require.NoError(t, p.MaskWithin(mask, left))
				require.NoError(t, p.Mask(all))
				tokens := slices.DeleteFunc(allowed(mask), func(x int32) bool { return x == end })
				for _, x := range tokens {
					require.True(t, all.has(x))
				}
				if len(tokens) == 0 && p.MayEnd() {
					break
				}
				require.NotEmpty(t, tokens, "%q, %d left", v.Text(x), left)
				next := tokens[r.IntN(len(tokens))]
				ok, err := p.Accept(next)
				require.True(t, ok && err == nil)
				x = append(x, next)
			}
			require.LessOrEqual(t, len(x), budget)
		}
	}
	counted := `{"type":"array","allOf":[{"contains":{"const":1}},{"contains":{"const":2}},{"contains":{"const":3}},{"contains":{"const":4}},{"contains":{"const":5}}]}`
	p := masksOf(t, counted, v).Matcher()
	dst := make([]uint32, p.m.Words())
	require.ErrorIs(t, p.MaskWithin(dst, 9), errors.ErrUnsupported)
	require.ErrorContains(t, p.MaskWithin(dst, -1), "budget = -1, want ≥ 0")
	v.Forbidden = []int32{'q'}
	require.ErrorContains(t, masksOf(t, `{}`, v).Matcher().MaskWithin(dst, 9), "without a token for the byte 0x71")
}

// Forced text is what every completion goes on with, and its tokens are allowed.
func TestForced(t *testing.T) {
	v := words256(pieces...)
	g, err := JSONSchema(context.Background(), []byte(tool), SchemaConfig{Spelling: Canonical})
	require.NoError(t, err)
	vocabulary, err := Prepare(v)
	require.NoError(t, err)
	m, err := g.Masks(context.Background(), vocabulary)
	require.NoError(t, err)
	p := m.Matcher()
	read := func(s string) {
		for i := range len(s) {
			ok, err := p.Accept(int32(s[i]))
			require.True(t, ok && err == nil, s[:i])
		}
	}
	forced, tokens, err := p.Forced()
	require.NoError(t, err)
	require.Equal(t, `{"name":"`, forced)
	require.Equal(t, `{"name":`, v.Text(tokens), "what follows the quote may belong to its token")
	for _, x := range tokens {
		ok, err := p.Accept(x)
		require.True(t, ok && err == nil)
	}
	read(`"ab"`)
	forced, _, err = p.Forced()
	require.NoError(t, err)
	require.Equal(t, `,"unit":"`, forced)
	read(forced + "k")
	forced, _, err = p.Forced()
	require.NoError(t, err)
	require.Equal(t, `elvin","days":[`, forced)
	read(forced + "1]")
	forced, tokens, err = p.Forced()
	require.NoError(t, err)
	require.Empty(t, forced+v.Text(tokens))
	read("}")
	require.True(t, p.MayEnd())
	ok, err := p.Accept(int32(len(v.Tokens) - 1))
	require.True(t, ok && err == nil)
	mask := make(bitset, m.Words())
	require.NoError(t, p.Mask(mask))
	require.Equal(t, v.Padding, allowed(mask), "nothing but padding follows the end")
	require.NoError(t, p.MaskWithin(mask, 0))
	require.Equal(t, v.Padding, allowed(mask))
	ok, err = p.Accept('x')
	require.False(t, ok || err != nil)
	forced, tokens, err = p.Forced()
	require.True(t, forced == "" && tokens == nil && err == nil)
	groups, err := p.Groups()
	require.True(t, groups == nil && err == nil)
}

// Masks of automata over tokens are those of their states.
func TestMasksOfAutomata(t *testing.T) {
	v := words256("ab", "abc")
	p, err := Prepare(v)
	require.NoError(t, err)
	lexicon := &constraint.Lexicon{}
	for _, x := range [][]int32{{'a', 'b'}, {256, 'c'}, {257}, {257, 'x', 'y'}} {
		lexicon.Add(x)
	}
	m, err := MasksOf(context.Background(), lexicon, p, constraint.Limits{})
	require.NoError(t, err)
	at := m.Matcher()
	mask := make(bitset, m.Words())
	for _, step := range []struct {
		allowed []int32
		token   int32
	}{{[]int32{'a', 256, 257}, 257}, {[]int32{'x', 258}, 'x'}, {[]int32{'y'}, 'y'}, {[]int32{258}, 258}, {[]int32{258}, 258}} {
		require.NoError(t, at.Mask(mask))
		require.Equal(t, step.allowed, allowed(mask))
		require.NoError(t, at.MaskWithin(mask, 3))
		require.Equal(t, step.allowed, allowed(mask))
		groups, err := at.Groups()
		require.NoError(t, err)
		for _, g := range groups {
			require.NotContains(t, g.Tokens, v.Padding[0], "after %v", step)
			require.NoError(t, g.At.Mask(mask))
		}
		ok, err := at.Accept(step.token)
		require.True(t, ok && err == nil)
	}
	require.NoError(t, at.Rollback(4))
	require.True(t, at.MayEnd())
	ok, err := at.Accept('y')
	require.False(t, ok || err != nil)
	ok, err = at.Accept('x')
	require.True(t, ok && err == nil)
	forced, tokens, err := at.Forced()
	require.NoError(t, err)
	require.Equal(t, "y", forced)
	require.Equal(t, []int32{'y'}, tokens)
	require.NoError(t, m.Matcher().MaskWithin(mask, 1))
	require.Equal(t, []int32{257}, allowed(mask))
	require.NoError(t, m.Matcher().MaskWithin(mask, 2))
	require.Equal(t, []int32{'a', 256, 257}, allowed(mask))
	_, err = MasksOf(context.Background(), nil, p, constraint.Limits{})
	require.Error(t, err)
	_, err = MasksOf(context.Background(), lexicon, nil, constraint.Limits{})
	require.ErrorContains(t, err, "v = nil, want a vocabulary of Prepare")
}

func TestMatcherErrors(t *testing.T) {
	v := words256()
	m := masksOf(t, `{"type":"integer"}`, v)
	p := m.Matcher()
	require.ErrorContains(t, p.Mask(make([]uint32, 3)), "len(dst) = 3, want 9")
	_, err := p.Accept(257)
	require.ErrorContains(t, err, "token = 257, want 0 … 256")
	require.ErrorContains(t, p.Rollback(1), "n = 1, want 0 … 0")
	ok, err := p.Accept(256)
	require.False(t, ok || err != nil, "an empty text is no integer")
	g, err := JSONSchema(context.Background(), []byte(tool), SchemaConfig{})
	require.NoError(t, err)
	_, err = g.Masks(context.Background(), nil)
	require.ErrorContains(t, err, "v = nil")
	ctx, stop := context.WithCancel(context.Background())
	stop()
	vocabulary, err := Prepare(v)
	require.NoError(t, err)
	_, err = g.Masks(ctx, vocabulary)
	require.ErrorIs(t, err, context.Canceled)
	g, err = JSONSchema(context.Background(), []byte(tool), SchemaConfig{Limits: constraint.Limits{Bytes: 90_000}})
	require.NoError(t, err)
	m, err = g.Masks(context.Background(), vocabulary)
	require.NoError(t, err)
	var limit *constraint.LimitError
	for p := m.Matcher(); ; {
		if err := p.Mask(make([]uint32, m.Words())); err != nil {
			require.ErrorAs(t, err, &limit)
			return
		}
		forced := `{"name":"a","unit":"celsius","days":[1],"note":"axxb","x":[{}]}`
		if len(p.past) == len(forced) {
			t.Fatal("no limit was met")
		}
		if ok, err := p.Accept(int32(forced[len(p.past)])); !ok {
			require.ErrorAs(t, err, &limit)
			return
		}
	}
}

// Matchers of one schema run at the same time, and with Accepts.
func TestMatchersTogether(t *testing.T) {
	v := words256(pieces...)
	g, err := JSONSchema(context.Background(), []byte(tool), SchemaConfig{})
	require.NoError(t, err)
	p, err := Prepare(v)
	require.NoError(t, err)
	var wait sync.WaitGroup
	for i := range 16 {
		wait.Go(func() {
			m, err := g.Masks(context.Background(), p)
			if err != nil {
				t.Error(err)
				return
			}
			r := rand.New(rand.NewPCG(7, uint64(i)))
			mask := make(bitset, m.Words())
			at := m.Matcher()
			var x []int32
			for range 60 {
				if err := at.Mask(mask); err != nil {
					t.Error(err)
				}
				tokens := allowed(mask)
				next := tokens[r.IntN(len(tokens))]
				if ok, err := at.Accept(next); !ok || err != nil {
					t.Error(ok, err)
				}
				x = append(x, next)
				if at.MayEnd() && !g.Accepts(v.Text(x)) {
					t.Errorf("%q may end but is not accepted", v.Text(x))
				}
			}
		})
	}
	wait.Wait()
}

// Steps between known places allocate nothing.
func TestMatcherAllocatesNothing(t *testing.T) {
	v := words256(pieces...)
	m := masksOf(t, tool, v)
	p := m.Matcher()
	mask := make([]uint32, m.Words())
	text := `{"name":"ab","unit":"celsius","days":[1,12]}`
	walk := func() {
		for i := range len(text) {
			if err := p.Mask(mask); err != nil {
				t.Fatal(err)
			}
			if ok, err := p.Accept(int32(text[i])); !ok || err != nil {
				t.Fatal(text[:i], err)
			}
		}
		if err := p.Rollback(len(text)); err != nil {
			t.Fatal(err)
		}
	}
	walk()
	require.Zero(t, testing.AllocsPerRun(10, walk))
}

// BenchmarkMask measures masks of known places over a vocabulary of JSON's pieces.
func BenchmarkMask(b *testing.B) {
	g, err := JSONSchema(context.Background(), []byte(tool), SchemaConfig{})
	require.NoError(b, err)
	p, err := Prepare(words256(pieces...))
	require.NoError(b, err)
	m, err := g.Masks(context.Background(), p)
	require.NoError(b, err)
	mask := make([]uint32, m.Words())
	at := m.Matcher()
	for b.Loop() {
		if err := at.Mask(mask); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMatchers reads texts by 64 matchers of one schema at a time, with a vocabulary of 2¹⁷
// tokens: -cpu 1,2 compares cores.
func BenchmarkMatchers(b *testing.B) {
	v := words256(pieces...)
	r := rand.New(rand.NewPCG(1, 2))
	for len(v.Tokens) < 1<<17 {
		s := make([]byte, 3+r.IntN(6))
		for i := range s {
			s[i] = byte('a' + r.IntN(26))
		}
		v.Tokens = append(v.Tokens, string(s))
	}
	g, err := JSONSchema(context.Background(), []byte(tool), SchemaConfig{})
	require.NoError(b, err)
	p, err := Prepare(v)
	require.NoError(b, err)
	m, err := g.Masks(context.Background(), p)
	require.NoError(b, err)
	const text = `{"name":"ab","unit":"celsius","days":[1,12]}`
	read := func(at *Matcher, mask []uint32) {
		for i := range len(text) {
			if err := at.Mask(mask); err != nil {
				b.Error(err)
			}
			if ok, err := at.Accept(int32(text[i])); !ok || err != nil {
				b.Error(ok, err)
			}
		}
		if err := at.Rollback(len(text)); err != nil {
			b.Error(err)
		}
	}
	read(m.Matcher(), make([]uint32, m.Words()))
	b.SetParallelism(64 / runtime.GOMAXPROCS(0))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		at, mask := m.Matcher(), make([]uint32, m.Words())
		for pb.Next() {
			read(at, mask)
		}
	})
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(text)), "ns/token")
}
