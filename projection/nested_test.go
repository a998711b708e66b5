package projection_test

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/stretchr/testify/require"
)

// nestedLists is [ ] and 1 nested to any depth over tokens of several brackets.
func nestedLists(t require.TestingT) *grammar.Language {
	g, err := grammar.JSONSchema(context.Background(),
		[]byte(`{"$ref": "#/$defs/list", "$defs": {"list": {"type": "array", "items": {"anyOf": [{"const": 1}, {"$ref": "#/$defs/list"}]}}}}`),
		grammar.SchemaConfig{Compact: true})
	require.NoError(t, err)
	l, err := g.Over(context.Background(), text.Vocabulary{
		Tokens: []string{"[", "]", "1", ",", "[[", "]]", "],[", "", "1.0"}, Padding: []int32{7}})
	require.NoError(t, err)
	return l
}

// flat hides that a language nests.
type flat struct{ constraint.Automaton }

// TestNestedIsTheUnrolledLanguage compares every answer over a nested language
// with that of its configurations as a finite automaton.
func TestNestedIsTheUnrolledLanguage(t *testing.T) {
	const sites, levels = 7, 9
	ctx := context.Background()
	l := nestedLists(t)
	mask, err := constraint.NewMask(levels, [][]int32{{0, 4}})
	require.NoError(t, err)
	masked, err := constraint.Intersect(l, mask)
	require.NoError(t, err)
	flatMasked, err := constraint.Intersect(flat{l}, mask)
	require.NoError(t, err)
	for _, pair := range [][2]constraint.Language{{l, flat{l}}, {masked, flatMasked}} {
		a, err := projection.Path{Language: pair[0]}.Compile(ctx, sites, levels)
		require.NoError(t, err)
		b, err := projection.Path{Language: pair[1]}.Compile(ctx, sites, levels)
		require.NoError(t, err)
		require.Equal(t, exact.Must(b.Count(ctx, nil)), exact.Must(a.Count(ctx, nil)))
		r := rand.New(rand.NewPCG(1, 2))
		v := make([]float32, sites*levels)
		for range 20 {
			for i := range v {
				v[i] = float32(r.NormFloat64() * 3)
				if r.IntN(10) == 0 {
					v[i] = float32(math.Inf(-1))
				}
			}
			require.Equal(t, exact.Must(b.Count(ctx, v)), exact.Must(a.Count(ctx, v)))
			want, wantErr := b.LogZ(ctx, v)
			got, err := a.LogZ(ctx, v)
			if wantErr != nil {
				require.ErrorIs(t, err, constraint.ErrInfeasible)
				continue
			}
			require.NoError(t, err)
			require.InDelta(t, want, got, 1e-10)
			p, q := make([]float64, len(v)), make([]float64, len(v))
			require.NoError(t, a.Marginals(ctx, p, v))
			require.NoError(t, b.Marginals(ctx, q, v))
			for i := range p {
				require.InDelta(t, math.Exp(q[i]), math.Exp(p[i]), 1e-10)
			}
			x, y := make([]int32, sites), make([]int32, sites)
			top, err := a.MAP(ctx, x, v)
			require.NoError(t, err)
			best, err := b.MAP(ctx, y, v)
			require.NoError(t, err)
			require.InDelta(t, best, top, 1e-10)
			require.True(t, a.Accepts(x) && b.Accepts(x))
			all, err := a.KBest(ctx, v)
			require.NoError(t, err)
			other, err := b.KBest(ctx, v)
			require.NoError(t, err)
			var first, second []float64
			for x, w := range all {
				require.True(t, b.Accepts(x))
				if first = append(first, w); len(first) == 25 {
					break
				}
			}
			for _, w := range other {
				if second = append(second, w); len(second) == 25 {
					break
				}
			}
			require.InDeltaSlice(t, second, first, 1e-9)
			va, vb := append([]float32(nil), v...), append([]float32(nil), v...)
			da, err := a.Nearest(ctx, x, va)
			require.NoError(t, err)
			db, err := b.Nearest(ctx, y, vb)
			require.NoError(t, err)
			require.InDelta(t, db, da, 1e-9)
		}
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		logZ, err := a.LogZ(ctx, v)
		require.NoError(t, err)
		index, counts, probs := map[[sites]int32]int{}, []int{}, []float64{}
		all, err := b.KBest(ctx, v)
		require.NoError(t, err)
		for x, w := range all {
			index[[sites]int32(x)] = len(probs)
			probs = append(probs, math.Exp(w-logZ))
			counts = append(counts, 0)
		}
		draws := make([]int32, 4000*sites)
		_, err = a.Sample(ctx, draws, v, rand.NewPCG(3, 4))
		require.NoError(t, err)
		for ; len(draws) > 0; draws = draws[sites:] {
			counts[index[[sites]int32(draws)]]++
		}
		exact.Counts(t, counts, probs, exact.Rate)
		for i := range probs {
			probs[i] = 1 / float64(len(probs))
		}
		require.Less(t, exact.PValue(counts, probs), exact.Rate)
	}
}

func TestNestedErrors(t *testing.T) {
	ctx := context.Background()
	l := nestedLists(t)
	var limit *constraint.LimitError
	for _, p := range []projection.Path{{Language: l, Padded: true}, {Language: l, Limit: -1}} {
		_, err := p.Compile(ctx, 3, 9)
		require.Error(t, err)
	}
	_, err := projection.Path{Language: l, Limit: 10}.Compile(ctx, 9, 9)
	require.ErrorAs(t, err, &limit)
	_, err = projection.Path{Language: l}.Compile(ctx, 0, 9)
	require.Error(t, err)
	_, err = projection.Path{Language: l}.Compile(ctx, 3, 8)
	require.ErrorContains(t, err, "levels = 8")
	_, err = projection.Path{Language: l}.Compile(ctx, 1, 9)
	require.ErrorIs(t, err, constraint.ErrInfeasible)
	p, err := projection.Path{Language: l}.Compile(ctx, 2, 9)
	require.NoError(t, err)
	v := make([]float32, 18)
	v[0] = float32(math.NaN())
	_, err = p.LogZ(ctx, v)
	var weight *projection.WeightError
	require.ErrorAs(t, err, &weight)
	require.Equal(t, "JSONSchema", p.String())
	require.Equal(t, constraint.Automaton(l), p.Automaton())
	require.False(t, p.Accepts([]int32{0, 9}))
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = projection.Path{Language: l}.Compile(cancelled, 2, 9)
	require.ErrorIs(t, err, context.Canceled)
}

// TestNestedDrawsAreJSON draws values of the free schema over bytes: whatever
// comes out is JSON, and a text of the right length.
func TestNestedDrawsAreJSON(t *testing.T) {
	g, err := grammar.JSONSchema(context.Background(), []byte(`true`), grammar.SchemaConfig{})
	require.NoError(t, err)
	l, err := g.Over(context.Background(), text.Bytes())
	require.NoError(t, err)
	const sites = 24
	p, err := projection.Path{Language: l}.Compile(context.Background(), sites, 256)
	require.NoError(t, err)
	v := make([]float32, sites*256)
	for i := range v {
		v[i] = float32(i%256) / 64
	}
	draws := 500
	x := make([]int32, sites*draws)
	_, err = p.Sample(t.Context(), x, v, rand.NewPCG(5, 6))
	require.NoError(t, err)
	for ; len(x) > 0; x = x[sites:] {
		b := make([]byte, sites)
		for i, t := range x[:sites] {
			b[i] = byte(t)
		}
		require.True(t, json.Valid(b), "%q", b)
	}
}

// embedded shows that a type that embeds a nested language is one.
type embedded struct{ *grammar.Language }

// TestDiffusionOverJSON conditions masked and uniform diffusion on a recursive
// schema over bytes: every sample is JSON and valid.
func TestDiffusionOverJSON(t *testing.T) {
	ctx := context.Background()
	g, err := grammar.JSONSchema(ctx, []byte(`{"$ref": "#/$defs/t", "$defs": {"t": {"type": "object", "additionalProperties": false,
		"properties": {"v": {"type": "integer", "maximum": 50}, "l": {"type": "array", "items": {"$ref": "#/$defs/t"}}}, "required": ["v"]}}}`),
		grammar.SchemaConfig{})
	require.NoError(t, err)
	v := text.Bytes()
	v.Tokens, v.Padding = append(v.Tokens, ""), []int32{256}
	l, err := g.Over(ctx, v)
	require.NoError(t, err)
	const sites = 24
	n := 3000
	if testing.Short() {
		n = 60
	}
	for name, c := range map[string]struct {
		corruption denoise.Corruption
		process    diffusion.Process[int32]
	}{
		"masked":  {denoise.Absorbing, diffusion.Masked{Mask: 257}},
		"uniform": {denoise.Noisy, diffusion.Uniform{}},
	} {
		if name == "uniform" {
			n = min(n, 60)
		}
		independent, err := model.NewIndependent(make([]float64, sites*257), 257)
		require.NoError(t, err)
		d, err := denoise.NewIndependent(independent, c.corruption)
		require.NoError(t, err)
		run, err := diffusion.New(ctx, d, c.process, diffusion.Config{Seed: 1, Steps: 3, Projector: projection.Path{Language: embedded{l}}})
		require.NoError(t, err)
		x := make([]int32, n*sites)
		require.NoError(t, run.Sample(ctx, x))
		for ; len(x) > 0; x = x[sites:] {
			s := v.Text(x[:sites])
			var value any
			require.NoError(t, json.Unmarshal([]byte(s), &value), "%s: %q", name, s)
			require.True(t, isTree(value), "%s: %q", name, s)
		}
	}
}

func isTree(v any) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	f, ok := m["v"].(float64)
	if !ok || f > 50 || f != math.Trunc(f) {
		return false
	}
	items, also := m["l"].([]any)
	if _, has := m["l"]; has != also || len(m) > 2 || !has && len(m) > 1 {
		return false
	}
	for _, x := range items {
		if !isTree(x) {
			return false
		}
	}
	return true
}

// TestLogZIsExact compares log Z over 2,500 tokens with sums over the automaton's states, token by
// token, in package math: of a nested language, and of a schema as a nested and as a compiled
// language. The log Z that a draw returns is exact for schemas, but a large class of tokens of
// another automaton is added up in float32.
func TestLogZIsExact(t *testing.T) {
	const sites, levels = 10, 2500
	v, r := text.Bytes(), rand.New(rand.NewPCG(45, 7))
	v.Tokens = append(v.Tokens, `{"`, `":`, `","`, `[[`, `]]`, `},`, `],`, `["`, `"]`, `, `)
	for len(v.Tokens) < levels-1 {
		b := make([]byte, 2+r.IntN(5))
		for i := range b {
			b[i] = byte('a' + r.IntN(26))
		}
		v.Tokens = append(v.Tokens, string(b))
	}
	v.Tokens, v.Padding = append(v.Tokens, ""), []int32{levels - 1}
	w := make([]float32, sites*levels)
	for i := range w {
		w[i] = float32(r.NormFloat64())
	}
	for schema, regular := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"additionalProperties":false}`: true,
		`{"type":["array","string"],"items":{"$ref":"#"}}`:                                                           false,
	} {
		g, err := grammar.JSONSchema(t.Context(), []byte(schema), grammar.SchemaConfig{Compact: true})
		require.NoError(t, err)
		l, err := g.Over(t.Context(), v)
		require.NoError(t, err)
		now := map[int]float64{l.Start(): 1}
		for i := range sites {
			next := map[int]float64{}
			for q, z := range now {
				for token := range levels {
					if to := l.Next(q, int32(token)); to >= 0 {
						next[to] += float64(z * math.Exp(float64(w[i*levels+token])))
					}
				}
			}
			now = next
		}
		z := 0.0
		for q, x := range now {
			if l.Accepting(q) {
				z += x
			}
		}
		want := math.Log(z)
		languages := []constraint.Language{l}
		if regular {
			languages = append(languages, exact.Must(constraint.Compile(t.Context(), flat{l}, levels, constraint.Limits{})))
		}
		for _, language := range languages {
			p, err := projection.Path{Language: language}.Compile(t.Context(), sites, levels)
			require.NoError(t, err)
			got, err := p.LogZ(t.Context(), w)
			require.NoError(t, err)
			require.InEpsilon(t, want, got, 1e-12, "%s %T", schema, language)
			drawn, err := p.Draw(t.Context(), make([]int32, sites), w, r)
			require.NoError(t, err)
			accuracy := 1e-12
			if language != languages[0] {
				accuracy = 1e-7
			}
			require.InEpsilon(t, want, drawn, accuracy, "%s %T", schema, language)
		}
	}
}
